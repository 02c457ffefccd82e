//! One action of a request against one action of a pattern: in what they differ.
//!
//! What is compared is the question: which keys are known, what is ranged, filtered and changed. The names of
//! placeholders, the order of terms and the library that wrote the request make no difference.

mod read;
mod write;

pub use read::fits_key;

use model::Model;
use model::model::{Action, ActionKind, Entity, IndexId, KeySchema, Pattern, Table, TableId};
use model::plan::{ActionPlan, PlannedAction};
use model::template::Template;

use crate::request::{AskedAction, AskedKind};

/// In what a request differs from a pattern.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// One reads, the other writes.
    Kind {
        planned: &'static str,
    },
    Operation {
        asked: &'static str,
        planned: &'static str,
    },
    /// `None` is the table.
    Index {
        asked: Option<String>,
        planned: Option<String>,
    },
    /// The key is not one of the pattern's entities.
    Key {
        entities: Vec<String>,
    },
    /// The pattern wants another value in the key.
    KnownValue {
        attribute: String,
        planned: String,
    },
    /// The condition on the sort key asks for more, or for something else.
    Sort {
        planned: String,
    },
    /// `ScanIndexForward` is the other one.
    Order,
    Consistency {
        is_strong: bool,
    },
    Limit {
        planned: u64,
    },
    /// Attributes that only the request filters by.
    Filter {
        attributes: Vec<String>,
    },
    /// A put without the condition that there is no such item yet.
    MayReplace,
    /// Attributes that only the pattern's condition has; none if it is about the whole item.
    Condition {
        attributes: Vec<String>,
    },
    /// Attributes that only the request changes.
    Changes {
        attributes: Vec<String>,
    },
    /// Attributes that only the pattern changes.
    LeavesAlone {
        attributes: Vec<String>,
    },
    NewValue {
        attribute: String,
        planned: String,
    },
}

/// Collects differences; or ends with the first, when only whether there is one matters.
pub struct Differences {
    pub found: Vec<Difference>,
    is_quick: bool,
}

impl Differences {
    /// `None` ends the comparison.
    fn add(&mut self, difference: impl FnOnce() -> Difference) -> Option<()> {
        if self.is_quick && !self.found.is_empty() {
            return None;
        }
        self.found.push(difference());
        (!self.is_quick).then_some(())
    }
}

/// An action of a pattern with its plan.
#[derive(Clone, Copy)]
pub struct Planned<'m> {
    pub model: &'m Model,
    pub pattern: &'m Pattern,
    pub action: &'m Action,
    pub plan: &'m PlannedAction,
}

impl Planned<'_> {
    /// Whether the action is the pattern's.
    pub fn is(&self, asked: &AskedAction<'_>) -> bool {
        self.differences(asked, true).is_empty()
    }

    /// All differences. The caller has seen that the tables are the same.
    pub fn all_differences(&self, asked: &AskedAction<'_>) -> Vec<Difference> {
        self.differences(asked, false)
    }

    fn differences(&self, asked: &AskedAction<'_>, is_quick: bool) -> Vec<Difference> {
        let mut differences = Differences { found: Vec::new(), is_quick };
        let _ = match (&asked.kind, &self.action.kind, &self.plan.kind) {
            (AskedKind::Read(asked), ActionKind::Read(read), ActionPlan::Read(plan)) => {
                read::compare(self, (read, plan), asked, &mut differences)
            }
            (AskedKind::Write(asked), ActionKind::Write(write), ActionPlan::Write(plan)) => {
                write::compare(self, (write, plan), asked, &mut differences)
            }
            (_, _, ActionPlan::Read(plan)) => {
                differences.add(|| Difference::Kind { planned: plan.operation.name() })
            }
            (_, _, ActionPlan::Write(plan)) => {
                differences.add(|| Difference::Kind { planned: plan.operation.name() })
            }
        };
        differences.found
    }

    /// The table that the action is about.
    pub fn table_id(&self) -> TableId {
        match &self.plan.kind {
            ActionPlan::Read(plan) => plan.table,
            ActionPlan::Write(plan) => plan.table,
        }
    }

    fn table(&self) -> &Table {
        self.model.table(self.table_id())
    }
}

