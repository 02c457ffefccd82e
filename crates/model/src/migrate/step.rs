//! One step of a migration: what is done, what it takes, and how to go back.

use serde::{Serialize, Serializer};

use super::Access;
use super::layout::Derived;
use crate::cost::{Line, sum};
use crate::request::expression::Placeholders;

#[derive(Clone, Debug, Serialize)]
pub struct Step {
    #[serde(flatten)]
    pub kind: StepKind,
    /// In words.
    pub title: String,
    pub details: Vec<String>,
    pub rollback: Rollback,
    pub estimate: Estimate,
    /// It tidies up: nothing depends on it.
    pub optional: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum StepKind {
    ChangeSetting(Setting),
    /// With all its indexes, and waited for.
    CreateTable {
        table: String,
    },
    /// One at a time; waited for until it is `ACTIVE`.
    CreateIndex {
        table: String,
        index: String,
    },
    StartDualWrites(DualWrites),
    BackFill(BackFill),
    Copy(Copy),
    /// Nothing in `from` if the pattern is new, nothing in `to` if it goes.
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

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    pub table: String,
    /// `billing`, `pitr`, …, as in the file.
    pub setting: String,
    pub was: Option<String>,
    pub is: Option<String>,
}

/// What writers keep right twice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DualWrites {
    /// Key attributes of indexes that items of an entity get, or keep, besides.
    pub attributes: Vec<EntityAttributes>,
    /// Entities of which each item is written under its old and its new key.
    pub copies: Vec<String>,
    /// Write patterns that are about any of them.
    pub patterns: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EntityAttributes {
    pub entity: String,
    pub attributes: Vec<String>,
}

/// Every item of an entity that lacks its new index keys gets them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BackFill {
    pub table: String,
    pub entity: String,
    #[serde(serialize_with = "formulas")]
    pub attributes: Vec<Derived>,
    /// The table's partition key: an item that was deleted meanwhile must not come back.
    pub partition: String,
    /// What the keys are made of: it must be as it was read.
    pub unchanged: Vec<String>,
}

impl BackFill {
    /// The condition of its UpdateItem: a second run, and a write in between, leave the item alone.
    pub fn condition(&self) -> String {
        let mut names = Placeholders::default();
        let mut terms = vec![format!("attribute_exists({})", names.name(&self.partition))];
        let lacking = self.attributes.first().map(|one| names.name(&one.attribute));
        terms.extend(lacking.map(|name| format!("attribute_not_exists({name})")));
        terms.extend(self.unchanged.iter().map(|name| format!("{} = :{name}", names.name(name))));
        terms.join(" AND ")
    }
}

/// Every item of an entity is put once more, under its new key.
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
    /// None where nobody but DynamoDB, or a person, sets the pace.
    pub seconds: Option<f64>,
    /// Write units each second that it is held to.
    pub rate: Option<f64>,
    /// Why it is held to less than asked for.
    pub slowed: Option<String>,
    pub lines: Vec<Line>,
}

impl Estimate {
    pub fn cost(&self) -> f64 {
        sum(&self.lines)
    }
}
