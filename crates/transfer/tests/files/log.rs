//! The lines of an import's error log.

use transfer::Format;
use transfer::import::{Pointer, bulk_error_line, condition_failure_line, error_log_line};

const POINTER: &str = r#"{"bucket":"b","key":"in/\"1\".json","itemIndex":0}"#;

#[test]
fn a_line_points_at_the_record_and_says_what_is_wrong() {
    let message = "One or more parameter values were invalid: Missing the key pk in the item";
    let arn = "arn:aws:dynamodb:us-east-1:123456789012:table/T/import/01489602797149-73d8d5bc";
    let pointer = Pointer::new("b", "in/\"1\".json", 0);
    assert_eq!(
        error_log_line(arn, pointer, &[message]),
        format!(r#"{{"itemS3Pointer":{POINTER},"importArn":"{arn}","errorMessages":["{message}"]}}"#)
    );
    assert_eq!(
        bulk_error_line(arn, pointer, &[message]),
        format!(r#"{{"itemS3Pointer":{POINTER},"bulkOperationArn":"{arn}","errorMessages":["{message}"]}}"#)
    );
}

#[test]
fn the_line_of_a_failed_condition_has_both_items() {
    let item = |json: &str| Format::DynamodbJson.read_put(json.as_bytes()).unwrap().item;
    let (new, old) = (item(r#"{"Item":{"p":{"S":"new"}}}"#), item(r#"{"Item":{"p":{"S":"old"}}}"#));
    let pointer = Pointer::new("b", "in/\"1\".json", 0);
    assert_eq!(
        condition_failure_line("arn", pointer, new.as_ref(), Some(&old)),
        format!(
            r#"{{"itemS3Pointer":{POINTER},"bulkOperationArn":"arn","Item":{{"p":{{"S":"new"}}}},"ExistingItem":{{"p":{{"S":"old"}}}}}}"#
        )
    );
}
