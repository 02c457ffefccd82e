//! A running table, by what DescribeTable and Scan say of it.

use serde_json::json;

use super::support::import;

#[test]
fn entities_are_inferred_from_the_words_in_keys() {
    let key = |name: &str, role: &str| json!({ "AttributeName": name, "KeyType": role });
    let order = |customer: &str, at: &str, line: &str| {
        json!({
            "PK": { "S": format!("CUST#{customer}") },
            "SK": { "S": format!("ORDER#{}#{line:0>4}", &at[..10]) },
            "createdAt": { "S": at }, "line": { "N": line }, "customerId": { "S": customer },
        })
    };
    let document = json!({
        "Table": {
            "TableName": "shop",
            "KeySchema": [key("PK", "HASH"), key("SK", "RANGE")],
            "BillingModeSummary": { "BillingMode": "PAY_PER_REQUEST" },
            "ProvisionedThroughput": { "ReadCapacityUnits": 0, "WriteCapacityUnits": 0 },
        },
        "Items": [
            { "PK": { "S": "CUST#a1" }, "SK": { "S": "PROFILE" }, "customerId": { "S": "a1" } },
            order("a1", "2026-06-03T10:00:00Z", "7"),
            order("b2", "2026-06-04T10:00:00Z", "12"),
        ],
        "LastEvaluatedKey": {},
    });
    let import = import("table-contents", &document);
    let keys = import.model.entities.iter().map(|entity| {
        let templates: Vec<String> = entity.key_templates().map(ToString::to_string).collect();
        (entity.name.value.clone(), templates.join(" "))
    });
    let expected = [
        ("Cust".to_owned(), "CUST#{customerId} PROFILE".to_owned()),
        ("Order".to_owned(), "CUST#{customerId} ORDER#{day(createdAt)}#{line:04}".to_owned()),
    ];
    assert_eq!(keys.collect::<Vec<_>>(), expected);
    assert!(import.notes.0.iter().any(|note| note.contains("did not reach the end")), "{:?}", import.notes);
}
