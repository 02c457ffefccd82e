//! Lists of access patterns as people write them, and what is read of them.

use model::file;
use model_format::{Import, detect, format, import};
use serde_json::{Value, json};

const ORDERS: &str = "
For an order service, the list looks like this:

| # | Access pattern | Type | Frequency |
|---|---|---|---|
| A1 | Get a customer by ID | Read | High |
| A2 | Get all orders for a customer, newest first | Read | High |
| A3 | Get a single order with its line items | Read | High |
| A4 | List orders in a status (e.g. SHIPPED) for a customer | Read | Medium |
| A5 | Get all open orders across all customers (ops dashboard) | Read | Low |
| A6 | Create order + line items atomically | Write | High |
| A7 | Update order status | Write | 90 per second |
| A8 | Wonder about it | Read | Low |
";

const PLAYERS: &str = "
| Access pattern |
|---|
| Fetch one player's profile by id |
| List a player's recent matches, newest first |
| Show the top N players for a given season, ranked by rating |
| Look up a player by their public handle |
| Get order details by order id |
| List pending orders for a merchant |
";

fn read(text: &str) -> (Import, Value) {
    let found = detect(text).expect("a format");
    assert_eq!(found.name, "markdown");
    let imported = import(found, text).unwrap_or_else(|error| panic!("{}", error.0));
    let document =
        file::to_json(&model::Source::new("model.yaml", imported.text.as_str())).expect("a model file");
    let mut patterns = document["patterns"].clone();
    for pattern in patterns.as_object_mut().expect("patterns").values_mut() {
        pattern.as_object_mut().expect("a pattern").remove("description");
    }
    (imported, patterns)
}

#[test]
fn a_list_of_patterns_becomes_patterns() {
    let (imported, patterns) = read(ORDERS);
    assert_eq!(patterns["A1"], json!({ "get": "Customer", "by": "customerId", "rate": "100/s" }));
    assert_eq!(
        patterns["A2"],
        json!({ "query": "Order", "by": "customerId", "order": "createdAt desc", "rate": "100/s" })
    );
    assert_eq!(patterns["A3"], json!({ "query": ["Order", "LineItem"], "by": "orderId", "rate": "100/s" }));
    assert_eq!(patterns["A4"], json!({ "query": "Order", "by": ["status", "customerId"], "rate": "10/s" }));
    assert_eq!(
        patterns["A5"],
        json!({ "query": "Order", "where": "status = OPEN", "fan-out": "allowed", "rate": "1/s" })
    );
    assert_eq!(
        patterns["A6"],
        json!({ "transact": ["create Order", "create LineItem × 3"], "rate": "100/s" })
    );
    assert_eq!(
        patterns["A7"],
        json!({ "update": "Order", "by": "orderId", "set": "status", "rate": "90/s" })
    );
    assert_eq!(patterns.get("A8"), None);
    let notes = imported.notes.0.join("\n");
    assert!(notes.contains("`A8` is not read") && notes.contains("High for 100/s"), "{notes}");
    assert!(imported.text.contains("is taken for"), "each assumption is in the file");
}

#[test]
fn words_around_the_noun_are_understood() {
    let (_, patterns) = read(PLAYERS);
    assert_eq!(patterns["P1"], json!({ "get": "Player", "by": "playerId" }));
    assert_eq!(patterns["P2"], json!({ "query": "Match", "by": "playerId", "order": "createdAt desc" }));
    assert_eq!(
        patterns["P3"],
        json!({ "query": "Player", "by": "season", "order": "rating desc", "limit": 100 })
    );
    assert_eq!(patterns["P4"], json!({ "get": "Player", "by": "handle" }));
    assert_eq!(patterns["P5"], json!({ "get": "Order", "by": "orderId" }));
    assert_eq!(patterns["P6"], json!({ "query": "Order", "where": "status = PENDING", "by": "merchantId" }));
}

#[test]
fn a_table_of_something_else_is_no_list_of_patterns() {
    assert!(detect("| a | b |\n|---|---|\n| 1 | 2 |\n").is_none());
    let markdown = format("markdown").expect("a format");
    assert!(import(markdown, "| Access pattern |\n|---|\n| Wonder |\n").is_err());
}
