//! Reading model files: what is understood, and the message and its place for what is not.

use model::model::{AttributeKind, Billing, IndexKind, Projection, Skew};
use model::{Model, Source, file};

/// A model like that of an order-management service, to be varied.
const ORDERS: &str = r#"
model: order-management
table: { name: app-main, partition: PK, sort: SK, billing: on-demand }
entities:
  Customer: { key: { PK: "CUST#{customerId}", SK: PROFILE }, count: 1M, size: 600 B }
  Order:
    key: { PK: "CUST#{customerId}", SK: "ORDER#{createdAt}#{orderId}" }
    attributes: { createdAt: timestamp, status: [OPEN, SHIPPED, CANCELLED], total: number }
    count: 20 per Customer
    size: 1 KB
    indexes:
      GSI1: { GSI1PK: "CUST#{customerId}#{status}", GSI1SK: "{createdAt}#{orderId}" }
      GSI2: { when: status = OPEN, GSI2PK: "OPEN#{shard(orderId, 3)}", GSI2SK: "{createdAt}#{orderId}" }
  LineItem: { key: { PK: "ORDER#{orderId}", SK: "ITEM#{line:03}" }, attributes: { line: number } }
indexes: { GSI1: { project: [status, total] }, GSI2: { project: keys } }
patterns:
  A1: { get: Customer, by: customerId, rate: 800/s }
  A2: { query: Order, by: customerId, order: createdAt desc, limit: 20, rate: 400/s }
  A4: { query: Order, by: [customerId, status], rate: 50/s }
  A5: { query: Order, where: status = OPEN, rate: 1/s, fan-out: allowed }
  A6: { transact: [create Order, create LineItem × 5], rate: 90/s }
"#;

fn read(text: &str) -> Model {
    let source = Source::new("model.yaml", text);
    let reading = file::read(&source);
    let shown = model::diagnostic::text(&source, &reading.diagnostics, false);
    reading.model.unwrap_or_else(|| panic!("{shown}"))
}

/// Each problem as `line: the text underlined: message`.
fn problems(text: &str) -> Vec<String> {
    let source = Source::new("model.yaml", text);
    let reading = file::read(&source);
    let line = |span: model::Span| source.position(span.start).0;
    reading
        .diagnostics
        .iter()
        .map(|one| format!("{}: {}: {}", line(one.span), source.slice(one.span), one.message))
        .collect()
}

/// One line of the order model is changed: exactly these problems are reported.
fn check(from: &str, to: &str, expected: &[&str]) {
    assert!(ORDERS.contains(from), "{from}");
    assert_eq!(problems(&ORDERS.replace(from, to)), expected);
}

#[test]
fn indexes_are_named_as_on_aws() {
    let named = |name: &str| {
        let text = format!(
            "model: m\ntable: {{ name: abc, partition: PK, sort: SK }}\nindexes:\n  \"{name}\": {{ partition: other }}\n"
        );
        let reading = file::read(&Source::new("model.yaml", text));
        reading.diagnostics.into_iter().map(|one| one.message).collect::<Vec<_>>()
    };
    assert!(named("by_Status-2.x").is_empty());
    for wrong in ["ix", "by status", "nach-Größe", &"x".repeat(256)] {
        assert_eq!(named(wrong), [format!("`{wrong}` can't be the name of an index")]);
    }
}

#[test]
fn a_whole_model_is_understood() {
    let model = read(ORDERS);
    assert_eq!(model.name.value, "order-management");
    assert_eq!(model.tables[0].billing.value, Billing::OnDemand);
    let order = model.entity_named("Order").unwrap();
    assert_eq!(model.items(order), Some(20e6));
    let order = model.entity(order);
    assert_eq!(order.size.as_ref().unwrap().typical, 1024);
    assert_eq!(order.attributes["createdAt"].kind, AttributeKind::Timestamp);
    assert!(!order.attributes["orderId"].declared, "templates imply attributes");
    let table = model.table_of(order);
    let gsi1 = table.index(table.index_named("GSI1").unwrap());
    assert_eq!(gsi1.key.partition[0].name, "GSI1PK", "templates tell the keys of an index");
    assert!(matches!(&gsi1.projection.value, Projection::Include(names) if names.len() == 2));
    assert_eq!(order.entries[1].when.as_ref().unwrap().to_string(), "status = OPEN");
    assert_eq!(order.entries[1].partition[0].shards(), 3);
    assert_eq!(model.pattern_named("A6").unwrap().actions[1].times, 5);
}

