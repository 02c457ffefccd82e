//! DynamoDB's messages, by what they are about. Each text is made in one place: here if the engine needs it,
//! in `check` if only a check does.

mod backup;
mod index;
mod item;
mod kinesis;
mod page;
mod replica;
mod resource;
mod statement;
mod table;
mod transaction;
mod vector;
