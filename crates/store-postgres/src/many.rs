//! Statements on many keys at once. PostgreSQL takes longer to receive and to answer a statement than to find a row, so
//! the keys of a round trip share one statement. An engine that can't plan such statements ([`Engine::plans_joins`])
//! gets one for each key.
//!
//! Keys are sent as arrays. Each is looked up by an inner query that the planner may not merge with the outer one (because
//! of `OFFSET 0`, or because it locks): so rows are found through the primary key, in the order of the arrays.

use bytes::Bytes;
use store::Key;
use tokio_postgres::{Row, Statement};

use crate::connection::Lease;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::key_columns::space_number;
use crate::pipeline::{Parameter, Pipeline, key_parameters, value_of};
use crate::shard;
use crate::stripe::{self, Stripe};

const GET_ONE: &str = "
    SELECT value FROM lodestone_row WHERE shard = $1 AND space = $2 AND partition = $3 AND sort = $4";

const GET_MANY: &str = "
    SELECT asked.number, found.value
    FROM unnest($1::smallint[], $2::bigint[], $3::bytea[], $4::bytea[])
        WITH ORDINALITY AS asked (shard, space, partition, sort, number)
    CROSS JOIN LATERAL (
        SELECT value FROM lodestone_row
        WHERE shard = asked.shard AND space = asked.space AND partition = asked.partition AND sort = asked.sort
        OFFSET 0
    ) AS found";

const LOCK_MANY: &str = "
    SELECT held.stripe FROM unnest($1::smallint[], $2::smallint[]) AS asked (shard, stripe)
    CROSS JOIN LATERAL (
        SELECT stripe FROM lodestone_lock WHERE shard = asked.shard AND stripe = asked.stripe FOR UPDATE
    ) AS held";

const PUT_ONE: &str = "
    INSERT INTO lodestone_row (shard, space, partition, sort, value) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (space, partition, sort, shard) DO UPDATE SET value = excluded.value";

const PUT_MANY: &str = "
    INSERT INTO lodestone_row (shard, space, partition, sort, value)
    SELECT * FROM unnest($1::smallint[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[])
    ON CONFLICT (space, partition, sort, shard) DO UPDATE SET value = excluded.value";

/// The values of one statement: PostgreSQL holds its arrays in memory several times.
const PUT_BYTES_MAX: usize = 1 << 20;

/// A statement on one key, and the same on many if the engine can plan it.
struct Forms {
    one: Statement,
    many: Option<Statement>,
}

impl Forms {
    async fn prepare(connection: &Lease, engine: Engine, one: &str, many: &str) -> Result<Forms, Failure> {
        let one = connection.prepare_cached(one).await?;
        let many = match engine.plans_joins() {
            true => Some(connection.prepare_cached(many).await?),
            false => None,
        };
        Ok(Forms { one, many })
    }

    /// The statement for `count` keys, unless each key has its own.
    fn for_all(&self, count: usize) -> Option<&Statement> {
        self.many.as_ref().filter(|_| count > 1)
    }
}

/// Reads rows.
pub(crate) struct Get(Forms);

impl Get {
    pub(crate) async fn prepare(connection: &Lease, engine: Engine) -> Result<Get, Failure> {
        Ok(Get(Forms::prepare(connection, engine, GET_ONE, GET_MANY).await?))
    }

    pub(crate) fn add<'a>(
        &'a self,
        pipeline: &mut Pipeline<'a>,
        keys: impl Iterator<Item = &'a Key> + Clone,
    ) {
        match self.0.for_all(keys.clone().count()) {
            Some(many) => pipeline.statement(many, columns(keys)),
            None => keys.for_each(|key| pipeline.of_key(&self.0.one, key)),
        }
    }

    /// The values of `count` keys, in their order, from the next answers.
    pub(crate) fn values(
        &self,
        count: usize,
        answers: &mut impl Iterator<Item = Vec<Row>>,
    ) -> Result<Vec<Option<Bytes>>, Failure> {
        if self.0.for_all(count).is_none() {
            return answers.take(count).map(|rows| value_of(&rows)).collect();
        }
        let mut values = vec![None; count];
        for row in answers.next().unwrap_or_default() {
            // Counted from 1.
            let number: i64 = row.try_get(0)?;
            let value = usize::try_from(number - 1).ok().and_then(|index| values.get_mut(index));
            let value = value.ok_or_else(|| Failure::Unreadable(format!("row {number} of {count}")))?;
            *value = Some(Bytes::copy_from_slice(row.try_get(1)?));
        }
        Ok(values)
    }
}

/// Locks stripes, in the order in which they are given.
pub(crate) struct Lock(Forms);

impl Lock {
    pub(crate) async fn prepare(connection: &Lease, engine: Engine) -> Result<Lock, Failure> {
        Ok(Lock(Forms::prepare(connection, engine, stripe::LOCK, LOCK_MANY).await?))
    }

