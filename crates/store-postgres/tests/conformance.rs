//! The promises of every store, kept by this one.

use std::sync::Arc;

use store::Store;
use store_postgres::test_server::TestServer;
use store_postgres::{Options, PostgresStore};

store::conformance_tests!(|| async {
    let url = TestServer::shared().create_database().await;
    let store = PostgresStore::open(&url, Options::default()).await.expect("the store opens");
    (Arc::new(store) as Arc<dyn Store>, ())
});
