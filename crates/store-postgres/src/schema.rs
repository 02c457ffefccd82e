//! The tables, their creation, and their format version.
//!
//! All tables and the version row are created in one transaction. Servers that start at the same moment
//! on an empty database all try; one commits, the others fail on a duplicate name and read again.

use store::StoreError;
use tokio_postgres::error::SqlState;

use crate::connection::{Connections, Lease};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::{session, shard, stripe};

/// To be raised when an older program must no longer use the tables.
pub const FORMAT: i32 = 3;

/// Three are enough unless a server that won the race was interrupted: one finds nothing, one loses the
/// race, one finds the winner's tables.
const ATTEMPTS_MAX: u32 = 10;

/// A worker of Citus on which the other tables are, made by a version that kept the format on the coordinator alone.
const NODE_WITHOUT_FORMAT: &str = "this node of the cluster has the tables of Lodestone and no lodestone_format: an earlier \
    version has kept it on the coordinator. Start a server of this version on the coordinator once; it puts the table on \
    every node";

const READ_FORMAT: &str = "SELECT version FROM lodestone_format";

/// The keys of rows have the shard last, so that a space is in the order of (partition, sort) and a scan is
/// one range. It adds nothing to the key: a partition has one shard.
fn tables(engine: Engine) -> String {
    let key = |columns: &[&str]| engine.primary_key(columns);
    format!(
        "CREATE TABLE lodestone_format (version integer PRIMARY KEY);
         CREATE TABLE lodestone_row (
             space bigint NOT NULL, shard smallint NOT NULL, partition bytea NOT NULL, sort bytea NOT NULL,
             value bytea NOT NULL, {});
         CREATE TABLE lodestone_lock (shard smallint NOT NULL, stripe smallint NOT NULL, {});
         CREATE TABLE lodestone_log (shard smallint NOT NULL, log bigint NOT NULL, last bigint NOT NULL, {});
         CREATE TABLE lodestone_record (
             shard smallint NOT NULL, log bigint NOT NULL, position bigint NOT NULL, record bytea NOT NULL, {});
         CREATE TABLE lodestone_commit (
             shard smallint NOT NULL, session bigint NOT NULL, serial bigint NOT NULL,
             is_closed boolean NOT NULL, at timestamptz NOT NULL, {});
         CREATE TABLE lodestone_member (shard smallint NOT NULL, member bigint NOT NULL, {});
         {}",
        key(&["space", "partition", "sort", "shard"]),
        key(&["shard", "stripe"]),
        key(&["shard", "log"]),
        key(&["shard", "log", "position"]),
        key(&["shard", "session"]),
        key(&["shard", "member"]),
        engine.distribute(),
    )
}

/// Creates the tables if they are missing, checks their format, and forgets sessions that ended long ago.
pub(crate) async fn prepare(connections: &Connections, engine: Engine) -> Result<(), StoreError> {
    if matches!(engine, Engine::Postgres | Engine::Citus) {
        let connection = connections.lease().await?;
        let warned = connections.answered(warn_if_not_durable(&connection)).await;
        connection.settle(&warned);
        warned?;
    }
    let mut attempt = 1;
    let version = loop {
        let connection = connections.lease().await?;
        let found = connections.answered(find_or_create(&connection, engine)).await;
        connection.settle(&found);
        match found {
            Ok(version) => break version,
            Err(failure) if lost_the_race(&failure, engine) && attempt < ATTEMPTS_MAX => attempt += 1,
            Err(failure) if engine == Engine::Citus && lost_the_race(&failure, engine) => {
                return Err(StoreError::Format(NODE_WITHOUT_FORMAT.to_owned()));
            }
            Err(failure) => return Err(failure.into()),
        }
    };
    check_format(version)?;
    if let Some(upgrade) = engine.upgrade() {
        let connection = connections.lease().await?;
        let upgraded = connections.answered(async { Ok(connection.batch_execute(&upgrade).await?) }).await;
        connection.settle(&upgraded);
        upgraded?;
    }
    session::forget_old(connections).await
}

/// Checks the format of the tables, which must be there.
pub(crate) async fn check(connections: &Connections) -> Result<(), StoreError> {
    let connection = connections.lease().await?;
    let found = connections.answered(find(&connection)).await;
    connection.settle(&found);
    match found? {
        Some(version) => check_format(version),
        None => Err(StoreError::Format("there is no data of Lodestone in that database".to_owned())),
    }
}

/// The operator decides how durable a commit is. A warning says that it is less than this store promises.
async fn warn_if_not_durable(connection: &Lease) -> Result<(), Failure> {
    const SETTINGS: &str = "SELECT current_setting('fsync'), current_setting('synchronous_commit')";
    let row = connection.query_one(SETTINGS, &[]).await?;
    let (fsync, synchronous_commit): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
    if fsync == "off" || synchronous_commit == "off" {
        tracing::warn!(fsync, synchronous_commit, "PostgreSQL may lose acknowledged writes in a crash");
    }
    Ok(())
}

async fn find_or_create(connection: &Lease, engine: Engine) -> Result<i32, Failure> {
    match find(connection).await? {
        Some(version) => Ok(version),
        None => create(connection, engine).await,
    }
}

/// The format of the tables, if they are there.
async fn find(connection: &Lease) -> Result<Option<i32>, Failure> {
    let found = connection.query(READ_FORMAT, &[]).await.map_err(Failure::from);
    match found {
        Ok(rows) => match rows.as_slice() {
            [row] => Ok(Some(row.try_get(0)?)),
            rows => Err(Failure::Unreadable(format!("lodestone_format has {} rows", rows.len()))),
        },
        Err(failure) if failure.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Statements sent in one message are one transaction.
async fn create(connection: &Lease, engine: Engine) -> Result<i32, Failure> {
    let rows = format!(
        "INSERT INTO lodestone_format VALUES ({FORMAT}); \
         INSERT INTO lodestone_lock SELECT shard, stripe FROM generate_series(0, {}) AS shard, \
             generate_series(0, {}) AS stripe;",
        shard::COUNT - 1,
        stripe::PER_SHARD - 1,
    );
    connection.batch_execute(&format!("{} {rows}", tables(engine))).await?;
    Ok(FORMAT)
}

/// Two servers that create the same table collide in PostgreSQL's own catalogs: with a duplicate table
/// if the other has committed, with a duplicate catalog row if it is about to.
fn lost_the_race(failure: &Failure, engine: Engine) -> bool {
    let races = [SqlState::DUPLICATE_TABLE, SqlState::DUPLICATE_OBJECT, SqlState::UNIQUE_VIOLATION];
    failure.code().is_some_and(|code| races.contains(code) || engine.is_conflict(code))
}

fn check_format(version: i32) -> Result<(), StoreError> {
    match version {
        FORMAT => Ok(()),
        other => Err(StoreError::Format(format!(
            "the database has format {other} and this program knows format {FORMAT}; \
             use the program that wrote it, or a newer one"
        ))),
    }
}
