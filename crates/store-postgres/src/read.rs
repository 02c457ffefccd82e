//! Reading rows: by key, by range in chunks, and from a snapshot.

use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::TryStreamExt;
use store::{
    Consistency, Direction, Key, KeyRef, Log, LogPosition, Partition, Range, Read, StoreError, Visit,
};
use tokio::sync::oneshot;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, RowStream};

use crate::connection::{BEGIN_SNAPSHOT, BEGIN_UPDATE, Connections, Lease};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::key_columns::{partition, space_number};
use crate::many::Get;
use crate::pipeline::{Parameter, Pipeline};
use crate::window::{Edge, Piece, pieces};
use crate::{Shared, log, shard, stripe};

const WITHIN_FORWARD: &str = "
    SELECT partition, sort, value FROM lodestone_row
    WHERE space = $1 AND partition = $2 AND sort >= $3 AND sort < $4 AND shard = $6
    ORDER BY partition, sort LIMIT $5";

const WITHIN_BACKWARD: &str = "
    SELECT partition, sort, value FROM lodestone_row
    WHERE space = $1 AND partition = $2 AND sort >= $3 AND sort < $4 AND shard = $6
    ORDER BY partition DESC, sort DESC LIMIT $5";

const ACROSS_FORWARD: &str = "
    SELECT partition, sort, value FROM lodestone_row
    WHERE space = $1 AND (partition, sort) >= ($2, $3) AND partition < $4
    ORDER BY partition, sort LIMIT $5";

const ACROSS_BACKWARD: &str = "
    SELECT partition, sort, value FROM lodestone_row
    WHERE space = $1 AND partition >= $2 AND (partition, sort) < ($3, $4)
    ORDER BY partition DESC, sort DESC LIMIT $5";

/// The size of chunk to aim at: one page of DynamoDB. Rows are visited as they arrive, and the socket
/// is read no faster than that, so the largest row bounds the memory and not the chunk. The chunk
/// bounds how much the server sends for nothing when `visit` breaks.
const CHUNK_BYTES: usize = 1 << 20;
const CHUNK_ROWS_FIRST: usize = 64;
const CHUNK_ROWS_MAX: usize = 1024;
/// How much larger a chunk may be than the one before.
const CHUNK_GROWTH: usize = 4;

/// A single row that a reader waits for.
pub(crate) struct Lookup {
    key: Key,
    answer: oneshot::Sender<Result<Option<Bytes>, Failure>>,
}

