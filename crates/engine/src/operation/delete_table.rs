//! DeleteTable: the table is gone at once for every later request; its rows are cleared in the
//! background.

use std::sync::Arc;

use api::{DeleteTableInput, DeleteTableOutput, Error, TableStatus};
use store::{Space, Store};

use super::description::description;
use crate::catalog::Catalog;
use crate::table::IndexState;
use crate::{Caller, Engine, fault};

pub async fn run(
    engine: &Engine,
    caller: &Caller,
    input: DeleteTableInput,
) -> Result<DeleteTableOutput, Error> {
    input.check()?;
    let not_found = || Error::resource_not_found_table(&input.table_name);
    let table = engine.find(caller, &input.table_name).ok_or_else(not_found)?;
    if table.deletion_protection {
        return Err(Error::deletion_protected());
    }
    if table.indexes.iter().any(|index| index.state != IndexState::Active) {
        return Err(Error::index_changes_under_way());
    }
    let table = engine.catalog.remove(&table.caller(), &table.name).await.map_err(fault::of_store)?;
    let table = table.ok_or_else(not_found)?;

    let (store, dropped) = (engine.store.clone(), table.clone());
    tokio::spawn(async move {
        drop(dropped.gate.write().await);
        for space in dropped.spaces() {
            clear(store.clone(), space).await;
        }
    });
    Ok(DeleteTableOutput { table_description: Some(description(&table, TableStatus::Deleting)) })
}

/// Clears the rows of a dropped table or index. If that fails the next opening of the database tries again.
pub async fn clear(store: Arc<dyn Store>, space: Space) {
    if let Err(error) = Catalog::clear(&*store, space).await {
        tracing::warn!(%error, "the rows of a dropped table were not cleared; the next start tries again");
    }
}
