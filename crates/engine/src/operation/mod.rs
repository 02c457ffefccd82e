//! One operation, one file, one shape: check the input, plan, do, answer.

pub mod batch_get_item;
pub mod batch_write_item;
pub mod create_table;
pub mod delete_item;
pub mod delete_table;
pub mod describe_table;
pub mod get_item;
pub mod list_tables;
pub mod put_item;
pub mod query;
pub mod scan;
pub mod transact_get_items;
pub mod transact_write_items;
pub mod update_item;
pub mod update_table;

mod cancellation;
mod consumed;
mod description;
mod expressions;
mod item_collection;
mod paging;
mod schema;
