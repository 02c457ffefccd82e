//! Models that look right and are not, and some that look wrong and are right: `check` and `prove` agree on them, and
//! `design` does not make such mistakes.

use std::path::Path;

use model::check::check;
use model::design::{Options, design};
use model::diagnostic::{self, Level};
use model::facts::Facts;
use model::{Diagnostic, Model, Source, file};
use proof::{Certificate, prove};

fn trap(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proofs/traps");
    std::fs::read_to_string(folder.join(format!("{name}.yaml"))).expect("a trap")
}

fn read(text: &str) -> Model {
    let source = Source::new("model.yaml", text);
    let reading = file::read(&source);
    let shown = diagnostic::text(&source, &reading.diagnostics, false);
    reading.model.unwrap_or_else(|| panic!("{shown}"))
}

/// The rules that find an error.
fn errors(model: &Model) -> Vec<String> {
    let found = check(model).into_iter().filter(|one| one.level == Level::Error && one.allowed.is_none());
    found.map(|one| one.rule.map_or("file".to_owned(), |rule| rule.to_string())).collect()
}

fn shown(certificate: &Certificate) -> String {
    format!("{}{}", certificate.summary(), certificate.failures())
}

/// The kinds of failure of a pattern.
fn faults(certificate: &Certificate, pattern: &str) -> Vec<&'static str> {
    let proof = certificate.patterns.iter().find(|one| one.pattern == pattern).expect("a pattern");
    proof.findings.iter().map(|finding| finding.fault.name()).collect()
}

#[track_caller]
fn check_right(text: &str) {
    let model = read(text);
    assert_eq!(errors(&model), Vec::<String>::new());
    let certificate = prove(&model);
    assert!(certificate.is_proven(), "{}", shown(&certificate));
}

#[test]
fn a_request_of_the_files_own_that_leaves_an_index_stale_is_not_proven() {
    let certificate = prove(&read(&trap("request-leaves-index-stale")));
    assert_eq!(faults(&certificate, "A7"), ["stale-index-key"], "{}", shown(&certificate));
    let said = certificate.failures();
    assert!(said.contains("`GSI1`") && said.contains("CUST#a1b2#SHIPPED"), "{said}");
}

#[test]
fn a_request_that_moves_the_item_in_every_index_is_proven() {
    let text = trap("request-leaves-index-stale");
    let right = text.replace("SET #s = :shipped REMOVE", "SET #s = :shipped, GSI1PK = :open REMOVE").replace(
        "\":shipped\": { S: SHIPPED }",
        "\":shipped\": { S: SHIPPED }, \":open\": 'CUST#a1b2#SHIPPED'",
    );
    check_right(&right);
}

#[test]
fn a_request_that_does_something_else_than_its_pattern_is_not_proven() {
    let text = trap("request-leaves-index-stale");
    let right = "SET #s = :shipped, GSI1PK = :open REMOVE GSI2PK, GSI2SK";
    let values = "{ \":shipped\": { S: SHIPPED }, \":open\": 'CUST#a1b2#SHIPPED' }";
    let with = |expression: &str, values: &str| {
        let text = text.replace("SET #s = :shipped REMOVE GSI2PK, GSI2SK", expression);
        text.replace("{ \":shipped\": { S: SHIPPED } }", values)
    };
    let kinds = |text: &str| faults(&prove(&read(text)), "A7");
    assert_eq!(kinds(&with(right, values)), [""; 0]);
    // Another value, an attribute that the pattern does not change, an index that is not left, another item.
    assert_eq!(kinds(&with(right, &values.replace("S: SHIPPED", "S: OPEN")))[0], "request");
    let removes_total = with(&right.replace("GSI2SK", "GSI2SK, #t"), values)
        .replace("{ \"#s\": status }", "{ \"#s\": status, \"#t\": total }");
    assert_eq!(kinds(&removes_total), ["request"]);
    assert_eq!(kinds(&with(right.split(" REMOVE").next().expect("SET"), values)), ["stale-index-key"]);
    assert_eq!(kinds(&with(right, values).replace("ORDER#2026-06-01#o-9001", "PROFILE")), ["request"; 2]);
}

const MEMBERS: &str = "
model: members
table: { name: app, partition: PK, sort: SK, pitr: true, deletion-protection: true }
entities:
  Member:
    id: email
    key: { PK: 'MEMBER#{email}', SK: MEMBER }
    attributes: { email: string, plan: [FREE, PAID] }
    indexes: { byPlan: { planPK: '{plan}', planSK: '{email}' } }
