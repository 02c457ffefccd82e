//! DeleteTable: the table is DELETING at once for every later request, and gone when the delay that the
//! database was opened with is over; its rows are cleared in the background.

use std::sync::Arc;

use api::{DeleteTableInput, DeleteTableOutput, Error};
use store::{Space, Store};

use super::description::deleted;
use crate::catalog::{Catalog, LiveTable};
use crate::table::{IndexState, Table, TableState};
use crate::{Caller, Engine};

pub async fn run(
    engine: &Engine,
    caller: &Caller,
    input: DeleteTableInput,
) -> Result<DeleteTableOutput, Error> {
    input.check()?;
    let not_found = || Error::resource_not_found_table(&input.table_name);
    let table = engine.find(caller, &input.table_name).ok_or_else(not_found)?;
    // A table that is on its way out already is no error.
    let table = match table.state {
        TableState::Deleting => table,
        _ => {
            let table = engine.change(&table, delete).await?.ok_or_else(not_found)?;
            engine.settle(&table).await;
            table
        }
    };
    Ok(DeleteTableOutput { table_description: Some(deleted(&table)) })
}

/// Sends the table on its way out, or says why it must stay.
fn delete(table: &mut Table) -> Result<(), Error> {
    if table.deletion_protection {
        return Err(Error::deletion_protected());
    }
    if table.indexes.iter().any(|index| index.state != IndexState::Active) {
        return Err(Error::index_changes_under_way());
    }
    table.state = TableState::Deleting;
    Ok(())
}

/// Clears the rows of a dropped table and its indexes when the last write to it has ended.
pub async fn clear_all(store: Arc<dyn Store>, dropped: Arc<LiveTable>) {
    drop(dropped.gate.write().await);
    for space in dropped.spaces() {
        clear(store.clone(), space).await;
    }
}

/// Clears the rows of a dropped table or index. If that fails the next opening of the database tries again.
pub async fn clear(store: Arc<dyn Store>, space: Space) {
    if let Err(error) = Catalog::clear(&*store, space).await {
        tracing::warn!(%error, "the rows of a dropped table were not cleared; the next start tries again");
    }
}
