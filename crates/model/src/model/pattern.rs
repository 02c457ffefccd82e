//! Access patterns: what the application asks of the table, and how often.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use item::Value;

use super::EntityId;
use super::quantity::{Cached, Rate, Returns, Skew};
use crate::predicate::{Operand, Predicate};
use crate::{Span, Spanned};

/// An access pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    pub id: Spanned<String>,
    pub span: Span,
    pub description: Option<String>,
    /// A single action, or several in a transaction or batch.
    pub grouping: Grouping,
    pub actions: Vec<Action>,
    pub rate: Option<Spanned<Rate>>,
    /// How requests are distributed over partition keys.
    pub skew: Option<Spanned<Skew>>,
    pub consistency: Option<Spanned<Consistency>>,
    /// The index that must serve it, if the file names one.
    pub index: Option<Spanned<String>>,
    pub fan_out: Option<Spanned<FanOut>>,
    /// What a cache answers instead of the table.
    pub cached: Option<Spanned<Cached>>,
    /// The share of writes whose condition fails; they are billed too.
    pub fails: Option<Spanned<f64>>,
    /// What serves it, if not the table: `OpenSearch`.
    pub external: Option<Spanned<String>>,
    /// The request as the application sends it, member by member as in the API.
    pub request: Option<Spanned<serde_json::Value>>,
    /// The span of each member's value in `request`; without the quotes of a text.
    pub request_members: BTreeMap<String, Span>,
    pub expect: Vec<Expectation>,
}

/// Whether the actions of a pattern are one request, a transaction or a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// An action that reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    pub verb: ReadVerb,
    /// Several if the result is a mixed item collection: a customer and its orders.
    pub entities: Vec<Spanned<EntityId>>,
    /// `by`: attributes whose values the reader knows.
    pub by: Vec<Spanned<String>>,
    /// `where`: which items are wanted.
    pub conditions: Option<Predicate>,
    /// `filter`: drops items after DynamoDB has read them.
    pub filter: Option<Predicate>,
    pub order: Vec<OrderBy>,
    pub limit: Option<Spanned<u64>>,
    /// How many items match.
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

/// An action that writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    pub verb: WriteVerb,
    pub entity: Spanned<EntityId>,
    /// `by`: identifies the item. Empty for `create` and `put`, which know every attribute.
    pub by: Vec<Spanned<String>>,
    /// Whether the file says `by`, so that the caller gives these. Else they are the key's.
    pub says_by: bool,
    /// `knows`: further attributes whose values the writer knows.
    pub knows: Vec<Spanned<String>>,
    pub set: Vec<AttributeChange>,
    /// Counters: `ADD`.
    pub add: Vec<AttributeChange>,
    pub remove: Vec<Spanned<String>>,
    pub condition: Option<Predicate>,
    /// The attribute that optimistic locking compares and increments.
    pub version: Option<Spanned<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteVerb {
    /// A PutItem on the condition that there is no such item.
    Create,
    Put,
    Update,
    Delete,
    /// ConditionCheck of a transaction.
    Check,
}

/// `status: OPEN -> SHIPPED`.
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeChange {
    pub attribute: Spanned<String>,
    pub from: Option<Operand>,
    pub to: Option<Operand>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    Eventual,
    Strong,
}

/// How many requests a pattern may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FanOut {
    Allowed,
    /// At most this many requests.
    Most(u64),
}

/// With these values given, the pattern returns exactly these sample rows, in this order.
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
    /// Whether the reader knows the attribute: by an equality, or by `by`.
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
