//! Two servers on one database exclude each other as tasks of one server do.

use std::sync::Arc;

use store::Store;
use store_postgres::PostgresStore;

use crate::support::{fresh_database, increment, open, read_number};

const TASKS: usize = 8;
const ROUNDS: usize = 25;
const COUNTERS: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_servers_never_lose_each_others_increments() {
    let url = fresh_database().await;
    let servers = [Arc::new(open(&url).await), Arc::new(open(&url).await)];
    let tasks: Vec<_> =
        (0..TASKS).map(|task| tokio::spawn(count_up(servers[task % 2].clone(), task))).collect();
    for task in tasks {
        task.await.expect("every increment succeeds");
    }
    let mut sum = 0;
    for counter in 0..COUNTERS {
        sum += read_number(&*servers[0], &format!("counter {counter}")).await;
    }
    assert_eq!(sum, (TASKS * ROUNDS) as u64);
}

async fn count_up(store: Arc<PostgresStore>, task: usize) {
    for round in 0..ROUNDS {
        let store: &dyn Store = &*store;
        increment(store, &format!("counter {}", (task + round) % COUNTERS))
            .await
            .expect("an increment succeeds");
    }
}
