//! From one model to the next without stopping the application: what changed, the steps in order, how to go
//! back from each, how long they take and what they cost.
//!
//! [`change`] lists what differs between the two files. [`layout`] decides what that means for stored data: which
//! items get further keys, which have to be copied, which indexes need another name because an
//! index can't be changed. [`plan`] puts the steps in order, [`estimate`] calculates what each takes. Text, JSON
//! and the rehearsal all use the same [`Step`]s.
//!
//! The order is always the same: create what is new, write both ways, fill in existing items, switch the readers
//! one pattern at a time, and only then remove what is old.

mod access;
mod change;
mod estimate;
mod layout;
mod obstacle;
mod plan;
mod step;
mod text;
mod wording;

use serde::Serialize;

use crate::Model;
use crate::cost::{Prices, UnknownRegion};
use crate::facts::Facts;

pub use access::Access;
pub use change::{ElementChange, Section, changes};
pub use layout::{Derived, Fate, Layout, Rename, composed};
pub use obstacle::Obstacle;
pub use step::{BackFill, Copy, DualWrites, Estimate, Rollback, Setting, Step, StepKind};

/// What to calculate with in addition to the files.
#[derive(Clone, Debug)]
pub struct MigrationSettings {
    /// Replaces the Region of the new file.
    pub region: Option<String>,
    /// Write units per second that a job may use of the table it works on.
    pub rate: f64,
}

impl Default for MigrationSettings {
    fn default() -> MigrationSettings {
        MigrationSettings { region: None, rate: 500.0 }
    }
}

/// The whole way from one model to another.
#[derive(Clone, Debug, Serialize)]
pub struct Migration {
    pub old: String,
    pub new: String,
    pub region: String,
    pub currency: String,
    pub changes: Vec<ElementChange>,
    /// Names that differ between the database and the new file.
    pub renames: Vec<Rename>,
    /// Why there are no steps, if there are none.
    pub obstacles: Vec<Obstacle>,
    /// What only people can judge.
    pub cautions: Vec<String>,
    pub steps: Vec<Step>,
    /// The models between which the steps move.
    #[serde(skip)]
    pub layout: Layout,
}

impl Migration {
    /// Whether nothing that is stored has to change.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.obstacles.is_empty()
    }

    /// The duration of all jobs.
    pub fn seconds(&self) -> f64 {
        self.steps.iter().filter_map(|step| step.estimate.seconds).sum::<f64>() + 0.0
    }

    /// The cost of all steps.
    pub fn cost(&self) -> f64 {
        self.steps.iter().map(|step| step.estimate.cost()).sum::<f64>() + 0.0
    }
}

/// Plans the migration from the old model to the new one.
pub fn migrate(
    old: &Model,
    new: &Model,
    facts: &Facts,
    settings: &MigrationSettings,
) -> Result<Migration, UnknownRegion> {
    let prices = Prices::of(new, facts, settings.region.as_deref())?;
    let layout = Layout::between(old, new);
    let obstacles = obstacle::obstacles(&layout);
    let mut steps = if obstacles.is_empty() { plan::steps(&layout) } else { Vec::new() };
    estimate::estimate(&layout, &prices, settings.rate, &mut steps);
    Ok(Migration {
        old: old.name.value.clone(),
        new: new.name.value.clone(),
        region: prices.region_name.clone(),
        currency: facts.currency.clone(),
        changes: changes(old, new),
        renames: layout.renames.clone(),
        cautions: obstacle::cautions(&layout),
        obstacles,
        steps,
        layout,
    })
}
