//! The promises of every store, kept by this one.

use std::sync::Arc;

use store::Store;
use store_postgres::{Engine, Options, PostgresStore};

use crate::support::{fresh_database, open};

store::conformance_tests!(|| async {
    let store = open(&fresh_database().await).await;
    (Arc::new(store) as Arc<dyn Store>, ())
});

/// With a statement for each key, as for engines that plan no others.
mod by_single_keys {
    use super::*;

    store::conformance_tests!(|| async {
        let options = Options { engine: Some(Engine::Cockroach), ..Options::default() };
        let store = PostgresStore::open(&fresh_database().await, options).await.expect("a store");
        (Arc::new(store) as Arc<dyn Store>, ())
    });
}

mod shared {
    use super::*;

    store::cluster_tests!(|| async {
        let url = fresh_database().await;
        let open = async || Arc::new(open(&url).await) as Arc<dyn Store>;
        (open().await, open().await, ())
    });
}
