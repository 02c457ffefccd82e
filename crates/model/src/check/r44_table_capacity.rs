//! R44: provisioned capacity below what the patterns need.

use super::{Rule, Subject, figures};
use crate::demand::{self, Load, UnitKind, Usage};
use crate::diagnostic::{Level, RuleId};
use crate::model::{Billing, Capacity, Table, TableId};
use crate::{Diagnostic, Spanned};

pub const RULE: Rule = Rule {
    id: RuleId(44),
    level: Level::Warning,
    title: "A table has less capacity than its patterns need",
    page: include_str!("../../../../docs/rules/R44.md"),
    parameters: &[],
    check,
};

/// Units of one kind that a table or index has, and the demand for them.
struct Account<'m> {
    of: String,
    kind: &'static str,
    capacity: Option<&'m Spanned<Capacity>>,
    load: Load,
}

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let uses = subject.uses();
    let ids = subject.model.table_ids();
    let provisioned = ids.filter(|id| subject.model.table(*id).billing.value == Billing::Provisioned);
    let accounts = provisioned.flat_map(|id| accounts(&uses, id, subject.model.table(id)));
    accounts.filter_map(|account| finding(&account)).collect()
}

/// R22 reports the writes of indexes.
fn accounts<'m>(uses: &[Usage], id: TableId, table: &'m Table) -> Vec<Account<'m>> {
    let name = format!("table `{}`", table.name.value);
    let reads = demand::load(uses, (id, None), UnitKind::Read);
    let writes = demand::load(uses, (id, None), UnitKind::Write);
    let mut accounts = vec![
        Account { of: name.clone(), kind: "read", capacity: table.throughput.read.as_ref(), load: reads },
        Account { of: name, kind: "write", capacity: table.throughput.write.as_ref(), load: writes },
    ];
    accounts.extend(table.index_ids().map(|index| {
        let (of, capacity) = (table.index(index), table.index(index).throughput.read.as_ref());
        let load = demand::load(uses, (id, Some(index)), UnitKind::Read);
        Account { of: format!("index `{}`", of.name.value), kind: "read", capacity, load }
    }));
    accounts
}

fn finding(account: &Account<'_>) -> Option<Diagnostic> {
    let capacity = account.capacity?;
    let most = [capacity.units, capacity.min, capacity.max].into_iter().flatten().max()? as f64;
    let (kind, needed) = (account.kind, account.load.peak);
    (needed > most).then(|| {
        let message = format!(
            "{} has {} {kind} units a second, its patterns need {}",
            account.of,
            figures::count(most),
            figures::count(needed)
        );
        Diagnostic::warning(capacity.span, message)
            .label(format!("{} at the peak", figures::count(needed)))
            .why("what is not provisioned is throttled; unused capacity of the last five minutes helps for moments only")
            .help(format!(
                "provision `{kind}: {}`, let it scale (`{{ min: …, max: …, target: 70% }}`), or write `billing: on-demand`",
                (needed / 0.7).ceil()
            ))
    })
}
