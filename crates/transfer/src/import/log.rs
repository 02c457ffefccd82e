//! What is reported of single records: by an import what DynamoDB sends to CloudWatch for each record that it
//! refuses, by a bulk put the lines of its output.

use item::{Item, ItemRef};
use serde::Serialize;

/// Which record of which object is meant.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pointer<'a> {
    bucket: &'a str,
    key: &'a str,
    item_index: u64,
}

impl<'a> Pointer<'a> {
    /// `index` counts the records of the object from 0.
    pub fn new(bucket: &'a str, key: &'a str, index: u64) -> Pointer<'a> {
        Pointer { bucket, key, item_index: index }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(rename = "itemS3Pointer")]
    item_s3_pointer: Pointer<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    import_arn: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bulk_operation_arn: Option<&'a str>,
    error_messages: &'a [&'a str],
}

/// One line of an import's log, without a line end.
pub fn error_log_line(import_arn: &str, pointer: Pointer<'_>, messages: &[&str]) -> String {
    json(&Line {
        item_s3_pointer: pointer,
        import_arn: Some(import_arn),
        bulk_operation_arn: None,
        error_messages: messages,
    })
}

/// One line of a bulk put's ERROR output, without a line end.
pub fn bulk_error_line(bulk_operation_arn: &str, pointer: Pointer<'_>, messages: &[&str]) -> String {
    json(&Line {
        item_s3_pointer: pointer,
        import_arn: None,
        bulk_operation_arn: Some(bulk_operation_arn),
        error_messages: messages,
    })
}

/// One line of a bulk put's CONDITION_CHECK_FAILURE output, without a line end: the item that was to be put, and the
/// one that is there.
pub fn condition_failure_line(
    bulk_operation_arn: &str,
    pointer: Pointer<'_>,
    item: ItemRef<'_>,
    existing: Option<&Item>,
) -> String {
    let mut line = format!(
        "{{\"itemS3Pointer\":{},\"bulkOperationArn\":{},\"Item\":",
        json(&pointer),
        json(&bulk_operation_arn)
    )
    .into_bytes();
    item::json::write_item(item, &mut line);
    if let Some(existing) = existing {
        line.extend_from_slice(b",\"ExistingItem\":");
        item::json::write_item(existing.as_ref(), &mut line);
    }
    line.push(b'}');
    String::from_utf8(line).expect("JSON is UTF-8")
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("strings and numbers all have a form in JSON")
}
