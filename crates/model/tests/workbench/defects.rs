//! Advice that was wrong once, on small models: which rule speaks, at which line, and that its advice can be followed.

use model::check::check;
use model::{Diagnostic, RuleId, Source, diagnostic, file};

fn found(text: &str, rule: u8) -> Vec<(usize, Diagnostic)> {
    let source = Source::new("model.yaml", text);
    let reading = file::read(&source);
    let shown = diagnostic::text(&source, &reading.diagnostics, false);
    let model = reading.model.unwrap_or_else(|| panic!("{shown}"));
    let all = check(&model).into_iter().filter(|one| one.rule == Some(RuleId(rule)) && one.allowed.is_none());
    all.map(|one| (source.position(one.span.start).0, one)).collect()
}

fn line_of(text: &str, part: &str) -> usize {
    text.lines().position(|line| line.contains(part)).expect("the line") + 1
}

fn help(found: &Diagnostic) -> &str {
    found.help.as_deref().unwrap_or_default()
}

/// The only finding of the rule, which is at the line that has this text.
#[track_caller]
fn only(text: &str, rule: u8, at: &str) -> Diagnostic {
    let found = found(text, rule);
    let messages: Vec<&str> = found.iter().map(|(_, one)| one.message.as_str()).collect();
    let [(line, one)] = found.as_slice() else { panic!("R{rule} says {messages:?}") };
    assert_eq!(*line, line_of(text, at), "{messages:?}");
    one.clone()
}

#[track_caller]
fn nothing(text: &str, rules: &[u8]) {
    for rule in rules {
        let messages: Vec<String> = found(text, *rule).into_iter().map(|(_, one)| one.message).collect();
        assert!(messages.is_empty(), "R{rule} says {messages:?}");
    }
}

/// The file with the sharded template that the advice shows, in place of the one that it is about, and with readers who
/// ask all shards.
#[track_caller]
fn followed(text: &str, one: &Diagnostic, old: &str) -> String {
    let shown = help(one).split('`').skip(1).step_by(2);
    let template = shown.into_iter().find(|part| part.contains("shard(") || part.contains("random("));
    let template = template.unwrap_or_else(|| panic!("{}", help(one)));
    assert!(template.starts_with(old), "{template}");
    text.replace(&format!("\"{old}\""), &format!("\"{template}\""))
        .replace("paged: true", "paged: true, fan-out: allowed")
}

const LINES: &str = r#"
model: invoices
table: { name: invoices, partition: PK, sort: SK, pitr: true, deletion-protection: true }
entities:
  Buyer: { key: { PK: "BUYER#{buyerId}", SK: PROFILE }, attributes: { name: string }, count: 200K, size: 400 B }
  Invoice:
    id: invoiceId
    key: { PK: "BUYER#{buyerId}", SK: "INVOICE#{day}#{invoiceId}" }
    attributes: { day: date, state: [DUE, PAID] }
    count: 12 per Buyer
    size: 700 B
  Line: { key: { PK: "INVOICE#{invoiceId}", SK: "LINE#{number:04}" }, attributes: { number: { type: number, min: 1, max: 999 } }, count: 8 per Invoice, size: 150 B }
relations: [Buyer 1:N Invoice, Invoice 1:N Line]
patterns:
  buyer: { get: Buyer, by: buyerId, rate: 5/s }
  invoices: { query: Invoice, by: buyerId, rate: 5/s }
  lines: { query: Line, by: invoiceId, rate: 90/s }
"#;

#[test]
fn parts_that_are_counted_by_their_parent_are_not_asked_for_again() {
    nothing(LINES, &[5]);
    let uncounted = LINES.replace(", count: 8 per Invoice", "");
    let lines: Vec<usize> = found(&uncounted, 5).iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [line_of(&uncounted, "  Line:"), line_of(&uncounted, "  lines:")]);
}

const LEAGUES: &str = r#"
model: leagues
table: { name: leagues, partition: PK, sort: SK, pitr: true, deletion-protection: true }
entities:
  Club:
    id: clubId
    key: { PK: "CLUB#{clubId}", SK: CLUB }
    attributes: { clubId: uuid, league: { distinct: 20, skew: top 90% }, points: { type: number, min: 0, max: 99999 } }
    count: 3M
    size: 500 B
    indexes:
      ranking: { leaguePK: "LEAGUE#{league}", leagueSK: "{points:05}" }
indexes: { ranking: { project: all } }
patterns:
  club: { get: Club, by: clubId, rate: 900/s, consistency: eventual }
  top: { query: Club, by: league, order: points desc, limit: 50, paged: true, rate: 20/s, consistency: eventual }
  win: { update: Club, by: clubId, set: [points], knows: [league], rate: 1500/s }
"#;

#[test]
fn an_index_of_many_items_is_not_taken_for_one_item() {
    let busiest = only(LEAGUES, 11, "LEAGUE#{league}");
    assert!(!help(&busiest).contains("it is one item"), "{}", help(&busiest));
    assert!(help(&busiest).contains("shard(clubId, "), "{}", help(&busiest));
    nothing(&followed(LEAGUES, &busiest, "LEAGUE#{league}"), &[11, 31]);
}

const TICKETS: &str = r#"
model: tickets
table: { name: tickets, partition: PK, sort: SK, pitr: true, deletion-protection: true }
entities:
  Ticket:
    id: ticketId
    key: { PK: "TICKET#{ticketId}", SK: TICKET }
    attributes: { ticketId: uuid, state: { values: { NEW: 1%, TAKEN: 4%, CLOSED: 95% } }, openedAt: timestamp }
    count: 80M
    size: 600 B
    indexes: { byState: { statePK: "{state}", stateSK: "{openedAt}#{ticketId}" } }
