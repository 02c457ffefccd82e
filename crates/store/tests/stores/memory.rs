//! The in-memory store keeps the promises of the contract.

use std::sync::Arc;

use store::Store;
use store::memory::{MemoryCluster, MemoryStore};

store::conformance_tests!(|| async { (Arc::new(MemoryStore::new()) as Arc<dyn Store>, ()) });

mod shared {
    use super::*;

    store::cluster_tests!(|| async {
        let cluster = MemoryCluster::new();
        let handle = || Arc::new(cluster.handle()) as Arc<dyn Store>;
        (handle(), handle(), ())
    });
}
