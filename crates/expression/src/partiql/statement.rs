//! Statements with their parameters put in, ready to be used on a table.

use item::{Item, ValueBuf};

use super::error::StatementError;
use super::select_list::SelectList;
use super::{bind, parse, syntax};
use crate::{Condition, update};

#[derive(Clone, Debug)]
pub enum Statement {
    Select(Select),
    Insert(Insert),
    Update(UpdateStatement),
    Delete(Delete),
    /// The condition check of a transaction: whether the SELECT finds its item.
    Exists(Select),
}

#[derive(Clone, Debug)]
pub struct Select {
    pub table: String,
    pub index: Option<String>,
    pub list: SelectList,
    pub condition: Option<Condition>,
    pub order: Vec<Order>,
}

/// One term of ORDER BY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub attribute: String,
    pub descending: bool,
}

#[derive(Clone, Debug)]
pub struct Insert {
    pub table: String,
    pub item: Item,
}

#[derive(Clone, Debug)]
pub struct UpdateStatement {
    pub table: String,
    pub changes: update::Update,
    pub condition: Option<Condition>,
    pub returning: Option<Returning>,
}

#[derive(Clone, Debug)]
pub struct Delete {
    pub table: String,
    pub condition: Option<Condition>,
    /// [`Returning::AllOld`] or nothing.
    pub returning: Option<Returning>,
}

/// What a write returns of its item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returning {
    AllOld,
    ModifiedOld,
    AllNew,
    ModifiedNew,
}

impl Statement {
    pub fn parse(text: &str, parameters: &[ValueBuf]) -> Result<Statement, StatementError> {
        Statement::bind(&parse(text)?, parameters)
    }

    /// Parameters that no `?` asks for are ignored, as in DynamoDB.
    pub fn bind(tree: &syntax::StatementTree, parameters: &[ValueBuf]) -> Result<Statement, StatementError> {
        bind::statement(tree, parameters)
    }

    pub fn table(&self) -> &str {
        match self {
            Statement::Select(Select { table, .. })
            | Statement::Exists(Select { table, .. })
            | Statement::Insert(Insert { table, .. })
            | Statement::Update(UpdateStatement { table, .. })
            | Statement::Delete(Delete { table, .. }) => table,
        }
    }

    /// Batches and transactions are all reads or all writes. EXISTS counts as a write: it is a condition of others.
    pub fn is_read(&self) -> bool {
        matches!(self, Statement::Select(_))
    }

    pub fn returning(&self) -> Option<Returning> {
        match self {
            Statement::Update(UpdateStatement { returning, .. })
            | Statement::Delete(Delete { returning, .. }) => *returning,
            _ => None,
        }
    }
}
