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
