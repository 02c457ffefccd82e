//! An existing table: the answers of DescribeTable and Scan in one object (`Table` and `Items`), and those of
//! DescribeTimeToLive, DescribeContinuousBackups and ListTagsOfResource, if they are there. Entities, sizes and
//! counts are inferred from the items; the items themselves are not taken over.

use item::json::{Jiter, read_item};
use serde_json::{Map, Value, json};

use super::infer;
use crate::draft::{Draft, Notes, Unreadable};
use crate::dynamodb_json::Row;
use crate::sample::FILLER;
use crate::table_shape::{TableSection, section};

/// Adds the table and its entities to a model.
pub fn add(draft: &mut Draft, document: &Value, notes: &mut Notes) -> Result<(), Unreadable> {
    let mut table = section(&as_created(document, notes))?;
    let items: Vec<&Row> =
        document["Items"].as_array().into_iter().flatten().filter_map(Value::as_object).collect();
    let rows: Vec<Row> = items.iter().map(|item| without_filler(item)).collect();
    for found in infer::entities(&table, &rows) {
        let mut fields = found.fields;
        fields.insert("size".to_owned(), size(found.rows.iter().map(|position| items[*position])));
        fields.insert("count".to_owned(), count(document, &found.rows, rows.len()).into());
        let name = draft.add_entity(&found.name, &table.name, fields);
        if found.rows.iter().all(|position| *position >= sample_size(document, rows.len())) {
            notes.add(format!(
                "{name} was not in the sample, but found by a further search: its count is a guess"
            ));
        }
    }
    if rows.is_empty() {
        let entity = draft.add_plain_entity(&table);
        draft.describe_entity(&entity, counted(document));
    }
    put_settings(document, &mut table);
    tell(document, rows.len(), notes);
    draft.add_table(table);
    Ok(())
}

/// Removes the filler of sample items, which has no meaning.
fn without_filler(item: &Row) -> Row {
    let kept = item.iter().filter(|(name, _)| *name != FILLER);
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// DescribeTable's answer with the member names of CreateTable.
fn as_created(document: &Value, notes: &mut Notes) -> Value {
    let mut table = document["Table"].clone();
    let described = |path: &str| document["Table"].pointer(path).filter(|value| !value.is_null()).cloned();
    if let Some(mode) = described("/BillingModeSummary/BillingMode") {
        table["BillingMode"] = mode;
    }
    if let Some(class) = described("/TableClassSummary/TableClass") {
        table["TableClass"] = class;
    }
    if described("/SSEDescription/Status").is_some_and(|status| status == "ENABLED") {
        table["SSESpecification"] = json!({ "Enabled": true });
        notes.add("encrypted with a key of AWS KMS; whether it is customer-managed is not known");
    }
    if document["Tags"].is_array() {
        table["Tags"] = document["Tags"].clone();
    }
    table
}

fn put_settings(document: &Value, table: &mut TableSection) {
    let ttl = &document["TimeToLiveDescription"];
    let expires = matches!(ttl["TimeToLiveStatus"].as_str(), Some("ENABLED" | "ENABLING"));
    if let Some(attribute) = ttl["AttributeName"].as_str().filter(|_| expires) {
        table.fields.insert("ttl".to_owned(), attribute.into());
    }
    let home = document["Table"]["TableArn"].as_str().and_then(|arn| arn.split(':').nth(3));
    let replicas = document["Table"]["Replicas"].as_array().into_iter().flatten();
    let replicas = replicas.filter_map(|replica| replica["RegionName"].as_str());
    let replicas: Vec<&str> = replicas.filter(|region| Some(*region) != home).collect();
    if !replicas.is_empty() {
        table.fields.insert("replicas".to_owned(), replicas.into());
    }
    let recovery = &document["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
    if let Some(status) = recovery["PointInTimeRecoveryStatus"].as_str() {
        table.fields.insert("pitr".to_owned(), (status == "ENABLED").into());
    }
}

/// How many items the table has and how large they are, as it says itself.
fn counted(document: &Value) -> Map<String, Value> {
    let number = |name: &str| document["Table"][name].as_u64().filter(|number| *number > 0);
    let (items, bytes) = (number("ItemCount"), number("TableSizeBytes"));
    let size = items.zip(bytes).map(|(items, bytes)| format!("{} B", bytes.div_ceil(items)));
    let count = items.map(|items| ("count".to_owned(), items.into()));
    count.into_iter().chain(size.map(|size| ("size".to_owned(), size.into()))).collect()
}

/// The mean, and the maximum if it is much larger.
fn size<'i>(items: impl Iterator<Item = &'i Row>) -> Value {
    let sizes: Vec<usize> = items.filter_map(size_bytes).collect();
    let mean = sizes.iter().sum::<usize>().div_ceil(sizes.len().max(1)).max(1);
    let largest = sizes.into_iter().max().unwrap_or(mean);
    match largest > 2 * mean {
        true => json!({ "typical": format!("{mean} B"), "max": format!("{largest} B") }),
        false => format!("{mean} B").into(),
    }
}

fn size_bytes(item: &Row) -> Option<usize> {
    let text = serde_json::to_vec(item).ok()?;
    let read = read_item(&mut Jiter::new(&text));
    read.ok()?.ok().map(|item| item.size_bytes())
}

/// Scaled up to the whole table, if its number of items is known. AWS counts them every six hours.
fn count(document: &Value, of_kind: &[usize], rows: usize) -> u64 {
    let sampled = sample_size(document, rows);
    let all = document["Table"]["ItemCount"].as_u64().unwrap_or(0);
    let all = if is_whole(document) { sampled as u64 } else { all.max(sampled as u64) };
    let share = match of_kind.iter().filter(|position| **position < sampled).count() {
        0 => of_kind.len() as f64 / rows.max(1) as f64,
        of_kind => of_kind as f64 / sampled as f64,
    };
    (all as f64 * share).round().max(1.0) as u64
}

/// Only the first items are a fair sample; those after them were searched for.
fn sample_size(document: &Value, rows: usize) -> usize {
    let declared = document["SampleSize"].as_u64().and_then(|size| usize::try_from(size).ok());
    declared.unwrap_or(rows).clamp(1.min(rows), rows)
}

fn is_whole(document: &Value) -> bool {
    document.get("LastEvaluatedKey").is_none()
}

fn tell(document: &Value, rows: usize, notes: &mut Notes) {
    match rows {
        0 => notes.add("there are no items, so one entity represents all"),
        rows => notes.add(format!("entities are inferred from {rows} items, by the words in their keys")),
    }
    let others = ["TimeToLiveDescription", "ContinuousBackupsDescription", "Tags"];
    if others.iter().all(|answer| document.get(answer).is_none()) {
        notes.add("DescribeTable does not say what expires, whether there is point-in-time recovery, and which tags there are: add them");
    }
    if !is_whole(document) {
        notes.add("the scan did not reach the end of the table: there may be further entities");
    }
}
