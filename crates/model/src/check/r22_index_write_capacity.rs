//! R22: a global index that is provisioned for fewer writes than its table causes.

use super::{Rule, Subject, figures};
use crate::Diagnostic;
use crate::Spanned;
use crate::demand::{self, UnitKind, Usage};
use crate::diagnostic::{Level, RuleId};
use crate::model::{Billing, Capacity, Index, IndexId, IndexKind, Model, Table, TableId};

pub const RULE: Rule = Rule {
    id: RuleId(22),
    level: Level::Warning,
    title: "A global index has less write capacity than its table's writes need",
    page: include_str!("../../../../docs/rules/R22.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let uses = subject.uses();
    let mut found = Vec::new();
    for table_id in subject.model.table_ids() {
        let table = subject.model.table(table_id);
        if table.billing.value == Billing::Provisioned {
            let indexes = table.index_ids();
            found.extend(indexes.filter_map(|index| in_index(subject, &uses, table_id, index)));
        }
    }
    found
}

fn in_index(subject: &Subject<'_>, uses: &[Usage], table_id: TableId, id: IndexId) -> Option<Diagnostic> {
    let table = subject.model.table(table_id);
    let index = table.index(id);
    let capacity = index.throughput.write.as_ref().filter(|_| index.kind == IndexKind::Global)?;
    let units = most(capacity)?;
    let needed = demand::load(uses, (table_id, Some(id)), UnitKind::Write).peak;
    if needed > 0.0 {
        return (needed > units)
            .then(|| finding(table, index, capacity, needed, "the writes of its patterns", needed / 0.7));
    }
    // Without rates, the table's own capacity is the best estimate.
    let of_table = table.throughput.write.as_ref().and_then(most)?;
    let label = "the writes that the table is provisioned for";
    (of_table > units && takes_every_write(subject.model, table_id, id))
        .then(|| finding(table, index, capacity, of_table, label, of_table))
}

/// The capacity that is fixed, or the maximum of its auto scaling.
fn most(capacity: &Spanned<Capacity>) -> Option<f64> {
    let units = [capacity.units, capacity.min, capacity.max].into_iter().flatten().max()?;
    Some(units as f64)
}

/// Whether every item of the table is in the index.
fn takes_every_write(model: &Model, table: TableId, index: IndexId) -> bool {
    model
        .entities_of(table)
        .all(|(_, entity)| entity.entry(index).is_some_and(|entry| entity.membership(entry).is_none()))
}

fn finding(
    table: &Table,
    index: &Index,
    capacity: &Spanned<Capacity>,
    needed: f64,
    whose: &str,
    proposed: f64,
) -> Diagnostic {
    let message = format!(
        "index `{}` takes {} write units a second, {whose} need {}",
        index.name.value,
        figures::count(most(capacity).unwrap_or_default()),
        figures::count(needed)
    );
    Diagnostic::warning(capacity.span, message)
        .label(format!("at least {} needed", figures::count(needed)))
        .related(table.billing.span, "capacity is fixed")
        .why("an index that is throttled throttles the writes of its table")
        .help(format!(
            "provision `write: {}`, let it scale (`{{ min: …, max: …, target: 70% }}`), or \
             make the table `billing: on-demand`",
            proposed.ceil()
        ))
}
