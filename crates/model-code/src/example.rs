//! A pattern on the example data: what is sent, and the result.

use api::{Input, Request};
use item::Value;
use model::Model;
use model::meaning;
use model::model::{Grouping, IndexEntry, Pattern, Read, WriteVerb};
use model::plan::{Plan, ReadOperation, ReadPlan, plan};
use model::predict::item::Values;
use model::request::expression::Alias;
use model::request::read::HIGHEST;
use model::request::{Given, PlannedRead, Touch, Unsendable, given, group, write, write_example};
use model::sample::{FILLER, SampleItem, Scale, key_of, sample};
use serde_json::Value as Json;

use crate::name;
use crate::sketch::body;

const BYTES_SHOWN: usize = 16;
/// More requests than any loop in an application would send.
const FAN_OUT_MAX: u64 = 10_000;

/// What an application sends for one pattern.
pub struct Example {
    pub pattern: String,
    /// What its function is called in code.
    pub function: String,
    pub description: Option<String>,
    pub operation: &'static str,
    /// The index, or the tables, that the pattern uses.
    pub source: String,
    /// The error says why nothing can be sent.
    pub sending: Result<Sending, String>,
    /// What a reader of the code should know.
    pub notes: Vec<String>,
}

/// The requests of a pattern, and what they do.
pub struct Sending {
    /// One, or one for each shard.
    pub requests: Vec<Request>,
    /// What the application knows.
    pub given: Given,
    /// The items that a write or a group of reads is about.
    pub touched: Vec<Touched>,
    /// The result on the example data.
    pub effect: Effect,
}

/// An item of one action, before and after.
pub struct Touched {
    /// The position of the action in the pattern.
    pub step: usize,
    pub old: Option<Values>,
    pub new: Option<Values>,
    pub given: Given,
}

impl Sending {
    /// Whether the code reads one page and could ask for the next.
    pub fn has_next_page(&self) -> bool {
        matches!(&self.effect, Effect::Finds { reading, .. } if reading.has_next)
    }
}

/// What the requests do on the example data.
pub enum Effect {
    /// The keys of the items that come back, in order.
    Finds { keys: Vec<Values>, reading: ReadLoop },
    /// What is stored afterwards.
    Leaves { items: Vec<WrittenItem> },
}

/// One item after a write.
pub struct WrittenItem {
    pub table: String,
    pub key: Values,
    /// `None` if it is deleted.
    pub item: Option<Values>,
}

/// How the code reads the answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadLoop {
    /// Only the number of items is asked for.
    pub counts: bool,
    /// The code reads all pages.
    pub paged: bool,
    /// The code reads one page, and can ask for the next.
    pub has_next: bool,
    pub limit: Option<u64>,
    /// The attributes by which the answers of several requests are merged into one order.
    pub merge_by: Vec<String>,
    pub descending: bool,
}

/// All patterns, or only the one of this name.
pub fn examples(model: &Model, only: Option<&str>) -> Vec<Example> {
    let mut data = sample(model, Scale::default()).items;
    data.retain(|item| item.entity.is_some_and(|id| model.entity(id).key.is_some()));
    let named = model.patterns.iter().zip(name::functions(model));
    let wanted = named.filter(|(pattern, _)| only.is_none_or(|only| pattern.id.value == only));
    wanted.map(|(pattern, function)| example(model, pattern, function, &data)).collect()
}

fn example(model: &Model, pattern: &Pattern, function: String, data: &[SampleItem]) -> Example {
    let plan = plan(model, pattern);
    let mut notes = Vec::new();
    let sending = match &pattern.external {
        Some(other) => Err(format!("{} serves it, not the table", other.value)),
        None => sending(model, pattern, &plan, data, &mut notes).map_err(|why| why.to_string()),
    };
    if let Ok(sending) = &sending {
        notes.extend(aliases(&sending.requests));
        notes.extend(highest(&sending.requests));
        notes.extend(plan.gaps().map(|gap| format!("Not one good request: {}", gap.describe(model))));
    }
    Example {
        pattern: pattern.id.value.clone(),
        function,
        description: pattern.description.clone(),
        operation: plan.operation(),
        source: plan.source(model),
        sending,
        notes,
    }
}

fn sending(
    model: &Model,
    pattern: &Pattern,
    plan: &Plan,
    data: &[SampleItem],
    notes: &mut Vec<String>,
) -> Result<Sending, Unsendable> {
    let (read, write) = (pattern.reads().next(), pattern.writes().next());
    match (pattern.grouping, read, write) {
        (_, Some(_), Some(_)) => Err(Unsendable::mixed()),
        (Grouping::Single, Some((_, read)), None) => match plan.reads().next() {
            Some(plan) => reading(model, pattern, read, plan, data),
            None => Err(Unsendable::mixed()),
        },
        (_, Some(_), None) => group_reading(model, pattern, plan, data, notes),
        _ => writing(model, pattern, plan, data, notes),
    }
}

