//! `AWS::DynamoDB::Table`: CreateTable's members, a few of them under other names, and some further settings.

use model::model::{Encryption, Table};
use model::table_shape::{self, TableSection};
use serde_json::{Value, json};

use super::{Template, put};
use crate::Unreadable;

/// `properties` have been resolved.
pub fn section(name: &str, properties: &Value) -> Result<TableSection, Unreadable> {
    let mut shape = properties.clone();
    put(&mut shape, &["TableName"], name.into());
    let mut section = table_shape::section(&encryption_renamed(shape))?;
    put_settings(&mut section, properties);
    Ok(section)
}

pub fn encryption_renamed(mut shape: Value) -> Value {
    if let Some(enabled) = shape["SSESpecification"].get("SSEEnabled").cloned() {
        put(&mut shape, &["SSESpecification", "Enabled"], enabled);
    }
    shape
}

/// Settings that CreateTable does not have.
pub fn put_settings(section: &mut TableSection, properties: &Value) {
    let ttl = &properties["TimeToLiveSpecification"];
    if let Some(attribute) = ttl["AttributeName"].as_str().filter(|_| ttl["Enabled"] != false) {
        section.fields.insert("ttl".to_owned(), attribute.into());
    }
    let recovery = &properties["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"];
    if let Some(enabled) = recovery.as_bool() {
        section.fields.insert("pitr".to_owned(), enabled.into());
    }
}

pub fn properties(template: &mut Template<'_>, table: &Table, mut shape: Value) -> Value {
    if let Some(view) = &table.stream {
        shape["StreamSpecification"] = json!({ "StreamViewType": view.api_name() });
    }
    if table.encryption != Encryption::AwsOwned {
        shape["SSESpecification"] = json!({ "SSEEnabled": true, "SSEType": "KMS" });
    }
    if table.encryption == Encryption::CustomerManaged {
        shape["SSESpecification"]["KMSMasterKeyId"] = template.key_parameter(None);
    }
    if let Some(ttl) = &table.ttl {
        shape["TimeToLiveSpecification"] = time_to_live(ttl);
    }
    if let Some(pitr) = &table.pitr {
        shape["PointInTimeRecoverySpecification"] = json!({ "PointInTimeRecoveryEnabled": pitr.value });
    }
    shape
}

pub fn time_to_live(attribute: &str) -> Value {
    json!({ "AttributeName": attribute, "Enabled": true })
}
