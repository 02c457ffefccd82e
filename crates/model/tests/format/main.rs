//! Other tools' formats: what they hold is taken over, what a model can't hold comes back, what they can't
//! hold is said.

mod create_table;
mod examples;
mod mcp;
mod nosql_workbench;
mod skill;
mod support;
mod table_contents;
