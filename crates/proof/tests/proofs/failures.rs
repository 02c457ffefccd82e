//! Models that are wrong, each in one way: the proof fails, says why, and shows the smallest data.

use item::Value;
use model::{Model, Source, file};
use proof::{Certificate, Fault, Finding, Verdict, prove};

fn read(text: &str) -> Model {
    let source = Source::new("model.yaml", text);
    let reading = file::read(&source);
    let shown = model::diagnostic::text(&source, &reading.diagnostics, false);
    reading.model.unwrap_or_else(|| panic!("{shown}"))
}

fn shown(certificate: &Certificate) -> String {
    format!("{}{}", certificate.summary(), certificate.failures())
}

fn proven(text: &str) {
    let certificate = prove(&read(text));
    assert!(certificate.is_proven(), "{}", shown(&certificate));
}

/// The finding of this kind, of the pattern `P` or of the data.
fn finding(text: &str, kind: &str) -> Finding {
    let certificate = prove(&read(text));
    assert!(!certificate.is_proven(), "it is proven");
    let of_patterns = certificate.patterns.iter().flat_map(|pattern| &pattern.findings);
    let found = certificate.findings.iter().chain(of_patterns).find(|finding| finding.fault.name() == kind);
    found.cloned().unwrap_or_else(|| panic!("no {kind} in\n{}", shown(&certificate)))
}

/// The values of an attribute in the smallest data, sorted.
fn values(finding: &Finding, attribute: &str) -> Vec<String> {
    let texts = finding.data.iter().filter_map(|(_, item)| match item.get(attribute) {
        Some(Value::S(text)) => Some(text.clone()),
        Some(Value::N(number)) => Some(number.to_string()),
        _ => None,
    });
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    texts
}

fn players(rating: &str, pattern: &str) -> String {
    format!(
        "
model: leaderboard
table: {{ name: game, partition: PK, sort: SK }}
entities:
  Player:
    key: {{ PK: 'PLAYER#{{playerId}}', SK: PROFILE }}
    attributes: {{ rating: {{ type: number, min: 0, max: 5000 }}, season: [S1, S2], handle: string }}
    count: 1K
    size: 400 B
    indexes: {{ GSI1: {{ GSI1PK: 'SEASON#{{season}}', GSI1SK: 'RATING#{rating}' }} }}
indexes: {{ GSI1: {{ project: all }} }}
patterns:
  P: {pattern}
"
    )
}

#[test]
fn numbers_that_are_not_padded_come_in_the_wrong_order() {
    let top = "{ query: Player, by: season, order: rating desc, limit: 10 }";
    proven(&players("{rating:04}", top));
    proven(&players("{desc(rating, 4)}", top));
    let finding = finding(&players("{rating}", top), "order");
    let ratings = values(&finding, "rating");
    assert_eq!(ratings.len(), 2, "two items show it: {ratings:?}");
    assert_ne!(ratings[0].len(), ratings[1].len(), "{ratings:?}");
}

#[test]
fn fractions_are_not_in_order_however_they_are_padded() {
    let top = "{ query: Player, by: season, order: rating desc, limit: 10 }";
    let text = players("{rating:06}", top).replace("max: 5000", "max: 4999.5");
    let ratings = values(&finding(&text, "order"), "rating");
    assert!(ratings.contains(&"12.5".to_owned()), "{ratings:?}");
}

#[test]
fn a_range_of_numbers_that_are_not_padded_misses_some() {
    let above = "{ query: Player, by: season, where: rating >= :least }";
    proven(&players("{rating:04}", above));
    let certificate = prove(&read(&players("{rating}", above)));
    assert!(!certificate.is_proven());
    assert!(
        certificate.patterns[0]
            .findings
            .iter()
            .any(|one| ["missing-items", "unwanted-items"].contains(&one.fault.name()))
    );
}

fn matches(sort: &str) -> String {
    format!(
        "
model: matches
table: {{ name: game, partition: PK, sort: SK }}
entities:
  Player: {{ key: {{ PK: 'PLAYER#{{playerId}}', SK: PROFILE }}, count: 1K }}
  Match:
    key: {{ PK: 'PLAYER#{{playerId}}', SK: 'MATCH#{sort}' }}
    attributes: {{ playedAt: timestamp, matchId: string }}
    count: 20 per Player
patterns:
  P: {{ query: Match, by: playerId, order: playedAt desc, limit: 10 }}
"
    )
}