fn reading(
    model: &Model,
    pattern: &Pattern,
    read: &Read,
    plan: &ReadPlan,
    data: &[SampleItem],
) -> Result<Sending, Unsendable> {
    if plan.entities.iter().any(|id| model.entity(*id).key.is_none()) {
        return Err(Unsendable::Impossible("there are no keys yet".to_owned()));
    }
    if plan.fan_out > FAN_OUT_MAX {
        return Err(Unsendable::Impossible(format!("it takes {} requests", plan.fan_out)));
    }
    let given = values_that_find(model, pattern, read, data)?;
    let planned = PlannedRead::new(model, read, plan);
    let requests: Vec<Request> = match plan.operation {
        ReadOperation::GetItem => planned.get_items(&given)?.into_iter().map(Input::into_request).collect(),
        ReadOperation::Query => planned.queries(&given)?.into_iter().map(Input::into_request).collect(),
        ReadOperation::Scan => vec![planned.scan(&given)?.into_request()],
    };
    let reading = manner(planned, requests.len());
    let keys = found(planned, data, &given);
    Ok(Sending { requests, given, touched: Vec::new(), effect: Effect::Finds { keys, reading } })
}

/// The values that the file itself gives, or values that find items.
fn values_that_find(
    model: &Model,
    pattern: &Pattern,
    read: &Read,
    data: &[SampleItem],
) -> Result<Given, Unsendable> {
    if let Some(expectation) = pattern.expect.first() {
        return Ok(Given::of_expectation(pattern, model, expectation));
    }
    let tries = given::tries(model, read, data);
    let finds = |given: &&Given| !meaning::wanted(model, read, data, given).is_empty();
    let values_that_find = tries.iter().find(finds).or(tries.first()).cloned();
    values_that_find.ok_or_else(|| Unsendable::NoData("item that the pattern asks for".to_owned()))
}

fn manner(planned: PlannedRead<'_>, requests: usize) -> ReadLoop {
    let read = planned.read;
    let is_paged = read.paged.as_ref().is_some_and(|paged| paged.value);
    let several = requests > 1 && !read.order.is_empty();
    let sort = planned.schema().map(|schema| schema.sort.as_slice()).unwrap_or_default();
    ReadLoop {
        counts: planned.counts(),
        paged: planned.limit.is_none() && (is_paged || planned.plan.operation == ReadOperation::Scan),
        has_next: planned.limit.is_some() && is_paged,
        limit: planned.limit,
        merge_by: sort.iter().filter(|_| several).map(|key| key.name.clone()).collect(),
        descending: !planned.plan.forward,
    }
}

/// The keys of the items that the pattern means, in the requested order, then in that of the sort key.
fn found(planned: PlannedRead<'_>, data: &[SampleItem], given: &Given) -> Vec<Values> {
    let PlannedRead { model, read, plan, limit, .. } = planned;
    let mut wanted: Vec<&SampleItem> =
        meaning::wanted(model, read, data, given).into_iter().map(|position| &data[position]).collect();
    let sort: Vec<&str> =
        planned.schema().into_iter().flat_map(|schema| &schema.sort).map(|key| key.name.as_str()).collect();
    wanted.sort_by(|one, other| {
        let values = sort.iter().filter_map(|name| Some((one.get(name)?, other.get(name)?)));
        let by_key = values.map(|(one, other)| meaning::compare(&one, &other)).find(|by| by.is_ne());
        let by_key = by_key.unwrap_or(std::cmp::Ordering::Equal);
        let by_key = if plan.forward { by_key } else { by_key.reverse() };
        meaning::order(read, one, other).then(by_key)
    });
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    wanted.into_iter().take(limit).map(|item| key_of(model, item.table, &item.values)).collect()
}

fn group_reading(
    model: &Model,
    pattern: &Pattern,
    plan: &Plan,
    data: &[SampleItem],
    notes: &mut Vec<String>,
) -> Result<Sending, Unsendable> {
    let group = group::choose(model, pattern, plan, data)?;
    let stored = group.targets.iter().filter(|(target, _)| data.contains(target));
    let keys = stored.map(|(target, _)| key_of(model, target.table, &target.values)).collect();
    let request = match group.grouping {
        Grouping::Transaction => group.transaction(model).into_request(),
        _ => {
            notes.push("What comes back as UnprocessedKeys is sent again".to_owned());
            group.batch(model).into_request()
        }
    };
    let step = |target: &SampleItem| {
        pattern.reads().position(|(_, read)| read.entities.iter().any(|id| Some(id.value) == target.entity))
    };
    let touched = group.targets.iter().filter_map(|(target, _)| {
        let old = Some(target.values.clone());
        Some(Touched { step: step(target)?, old, new: None, given: Given::default() })
    });
    let touched = touched.collect();
    let effect = Effect::Finds { keys, reading: ReadLoop::default() };
    Ok(Sending { requests: vec![request], given: Given::default(), touched, effect })
}

