//! What we want to reach, beside what was measured.

use comfy_table::Table;

use crate::contender::Contender;
use crate::report::{self, Report, number};
use crate::workload::Workload;

/// CPU an operation of the durable server, as a multiple of the bare server's.
const CPU_TIMES_BARE: [(Workload, f64); 6] = [
    (Workload::Get, 2.5),
    (Workload::Query, 6.0),
    (Workload::Put, 6.0),
    (Workload::Update, 7.0),
    (Workload::Transaction, 16.0),
    (Workload::Batch, 60.0),
];

/// A goal, and how far we are.
pub struct Goal {
    pub what: String,
    pub measured: f64,
    pub bound: Bound,
}

#[derive(Clone, Copy)]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

impl Bound {
    pub fn holds(self, measured: f64) -> bool {
        match self {
            Bound::AtMost(most) => measured <= most,
            Bound::AtLeast(least) => measured >= least,
        }
    }

    fn shown(self) -> String {
        match self {
            Bound::AtMost(most) => format!("at most {}", number(most)),
            Bound::AtLeast(least) => format!("at least {}", number(least)),
        }
    }
}

/// The goals of which both sides were measured.
pub fn reached(report: &Report) -> Vec<Goal> {
    CPU_TIMES_BARE.iter().filter_map(|&(workload, most)| times_bare(report, workload, most)).collect()
}

/// The most that the durable server may take for a workload, as a multiple of the bare server.
pub fn times_bare_max(workload: Workload) -> Option<f64> {
    CPU_TIMES_BARE.iter().find(|(goal, _)| *goal == workload).map(|&(_, most)| most)
}

fn times_bare(report: &Report, workload: Workload, most: f64) -> Option<Goal> {
    let durable = report.row(Contender::Durable, workload)?;
    let bare = report.row(Contender::Bare, workload)?;
    Some(Goal {
        what: format!("{}: CPU, times the bare server", workload.title()),
        measured: durable.cpu_us() / bare.cpu_us(),
        bound: Bound::AtMost(most),
    })
}

pub fn table(goals: &[Goal]) -> Table {
    let mut table = report::table(&["goal", "measured", "bound", "reached"]);
    for goal in goals {
        let reached = if goal.bound.holds(goal.measured) { "yes" } else { "no" };
        table.add_row([goal.what.as_str(), &number(goal.measured), &goal.bound.shown(), reached]);
    }
    report::align_right(&mut table, &[1, 2]);
    table
}