#[test]
fn names_that_are_not_declared_are_shown_with_what_was_meant() {
    check("limit: 20", "limt: 20", &["18: limt: a pattern has no field `limt`"]);
    check("per Customer", "per Custmer", &["9: Custmer: there is no entity `Custmer`"]);
    check(
        "by: [customerId, status]",
        "by: [customerId, statsu]",
        &["19: statsu: there is no attribute `statsu` here"],
    );
    check("get: Customer", "get: Costumer", &["17: Costumer: there is no entity `Costumer`"]);
    check("total: number", "total: numbr", &["8: numbr: `numbr` is not known here"]);
    check(
        "project: [status, total]",
        "project: [stats]",
        &["15: stats: no entity has an attribute `stats` to project"],
    );
    check("GSI1SK: \"{createdAt}", "GSI1SK2: \"{createdAt}", &[]);
    check(
        "SK: PROFILE",
        "SQ: PROFILE",
        &[
            "5: { PK: \"CUST#{customerId}\", SQ: PROFILE }: `Customer` has no template for the key attribute `SK`",
            "5: SQ: the table has no key attribute `SQ`",
        ],
    );
}

#[test]
fn a_slip_in_a_template_is_pointed_at_unless_it_is_declared() {
    check(
        "PK: \"CUST#{customerId}\", SK: PROFILE",
        "PK: \"CUST#{custmerId}\", SK: PROFILE",
        &[
            "5: {custmerId}: `custmerId` is named nowhere else",
            "17: customerId: there is no attribute `customerId` here",
        ],
    );
    check(
        "ITEM#{line:03}\" }, attributes: { line: number",
        "ITEM#{ordreId}\" }, attributes: { ordreId: string",
        &[],
    );
}

#[test]
fn quantities_and_templates_are_underlined_where_they_are_wrong() {
    check("size: 1 KB", "size: 1 KBB", &["10: KBB: expected a unit: `B`, `KB`, `MB` or `GB`"]);
    check("size: 600 B", "size: lots", &["5: lots: expected a size, as in `600 B` or `1.5 KB`"]);
    check("rate: 800/s", "rate: 800", &["17: : expected `/s`, `/min`, `/h` or `/day` after the number"]);
    check(
        "rate: 50/s",
        "rate: 50/fortnight",
        &["19: fortnight: expected `s`, `min`, `h`, `day`, `week`, `month` or `year`"],
    );
    check("shard(orderId, 3)", "shrd(orderId, 3)", &["13: shrd: there is no function `shrd`"]);
    check(
        "shard(orderId, 3)",
        "shard(orderId, 0)",
        &["13: 0)}: expected the number of shards: between 1 and 10000"],
    );
    check("CUST#{customerId}\", SK: PROFILE", "CUST#{customerId\", SK: PROFILE", &["5: : expected `}`"]);
    check("ITEM#{line:03}", "ITEM#{line:3}", &["14: 3}: expected a width with zeros, as in `{rating:08}`"]);
    check(
        "{line:03}",
        "{orderId:03}",
        &["14: {orderId:03}: zeros are put in front of a number; this is a `string`"],
    );
    check(
        "when: status = OPEN",
        "when: status OPEN",
        &["13: OPEN: expected a comparison: `=`, `<>`, `<`, `<=`, `>`, `>=`, `between`, `begins_with`, `in`"],
    );
    check(
        "where: status = OPEN",
        "where: status = OPEN or status = HELD",
        &[
            "20: status = OPEN or status = HELD: `or` is not a predicate here: no key serves it with one request",
        ],
    );
}

#[test]
fn every_problem_is_found_in_one_run() {
    let text = ORDERS
        .replace("size: 1 KB", "size: big")
        .replace("limit: 20", "limit: some")
        .replace("× 5", "× many");
    assert_eq!(problems(&text).len(), 3, "{:?}", problems(&text));
}

#[test]
fn a_pattern_does_exactly_one_thing() {
    check("get: Customer, by", "by", &["17: A1: the pattern does nothing"]);
    check("get: Customer, by", "get: Customer, query: Order, by", &["17: A1: a pattern does one thing"]);
}

