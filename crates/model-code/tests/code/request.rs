//! Single requests as code. The acceptance tests run what comes out; here is what it must look like.

use model_code::request::all;
use serde_json::{Value, json};

fn query() -> Value {
    json!({
        "TableName": "app", "KeyConditionExpression": "PK = :PK",
        "ExpressionAttributeValues": { ":PK": { "S": "it's" } }, "ScanIndexForward": false, "Limit": 20,
    })
}

#[test]
fn a_query_in_a_shell_quotes_what_the_shell_would_take_apart() {
    let code = all("Query", &query());
    assert_eq!(
        code["cli"],
        "aws dynamodb query \\\n    --table-name app \\\n    --key-condition-expression 'PK = :PK' \\\n    \
         --expression-attribute-values '{\":PK\":{\"S\":\"it'\\''s\"}}' \\\n    --no-scan-index-forward \\\n    \
         --page-size 20 --max-items 20"
    );
}

#[test]
fn python_and_javascript_have_their_own_words_for_true_and_for_bytes() {
    let input = json!({ "TableName": "app", "Item": { "flag": { "BOOL": true }, "raw": { "B": "aGk=" } } });
    let code = all("PutItem", &input);
    let python = code["python"].as_str().expect("text");
    assert!(
        python.contains("{\"flag\": {\"BOOL\": True}, \"raw\": {\"B\": b64decode(\"aGk=\")}}"),
        "{python}"
    );
    assert!(python.starts_with("from base64 import b64decode\n"), "{python}");
    let javascript = code["javascript"].as_str().expect("text");
    assert!(javascript.contains("raw: { B: Buffer.from(\"aGk=\", \"base64\") }"), "{javascript}");
}

#[test]
fn rust_sets_one_entry_at_a_time() {
    let code = all("Query", &query());
    let rust = code["rust"].as_str().expect("text");
    for line in [
        "use aws_sdk_dynamodb::types::AttributeValue;",
        "    .query()",
        "    .table_name(\"app\")",
        "    .expression_attribute_values(\":PK\", AttributeValue::S(\"it's\".into()))",
        "    .scan_index_forward(false)",
        "    .limit(20)",
    ] {
        assert!(rust.contains(line), "{line}: {rust}");
    }
}

#[test]
fn what_can_not_be_seen_is_escaped_in_every_language() {
    let input = json!({ "TableName": "app", "Key": { "PK": { "S": "a\u{202e}b\u{0007}" } } });
    let code = all("GetItem", &input);
    for language in ["cli", "python", "javascript", "rust"] {
        let text = code[language].as_str().expect("text");
        assert!(!text.contains('\u{202e}') && !text.contains('\u{0007}'), "{language}: {text}");
    }
}
