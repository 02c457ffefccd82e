//! What is written is read back as the same model.

use std::path::{Path, PathBuf};

use model::file::{self, Comments, Element};
use model::{Model, Source};
use proptest::prelude::*;

fn read(text: &str) -> Model {
    let source = Source::new("model.yaml", text);
    let reading = file::read(&source);
    let shown = model::diagnostic::text(&source, &reading.diagnostics, false);
    reading.model.unwrap_or_else(|| panic!("{shown}\n{text}"))
}

/// All that a model says, without where it says it, nor in which order it names attributes.
fn meaning(model: &Model) -> String {
    let mut model = model.clone();
    model.entities.iter_mut().for_each(|entity| entity.attributes.sort_unstable_keys());
    model.allowances.sort_by_key(|one| (one.rule.0, one.reason.clone()));
    let shown = format!("{model:?}");
    let mut pieces = shown.split("Span { start: ");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |all, piece| all + piece.split_once('}').map_or("", |(_, rest)| rest))
}

fn check_round_trip(text: &str) {
    let model = read(text);
    let written = file::write(&model, &Comments::new());
    let again = read(&written);
    assert_eq!(meaning(&model), meaning(&again), "{text}\nwas written as\n{written}");
    assert_eq!(written, file::write(&again, &Comments::new()), "written twice, it reads differently");
}

const EVERYTHING: &str = r##"
model: everything
description: "two\nlines: with # and {braces}"
region: eu-central-1
stage: development
curves: { office: [0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 5.5, 5, 5, 5, 4, 3, 2, 1, 1, 0, 0, 0, 0] }
tables:
  main-table:
    partition: PK
    sort: { SK: string }
    billing: provisioned
    read: 50
    write: { min: 5, max: 1000, target: 70%, scale-in: 60 s, scale-out: 2 min }
    class: infrequent-access
    ttl: expiresAt
    stream: new-and-old
    pitr: true
    deletion-protection: false
    encryption: customer-managed
    replicas: [us-east-1, eu-west-1]
    owner: orders team
    tags: { cost-centre: "42", "a b": "#" }
    indexes:
      ByTime: { partition: [tenant, kind], sort: { at: number }, project: [total, status], size: 300 MB, allow: { R4: soon } }
      Local: { type: local, sort: status, project: keys }
      GSI1: { project: all, write: 10 }
    samples:
      - { PK: "A#1", SK: "3", flag: true, n: -1.5, nothing: null, words: { SS: [a, "1"] }, deep: [1, "1", { x: [y] }] }
    allow: { R33: "no need" }
  other.table: { partition: { id: number } }
entities:
  Customer:
    table: main-table
    description: who buys
    id: customerId
    key: { PK: "CUST#{customerId}", SK: PROFILE }
    attributes:
      customerId: uuid
      tier: { values: { GOLD: 12.5%, IRON: 87.5% } }
      name: { type: string, size: { typical: 20 B, max: 2 KB }, allow: { R28: fine } }
      born: date
      status:
    count: 1.5M
    size: { typical: 600 B, max: 300 KB }
    growth: 10K per month
    expires: 7 days
    owner: accounts
    samples:
      ann: { customerId: "007", name: "Ann: #1", born: 2001-01-01 }
      bob: { customerId: "8", name: "null" }
  Order:
    table: main-table
    key: { PK: "CUST#{customerId}", SK: "ORDER#{createdAt}#{orderId}" }
    attributes:
      createdAt: timestamp
      status: [OPEN, SHIPPED, "ON HOLD"]
      total: { type: number, min: -10, max: 100000 }
      tenant: { distinct: 300, skew: top 30% }
      kind: { value: order }
      at: { type: number, optional: true }
      log: { type: list, growth: 2 KB per day }
      customerName: { copy-of: Customer.name, sync: stream }
      expiresAt: epoch
    count: { typical: 20, max: 50K, per: Customer }
    indexes:
      GSI1: { when: "status = 'ON HOLD' and total > 5", GSI1PK: "HOLD{{}}#{shard(orderId, 3)}", GSI1SK: "{desc(total, 8)}#{day(createdAt)}", allow: { R6: few } }
    allow: { R17: kept }
  Device: { table: other.table, attributes: { id: number }, count: 3 per Order }
relations: [Customer 1:N Order, Customer M:N Device via Order]
patterns:
  A1: { get: Customer, by: customerId, rate: 800/s, cached: { ttl: 5 min, hit: 30% }, consistency: strong }
  A2: { query: Order, by: customerId, where: createdAt between :from and :to, order: [createdAt desc, orderId desc], limit: 20, returns: { typical: 5, max: 500 }, paged: yes, cached: 90 s, read: [status, total], rate: { average: 100/min, peak: 20/s, curve: office }, skew: zipf 1.1 }
  A3: { query: [Customer, Order], by: customerId, read: all, filter: expiresAt > :now }
  A4: { query: Order, where: "status = 'ON HOLD'", index: GSI1, fan-out: allowed, read: keys, allow: { R3: known } }
  A5: { query: Order, where: "status in (OPEN, 'ON HOLD') and exists at", fan-out: 3, external: OpenSearch }
  A6:
    transact: [create Order × 2, { update: Customer, by: customerId, set: [name], times: 3 }, { check: Customer, if: exists }]
    rate: 90/s
    fails: 1%
  A7: { update: Order, by: [customerId, createdAt, orderId], knows: [tenant], set: { status: OPEN -> SHIPPED, total: ":total" }, add: { at: "1" }, remove: log, if: status = OPEN, version: tenant }
  A8: { batch: [get Customer × 20], rate: 7 per week }
  A9: { scan: Device, read: count, request: { TableName: t, Limit: 5, X: ["5", true, null] } }
  A10:
    get: Customer
    expect: { given: { customerId: "007", n: 7 }, rows: [ann] }
  A11: { delete: Order, expect: [{ rows: [] }, { given: { orderId: x }, rows: [bob] }] }
