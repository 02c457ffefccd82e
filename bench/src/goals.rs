//! Our goals, compared with what was measured.

use comfy_table::Table;

use crate::contender::Contender;
use crate::report::{self, Report, number};
use crate::workload::Workload;

/// CPU time per operation of the durable server, as a multiple of the bare server's.
const CPU_TIMES_BARE: [(Workload, f64); 6] = [
    (Workload::Get, 2.5),
    (Workload::Query, 6.0),
    (Workload::Put, 6.0),
    (Workload::Update, 7.0),
    (Workload::Transaction, 16.0),
    (Workload::Batch, 60.0),
];

/// CPU time per operation of the durable server, as a fraction of PostgreSQL's with the same rows and the same index.
const CPU_OF_POSTGRES: [(Workload, f64); 3] =
    [(Workload::Get, 0.75), (Workload::Query, 0.7), (Workload::Put, 0.4)];

/// CPU time per operation of the durable server, as a fraction of the fastest peer's in memory.
const CPU_OF_PEER: [(Workload, f64); 4] = [
    (Workload::Get, 1.0 / 3.0),
    (Workload::Query, 1.0 / 6.0),
    (Workload::Put, 1.0 / 3.0),
    (Workload::Update, 1.0 / 3.0),
];

/// Operations per second of the durable server, as a multiple of the fastest peer's in memory.
const RATE_TIMES_PEER: [(Workload, f64); 2] = [(Workload::Get, 2.5), (Workload::Put, 3.0)];

/// CPU time per operation of the durable server, which counts what AWS would throttle, as a multiple of the same server
/// that counts nothing.
const CPU_TIMES_UNCOUNTED: [(Workload, f64); 2] = [(Workload::Get, 1.05), (Workload::Put, 1.05)];

const PEERS_IN_MEMORY: [Contender; 3] = [Contender::Dynoxide, Contender::Dynalite, Contender::DynamodbLocal];

/// A goal, and how close we are.
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

/// The goals for which both sides were measured.
pub fn reached(report: &Report) -> Vec<Goal> {
    let bare = CPU_TIMES_BARE.iter().filter_map(|&(workload, most)| {
        times(report, workload, Contender::Bare, "CPU, times the bare server", most)
    });
    let cpu = CPU_OF_PEER.iter().filter_map(|&(workload, most)| cpu_of_peer(report, workload, most));
    let postgres = CPU_OF_POSTGRES.iter().filter_map(|&(workload, most)| {
        times(report, workload, Contender::Postgres, "CPU, times PostgreSQL", most)
    });
    let rate =
        RATE_TIMES_PEER.iter().filter_map(|&(workload, least)| rate_times_peer(report, workload, least));
    let counting = CPU_TIMES_UNCOUNTED.iter().filter_map(|&(workload, most)| {
        times(report, workload, Contender::Uncounted, "CPU, times --capacity off", most)
    });
    bare.chain(cpu).chain(postgres).chain(rate).chain(counting).collect()
}

/// The goal for a workload: the highest multiple of the bare server's CPU time.
pub fn times_bare_max(workload: Workload) -> Option<f64> {
    CPU_TIMES_BARE.iter().find(|(goal, _)| *goal == workload).map(|&(_, most)| most)
}

fn times(report: &Report, workload: Workload, other: Contender, what: &str, most: f64) -> Option<Goal> {
    let (durable, other) = (report.row(Contender::Durable, workload)?, report.row(other, workload)?);
    Some(Goal {
        what: format!("{}: {what}", workload.title()),
        measured: durable.cpu_us() / other.cpu_us(),
        bound: Bound::AtMost(most),
    })
}

fn cpu_of_peer(report: &Report, workload: Workload, most: f64) -> Option<Goal> {
    let durable = report.row(Contender::Durable, workload)?;
    let peers = PEERS_IN_MEMORY.iter().filter_map(|&peer| report.row(peer, workload));
    let fastest = peers.min_by(|one, other| one.cpu_us().total_cmp(&other.cpu_us()))?;
    Some(Goal {
        what: format!("{}: CPU, times {}", workload.title(), fastest.contender.title()),
        measured: durable.cpu_us() / fastest.cpu_us(),
        bound: Bound::AtMost(most),
    })
}

fn rate_times_peer(report: &Report, workload: Workload, least: f64) -> Option<Goal> {
    let durable = report.row(Contender::Durable, workload)?;
    let peers = PEERS_IN_MEMORY.iter().filter_map(|&peer| report.row(peer, workload));
    let fastest = peers.max_by(|one, other| one.rate().total_cmp(&other.rate()))?;
    Some(Goal {
        what: format!("{}: operations/s, times {}", workload.title(), fastest.contender.title()),
        measured: durable.rate() / fastest.rate(),
        bound: Bound::AtLeast(least),
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
