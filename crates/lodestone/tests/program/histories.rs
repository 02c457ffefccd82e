//! Random histories of 16 clients over few items: every item is linearizable, transactions are serializable,
//! accounts keep their sum, and afterwards every index equals its table.
//!
//! On PostgreSQL, also two servers that get the requests by turns.
//!
//! A seed decides what each client asks for, given what it was answered; threads decide the rest.

mod faults;
mod workload;

use std::sync::Arc;
use std::time::Duration;

use engine::Engine;
use lodestone::{CACHE_BYTES, Database, Durability, MEMTABLE_BYTES, Options, Storage, System};
use store_postgres::PostgresStore;
use store_postgres::test_server::TestServer;
use workload::{Connection, Workload};

const REQUESTS: usize = 10_000;
/// Each takes some round trips.
const REQUESTS_ON_POSTGRES: usize = 3_000;

/// Runs a history through servers that share a store and judges it; then the data, too.
async fn check(engines: &[Arc<Engine>], seed: u64, requests: usize) {
    let workload = Workload::new(seed, requests);
    let connection = Connection::by_turns(engines);
    let mut events = workload.set_up(&connection).await;
    events.extend(workload.run(&connection).await);
    events.extend(workload.look(&connection).await);
    assert!(events.len() >= requests);

    let findings = simulation::check(&events).unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
    assert_eq!(findings.unknown_outcomes, 0, "seed {seed}");
    // A history in which hardly anything happened proves nothing. How many transactions conflict, and so do nothing, depends
    // on how busy the machine is.
    let few = requests / 100;
    let enough = findings.actions > requests / 2 && findings.versions_written > few && findings.sums > few;
    assert!(enough, "seed {seed}: {findings:?}");
    check_data(&engines[0], seed).await;
}

async fn check_data(engine: &Engine, seed: u64) {
    let found = engine.verify().await.expect("the data is read");
    assert_eq!((found.faults, &found.reports), (0, &Vec::new()), "seed {seed}");
    assert!(found.tables == 1 && found.items > 9 && found.index_rows > 9, "seed {seed}: {found:?}");
}

async fn check_in_memory(seed: u64) {
    let database = Database::in_memory().await.expect("a database");
    check(&[database.engine()], seed, REQUESTS).await;
}

/// The folder's data is judged once more when it is opened again.
async fn check_in_folder(seed: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let storage = Storage::Folder {
        path: folder.path(),
        durability: Durability::Os,
        cache_bytes: CACHE_BYTES,
        memtable_bytes: MEMTABLE_BYTES,
    };
    let open = || Database::open_with(storage, Options::default());
    let database = open().await.expect("a database");
    check(&[database.engine()], seed, REQUESTS).await;
    database.close().await.expect("it closes");
    drop(database);
    check_data(&open().await.expect("a database").engine(), seed).await;
}

/// Servers that get the requests by turns. They wait for long, because tests share the machine.
async fn check_on_postgres(seed: u64, servers: usize) {
    let url = TestServer::fresh_database().await;
    let minutes = |count: u64| Duration::from_secs(60 * count);
    let mut engines = Vec::new();
    for _ in 0..servers {
        let options = store_postgres::Options { wait: minutes(2), reply: minutes(3), ..Default::default() };
        let store = PostgresStore::open(&url, options).await.expect("a store");
        let options = Options { member_silence: minutes(10), ..Options::default() };
        let engine = Engine::open_with(Arc::new(store), Arc::new(System), options).await;
        engines.push(Arc::new(engine.expect("a database")));
    }
    check(&engines, seed, REQUESTS_ON_POSTGRES).await;
    for engine in engines {
        engine.close().await.expect("it closes");
    }
}

async fn check_on_one_server(seed: u64) {
    check_on_postgres(seed, 1).await;
}

async fn check_on_two_servers(seed: u64) {
    check_on_postgres(seed, 2).await;
}

macro_rules! with_seeds {
    ($($name:ident: $check:ident($seed:expr);)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        async fn $name() {
            $check($seed).await;
        }
    )*};
}

with_seeds! {
    in_memory_seed_1: check_in_memory(1);
    in_memory_seed_2: check_in_memory(2);
    in_memory_seed_3: check_in_memory(3);
    in_a_folder_seed_4: check_in_folder(4);
    in_a_folder_seed_5: check_in_folder(5);
    in_a_folder_seed_6: check_in_folder(6);
    on_postgres_seed_7: check_on_one_server(7);
    on_two_servers_of_postgres_seed_8: check_on_two_servers(8);
}
