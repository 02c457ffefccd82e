//! DeleteTable: the table is DELETING, and gone when the database's state delay is over. Its rows are cleared
//! in the background.

use api::{DeleteTableInput, DeleteTableOutput, Error};

use super::authorization::access::{Access, Resource};
use super::description::deleted;
use super::{Kind, Serve};
use super::{create_backup, replica_updates};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::table::{IndexState, Table, TableState};
use crate::operation::Engine;
use store::Space;

pub(super) struct DeleteTable;

impl Serve for DeleteTable {
    type Input = DeleteTableInput;
    type Output = DeleteTableOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r DeleteTableInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:DeleteTable", Resource::table(&input.table_name))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: DeleteTableInput,
    ) -> Result<DeleteTableOutput, Error> {
        input.check()?;
        let not_found = || Error::resource_not_found_table(&input.table_name);
        let table = engine.find(caller, &input.table_name)?.ok_or_else(not_found)?;
        // Deleting a table that is already DELETING is no error.
        let table = match table.state {
            TableState::Deleting => table,
            _ => {
                let now_ms = engine.environment.now_ms();
                let delete = move |table: &mut Table, _: Space| delete(table, now_ms);
                let table = engine.change_table(&table, delete).await?.ok_or_else(not_found)?;
                if table.recovery.is_some() && engine.backups.is_some() {
                    create_backup::of_deleted_table(engine, &table).await?;
                }
                match &table.membership {
                    Some(_) => engine.start_leave(table.namespace.clone(), &table.name).await,
                    None => engine.leave_state(&table).await,
                }
                table
            }
        };
        Ok(DeleteTableOutput { table_description: Some(deleted(&table, engine.usage.now().ms)) })
    }
}

/// Makes the table DELETING, or says why it cannot be deleted.
fn delete(table: &mut Table, now_ms: u64) -> Result<(), Error> {
    if table.deletion_protection {
        return Err(Error::deletion_protected());
    }
    if table.indexes.iter().any(|index| index.state != IndexState::Active) {
        return Err(Error::index_changes_under_way());
    }
    if !table.copies.is_empty() {
        return Err(Error::table_being_copied(&table.name));
    }
    if table.strong.is_some() {
        return Err(Error::strong_replica_not_deletable());
    }
    if table.membership.is_some() {
        replica_updates::check_not_source(table, now_ms)?;
        replica_updates::check_settled(table)?;
    }
    table.state = TableState::Deleting;
    Ok(())
}
