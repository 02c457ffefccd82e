//! Tries a read: sends the real requests and compares the results with what the pattern means.

use std::cmp::Ordering;

use api::{ConsumedCapacity, QueryInput};
use capacity::{ReadMode, read_units, scan_units};
use item::Item;
use model::diagnostic::counted;
use model::meaning;
use model::model::{AttributesRead, IndexKind, Projection};
use model::plan::{ReadOperation, ReadPlan};
use model::predict::item::{Values, row, size_bytes};
use model::predict::{self, Units};
use model::request::{Given, PlannedRead};
use model::sample::{FILLER, SampleItem, key_of};
use model::template::plain_text;

use crate::bill::Bill;
use crate::database::{Database, values};
use crate::fault::Fault;
use crate::measured::Measured;
use crate::trial::{Trial, name_of};

/// The most pages of one request that are followed.
const PAGES_MAX: u64 = 100;

/// The answer to one request.
#[derive(Default)]
struct Answer {
    items: Vec<Item>,
    /// What was read before a filter, if there is one.
    met: Option<Vec<Item>>,
    pages: u64,
    examined: u64,
    returned: u64,
    consumed: Vec<ConsumedCapacity>,
}

/// Sends the read as planned, with the given values, to a database that holds the data.
pub async fn run(read: PlannedRead<'_>, database: &Database, data: &[SampleItem], given: &Given) -> Trial {
    match answers(read, database, given).await {
        Ok(answers) => judge(read, data, given, &answers),
        Err(fault) => Trial::failed(fault),
    }
}

/// The returned items, in order.
pub async fn fetch(read: PlannedRead<'_>, database: &Database, given: &Given) -> Result<Vec<Values>, Fault> {
    let answers = answers(read, database, given).await?;
    Ok(answers.iter().flat_map(|answer| &answer.items).map(values).collect())
}

async fn answers(read: PlannedRead<'_>, database: &Database, given: &Given) -> Result<Vec<Answer>, Fault> {
    let mut answers = Vec::new();
    match read.plan.operation {
        ReadOperation::GetItem => {
            for input in read.get_items(given)? {
                let output = database.call(input.measured()).await?;
                let returned = u64::from(output.item.is_some());
                answers.push(Answer {
                    items: output.item.into_iter().collect(),
                    met: None,
                    pages: 1,
                    examined: returned,
                    returned,
                    consumed: output.consumed_capacity.into_iter().collect(),
                });
            }
        }
        ReadOperation::Query => {
            let more = pages_on(read);
            for input in read.queries(given)? {
                answers.push(query(database, input.measured(), more).await?);
            }
            if !read.plan.filter.is_empty() {
                meet(read, database, given, &mut answers).await?;
            }
        }
        ReadOperation::Scan => {
            let output = database.call(read.scan(given)?.measured()).await?;
            answers.push(Answer {
                items: output.items.unwrap_or_default(),
                met: None,
                pages: 1,
                examined: output.scanned_count.unwrap_or(0) as u64,
                returned: output.count.unwrap_or(0) as u64,
                consumed: output.consumed_capacity.into_iter().collect(),
            });
        }
    }
    Ok(answers)
}

/// Whether the reader asks for further pages until it has as many items as its limit: a filter drops some of each.
fn pages_on(read: PlannedRead<'_>) -> bool {
    read.filters && read.read.paged.as_ref().is_some_and(|paged| paged.value)
}

/// Reads what each request read before its filter dropped anything.
async fn meet(
    read: PlannedRead<'_>,
    database: &Database,
    given: &Given,
    answers: &mut [Answer],
) -> Result<(), Fault> {
    let keyed = ReadPlan { filter: Vec::new(), ..read.plan.clone() };
    let queries = PlannedRead { plan: &keyed, ..read }.queries(given)?;
    for (input, answer) in queries.into_iter().zip(answers) {
        if answer.examined == 0 {
            answer.met = Some(Vec::new());
            continue;
        }
        let limit = Some(i32::try_from(answer.examined).unwrap_or(i32::MAX));
        let input = QueryInput { limit, select: None, ..input };
        answer.met = Some(pages(database, input, false).await?.items);
    }
    Ok(())
}