#[test]
fn text_that_is_not_yaml_is_shown_where_it_breaks() {
    assert!(problems("model: [a")[0].contains("this is not YAML"));
    assert_eq!(problems(""), ["1: : the file is empty"]);
    assert_eq!(problems("just text"), ["1: just text: a model is a mapping of fields, not a single value"]);
    assert_eq!(problems("model: a\nmodel: b"), ["2: model: `model` is here twice"]);
    assert_eq!(problems("model: &a x\ndescription: *a").len(), 1);
}

#[test]
fn nothing_that_can_be_written_ends_the_program() {
    problems(&"[".repeat(5000));
    problems(&format!("model: {}", "{a: ".repeat(200)));
    problems("model: \u{0}");
    problems("model: é\ntable: { name: ab, partition: é }\nentities: { É: { key: { é: 'x{é}{{}}' } } }");
    for end in 0..ORDERS.len() {
        if ORDERS.is_char_boundary(end) && end % 7 == 0 {
            problems(&ORDERS[..end]);
        }
    }
}

#[test]
fn a_model_without_keys_is_input_for_design() {
    let model = read(
        "
model: leaderboard
entities:
  Player: { attributes: { rating: number, season: string }, count: 2M, size: 400 B }
  Match:
patterns:
  Q1: { get: Player, by: playerId }
  Q2: { query: Match, by: playerId, order: playedAt desc }
",
    );
    assert!(!model.has_keys());
    assert!(model.entities[1].attribute("playedAt").is_some(), "patterns imply attributes");
}

#[test]
fn keys_have_their_own_names_and_types() {
    let model = read(
        "
model: readings
table:
  name: readings
  partition: deviceId
  sort: { at: number }
entities:
  Reading: { attributes: { at: epoch, celsius: number, alarm: { type: string, optional: true } } , key: { deviceId: '{deviceId}' } }
indexes:
  byAlarm: { partition: [deviceId, alarm], sort: { at: number }, project: all }
  byCelsius: { type: local, sort: { celsius: number }, project: keys }
",
    );
    let reading = &model.entities[0];
    assert_eq!(reading.key.as_ref().unwrap().sort.as_ref().unwrap().bare(), Some("at"));
    assert_eq!(reading.entries.len(), 2, "attributes that items have anyway key an index");
    assert_eq!(reading.entries[0].partition.len(), 2);
    assert_eq!(reading.entries[0].when.as_ref().unwrap().to_string(), "exists alarm");
    assert_eq!(model.tables[0].indexes[1].kind, IndexKind::Local);
}

#[test]
fn a_number_key_takes_a_number() {
    let text = "
model: readings
table: { name: readings, partition: id, sort: { at: number } }
entities: { Reading: { key: { id: '{id}', at: 'T#{at}' } } }
";
    assert_eq!(problems(text), ["4: 'T#{at}': `at` is of type N, which `T#{at}` is not"]);
}

#[test]
fn an_inverted_index_takes_the_keys_of_the_table() {
    let model = read(
        "
model: groups
table: { name: groups, partition: PK, sort: SK }
entities:
  Membership: { key: { PK: 'USER#{userId}', SK: 'GROUP#{groupId}' } }
indexes: { inverted: { partition: SK, sort: PK, project: keys } }
",
    );
    assert_eq!(model.entities[0].entries[0].partition[0].to_string(), "GROUP#{groupId}");
}

#[test]
fn several_tables_hold_their_own_indexes_and_rows() {
    let model = read(
        "
model: shop
tables:
  orders: { partition: PK, sort: SK, indexes: { GSI1: { partition: GSI1PK } }, stream: new-and-old, pitr: true }
  sessions:
    partition: id
    ttl: expiresAt
    billing: provisioned
    read: 50
    write: { units: 50, min: 50, max: 2000, target: 70%, scale-in: 60 s }
    samples: { mine: { id: 7, expiresAt: 1 } }
entities:
  Order: { table: orders, key: { PK: 'O#{orderId}', SK: META } }
  Session: { table: sessions, attributes: { id: string, expiresAt: epoch }, expires: 1 h }
",
    );
    assert_eq!(model.tables[1].throughput.write.as_ref().unwrap().target, Some(0.7));
    assert_eq!(model.tables[1].samples[0].values["id"].value, "7".into());
    assert_eq!(model.entities[1].expires.as_ref().unwrap().value, 3600);
}