impl Shared {
    pub(crate) async fn read_rows(self: &Arc<Self>, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Failure> {
        match keys {
            [] => {
                // Also no keys are refused by a store that was closed.
                drop(self.calls.lease().await?);
                Ok(Vec::new())
            }
            [key] => Ok(vec![self.look_up(key.clone()).await?]),
            keys => self.read_at_one_moment(keys).await,
        }
    }

    /// Reads one row, in one round trip with others that are asked for at the same time.
    async fn look_up(self: &Arc<Self>, key: Key) -> Result<Option<Bytes>, Failure> {
        let (answer, answered) = oneshot::channel();
        if let Some(mut runner) = self.lookups.add(Lookup { key, answer }, 1) {
            let shared = Arc::clone(self);
            tokio::spawn(async move {
                while let Some(lookups) = runner.next() {
                    shared.answer(lookups).await;
                }
            });
        }
        answered.await.unwrap_or_else(|_| Err(Failure::Lost("the task of the read ended early".to_owned())))
    }

    async fn answer(&self, lookups: Vec<Lookup>) {
        let (keys, waiting): (Vec<Key>, Vec<_>) =
            lookups.into_iter().map(|lookup| (lookup.key, lookup.answer)).unzip();
        let rows = async {
            let connection = self.calls.lease().await?;
            let rows = self.calls.answered(get(&connection, self.engine, &keys)).await;
            connection.settle(&rows);
            rows
        };
        let rows = match rows.await {
            Ok(rows) => rows.into_iter().map(Ok).collect(),
            Err(failure) => vec![Err(failure); waiting.len()],
        };
        for (answer, row) in waiting.into_iter().zip(rows) {
            // The receiver is gone if the read was cancelled.
            let _ = answer.send(row);
        }
    }

    async fn read_at_one_moment(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Failure> {
        let connection = self.calls.lease().await?;
        let reading = async {
            match (self.engine.plans_joins(), self.engine.has_cluster_snapshot()) {
                // One statement sees one moment.
                (true, _) => get(&connection, self.engine, keys).await,
                (false, true) => get_in_snapshot(&connection, self.engine, keys).await,
                (false, false) => get_locked(&connection, self.engine, keys).await,
            }
        };
        let rows = self.calls.answered(reading).await;
        match rows {
            Ok(_) => connection.settle(&rows),
            Err(_) => connection.settle_with_rollback(&rows),
        }
        rows
    }
}

/// The rows of `keys`, in their order.
async fn get(connection: &Lease, engine: Engine, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Failure> {
    let get = Get::prepare(connection, engine).await?;
    let mut pipeline = Pipeline::new(connection);
    get.add(&mut pipeline, keys.iter());
    get.values(keys.len(), &mut pipeline.send().await?.into_iter())
}

async fn get_in_snapshot(
    connection: &Lease,
    engine: Engine,
    keys: &[Key],
) -> Result<Vec<Option<Bytes>>, Failure> {
    let get = Get::prepare(connection, engine).await?;
    let mut pipeline = Pipeline::new(connection);
    pipeline.command(BEGIN_SNAPSHOT);
    get.add(&mut pipeline, keys.iter());
    pipeline.command("COMMIT");
    get.values(keys.len(), &mut pipeline.send().await?.into_iter().skip(1))
}

/// Holds the stripes of the keys shared while it reads, so that no update is seen by half.
async fn get_locked(connection: &Lease, engine: Engine, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Failure> {
    let (share, get) =
        (connection.prepare_cached(stripe::SHARE).await?, Get::prepare(connection, engine).await?);
    let stripes = stripe::of_keys(keys);
    let mut pipeline = Pipeline::new(connection);
    pipeline.command(BEGIN_UPDATE);
    stripes.iter().for_each(|stripe| stripe.lock(&mut pipeline, &share));
    get.add(&mut pipeline, keys.iter());
    pipeline.command("COMMIT");
    let mut answers = pipeline.send().await?.into_iter().skip(1);
    stripe::check_locked(answers.by_ref().take(stripes.len()))?;
    get.values(keys.len(), &mut answers)
}

/// Visits the rows of `range`, chunk by chunk. The caller opens one transaction around it if all chunks
/// must show the same moment.
pub(crate) async fn scan(
    connection: &Lease,
    connections: &Connections,
    range: &Range,
    direction: Direction,
    visit: &mut Visit<'_>,
) -> Result<(), Failure> {
    let space = space_number(range.space);
    let mut limit = CHUNK_ROWS_FIRST;
    for mut piece in pieces(range, direction) {
        // The loop ends: each full chunk leaves a smaller piece.
        loop {
            let chunk = walk_chunk(connection, space, &piece, direction, limit, visit);
            match connections.answered(chunk).await? {
                Chunk::Full { last, bytes } => {
                    piece.move_past(last, direction);
                    limit = next_limit(limit, bytes);
                }
                Chunk::Last => break,
                Chunk::Enough => return Ok(()),
            }
        }
    }
    Ok(())
}

/// How a chunk ended.
enum Chunk {
    /// At its limit: there may be more rows.
    Full { last: Edge, bytes: usize },
    /// At the end of the piece.
    Last,
    /// The visitor broke off the scan.
    Enough,
}

async fn walk_chunk(
    connection: &Lease,
    space: i64,
    piece: &Piece,
    direction: Direction,
    limit: usize,
    visit: &mut Visit<'_>,
) -> Result<Chunk, Failure> {
    let rows = select(connection, space, piece, direction, limit as i64).await?;
    let mut rows = pin!(rows);
    let (mut walked, mut bytes) = (0, 0);
    while let Some(row) = rows.try_next().await? {
        let partition = partition(row.try_get(0)?)?;
        let sort: &[u8] = row.try_get(1)?;
        let value = bytes_of(&row, 2)?;
        walked += 1;
        bytes += Partition::LENGTH + sort.len() + value.len();
        if let ControlFlow::Break(()) = visit(KeyRef { partition: &partition, sort }, value) {
            return Ok(Chunk::Enough);
        }
        if walked == limit {
            let last = Edge { partition: partition.0.to_vec(), sort: sort.to_vec() };
            return Ok(Chunk::Full { last, bytes });
        }
    }
    Ok(Chunk::Last)
}

async fn select(
    connection: &Lease,
    space: i64,
    piece: &Piece,
    direction: Direction,
    limit: i64,
) -> Result<RowStream, Failure> {
    let (text, [first, second, third]) = match (piece, direction) {
        (Piece::Within { partition, from, until }, Direction::Forward) => {
            (WITHIN_FORWARD, [partition, from, until])
        }
        (Piece::Within { partition, from, until }, Direction::Backward) => {
            (WITHIN_BACKWARD, [partition, from, until])
        }
        (Piece::Across { from, until }, Direction::Forward) => {
            (ACROSS_FORWARD, [&from.partition, &from.sort, &until.partition])
        }
        (Piece::Across { from, until }, Direction::Backward) => {
            (ACROSS_BACKWARD, [&from.partition, &until.partition, &until.sort])
        }
    };
    let statement = connection.prepare_cached(text).await?;
    let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&space, first, second, third, &limit];
    let shard = piece.shard();
    parameters.extend(shard.as_ref().map(|shard| shard as &(dyn ToSql + Sync)));
    Ok(connection.query_raw(&statement, parameters).await?)
}

/// How many rows like those of the last chunk make a chunk of [`CHUNK_BYTES`].
fn next_limit(limit: usize, bytes: usize) -> usize {
    (limit * CHUNK_BYTES / bytes.max(1)).clamp(1, CHUNK_ROWS_MAX.min(limit * CHUNK_GROWTH))
}

fn bytes_of(row: &Row, column: usize) -> Result<Bytes, Failure> {
    Ok(Bytes::copy_from_slice(row.try_get(column)?))
}

/// A view of one moment: a read-only transaction on its own connection, which is closed on drop.
pub(crate) struct Snapshot {
    connection: Lease,
    connections: Connections,
    engine: Engine,
}

impl Snapshot {
    pub(crate) async fn take(shared: &Shared) -> Result<Snapshot, Failure> {
        let connections = shared.snapshots.clone();
        let connection = connections.lease().await?;
        match shared.engine.has_cluster_snapshot() {
            true => connections.answered(fix_moment(&connection)).await?,
            false => {
                // No update is between two nodes while all stripes are held.
                let writers = shared.calls.lease().await?;
                let held = shared.calls.answered(share_all(&writers)).await;
                let fixed = match held {
                    Ok(()) => connections.answered(fix_moment(&connection)).await,
                    Err(failure) => Err(failure),
                };
                writers.settle_with_rollback(&fixed);
                fixed?;
            }
        }
        Ok(Snapshot { connection, connections, engine: shared.engine })
    }
}

/// A transaction's moment is fixed by its first statement, on each node by the first that reaches it.
/// This one reaches all of them.
async fn fix_moment(connection: &Lease) -> Result<(), Failure> {
    connection.begin_snapshot().await?;
    connection.batch_execute("SELECT count(*) FROM lodestone_log").await?;
    Ok(())
}

/// Holds every stripe shared.
async fn share_all(connection: &Lease) -> Result<(), Failure> {
    const SHARE_ALL: &str = "SELECT stripe FROM lodestone_lock WHERE shard = $1 ORDER BY stripe FOR SHARE";
    let share = connection.prepare_cached(SHARE_ALL).await?;
    let mut pipeline = Pipeline::new(connection);
    pipeline.command(BEGIN_UPDATE);
    (0..shard::COUNT).for_each(|shard| pipeline.statement(&share, [Parameter::Small(shard)]));
    pipeline.send().await.map(|_| ())
}

#[async_trait]
impl Read for Snapshot {
    async fn get(&self, keys: &[Key], _: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        Ok(self.connections.answered(get(&self.connection, self.engine, keys)).await?)
    }

    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        _: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        Ok(scan(&self.connection, &self.connections, range, direction, visit).await?)
    }

    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        Ok(self.connections.answered(log::read(&self.connection, log, after, limit)).await?)
    }

    async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        Ok(self.connections.answered(log::end(&self.connection, log)).await?)
    }
}
