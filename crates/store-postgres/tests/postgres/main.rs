//! The store on a real PostgreSQL. One binary, so that one server serves all tests.

mod cancelled;
mod conflict;
mod conformance;
mod failover;
mod limits;
mod lost_connection;
mod proxy;
mod scan;
mod schema;
mod sharing;
mod snapshot;
mod test_server;
mod tls;

use std::time::{Duration, Instant};

use bytes::Bytes;
use store::{Consistency, Key, Partition, Position, Read, Space, Store, StoreError, WriteSet};
use store_postgres::test_server::TestServer;
use store_postgres::{Options, PostgresStore};
use tokio_postgres::NoTls;

/// Far above what any step takes, and below the 30 s after which the server ends idle transactions.
const DEADLINE: Duration = Duration::from_secs(15);

async fn fresh_database() -> String {
    TestServer::fresh_database().await
}

async fn open(url: &str) -> PostgresStore {
    PostgresStore::open(url, Options::default()).await.expect("the store opens")
}

/// A client of its own beside the store, to look and to disturb.
async fn session(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("a connection");
    tokio::spawn(connection);
    client
}

/// Waits until `sql`, which counts something, gives `count`.
async fn wait_for_count(session: &tokio_postgres::Client, sql: &str, count: i64) {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let found: i64 = session.query_one(sql, &[]).await.expect("a count").get(0);
        if found == count {
            return;
        }
        assert!(Instant::now() < deadline, "{sql}: {found}, still not {count}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

const WAITING_FOR_LOCKS: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'lodestone' AND wait_event_type = 'Lock'";

const OPEN_TRANSACTIONS: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'lodestone' AND state LIKE 'idle in transaction%'";

const TERMINATE_ALL: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'lodestone'";

fn key(name: &str) -> Key {
    Key {
        space: Space(1),
        position: Position { partition: Partition::FIRST, sort: name.as_bytes().to_vec() },
    }
}

fn number(row: &Option<Bytes>) -> u64 {
    row.as_ref().map_or(0, |bytes| u64::from_be_bytes(bytes.as_ref().try_into().expect("eight bytes")))
}

async fn read_number(store: &dyn Read, name: &str) -> u64 {
    let rows = store.get(&[key(name)], Consistency::Latest).await.expect("a read succeeds");
    number(&rows[0])
}

/// Adds one to a counter that may not exist yet.
async fn increment(store: &dyn Store, name: &str) -> Result<(), StoreError> {
    increment_while(store, name, &mut || ()).await
}

/// The same, with something else happening between reading and committing.
async fn increment_while(
    store: &dyn Store,
    name: &str,
    meanwhile: &mut (dyn FnMut() + Send),
) -> Result<(), StoreError> {
    let mut decide = |rows: &[Option<Bytes>]| {
        meanwhile();
        let value = Bytes::copy_from_slice(&(number(&rows[0]) + 1).to_be_bytes());
        WriteSet { puts: vec![(key(name), value)], ..WriteSet::default() }
    };
    store.update(&[key(name)], &mut decide).await
}
