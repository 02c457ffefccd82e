//! DynamoDB JSON to canonical bytes and back, each in one pass.

mod read;
mod write;

pub use jiter::Jiter;
pub use read::{ShapeError, read_boolean, read_item, read_text, read_value, skip};
pub use write::{write_item, write_text, write_value};
