//! R32: the capacity mode does not fit the traffic.

use super::{Rule, Subject, figures};
use crate::Diagnostic;
use crate::demand::{self, Load, UnitKind, Usage};
use crate::diagnostic::{Fix, Level, RuleId};
use crate::model::{Billing, Table, TableId};

pub const RULE: Rule = Rule {
    id: RuleId(32),
    level: Level::Info,
    title: "The capacity mode does not fit the traffic",
    page: include_str!("../../../../docs/rules/R32.md"),
    // The utilisation from which provisioned is cheaper and the target utilisation, both in per cent; and the
    // units per second below which the difference is too small to report.
    parameters: &[("break-even", 28.9), ("target", 70.0), ("units", 100.0)],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let uses = subject.uses();
    subject.model.table_ids().filter_map(|id| in_table(subject, &uses, id)).collect()
}

fn in_table(subject: &Subject<'_>, uses: &[Usage], id: TableId) -> Option<Diagnostic> {
    let table = subject.model.table(id);
    let load = weighted(demand::load(uses, (id, None), UnitKind::Write), reads(subject, uses, id));
    if load.peak == 0.0 {
        return (table.billing.value == Billing::Provisioned).then(|| unknown(table));
    }
    // Without a peak the traffic has no shape to judge.
    if !has_shape(subject) || load.peak < subject.parameter("units") {
        return None;
    }
    let utilisation = subject.parameter("target") * load.average / load.peak;
    let steady = utilisation >= subject.parameter("break-even");
    match (table.billing.value, steady) {
        (Billing::OnDemand, true) => Some(could_be_provisioned(subject, table, load, utilisation)),
        (Billing::Provisioned, false) => Some(could_be_on_demand(subject, table, load, utilisation)),
        _ => None,
    }
}

/// The reads of a table and its indexes.
fn reads(subject: &Subject<'_>, uses: &[Usage], id: TableId) -> Load {
    let resources = demand::resources(subject.model).into_iter().filter(|(table, _)| *table == id);
    resources.map(|resource| demand::load(uses, resource, UnitKind::Read)).fold(
        Load::default(),
        |sum, one| Load { average: sum.average + one.average, peak: sum.peak + one.peak },
    )
}

/// A write unit costs five times a read unit, in both modes.
fn weighted(writes: Load, reads: Load) -> Load {
    Load { average: 5.0 * writes.average + reads.average, peak: 5.0 * writes.peak + reads.peak }
}

fn has_shape(subject: &Subject<'_>) -> bool {
    let mut rates = subject.patterns().filter_map(|(pattern, _)| pattern.rate.as_ref());
    rates.any(|rate| rate.peak.is_some() || rate.curve.is_some())
}

fn unknown(table: &Table) -> Diagnostic {
    Diagnostic::info(
        table.billing.span,
        format!("capacity of `{}` is provisioned for unknown traffic", table.name.value),
    )
    .label("no pattern says how often it runs")
    .why("what is provisioned is paid for whether it is used or not, and what is missing is throttled")
    .help("start with `billing: on-demand`, or give the patterns their `rate`")
}

fn could_be_provisioned(subject: &Subject<'_>, table: &Table, load: Load, utilisation: f64) -> Diagnostic {
    let share = figures::count(100.0 * subject.parameter("break-even") / utilisation);
    Diagnostic::info(table.billing.span, format!("the traffic of `{}` is steady", table.name.value))
        .label(format!("provisioned would cost about {share}% of this"))
        .why(format!(
            "the average is {}% of the peak; above {}% of what is provisioned, provisioned is cheaper",
            figures::count(100.0 * load.average / load.peak),
            subject.parameter("break-even"),
        ))
        .help(
            "once the rates are measured: `billing: provisioned` with `write: { min: …, max: …, target: 70% }`, and \
             reserve the floor",
        )
}

fn could_be_on_demand(subject: &Subject<'_>, table: &Table, load: Load, utilisation: f64) -> Diagnostic {
    let share = figures::count(100.0 * utilisation / subject.parameter("break-even"));
    let times = figures::count(load.peak / load.average.max(f64::MIN_POSITIVE));
    Diagnostic::info(table.billing.span, format!("the traffic of `{}` comes in spikes", table.name.value))
        .label(format!("on-demand would cost about {share}% of capacity for the peak"))
        .why(format!("the peak is {times} times the average, and auto scaling follows in a minute or two"))
        .help("write `billing: on-demand`: it takes spikes up to twice the last peak at once")
        .fix(Fix::put(table.span, "billing", "on-demand"))
}
