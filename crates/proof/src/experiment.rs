//! Something that can be tried on any data, and so on less and less of it, to find the smallest data set that shows
//! a failure.

use model::Model;
use model::model::Pattern;
use model::request::group::Group;
use model::request::{Given, PlannedRead, Touch};
use model::sample::SampleItem;

use crate::database::Database;
use crate::fault::Fault;
use crate::trial::Trial;
use crate::{group_read, read, write};

/// How often data is made smaller. Halving needs few tries; a set that stays large is not worth more.
const TRIES_MAX: usize = 150;
/// The most requests sent for that: a wide fan-out is tried less often.
const REQUESTS_MAX: usize = 5_000;

pub enum Experiment<'a> {
    Read { read: PlannedRead<'a>, given: Given },
    Group(Group),
    Write { pattern: &'a Pattern, touches: Vec<Touch<'a>> },
}

impl Experiment<'_> {
    /// Runs on a database, which is made to hold the data.
    pub async fn run(&self, model: &Model, database: &Database, data: &[SampleItem]) -> Trial {
        if let Err(error) = database.hold(model, data).await {
            return Trial::failed(Fault::Refused(error.message));
        }
        self.run_on(model, database, data).await
    }

    /// Runs on a database that already holds the data.
    pub async fn run_on(&self, model: &Model, database: &Database, data: &[SampleItem]) -> Trial {
        let is_right = |trial: &Trial| trial.faults.is_empty();
        match self {
            Experiment::Read { read, given } => {
                database
                    .until_consistent(async || read::run(*read, database, data, given).await, is_right)
                    .await
            }
            Experiment::Group(group) => {
                database
                    .until_consistent(async || group_read::run(group, model, database, data).await, is_right)
                    .await
            }
            Experiment::Write { pattern, touches } => {
                write::run(model, pattern, database, data, touches).await
            }
        }
    }

    /// Leaves out items that are not needed to see the same kind of failure in memory, larger parts first.
    pub async fn shrink(
        &self,
        model: &Model,
        data: &[SampleItem],
        fault: &Fault,
    ) -> (Vec<SampleItem>, Fault) {
        let mut small = data.to_vec();
        let mut shown = fault.clone();
        let Ok(database) = Database::open(model).await else { return (small, shown) };
        // The items that a write needs must stay.
        let fixed = match self {
            Experiment::Write { touches, .. } => touches.iter().filter(|touch| touch.old.is_some()).count(),
            _ => 0,
        };
        let mut part = small.len().div_ceil(2);
        let requests = match self {
            Experiment::Read { read, .. } => usize::try_from(read.plan.fan_out).unwrap_or(usize::MAX).max(1),
            _ => 1,
        };
        let tries_max = (REQUESTS_MAX / requests).clamp(1, TRIES_MAX);
        let mut tries = 0;
        while part > 0 {
            let mut start = fixed;
            while start < small.len() && tries < tries_max {
                tries += 1;
                let end = (start + part).min(small.len());
                let less = [&small[..start], &small[end..]].concat();
                let faults = self.run(model, &database, &less).await.faults;
                match faults.into_iter().find(|one| one.is_like(fault)) {
                    Some(same) => (small, shown) = (less, same),
                    _ => start = end,
                }
            }
            part = if part == 1 { 0 } else { part.div_ceil(2) };
        }
        (small, shown)
    }
}
