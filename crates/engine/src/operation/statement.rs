//! PartiQL statements as plans: other operations build a plan from their parameters, these from a text. Reads and
//! writes don't know which of the two they come from.
//!
//! A statement is first compared with its table's key schema, which shows whether it names one item; then its
//! values are compared with the schema's types. A transaction answers the two errors differently.

use std::sync::Arc;

use api::{Error, ReturnValue, limits};
use expression::Condition;
use expression::partiql::{Keyed, Returning, Select, SelectList, Statement, StatementError};
use item::{Item, ValueBuf};
use store::Key;

use super::query::borrowed;
use super::update_item;
use crate::base::key::KeyError;
use crate::commit::{Change, Outcome, Plan};
use crate::read::items::Asked;
use crate::read::source::SourceError;
use crate::tables::catalog::LiveTable;

/// The statement that a text is, with its parameters.
pub fn parse(text: &str, parameters: Option<&Vec<ValueBuf>>) -> Result<Statement, Error> {
    let parameters = parameters.map_or(&[][..], Vec::as_slice);
    Statement::parse(text, parameters).map_err(statement_error)
}

/// Whether a statement only reads: SELECT and EXISTS do. What is no statement counts as a write.
pub fn only_reads(text: &str) -> bool {
    let word: String = text.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    word.eq_ignore_ascii_case("SELECT") || word.eq_ignore_ascii_case("EXISTS")
}

/// How an operation reports a bad statement.
pub fn statement_error(error: StatementError) -> Error {
    Error::validation(error.to_string())
}

/// How a statement reports an index that it can't read. Two messages differ from those of Query and Scan
/// (observed at DynamoDB in eu-west-1 and eu-west-2, August and September 2026).
pub fn source_error(error: SourceError) -> Error {
    match error {
        SourceError::IndexUnknown(_) => Error::index_unknown_in_statement(),
        SourceError::ConsistentRead => Error::consistent_read_in_statement(),
        error => error.into(),
    }
}

/// A SELECT that names one item of a table.
pub struct Read {
    pub table: Arc<LiveTable>,
    key_attributes: Item,
    condition: Option<Condition>,
    list: SelectList,
}

impl Read {
    /// Compares the SELECT with the key schema of its table.
    pub fn of(table: Arc<LiveTable>, select: Select) -> Result<Read, StatementError> {
        let Keyed { key, condition } =
            select.keyed(&borrowed(&table.keys.partition), &borrowed(&table.keys.sort))?;
        Ok(Read { table, key_attributes: key, condition, list: select.list })
    }

    /// Refuses empty and oversized key values.
    pub fn check_key_values(&self) -> Result<(), KeyError> {
        self.table.keys.check_values(self.key_attributes.as_ref())
    }

    /// The key of the item.
    pub fn key(&self) -> Result<Key, KeyError> {
        self.table.key_of(self.key_attributes.as_ref())
    }

    /// The item that is asked for, given its key.
    pub fn asked<'a>(&'a self, key: &'a Key) -> Asked<'a> {
        Asked { table: &self.table, key, attributes: self.key_attributes.as_ref() }
    }

    /// What the SELECT shows of the item at its key; nothing if the rest of WHERE does not hold of it.
    pub fn shown(&self, item: &Item) -> Option<Item> {
        let found = self.condition.as_ref().is_none_or(|condition| condition.evaluate(Some(item.as_ref())));
        found.then(|| self.list.apply(item.as_ref()))
    }
}

/// A statement that writes one item, or checks it for others that do.
pub struct Write {
    table: Arc<LiveTable>,
    /// The item to be inserted, or the key of another.
    attributes: Item,
    change: Change,
    condition: Option<Condition>,
}

impl Write {
    /// Compares the statement with the key schema of its table. A SELECT means EXISTS here.
    pub fn of(table: Arc<LiveTable>, statement: Statement) -> Result<Write, StatementError> {
        let (hash, range) = (borrowed(&table.keys.partition), borrowed(&table.keys.sort));
        let (change, Keyed { key, condition }) = match statement {
            Statement::Insert(insert) => {
                let keyed = Keyed { key: insert.item.clone(), condition: None };
                (Change::Insert(insert.item), keyed)
            }
            Statement::Update(update) => {
                let keyed = update.keyed(&hash, &range)?;
                let key_attributes = keyed.key.clone();
                (Change::Update { update: Box::new(update.changes), key_attributes }, keyed)
            }
            Statement::Delete(delete) => {
                let keyed = delete.keyed(&hash, &range)?;
                (Change::Delete { key_attributes: keyed.key.clone() }, keyed)
            }
            Statement::Exists(select) | Statement::Select(select) => {
                let keyed = select.existence(&hash, &range)?;
                (Change::Check { key_attributes: keyed.key.clone() }, keyed)
            }
        };
        Ok(Write { table, attributes: key, change, condition })
    }

    /// Refuses empty and oversized key values.
    pub fn check_key_values(&self) -> Result<(), KeyError> {
        self.table.keys.check_values(self.attributes.as_ref())
    }

    /// The statement's plan.
    pub fn plan(self, show_failed_item: bool) -> Result<Plan, Error> {
        let Write { table, attributes, change, condition } = self;
        let key = match &change {
            Change::Insert(item) if item.size_bytes() > limits::ITEM_BYTES_MAX => {
                return Err(Error::item_too_large());
            }
            Change::Insert(item) => table.key_of_item(item.as_ref())?,
            _ => table.key_of(attributes.as_ref())?,
        };
        if let Change::Update { update, .. } = &change {
            update_item::check(&table, update)?;
        }
        Ok(Plan::of_client(table, key, change).on_condition(condition, show_failed_item))
    }
}

/// What RETURNING shows of the item that was written.
pub fn returned(returning: Option<Returning>, plan: &Plan, outcome: Outcome) -> Option<Item> {
    let asked = match returning? {
        Returning::AllOld => ReturnValue::AllOld,
        Returning::ModifiedOld => ReturnValue::UpdatedOld,
        Returning::AllNew => ReturnValue::AllNew,
        Returning::ModifiedNew => ReturnValue::UpdatedNew,
    };
    match plan.change {
        Change::Delete { .. } => outcome.old,
        _ => update_item::attributes(Some(asked), plan, outcome),
    }
}
