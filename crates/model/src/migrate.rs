//! From one model to the next without stopping the application: what changed, the steps in order, how to go
//! back from each, how long they take and what they cost.
//!
//! [`change`] lists what differs between the two files. [`layout`] decides what that means for what is
//! stored: which items get further keys, which have to be copied, which indexes need another name because an
//! index can't be changed. [`plan`] puts the steps in order, [`estimate`] says what each takes. Text, JSON
//! and the rehearsal all walk the same [`Step`]s.
//!
//! The order is always the same: make what is new, write both ways, fill what is there, change the readers
//! over one pattern at a time, and only then take away what is old.

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
pub use change::{Change, Section, changes};
pub use layout::{Derived, Fate, Layout, Rename, composed};
pub use obstacle::Obstacle;
pub use step::{BackFill, Copy, DualWrites, Estimate, Rollback, Setting, Step, StepKind};

/// What to reckon with besides the files.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Instead of the Region of the new file.
    pub region: Option<String>,
    /// Write units each second that a job may use of the table it works on.
    pub rate: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { region: None, rate: 500.0 }
    }
}

/// The whole way from one model to another.
#[derive(Clone, Debug, Serialize)]
pub struct Migration {
    pub old: String,
    pub new: String,
    pub region: String,
    pub currency: String,
    pub changes: Vec<Change>,
    /// What the database will call otherwise than the new file does.
    pub renames: Vec<Rename>,
    /// Why there are no steps, if there are none.
    pub obstacles: Vec<Obstacle>,
    /// What nobody but people can judge.
    pub cautions: Vec<String>,
    pub steps: Vec<Step>,
    /// The models the steps lead through.
    #[serde(skip)]
    pub layout: Layout,
}

impl Migration {
    /// Nothing that is stored has to change.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.obstacles.is_empty()
    }

    pub fn seconds(&self) -> f64 {
        self.steps.iter().filter_map(|step| step.estimate.seconds).sum::<f64>() + 0.0
    }

    pub fn cost(&self) -> f64 {
        self.steps.iter().map(|step| step.estimate.cost()).sum::<f64>() + 0.0
    }
}

pub fn migrate(
    old: &Model,
    new: &Model,
    facts: &Facts,
    settings: &Settings,
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
