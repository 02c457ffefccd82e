//! The store on the tree keeps the promises of the contract.

use std::sync::Arc;

use store::Store;
use store_lsm::{Durability, LsmStore, Options};

async fn make(durability: Durability) -> (Arc<dyn Store>, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = Options { durability, ..Options::default() };
    let store = LsmStore::open(folder.path(), options).expect("an empty folder opens");
    (Arc::new(store), folder)
}

mod durable_on_disk {
    store::conformance_tests!(|| super::make(store_lsm::Durability::Fsync));
}

mod durable_with_the_operating_system {
    store::conformance_tests!(|| super::make(store_lsm::Durability::Os));
}
