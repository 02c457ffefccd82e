//! SARIF 2.1.0, which code hosts show beside the lines of the model file.

use serde_json::{Value, json};

use crate::finding::Rule;
use crate::ledger::{Outcome, Record, TestRun};

/// The report. A finding is at the closest pattern, or at the entity that the item is.
pub fn sarif(outcome: &Outcome) -> Value {
    let rules = Rule::ALL
        .iter()
        .map(|rule| json!({ "id": rule.id(), "shortDescription": { "text": rule.title() } }))
        .collect::<Vec<_>>();
    let results: Vec<Value> = outcome.records().map(|(test, record)| result(test, record)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "lodestone guard",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "results": results,
        }],
    })
}

fn result(test: &TestRun, record: &Record) -> Value {
    let finding = &record.finding;
    let locations: Vec<Value> = finding
        .place
        .iter()
        .map(|place| {
            json!({ "physicalLocation": {
                "artifactLocation": { "uri": place.file },
                "region": { "startLine": place.line },
            } })
        })
        .collect();
    json!({
        "ruleId": finding.rule.id(),
        "level": "error",
        "message": { "text": format!("{} (in: {})", finding.text(), test.title()) },
        "locations": locations,
        "occurrenceCount": record.times,
        "partialFingerprints": { "test": test.name },
    })
}