#[test]
fn rates_skew_and_relations_are_read() {
    let model = read(
        "
model: groups
stage: development
curves: { office: [0,0,0,0,0,0,0,1,1,1,1,1,1,1,1,1,1,1,1,0,0,0,0,0] }
table: { name: groups, partition: PK, sort: SK }
entities:
  User: { key: { PK: 'USER#{userId}', SK: PROFILE } }
  Group: { key: { PK: 'GROUP#{groupId}', SK: META } }
  Membership: { key: { PK: 'USER#{userId}', SK: 'GROUP#{groupId}' }, count: { typical: 5, max: 10K, per: User } }
relations: [User M:N Group via Membership]
patterns:
  G1: { query: Membership, by: userId, rate: { average: 12/s, curve: office }, skew: top 5%, cached: 90% }
  G2: { query: Membership, by: userId, rate: 6M/day, skew: zipf 1.1, consistency: strong }
",
    );
    assert!(!model.production);
    let rate = model.patterns[0].rate.as_ref().unwrap();
    assert_eq!(rate.peak(), 24.0);
    assert_eq!(model.patterns[0].skew.as_ref().unwrap().value, Skew::Top(0.05));
    assert!(model.relations[0].many_to_many && model.relations[0].via.is_some());
    assert_eq!(model.entities[2].count.as_ref().unwrap().most(), 10_000.0);
}

/// As access patterns are often written on paper.
#[test]
fn words_for_rates_and_angle_brackets_in_keys_are_read() {
    let on_paper = ORDERS.replace("rate: 800/s", "rate: High").replace("rate: 400/s", "rate: medium");
    let on_paper = on_paper.replace("rate: 50/s", "rate: LOW").replace("ORDER#{orderId}", "ORDER#<orderId>");
    let on_paper = on_paper.replace("CUST#{customerId}#{status}", "CUST#<customerId>#<status>");
    let model = read(&on_paper);
    let rates: Vec<f64> =
        model.patterns[..3].iter().map(|one| one.rate.as_ref().unwrap().value.average).collect();
    assert_eq!(rates, [100.0, 10.0, 1.0]);
    assert_eq!(model.entities[2].key.as_ref().unwrap().partition.to_string(), "ORDER#{orderId}");
    let entry = &model.entities[1].entries[0];
    assert_eq!(entry.partition[0].to_string(), "CUST#{customerId}#{status}");
}

#[test]
fn rules_are_set_and_allowed_with_a_reason() {
    let text = ORDERS.replace(
        "table: {",
        "rules: { R18: { level: error, max: 8 }, R4: off }\nallow: { R39: known }\ntable: {",
    );
    let model = read(&text);
    assert_eq!(model.rules[0].parameters["max"].value, 8.0);
    assert_eq!(model.allowances[0].reason, "known");
    let wrong = ORDERS.replace("table: {", "allow: { R39: '', R99: x }\ntable: {");
    assert_eq!(problems(&wrong), ["3: R39: say why R39 is allowed here", "3: R99: there is no rule `R99`"]);
}

#[test]
fn expected_rows_must_exist() {
    let text = ORDERS
        .replace("limit: 20", "limit: 20, expect: { given: { customerId: a }, rows: [one, tow] }")
        + "samples: { one: { PK: CUST#a, SK: ORDER#1 }, two: { PK: CUST#a, SK: ORDER#2 } }\n";
    assert_eq!(problems(&text), ["18: tow: there is no sample row `tow`"]);
}

#[test]
fn a_table_without_a_name_is_called_after_its_model() {
    let name = |model: &str| {
        let reading =
            file::read(&Source::new("model.yaml", format!("model: {model}\ntable: {{ partition: PK }}\n")));
        reading.model.map(|model| model.tables[0].name.value.clone())
    };
    assert_eq!(name("order-management").as_deref(), Some("order-management"));
    assert_eq!(name("The shop").as_deref(), Some("The-shop"));
    assert_eq!(name("x").as_deref(), Some("x-table"));
    assert_eq!(name("магазин").as_deref(), Some("-------"));
}