#[test]
fn a_key_without_a_unique_part_collides() {
    proven(&matches("{playedAt}#{matchId}"));
    let hour = finding(&matches("{hour(playedAt)}"), "key-collision");
    let times = values(&hour, "playedAt");
    assert_eq!(times.len(), 2);
    assert_eq!(times[0][..13], times[1][..13], "the same hour");
    let time = finding(&matches("{playedAt}"), "key-collision");
    assert_eq!(values(&time, "playedAt").len(), 2);
    let ids = values(&time, "matchId");
    assert_ne!(ids[0], ids[1], "two matches");
}

#[test]
fn children_whose_key_is_their_parents_collide() {
    let text = matches("{playedAt}#{matchId}").replace("MATCH#{playedAt}#{matchId}", "MATCH");
    let finding = finding(&text, "key-collision");
    assert_eq!(finding.data.len(), 2);
}

#[test]
fn a_page_holds_a_megabyte() {
    let text = |count: &str, more: &str| {
        format!(
            "
model: readings
table: {{ name: readings, partition: PK, sort: SK }}
entities:
  Device: {{ key: {{ PK: 'DEVICE#{{deviceId}}', SK: META }}, count: 1K }}
  Reading:
    key: {{ PK: 'DEVICE#{{deviceId}}', SK: 'AT#{{at}}' }}
    attributes: {{ at: timestamp }}
    count: {count} per Device
    size: 20 KB
patterns:
  P: {{ query: Reading, by: deviceId{more} }}
"
        )
    };
    proven(&text("20", ""));
    proven(&text("200", ", paged: true"));
    proven(&text("200", ", limit: 50"));
    let finding = finding(&text("200", ""), "pages");
    assert_eq!(finding.data.len() + finding.more, 52, "52 times 20 KB cross 1 MB");
}

fn orders(pattern: &str) -> String {
    format!(
        "
model: orders
table: {{ name: app, partition: PK, sort: SK }}
entities:
  Customer: {{ key: {{ PK: 'CUST#{{customerId}}', SK: PROFILE }}, attributes: {{ email: string }}, count: 1K, size: 500 B }}
  Order:
    key: {{ PK: 'CUST#{{customerId}}', SK: 'ORDER#{{createdAt}}#{{orderId}}' }}
    attributes: {{ createdAt: timestamp, status: [OPEN, SHIPPED], total: {{ type: number, max: 5000 }}, note: {{ optional: true }}, version: number }}
    count: 20 per Customer
    size: 1.5 KB
    indexes:
      GSI1: {{ GSI1PK: 'CUST#{{customerId}}#{{status}}', GSI1SK: '{{createdAt}}#{{orderId}}' }}
      GSI2: {{ when: status = OPEN, GSI2PK: 'OPEN#{{shard(orderId, 3)}}', GSI2SK: '{{createdAt}}#{{orderId}}' }}
  Line: {{ key: {{ PK: 'ORDER#{{orderId}}', SK: 'ITEM#{{line:03}}' }}, attributes: {{ line: {{ type: number, max: 999 }} }}, count: 3 per Order, size: 200 B }}
indexes: {{ GSI1: {{ project: [total] }}, GSI2: {{ project: keys }}, byTotal: {{ type: local, sort: {{ total: number }}, project: keys }} }}
patterns:
  P: {pattern}
"
    )
}

#[test]
fn a_filter_that_selects_reads_more_than_it_returns() {
    proven(&orders("{ query: Order, by: customerId, where: status = OPEN }"));
    let finding = finding(&orders("{ query: Order, by: customerId, filter: note = x }"), "filter-selects");
    assert_eq!(finding.data.len(), 1, "one item is read and dropped");
}

#[test]
fn an_order_that_no_key_gives_is_shown_by_two_items() {
    let finding = finding(&orders("{ query: Order, by: customerId, order: version, read: all }"), "order");
    assert_eq!(finding.data.len(), 2);
}

#[test]
fn a_pattern_that_only_a_scan_serves_is_not_proven() {
    let certificate = prove(&read(&orders("{ get: Customer, by: email }")));
    let pattern = &certificate.patterns[0];
    assert_eq!((pattern.verdict, pattern.operation), (Verdict::NotProven, "Scan"));
    assert_eq!(pattern.findings[0].fault.name(), "plan");
}

#[test]
fn requests_that_dynamodb_refuses_are_found_before_they_are_sent() {
    for pattern in [
        "{ batch: [create Customer × 26] }",
        "{ batch: [get Customer × 101] }",
        "{ transact: [create Customer × 101] }",
    ] {
        finding(&orders(pattern), "refused");
    }
    proven(&orders("{ batch: [create Customer × 25] }"));
    proven(&orders("{ batch: [get Customer × 100] }"));
}