    pub(crate) fn add<'a>(&'a self, pipeline: &mut Pipeline<'a>, stripes: &[Stripe]) {
        match self.0.for_all(stripes.len()) {
            Some(many) => {
                let shards = stripes.iter().map(|stripe| stripe.shard).collect();
                let numbers = stripes.iter().map(|stripe| stripe.number).collect();
                pipeline.statement(many, [Parameter::Smalls(shards), Parameter::Smalls(numbers)]);
            }
            None => stripes.iter().for_each(|stripe| stripe.lock(pipeline, &self.0.one)),
        }
    }

    /// Checks in the next answers that `count` stripes are locked.
    pub(crate) fn check(
        &self,
        count: usize,
        answers: &mut impl Iterator<Item = Vec<Row>>,
    ) -> Result<(), Failure> {
        match self.0.for_all(count) {
            Some(_) => stripe::check_count(answers.next().unwrap_or_default().len(), count),
            None => stripe::check_locked(answers.take(count)),
        }
    }
}

/// Puts rows.
pub(crate) struct Put(Forms);

impl Put {
    pub(crate) async fn prepare(connection: &Lease, engine: Engine) -> Result<Put, Failure> {
        Ok(Put(Forms::prepare(connection, engine, PUT_ONE, PUT_MANY).await?))
    }

    /// Of several values for a key, the last one counts.
    pub(crate) fn add<'a>(&'a self, pipeline: &mut Pipeline<'a>, mut puts: Vec<(&'a Key, &'a Bytes)>) {
        let Some(many) = self.0.for_all(puts.len()) else {
            return puts.into_iter().for_each(|(key, value)| self.add_one(pipeline, key, value));
        };
        // One statement can't put a row twice.
        puts.sort_by_key(|(key, _)| *key);
        puts.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                *kept = *later;
            }
            is_same
        });
        for part in parts(&puts) {
            match part {
                [(key, value)] => self.add_one(pipeline, key, value),
                part => {
                    let [shards, spaces, partitions, sorts] = columns(part.iter().map(|(key, _)| *key));
                    let values = Parameter::Strings(part.iter().map(|&(_, value)| &value[..]).collect());
                    pipeline.statement(many, [shards, spaces, partitions, sorts, values]);
                }
            }
        }
    }

    fn add_one<'a>(&'a self, pipeline: &mut Pipeline<'a>, key: &'a Key, value: &'a Bytes) {
        let [shard, space, partition, sort] = key_parameters(key);
        pipeline.statement(&self.0.one, [shard, space, partition, sort, Parameter::Bytes(value)]);
    }
}

/// Parts of at most [`PUT_BYTES_MAX`], or of one row.
fn parts<'a, 'b>(mut puts: &'b [(&'a Key, &'a Bytes)]) -> impl Iterator<Item = &'b [(&'a Key, &'a Bytes)]> {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fitting = puts.iter().take_while(|(_, value)| {
            bytes += value.len();
            bytes <= PUT_BYTES_MAX
        });
        let (part, rest) = puts.split_at(fitting.count().max(1).min(puts.len()));
        puts = rest;
        (!part.is_empty()).then_some(part)
    })
}

/// The columns of keys: shard, space, partition, sort.
fn columns<'a>(keys: impl Iterator<Item = &'a Key> + Clone) -> [Parameter<'a>; 4] {
    let partition = |key: &'a Key| key.position.partition.0.as_slice();
    [
        Parameter::Smalls(keys.clone().map(|key| shard::of_partition(&key.position.partition)).collect()),
        Parameter::Numbers(keys.clone().map(|key| space_number(key.space)).collect()),
        Parameter::Strings(keys.clone().map(partition).collect()),
        Parameter::Strings(keys.map(|key| key.position.sort.as_slice()).collect()),
    ]
}

#[cfg(test)]
mod tests {
    use store::{Partition, Position, Space};

    use super::*;

    #[test]
    fn puts_are_parted_by_their_bytes_and_none_is_left_out() {
        let position = Position { partition: Partition::FIRST, sort: Vec::new() };
        let key = Key { space: Space(16), position };
        let check = |lengths: &[usize], expected: &[usize]| {
            let values: Vec<Bytes> = lengths.iter().map(|length| vec![0; *length].into()).collect();
            let puts: Vec<(&Key, &Bytes)> = values.iter().map(|value| (&key, value)).collect();
            let found: Vec<usize> = parts(&puts).map(<[_]>::len).collect();
            assert_eq!(found, expected, "{lengths:?}");
        };
        check(&[], &[]);
        check(&[1, 2, 3], &[3]);
        check(&[PUT_BYTES_MAX, 1, PUT_BYTES_MAX - 1, 1], &[1, 2, 1]);
        check(&[PUT_BYTES_MAX + 1, PUT_BYTES_MAX + 1], &[1, 1]);
    }
}
