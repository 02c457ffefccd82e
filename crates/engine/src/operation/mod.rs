//! The operations, one file each. All have the same shape: check the input, plan, act, answer.

pub mod batch_execute_statement;
pub mod batch_get_item;
pub mod batch_write_item;
pub mod create_table;
pub mod delete_item;
pub mod delete_resource_policy;
pub mod delete_table;
pub mod describe_continuous_backups;
pub mod describe_endpoints;
pub mod describe_limits;
pub mod describe_table;
pub mod describe_time_to_live;
pub mod execute_statement;
pub mod execute_transaction;
pub mod get_item;
pub mod get_resource_policy;
pub mod list_tables;
pub mod list_tags_of_resource;
pub mod put_item;
pub mod put_resource_policy;
pub mod query;
pub mod scan;
pub mod tag_resource;
pub mod transact_get_items;
pub mod transact_write_items;
pub mod untag_resource;
pub mod update_item;
pub mod update_table;
pub mod update_time_to_live;

mod cancellation;
mod consumed;
mod description;
mod digest;
mod item_collection;
mod next_token;
mod paging;
mod policy;
mod schema;
mod statement;
mod unserved;

use crate::expressions;
