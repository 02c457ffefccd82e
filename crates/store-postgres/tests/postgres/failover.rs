//! A server that is killed between a commit and its reply, and starts again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use store::{Store, StoreError};
use store_postgres::test_server::TestServer;
use store_postgres::{Options, PostgresStore};

use crate::proxy::{Answers, Proxy};
use crate::{increment, read_number};

const KILLS: usize = 3;
const WRITERS: usize = 6;

/// What a writer knows of its counter.
#[derive(Debug, Default)]
struct Counted {
    acknowledged: u64,
    unknown: u64,
    unavailable: u64,
}

/// Adds to a counter until it is told to stop. While there is no server, it tries again.
async fn count_up(store: Arc<dyn Store>, name: String, stop: Arc<AtomicBool>) -> Counted {
    let mut counted = Counted::default();
    while !stop.load(Ordering::SeqCst) {
        match increment(&*store, &name).await {
            Ok(()) => counted.acknowledged += 1,
            Err(StoreError::Ambiguous(_)) => counted.unknown += 1,
            Err(StoreError::Unavailable(_)) => {
                counted.unavailable += 1;
                tokio::time::sleep(Duration::from_millis(20)).await;
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
    let options = Options { wait: Duration::from_secs(20), ..Options::default() };
    let store = PostgresStore::open(&proxy.url(&url), options).await.expect("the store opens");
    let store: Arc<dyn Store> = Arc::new(store);
    let stop = Arc::new(AtomicBool::new(false));
    let name = |writer: usize| format!("counter {writer}");
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| tokio::spawn(count_up(store.clone(), name(writer), stop.clone())))
        .collect();
    for _ in 0..KILLS {
        tokio::time::sleep(Duration::from_millis(100)).await;
        proxy.set(Answers::HoldAtCommit);
        proxy.held().await;
        server.kill();
        // It is up again when a write of somebody else succeeds.
        while increment(&*store, "probe").await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
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
