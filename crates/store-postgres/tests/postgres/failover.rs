//! A server that is killed between a commit and its reply, and starts again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use store::{Store, StoreError};
use store_postgres::PostgresStore;
use store_postgres::test_server::TestServer;

use crate::proxy::{Answers, Proxy};
use crate::support::{increment, options, pause, read_number, until};

const KILLS: usize = 3;
const WRITERS: usize = 6;

/// What a writer knows of its counter.
#[derive(Debug, Default)]
struct Counted {
    acknowledged: u64,
    unknown: u64,
    unavailable: u64,
}

/// Adds to a counter until the test stops it. While there is no server, it tries again.
async fn count_up(
    store: Arc<dyn Store>,
    name: String,
    stop: Arc<AtomicBool>,
    written: Arc<AtomicU64>,
) -> Counted {
    let mut counted = Counted::default();
    while !stop.load(Ordering::SeqCst) {
        match increment(&*store, &name).await {
            Ok(()) => {
                counted.acknowledged += 1;
                written.fetch_add(1, Ordering::SeqCst);
            }
            Err(StoreError::Ambiguous(_)) => counted.unknown += 1,
            Err(StoreError::Unavailable(_)) => {
                counted.unavailable += 1;
                pause().await;
            }
            Err(error) => panic!("{error}"),
        }
    }
    counted
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn kills_between_commit_and_reply_lose_nothing_and_repeat_nothing() {
    let server = TestServer::start();
    server.restart_when_it_ends();
    let url = server.create_database().await;
    let proxy = Proxy::start(&url).await;
    let store = PostgresStore::open(&proxy.url(&url), options()).await.expect("the store opens");
    let store: Arc<dyn Store> = Arc::new(store);
    let stop = Arc::new(AtomicBool::new(false));
    let name = |writer: usize| format!("counter {writer}");
    let written: Vec<Arc<AtomicU64>> = (0..WRITERS).map(|_| Arc::default()).collect();
    let writers: Vec<_> = written
        .iter()
        .enumerate()
        .map(|(writer, written)| {
            tokio::spawn(count_up(store.clone(), name(writer), stop.clone(), written.clone()))
        })
        .collect();
    for _ in 0..KILLS {
        let written = || written.iter().map(|written| written.load(Ordering::SeqCst));
        let before: Vec<u64> = written().collect();
        until("all writers write", async || written().zip(&before).all(|(now, before)| now > *before)).await;
        proxy.set(Answers::HoldAtCommit);
        proxy.held().await;
        server.kill();
        // The server is up again when a write of another store succeeds.
        until("the server is up again", async || increment(&*store, "probe").await.is_ok()).await;
    }
    stop.store(true, Ordering::SeqCst);
    for (writer, counted) in writers.into_iter().enumerate() {
        let counted = counted.await.expect("a writer ends well");
        let found = read_number(&*store, &name(writer)).await;
        let most = counted.acknowledged + counted.unknown;
        assert!((counted.acknowledged..=most).contains(&found), "{found} of {counted:?}");
        assert_eq!(counted.unknown, 0, "every outcome was found: {counted:?}");
        assert!(counted.acknowledged > 0);
    }
}
