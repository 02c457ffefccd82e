//! The four red flags: a Scan, a filter that reads much and returns little, several requests where one would do, and a
//! question that is not among the patterns.

use guard::{Figures, Guard, Ledger};
use serde_json::{Value, json};

use crate::support::{findings, guard, rules, settled, texts, verdict};

fn shop() -> Guard {
    guard("shop.yaml", include_str!("shop.yaml"))
}

fn key(partition: &str, sort: &str) -> Value {
    json!({ "PK": { "S": partition }, "SK": { "S": sort } })
}

#[test]
fn a_scan_is_refused_and_the_pattern_that_has_a_key_for_it_is_named() {
    let input = json!({
        "TableName": "shop", "FilterExpression": "email = :e",
        "ExpressionAttributeValues": { ":e": { "S": "a@b.example" } },
    });
    let figures = Figures { units: 12.5, scanned: Some(300), returned: Some(1) };
    let found = settled(&shop(), "Scan", &input, figures);
    assert_eq!(rules(&found), ["scan"]);
    let text = texts(&found);
    assert!(text.contains("Closest is `customer-by-email`"), "{text}");
    assert!(text.contains("It read 300 items to return 1, for 12.5 units."), "{text}");
    assert!(text.contains("ask by a key"), "{text}");
    assert_eq!(found[0].place.as_ref().map(|place| place.file.as_str()), Some("shop.yaml"));
}

#[test]
fn a_filter_that_drops_most_of_what_it_reads_is_wasteful() {
    let input = json!({
        "TableName": "shop",
        "KeyConditionExpression": "PK = :c and begins_with(SK, :o)",
        "FilterExpression": "#s = :s",
        "ScanIndexForward": false,
        "Limit": 20,
        "ExpressionAttributeNames": { "#s": "status" },
        "ExpressionAttributeValues": { ":c": { "S": "CUST#1" }, ":o": { "S": "ORDER#" }, ":s": { "S": "OPEN" } },
    });
    let figures =
        |scanned, returned| Figures { units: 2.0, scanned: Some(scanned), returned: Some(returned) };
    let found = settled(&shop(), "Query", &input, figures(20, 1));
    assert_eq!(rules(&found), ["wasteful-filter"]);
    let text = texts(&found);
    assert!(
        text.contains("Closest is `orders`: it filters by `status`, which drops items after they are read"),
        "{text}"
    );
    assert!(text.contains("It read 20 items to return 1"), "{text}");
    // With few items it is a pattern that is not listed all the same.
    assert_eq!(rules(&settled(&shop(), "Query", &input, figures(2, 1))), ["unknown-pattern"]);
}

#[test]
fn a_question_that_is_not_listed_says_what_to_add() {
    let input = json!({
        "TableName": "shop",
        "KeyConditionExpression": "PK = :c and SK between :from and :to",
        "ExpressionAttributeValues": {
            ":c": { "S": "CUST#1" }, ":from": { "S": "ORDER#2026-01" }, ":to": { "S": "ORDER#2026-02" },
        },
        "ConsistentRead": true,
    });
    let found = findings(&shop(), "Query", &input);
    assert_eq!(rules(&found), ["unknown-pattern"]);
    let text = texts(&found);
    assert!(text.contains("Closest is `orders-since`: it is strongly consistent"), "{text}");
    assert!(
        text.contains(
            "add to `patterns`: query-Order-by-customerId: { query: Order, by: [customerId], where:"
        ),
        "{text}"
    );
}

#[test]
fn reads_of_single_items_in_a_row_are_one_request_too_few() {
    let shop = shop();
    let mut ledger = Ledger::new(3);
    let mut read = |order: &str| {
        let key = key("CUST#1", &format!("ORDER#2026-01-01#{order}"));
        let input = json!({ "TableName": "shop", "Key": key, "ConsistentRead": true });
        let verdict = verdict(&shop, "GetItem", &input);
        ledger.note("", None, &verdict).and_then(|reads| shop.repeated(&verdict, reads))
    };
    assert_eq!((read("a"), read("b"), read("b")), (None, None, None), "the same item is not counted again");
    let found = read("c").expect("three orders, one after the other");
    assert_eq!(found.rule.id(), "repeated-request");
    assert!(found.message.contains("3 requests in a row ask `get-order`"), "{}", found.message);
    assert!(read("d").is_none(), "one row is one finding");
}

#[test]
fn what_comes_between_ends_a_row() {
    let shop = shop();
    let mut ledger = Ledger::new(2);
    let get = |sort: &str| {
        let input = json!({ "TableName": "shop", "Key": key("CUST#1", sort), "ConsistentRead": true });
        verdict(&shop, "GetItem", &input)
    };
    let delete =
        verdict(&shop, "DeleteItem", &json!({ "TableName": "shop", "Key": key("CUST#1", "ORDER#2026#a") }));
    for verdict in [get("ORDER#2026#a"), delete, get("ORDER#2026#b")] {
        assert_eq!(ledger.note("", None, &verdict), None);
    }
}

#[test]
fn more_units_than_the_model_predicts_are_a_finding() {
    let input = json!({ "TableName": "shop", "Key": key("CUST#1", "ORDER#2026#a"), "ConsistentRead": true });
    let units = |units| Figures { units, ..Figures::default() };
    assert_eq!(rules(&settled(&shop(), "GetItem", &input, units(1.0))), [""; 0]);
    let found = settled(&shop(), "GetItem", &input, units(25.0));
    assert_eq!(rules(&found), ["units"]);
    assert!(
        found[0].message.contains("used 25 units. By the model it uses at most 1.0"),
        "{}",
        found[0].message
    );
}
