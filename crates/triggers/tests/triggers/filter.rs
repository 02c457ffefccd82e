//! Filter patterns: what they match and which are refused.

use serde_json::{Value, json};
use triggers::{Filters, Pattern};

fn shipped() -> Value {
    json!({
        "eventName": "MODIFY",
        "dynamodb": {
            "ApproximateCreationDateTime": 1678831218.0,
            "Keys": {"pk": {"S": "ORDER#7"}},
            "NewImage": {
                "pk": {"S": "ORDER#7"},
                "status": {"S": "SHIPPED"},
                "total": {"N": "101"},
                "paid": {"BOOL": true},
                "note": {"NULL": true},
                "tags": {"SS": ["red", "blue"]},
                "lines": {"L": [{"S": "pen"}, {"N": "3"}]},
                "empty": {"S": ""},
                "address": {"M": {"city": {"S": "Bern"}}},
            },
            "SizeBytes": 26,
        },
        "userIdentity": null,
    })
}

fn removed() -> Value {
    json!({"eventName": "REMOVE", "dynamodb": {"Keys": {"pk": {"S": "ORDER#7"}}},
           "userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"}})
}

fn matches(pattern: &Value, record: &Value) -> bool {
    Pattern::parse(&pattern.to_string()).unwrap_or_else(|_| panic!("{pattern}")).matches(record)
}

/// A pattern for one attribute of the new image.
fn of(attribute: &str, rules: Value) -> Value {
    json!({"dynamodb": {"NewImage": {attribute: rules}}})
}

#[track_caller]
fn check(attribute: &str, rules: Value, expected: bool) {
    let pattern = of(attribute, rules);
    assert_eq!(matches(&pattern, &shipped()), expected, "{pattern}");
}

#[test]
fn a_field_equals_one_of_the_alternatives() {
    check("status", json!({"S": ["PAID", "SHIPPED"]}), true);
    check("status", json!({"S": ["shipped"]}), false);
    check("paid", json!({"BOOL": [true]}), true);
    check("paid", json!({"BOOL": ["true"]}), false);
    check("empty", json!({"S": [""]}), true);
    check("absent", json!({"S": [""]}), false);
    assert!(matches(&json!({"userIdentity": [null]}), &shipped()));
    assert!(!matches(&json!({"userIdentity": {"type": ["Service"]}}), &shipped()));
    assert!(matches(&json!({"userIdentity": {"type": ["Service"]}}), &removed()));
}

#[test]
fn every_named_field_must_match_and_others_do_not_matter() {
    let both = json!({"eventName": ["MODIFY"], "dynamodb": {"NewImage": {"status": {"S": ["SHIPPED"]}}}});
    assert!(matches(&both, &shipped()));
    let other = json!({"eventName": ["INSERT"], "dynamodb": {"NewImage": {"status": {"S": ["SHIPPED"]}}}});
    assert!(!matches(&other, &shipped()));
    assert!(!matches(&both, &removed()));
}

#[test]
fn strings_match_by_their_beginning_their_end_and_without_case() {
    check("pk", json!({"S": [{"prefix": "ORDER#"}]}), true);
    check("pk", json!({"S": [{"prefix": "order#"}]}), false);
    check("pk", json!({"S": [{"suffix": "#7"}]}), true);
    check("status", json!({"S": [{"equals-ignore-case": "Shipped"}]}), true);
    check("total", json!({"N": [{"prefix": "10"}]}), true);
    check("paid", json!({"BOOL": [{"prefix": "t"}]}), false);
}

#[test]
fn anything_but_needs_the_field_to_be_there() {
    check("status", json!({"S": [{"anything-but": ["PAID"]}]}), true);
    check("status", json!({"S": [{"anything-but": "SHIPPED"}]}), false);
    check("absent", json!({"S": [{"anything-but": ["PAID"]}]}), false);
    let size = json!({"dynamodb": {"SizeBytes": [{"anything-but": [25, 27]}]}});
    assert!(matches(&size, &shipped()));
}

#[test]
fn numeric_compares_json_numbers_and_no_attribute_is_one() {
    let size = |rule: Value| json!({"dynamodb": {"SizeBytes": [{"numeric": rule}]}});
    for (rule, expected) in [
        (json!(["=", 26]), true),
        (json!([">", 26]), false),
        (json!([">=", 26, "<", 27]), true),
        (json!([">", 0, "<=", 25.5]), false),
        (json!(["<", 30]), true),
    ] {
        assert_eq!(matches(&size(rule.clone()), &shipped()), expected, "{rule}");
    }
    check("total", json!({"N": [{"numeric": [">", 0]}]}), false);
    check("total", json!({"N": ["101"]}), true);
    check("total", json!({"N": [101]}), false);
}

