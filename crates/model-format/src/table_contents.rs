//! An existing table as one document. The entities in it are inferred: [`model::learn::table_contents`].

use model::draft::{Draft, Notes, Unreadable};
use model::learn::table_contents::add;
use serde_json::Value;

use crate::{Format, JSON};

pub const FORMAT: Format = Format {
    name: "table-contents",
    title: "the answers of DescribeTable and Scan, merged: `jq -s add describe.json scan.json`",
    syntax: &JSON,
    recognises: |document| document["Table"]["TableName"].is_string(),
    read: Some(read),
    write: None,
    holds: &[],
};

const NO_PATTERNS: &str = "\
Read out of a table, which can't tell what is asked of it. The access patterns are yours to add, each like
patterns: { A1: { get: Customer, by: customerId, rate: 100/s } }";

fn read(document: &Value, notes: &mut Notes) -> Result<Draft, Unreadable> {
    let mut draft = Draft::new(document["Table"]["TableName"].as_str().unwrap_or_default());
    draft.comment = Some(NO_PATTERNS.to_owned());
    add(&mut draft, document, notes)?;
    Ok(draft)
}
