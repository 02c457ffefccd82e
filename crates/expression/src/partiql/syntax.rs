//! A statement as written: names and literals are known, parameters only counted.

use item::{Placeholder, ValueBuf};

use super::SelectList;
use super::statement::{Order, Returning};
use crate::syntax::{Condition, Update};

/// A parsed statement. It depends on its text alone, so it may be kept and shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub(super) body: Body,
    /// What the placeholders `:0`, `:1`, … of the trees stand for.
    pub(super) values: Vec<Literal>,
    /// How many `?` there are.
    pub(super) parameters: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    Select(Select),
    Exists(Select),
    Insert { table: String, item: Literal },
    Update { table: String, changes: Update, condition: Option<Condition>, returning: Option<Returning> },
    Delete { table: String, condition: Option<Condition>, returning: Option<Returning> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Select {
    pub table: String,
    pub index: Option<String>,
    pub list: SelectList,
    pub condition: Option<Condition>,
    pub order: Vec<Order>,
}

/// A value that may have parameters in it. At most 33 levels deep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    /// Counted from 0.
    Parameter(usize),
    Scalar(ValueBuf),
    List(Vec<Literal>),
    Map(Vec<(String, Literal)>),
    Set(Vec<Literal>),
}

/// The placeholder of the value at `index` in [`Statement::values`].
pub(super) fn placeholder(index: usize) -> String {
    Placeholder::Value.of(index)
}
