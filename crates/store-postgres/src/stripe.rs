//! Which lock row guards a key, and the queue for it inside this server.

use store::Key;
use tokio::sync::{Mutex, MutexGuard};
use tokio_postgres::{Row, Statement};

use crate::failure::Failure;
use crate::pipeline::{Parameter, Pipeline};
use crate::shard;

/// The number of lock rows in each shard. It is part of the database's format: servers with different
/// numbers would not exclude each other.
///
/// All sort keys of one busy partition share the stripes of its shard: with 16 updates of it in flight, one
/// in 9 waits for an unrelated one. Updates of different partitions have all 32768 stripes: with 64 of
/// them in flight, one in 500 waits. The rows and their index are about 2 MB, the latches about 1.3 MB.
pub(crate) const PER_SHARD: i16 = 128;

pub(crate) const LOCK: &str = "SELECT stripe FROM lodestone_lock WHERE shard = $1 AND stripe = $2 FOR UPDATE";
pub(crate) const SHARE: &str = "SELECT stripe FROM lodestone_lock WHERE shard = $1 AND stripe = $2 FOR SHARE";

/// A lock row. The order of stripes is the order of locking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stripe {
    pub(crate) shard: i16,
    pub(crate) number: i16,
}

/// The stripes of `keys` without duplicates, in ascending order: the order of locking.
pub(crate) fn of_keys(keys: &[Key]) -> Vec<Stripe> {
    let mut stripes: Vec<Stripe> = keys.iter().map(of_key).collect();
    stripes.sort_unstable();
    stripes.dedup();
    stripes
}

/// CRC-32 spreads well enough and is the same on every machine and in every version. It includes the
/// sort bytes, so that the rows of a busy partition do not wait for each other.
fn of_key(key: &Key) -> Stripe {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&key.space.0.to_be_bytes());
    hasher.update(&key.position.partition.0);
    hasher.update(&key.position.sort);
    let number = (hasher.finalize() % u32::from(PER_SHARD.unsigned_abs())) as i16;
    Stripe { shard: shard::of_partition(&key.position.partition), number }
}

/// One latch for each stripe. Updates of the same row in the same server wait here, in order of arrival
/// and without a connection. The lock row excludes other updates; a latch only orders the waiters.
pub(crate) struct Latches(Vec<Mutex<()>>);

impl Latches {
    pub(crate) fn new() -> Latches {
        let count = usize::from(shard::COUNT.unsigned_abs()) * usize::from(PER_SHARD.unsigned_abs());
        Latches((0..count).map(|_| Mutex::new(())).collect())
    }

    /// Takes the latches of ascending `stripes`.
    pub(crate) async fn take(&self, stripes: &[Stripe]) -> Vec<MutexGuard<'_, ()>> {
        let mut taken = Vec::with_capacity(stripes.len());
        for stripe in stripes {
            taken.push(self.0[stripe.index()].lock().await);
        }
        taken
    }
}

impl Stripe {
    /// Adds a statement that locks the stripe: [`LOCK`] or [`SHARE`].
    pub(crate) fn lock<'a>(self, pipeline: &mut Pipeline<'a>, statement: &'a Statement) {
        pipeline.statement(statement, [Parameter::Small(self.shard), Parameter::Small(self.number)]);
    }

    fn index(self) -> usize {
        usize::from(self.shard.unsigned_abs()) * usize::from(PER_SHARD.unsigned_abs())
            + usize::from(self.number.unsigned_abs())
    }
}

/// A lock row that is missing would lock nothing.
pub(crate) fn check_locked(answers: impl Iterator<Item = Vec<Row>>) -> Result<(), Failure> {
    answers.into_iter().try_for_each(|rows| check_count(rows.len(), 1))
}

/// The same, of stripes that one statement locks.
pub(crate) fn check_count(locked: usize, asked: usize) -> Result<(), Failure> {
    match locked == asked {
        true => Ok(()),
        false => Err(Failure::Unreadable("a row of lodestone_lock is missing".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use store::{Partition, Position, Space};

    use super::*;

    fn key(space: u64, partition: u8, sort: &[u8]) -> Key {
        let partition = Partition([partition; Partition::LENGTH]);
        Key { space: Space(space), position: Position { partition, sort: sort.to_vec() } }
    }

    /// Servers of different versions must agree, so these numbers must never change.
    #[test]
    fn the_stripe_of_a_key_is_part_of_the_format() {
        let check =
            |key: Key, shard: i16, number: i16| assert_eq!(of_keys(&[key]), [Stripe { shard, number }]);
        check(key(0, 0, b""), 0, 5549 % 128);
        check(key(1, 7, b"sort"), 7, 13014 % 128);
        check(key(u64::MAX, 0xff, b"\x00\xff"), 255, 8629 % 128);
    }

    #[test]
    fn stripes_are_ascending_and_each_comes_once() {
        let keys: Vec<Key> = (0..200).flat_map(|n| [key(1, n, b"a"), key(1, n, b"a")]).collect();
        let stripes = of_keys(&keys);
        assert!(stripes.is_sorted_by(|one, other| one < other));
        assert_eq!(stripes.len(), 200);
    }

    #[test]
    fn every_stripe_has_a_latch_of_its_own() {
        let last = Stripe { shard: shard::COUNT - 1, number: PER_SHARD - 1 };
        assert_eq!(last.index() + 1, Latches::new().0.len());
        assert_eq!(
            Stripe { shard: 1, number: 0 }.index(),
            Stripe { shard: 0, number: PER_SHARD - 1 }.index() + 1
        );
    }
}