patterns:
  join:
    create: Member
    request:
      TableName: app
      Item: { PK: MEMBER#a, SK: MEMBER, email: a, plan: FREE, planPK: FREE, planSK: a }
      ConditionExpression: attribute_not_exists(PK)
";

#[test]
fn a_put_of_the_files_own_is_compared_too() {
    let kinds = |text: &str| faults(&prove(&read(text)), "join");
    assert_eq!(kinds(MEMBERS), [""; 0]);
    assert_eq!(kinds(&MEMBERS.replace("planPK: FREE", "planPK: PAID")), ["stale-index-key"]);
    assert_eq!(kinds(&MEMBERS.replace(", planPK: FREE, planSK: a", "")), ["stale-index-key"]);
    assert_eq!(
        kinds(&MEMBERS.replace("      ConditionExpression: attribute_not_exists(PK)\n", "")),
        ["request"; 2]
    );
    assert_eq!(
        kinds(&MEMBERS.replace("attribute_not_exists(PK)", "attribute_not_exists(plant)")),
        ["request"]
    );
}

#[test]
fn an_id_that_two_items_can_have_is_not_proven() {
    let model = read(&trap("key-beyond-id"));
    assert_eq!(errors(&model), ["R50"]);
    let certificate = prove(&model);
    let kinds: Vec<&str> = certificate.findings.iter().map(|finding| finding.fault.name()).collect();
    assert_eq!(kinds, ["created-twice"], "{}", shown(&certificate));
}

#[test]
fn a_design_keeps_the_id_unique() {
    let designed = design(&read(&trap("key-beyond-id")), &Facts::embedded(), &Options::default());
    let designed = designed.unwrap_or_else(|problems| panic!("{problems:?}"));
    check_right(&designed.text);
}

#[test]
fn a_limit_that_leaves_no_place_for_an_entity_is_not_proven() {
    let model = read(&trap("limit-drops-entity"));
    assert_eq!(errors(&model), ["R51"]);
    let certificate = prove(&model);
    assert_eq!(faults(&certificate, "A4"), ["entity-lost"], "{}", shown(&certificate));
    assert_eq!(faults(&certificate, "A5"), [""; 0], "{}", shown(&certificate));
}

#[test]
fn an_attribute_with_two_templates_is_named() {
    let model = read(&trap("one-attribute-two-templates"));
    let is_it = |one: &Diagnostic| one.rule.is_some_and(|rule| rule.0 == 49);
    assert_eq!(check(&model).iter().filter(|one| is_it(one)).count(), 2);
    let said = prove(&model).failures();
    assert!(said.contains("`gsiPartition` of `Player` has two templates"), "{said}");
}

#[test]
fn items_whose_key_holds_their_id_do_not_collide() {
    check_right(&trap("nights-of-a-room"));
    // The same where the file does not say what identifies a night.
    check_right(&trap("nights-of-a-room").replace("    id: [propertyId, roomType, night]\n", ""));
}

#[test]
fn attributes_that_are_set_together_are_there_together() {
    check_right(&trap("set-together"));
}

#[test]
fn attributes_that_one_write_sets_alone_are_not_there_together() {
    let text = trap("set-together")
        + "  reserve: { update: Book, by: [isbn, bookId], set: [memberId], knows: [loanEndDate], if: not exists memberId, rate: 1/s }\n";
    let model = read(&text);
    assert_eq!(errors(&model), ["R35", "R35"]);
    assert!(!prove(&model).is_proven());
    let reason =
        check(&model).into_iter().flat_map(|one| one.related).any(|(_, text)| text.contains("alone"));
    assert!(reason, "the write that sets one of them alone is named");
}

const SCANNED: &str = "
model: settings
table: { name: app, partition: PK, pitr: true, deletion-protection: true }
entities:
  Setting: { id: name, key: { PK: 'SETTING#{name}' }, attributes: { name: string, value: string }, count: 40, size: 300 B }
patterns:
  all: { scan: Setting, returns: 40, rate: 1/min }
  set: { put: Setting, rate: 1/day }
";

#[test]
fn a_declared_scan_of_a_small_table_is_proven_with_what_its_partitions_cost() {
    check_right(SCANNED);
    let certificate = prove(&read(SCANNED));
    let used = certificate.patterns[0].capacity.iter().map(|part| part.consumed).sum::<f64>();
    assert!(used >= 2.0, "four partitions of half a unit: {used}");
    // Of a large one it is an error of `check`, and not proven.
    let large = SCANNED.replace("count: 40", "count: 40M");
    assert_eq!(errors(&read(&large)), ["R1"]);
    assert!(!prove(&read(&large)).is_proven());
}
