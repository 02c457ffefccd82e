//! The gate by hand: two versions of a small model, and what differs between them.

use model::cost::CostSettings;
use model::facts::Facts;
use model::file::{self, Reading};
use model::gate::{
    Comparison, CostLimit, Failure, FailureKind, GeneratedCode, Proof, Ran, Snapshot, Thresholds, compare,
};
use model::migrate::MigrationSettings;
use model::{Source, diagnostic};

const SETTINGS: &str = "
model: settings
table: { name: settings, partition: PK, sort: SK, pitr: true, deletion-protection: true }
entities:
  Setting: { key: { PK: 'TENANT#{tenantId}', SK: 'SETTING#{name}' }, count: 40, size: 200 B }
patterns:
  S1: { get: Setting, by: [tenantId, name], rate: 100/s, consistency: eventual }
";

fn proven(ids: &[&str]) -> Vec<Proof> {
    let one = |id: &&str| Proof { pattern: Some((*id).to_owned()), verdict: "proven", failures: Vec::new() };
    ids.iter().map(one).collect()
}

fn unproven(id: &str, failures: &[&str]) -> Proof {
    let failures = failures.iter().map(|one| (*one).to_owned()).collect();
    Proof { pattern: Some(id.to_owned()), verdict: Proof::FAILED, failures }
}

fn snapshot(text: &str, ran: Ran) -> Snapshot {
    let source = Source::new("model.yaml", text);
    let Reading { model, diagnostics } = file::read(&source);
    let shown = diagnostic::text(&source, &diagnostics, false);
    let model = model.unwrap_or_else(|| panic!("{shown}"));
    let settings = CostSettings::default();
    Snapshot::new(source, model, diagnostics, &Facts::embedded(), &settings, ran).unwrap()
}

fn with_proofs(text: &str, proofs: Vec<Proof>) -> Snapshot {
    snapshot(text, Ran { proofs, code: Vec::new() })
}

fn model(text: &str) -> Snapshot {
    with_proofs(text, proven(&["S1"]))
}

fn difference<'s>(base: &Snapshot, head: &'s Snapshot) -> Comparison<'s> {
    compare(Ok(base), head, &Facts::embedded(), &MigrationSettings::default()).unwrap()
}

fn failures(base: &str, head: &str, thresholds: Thresholds) -> Vec<Failure> {
    let (base, head) = (model(base), model(head));
    difference(&base, &head).failures(&thresholds)
}

fn kinds(failures: &[Failure]) -> Vec<FailureKind> {
    failures.iter().map(|one| one.kind).collect()
}

/// All requests on one key: a rule says so, as an error.
fn with_error() -> String {
    SETTINGS
        .replace("TENANT#{tenantId}", "SETTINGS")
        .replace("count: 40", "count: 4000")
        .replace("by: [tenantId, name], rate: 100/s", "by: name, rate: 9000/s")
}

#[test]
fn a_version_is_no_different_from_itself() {
    let (base, head) = (model(SETTINGS), model(SETTINGS));
    let comparison = difference(&base, &head);
    let strict = Thresholds {
        max_cost: Some(CostLimit::RiseShare(0.0)),
        max_heat: Some(0.0001),
        deny_warnings: true,
        deny_obstacles: true,
    };
    let failures = comparison.failures(&strict);
    assert!(comparison.is_empty() && failures.is_empty(), "{}", comparison.text(&failures));
    assert_eq!(comparison.verdict(&failures), "settings: passes; nothing differs");
}

#[test]
fn a_new_error_fails_and_an_old_one_does_not() {
    let found = failures(SETTINGS, &with_error(), Thresholds::default());
    assert!(found.iter().any(|one| one.rule.is_some_and(|rule| rule.0 == 7)), "{found:?}");
    assert!(kinds(&found).iter().all(|kind| *kind == FailureKind::NewFinding), "{found:?}");
    // A comment moves every line.
    let moved = format!("# moved\n{}", with_error());
    assert_eq!(failures(&with_error(), &moved, Thresholds::default()), []);
}

#[test]
fn a_second_finding_with_the_same_words_is_new() {
    let base = model(&with_error());
    let mut head = model(&with_error());
    let again = head.findings[0].clone();
    head.findings.push(again.clone());
    assert_eq!(difference(&base, &head).findings.new, std::slice::from_ref(&again));
    assert_eq!(difference(&head, &base).findings.gone, [again]);
}

#[test]
fn new_warnings_fail_if_that_is_asked_for() {
    let head = SETTINGS.replace(", pitr: true", "");
    assert_eq!(failures(SETTINGS, &head, Thresholds::default()), []);
    let strict = Thresholds { deny_warnings: true, ..Thresholds::default() };
    assert_eq!(kinds(&failures(SETTINGS, &head, strict)), [FailureKind::NewFinding]);
}

