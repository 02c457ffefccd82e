//! Access patterns: what the application asks of the table, and how often.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use item::Value;

use super::EntityId;
use super::quantity::{Rate, Returns, Skew};
use crate::predicate::{Operand, Predicate};
use crate::{Span, Spanned};

#[derive(Clone, Debug)]
pub struct Pattern {
    pub id: Spanned<String>,
    pub span: Span,
    pub description: Option<String>,
    /// One action alone, or several in a transaction or batch.
    pub grouping: Grouping,
    pub actions: Vec<Action>,
    pub rate: Option<Spanned<Rate>>,
    /// How requests fall on partition keys.
    pub skew: Option<Spanned<Skew>>,
    pub consistency: Option<Spanned<Consistency>>,
    /// The index that must serve it, if the file says which.
    pub index: Option<Spanned<String>>,
    pub fan_out: Option<Spanned<FanOut>>,
    /// The share of reads that a cache answers before the table is asked.
    pub cached: Option<Spanned<f64>>,
    /// The share of writes whose condition fails; they are paid for all the same.
    pub fails: Option<Spanned<f64>>,
    /// Who serves it, if not the table: `OpenSearch`.
    pub external: Option<Spanned<String>>,
    /// The request as the application sends it, member by member as in the API.
    pub request: Option<Spanned<serde_json::Value>>,
    /// Where the value of each member of `request` stands; for text without its quotes.
    pub request_members: BTreeMap<String, Span>,
    pub expect: Vec<Expectation>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    Single,
    Transaction,
    Batch,
}

/// `create LineItem × 5`.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    pub kind: ActionKind,
    pub times: u64,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ActionKind {
    Read(Read),
    Write(Write),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    pub verb: ReadVerb,
    /// Several if the result is a mixed item collection: a customer and its orders.
    pub entities: Vec<Spanned<EntityId>>,
    /// `by`: attributes whose values the reader knows.
    pub by: Vec<Spanned<String>>,
    /// `where`: which items are wanted.
    pub conditions: Option<Predicate>,
    /// `filter`: what DynamoDB drops after it has read.
    pub filter: Option<Predicate>,
    pub order: Vec<OrderBy>,
    pub limit: Option<Spanned<u64>>,
    /// How many items there are to be found.
    pub returns: Option<Spanned<Returns>>,
    /// Whether the reader follows `LastEvaluatedKey`.
    pub paged: Option<Spanned<bool>>,
    pub attributes: Option<Spanned<AttributesRead>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadVerb {
    Get,
    Query,
    Scan,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AttributesRead {
    All,
    Keys,
    Count,
    These(Vec<Spanned<String>>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct OrderBy {
    pub attribute: Spanned<String>,
    pub descending: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    pub verb: WriteVerb,
    pub entity: Spanned<EntityId>,
    /// `by`: what finds the item. Empty for `create` and `put`, which know every attribute.
    pub by: Vec<Spanned<String>>,
    /// `knows`: what the writer has at hand besides.
    pub knows: Vec<Spanned<String>>,
    pub set: Vec<Change>,
    /// Counters: `ADD`.
    pub add: Vec<Change>,
    pub remove: Vec<Spanned<String>>,
    pub condition: Option<Predicate>,
    /// The attribute that optimistic locking compares and raises.
    pub version: Option<Spanned<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteVerb {
    /// PutItem that must not find an item.
    Create,
    Put,
    Update,
    Delete,
    /// ConditionCheck of a transaction.
    Check,
}

/// `status: OPEN -> SHIPPED`.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub attribute: Spanned<String>,
    pub from: Option<Operand>,
    pub to: Option<Operand>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    Eventual,
    Strong,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FanOut {
    Allowed,
    /// At most so many requests.
    Most(u64),
}

/// With these values given, exactly these sample rows come back, in this order.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    pub given: IndexMap<String, Spanned<Value>>,
    pub rows: Vec<Spanned<String>>,
    pub span: Span,
}

impl Pattern {
    pub fn reads(&self) -> impl Iterator<Item = (&Action, &Read)> {
        self.actions.iter().filter_map(|action| match &action.kind {
            ActionKind::Read(read) => Some((action, read)),
            ActionKind::Write(_) => None,
        })
    }

    pub fn writes(&self) -> impl Iterator<Item = (&Action, &Write)> {
        self.actions.iter().filter_map(|action| match &action.kind {
            ActionKind::Write(write) => Some((action, write)),
            ActionKind::Read(_) => None,
        })
    }

    pub fn is_read(&self) -> bool {
        self.writes().next().is_none()
    }
}

impl Read {
    /// What an attribute is known to be: the literal or parameter of an equality, or just known (`by`).
    pub fn knows(&self, attribute: &str) -> bool {
        self.by.iter().any(|known| known.value == attribute)
            || self.conditions.as_ref().is_some_and(|where_| where_.equality(attribute).is_some())
    }
}

impl ReadVerb {
    pub fn name(self) -> &'static str {
        match self {
            ReadVerb::Get => "get",
            ReadVerb::Query => "query",
            ReadVerb::Scan => "scan",
        }
    }
}

impl WriteVerb {
    pub fn name(self) -> &'static str {
        match self {
            WriteVerb::Create => "create",
            WriteVerb::Put => "put",
            WriteVerb::Update => "update",
            WriteVerb::Delete => "delete",
            WriteVerb::Check => "check",
        }
    }
}
