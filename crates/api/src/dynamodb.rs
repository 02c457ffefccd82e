//! DynamoDB: tables and items.

mod action;
mod check;
mod error;
pub(crate) mod generated;
pub mod limits;
mod table_name;

pub use action::{Act, Action};
pub use generated::*;
pub use table_name::{TableHome, TableName};