#[test]
fn an_allowance_is_shown_and_does_not_fail() {
    let allowed = with_error().replace("Setting: {", "Setting: { allow: { R11: 'it is a test' },");
    let (base, head) = (model(&with_error()), model(&allowed));
    let comparison = difference(&base, &head);
    let accepted: Vec<_> = comparison.findings.accepted.iter().filter_map(|one| one.rule).collect();
    assert_eq!(accepted, [model::RuleId(11)], "{}", comparison.text(&[]));
    assert!(comparison.text(&[]).contains("allowed: it is a test"));
}

#[test]
fn a_pattern_that_is_no_longer_proven_fails_and_one_that_never_was_does_not() {
    let (good, bad) = (model(SETTINGS), with_proofs(SETTINGS, vec![unproven("S1", &["a", "b"])]));
    let found = difference(&good, &bad).failures(&Thresholds::default());
    assert_eq!(kinds(&found), [FailureKind::NotProven]);
    assert_eq!(found[0].message, "S1 is not proven: a (and 1 more)");
    let same = with_proofs(SETTINGS, vec![unproven("S1", &["b", "a"])]);
    assert_eq!(difference(&bad, &same).failures(&Thresholds::default()), []);
    let worse = with_proofs(SETTINGS, vec![unproven("S1", &["a", "b", "c"])]);
    assert_eq!(kinds(&difference(&bad, &worse).failures(&Thresholds::default())), [FailureKind::NotProven]);
}

/// 100 reads a second cost 100 × 0.5 × 2,628,000 × $0.125 ÷ 1,000,000 = $16.43 a month; storage is below a cent.
#[test]
fn cost_is_held_to_a_percentage_to_dollars_and_to_a_sum() {
    let more = SETTINGS.replace("100/s", "110/s");
    let held = |limit: &str| {
        let max_cost = Some(limit.parse().unwrap());
        kinds(&failures(SETTINGS, &more, Thresholds { max_cost, ..Thresholds::default() }))
    };
    let fails = vec![FailureKind::MaxCost];
    assert_eq!([held("+9%"), held("9%"), held("+1.5"), held("$18")], [(); 4].map(|()| fails.clone()));
    assert_eq!([held("+11%"), held("+$1.70"), held("18.10")], [(); 3].map(|()| Vec::new()));
    let less = Thresholds { max_cost: Some(CostLimit::Most(1.0)), ..Thresholds::default() };
    assert_eq!(failures(&more, SETTINGS, less), [], "it was more before");
    let found =
        failures(SETTINGS, &more, Thresholds { max_cost: "+9%".parse().ok(), ..Thresholds::default() });
    assert!(found[0].message.contains("10 % more than $16.43"), "{}", found[0].message);
    assert!(found[0].message.ends_with("allowed is 9 % more; S1 adds the most"), "{}", found[0].message);
}

#[test]
fn a_limit_that_is_none_says_what_one_looks_like() {
    for text in ["", "+", "%", "five", "-5%", "+inf", "5%%"] {
        let refused = text.parse::<CostLimit>().unwrap_err();
        assert!(refused.contains("+5%") && refused.contains("$500"), "{refused}");
    }
    assert_eq!("+5%".parse::<CostLimit>(), Ok(CostLimit::RiseShare(0.05)));
    assert_eq!("+$20".parse::<CostLimit>(), Ok(CostLimit::Rise(20.0)));
    assert_eq!("500".parse::<CostLimit>(), Ok(CostLimit::Most(500.0)));
}

#[test]
fn a_key_that_gets_hotter_than_allowed_fails_and_one_that_was_does_not() {
    let skewed = |rate: &str| SETTINGS.replace("rate: 100/s", &format!("rate: {rate}, skew: top 100%"));
    let held = |base: &str, head: &str| {
        let max_heat = Some(0.8);
        let mut kinds = kinds(&failures(base, head, Thresholds { max_heat, ..Thresholds::default() }));
        kinds.retain(|kind| *kind == FailureKind::MaxHeat);
        kinds
    };
    // 0.5 units each: 5,000 reads a second are 2,500 of 3,000 units.
    assert_eq!(held(&skewed("1000/s"), &skewed("5000/s")), [FailureKind::MaxHeat]);
    assert_eq!(held(&skewed("1000/s"), &skewed("4700/s")), []);
    assert_eq!(held(&skewed("5000/s"), &skewed("4900/s")), [], "it is less than before");
}

