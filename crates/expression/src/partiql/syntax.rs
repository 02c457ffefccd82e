//! A statement as written: names and literals are known, parameters only counted.

use item::{Placeholder, ValueBuf};

use super::SelectList;
use super::statement::{Order, Returning};
use crate::syntax::{ConditionTree, UpdateTree};

/// A parsed statement. It depends on its text alone, so it may be kept and shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementTree {
    pub(super) body: Body,
    /// What the placeholders `:0`, `:1`, … of the trees stand for.
    pub(super) values: Vec<Literal>,
    /// How many `?` there are.
    pub(super) parameters: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    Select(SelectTree),
    Exists(SelectTree),
    Insert {
        table: String,
        item: Literal,
    },
    Update {
        table: String,
        changes: UpdateTree,
        condition: Option<ConditionTree>,
        returning: Option<Returning>,
    },
    Delete {
        table: String,
        condition: Option<ConditionTree>,
        returning: Option<Returning>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SelectTree {
    pub table: String,
    pub index: Option<String>,
    pub list: SelectList,
    pub condition: Option<ConditionTree>,
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

/// The placeholder of the value at `index` in [`StatementTree::values`].
pub(super) fn placeholder(index: usize) -> String {
    Placeholder::Value.of(index)
}
