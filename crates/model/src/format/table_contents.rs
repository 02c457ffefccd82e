//! A table as it is: what DescribeTable and Scan answer, in one object (`Table` and `Items`). The entities are
//! inferred from the items; the items themselves are not taken over.

use serde_json::Value;

use super::value::Row;
use super::{Format, JSON, Notes, create_table, draft::Draft, infer};

pub const FORMAT: Format = Format {
    name: "table-contents",
    title: "the answers of DescribeTable and Scan, merged: `jq -s add describe.json scan.json`",
    syntax: &JSON,
    recognises: |document| document["Table"]["TableName"].is_string(),
    read: Some(|document, notes| {
        let table = create_table::section(&document["Table"])?;
        let items = document["Items"].as_array().map(Vec::as_slice).unwrap_or_default();
        let rows: Vec<Row> = items.iter().filter_map(|item| item.as_object().cloned()).collect();
        let mut draft = Draft::new(table.name.as_str());
        for found in infer::entities(&table, &rows) {
            draft.add_entity(&found.name, &table.name, found.fields);
        }
        if rows.is_empty() {
            draft.add_plain_entity(&table);
        }
        tell(document, rows.len(), notes);
        draft.add_table(table);
        Ok(draft)
    }),
    write: None,
    holds: &[],
};

fn tell(document: &Value, rows: usize, notes: &mut Notes) {
    notes.add(format!("entities are inferred from {rows} items, by the words in their keys"));
    if document.get("LastEvaluatedKey").is_some() {
        notes.add("the scan did not reach the end of the table: there may be further entities");
    }
}
