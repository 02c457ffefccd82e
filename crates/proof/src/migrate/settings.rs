//! Settings of a table that a migration changes: which requests a step becomes.

use model::migrate::{Layout, Setting};
use model::model::{Model, Table};
use serde_json::json;

use crate::apply::{State, TableChange, changes};

/// Settings that no request of DynamoDB's makes so, or that another service has.
pub fn is_by_hand(setting: &Setting) -> bool {
    let scales = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains("target"));
    matches!(setting.setting.as_str(), "replicas" | "encryption")
        || matches!(setting.setting.as_str(), "read" | "write")
            && (scales(&setting.is) || scales(&setting.was))
}

/// The name of the table; a setting may be one of its index `GSI1 of app-main`.
pub fn table_name(setting: &Setting) -> &str {
    setting.table.rsplit(" of ").next().unwrap_or_default()
}

/// The requests after which the table has this one setting as the target has it, or the old model, on the way back.
pub fn requests(layout: &Layout, setting: &Setting, back: bool, state: &State) -> Vec<TableChange> {
    let (from, to) = if back { (&layout.target, &layout.old) } else { (&layout.old, &layout.target) };
    let (Some(from), Some(to)) = (table(from, setting), table(to, setting)) else { return Vec::new() };
    let mut requests = Vec::new();
    requests.extend(switched_off(to, setting, state));
    let without = changes(from, Some(state), false).unwrap_or_default().changes;
    let with = changes(&with_setting(from, to, setting), Some(state), false).unwrap_or_default().changes;
    requests.extend(with.into_iter().filter(|change| !without.contains(change)));
    requests
}

fn table<'m>(model: &'m Model, setting: &Setting) -> Option<&'m Table> {
    model.tables.iter().find(|table| table.name.value == table_name(setting))
}

fn with_setting(from: &Table, to: &Table, setting: &Setting) -> Table {
    let mut table = from.clone();
    match setting.setting.as_str() {
        "pitr" => table.pitr.clone_from(&to.pitr),
        "deletion-protection" => table.deletion_protection.clone_from(&to.deletion_protection),
        "stream" => table.stream.clone_from(&to.stream),
        "class" => table.class = to.class,
        "ttl" => table.ttl.clone_from(&to.ttl),
        // Provisioned tables have units, and so have their indexes.
        "billing" | "read" | "write" => {
            table.billing = to.billing.clone();
            table.throughput = to.throughput.clone();
            for index in &mut table.indexes {
                if let Some(other) = to.index_named(&index.name) {
                    index.throughput = to.index(other).throughput.clone();
                }
            }
        }
        _ => {}
    }
    table
}

/// What a model does not name is left as it is when it is applied; here it was named, and is no more.
fn switched_off(to: &Table, setting: &Setting, state: &State) -> Option<TableChange> {
    let name = to.name.value.as_str();
    let change = |what: &str, operation, input| TableChange { what: what.to_owned(), operation, input };
    match setting.setting.as_str() {
        "stream" if to.stream.is_none() && state.table["StreamSpecification"]["StreamEnabled"] == true => {
            let off = json!({ "TableName": name, "StreamSpecification": { "StreamEnabled": false } });
            Some(change("stream off", "UpdateTable", off))
        }
        "pitr" if to.pitr.is_none() && state.pitr == Some(true) => {
            let off = json!({ "PointInTimeRecoveryEnabled": false });
            let input = json!({ "TableName": name, "PointInTimeRecoverySpecification": off });
            Some(change("point-in-time recovery off", "UpdateContinuousBackups", input))
        }
        "deletion-protection"
            if to.deletion_protection.is_none() && state.table["DeletionProtectionEnabled"] == true =>
        {
            let off = json!({ "TableName": name, "DeletionProtectionEnabled": false });
            Some(change("deletion protection off", "UpdateTable", off))
        }
        "ttl" => {
            let attribute =
                state.ttl.as_ref().filter(|now| Some(*now) != to.ttl.as_ref().map(|ttl| &ttl.value))?;
            let off = json!({ "Enabled": false, "AttributeName": attribute });
            let input = json!({ "TableName": name, "TimeToLiveSpecification": off });
            Some(change("time to live off", "UpdateTimeToLive", input))
        }
        _ => None,
    }
}
