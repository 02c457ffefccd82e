//! Traffic that is generated from each example model gives back its patterns: the requests that the application would
//! send in an hour, with all values that the data has, on tables that hold the data. Nothing waits for the
//! time to pass: a pattern of 20 requests a second is sent with each of its values once, and counted 72,000
//! times in all.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use api::{Input, Operation, Request};
use model::learn::{key_names, learn, shape::Shapes};
use model::model::{ActionKind, Entity, Grouping, Pattern, Read, Write};
use model::plan::{ActionPlan, Plan, ReadOperation, plan};
use model::request::{PlannedRead, given, group, write, write_case};
use model::sample::{SampleItem, Scale, sample};
use model::{Model, Source, file};
use proof::{Database, Endpoint, Memory, survey};
use serde_json::Value;

const SECONDS: f64 = 3600.0;
const SCALE: Scale = Scale { roots: 24, children: 8 };
const ITEMS_MAX: usize = 20_000;
const SHARE_LEAST: f64 = 0.95;
const RATE_ERROR_MAX: f64 = 0.1;

fn models() -> Vec<(String, Model)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the examples").map(|file| file.expect("a file").path()).collect();
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).expect("a readable model");
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
        (name, file::read(&Source::new("model.yaml", text)).model.expect("a model"))
    };
    files.iter().map(read).collect()
}

/// A request as a client sends it.
fn sent<I: Input<Request = Request>>(input: I) -> (Operation, Value) {
    let request = input.into_request();
    let mut body = Vec::new();
    request.write_json(&mut body);
    (request.operation(), serde_json::from_slice(&body).expect("JSON"))
}

/// The requests of each way in which a pattern can be asked.
fn executions(
    model: &Model,
    pattern: &Pattern,
    plan: &Plan,
    data: &[SampleItem],
) -> Vec<Vec<(Operation, Value)>> {
    if !pattern.is_read() {
        let cases = write_case::cases(model, pattern, plan, data).expect("items to write");
        let requests = |case: &write_case::Case<'_>| match (pattern.grouping, case.touches.as_slice()) {
            (Grouping::Transaction, touches) => {
                sent(write::transaction(model, touches).expect("a transaction"))
            }
            (Grouping::Batch, touches) => sent(write::batch(model, touches).expect("a batch")),
            (Grouping::Single, [touch]) => {
                let parts = write::parts(model, touch).expect("a write");
                match touch.write.verb.name() {
                    "update" => sent(parts.update_item()),
                    "delete" => sent(parts.delete_item()),
                    _ => sent(parts.put_item()),
                }
            }
            (Grouping::Single, _) => panic!("one request writes one item"),
        };
        return cases.iter().map(|case| vec![requests(case)]).collect();
    }
    if pattern.grouping != Grouping::Single {
        let group = group::choose(model, pattern, plan, data).expect("items to get");
        return vec![vec![match pattern.grouping {
            Grouping::Transaction => sent(group.transaction(model)),
            _ => sent(group.batch(model)),
        }]];
    }
    let (_, read) = pattern.reads().next().expect("a read");
    let ActionPlan::Read(plan) = &plan.steps[0].kind else { panic!("a read has the plan of one") };
    let planned = PlannedRead::new(model, read, plan);
    let requests = |given: &given::Given| match plan.operation {
        ReadOperation::GetItem => planned.get_items(given).expect("keys").into_iter().map(sent).collect(),
        ReadOperation::Query => planned.queries(given).expect("queries").into_iter().map(sent).collect(),
        ReadOperation::Scan => vec![sent(planned.scan(given).expect("a scan"))],
    };
    given::tries(model, read, data).iter().map(requests).collect()
}

fn rate(pattern: &Pattern) -> f64 {
    pattern.rate.as_ref().map_or(1.0, |rate| rate.value.average)
}

/// What is learned from an hour of a model's traffic.
async fn learned(model: &Model) -> Model {
    let memory = Arc::new(Memory::open().await.expect("a database"));
    let database = Database::on(memory.clone());
    for table in model.tables.iter().filter_map(proof::table::create_table) {
        database.call(table).await.expect("a table");
    }
    let data = sample(model, SCALE).items;
    database.hold(model, &data).await.expect("the data");
    let mut tables = Vec::new();
    for table in &model.tables {
        let contents = survey(memory.as_ref(), &table.name.value, ITEMS_MAX, |_| ()).await;
        tables.push(contents.expect("an answer").expect("a table"));
    }
    let mut shapes = Shapes::new(key_names(tables.iter().map(|table| &table["Table"])));
    for pattern in model.patterns.iter().filter(|pattern| pattern.external.is_none()) {
        let plan = plan(model, pattern);
        let executions = executions(model, pattern, &plan, &data);
        let total = (rate(pattern) * SECONDS).round().max(1.0) as usize;
        for (number, requests) in executions.iter().enumerate() {
            let times = total / executions.len() + usize::from(number < total % executions.len());
            for (operation, input) in requests.iter().filter(|_| times > 0) {
                let answer = match pattern.is_read() {
                    true => Some(
                        memory
                            .send(operation.name(), input.to_string().into_bytes())
                            .await
                            .expect("an answer"),
                    ),
                    false => None,
                };
                let answer = answer.and_then(|answer| serde_json::from_slice::<Value>(&answer).ok());
                shapes.note(operation.name(), input, answer.as_ref(), times as u64);
            }
        }
    }
    let learning = learn(&tables, &shapes, SECONDS).unwrap_or_else(|error| panic!("{}", error.0));
    learning.import.model
}