#[test]
fn a_batch_does_not_update() {
    let finding = finding(&orders("{ batch: [{ update: Order, set: [note] }] }"), "plan");
    assert_eq!(finding.fault.to_string(), "a batch puts and deletes; it has no update");
}

#[test]
fn a_model_without_keys_is_not_proven() {
    let text = "
model: keyless
entities: { Player: { attributes: { rating: number } } }
patterns: { P: { get: Player, by: playerId } }
";
    let certificate = prove(&read(text));
    assert!(!certificate.is_proven());
    assert_eq!(certificate.patterns[0].findings[0].fault.to_string(), "there are no keys yet");
}

#[test]
fn the_same_model_gives_the_same_certificate() {
    let text = players("{rating}", "{ query: Player, by: season, order: rating desc }");
    let source = Source::new("model.yaml", text.as_str());
    let model = read(&text);
    assert_eq!(prove(&model).json(&source), prove(&model).json(&source));
}

#[test]
fn an_item_larger_than_dynamodb_takes_is_refused() {
    let text = orders("{ get: Customer, by: customerId }").replace("size: 500 B", "size: 401 KB");
    let finding = finding(&text, "refused");
    assert!(finding.fault.to_string().contains("`Customer` has 410624 bytes"), "{}", finding.fault);
}

#[test]
fn a_row_of_the_file_may_be_one_that_is_made_too() {
    let text = orders("{ query: Line, by: orderId, order: line }");
    let text = text.replace(
        "count: 3 per Order, size: 200 B",
        "count: 3 per Order, size: 200 B, samples: { mine: { orderId: order-0001, line: 1 } }",
    );
    proven(&text);
}