/// A Query. If it only counts, the counted items are read too.
async fn query(database: &Database, input: QueryInput, more: bool) -> Result<Answer, Fault> {
    let counts = input.select.is_some();
    let answer = pages(database, input.clone(), more).await?;
    if !counts {
        return Ok(answer);
    }
    let listed = pages(database, QueryInput { select: None, ..input }, more).await?;
    Ok(Answer { items: listed.items, ..answer })
}

/// A Query to its end, or to its limit: of items read, or with `more`, of items returned.
async fn pages(database: &Database, mut input: QueryInput, more: bool) -> Result<Answer, Fault> {
    let mut answer = Answer::default();
    while answer.pages < PAGES_MAX {
        let output = database.call(input.clone()).await?;
        answer.pages += 1;
        answer.examined += output.scanned_count.unwrap_or(0) as u64;
        answer.returned += output.count.unwrap_or(0) as u64;
        answer.items.extend(output.items.unwrap_or_default());
        answer.consumed.extend(output.consumed_capacity);
        let counted = if more { answer.returned } else { answer.examined };
        let enough = input.limit.is_some_and(|limit| counted >= limit as u64);
        input.exclusive_start_key = output.last_evaluated_key;
        if enough || input.exclusive_start_key.is_none() {
            break;
        }
    }
    Ok(answer)
}

fn judge(read: PlannedRead<'_>, data: &[SampleItem], given: &Given, answers: &[Answer]) -> Trial {
    let sum = |of: fn(&Answer) -> u64| answers.iter().map(of).sum();
    let mut trial = Trial {
        requests: answers.len() as u64,
        pages: answers.iter().map(|answer| answer.pages).max().unwrap_or(0),
        examined: sum(|answer| answer.examined),
        returned: sum(|answer| answer.returned),
        ..Trial::default()
    };
    for consumed in answers.iter().flat_map(|answer| &answer.consumed) {
        trial.consumed.add_consumed(read.model, consumed);
    }
    let found: Vec<Vec<FoundItem>> = answers.iter().map(|answer| locate(read, data, &answer.items)).collect();
    let met: Vec<Vec<FoundItem>> = answers
        .iter()
        .map(|answer| locate(read, data, answer.met.as_ref().unwrap_or(&answer.items)))
        .collect();
    trial.faults = item_faults(read, data, given, &found);
    trial.faults.extend(shape_faults(read, answers, &trial));
    trial.faults.extend(met_fault(read, data, given, &met));
    if trial.faults.is_empty() {
        trial.predicted = predicted(read, data, &met, answers);
        trial.faults = Bill::faults(read.model, &trial.predicted, &trial.consumed);
    }
    trial
}

/// A returned item, and its position in the data if it is there.
struct FoundItem {
    position: Option<usize>,
    values: Values,
}

fn locate(read: PlannedRead<'_>, data: &[SampleItem], items: &[Item]) -> Vec<FoundItem> {
    let table = read.plan.table;
    let locate = |item: &Item| {
        let values = values(item);
        let key = key_of(read.model, table, &values);
        let is_it = |one: &SampleItem| one.table == table && key_of(read.model, table, &one.values) == key;
        FoundItem { position: data.iter().position(is_it), values }
    };
    items.iter().map(locate).collect()
}

fn item_faults(
    read: PlannedRead<'_>,
    data: &[SampleItem],
    given: &Given,
    found: &[Vec<FoundItem>],
) -> Vec<Fault> {
    let wanted = meaning::wanted(read.model, read.read, data, given);
    let name = |found: &FoundItem| name_of(read.model, read.plan.table, &found.values);
    let is_wanted = |found: &&FoundItem| found.position.is_some_and(|position| wanted.contains(&position));
    let unwanted: Vec<String> = found.iter().flatten().filter(|found| !is_wanted(found)).map(name).collect();
    if !unwanted.is_empty() {
        return vec![Fault::Unwanted { items: unwanted }];
    }
    let mut faults: Vec<Fault> = found.iter().filter_map(|found| order_fault(read, data, found)).collect();
    faults.extend(missing_fault(read, data, &wanted, found));
    faults.extend(found.iter().flatten().find_map(|found| attribute_fault(read, data, found)));
    faults
}

