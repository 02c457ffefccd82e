//! Prints how many durable commits a second the store takes, with 1, 8 and 64 tasks at once.
//!
//! `cargo run --release -p store-lsm --example commit_rate [FOLDER]`: the folder should be on the
//! disk to be measured; a temporary one is used otherwise, which may be in memory.
#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use store::{Key, Partition, Position, Space, Store, WriteSet};
use store_lsm::{Durability, LsmStore, Options};

const TIME: Duration = Duration::from_secs(2);
const VALUE_BYTES: usize = 300;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let parent = std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    for durability in [Durability::Fsync, Durability::Os] {
        for tasks in [1, 8, 64] {
            let folder = tempfile::tempdir_in(&parent)?;
            let (rate, latencies) = measure(folder.path(), durability, tasks).await?;
            let quantile = |part: f64| latencies[((latencies.len() - 1) as f64 * part) as usize];
            println!(
                "{durability:?}, {tasks:2} tasks: {rate:7.0} commits/s, p50 {:?}, p99 {:?}, max {:?}",
                quantile(0.5),
                quantile(0.99),
                quantile(1.0)
            );
        }
    }
    Ok(())
}

/// Every task increments rows of its own, so that nothing but the commit is measured.
async fn measure(
    folder: &Path,
    durability: Durability,
    tasks: u8,
) -> Result<(f64, Vec<Duration>), Box<dyn std::error::Error>> {
    let store = Arc::new(LsmStore::open(folder, Options { durability, ..Options::default() })?);
    let start = Instant::now();
    let running: Vec<_> = (0..tasks).map(|task| tokio::spawn(write(Arc::clone(&store), task))).collect();
    let mut latencies = Vec::new();
    for task in running {
        latencies.extend(task.await??);
    }
    let rate = latencies.len() as f64 / start.elapsed().as_secs_f64();
    latencies.sort_unstable();
    store.close().await?;
    Ok((rate, latencies))
}

async fn write(store: Arc<LsmStore>, task: u8) -> Result<Vec<Duration>, store::StoreError> {
    let start = Instant::now();
    let mut latencies = Vec::new();
    while start.elapsed() < TIME {
        let partition = Partition([task; Partition::LENGTH]);
        let sort = (latencies.len() as u64 % 10_000).to_be_bytes().to_vec();
        let key = Key { space: Space(1), position: Position { partition, sort } };
        let mut decide = |_: &[Option<Bytes>]| WriteSet {
            puts: vec![(key.clone(), Bytes::from(vec![b'x'; VALUE_BYTES]))],
            ..WriteSet::default()
        };
        let begun = Instant::now();
        store.update(std::slice::from_ref(&key), &mut decide).await?;
        latencies.push(begun.elapsed());
    }
    Ok(latencies)
}
