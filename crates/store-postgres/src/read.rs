//! Reading rows: by key in one statement, by range in chunks, and from a snapshot.

use std::ops::ControlFlow;
use std::pin::pin;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::TryStreamExt;
use store::{
    Consistency, Direction, Key, KeyRef, Log, LogPosition, Partition, Range, Read, StoreError, Visit,
};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, RowStream, Statement};

use crate::connection::{Connections, Lease};
use crate::failure::Failure;
use crate::key_columns::{KeyColumns, partition, space_number};
use crate::log;
use crate::window::{Edge, Piece, pieces};

pub(crate) const GET: &str = "
    SELECT wanted.number, found.value
    FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) WITH ORDINALITY
        AS wanted(space, partition, sort, number)
    JOIN lodestone_row AS found
        ON found.space = wanted.space AND found.partition = wanted.partition AND found.sort = wanted.sort";

const WITHIN_FORWARD: &str = "
    SELECT partition, sort, value FROM lodestone_row
    WHERE space = $1 AND partition = $2 AND sort >= $3 AND sort < $4
    ORDER BY partition, sort LIMIT $5";

const WITHIN_BACKWARD: &str = "
    SELECT partition, sort, value FROM lodestone_row
    WHERE space = $1 AND partition = $2 AND sort >= $3 AND sort < $4
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

/// The rows of `keys`, in their order. One statement reads them all at the same moment.
pub(crate) async fn get(connection: &Lease, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Failure> {
    let statement = connection.prepare_cached(GET).await?;
    let found = find(connection, &statement, &keys.iter().collect()).await?;
    in_order(&found, keys.len())
}

/// Runs [`GET`], which returns nothing for keys without a row.
pub(crate) async fn find(
    connection: &Lease,
    get: &Statement,
    keys: &KeyColumns<'_>,
) -> Result<Vec<Row>, Failure> {
    Ok(connection.query(get, &[&keys.spaces, &keys.partitions, &keys.sorts]).await?)
}

/// The rows that [`GET`] found, in the order of the keys.
pub(crate) fn in_order(found: &[Row], count: usize) -> Result<Vec<Option<Bytes>>, Failure> {
    let mut rows = vec![None; count];
    for row in found {
        let number: i64 = row.try_get(0)?;
        let slot = usize::try_from(number - 1).ok().and_then(|index| rows.get_mut(index));
        let slot = slot.ok_or_else(|| Failure::Unreadable(format!("a row for key {number} of {count}")))?;
        *slot = Some(bytes_of(row, 1)?);
    }
    Ok(rows)
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
    let parameters: [&(dyn ToSql + Sync); 5] = [&space, first, second, third, &limit];
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
}

impl Snapshot {
    pub(crate) async fn take(connections: &Connections) -> Result<Snapshot, Failure> {
        let connection = connections.lease().await?;
        // PostgreSQL fixes the moment at the first statement, so one is sent at once.
        let fix = async {
            connection.begin_snapshot().await?;
            Ok(connection.batch_execute("SELECT 1").await?)
        };
        connections.answered(fix).await?;
        Ok(Snapshot { connection, connections: connections.clone() })
    }
}

#[async_trait]
impl Read for Snapshot {
    async fn get(&self, keys: &[Key], _: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        Ok(self.connections.answered(get(&self.connection, keys)).await?)
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