indexes: { byState: { project: all } }
patterns:
  open: { create: Ticket, set: { state: NEW }, rate: 950/s }
  take: { update: Ticket, by: ticketId, set: { state: NEW -> TAKEN }, if: state = NEW, knows: [openedAt], rate: 900/s }
  close: { update: Ticket, by: ticketId, set: { state: TAKEN -> CLOSED }, if: state = TAKEN, knows: [openedAt], rate: 900/s }
  list: { query: Ticket, by: state, order: openedAt desc, limit: 50, paged: true, returns: { typical: 1M, max: 70M }, rate: 2/s, consistency: eventual }
"#;

#[test]
fn an_index_by_a_state_that_all_items_pass_through_is_spread_by_their_id() {
    // New ones and taken ones: each state takes more than a partition does.
    let found = found(TICKETS, 11);
    let lines: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [line_of(TICKETS, "\"{state}\""); 2]);
    for (_, busiest) in &found {
        assert!(help(busiest).contains("`{state}#{shard(ticketId, "), "{}", help(busiest));
        nothing(&followed(TICKETS, busiest, "{state}"), &[11, 31]);
    }
}

const ALARMS: &str = r#"
model: alarms
table: { name: alarms, partition: PK, sort: SK, pitr: true, deletion-protection: true }
entities:
  Entry:
    id: [journal, version]
    key: { PK: "J#{journal}", SK: "E#{version:010}" }
    attributes: { journal: { distinct: 1M }, version: { type: number, min: 1, max: 1000000000 }, read: boolean }
    count: 20M
    size: 250 B
  Shelf:
    id: [article, store]
    key: { PK: "A#{article}", SK: "S#{store}" }
    attributes: { article: { distinct: 300K }, store: { distinct: 30 }, empty: { optional: true, present: 3% } }
    count: 4M
    size: 120 B
    indexes: { empty: { when: exists empty, emptyPK: "EMPTY#{store}", emptySK: "{article}" } }
indexes: { empty: { project: all } }
patterns:
  append: { create: Entry, rate: 80/s }
  load: { query: Entry, by: journal, order: version, limit: 100, returns: { typical: 20, max: 5K }, rate: 80/s, consistency: strong }
  mark: { update: Entry, by: [journal, version], set: [read], rate: 80/s }
  shelf: { query: Shelf, by: article, returns: { typical: 13, max: 30 }, rate: 10/s, consistency: eventual }
  empty: { query: Shelf, by: store, where: exists empty, returns: { typical: 4K, max: 10K }, paged: true, rate: 1/min, consistency: eventual }
  sold: { update: Shelf, by: [article, store], set: [empty], rate: 1/min }
"#;

#[test]
fn a_part_of_the_key_that_is_called_version_locks_nothing() {
    nothing(ALARMS, &[26]);
    let outside = ALARMS
        .replace("E#{version:010}", "E#{number:010}")
        .replace("[journal, version]", "[journal, number]");
    let outside = outside
        .replace("read: boolean }", "read: boolean, number: { type: number, min: 1, max: 1000000000 } }");
    assert!(help(&only(&outside, 26, "  mark:")).contains("version: version"));
}

#[test]
fn a_shard_is_computed_from_what_the_key_does_not_hold() {
    let few = only(ALARMS, 6, "EMPTY#{store}");
    assert!(help(&few).contains("`EMPTY#{store}#{shard(article, 10)}`"), "{}", help(&few));
    nothing(&followed(ALARMS, &few, "EMPTY#{store}"), &[6, 31]);
}

const REGIONS: &str = r#"
model: regions
table: { name: regions, partition: PK, sort: SK, pitr: true, deletion-protection: true }
entities:
  Summary:
    id: [status, region]
    key: { PK: "{status}", SK: "{region}" }
    attributes: { status: { distinct: 12 }, region: { distinct: 4 }, total: number }
    size: 300 B
    indexes:
      byRegion: { regionPK: "R#{region}", regionSK: "{status}" }
indexes: { byRegion: { project: all } }
patterns:
  add: { update: Summary, by: [status, region], add: [total], rate: 10/s }
  of: { query: Summary, by: status, limit: 20, paged: true, rate: 10/s, consistency: eventual }
  here: { query: Summary, by: region, limit: 20, paged: true, rate: 10/s, consistency: eventual }
"#;

#[test]
fn there_are_no_more_shards_than_values() {
    let found = found(REGIONS, 6);
    let lines: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [line_of(REGIONS, "PK: \"{status}\""), line_of(REGIONS, "R#{region}")]);
    let [(_, table), (_, index)] = found.as_slice() else { panic!("two findings") };
    assert!(help(table).contains("`{status}#{shard(region, 4)}`"), "{}", help(table));
    assert!(help(index).contains("`R#{region}#{shard(status, 10)}`"), "{}", help(index));
    let text =
        followed(REGIONS, table, "{status}").replace("\"{status}#{shard(region, 4)}\" }", "\"{status}\" }");
    nothing(&text, &[31]);
    nothing(&followed(REGIONS, index, "R#{region}"), &[31]);
}

/// No pattern asks the index for one item, so the writer may draw the shard.
#[test]
fn an_index_whose_items_differ_in_little_gets_a_shard_that_is_drawn() {
    let few = REGIONS.replace("status: { distinct: 12 }", "status: { distinct: 3 }");
    let found = found(&few, 6);
    let (_, index) = found.last().expect("a finding");
    assert!(help(index).contains("`R#{region}#{random(10)}`"), "{}", help(index));
    nothing(&followed(&few, index, "R#{region}"), &[31]);
}
