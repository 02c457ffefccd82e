//! The in-memory store keeps the promises of the contract.

use std::sync::Arc;

use store::Store;
use store::memory::MemoryStore;

store::conformance_tests!(|| async { (Arc::new(MemoryStore::new()) as Arc<dyn Store>, ()) });