/// The partition and sort templates of an entity in the table or an index.
pub fn templates(entity: &Entity, index: Option<IndexId>) -> Option<(&[Template], &[Template])> {
    match index {
        None => entity.key.as_ref().map(|key| (std::slice::from_ref(&key.partition), key.sort.as_slice())),
        Some(index) => entity.entry(index).map(|entry| (&*entry.partition, &*entry.sort)),
    }
}

/// The key attributes of the table, or of an index of this name.
pub fn schema<'m>(table: &'m Table, index: Option<&str>) -> Option<&'m KeySchema> {
    match index {
        None => table.key.as_ref(),
        Some(name) => table.indexes.iter().find(|index| index.name.value == name).map(|index| &index.key),
    }
}

impl Difference {
    /// How far it takes a request from a pattern.
    pub fn weight(&self) -> u32 {
        match self {
            Difference::Kind { .. } => 100,
            Difference::Key { .. } => 12,
            Difference::Operation { .. } => 8,
            Difference::Index { .. } => 6,
            Difference::Sort { .. } | Difference::KnownValue { .. } => 4,
            Difference::Changes { attributes } | Difference::LeavesAlone { attributes } => {
                2 + attributes.len() as u32
            }
            Difference::NewValue { .. } | Difference::MayReplace => 3,
            Difference::Filter { .. } | Difference::Condition { .. } => 2,
            Difference::Order | Difference::Consistency { .. } | Difference::Limit { .. } => 1,
        }
    }

    /// What the request does that the pattern does not.
    pub fn describe(&self) -> String {
        let place = |index: &Option<String>| {
            index.as_ref().map_or("the table".to_owned(), |name| format!("`{name}`"))
        };
        match self {
            Difference::Kind { planned } => format!("the pattern is a {planned}"),
            Difference::Operation { asked, planned } => format!("it is a {asked}, the pattern a {planned}"),
            Difference::Index { asked, planned } => {
                format!("it reads {}, the pattern {}", place(asked), place(planned))
            }
            Difference::Key { entities } => format!("its key is not one of {}", list(entities)),
            Difference::KnownValue { attribute, planned } => {
                format!("the pattern is for {attribute} = {planned} alone")
            }
            Difference::Sort { planned } => {
                format!("its sort key condition differs: the pattern asks for {planned}")
            }
            Difference::Order => "it reads in the other direction (ScanIndexForward)".to_owned(),
            Difference::Consistency { is_strong: true } => {
                "it is strongly consistent, which takes twice the units; the pattern is not".to_owned()
            }
            Difference::Consistency { is_strong: false } => {
                "the pattern is strongly consistent (ConsistentRead), it is not".to_owned()
            }
            Difference::Limit { planned } => format!("the pattern has Limit {planned}, it reads more"),
            Difference::Filter { attributes } => {
                format!("it filters by {}, which drops items after they are read", list(attributes))
            }
            Difference::MayReplace => {
                "it has no condition that there is no such item yet, so it can replace one".to_owned()
            }
            Difference::Condition { attributes } if attributes.is_empty() => {
                "it lacks the pattern's condition".to_owned()
            }
            Difference::Condition { attributes } => {
                format!("it lacks the pattern's condition on {}", list(attributes))
            }
            Difference::Changes { attributes } => format!("it also changes {}", list(attributes)),
            Difference::LeavesAlone { attributes } => format!("it does not change {}", list(attributes)),
            Difference::NewValue { attribute, planned } => {
                format!("the pattern sets {attribute} to {planned} alone")
            }
        }
    }
}

/// `` `a`, `b` ``.
pub fn list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
