//! Random histories of 16 clients over few items: every item is linearizable, transactions are serializable,
//! accounts keep their sum, and afterwards every index equals its table.
//!
//! A seed decides what each client asks for, given what it was answered; threads decide the rest.

mod faults;
mod workload;

use lodestone::{CACHE_BYTES, Database, Durability, Options, Storage};
use workload::{Connection, Workload};

const REQUESTS: usize = 10_000;

/// Runs a history and judges it; then the data, too.
async fn check(database: &Database, seed: u64) {
    let workload = Workload::new(seed, REQUESTS);
    let connection = Connection::new(database.engine());
    let mut events = workload.set_up(&connection).await;
    events.extend(workload.run(&connection).await);
    events.extend(workload.look(&connection).await);
    assert!(events.len() >= REQUESTS);

    let findings = simulation::check(&events).unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
    assert_eq!(findings.unknown_outcomes, 0, "seed {seed}");
    // A history in which hardly anything happened proves nothing.
    let enough = findings.actions > REQUESTS && findings.versions_written > 100 && findings.sums > 100;
    assert!(enough, "seed {seed}: {findings:?}");
    check_data(database, seed).await;
}

async fn check_data(database: &Database, seed: u64) {
    let found = database.verify().await.expect("the data is read");
    assert_eq!((found.faults, &found.reports), (0, &Vec::new()), "seed {seed}");
    assert!(found.tables == 1 && found.items > 9 && found.index_rows > 9, "seed {seed}: {found:?}");
}

async fn check_in_memory(seed: u64) {
    check(&Database::in_memory().await.expect("a database"), seed).await;
}

/// The folder's data is judged once more when it is opened again.
async fn check_in_folder(seed: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let storage =
        Storage::Folder { path: folder.path(), durability: Durability::Os, cache_bytes: CACHE_BYTES };
    let open = || Database::open_with(storage, Options::default());
    let database = open().await.expect("a database");
    check(&database, seed).await;
    database.close().await.expect("it closes");
    drop(database);
    check_data(&open().await.expect("a database"), seed).await;
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
}
