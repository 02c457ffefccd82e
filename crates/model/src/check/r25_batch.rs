//! R25: batches beyond their limits, and loops that should be batches.

use api::limits::{BATCH_GET_BYTES_MAX, BATCH_GET_KEYS_MAX, BATCH_WRITE_REQUESTS_MAX};

use super::{Rule, Subject, figures};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId};
use crate::model::{Action, ActionKind, Grouping, Model, Pattern, ReadVerb, Write, WriteVerb};
use crate::plan::{ActionPlan, Plan, ReadOperation};

pub const RULE: Rule = Rule {
    id: RuleId(25),
    level: Level::Error,
    title: "A batch is too large or impossible, or a loop should be one",
    page: include_str!("../../../../docs/rules/R25.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let patterns = subject.patterns();
    patterns
        .flat_map(|(pattern, plan)| match pattern.grouping {
            Grouping::Batch => in_batch(subject.model, pattern, plan),
            Grouping::Single => loops(subject.model, pattern, plan).into_iter().collect(),
            Grouping::Transaction => Vec::new(),
        })
        .collect()
}

fn in_batch(model: &Model, pattern: &Pattern, plan: &Plan) -> Vec<Diagnostic> {
    let writes = pattern.writes().next().is_some();
    let mut found: Vec<Diagnostic> = pattern
        .actions
        .iter()
        .zip(&plan.steps)
        .filter_map(|(action, step)| match (&action.kind, &step.kind) {
            (ActionKind::Write(write), _) => impossible_write(action, write),
            (ActionKind::Read(_), _) if writes => Some(mixed(action)),
            (_, ActionPlan::Read(read)) if read.operation != ReadOperation::GetItem => {
                Some(not_a_get(action, read.operation))
            }
            _ => None,
        })
        .collect();
    found.extend(too_many(pattern, writes));
    found.extend(too_large(model, pattern, writes));
    found
}

fn impossible_write(action: &Action, write: &Write) -> Option<Diagnostic> {
    let error = |message: String| Some(Diagnostic::error(action.span, message).why(ONLY_PUTS));
    match write.verb {
        WriteVerb::Update | WriteVerb::Check => error(format!("a batch can't {}", write.verb.name()))
            .map(|one| one.label("not in BatchWriteItem").help("`put` whole items, or `transact` up to 100")),
        _ if write.condition.is_some() || write.version.is_some() => {
            error("a batch has no conditions".to_owned())
                .map(|one| one.label("would not be checked").help("`transact` up to 100 of them"))
        }
        WriteVerb::Create => Some(
            Diagnostic::warning(action.span, "a batch can't tell whether an item is new")
                .label("overwrites what is there")
                .why(ONLY_PUTS)
                .help("write `put` if overwriting is right, or `transact` up to 100 of them"),
        ),
        _ => None,
    }
}

const ONLY_PUTS: &str = "BatchWriteItem puts and deletes whole items, without conditions and not as one";

fn mixed(action: &Action) -> Diagnostic {
    Diagnostic::error(action.span, "a batch reads or writes, not both")
        .label("a request of its own")
        .why("BatchGetItem and BatchWriteItem are different operations")
        .help("make it two patterns")
}

fn not_a_get(action: &Action, operation: ReadOperation) -> Diagnostic {
    Diagnostic::error(action.span, format!("a {} can't be part of a batch", operation.name()))
        .label("needs the whole key of the table")
        .why("BatchGetItem gets items by the table's key, from no index")
        .help("name every attribute of the key in `by`, or make it a `query` of its own")
}

fn too_many(pattern: &Pattern, writes: bool) -> Option<Diagnostic> {
    let (operation, most) = match writes {
        true => ("BatchWriteItem", BATCH_WRITE_REQUESTS_MAX as u64),
        false => ("BatchGetItem", BATCH_GET_KEYS_MAX as u64),
    };
    let total = pattern.actions.iter().map(|action| action.times).fold(0, u64::saturating_add);
    let mut sum = 0;
    let crossing = pattern.actions.iter().find(|action| {
        sum = action.times.saturating_add(sum);
        sum > most
    })?;
    let requests = total.div_ceil(most);
    Some(
        Diagnostic::error(crossing.span, format!("the batch has {} items", figures::count(total as f64)))
            .label(format!("here it passes {most}"))
            .why(format!("{operation} takes at most {most} items"))
            .help(format!(
                "send {requests} batches of up to {most}: say `× {}` and {requests} times the rate",
                total.div_ceil(requests)
            )),
    )
}

/// Items that do not fit come back unprocessed.
fn too_large(model: &Model, pattern: &Pattern, writes: bool) -> Option<Diagnostic> {
    let bytes: f64 = pattern
        .reads()
        .map(|(action, read)| {
            let entity = model.entity(read.entities[0].value);
            entity.size.as_ref().map_or(0.0, |size| size.typical as f64) * action.times as f64
        })
        .sum();
    (!writes && bytes > BATCH_GET_BYTES_MAX as f64).then(|| {
        let message = format!("the items of the batch are {} together", figures::bytes(bytes));
        Diagnostic::error(pattern.actions[0].span, message)
            .label("more than 16 MB")
            .why("BatchGetItem answers with at most 16 MB and leaves the rest as UnprocessedKeys")
            .help("ask for fewer items in one batch")
    })
}

/// Items that are read one by one.
fn loops(model: &Model, pattern: &Pattern, plan: &Plan) -> Option<Diagnostic> {
    let (action, read) = pattern.reads().next()?;
    let planned = plan.reads().next()?;
    let returned = read.returns.as_ref().map_or(1.0, |returns| returns.typical).max(planned.fan_out as f64);
    let sharded = planned.partition.iter().any(|template| template.shards() > 1);
    if read.verb != ReadVerb::Get || planned.operation != ReadOperation::GetItem || sharded || returned <= 1.0
    {
        return None;
    }
    let items = figures::count(returned);
    let entity = &model.entity(read.entities[0].value).name.value;
    Some(
        Diagnostic::warning(action.span, format!("{items} items are got one by one"))
            .label(format!("{items} requests"))
            .why("BatchGetItem gets up to 100 items in one request, at the same price")
            .help(format!("write `batch: [get {entity} × {items}]`")),
    )
}