#[test]
fn a_change_without_a_way_fails_if_that_is_asked_for() {
    let moved = SETTINGS.replace(
        "size: 200 B",
        "size: 200 B, indexes: { byOwner: { ownerPK: 'OWNER#{owner}', ownerSK: '{tenantId}' } }",
    );
    let found = failures(SETTINGS, &moved, Thresholds::default());
    assert!(!kinds(&found).contains(&FailureKind::NoMigration), "{found:?}");
    let strict = Thresholds { deny_obstacles: true, ..Thresholds::default() };
    let found = failures(SETTINGS, &moved, strict);
    assert!(kinds(&found).contains(&FailureKind::NoMigration), "{found:?}");
}

#[test]
fn without_an_earlier_version_everything_is_new() {
    let head = with_proofs(&with_error(), vec![unproven("S1", &["a"])]);
    let alone = Err("there is no main:model.yaml".to_owned());
    let comparison = compare(alone, &head, &Facts::embedded(), &MigrationSettings::default()).unwrap();
    let max_cost = Some(CostLimit::RiseShare(0.0));
    let found = comparison.failures(&Thresholds { max_cost, ..Thresholds::default() });
    assert!(
        kinds(&found).contains(&FailureKind::NewFinding) && kinds(&found).contains(&FailureKind::NotProven)
    );
    assert!(!kinds(&found).contains(&FailureKind::MaxCost), "a rise needs something to rise from");
    let text = comparison.text(&found);
    assert!(text.contains("there is no main:model.yaml: everything counts as new"), "{text}");
}

#[test]
fn code_that_differs_is_counted_in_lines_with_its_patterns() {
    let code = |lines: &str, pattern: &str| GeneratedCode {
        language: "python",
        text: lines.to_owned(),
        patterns: vec![("S1".to_owned(), pattern.to_owned()), ("S2".to_owned(), "same".to_owned())],
    };
    let ran = |code| Ran { proofs: proven(&["S1"]), code: vec![code] };
    let base = snapshot(SETTINGS, ran(code("a\nb\nb\nc\n", "was")));
    let head = snapshot(SETTINGS, ran(code("b\na\nd\ne\n", "is")));
    let comparison = difference(&base, &head);
    let [change] = &comparison.code[..] else { panic!("{:?}", comparison.code) };
    assert_eq!((change.lines_added, change.lines_removed), (2, 2));
    assert_eq!(change.patterns, ["S1"]);
}

#[test]
fn a_comment_begins_with_the_verdict_and_keeps_its_tables_whole() {
    let base = model(SETTINGS);
    let head = with_proofs(&with_error(), vec![unproven("S1", &["a | b\n<script>"])]);
    let comparison = difference(&base, &head);
    let failures = comparison.failures(&Thresholds::default());
    let comment = comparison.markdown(&failures);
    assert!(comment.starts_with("### ❌ `model.yaml`, settings: FAILS, for "), "{comment}");
    assert!(comment.contains("| S1 | proven | not proven | a \\| b &lt;script> |"), "{comment}");
    for heading in ["What changes", "Proofs", "Findings", "Cost by the month", "Heat", "Migration"] {
        assert!(comment.contains(&format!("<details><summary>{heading}")), "{heading}\n{comment}");
    }
    let tables = comment.lines().filter(|line| line.starts_with('|')).count();
    assert!(
        tables > 10 && comment.lines().filter(|line| line.starts_with('|')).all(|line| line.ends_with('|'))
    );
}

#[test]
fn sarif_has_new_findings_and_other_failures_at_their_lines() {
    let base = model(SETTINGS);
    let head = with_proofs(&with_error(), vec![unproven("S1", &["a"])]);
    let comparison = difference(&base, &head);
    let failures = comparison.failures(&Thresholds::default());
    let log = comparison.sarif(&failures);
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), comparison.findings.new.len() + 1);
    let last = results.last().unwrap();
    assert_eq!(last["ruleId"], "not-proven");
    assert_eq!(last["level"], "error");
    assert_eq!(last["locations"][0]["physicalLocation"]["region"]["startLine"], 7);
    let ids: Vec<_> = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap().iter().collect();
    let named = |id: &serde_json::Value| ids.iter().any(|rule| rule["id"] == *id);
    assert!(results.iter().all(|one| named(&one["ruleId"])), "every rule is described");
}

#[test]
fn json_fits_its_schema() {
    let base = model(SETTINGS);
    let head = with_proofs(&with_error(), vec![unproven("S1", &["a"])]);
    let comparison = difference(&base, &head);
    let failures = comparison.failures(&Thresholds::default());
    let json = model::results::versioned(comparison.json(&failures));
    assert_eq!(json["passed"], false);
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("gate.json", model::results::schema("gate").unwrap()).unwrap();
    let schema = compiler.compile("gate.json", &mut schemas).unwrap();
    assert!(schemas.validate(&json, schema).is_ok(), "{:?}", schemas.validate(&json, schema).err());
}