rules: { R18: { level: error, max: 8 }, R4: off, R19: { most: 1.5 } }
allow: { R32: "the mode is decided elsewhere" }
"##;

#[test]
fn a_model_that_uses_every_field_is_written_and_read_back() {
    check_round_trip(EVERYTHING);
}

#[test]
fn a_single_table_keeps_its_short_form() {
    check_round_trip(
        "model: small\nentities:\n  Note: { attributes: [text] }\n  Thing:\npatterns:\n  P: { get: Note, by: noteId }\n",
    );
}

#[test]
fn every_model_of_the_tree_is_written_and_read_back() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in [root.join("tests"), root.join("../../examples")] {
        models_below(&folder, &mut files);
    }
    assert!(!files.is_empty());
    for path in files {
        let source = Source::new("model.yaml", std::fs::read_to_string(&path).unwrap());
        if file::read(&source).model.is_some() {
            check_round_trip(&source.text);
        }
    }
}

fn models_below(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        match path.extension().and_then(|extension| extension.to_str()) {
            None => models_below(&path, files),
            Some("yaml" | "yml") => files.push(path),
            Some(_) => {}
        }
    }
}

#[test]
fn comments_are_above_what_they_are_about() {
    let text = "model: notes\ntable: { name: notes, partition: PK }\nentities:\n  Note: { key: { PK: \"N#{noteId}\" } }\npatterns:\n  P: { get: Note, by: noteId }\n";
    let comments = Comments::from([
        (Element::Model, "Made by hand.".to_owned()),
        (Element::Key(model::model::EntityId(0)), "Known to all.\nNever changes.".to_owned()),
        (Element::Pattern(0), "GetItem".to_owned()),
    ]);
    let expected = r##"# Made by hand.
model: notes
table: { name: notes, partition: PK, billing: on-demand }

entities:
  Note:
    # Known to all.
    # Never changes.
    key: { PK: "N#{noteId}" }

patterns:
  # GetItem
  P: { get: Note, by: noteId }
"##;
    assert_eq!(file::write(&read(text), &comments), expected);
}

/// Any text at all, as JSON writes it, which YAML reads too.
fn quoted() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        "null", "~", "true", "1", "-", "a: b", "a #b", "'", "\"", " x ", "[", "- x",
    ]);
    prop_oneof![any::<String>(), odd.prop_map(str::to_owned), "[A-Za-z]{1,8}".prop_map(String::from)]
        .prop_filter("a name has letters", |text| !text.trim().is_empty())
        .prop_map(|text| {
            let escape = |c: char| {
                if c.is_ascii_alphanumeric() { c.to_string() } else { format!("\\U{:08x}", u32::from(c)) }
            };
            format!("\"{}\"", text.chars().map(escape).collect::<String>())
        })
}

fn any_attribute() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec!["string", "number", "timestamp", "uuid", "map"]);
    prop_oneof![
        kind.prop_map(str::to_owned),
        prop::collection::hash_set(quoted(), 1..4)
            .prop_map(|values| { format!("[{}]", values.into_iter().collect::<Vec<_>>().join(", ")) }),
        (1u32..5_000_000, 0.0f64..1e9).prop_map(|(size, distinct)| {
            format!("{{ size: {size} B, distinct: {distinct}, optional: yes }}")
        }),
        (-1e6f64..0.0, 0.0f64..1e6)
            .prop_map(|(min, max)| format!("{{ type: number, min: {min}, max: {max} }}")),
        (0u32..10_000).prop_map(|share| format!("{{ skew: top {}% }}", f64::from(share) / 100.0)),
        quoted().prop_map(|value| format!("{{ value: {value} }}")),
    ]
}

fn any_pattern() -> impl Strategy<Value = String> {
    let rate = (0.0001f64..1e5, prop::sample::select(vec!["s", "min", "h", "day", "week", "month", "year"]));
    (quoted(), rate, quoted(), quoted(), any::<bool>()).prop_map(|(description, rate, given, value, desc)| {
        let desc = if desc { " desc" } else { "" };
        format!(
            "{{ description: {description}, query: Note, by: owner, order: at{desc}, rate: {}/{}, \
             request: {{ {given}: [{value}] }}, expect: {{ given: {{ {given}: {value} }}, rows: [] }} }}",
            rate.0, rate.1
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_model_is_written_and_read_back(
        description in quoted(),
        attributes in prop::collection::vec(any_attribute(), 0..5),
        patterns in prop::collection::vec(any_pattern(), 0..4),
        samples in prop::collection::vec(quoted(), 0..3),
        count in 0.0f64..1e12,
        seconds in 0u32..100_000_000,
    ) {
        let mut text = format!("model: any\ndescription: {description}\nentities:\n  Note:\n    count: {count}\n");
        text += &format!("    expires: {seconds} s\n    attributes:\n      owner: string\n      at: timestamp\n");
        for (position, attribute) in attributes.iter().enumerate() {
            text += &format!("      a{position}: {attribute}\n");
        }
        if !samples.is_empty() {
            text += "    samples:\n";
            samples.iter().for_each(|value| text += &format!("      - {{ owner: {value}, x: {value}, y: [{value}] }}\n"));
        }
        if !patterns.is_empty() {
            text += "patterns:\n";
            patterns.iter().enumerate().for_each(|(position, one)| text += &format!("  P{position}: {one}\n"));
        }
        check_round_trip(&text);
    }
}
