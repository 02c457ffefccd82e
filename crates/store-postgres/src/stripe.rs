//! Which lock row guards a key, and the queue for it inside this server.

use store::Key;
use tokio::sync::{Mutex, MutexGuard};

/// The number of lock rows. It is part of the database's format: servers with different numbers would
/// not exclude each other.
///
/// With 64 single-row updates in flight, one in 260 waits for an unrelated one (63 / 16384); with 32
/// transactions of 100 rows each, a transaction meets about 19 foreign stripes (100 × 3100 / 16384),
/// which is why it is not 1024. The rows and their index are about 1 MB, the latches about 0.7 MB.
pub(crate) const COUNT: u32 = 16384;

/// The stripes of `keys` without duplicates, in ascending order: the order of locking.
pub(crate) fn of_keys(keys: &[Key]) -> Vec<i32> {
    let mut stripes: Vec<i32> = keys.iter().map(of_key).collect();
    stripes.sort_unstable();
    stripes.dedup();
    stripes
}

/// CRC-32 spreads well enough and is the same on every machine and in every version. It includes the
/// sort bytes, so that the rows of a busy partition do not wait for each other.
fn of_key(key: &Key) -> i32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&key.space.0.to_be_bytes());
    hasher.update(&key.position.partition.0);
    hasher.update(&key.position.sort);
    (hasher.finalize() % COUNT).cast_signed()
}

/// One latch for each stripe. Updates of the same row in the same server wait here, in order of arrival
/// and without a connection. The lock row excludes other updates; a latch only orders the waiters.
pub(crate) struct Latches(Vec<Mutex<()>>);

impl Latches {
    pub(crate) fn new() -> Latches {
        Latches((0..COUNT).map(|_| Mutex::new(())).collect())
    }

    /// Takes the latches of ascending `stripes`.
    pub(crate) async fn take(&self, stripes: &[i32]) -> Vec<MutexGuard<'_, ()>> {
        let mut taken = Vec::with_capacity(stripes.len());
        for stripe in stripes {
            taken.push(self.0[stripe.cast_unsigned() as usize].lock().await);
        }
        taken
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
        let check = |key: Key, stripe: i32| assert_eq!(of_keys(&[key]), [stripe]);
        check(key(0, 0, b""), 5549);
        check(key(1, 7, b"sort"), 13014);
        check(key(u64::MAX, 0xff, b"\x00\xff"), 8629);
    }

    #[test]
    fn stripes_are_ascending_and_each_comes_once() {
        let keys: Vec<Key> = (0..200).flat_map(|n| [key(1, n, b"a"), key(1, n, b"a")]).collect();
        let stripes = of_keys(&keys);
        assert!(stripes.is_sorted_by(|one, other| one < other));
        assert!(stripes.len() > 190, "{} stripes for 200 keys", stripes.len());
    }
}