#[test]
fn what_the_file_expects_must_come_back() {
    let rows = "
samples:
  first: { PK: CUST#a, SK: 'ORDER#2026-01-01#1', customerId: a, createdAt: '2026-01-01', orderId: '1' }
  second: { PK: CUST#a, SK: 'ORDER#2026-02-01#2', customerId: a, createdAt: '2026-02-01', orderId: '2' }
  profile: { PK: CUST#a, SK: PROFILE, customerId: a }
";
    let newest = |expected: &str| {
        let expect = format!("expect: {{ given: {{ customerId: a }}, rows: [{expected}] }}");
        orders(&format!("{{ query: Order, by: customerId, order: createdAt desc, limit: 9, {expect} }}"))
            + rows
    };
    proven(&newest("second, first"));
    finding(&newest("first, second"), "order");
    finding(&newest("second, first, profile"), "missing-items");
    finding(&newest("second"), "unwanted-items");
}

fn customers(attribute: &str, count: &str, pattern: &str) -> String {
    format!(
        "
model: customers
table: {{ name: app, partition: PK, sort: SK }}
entities:
  Customer:
    key: {{ PK: 'CUST#{{customerId}}', SK: PROFILE }}
    attributes: {{ email: {attribute}, name: string }}
    count: {count}
    size: 500 B
    indexes: {{ byEmail: {{ emailPK: '{{email}}', emailSK: '{{customerId}}' }} }}
indexes: {{ byEmail: {{ project: [name] }} }}
patterns:
  P: {pattern}
"
    )
}

#[test]
fn a_get_by_what_the_file_says_is_not_unique_is_not_one_item() {
    let by_email = "{ get: Customer, by: email, read: [name] }";
    proven(&customers("string", "1M", by_email));
    proven(&customers("{ distinct: 1M }", "1M", by_email));
    let finding = finding(&customers("{ distinct: 1000 }", "1M", by_email), "plan");
    assert_eq!(finding.fault.to_string(), "it can find 1000 items, not one");
    // Other patterns get data of their own, and still no two customers have the same address.
    let beside = customers("string", "1M", by_email) + "  Q: { query: Customer, by: name, limit: 5 }\n";
    let certificate = prove(&read(&beside));
    assert_eq!(certificate.patterns[0].returned, 1, "{}", shown(&certificate));
}

#[test]
fn a_condition_on_another_key_is_no_uniqueness() {
    proven(&customers("string", "1M", "{ create: Customer }"));
    let finding = finding(&customers("string", "1M", "{ create: Customer, if: not exists email }"), "plan");
    assert!(finding.fault.to_string().contains("does not make `email` unique"), "{}", finding.fault);
}

#[test]
fn fewer_keys_than_items_collide() {
    let text = customers("{ distinct: 1000 }", "1M", "{ get: Customer, by: email }");
    proven(&text.replace("CUST#{customerId}", "CUST#{email}").replace("1000", "1M"));
    let finding = finding(&text.replace("CUST#{customerId}", "CUST#{email}"), "key-collision");
    assert_eq!(finding.data.len(), 2);
}

#[test]
fn an_index_of_keys_serves_no_pattern_that_does_not_say_what_it_reads() {
    let keys = |read: &str| {
        customers("string", "1K", &format!("{{ get: Customer, by: email{read} }}"))
            .replace("project: [name]", "project: keys")
    };
    proven(&keys(", read: keys"));
    let finding = finding(&keys(""), "plan");
    assert_eq!(finding.fault.to_string(), "the index does not hold `name`");
}

#[test]
fn padding_that_nothing_bounds_is_too_short_one_day() {
    let top = "{ query: Player, by: season, order: rating desc, limit: 10 }";
    let unbounded = |rating: &str| players(rating, top).replace(", max: 5000", "");
    finding(&unbounded("{rating:04}"), "order");
    finding(&unbounded("{desc(rating, 4)}"), "missing-items");
    proven(&unbounded("{rating:010}"));
    finding(&players("{rating:03}", top), "order");
    let negative = players("{rating:04}", top).replace("min: 0", "min: -500");
    finding(&negative, "order");
}

fn tickets(escalated: &str, index: &str, pattern: &str) -> String {
    format!(
        "
model: tickets
table: {{ name: tickets, partition: PK, sort: SK }}
entities:
  Ticket:
    key: {{ PK: 'TICKET#{{ticketId}}', SK: TICKET }}
    attributes: {{ escalatedTo: {{ {escalated} }}, openedAt: timestamp, queue: [SALES, TECH] }}
    count: 1M
    size: 1 KB
    indexes: {{ escalated: {{ {index} }} }}
patterns:
  P: {pattern}
"
    )
}

#[test]
fn an_index_is_sparse_by_an_optional_attribute() {
    let declared = "when: exists escalatedTo, ePK: '{queue}', eSK: '{openedAt}#{ticketId}'";
    let by_queue = "{ query: Ticket, by: queue, where: exists escalatedTo, order: openedAt, limit: 20 }";
    proven(&tickets("present: 5%", declared, by_queue));
    let by_person = "ePK: '{escalatedTo}', eSK: '{openedAt}#{ticketId}'";
    proven(&tickets("present: 5%", by_person, "{ query: Ticket, by: escalatedTo, limit: 20 }"));
    let everyone = "{ query: Ticket, by: queue, limit: 20 }";
    let finding = finding(&tickets("optional: true", declared, everyone), "plan");
    assert_eq!(finding.fault.to_string(), "the index holds only items with exists escalatedTo");
}

#[test]
fn updates_enter_and_leave_an_index_by_an_optional_attribute() {
    let declared = "when: exists escalatedTo, ePK: '{queue}', eSK: '{openedAt}#{ticketId}'";
    let enters = "{ update: Ticket, by: ticketId, set: [escalatedTo], knows: [queue, openedAt] }";
    proven(&tickets("present: 5%", declared, enters));
    let leaves = "{ update: Ticket, by: ticketId, remove: [escalatedTo], knows: [queue, openedAt] }";
    proven(&tickets("present: 5%", declared, leaves));
}

#[test]
fn a_filter_that_the_file_allows_is_proven_as_declared() {
    let allowed = "filter: note = x, allow: { R2: few orders have notes }";
    let text = orders(&format!("{{ query: Order, by: customerId, paged: true, {allowed} }}"));
    let certificate = prove(&read(&text));
    assert!(certificate.is_proven(), "{}", shown(&certificate));
    let proof = &certificate.patterns[0];
    assert!(proof.examined > proof.returned, "{} of {}", proof.returned, proof.examined);
}

#[test]
fn entities_between_two_parents_get_keys_of_their_own() {
    let text = "
model: reviews
table: { name: app, partition: PK, sort: SK }
entities:
  User: { key: { PK: 'USER#{userId}', SK: USER }, count: 1K }
  Product: { key: { PK: 'PRODUCT#{productId}', SK: PRODUCT }, count: 1K }
  Visit: { key: { PK: 'USER#{userId}', SK: 'VISIT#{visitId}' }, count: 5 per User }
  Review:
    key: { PK: 'PRODUCT#{productId}', SK: 'REVIEW#{userId}' }
    attributes: { stars: number, visitId: string }
    count: 3 per Visit
patterns:
  P: { query: Review, by: productId, limit: 20 }
";
    proven(text);
}

#[test]
fn an_item_that_is_refused_fails_only_the_patterns_that_need_it() {
    let text = "
model: two
tables:
  good: { partition: PK }
  bad: { partition: PK }
entities:
  Good: { table: good, key: { PK: 'G#{goodId}' }, count: 10 }
  Bad: { table: bad, key: { PK: 'B#{badId}' }, attributes: { badId: { size: { typical: 20 B, max: 3 KB } } }, count: 10 }
patterns:
  G: { get: Good, by: goodId }
  B: { get: Bad, by: badId }
";
    let certificate = prove(&read(text));
    let verdicts: Vec<Verdict> = certificate.patterns.iter().map(|pattern| pattern.verdict).collect();
    assert_eq!(verdicts, [Verdict::Proven, Verdict::NotProven], "{}", shown(&certificate));
    let reason = certificate.patterns[1].findings[0].fault.to_string();
    assert!(reason.contains("2048 bytes"), "the database's own reason: {reason}");
}

#[test]
fn items_that_have_expired_come_back_unless_they_are_filtered() {
    let sessions = |filter: &str| {
        format!(
            "
model: sessions
table: {{ name: sessions, partition: PK, sort: SK, ttl: expiresAt }}
entities:
  User: {{ key: {{ PK: 'USER#{{userId}}', SK: USER }}, count: 1K }}
  Session:
    key: {{ PK: 'USER#{{userId}}', SK: 'SESSION#{{sessionId}}' }}
    attributes: {{ expiresAt: epoch }}
    count: 3 per User
    expires: 1 h
patterns:
  P: {{ query: Session, by: userId{filter} }}
"
        )
    };
    proven(&sessions(", filter: expiresAt > :now"));
    // The reader goes on until it has enough, also from a full page that was the last.
    for limit in [1, 2, 3, 20] {
        proven(&sessions(&format!(", filter: expiresAt > :now, limit: {limit}, paged: true")));
        proven(&sessions(&format!(", filter: expiresAt > :now, limit: {limit}, paged: true, read: count")));
    }
    finding(&sessions(""), "expired-items");
}

/// A counter that everyone adds to.
fn counter(rate: &str) -> String {
    format!(
        "
model: votes
table: {{ name: votes, partition: PK, sort: SK }}
entities:
  Vote:
    key: {{ PK: 'POLL#{{pollId}}', SK: 'VOTE#{{at}}#{{voteId}}' }}
    attributes: {{ pollId: {{ distinct: 1 }}, at: timestamp, voteId: uuid }}
    count: 1M
    size: 200 B
patterns:
  P: {{ create: Vote, rate: {rate} }}
  Q: {{ query: Vote, by: pollId, order: at desc, limit: 20, rate: 1/s }}
"
    )
}

#[test]
fn a_hot_key_is_shown_by_the_request_that_is_refused() {
    let found = finding(&counter("1800/s"), "throttled");
    let Fault::Throttled { units, kind, served, refusal, .. } = &found.fault else { panic!("{found:?}") };
    assert_eq!((*units, *kind, *served), (1_800, "write", 1_000));
    assert!(refusal.contains("hroughput"), "{refusal}");
    assert_eq!(found.data.len(), 1);
    proven(&counter("500/s"));
}

#[test]
fn a_key_that_is_read_too_often_is_refused_too() {
    let text = "
model: config
table: { name: config, partition: PK }
entities:
  Setting: { key: { PK: 'SETTING#{name}' }, attributes: { name: { distinct: 1 } }, count: 1, size: 3 KB }
patterns:
  P: { get: Setting, by: name, consistency: strong, rate: 9000/s }
";
    let found = finding(text, "throttled");
    let Fault::Throttled { kind, served, .. } = &found.fault else { panic!("{found:?}") };
    assert_eq!((*kind, *served), ("read", 3_000));
}

#[test]
fn a_hot_key_that_the_file_allows_is_proven() {
    let allowed = counter("1800/s").replace("patterns:", "allow: { R11: one poll a year }\npatterns:");
    let certificate = prove(&read(&allowed));
    let throttled = certificate.patterns.iter().flat_map(|one| &one.findings);
    assert_eq!(throttled.filter(|one| one.fault.name() == "throttled").count(), 0);
}

#[test]
fn two_items_of_one_moment_overwrite_each_other_if_the_key_has_only_the_time() {
    let text = counter("5/s").replace("VOTE#{at}#{voteId}", "VOTE#{at}");
    let found = finding(&text, "key-collision");
    assert_eq!(values(&found, "at").len(), 2);
    assert_eq!(values(&found, "at")[0], values(&found, "at")[1]);
    assert_ne!(values(&found, "voteId")[0], values(&found, "voteId")[1]);
    // With the id behind it they don't, and pages end between them.
    proven(&counter("5/s"));
}
