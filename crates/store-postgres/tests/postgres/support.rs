//! Databases, rows that count, and waiting for what the store and the server do.

use std::time::Duration;

use bytes::Bytes;
use store::{Consistency, Key, Partition, Position, Read, Space, Store, StoreError, WriteSet};
use store_postgres::test_server::TestServer;
use store_postgres::{Options, PostgresStore};
use tokio_postgres::NoTls;

/// Longer than any condition takes on a busy machine: a test that waits this long has failed.
pub const TIMEOUT: Duration = Duration::from_secs(120);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Looks until it is so.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let looking = async {
        while !is_so().await {
            pause().await;
        }
    };
    tokio::time::timeout(TIMEOUT, looking).await.unwrap_or_else(|_| panic!("it never happens that {what}"));
}

/// A moment, before something is tried again.
pub async fn pause() {
    tokio::time::sleep(PAUSE).await;
}

/// Nothing is given up because the machine is slow, and the server ends no idle transaction that a test waits for.
pub fn options() -> Options {
    Options { wait: TIMEOUT, reply: 2 * TIMEOUT, failover: TIMEOUT, ..Options::default() }
}

pub async fn fresh_database() -> String {
    TestServer::fresh_database().await
}

pub async fn open(url: &str) -> PostgresStore {
    PostgresStore::open(url, options()).await.expect("the store opens")
}

/// A client of its own beside the store, to look and to disturb.
pub async fn session(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("a connection");
    tokio::spawn(connection);
    client
}

/// Waits until `sql`, which counts something, gives `count`.
pub async fn wait_for_count(session: &tokio_postgres::Client, sql: &str, count: i64) {
    let found = async || session.query_one(sql, &[]).await.expect("a count").get::<_, i64>(0);
    until(&format!("{sql} is {count}"), async || found().await == count).await;
}

pub const WAITING_FOR_LOCKS: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'lodestone' AND wait_event_type = 'Lock'";

pub const OPEN_TRANSACTIONS: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'lodestone' AND state LIKE 'idle in transaction%'";

pub const TERMINATE_ALL: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'lodestone'";

pub fn key(name: &str) -> Key {
    Key {
        space: Space(1),
        position: Position { partition: Partition::FIRST, sort: name.as_bytes().to_vec() },
    }
}

pub fn number(row: &Option<Bytes>) -> u64 {
    row.as_ref().map_or(0, |bytes| u64::from_be_bytes(bytes.as_ref().try_into().expect("eight bytes")))
}

pub async fn read_number(store: &dyn Read, name: &str) -> u64 {
    let rows = store.get(&[key(name)], Consistency::Latest).await.expect("a read succeeds");
    number(&rows[0])
}

/// Adds one to a counter that may not exist yet.
pub async fn increment(store: &dyn Store, name: &str) -> Result<(), StoreError> {
    increment_while(store, name, &mut || ()).await
}

/// The same, with something else happening between reading and committing.
pub async fn increment_while(
    store: &dyn Store,
    name: &str,
    interrupt: &mut (dyn FnMut() + Send),
) -> Result<(), StoreError> {
    let mut decide = |rows: &[Option<Bytes>]| {
        interrupt();
        let value = Bytes::copy_from_slice(&(number(&rows[0]) + 1).to_be_bytes());
        WriteSet { puts: vec![(key(name), value)], ..WriteSet::default() }
    };
    store.update(&[key(name)], &mut decide).await
}