#[test]
fn numbers_are_equal_by_their_spelling() {
    assert!(matches(&json!({"dynamodb": {"SizeBytes": [26]}}), &shipped()));
    assert!(!matches(&json!({"dynamodb": {"SizeBytes": [26.0]}}), &shipped()));
}

#[test]
fn exists_sees_leaves_alone() {
    check("status", json!({"S": [{"exists": true}]}), true);
    check("status", json!({"N": [{"exists": false}]}), true);
    check("absent", json!({"S": [{"exists": false}]}), true);
    check("absent", json!({"S": [{"exists": true}]}), false);
    check("status", json!([{"exists": true}]), false);
    // Also where a parent is missing.
    assert!(matches(&of("status", json!({"S": [{"exists": false}]})), &removed()));
    assert!(!matches(&of("status", json!({"S": [{"exists": true}]})), &removed()));
}

#[test]
fn sets_and_lists_match_if_one_element_does() {
    check("tags", json!({"SS": ["blue"]}), true);
    check("tags", json!({"SS": ["green"]}), false);
    check("lines", json!({"L": {"S": ["pen"]}}), true);
    check("lines", json!({"L": {"S": ["ink"]}}), false);
    check("address", json!({"M": {"city": {"S": [{"prefix": "B"}]}}}), true);
}

#[test]
fn or_takes_any_branch_beside_the_other_fields() {
    let pattern = |name: &str| {
        json!({"eventName": [name], "$or": [{"dynamodb": {"SizeBytes": [1]}},
                                            {"dynamodb": {"SizeBytes": [26]}}]})
    };
    assert!(matches(&pattern("MODIFY"), &shipped()));
    assert!(!matches(&pattern("INSERT"), &shipped()));
    assert!(!matches(&pattern("REMOVE"), &removed()));
}

#[test]
fn a_record_passes_if_any_filter_lets_it_pass() {
    let filters = Filters::parse([r#"{"eventName": ["INSERT"]}"#, r#"{"eventName": ["REMOVE"]}"#]);
    let filters = filters.expect("two patterns");
    assert!(filters.pass(&removed()) && !filters.pass(&shipped()));
    assert!(Filters::default().pass(&shipped()));
}

#[test]
fn of_two_fields_with_one_name_the_later_counts() {
    let pattern = Pattern::parse(r#"{"eventName": ["INSERT"], "eventName": ["REMOVE"]}"#);
    assert!(pattern.expect("a pattern").matches(&removed()));
}

#[test]
fn patterns_that_mean_nothing_are_refused() {
    for text in [
        "",
        "{",
        "[]",
        "{}",
        r#""INSERT""#,
        r#"{"eventName": "INSERT"}"#,
        r#"{"eventName": []}"#,
        r#"{"eventName": {}}"#,
        r#"{"eventName": [[]]}"#,
        r#"{"eventName": [{}]}"#,
        r#"{"eventName": [{"prefix": 1}]}"#,
        r#"{"eventName": [{"starts": "I"}]}"#,
        r#"{"eventName": [{"prefix": "I", "suffix": "T"}]}"#,
        r#"{"eventName": [{"anything-but": []}]}"#,
        r#"{"eventName": [{"anything-but": ["a", 1]}]}"#,
        r#"{"eventName": [{"anything-but": {"prefix": "I"}}]}"#,
        r#"{"eventName": [{"exists": "true"}]}"#,
        r#"{"a": [{"numeric": [">"]}]}"#,
        r#"{"a": [{"numeric": []}]}"#,
        r#"{"a": [{"numeric": ["!", 1]}]}"#,
        r#"{"a": [{"numeric": [">", 5000000001]}]}"#,
        r#"{"a": [{"numeric": ["<", 1, ">", 0]}]}"#,
        r#"{"a": [{"numeric": [">", 2, "<", 1]}]}"#,
        r#"{"$or": []}"#,
        r#"{"$or": [["a"]]}"#,
    ] {
        let error = Pattern::parse(text).expect_err(text);
        assert_eq!(error.to_string(), "Invalid filter pattern definition.");
    }
    let deep = "{\"a\":".repeat(500) + "[1]" + &"}".repeat(500);
    Pattern::parse(&deep).expect_err("deeper than any record");
}
