//! Creates and deletes tables and indexes, one at a time, and waits for each.

use api::{
    CreateGlobalSecondaryIndexAction, DeleteGlobalSecondaryIndexAction, DeleteTableInput, DescribeTableInput,
    GlobalSecondaryIndexUpdate, IndexStatus, UpdateTableInput,
};
use model::model::Table;

use super::message;
use crate::database::Database;
use crate::table::create_table as creation;

/// How often an index is looked at until it is ready. It is filled in this process, so yielding is enough.
const LOOKS_MAX: usize = 100_000;

pub async fn create_table(database: &Database, table: &Table) -> Result<(), String> {
    let input = creation(table).ok_or("the table has no key")?;
    database.call(input).await.map(|_| ()).map_err(message)
}

pub async fn delete_table(database: &Database, table: &str) -> Result<(), String> {
    let input = DeleteTableInput { table_name: table.to_owned() };
    database.call(input).await.map(|_| ()).map_err(message)
}

/// Creates the index as the table declares it, and waits until it is `ACTIVE`.
pub async fn create_index(database: &Database, table: &Table, index: &str) -> Result<(), String> {
    let whole = creation(table).ok_or("the table has no key")?;
    let mut indexes = whole.global_secondary_indexes.unwrap_or_default().into_iter();
    let made = indexes.find(|one| one.index_name == index).ok_or("there is no such index")?;
    let is_key = |name: &str| made.key_schema.iter().any(|key| key.attribute_name == name);
    let definitions = whole.attribute_definitions.unwrap_or_default().into_iter();
    let input = UpdateTableInput {
        table_name: table.name.value.clone(),
        attribute_definitions: Some(definitions.filter(|one| is_key(&one.attribute_name)).collect()),
        global_secondary_index_updates: Some(vec![GlobalSecondaryIndexUpdate {
            create: Some(CreateGlobalSecondaryIndexAction {
                index_name: made.index_name,
                key_schema: made.key_schema,
                projection: made.projection,
                ..CreateGlobalSecondaryIndexAction::default()
            }),
            ..GlobalSecondaryIndexUpdate::default()
        }]),
        ..UpdateTableInput::default()
    };
    database.call(input).await.map_err(message)?;
    wait(database, &table.name, index, Some(IndexStatus::Active)).await
}

pub async fn delete_index(database: &Database, table: &str, index: &str) -> Result<(), String> {
    let delete = Some(DeleteGlobalSecondaryIndexAction { index_name: index.to_owned() });
    let input = UpdateTableInput {
        table_name: table.to_owned(),
        global_secondary_index_updates: Some(vec![GlobalSecondaryIndexUpdate {
            delete,
            ..GlobalSecondaryIndexUpdate::default()
        }]),
        ..UpdateTableInput::default()
    };
    database.call(input).await.map_err(message)?;
    wait(database, table, index, None).await
}

async fn wait(
    database: &Database,
    table: &str,
    index: &str,
    wanted: Option<IndexStatus>,
) -> Result<(), String> {
    for _ in 0..LOOKS_MAX {
        let input = DescribeTableInput { table_name: table.to_owned() };
        let description = database.call(input).await.map_err(message)?.table;
        let indexes = description.and_then(|table| table.global_secondary_indexes).unwrap_or_default();
        let found = indexes.into_iter().find(|one| one.index_name.as_deref() == Some(index));
        if found.and_then(|one| one.index_status) == wanted {
            return Ok(());
        }
        tokio::task::yield_now().await;
    }
    Err(format!("index {index} of {table} does not become what it should"))
}
