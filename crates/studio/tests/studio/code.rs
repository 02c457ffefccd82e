//! A request as code, for the page.

use serde_json::json;

use crate::support::desk;

#[tokio::test]
async fn the_page_gets_a_request_in_every_language() {
    let input = json!({ "TableName": "app", "Key": { "PK": { "S": "it's" } } });
    let code = desk().await.ask("request/code", &json!({ "operation": "GetItem", "input": input })).await;
    for (language, call) in [
        ("cli", "aws dynamodb get-item \\\n    --table-name app"),
        ("python", "dynamodb.get_item(\n    TableName=\"app\""),
        ("javascript", "new GetItemCommand({\n        TableName: \"app\""),
        ("rust", ".get_item()\n    .table_name(\"app\")"),
    ] {
        let text = code[language].as_str().expect("text");
        assert!(text.contains(call), "{language}: {text}");
    }
}
