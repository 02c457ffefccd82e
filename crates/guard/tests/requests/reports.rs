//! Reports of what was found, by test.

use guard::report::Format;
use guard::{Guard, Ledger};
use serde_json::{Value, json};

use crate::support::{findings, guard};

fn shop() -> Guard {
    guard("shop.yaml", include_str!("shop.yaml"))
}

/// One test with a Scan that is met twice, one without a finding, and a Scan outside of tests.
fn ledger() -> Ledger {
    let (shop, scan) = (shop(), json!({ "TableName": "shop" }));
    let mut ledger = Ledger::new(0);
    ledger.record("1", None, findings(&shop, "Scan", &scan));
    ledger.begin("1", "lists <orders> & \"more\"");
    for _ in 0..2 {
        ledger.record("1", None, findings(&shop, "Scan", &scan));
    }
    assert_eq!(ledger.end("1").map(|test| test.records.len()), Some(1));
    ledger.begin("", "a clean test");
    ledger.end("");
    ledger
}

#[test]
fn junit_has_a_case_for_each_test() {
    let xml = Format::Junit.print(&ledger().outcome());
    assert!(xml.contains("<testsuites name=\"lodestone guard\" tests=\"3\" failures=\"2\""), "{xml}");
    assert!(xml.contains("name=\"lists &lt;orders&gt; &amp; &quot;more&quot;\""), "{xml}");
    assert!(xml.contains("name=\"a clean test\"/>"), "{xml}");
    assert!(xml.contains("[scan] 2 times"), "{xml}");
}

#[test]
fn sarif_has_the_line_of_the_closest_pattern() {
    let sarif: Value = serde_json::from_str(&Format::Sarif.print(&ledger().outcome())).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!(results[0]["ruleId"], "scan");
    assert_eq!(results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "shop.yaml");
    assert_eq!(results[0]["occurrenceCount"], 2);
}

#[test]
fn markdown_and_json_have_every_finding() {
    let outcome = ledger().outcome();
    let markdown = Format::Markdown.print(&outcome);
    assert!(markdown.contains("2 findings in 0 requests of 2 tests."), "{markdown}");
    assert!(markdown.contains("| outside of tests | scan | 1 |"), "{markdown}");
    let json: Value = serde_json::from_str(&Format::Json.print(&outcome)).unwrap();
    assert_eq!(json["tests"][0]["findings"][0]["times"], 2);
}

#[test]
fn a_pause_is_of_one_account_and_a_test_of_its_own_account_comes_first() {
    let mut ledger = Ledger::new(0);
    ledger.begin("", "of all");
    ledger.begin("1", "of one");
    ledger.pause("1", true);
    assert!(ledger.is_paused("1") && !ledger.is_paused("2"));
    ledger.pause("1", false);
    let found = findings(&shop(), "Scan", &json!({ "TableName": "shop" }));
    ledger.record("1", None, found.clone());
    ledger.record("2", None, found.clone());
    ledger.record("2", Some("named by the request"), found);
    assert_eq!(ledger.end("1").map(|test| (test.name, test.records.len())), Some(("of one".to_owned(), 1)));
    assert_eq!(ledger.end("").map(|test| (test.name, test.records.len())), Some(("of all".to_owned(), 1)));
    assert_eq!(ledger.end(""), None);
    assert_eq!(ledger.outcome().tests[0].name, "named by the request");
}
