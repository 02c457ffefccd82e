//! Which requests an access pattern becomes, and what is wrong with them: the symbolic half of a proof. Rules,
//! proofs, costs, heat and code all start from here.
//!
//! A read is planned against the table and against every index that holds all its entities; the source with the
//! fewest gaps is taken. A [`Gap`] is something wrong. A pattern without gaps is exactly one request
//! (or a declared fan-out), selected and ordered by keys alone.

mod condition;
mod read;
mod write;

use std::fmt;

use crate::Model;
use crate::model::{Action, ActionKind, EntityId, Grouping, IndexId, Pattern, TableId, Write};
use crate::predicate::{Predicate, Term};
use crate::template::{Part, Template};

pub use write::{IndexEffect, Membership, after_value, before_value, changed};

/// How a pattern is served.
#[derive(Clone, Debug)]
pub struct Plan {
    pub grouping: Grouping,
    /// One for each action of the pattern, in order.
    pub steps: Vec<PlannedAction>,
}

/// The plan of one action.
#[derive(Clone, Debug)]
pub struct PlannedAction {
    pub kind: ActionPlan,
    /// How many items of this kind the action touches: `create LineItem × 5`.
    pub times: u64,
}

/// The plan of a read or of a write.
#[derive(Clone, Debug)]
pub enum ActionPlan {
    Read(ReadPlan),
    Write(WritePlan),
}

/// The request that serves a read, and its gaps.
#[derive(Clone, Debug)]
pub struct ReadPlan {
    pub operation: ReadOperation,
    pub table: TableId,
    pub index: Option<IndexId>,
    pub entities: Vec<EntityId>,
    /// The equality of each partition attribute.
    pub partition: Vec<Template>,
    /// The condition on each sort attribute: equalities, then at most one that is none, then nothing.
    pub sort: Vec<SortCondition>,
    /// `ScanIndexForward`.
    pub forward: bool,
    pub consistent: bool,
    /// How many requests, one for each shard.
    pub fan_out: u64,
    /// What is left for a filter: terms as written, or attributes of `by` that are in no key.
    pub filter: Vec<Filter>,
    pub gaps: Vec<Gap>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOperation {
    GetItem,
    Query,
    Scan,
}

/// The condition on one sort attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum SortCondition {
    Equal(Template),
    /// `begins_with` the text so far: literals and known fields.
    BeginsWith(Vec<Part>),
    /// The text so far, then a range of one attribute. `last` if nothing follows it in the key.
    Range {
        prefix: Vec<Part>,
        term: Term,
        last: bool,
    },
}

/// What the keys do not select.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    Term(Term),
    Known(String),
}

impl Filter {
    pub fn attribute(&self) -> &str {
        match self {
            Filter::Term(term) => &term.attribute.value,
            Filter::Known(attribute) => attribute,
        }
    }
}

/// The request that serves a write, its effect on each index, and its gaps.
#[derive(Clone, Debug)]
pub struct WritePlan {
    pub operation: WriteOperation,
    pub table: TableId,
    pub entity: EntityId,
    /// One for each index the entity can be in.
    pub effects: Vec<IndexEffect>,
    pub gaps: Vec<Gap>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOperation {
    PutItem,
    UpdateItem,
    DeleteItem,
    ConditionCheck,
}

/// Why a plan is not exactly one correct request.
#[derive(Clone, Debug, PartialEq)]
pub enum Gap {
    /// The keys have not been designed yet.
    NoKeys,
    /// No table or index has a partition key of known attributes; these are missing.
    PartitionUnknown { attributes: Vec<String> },
    /// The pattern says `scan`.
    Scans,
    /// The entities asked for are not in one partition.
    NotTogether,
    /// These attributes drop items only after they have been read.
    SelectsByFilter { attributes: Vec<String> },
    /// The sort key does not sort by this attribute.
    OrderUnserved { attribute: String },
    /// A global index has no strongly consistent reads.
    StrongOnGlobalIndex,
    /// The index lacks attributes that are read.
    NotProjected { attributes: Vec<String> },
    /// The index holds only items for which this holds, and the pattern asks for others too.
    Sparse { when: Predicate },
    /// The key condition finds items of these entities too.
    Mixed { entities: Vec<EntityId> },
    /// A `get` that can find this many items, by what the file declares; `None` if only its keys say so.
    Several { items: Option<f64> },
    /// This many requests, and the pattern does not declare them.
    FanOutUndeclared { requests: u64 },
    /// The writer does not know the whole key of the item.
    KeyUnknown { attributes: Vec<String> },
    /// An update can't change a key attribute of the table.
    KeyChanges { attributes: Vec<String> },
    /// `not exists` of an attribute that is not in the key: it says nothing about other items.
    NotUnique { attribute: String },
    /// The writer changes part of an index key and does not know the rest of it.
    IndexKeyUnknown { index: IndexId, attributes: Vec<String> },
}

/// Decides which requests serve a pattern.
pub fn plan(model: &Model, pattern: &Pattern) -> Plan {
    let steps = pattern.actions.iter().map(|action| step(model, pattern, action)).collect();
    Plan { grouping: pattern.grouping, steps }
}

/// The request that a write alone becomes.
pub fn of_write(model: &Model, write: &Write) -> WritePlan {
    write::plan(model, write)
}

fn step(model: &Model, pattern: &Pattern, action: &Action) -> PlannedAction {
    let kind = match &action.kind {
        ActionKind::Read(read) => ActionPlan::Read(read::plan(model, pattern, read)),
        ActionKind::Write(write) => ActionPlan::Write(write::plan(model, write)),
    };
    PlannedAction { kind, times: action.times }
}

impl Plan {
    pub fn gaps(&self) -> impl Iterator<Item = &Gap> {
        self.steps.iter().flat_map(|step| match &step.kind {
            ActionPlan::Read(read) => &read.gaps,
            ActionPlan::Write(write) => &write.gaps,
        })
    }

