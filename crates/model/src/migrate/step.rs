//! One step of a migration: what is done, what it takes, and how to undo it.

use serde::{Serialize, Serializer};

use super::Access;
use super::layout::Derived;
use crate::cost::{Line, sum};
use crate::request::expression::Placeholders;

/// One step, with its texts, its estimate and the way back.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    #[serde(flatten)]
    pub kind: StepKind,
    /// In words.
    pub title: String,
    pub details: Vec<String>,
    pub rollback: Rollback,
    pub estimate: Estimate,
    /// It only cleans up: nothing depends on it.
    pub optional: bool,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum StepKind {
    ChangeSetting(Setting),
    /// With all its indexes. The step waits until it is `ACTIVE`.
    CreateTable {
        table: String,
    },
    /// One at a time. The step waits until it is `ACTIVE`.
    CreateIndex {
        table: String,
        index: String,
    },
    StartDualWrites(DualWrites),
    BackFill(BackFill),
    Copy(Copy),
    /// `from` is empty if the pattern is new, `to` if it is removed.
    CutOver {
        pattern: String,
        from: Vec<Access>,
        to: Vec<Access>,
    },
    DeleteIndex {
        table: String,
        index: String,
    },
    EndDualWrites(DualWrites),
    RemoveAttributes {
        table: String,
        entity: String,
        attributes: Vec<String>,
    },
    DeleteItems {
        table: String,
        entity: String,
    },
    DeleteTable {
        table: String,
    },
}

/// A setting of a table that changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    pub table: String,
    /// `billing`, `pitr`, …, as in the file.
    pub setting: String,
    pub was: Option<String>,
    pub is: Option<String>,
}

/// What writers maintain twice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DualWrites {
    /// Key attributes of indexes that items of an entity get, or keep, in addition.
    pub attributes: Vec<EntityAttributes>,
    /// Entities of which each item is written under its old and its new key.
    pub copies: Vec<String>,
    /// Write patterns that involve any of them.
    pub patterns: Vec<String>,
}

/// Attributes of one entity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EntityAttributes {
    pub entity: String,
    pub attributes: Vec<String>,
}

/// Gives every item of an entity its new index keys, if it lacks them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BackFill {
    pub table: String,
    pub entity: String,
    #[serde(serialize_with = "formulas")]
    pub attributes: Vec<Derived>,
    /// The table's partition key: an item that was deleted in the meantime must not be created again.
    pub partition: String,
    /// The attributes that the keys are made of: they must be unchanged since they were read.
    pub unchanged: Vec<String>,
}

impl BackFill {
    /// The condition of its UpdateItem: a second run, or a write in between, leaves the item unchanged.
    pub fn condition(&self) -> String {
        let mut names = Placeholders::default();
        let mut terms = vec![format!("attribute_exists({})", names.name(&self.partition))];
        let lacking = self.attributes.first().map(|one| names.name(&one.attribute));
        terms.extend(lacking.map(|name| format!("attribute_not_exists({name})")));
        terms.extend(self.unchanged.iter().map(|name| format!("{} = :{name}", names.name(name))));
        terms.join(" AND ")
    }
}

/// Puts every item of an entity again, under its new key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Copy {
    pub entity: String,
    pub from: String,
    pub to: String,
    /// The new key, attribute by attribute.
    #[serde(serialize_with = "formulas")]
    pub key: Vec<Derived>,
}

fn formulas<S: Serializer>(derived: &[Derived], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(derived.iter().map(|one| (&one.attribute, one.formula())))
}

/// How to undo a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rollback {
    /// Whether the step can be undone from what is in the database.
    pub reversible: bool,
    pub how: String,
}

impl Rollback {
    pub fn by(how: impl Into<String>) -> Rollback {
        Rollback { reversible: true, how: how.into() }
    }

    pub fn from_backup() -> Rollback {
        Rollback { reversible: false, how: "only from the backup taken before".to_owned() }
    }
}

/// What a step takes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Estimate {
    /// Items that are written.
    pub items: Option<f64>,
    /// `None` if the duration depends on DynamoDB or on people.
    pub seconds: Option<f64>,
    /// The limit on write units per second.
    pub rate: Option<f64>,
    /// Why the limit is lower than asked for.
    pub slowed: Option<String>,
    pub lines: Vec<Line>,
}

impl Estimate {
    pub fn cost(&self) -> f64 {
        sum(&self.lines)
    }
}
