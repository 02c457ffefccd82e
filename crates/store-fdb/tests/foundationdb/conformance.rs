//! The suite of the storage contract.

mod on_the_model {
    use std::sync::Arc;

    use store::Store;
    use store_fdb::FdbStore;
    use store_fdb::model::Model;

    use crate::options;

    async fn open(model: &Model) -> Arc<dyn Store> {
        Arc::new(FdbStore::on_model(model, options()).await.expect("a store"))
    }

    store::conformance_tests!(|| async { (open(&Model::default()).await, ()) });

    mod cluster {
        use super::*;

        store::cluster_tests!(|| async {
            let model = Model::default();
            (open(&model).await, open(&model).await, ())
        });
    }
}

/// On the cluster whose file LODESTONE_FDB_CLUSTER names. Each test has a database of its own, which stays there.
#[cfg(feature = "client")]
mod on_a_cluster {
    use std::sync::Arc;

    use store::Store;
    use store_fdb::{FdbStore, Options};

    fn options() -> Options {
        Options { name: format!("test-{:016x}", fastrand::u64(..)), ..crate::options() }
    }

    async fn open(options: &Options) -> Arc<dyn Store> {
        let file =
            std::env::var("LODESTONE_FDB_CLUSTER").expect("LODESTONE_FDB_CLUSTER names a cluster file");
        Arc::new(FdbStore::open(&file, options.clone()).await.expect("a store"))
    }

    store::conformance_tests!(|| async { (open(&options()).await, ()) });

    mod cluster {
        use super::*;

        store::cluster_tests!(|| async {
            let options = options();
            (open(&options).await, open(&options).await, ())
        });
    }
}
