//! R24: transactions that are too large, impossible, or unnecessary.

use api::limits::TRANSACTION_BYTES_MAX;

use super::{Rule, Subject, figures};
use crate::diagnostic::{Level, RuleId};
use crate::model::{Action, ActionKind, Grouping, Model, Pattern, WriteVerb};
use crate::plan::{ActionPlan, Plan, ReadOperation};
use crate::{Diagnostic, Span};

pub const RULE: Rule = Rule {
    id: RuleId(24),
    level: Level::Error,
    title: "A transaction is too large, impossible or unnecessary",
    page: include_str!("../../../../docs/rules/R24.md"),
    // Report that all writes are transactions from this many writes on.
    parameters: &[("writes", 3.0)],
    check,
};

/// The most items in one transaction.
const ITEMS_MAX: u64 = api::limits::TRANSACTION_ACTIONS_MAX as u64;

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let transactions = subject.patterns().filter(|(pattern, _)| pattern.grouping == Grouping::Transaction);
    let each = transactions.flat_map(|(pattern, plan)| {
        let mut found: Vec<Diagnostic> = impossible(pattern, plan);
        found.extend(too_many(pattern).or_else(|| too_many_at_most(subject.model, pattern)));
        found.extend(too_large(subject.model, pattern));
        found.extend(of_one(pattern));
        found
    });
    each.chain(everything(subject)).collect()
}

fn too_many(pattern: &Pattern) -> Option<Diagnostic> {
    let total: f64 = pattern.actions.iter().map(|action| action.times as f64).sum();
    let crossing = crossing(&pattern.actions)?;
    Some(
        Diagnostic::error(crossing.span, format!("the transaction has {} items", figures::count(total)))
            .label("here it passes 100")
            .why("TransactWriteItems and TransactGetItems take at most 100 items")
            .help(
                "keep together what must change together, and write the rest before it in batches: the \
                 transaction then makes it visible",
            ),
    )
}

/// As many items as one parent can have, by the counts of the file.
fn too_many_at_most(model: &Model, pattern: &Pattern) -> Option<Diagnostic> {
    let at_most = |action: &Action| {
        let named = action.times as f64;
        let ActionKind::Write(write) = &action.kind else { return named };
        let count = model.entity(write.entity.value).count.as_ref();
        let of_parent = count.filter(|count| count.per.is_some() && action.times > 1);
        of_parent.map_or(named, |count| count.most().max(named))
    };
    let largest = pattern.actions.iter().max_by(|one, other| at_most(one).total_cmp(&at_most(other)))?;
    let total: f64 = pattern.actions.iter().map(at_most).sum();
    let ActionKind::Write(write) = &largest.kind else { return None };
    let entity = model.entity(write.entity.value);
    (total > ITEMS_MAX as f64).then(|| {
        let (total, most) = (figures::count(total), figures::count(at_most(largest)));
        let found = Diagnostic::error(largest.span, format!("the transaction can have {total} items"))
            .label(format!("up to {most} of `{}`", entity.name.value))
            .why("TransactWriteItems takes at most 100 items, and refuses a larger one as a whole")
            .help(
                "declare and enforce a maximum that fits, or write the many items before it in batches: the \
                 transaction then makes them visible",
            );
        match &entity.count {
            Some(count) => found.related(count.span, "the declared maximum"),
            None => found,
        }
    })
}

/// The action with which the sum exceeds the limit.
fn crossing(actions: &[Action]) -> Option<&Action> {
    let mut sum = 0;
    actions.iter().find(|action| {
        sum = action.times.saturating_add(sum);
        sum > ITEMS_MAX
    })
}

fn too_large(model: &Model, pattern: &Pattern) -> Option<Diagnostic> {
    let sizes = pattern.actions.iter().map(|action| {
        let typical = match &action.kind {
            ActionKind::Write(write) => model.entity(write.entity.value).size.as_ref(),
            ActionKind::Read(read) => model.entity(read.entities[0].value).size.as_ref(),
        };
        typical.map_or(0.0, |size| size.typical as f64) * action.times as f64
    });
    let bytes: f64 = sizes.sum();
    (bytes > TRANSACTION_BYTES_MAX as f64).then(|| {
        let message = format!("the items of the transaction are {} together", figures::bytes(bytes));
        Diagnostic::error(span_of(pattern), message)
            .label("more than 4 MB")
            .why("a transaction takes at most 4 MB")
            .help("leave out what need not change together, or keep large parts in S3")
    })
}

fn span_of(pattern: &Pattern) -> Span {
    let spans = pattern.actions.iter().map(|action| action.span);
    spans.reduce(Span::to).unwrap_or(pattern.id.span)
}

/// Reads together with writes, and reads that are not a GetItem.
fn impossible(pattern: &Pattern, plan: &Plan) -> Vec<Diagnostic> {
    let writes = pattern.writes().next().is_some();
    let steps = pattern.actions.iter().zip(&plan.steps);
    steps
        .filter_map(|(action, step)| match &step.kind {
            ActionPlan::Read(_) if writes => Some(
                Diagnostic::error(action.span, "a transaction that writes can't read")
                    .label("returns nothing there")
                    .why("TransactWriteItems has Put, Update, Delete and ConditionCheck")
                    .help("read before it and repeat what you relied on as `check: …, if: …`"),
            ),
            ActionPlan::Read(read) if read.operation != ReadOperation::GetItem => Some(
                Diagnostic::error(
                    action.span,
                    format!("a {} can't be part of a transaction", read.operation.name()),
                )
                .label("needs the whole key of the table")
                .why("TransactGetItems gets items by the table's key, from no index")
                .help("name every attribute of the key in `by`, or query outside of the transaction"),
            ),
            _ => None,
        })
        .collect()
}

fn of_one(pattern: &Pattern) -> Option<Diagnostic> {
    let [action] = pattern.actions.as_slice() else { return None };
    if action.times != 1 {
        return None;
    }
    let (instead, why) = match &action.kind {
        ActionKind::Write(write) if write.verb == WriteVerb::Check => return None,
        ActionKind::Write(write) => (write.verb.name(), "a write of one item is atomic already"),
        ActionKind::Read(read) => {
            (read.verb.name(), "one item is read as one already, with `consistency: strong`")
        }
    };
    Some(
        Diagnostic::warning(action.span, "a transaction of one item")
            .label("costs twice as much")
            .why(format!("{why}; a transaction charges double"))
            .help(format!("write `{instead}: …` alone, with `if: …` where it needs a condition")),
    )
}

/// Every write of the model is a transaction.
fn everything(subject: &Subject<'_>) -> Option<Diagnostic> {
    let writing: Vec<&Pattern> = subject
        .patterns()
        .map(|(pattern, _)| pattern)
        .filter(|pattern| pattern.writes().next().is_some())
        .collect();
    let all = writing.iter().all(|pattern| pattern.grouping == Grouping::Transaction);
    if !all || (writing.len() as f64) < subject.parameter("writes").max(1.0) {
        return None;
    }
    let rate = |pattern: &&Pattern| pattern.rate.as_ref().map_or(0.0, |rate| rate.average);
    let busiest = writing.iter().copied().rev().max_by(|one, other| rate(one).total_cmp(&rate(other)))?;
    Some(
        Diagnostic::warning(busiest.id.span, format!("all {} writes are transactions", writing.len()))
            .label("the busiest of them")
            .why("a transactional write costs twice the units, and is cancelled when another touches its items")
            .help("use one where an invariant spans items; elsewhere a condition (`if: …`) or a version will do"),
    )
}