    /// Whether there are no gaps.
    pub fn is_sound(&self) -> bool {
        self.gaps().next().is_none()
    }

    pub fn reads(&self) -> impl Iterator<Item = &ReadPlan> {
        self.steps.iter().filter_map(|step| match &step.kind {
            ActionPlan::Read(read) => Some(read),
            ActionPlan::Write(_) => None,
        })
    }

    pub fn writes(&self) -> impl Iterator<Item = (&WritePlan, u64)> {
        self.steps.iter().filter_map(|step| match &step.kind {
            ActionPlan::Write(write) => Some((write, step.times)),
            ActionPlan::Read(_) => None,
        })
    }

    /// What the pattern reads or writes: an index if it reads one, else its tables.
    pub fn source(&self, model: &Model) -> String {
        let mut names: Vec<&str> = Vec::new();
        for step in &self.steps {
            let name = match &step.kind {
                ActionPlan::Read(read) => match read.index {
                    Some(index) => &model.table(read.table).index(index).name,
                    None => &model.table(read.table).name,
                },
                ActionPlan::Write(write) => &model.table(write.table).name,
            };
            if !names.contains(&name.value.as_str()) {
                names.push(&name.value);
            }
        }
        names.join(", ")
    }

    /// The operation of the API that the pattern calls.
    pub fn operation(&self) -> &'static str {
        let reads = self.reads().next().is_some();
        match (self.grouping, reads, self.steps.first().map(|step| &step.kind)) {
            (Grouping::Transaction, true, _) => "TransactGetItems",
            (Grouping::Transaction, false, _) => "TransactWriteItems",
            (Grouping::Batch, true, _) => "BatchGetItem",
            (Grouping::Batch, false, _) => "BatchWriteItem",
            (Grouping::Single, _, Some(ActionPlan::Read(read))) => read.operation.name(),
            (Grouping::Single, _, Some(ActionPlan::Write(write))) => write.operation.name(),
            (Grouping::Single, _, None) => "",
        }
    }
}

impl ReadOperation {
    pub fn name(self) -> &'static str {
        match self {
            ReadOperation::GetItem => "GetItem",
            ReadOperation::Query => "Query",
            ReadOperation::Scan => "Scan",
        }
    }
}

impl WriteOperation {
    pub fn name(self) -> &'static str {
        match self {
            WriteOperation::PutItem => "PutItem",
            WriteOperation::UpdateItem => "UpdateItem",
            WriteOperation::DeleteItem => "DeleteItem",
            WriteOperation::ConditionCheck => "ConditionCheck",
        }
    }
}

impl Gap {
    /// In words, for people.
    pub fn describe(&self, model: &Model) -> String {
        let list =
            |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        match self {
            Gap::NoKeys => "there are no keys yet".to_owned(),
            Gap::PartitionUnknown { attributes } => {
                format!("no partition key is known to the reader: {} missing", list(attributes))
            }
            Gap::Scans => "it reads the whole table".to_owned(),
            Gap::NotTogether => "the entities are not in one partition".to_owned(),
            Gap::SelectsByFilter { attributes } => {
                format!("{} can only be filtered after reading", list(attributes))
            }
            Gap::OrderUnserved { attribute } => format!("the sort key does not order by `{attribute}`"),
            Gap::StrongOnGlobalIndex => "a global index gives no strong reads".to_owned(),
            Gap::NotProjected { attributes } => format!("the index does not hold {}", list(attributes)),
            Gap::Sparse { when } => format!("the index holds only items with {when}"),
            Gap::Mixed { entities } => {
                let names: Vec<String> =
                    entities.iter().map(|id| model.entity(*id).name.value.clone()).collect();
                format!("the key condition also finds {}", list(&names))
            }
            Gap::Several { items: Some(items) } => format!("it can find {} items, not one", items.ceil()),
            Gap::Several { items: None } => {
                "it knows a part of the key, and can find several items".to_owned()
            }
            Gap::NotUnique { attribute } => {
                format!(
                    "`not exists {attribute}` does not make `{attribute}` unique: it looks at one key only"
                )
            }
            Gap::FanOutUndeclared { requests } => format!("it takes {requests} requests"),
            Gap::KeyUnknown { attributes } => format!("the writer does not know {}", list(attributes)),
            Gap::KeyChanges { attributes } => {
                format!("{} is part of the key, which can't change", list(attributes))
            }
            Gap::IndexKeyUnknown { attributes, .. } => {
                format!("the writer does not know {}, which an index key needs", list(attributes))
            }
        }
    }
}

impl fmt::Display for SortCondition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |parts: &[Part]| Template { parts: parts.to_vec(), span: Default::default() }.to_string();
        match self {
            SortCondition::Equal(template) => write!(formatter, "= {template}"),
            SortCondition::BeginsWith(prefix) => write!(formatter, "begins_with {}", text(prefix)),
            SortCondition::Range { prefix, term, .. } => write!(formatter, "{} with {term}", text(prefix)),
        }
    }
}
