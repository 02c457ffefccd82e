//! The tables, how they come to be, and the format version that guards them.
//!
//! All tables and the version row are made in one transaction. Servers that start at the same moment
//! on an empty database all try; one commits, the others fail on a duplicate name and look again.

use store::StoreError;
use tokio_postgres::error::SqlState;

use crate::connection::{Connections, Lease};
use crate::failure::Failure;
use crate::stripe;

/// Raised whenever an older program must no longer touch the tables.
const FORMAT: i32 = 1;

/// One to find nothing, one to lose the race, one to find what the winner made; the rest is for
/// winners that were themselves cut short.
const ATTEMPTS_MAX: u32 = 10;

const READ_FORMAT: &str = "SELECT version FROM lodestone_format";

const TABLES: &str = "
    CREATE TABLE lodestone_format (version integer PRIMARY KEY);
    CREATE TABLE lodestone_row (
        space bigint NOT NULL, partition bytea NOT NULL, sort bytea NOT NULL, value bytea NOT NULL,
        PRIMARY KEY (space, partition, sort));
    CREATE TABLE lodestone_lock (stripe integer PRIMARY KEY);
    CREATE TABLE lodestone_log (log bigint PRIMARY KEY, last bigint NOT NULL);
    CREATE TABLE lodestone_record (
        log bigint NOT NULL, position bigint NOT NULL, record bytea NOT NULL,
        PRIMARY KEY (log, position));";

/// Leaves the database ready for use, or says why it is not.
pub(crate) async fn prepare(connections: &Connections) -> Result<(), StoreError> {
    let connection = connections.lease().await?;
    let warned = connections.answered(warn_if_not_durable(&connection)).await;
    connection.settle(&warned);
    warned?;
    let mut attempt = 1;
    loop {
        let connection = connections.lease().await?;
        let found = connections.answered(find_or_create(&connection)).await;
        connection.settle(&found);
        match found {
            Ok(version) => return check_format(version),
            Err(failure) if lost_the_race(&failure) && attempt < ATTEMPTS_MAX => attempt += 1,
            Err(failure) => return Err(failure.into()),
        }
    }
}

/// How durable a commit is, the operator decides; that it is less than this store promises should not
/// go unseen.
async fn warn_if_not_durable(connection: &Lease) -> Result<(), Failure> {
    const SETTINGS: &str = "SELECT current_setting('fsync'), current_setting('synchronous_commit')";
    let row = connection.query_one(SETTINGS, &[]).await?;
    let (fsync, synchronous_commit): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
    if fsync == "off" || synchronous_commit == "off" {
        tracing::warn!(fsync, synchronous_commit, "PostgreSQL may lose acknowledged writes in a crash");
    }
    Ok(())
}

async fn find_or_create(connection: &Lease) -> Result<i32, Failure> {
    let found = connection.query(READ_FORMAT, &[]).await.map_err(Failure::from);
    match found {
        Ok(rows) => match rows.as_slice() {
            [row] => Ok(row.try_get(0)?),
            rows => Err(Failure::Unreadable(format!("lodestone_format has {} rows", rows.len()))),
        },
        Err(failure) if failure.code() == Some(&SqlState::UNDEFINED_TABLE) => create(connection).await,
        Err(failure) => Err(failure),
    }
}

/// Statements sent in one message are one transaction.
async fn create(connection: &Lease) -> Result<i32, Failure> {
    let rows = format!(
        "INSERT INTO lodestone_format VALUES ({FORMAT}); \
         INSERT INTO lodestone_lock SELECT generate_series(0, {});",
        stripe::COUNT - 1
    );
    connection.batch_execute(&format!("{TABLES} {rows}")).await?;
    Ok(FORMAT)
}

/// Two that create the same name meet in PostgreSQL's own catalogs: as a duplicate table when the
/// other has committed, as a duplicate catalog row when it was faster by less.
fn lost_the_race(failure: &Failure) -> bool {
    let races = [SqlState::DUPLICATE_TABLE, SqlState::DUPLICATE_OBJECT, SqlState::UNIQUE_VIOLATION];
    failure.is_conflict() || failure.code().is_some_and(|code| races.contains(code))
}

fn check_format(version: i32) -> Result<(), StoreError> {
    match version {
        FORMAT => Ok(()),
        other => Err(StoreError::Corrupt(format!(
            "the database has format {other} and this program knows format {FORMAT}; \
             use the program that wrote it, or a newer one"
        ))),
    }
}
