//! The log of an import: what DynamoDB sends to CloudWatch for each record that it refuses.

use serde::Serialize;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(rename = "itemS3Pointer")]
    item_s3_pointer: Pointer<'a>,
    import_arn: &'a str,
    error_messages: &'a [&'a str],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Pointer<'a> {
    bucket: &'a str,
    key: &'a str,
    item_index: u64,
}

/// One line of the log, without a line end. `index` counts the records of the object from 0.
pub fn error_log_line(import_arn: &str, bucket: &str, key: &str, index: u64, messages: &[&str]) -> String {
    let item_s3_pointer = Pointer { bucket, key, item_index: index };
    let line = Line { item_s3_pointer, import_arn, error_messages: messages };
    serde_json::to_string(&line).expect("the line holds strings and a number, which all have a form in JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_points_at_the_record_and_says_what_is_wrong() {
        let message = "One or more parameter values were invalid: Missing the key pk in the item";
        let arn = "arn:aws:dynamodb:us-east-1:123456789012:table/T/import/01489602797149-73d8d5bc";
        assert_eq!(
            error_log_line(arn, "b", "in/\"1\".json", 0, &[message]),
            format!(
                r#"{{"itemS3Pointer":{{"bucket":"b","key":"in/\"1\".json","itemIndex":0}},"importArn":"{arn}","errorMessages":["{message}"]}}"#
            )
        );
    }
}
