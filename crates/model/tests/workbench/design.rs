//! From access patterns to keys: what is chosen, what it costs, and what is refused.

use std::path::{Path, PathBuf};

use model::design::{Design, Indexes, Options, Price, design};
use model::facts::Facts;
use model::plan::{Plan, plan};
use model::{Diagnostic, Level, Model, Source, check, file};

fn read(path: &str, text: &str) -> Model {
    let source = Source::new(path, text);
    let reading = file::read(&source);
    let shown = model::diagnostic::text(&source, &reading.diagnostics, false);
    reading.model.unwrap_or_else(|| panic!("{shown}"))
}

fn examples(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(folder);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn example(path: &str) -> Model {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(path);
    read(path, &std::fs::read_to_string(file).unwrap())
}

fn designed_with(model: &Model, options: &Options) -> Design {
    match design(model, &Facts::embedded(), options) {
        Ok(design) => design,
        Err(problems) => {
            let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
            panic!("{}: {messages:?}", model.name.value)
        }
    }
}

fn designed(model: &Model) -> Design {
    designed_with(model, &Options::default())
}

fn price(model: &Model) -> Price {
    let plans: Vec<Plan> = model.patterns.iter().map(|pattern| plan(model, pattern)).collect();
    Price::on_demand(model, &plans, &Facts::embedded()).unwrap().0
}

fn errors(model: &Model) -> Vec<Diagnostic> {
    check::check(model)
        .into_iter()
        .filter(|finding| finding.level == Level::Error && finding.allowed.is_none())
        .collect()
}

/// Errors and warnings that the file does not allow.
fn open_findings(model: &Model) -> Vec<String> {
    let open = |one: &Diagnostic| one.level != Level::Info && one.allowed.is_none();
    let shown = |one: Diagnostic| {
        let rule = one.rule.map(|rule| rule.to_string()).unwrap_or_default();
        format!("{rule} {}", one.message)
    };
    check::check(model).into_iter().filter(open).map(shown).collect()
}

fn keys(design: &Design, entity: &str) -> String {
    let model = &design.model;
    let id = model.entity_named(entity).unwrap();
    let entity = model.entity(id);
    let table = entity.key_templates().map(ToString::to_string).collect::<Vec<_>>().join(" / ");
    let indexes = entity.entries.iter().map(|entry| {
        let keys = entry.templates().map(ToString::to_string).collect::<Vec<_>>().join(" / ");
        let when = entry.when.as_ref().map(|when| format!(" when {when}")).unwrap_or_default();
        format!("{}: {keys}{when}", model.table_of(entity).index(entry.index).name.value)
    });
    std::iter::once(table).chain(indexes).collect::<Vec<_>>().join("; ")
}

const ORDERS: &str = "designs/order-management.yaml";
const LEADERBOARD: &str = "designs/leaderboard.yaml";
const SUPPORT_DESK: &str = "designs/support-desk.yaml";

#[test]
fn orders_are_stored_with_their_lines_and_the_queue_of_open_ones_has_three_shards() {
    let design = designed(&example(ORDERS));
    assert_eq!(keys(&design, "Customer"), "CUSTOMER#{customerId} / CUSTOMER");
    assert_eq!(keys(&design, "LineItem"), "ORDER#{orderId} / LINE_ITEM#{line:02}");
    assert_eq!(
        keys(&design, "Order"),
        "ORDER#{orderId} / ORDER; \
         GSI1: CUSTOMER#{customerId} / {createdAt}#{orderId}; \
         GSI2: CUSTOMER_STATUS#{customerId}#{status} / {createdAt}#{orderId}; \
         GSI3: ORDER#OPEN#{shard(orderId, 3)} / {createdAt}#{orderId} when status = OPEN"
    );
}

#[test]
fn the_ranking_of_a_season_has_four_shards_and_shares_its_index_with_handles() {
    let design = designed(&example(LEADERBOARD));
    assert_eq!(
        keys(&design, "Standing"),
        "PLAYER#{playerId} / STANDING#{season}; GSI1: SEASON#{season}#{shard(playerId, 4)} / {rating:04}#{playerId}"
    );
    assert_eq!(keys(&design, "Player"), "PLAYER#{playerId} / PLAYER; GSI1: HANDLE#{handle} / {playerId}");
    assert_eq!(keys(&design, "Match"), "PLAYER#{playerId} / MATCH#{playedAt}#{matchId}");
}

/// The keys of the order-management guide, with an index that lets its A3 be one request.
fn guide(model: &Model) -> Model {
    let text = file::write(model, &file::Comments::new());
    let text = text
        .replace("table: { name: app-main,", "table: { name: app-main, partition: PK, sort: SK,")
        .replace("    id: customerId\n", "    key: { PK: \"CUST#{customerId}\", SK: PROFILE }\n")
        .replace(
            "    id: orderId\n",
            r#"    key: { PK: "CUST#{customerId}", SK: "ORDER#{createdAt}#{orderId}" }
    indexes:
      GSI1: { GSI1PK: "CUST#{customerId}#{status}", GSI1SK: "{createdAt}#{orderId}" }
      GSI2: { when: status = OPEN, GSI2PK: "OPEN#{shard(orderId, 3)}", GSI2SK: "{createdAt}#{orderId}" }
      GSI3: { GSI3PK: "ORDER#{orderId}", GSI3SK: META }
"#,
        )
        .replace(
            "    id: [orderId, line]\n",
            r#"    key: { PK: "ORDER#{orderId}", SK: "ITEM#{line:03}" }
    indexes:
      GSI3: { GSI3PK: "ORDER#{orderId}", GSI3SK: "ITEM#{line:03}" }
"#,
        );
    let text = format!(
        "{text}indexes: {{ GSI1: {{ project: [total] }}, GSI2: {{ project: keys }}, GSI3: {{ project: all }} }}\n"
    );
    read("guide", &text)
}

#[test]
fn the_design_of_orders_is_cheaper_than_the_guides_own_keys() {
    let model = example(ORDERS);
    let by_hand = guide(&model);
    for pattern in &by_hand.patterns {
        assert!(plan(&by_hand, pattern).is_sound(), "{}", pattern.id.value);
    }
    assert!(designed(&model).price.total() < price(&by_hand).total());
}

#[test]
fn the_design_of_the_leaderboard_costs_no_more_than_keys_chosen_by_hand() {
    let by_hand = example("models/m05-leaderboard.yaml");
    assert!(designed(&example(LEADERBOARD)).price.total() <= price(&by_hand).total());
}

/// Labels are a few bytes longer or shorter than those a person chose.
const LABELS: f64 = 1.0001;

/// For small models, a few bytes of labels are more than a ten-thousandth; not more than this, in dollars a month.
const LABELS_AT_LEAST: f64 = 0.2;

#[test]
fn no_example_is_designed_dearer_than_by_hand() {
    for path in examples("models").into_iter().chain(examples("published")) {
        let model = read("model.yaml", &std::fs::read_to_string(&path).unwrap());
        let design = designed(&model);
        let (mine, given) = (design.price.total(), design.given.unwrap().total());
        let bound = (given * LABELS).max(given + LABELS_AT_LEAST);
        assert!(mine <= bound, "{}: {mine} instead of {given}", path.display());
    }
}

#[test]
fn the_rules_find_nothing_in_what_is_designed() {
    for folder in ["models", "designs", "published"] {
        for path in examples(folder) {
            let model = read("model.yaml", &std::fs::read_to_string(&path).unwrap());
            for indexes in [Indexes::Overloaded, Indexes::Named] {
                let design = designed_with(&model, &Options { indexes, ..Options::default() });
                let mut open = open_findings(&design.model);
                // With an index for each purpose there may be many.
                open.retain(|one| indexes != Indexes::Named || !one.starts_with("R18 "));
                assert!(open.is_empty(), "{}: {open:?}\n{}", path.display(), design.text);
                assert!(design.hot.is_empty(), "{}: {:?}", path.display(), design.hot);
            }
        }
    }
}

#[test]
fn designs_have_no_errors_and_give_a_reason_for_every_choice() {
    for name in [ORDERS, LEADERBOARD] {
        let design = designed(&example(name));
        assert!(errors(&design.model).is_empty(), "{:?}", errors(&design.model));
        assert!(design.notes.is_empty(), "{:?}", design.notes);
        assert!(design.complete);
        assert!(design.choices.iter().all(|choice| choice.reason.ends_with('.')), "{:?}", design.choices);
        let next = design.next_best.unwrap();
        assert!(next.more >= 0.0 && !next.differences.is_empty());
        assert!(design.text.contains("# Serves "));
    }
}

#[test]
fn the_same_patterns_give_the_same_design() {
    assert_eq!(designed(&example(ORDERS)).text, designed(&example(ORDERS)).text);
}

#[test]
fn more_indexes_on_the_front_always_cost_less() {
    let design = designed(&example(ORDERS));
    let falls = design
        .front
        .windows(2)
        .all(|pair| pair[0].indexes < pair[1].indexes && pair[0].price.total() > pair[1].price.total());
    assert!(falls && !design.front.is_empty(), "{:?}", design.front);
}

#[test]
fn named_indexes_serve_one_purpose_each() {
    let options = Options { indexes: Indexes::Named, ..Options::default() };
    let design = designed_with(&example(LEADERBOARD), &options);
    let names: Vec<&str> =
        design.model.tables[0].indexes.iter().map(|index| index.name.value.as_str()).collect();
    assert_eq!(names, ["PlayerByHandle", "StandingBySeason"]);
}

fn small(entities: &str, patterns: &str) -> Model {
    read("small.yaml", &format!("model: small\nentities:\n{entities}\npatterns:\n{patterns}\n"))
}

#[test]
fn what_changes_is_no_part_of_the_tables_key() {
    let model = small(
        "  Ticket: { id: ticketId, attributes: { status: [NEW, DONE] }, count: 1K, size: 1 KB }",
        "  P: { query: Ticket, by: status, rate: 900/s, returns: 5 }
  U: { update: Ticket, by: ticketId, set: [status], rate: 1/s }",
    );
    assert!(keys(&designed(&model), "Ticket").starts_with("TICKET#{ticketId}; GSI1: STATUS#{status}"));
}

#[test]
fn a_key_is_made_of_what_every_writer_knows() {
    let by = |knows: &str| {
        let model = small(
            "  Note: { id: noteId, attributes: { owner: string, at: timestamp }, count: 1M, size: 1 KB }",
            &format!(
                "  Q: {{ query: Note, by: owner, order: at, rate: 10/s, returns: 5 }}
  U: {{ update: Note, by: noteId, set: [text]{knows}, rate: 10/s }}"
            ),
        );
        keys(&designed(&model), "Note")
    };
    assert_eq!(by(""), "NOTE#{noteId}; GSI1: OWNER#{owner} / {at}#{noteId}");
    assert_eq!(by(", knows: [owner, at]"), "OWNER#{owner} / NOTE#{at}#{noteId}");
}

#[test]
fn who_is_not_read_with_a_collection_stays_out_of_it() {
    let model = small(
        "  Cart: { id: cartId, count: 1M, size: 1 KB }
  Line: { id: [cartId, line], attributes: { line: number }, count: 5 per Cart, size: 1 KB }
  Audit: { id: [cartId, at], attributes: { at: timestamp }, count: 50 per Cart, size: 1 KB }",
        "  whole: { query: [Cart, Line], by: cartId, rate: 100/s, returns: 6 }
  audits: { query: Audit, by: cartId, order: at, rate: 1/s, returns: 50 }",
    );
    let design = designed(&model);
    assert_eq!(keys(&design, "Line"), "CART#{cartId} / LINE#{line:010}");
    assert_eq!(keys(&design, "Audit"), "AUDIT_CART#{cartId} / AUDIT#{at}");
}

#[test]
fn large_collections_that_no_pattern_uses_together_have_partitions_of_their_own() {
    let model = small(
        "  Device: { id: deviceId, count: 5K, size: 500 B }
  Reading: { id: [deviceId, at], attributes: { at: timestamp }, count: 500K per Device, size: 100 B }
  Alert: { id: [deviceId, at], attributes: { at: timestamp }, count: 5K per Device, size: 300 B }",
        "  device: { get: Device, by: deviceId, rate: 30/s }
  readings: { query: Reading, by: deviceId, order: at desc, limit: 10, returns: 10, rate: 30/s }
  alerts: { query: Alert, by: deviceId, order: at desc, limit: 10, returns: 10, rate: 30/s }",
    );
    let design = designed(&model);
    assert_eq!(keys(&design, "Reading"), "DEVICE#{deviceId} / READING#{at}");
    assert_eq!(keys(&design, "Alert"), "ALERT_DEVICE#{deviceId} / ALERT#{at}");
    assert!(!open_findings(&design.model).iter().any(|one| one.starts_with("R17")));
}

#[test]
fn a_table_whose_partitions_hold_one_item_each_has_no_sort_key() {
    let model = small(
        "  Session: { id: sessionId, attributes: { sessionId: uuid, user: { distinct: 100K } }, count: 1M, size: 500 B }
  Token: { id: tokenId, count: 1M, size: 100 B }",
        "  session: { get: Session, by: sessionId, rate: 30/s }
  of-user: { query: Session, by: user, returns: 3, rate: 3/s }
  token: { get: Token, by: tokenId, rate: 30/s }",
    );
    let design = designed(&model);
    assert_eq!(keys(&design, "Session"), "SESSION#{sessionId}; GSI1: USER#{user} / {sessionId}");
    assert_eq!(keys(&design, "Token"), "TOKEN#{tokenId}");
    assert!(design.text.contains("table: { name: small, partition: PK, billing"), "{}", design.text);
}

const FORUM: &str = "  Thread: { id: threadId, attributes: { threadId: ulid, board: { distinct: 200 }, replies: { type: number, min: 0 }, pinnedAt: { type: timestamp, present: 1% } }, count: 1M, size: 500 B }
  Reply: { id: [threadId, replyId], attributes: { replyId: ulid, author: { distinct: 100K }, unseen: { present: 2% } }, count: { typical: 30, max: 5K, per: Thread }, size: 1 KB }
  Tally: { id: board, attributes: { board: { distinct: 200 }, posts: number }, count: 200, size: 100 B }";
const FORUM_PATTERNS: &str = "  thread: { get: Thread, by: threadId, rate: 300/s }
  pinned: { query: Thread, by: board, where: exists pinnedAt, order: pinnedAt desc, limit: 10, returns: 5, rate: 50/s }
  replies: { query: Reply, by: threadId, limit: 30, returns: 30, rate: 200/s }
  unseen: { query: Reply, by: author, where: exists unseen, limit: 20, returns: 6, rate: 5/s }
  tally: { get: Tally, by: board, rate: 10/s }
  say: { transact: [create Reply, { update: Thread, by: threadId, add: [replies], if: exists }, { update: Tally, by: board, add: [posts] }], rate: 40/s }
  pin: { update: Thread, by: threadId, knows: [board], set: [pinnedAt], if: exists, rate: 1/min }";

#[test]
fn counters_are_added_to_in_transactions_and_optional_attributes_make_indexes_sparse() {
    let design = designed(&small(FORUM, FORUM_PATTERNS));
    assert_eq!(
        keys(&design, "Thread"),
        "THREAD#{threadId} / THREAD; GSI1: TALLY#{board} / {pinnedAt}#{threadId} when exists pinnedAt"
    );
    // What makes it sparse need not be in its key.
    assert_eq!(
        keys(&design, "Reply"),
        "THREAD#{threadId} / REPLY#{replyId}; GSI1: AUTHOR#{author} / {threadId}#{replyId} when exists unseen"
    );
    assert_eq!(keys(&design, "Tally"), "TALLY#{board} / TALLY");
    assert!(design.model.patterns.iter().all(|pattern| plan(&design.model, pattern).is_sound()));
}

/// 10,000 readers a second of the 10 newest of 20 boards: 5,000 units on each board's key in the worst case.
fn news(cached: &str) -> Model {
    small(
        "  News: { id: newsId, attributes: { newsId: ulid, board: { distinct: 20, skew: top 50% } }, count: 1M, size: 400 B }",
        &format!(
            "  newest: {{ query: News, by: board, order: newsId desc, limit: 10, returns: 10, rate: 10K/s, skew: top 50%{cached} }}
  add: {{ create: News, rate: 1/s }}"
        ),
    )
}

#[test]
fn what_no_keys_cure_is_reported_with_what_does_and_its_price() {
    let design = designed(&news(""));
    assert!(keys(&design, "News").contains("BOARD#{board} /"), "{}", keys(&design, "News"));
    let [hot] = design.hot.as_slice() else { panic!("{:?}", design.hot) };
    assert!(hot.contains("`cached: 16%`") && hot.contains("keep 2 copies of what is read most"), "{hot}");
    assert!(hot.contains("a month)"), "{hot}");
    assert!(designed(&news(", cached: 20%")).hot.is_empty());
}

const NOTES: &str = "  Note: { id: noteId, attributes: { owner: { distinct: 1K }, noteId: ulid, at: timestamp, title: string }, count: 1M, size: 1 KB }";
const NOTES_IN_TWO_ORDERS: &str =
    "  T: { query: Note, by: owner, order: title, consistency: strong, rate: 10/s, returns: 5 }
  A: { query: Note, by: owner, order: at, consistency: strong, rate: 10/s, returns: 5 }
  U: { update: Note, by: [owner, noteId], set: [text], rate: 10/s }";

#[test]
fn strong_reads_in_another_order_take_a_local_index() {
    let design = designed(&small(NOTES, NOTES_IN_TWO_ORDERS));
    assert_eq!(
        keys(&design, "Note"),
        "OWNER#{owner} / NOTE#{noteId}; \
         LSI1: OWNER#{owner} / {title}#{noteId}; \
         LSI2: OWNER#{owner} / {at}#{noteId}"
    );
    assert!(design.text.contains("LSI1: { type: local, sort: LSI1SK"), "{}", design.text);
    let reason = &design.choices.iter().find(|choice| choice.about == "LSI1").unwrap().reason;
    assert!(reason.contains("at most 10 GB; the largest has about 3.2 MB"), "{reason}");
}

#[test]
fn a_local_index_is_not_made_for_what_any_index_serves() {
    let design = designed(&small(NOTES, &NOTES_IN_TWO_ORDERS.replace("consistency: strong, ", "")));
    assert_eq!(
        keys(&design, "Note"),
        "NOTE#{noteId}; \
         GSI1: OWNER#{owner} / {title}#{noteId}; \
         GSI2: OWNER#{owner} / {at}#{noteId}"
    );
}

#[test]
fn no_local_index_is_made_for_more_than_ten_gigabytes_under_a_key() {
    let large = NOTES.replace("distinct: 1K", "distinct: 10").replace("count: 1M", "count: 100M");
    let none = "no key serves `T` with one request";
    assert!(refusals(&small(&large, NOTES_IN_TWO_ORDERS)).contains(&none.to_owned()));
}

const TICKETS: &str = "  Ticket: { id: ticketId, attributes: { ticketId: ulid, owner: { distinct: 1K }, state: [NEW, DONE], at: timestamp }, count: 1M, size: 1 KB }";
const TICKETS_BY_STATE: &str = "  Q: { query: Ticket, by: [owner, state], order: at, rate: 10/s, returns: 5 }
  U: { update: Ticket, by: ticketId, set: [state], rate: 10/s }";

#[test]
fn an_index_that_no_writer_can_compose_keys_for_is_keyed_by_attributes_as_they_are() {
    let design = designed(&small(TICKETS, TICKETS_BY_STATE));
    assert_eq!(keys(&design, "Ticket"), "TICKET#{ticketId}; GSI1: {owner} / {state} / {at} / {ticketId}");
    let declared = "GSI1: { partition: [owner, state], sort: [at, ticketId], project: all }";
    assert!(design.text.contains(declared), "{}", design.text);
    let reason = &design.choices.iter().find(|choice| choice.about == "GSI1").unwrap().reason;
    assert!(reason.contains("no writer has to compose a key"), "{reason}");
}

#[test]
fn attributes_as_they_are_key_no_index_that_others_would_be_in_too() {
    let log = "\n  Log: { id: logId, attributes: { ticketId: ulid, owner: string, state: string, at: timestamp }, count: 1M, size: 1 KB }";
    let composed = "GSI1: STATE#{state} / {owner}#{at}#{ticketId}";
    let beside_others = designed(&small(&format!("{TICKETS}{log}"), TICKETS_BY_STATE));
    assert!(keys(&beside_others, "Ticket").ends_with(composed));
    let other_type =
        log.replace("logId, attributes: { ticketId: ulid", "logId, attributes: { ticketId: number");
    let beside_numbers = designed(&small(&format!("{TICKETS}{other_type}"), TICKETS_BY_STATE));
    assert!(keys(&beside_numbers, "Ticket").ends_with(composed));
}

#[test]
fn numbers_below_zero_are_ordered_as_numbers() {
    let model = small(
        "  Reading: { id: readingId, attributes: { site: { distinct: 1K }, celsius: { type: number, min: -40, max: 60 } }, count: 1M, size: 1 KB }",
        "  Q: { query: Reading, by: site, order: celsius, rate: 10/s, returns: 5 }
  W: { create: Reading, rate: 10/s }",
    );
    let design = designed(&model);
    assert!(
        keys(&design, "Reading").ends_with("GSI1: {site} / {celsius} / {readingId}"),
        "{}",
        keys(&design, "Reading")
    );
    assert!(design.text.contains("celsius: number, readingId: string"), "{}", design.text);
}

#[test]
fn named_indexes_are_keyed_by_attributes_as_they_are_where_that_serves() {
    let options = Options { indexes: Indexes::Named, ..Options::default() };
    let design = designed_with(&example(ORDERS), &options);
    assert_eq!(
        keys(&design, "Order"),
        "ORDER#{orderId} / ORDER; \
         OrderByCustomer: {customerId} / {createdAt} / {orderId}; \
         OrderByCustomerStatus: {customerId} / {status} / {createdAt} / {orderId}; \
         OrderOpen: ORDER#OPEN#{shard(orderId, 3)} / {createdAt}#{orderId} when status = OPEN"
    );
}

#[test]
fn a_support_desk_has_local_indexes_for_its_agents_and_plain_attributes_for_its_customers() {
    let design = designed(&example(SUPPORT_DESK));
    assert!(errors(&design.model).is_empty(), "{:?}", errors(&design.model));
    assert_eq!(
        keys(&design, "Ticket"),
        "QUEUE#{queueId} / TICKET#{ticketId}; \
         GSI1: {customerId} / {status} / {openedAt} / {queueId} / {ticketId}; \
         LSI1: QUEUE#{queueId} / {openedAt}#{ticketId}; \
         LSI2: QUEUE#{queueId} / {priority:01}#{ticketId}"
    );
}

fn refusals(model: &Model) -> Vec<String> {
    let problems = design(model, &Facts::embedded(), &Options::default()).err().unwrap_or_default();
    problems.into_iter().map(|problem| problem.message).collect()
}

#[test]
fn what_can_not_be_designed_is_reported_where_it_is_written() {
    let nameless = small("  Row: { attributes: [text] }", "  P: { query: Row, by: text }");
    assert_eq!(refusals(&nameless), ["no attribute identifies a `Row`"]);
    let unknown = small("  Row: { id: rowId }", "  U: { update: Row, by: other, set: [text] }");
    assert_eq!(refusals(&unknown), ["no key of `Row` is known to all its writers"]);
    let strong = small(
        "  Row: { id: rowId, attributes: [owner] }",
        "  P: { query: Row, by: owner, consistency: strong }
  U: { update: Row, by: rowId, set: [text] }",
    );
    assert_eq!(refusals(&strong), ["no key serves `P` with one request"]);
    let two_ranges = small("  Row: { id: rowId }", "  P: { query: Row, where: a > :a and b > :b }");
    assert_eq!(refusals(&two_ranges), ["no key serves `P` with one request"]);
}

#[test]
fn a_hot_key_is_sharded_even_if_the_pattern_did_not_think_of_it() {
    let model = small(
        "  Job: { id: jobId, attributes: { state: [WAITING, DONE], at: timestamp }, count: 1M, size: 1 KB }",
        "  next: { query: Job, where: state = WAITING, order: at, limit: 10, returns: 10, rate: 1/s }
  add: { create: Job, set: { state: WAITING }, rate: 1000/s }
  end: { update: Job, by: jobId, set: { state: WAITING -> DONE }, rate: 1000/s }",
    );
    let design = designed(&model);
    assert!(keys(&design, "Job").contains("JOB#WAITING#{shard(jobId, 3)}"), "{}", keys(&design, "Job"));
    assert!(design.notes[0].contains("`next` takes 3 requests"), "{:?}", design.notes);
    assert!(errors(&design.model).iter().all(|error| error.rule.is_some_and(|rule| rule.0 == 5)));
}

#[test]
fn a_pattern_that_would_take_dozens_of_requests_is_not_offered_as_served() {
    let model = small(
        "  Job: { id: jobId, attributes: { state: [WAITING, DONE], at: timestamp }, count: 1M, size: 1 KB }",
        "  next: { query: Job, where: state = WAITING, order: at, limit: 10, returns: 10, rate: 1/s }
  add: { create: Job, set: { state: WAITING }, rate: 20000/s }
  end: { update: Job, by: jobId, set: { state: WAITING -> DONE }, rate: 20000/s }",
    );
    let refused = refusals(&model);
    assert!(refused.iter().any(|one| one.contains("`next` is not served")), "{refused:?}");
}

#[test]
fn what_the_files_own_keys_do_not_serve_is_reported_beside_their_cost() {
    let model = read(
        "model.yaml",
        "model: jobs
table: { name: jobs, partition: PK }
entities:
  Job: { key: { PK: 'JOB#{jobId}' }, attributes: { owner: string }, count: 1K, size: 1 KB }
patterns:
  one: { get: Job, by: jobId, rate: 1/s }
  mine: { query: Job, by: owner, rate: 1/s }
",
    );
    let design = designed(&model);
    assert!(design.given.is_some());
    let [unserved] = design.given_unserved.as_slice() else { panic!("{:?}", design.given_unserved) };
    assert!(unserved.starts_with("`mine`: "), "{unserved}");
}

/// Cost, indexes and requests of the keys that experts chose, beside those that are designed.
#[test]
fn the_table_of_experts_designs_is_what_docs_say() {
    check_table_of_docs("models");
}

#[test]
fn the_table_of_published_designs_is_what_docs_say() {
    check_table_of_docs("published");
}

fn check_table_of_docs(folder: &str) {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/design.md"));
    let page = page.unwrap();
    let mut table = String::from(
        "| model | patterns | a month: by experts | designed | indexes: by experts | designed | requests: by experts | designed |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for path in examples(folder) {
        let model = read("model.yaml", &std::fs::read_to_string(&path).unwrap());
        let design = designed(&model);
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let indexes = |model: &Model| model.tables.iter().map(|table| table.indexes.len()).sum::<usize>();
        table += &format!(
            "| {name} | {} | ${:.2} | ${:.2} | {} | {} | {} | {} |\n",
            model.patterns.len(),
            design.given.unwrap().total(),
            design.price.total(),
            indexes(&model),
            indexes(&design.model),
            requests(&model),
            requests(&design.model),
        );
    }
    assert!(page.contains(&table), "docs/design.md needs this table:\n{table}");
}

/// How many requests it takes to do every pattern once.
fn requests(model: &Model) -> u64 {
    let reads = |pattern| plan(model, pattern).reads().map(|read| read.fan_out).max().unwrap_or(1);
    model.patterns.iter().filter(|pattern| pattern.external.is_none()).map(reads).sum()
}

/// Ten entities, three patterns each, several of one entity with another.
fn thirty_patterns() -> Model {
    let (mut entities, mut patterns) = (String::new(), String::new());
    for n in 0..10 {
        entities += &format!(
            "  Thing{n}: {{ id: thing{n}Id, attributes: {{ owner: {{ distinct: 100K }}, state: [A, B, C], at: timestamp, \
             rank: {{ type: number, min: 0, max: 999 }} }}, count: 1M, size: 1 KB }}\n"
        );
        patterns += &format!(
            "  R{n}a: {{ query: Thing{n}, by: [owner, state], order: at desc, limit: 20, returns: 20, rate: {n}0/s, read: [rank] }}
  R{n}b: {{ query: Thing{n}, by: owner, where: rank > :least, limit: 20, returns: 20, rate: 5/s }}
  W{n}: {{ update: Thing{n}, by: thing{n}Id, knows: [owner, at, rank], set: [state], rate: 50/s }}\n"
        );
    }
    small(&entities, &patterns)
}

/// All thirty on one entity: the most entangled there is.
fn thirty_patterns_of_one_entity() -> Model {
    let mut patterns = String::new();
    for n in 0..30 {
        let by = match n % 3 {
            0 => format!("a{}", n / 3),
            1 => format!("[a{}, a{}]", n / 3, (n / 3 + 1) % 10),
            _ => format!("[a{}, a{}, a{}]", n / 3, (n / 3 + 1) % 10, (n / 3 + 2) % 10),
        };
        patterns += &format!("  P{n}: {{ query: Row, by: {by}, limit: 5, returns: 5, rate: {n}/s }}\n");
    }
    small("  Row: { id: rowId, attributes: { at: timestamp }, count: 1M, size: 1 KB }", &patterns)
}

#[test]
fn thirty_patterns_take_few_states() {
    let spread = designed(&thirty_patterns());
    assert!(spread.complete && spread.explored < 2_000, "{}", spread.explored);
    let options = Options { states_max: 2_000, ..Options::default() };
    let entangled = designed_with(&thirty_patterns_of_one_entity(), &options);
    assert!(entangled.explored <= 10 * options.states_max, "{}", entangled.explored);
    assert!(entangled.model.patterns.iter().all(|pattern| plan(&entangled.model, pattern).is_sound()));
}
