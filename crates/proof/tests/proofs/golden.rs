//! Mistakes of well-known guides that only show when the model runs. Rules find them too, each at its own line:
//! the `model` crate tests that on the same files.

use std::path::Path;

use model::{Source, file};
use proof::{Certificate, prove};

fn certificate(name: &str) -> Certificate {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/workbench/golden").join(name);
    let source = Source::new(name, std::fs::read_to_string(path).expect("the model is there"));
    prove(&file::read(&source).model.expect("it is a model"))
}

/// The kinds of failure of a pattern, or of the data.
fn kinds(certificate: &Certificate, pattern: &str) -> Vec<&'static str> {
    let proof = certificate.patterns.iter().find(|proof| proof.pattern == pattern);
    let findings = proof.map_or(&certificate.findings, |proof| &proof.findings);
    findings.iter().map(|finding| finding.fault.name()).collect()
}

#[test]
fn t3_the_order_is_not_among_its_lines() {
    let certificate = certificate("t3-order-without-its-head.yaml");
    assert!(kinds(&certificate, "A3").contains(&"plan"), "{}", certificate.failures());
    assert!(kinds(&certificate, "pay").contains(&"plan"));
}

#[test]
fn t4_one_row_overwrites_the_other() {
    let certificate = certificate("t4-one-player-two-rows.yaml");
    assert!(kinds(&certificate, "data").contains(&"key-collision"));
    assert!(kinds(&certificate, "ranking").contains(&"missing-items"), "{}", certificate.failures());
    assert!(!kinds(&certificate, "by-handle").contains(&"missing-items"), "the later row is there");
}

#[test]
fn t5_ratings_come_in_the_wrong_order() {
    let certificate = certificate("t5-unpadded-rating.yaml");
    let orders = certificate.patterns.iter().flat_map(|pattern| &pattern.findings);
    assert!(orders.into_iter().any(|finding| finding.fault.name() == "order"), "{}", certificate.failures());
}

#[test]
fn t6_matches_of_one_hour_overwrite_each_other() {
    let certificate = certificate("t6-matches-of-one-hour.yaml");
    assert!(kinds(&certificate, "data").contains(&"key-collision"), "{}", certificate.failures());
    assert!(
        kinds(&certificate, "recent").contains(&"missing-items")
            || kinds(&certificate, "recent").contains(&"attributes")
    );
}

#[test]
fn t7_two_designs_of_one_order_need_two_requests() {
    let certificate = certificate("t7-two-designs-of-one-order.yaml");
    assert!(kinds(&certificate, "details").contains(&"plan"), "{}", certificate.failures());
}