fn writing(
    model: &Model,
    pattern: &Pattern,
    plan: &Plan,
    data: &[SampleItem],
    notes: &mut Vec<String>,
) -> Result<Sending, Unsendable> {
    let example = write_example::choose(model, pattern, plan, data)?;
    if !example.fits {
        notes.push("On the example data it is refused: no item there fulfils its condition".to_owned());
    }
    let touches: Vec<Touch<'_>> =
        example.touches.into_iter().map(|touch| shortened(model, unfilled(touch))).collect();
    let request = match (pattern.grouping, touches.as_slice()) {
        (Grouping::Transaction, _) => write::transaction(model, &touches)?.into_request(),
        (Grouping::Batch, _) => {
            notes.push("What comes back as UnprocessedItems is sent again".to_owned());
            write::batch(model, &touches)?.into_request()
        }
        (Grouping::Single, [touch]) => write::single(model, touch)?,
        (Grouping::Single, _) => {
            return Err(Unsendable::Impossible("one request writes one item".to_owned()));
        }
    };
    let given = touches.iter().flat_map(|touch| touch.given.iter()).collect();
    let effect = Effect::Leaves { items: touches.iter().filter_map(|touch| left(model, touch)).collect() };
    // Touches are in the order of the actions, each as often as its action says.
    let step = |touch: &Touch<'_>| pattern.writes().position(|(_, write)| std::ptr::eq(write, touch.write));
    let touched = touches.iter().map(|touch| Touched {
        step: step(touch).unwrap_or_default(),
        old: touch.old.clone(),
        new: touch.new.clone(),
        given: touch.given.clone(),
    });
    let touched = touched.collect();
    Ok(Sending { requests: vec![request], given, touched, effect })
}

/// Without the filler that brings items to their declared size: it would only distract in code.
fn unfilled(mut touch: Touch<'_>) -> Touch<'_> {
    for values in [&mut touch.old, &mut touch.new].into_iter().flatten() {
        values.remove(FILLER);
    }
    touch
}

/// Long texts are shortened, unless a key contains them.
fn shortened<'m>(model: &Model, mut touch: Touch<'m>) -> Touch<'m> {
    let entity = model.entity(touch.entity);
    let templates = || entity.key_templates().chain(entity.entries.iter().flat_map(IndexEntry::templates));
    for (name, value) in touch.new.iter_mut().flatten() {
        let sized = entity.attribute(name).is_some_and(|attribute| attribute.size.is_some());
        let written = touch.old.as_ref().is_none_or(|old| old.get(name) != Some(&*value));
        if sized && written && !templates().any(|template| template.uses(name)) {
            shorten(value);
        }
    }
    touch
}

fn shorten(value: &mut Value) {
    match value {
        Value::S(text) => {
            let stem = text.trim_end_matches(['x', 'y', 'z']).len();
            if stem > 0 {
                text.truncate(stem);
            }
        }
        Value::B(bytes) => bytes.truncate(BYTES_SHOWN),
        Value::L(elements) => elements.iter_mut().for_each(shorten),
        Value::M(entries) => entries.values_mut().for_each(shorten),
        _ => {}
    }
}

fn left(model: &Model, touch: &Touch<'_>) -> Option<WrittenItem> {
    if touch.write.verb == WriteVerb::Check {
        return None;
    }
    let any = touch.new.as_ref().or(touch.old.as_ref())?;
    Some(WrittenItem {
        table: model.table(touch.table).name.value.clone(),
        key: key_of(model, touch.table, any),
        item: touch.new.clone(),
    })
}

/// Every attribute that an expression names by a placeholder, with the reason.
fn aliases(requests: &[Request]) -> Vec<String> {
    let mut notes = Vec::new();
    for (alias, name) in requests.iter().flat_map(|request| names(&body(request))) {
        let note = match Alias::needed(&name) {
            Some(Alias::ReservedWord) => format!("`{name}` is a reserved word, so it goes by `{alias}`"),
            _ => format!("`{name}` has characters that expressions do not take, so it goes by `{alias}`"),
        };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// The ExpressionAttributeNames at every depth.
fn names(json: &Json) -> Vec<(String, String)> {
    match json {
        Json::Array(elements) => elements.iter().flat_map(names).collect(),
        Json::Object(members) => members
            .iter()
            .flat_map(|(member, inner)| match (member.as_str(), inner) {
                ("ExpressionAttributeNames", Json::Object(aliases)) => aliases
                    .iter()
                    .map(|(alias, name)| (alias.clone(), name.as_str().unwrap_or_default().to_owned()))
                    .collect(),
                ("Item" | "Key" | "ExpressionAttributeValues", _) => Vec::new(),
                (_, inner) => names(inner),
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn highest(requests: &[Request]) -> Option<String> {
    let has = |request: &Request| body(request).to_string().contains(HIGHEST);
    let note = "The character U+10FFFF sorts after all others: it ends a range";
    requests.iter().any(has).then(|| note.to_owned())
}
