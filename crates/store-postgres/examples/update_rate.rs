//! How fast single-row updates are, on a PostgreSQL of its own or on the one named by a URL:
//!
//! `cargo run --release -p store-postgres --features test-server --example update_rate [-- URL]`
//!
//! The server that it starts by itself syncs nothing; its numbers show the cost of the path, not of disks.

#![allow(clippy::print_stdout, reason = "a measurement is printed")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use store::{Cluster, Key, Log, Partition, Position, Space, Store, WriteSet};
use store_postgres::test_server::TestServer;
use store_postgres::{Options, PostgresStore};

const TIME: Duration = Duration::from_secs(4);
const ROWS: u64 = 10_000;

#[derive(Clone, Copy)]
enum Load {
    SpreadRows,
    SpreadRowsWithLog,
    OneRow,
}

#[tokio::main]
async fn main() {
    let started;
    let url = match std::env::args().nth(1) {
        Some(url) => url,
        None => {
            started = TestServer::start();
            started.create_database().await
        }
    };
    let alone = Options { transactions: 16, stripes_per_transaction: 1, ..Options::default() };
    for (way, options, is_member) in [
        ("each alone", alone.clone(), false),
        ("each alone, as a member of several servers", alone, true),
        ("shared transactions", Options::default(), false),
        ("shared transactions, as a member of several servers", Options::default(), true),
    ] {
        println!("{way}");
        let store = Arc::new(PostgresStore::open(&url, options).await.expect("the store opens"));
        if is_member {
            // Each transaction holds the member's row from here on.
            store.join().await.expect("the server joins");
        }
        for (name, load) in [
            ("spread rows", Load::SpreadRows),
            ("spread rows, one log", Load::SpreadRowsWithLog),
            ("one row", Load::OneRow),
        ] {
            for tasks in [1, 64] {
                measure(&store, name, load, tasks).await;
            }
        }
    }
}

async fn measure(store: &Arc<PostgresStore>, name: &str, load: Load, tasks: u64) {
    let begin = Instant::now();
    let running: Vec<_> =
        (0..tasks).map(|task| tokio::spawn(work(store.clone(), load, task, begin + TIME))).collect();
    let mut times = Vec::new();
    for task in running {
        times.extend(task.await.expect("a task ends well"));
    }
    let rate = times.len() as f64 / begin.elapsed().as_secs_f64();
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!("{name:22} {tasks:3} tasks {rate:8.0}/s  p50 {:?}  p99 {:?}", at(0.5), at(0.99));
}

async fn work(store: Arc<PostgresStore>, load: Load, task: u64, end: Instant) -> Vec<Duration> {
    let mut times = Vec::new();
    for round in 0.. {
        let begin = Instant::now();
        if begin > end {
            break;
        }
        let key = match load {
            Load::OneRow => key(0),
            // A stride that is prime to the number of rows, so that tasks wander through all of them.
            Load::SpreadRows | Load::SpreadRowsWithLog => key((task * 997 + round * 7919) % ROWS),
        };
        let appends = match load {
            Load::SpreadRowsWithLog => vec![(Log(1), Bytes::from(vec![1; 200]))],
            _ => Vec::new(),
        };
        let puts = vec![(key.clone(), Bytes::from(vec![2; 500]))];
        let mut set = Some(WriteSet { puts, appends, ..WriteSet::default() });
        store.update(&[key], &mut |_| set.take().unwrap_or_default()).await.expect("an update succeeds");
        times.push(begin.elapsed());
    }
    times
}

fn key(number: u64) -> Key {
    let mut partition = Partition::FIRST;
    partition.0[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    Key { space: Space(1), position: Position { partition, sort: Vec::new() } }
}