/// What an entity is called where its keys are the same.
fn identity(model: &Model, entity: &Entity) -> String {
    let templates: Vec<String> = entity.key_templates().map(ToString::to_string).collect();
    format!("{}: {}", model.table_of(entity).name.value, templates.join(" "))
}

/// What a read asks for, in words that do not depend on the names of entities.
fn read_words(model: &Model, read: &Read) -> String {
    let mut entities: Vec<String> =
        read.entities.iter().map(|id| identity(model, model.entity(id.value))).collect();
    entities.sort();
    let terms = read.conditions.iter().flat_map(|conditions| &conditions.terms);
    let (equal, ranged): (Vec<_>, Vec<_>) = terms.partition(|term| term.operator.name() == "=");
    let known: BTreeSet<&str> = read
        .by
        .iter()
        .map(|by| by.value.as_str())
        .chain(equal.iter().map(|term| term.attribute.value.as_str()))
        .collect();
    let words = |term: &model::predicate::Term| format!("{} {}", term.attribute.value, term.operator.name());
    let ranged: BTreeSet<String> = ranged.iter().map(|term| words(term)).collect();
    let filter: BTreeSet<String> = read.filter.iter().flat_map(|filter| &filter.terms).map(words).collect();
    let is_descending = read.order.first().is_some_and(|order| order.descending);
    let limit = read.limit.as_ref().map(|limit| limit.value);
    format!(
        "{} {entities:?} by {known:?} where {ranged:?} filter {filter:?} descending {is_descending} limit {limit:?}",
        read.verb.name()
    )
}

fn write_words(model: &Model, write: &Write, times: u64) -> String {
    let names = |changes: &[model::model::AttributeChange]| -> BTreeSet<String> {
        changes.iter().map(|change| change.attribute.value.clone()).collect()
    };
    // What an attribute was before is in the request only if the condition compares it.
    let before = |name: &str| match write.condition.as_ref()?.equality(name)? {
        model::predicate::Operand::Literal(value) => Some(value.clone()),
        model::predicate::Operand::Parameter(_) => None,
    };
    let transition = |change: &model::model::AttributeChange| {
        Some(format!("{} -> {}", before(&change.attribute.value)?, change.to.as_ref()?))
    };
    let transitions: BTreeSet<String> = write.set.iter().filter_map(transition).collect();
    let set = if write.verb.name() == "update" { names(&write.set) } else { BTreeSet::new() };
    let conditions: BTreeSet<String> = write
        .condition
        .iter()
        .flat_map(|condition| &condition.terms)
        .map(|term| format!("{} {}", term.attribute.value, term.operator.name()))
        .collect();
    let version = write.version.as_ref().map(|version| version.value.as_str());
    format!(
        "{} {} × {times} set {set:?} {transitions:?} add {:?} if {conditions:?} version {version:?}",
        write.verb.name(),
        identity(model, model.entity(write.entity.value)),
        names(&write.add),
    )
}

fn words(model: &Model, pattern: &Pattern) -> String {
    let mut actions: Vec<String> = pattern
        .actions
        .iter()
        .map(|action| match &action.kind {
            ActionKind::Read(read) => format!("{} × {}", read_words(model, read), action.times),
            ActionKind::Write(write) => write_words(model, write, action.times),
        })
        .collect();
    actions.sort();
    format!("{:?} {}", pattern.grouping, actions.join("; "))
}

#[tokio::test(start_paused = true)]
#[allow(clippy::print_stdout, reason = "`--nocapture` shows the figures of docs/learn.md")]
async fn traffic_of_every_example_gives_back_its_patterns() {
    let (mut right, mut all) = (0, 0);
    let mut missed = Vec::new();
    for (name, model) in models() {
        let learned = learned(&model).await;
        let found: Vec<(String, f64)> =
            learned.patterns.iter().map(|pattern| (words(&learned, pattern), rate(pattern))).collect();
        for pattern in model.patterns.iter().filter(|pattern| pattern.external.is_none()) {
            let (expected, rate) = (words(&model, pattern), rate(pattern));
            let is_near = |other: f64| (other - rate).abs() <= RATE_ERROR_MAX * rate;
            all += 1;
            let rates: Vec<f64> =
                found.iter().filter(|(words, _)| *words == expected).map(|(_, rate)| *rate).collect();
            match rates.iter().any(|rate| is_near(*rate)) {
                true => right += 1,
                false if rates.is_empty() => {
                    missed.push(format!("{name} {}: no {expected}", pattern.id.value));
                }
                false => missed.push(format!("{name} {}: {rates:?}/s, not {rate}/s", pattern.id.value)),
            }
        }
        if missed.iter().any(|miss| miss.starts_with(&name)) {
            missed.extend(found.iter().map(|(words, rate)| format!("    {name} has {words} at {rate}/s")));
        }
    }
    let share = f64::from(right) / f64::from(all);
    let figures = format!("{right} of {all} patterns ({:.1} %)", 100.0 * share);
    println!("{figures}\n{}", missed.join("\n"));
    assert!(share >= SHARE_LEAST, "{figures}\n{}", missed.join("\n"));
}
