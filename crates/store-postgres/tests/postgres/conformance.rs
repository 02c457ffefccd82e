//! The promises of every store, kept by this one.

use std::sync::Arc;

use store::Store;

use crate::{fresh_database, open};

store::conformance_tests!(|| async {
    let store = open(&fresh_database().await).await;
    (Arc::new(store) as Arc<dyn Store>, ())
});