/// Below the filter, the keys alone must find what the pattern asks for.
fn met_fault(
    read: PlannedRead<'_>,
    data: &[SampleItem],
    given: &Given,
    met: &[Vec<FoundItem>],
) -> Option<Fault> {
    if read.plan.filter.is_empty() {
        return None;
    }
    let expected = meaning::met(read.model, read.read, &read.plan.filter, data, given);
    let is_expected = |found: &&FoundItem| found.position.is_some_and(|one| expected.contains(&one));
    let strays = met.iter().flatten().filter(|found| !is_expected(found));
    let items: Vec<String> =
        strays.map(|found| name_of(read.model, read.plan.table, &found.values)).collect();
    (!items.is_empty()).then_some(Fault::Unwanted { items })
}

fn limit(read: PlannedRead<'_>) -> usize {
    read.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

/// Each request by itself must return the requested order; a reader can merge sorted results.
fn order_fault(read: PlannedRead<'_>, data: &[SampleItem], found: &[FoundItem]) -> Option<Fault> {
    let items: Vec<&SampleItem> = found.iter().filter_map(|found| data.get(found.position?)).collect();
    let name = |item: &SampleItem| {
        let by = read.read.order.iter().filter_map(|order| {
            Some(format!("{} {}", order.attribute.value, plain_text(&item.get(&order.attribute)?)))
        });
        let by: Vec<String> = by.collect();
        format!("{} ({})", name_of(read.model, item.table, &item.values), by.join(", "))
    };
    items
        .windows(2)
        .find(|pair| meaning::order(read.read, pair[0], pair[1]) == Ordering::Greater)
        .map(|pair| Fault::Order { earlier: name(pair[0]), later: name(pair[1]) })
}

/// With a limit, the first items of the order must be returned; of two equal ones it may be either.
fn missing_fault(
    read: PlannedRead<'_>,
    data: &[SampleItem],
    wanted: &[usize],
    found: &[Vec<FoundItem>],
) -> Option<Fault> {
    let came: Vec<usize> = found.iter().flatten().filter_map(|found| found.position).collect();
    let last = wanted.len().min(limit(read)).checked_sub(1).map(|last| &data[wanted[last]]);
    let first_ones = wanted.iter().take(limit(read));
    let must = first_ones.filter(|position| {
        let ahead = |last: &SampleItem| meaning::order(read.read, &data[**position], last) == Ordering::Less;
        limit(read) >= wanted.len() || last.is_some_and(ahead)
    });
    let mut missing: Vec<String> = must
        .filter(|position| !came.contains(position))
        .map(|position| name_of(read.model, data[*position].table, &data[*position].values))
        .collect();
    let enough = wanted.len().min(limit(read));
    if missing.is_empty() && came.len() < enough {
        let enough_text = counted(enough as u64, "item");
        missing.push(format!("{} of {enough_text}", enough - came.len()));
    }
    (!missing.is_empty()).then_some(Fault::Missing { items: missing })
}

/// An item must have exactly the attributes that the table or index holds.
fn attribute_fault(read: PlannedRead<'_>, data: &[SampleItem], found: &FoundItem) -> Option<Fault> {
    let item = &data.get(found.position?)?.values;
    let table = read.table();
    let held = match read.plan.index {
        Some(index) if !asks_for_more(read) => row(table, index, item)?,
        _ => item.clone(),
    };
    let asked = |name: &str| match read.read.attributes.as_ref().map(|attributes| &attributes.value) {
        None | Some(AttributesRead::All | AttributesRead::Count) => true,
        Some(AttributesRead::Keys) => is_key(read, name),
        Some(AttributesRead::These(names)) => is_key(read, name) || names.iter().any(|one| one.value == name),
    };
    let held: Values = held.into_iter().filter(|(name, _)| asked(name)).collect();
    let names = held.keys().chain(found.values.keys());
    let mut differing: Vec<String> =
        names.filter(|name| held.get(*name) != found.values.get(*name)).cloned().collect();
    differing.retain(|name| name != FILLER);
    differing.sort();
    differing.dedup();
    let item = name_of(read.model, read.plan.table, &found.values);
    (!differing.is_empty()).then_some(Fault::Attributes { item, attributes: differing })
}

fn is_key(read: PlannedRead<'_>, name: &str) -> bool {
    let table = read.table();
    let of_index = read.plan.index.is_some_and(|index| table.index(index).key.names(name));
    of_index || table.key.as_ref().is_some_and(|key| key.names(name))
}

/// A local index fetches the whole item if it is asked for attributes that it does not hold.
fn asks_for_more(read: PlannedRead<'_>) -> bool {
    let index = read.plan.index.map(|index| read.table().index(index));
    let Some(index) = index.filter(|index| index.kind == IndexKind::Local) else { return false };
    let Some(AttributesRead::These(names)) = read.read.attributes.as_ref().map(|one| &one.value) else {
        return false;
    };
    let held = |name: &str| match &index.projection.value {
        Projection::All => true,
        Projection::Keys => false,
        Projection::Include(held) => held.iter().any(|one| one.value == name),
    };
    names.iter().any(|name| !held(name) && !is_key(read, name))
}

/// Requests, pages and items examined.
fn shape_faults(read: PlannedRead<'_>, answers: &[Answer], trial: &Trial) -> Vec<Fault> {
    let mut faults = Vec::new();
    if trial.requests != read.plan.fan_out {
        faults.push(Fault::Requests { planned: read.plan.fan_out, sent: trial.requests });
    }
    let paged = read.read.paged.as_ref().is_some_and(|paged| paged.value);
    if let Some(answer) = answers.iter().find(|answer| answer.pages > 1 && !paged) {
        faults.push(Fault::Pages { expected: 1, read: answer.pages });
    }
    if trial.examined != trial.returned && !read.filters {
        faults.push(Fault::Examined { examined: trial.examined, returned: trial.returned });
    }
    faults
}

fn mode(read: PlannedRead<'_>) -> ReadMode {
    if read.plan.consistent { ReadMode::Strong } else { ReadMode::Eventual }
}

/// The predicted units, from the sizes that the model gives the items met.
fn predicted(read: PlannedRead<'_>, data: &[SampleItem], met: &[Vec<FoundItem>], answers: &[Answer]) -> Bill {
    let mut bill = Bill::default();
    for (met, answer) in met.iter().zip(answers) {
        let items: Vec<&Values> =
            met.iter().filter_map(|found| Some(&data.get(found.position?)?.values)).collect();
        bill.add(read.plan.table, predicted_request(read, &items, answer.returned));
    }
    bill
}

fn predicted_request(read: PlannedRead<'_>, items: &[&Values], returned: u64) -> Units {
    let table = read.table();
    if read.plan.operation == ReadOperation::GetItem {
        return Units::of_table(read_units(items.first().map_or(0, |item| size_bytes(item)), mode(read)));
    }
    let bytes = items.iter().map(|item| match read.plan.index {
        Some(index) => row(table, index, item).map_or(0, |row| size_bytes(&row)),
        None => size_bytes(item),
    });
    let bytes: Vec<usize> = bytes.collect();
    if read.plan.operation == ReadOperation::Scan {
        return Units::of_table(scan_units(bytes.iter().sum(), predict::partitions(table), mode(read)));
    }
    // A filter can make the reader ask for several pages of `limit` items.
    let page = if pages_on(read) { limit(read) } else { usize::MAX };
    let parts = bytes.chunks(page.clamp(1, bytes.len().max(1)));
    let of_part = |part: &[usize]| predict::query(part.iter().copied(), read.limit, mode(read)).units;
    // A full page does not say that it was the last: a reader who still lacks items asks for another, which is empty.
    let asks_once_more = page != usize::MAX && bytes.len().is_multiple_of(page) && returned < page as u64;
    let used = parts.map(of_part).sum::<f64>();
    let used = if bytes.is_empty() || asks_once_more { used + of_part(&[]) } else { used };
    let mut units = Units::of(read.plan.index, used);
    if asks_for_more(read) {
        let fetched = items.iter().map(|item| read_units(size_bytes(item), mode(read)));
        units += Units::of_table(fetched.sum());
    }
    units
}
