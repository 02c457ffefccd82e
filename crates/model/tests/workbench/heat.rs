//! Heat by hand: rates, rows and shares are small enough to follow.

use model::check::check;
use model::diagnostic::RuleId;
use model::facts::Facts;
use model::heat::{
    Cure, CureWay, Cures, DEFAULT_HEADROOM, Growing, Heat, KeyHeat, conflicts, forecasts, heat, shards, svg,
};
use model::plan::plan;
use model::{Model, Source, diagnostic, file};

fn read(text: &str) -> Model {
    let source = Source::new("model.yaml", text);
    let reading = file::read(&source);
    let shown = diagnostic::text(&source, &reading.diagnostics, false);
    reading.model.unwrap_or_else(|| panic!("{shown}"))
}

fn heats(text: &str) -> Vec<Heat> {
    let model = read(text);
    let plans: Vec<_> = model.patterns.iter().map(|pattern| plan(&model, pattern)).collect();
    heat(&model, &plans, &Facts::embedded().limits, DEFAULT_HEADROOM)
}

/// The key of a table or index.
fn key(heats: &[Heat], source: &str, key: &str) -> KeyHeat {
    let heat = heats.iter().find(|heat| heat.name() == source).unwrap();
    let found = heat.keys.iter().find(|one| one.key == key);
    found.unwrap_or_else(|| panic!("no {key} among {:?}", heat.keys)).clone()
}

fn near(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-6 * other.abs().max(1.0), "{one} is not {other}");
}

const ORDERS: &str = r#"
model: orders
table: { name: app-main, partition: PK, sort: SK }
entities:
  Customer: { key: { PK: "CUST#{customerId}", SK: PROFILE }, count: 1M, size: 600 B }
  Order:
    key: { PK: "CUST#{customerId}", SK: "ORDER#{createdAt}#{orderId}" }
    attributes: { createdAt: timestamp, status: [OPEN, SHIPPED] }
    count: 20 per Customer
    size: 1 KB
    indexes:
      GSI2: { when: status = OPEN, GSI2PK: OPEN, GSI2SK: "{createdAt}#{orderId}" }
indexes: { GSI2: { project: keys } }
patterns:
  Create: { create: Order, set: { status: OPEN }, rate: 900/s }
  Ship: { update: Order, set: { status: OPEN -> SHIPPED }, rate: 900/s }
"#;

const OUTBOX: &str = r#"
model: outbox
table: { name: outbox, partition: PK, sort: SK }
entities:
  Event:
    id: eventId
    key: { PK: "E#{eventId}", SK: E }
    attributes: { eventId: ulid, at: timestamp, pending: { optional: true, present: 0.01% } }
    count: 100M
    size: 500 B
    indexes: { out: { when: exists pending, oPK: OUT, oSK: "{at}#{eventId}" } }
indexes: { out: { project: keys } }
patterns:
  add: { create: Event, set: { pending: "1" }, rate: 600/s }
  published: { update: Event, by: eventId, remove: [pending], rate: 600/s }
"#;

/// What enters an index leaves it again, at the rate of the write: 600 and 600, though few are in it at a time.
#[test]
fn leaving_a_sparse_index_is_counted_by_the_rate_of_the_write() {
    let out = key(&heats(OUTBOX), "outbox/out", "OUT");
    near(out.write.peak(), 1_200.0);
    near(out.load, 1.2);
}

/// Events that leave the outbox by being deleted leave it as often as those that an update takes out.
#[test]
fn leaving_a_sparse_index_by_a_delete_is_counted_as_well() {
    let deleted = OUTBOX.replace(
        "published: { update: Event, by: eventId, remove: [pending]",
        "published: { delete: Event, by: eventId",
    );
    let out = key(&heats(&deleted), "outbox/out", "OUT");
    near(out.write.peak(), 1_200.0);
    near(out.load, 1.2);
    // Of 600 an update takes out 500; the last 100 are deleted.
    let both = OUTBOX.replace(
        "rate: 600/s }\n  published",
        "rate: 600/s }\n  drop: { delete: Event, by: eventId, rate: 300/s }\n  published",
    );
    let both = both.replace("remove: [pending], rate: 600/s", "remove: [pending], rate: 500/s");
    near(key(&heats(&both), "outbox/out", "OUT").write.peak(), 1_200.0);
}

/// Without a write that takes items out, as many of the deleted items are in the index as of the created ones.
#[test]
fn what_never_leaves_a_sparse_index_is_deleted_in_proportion() {
    let deleted = OUTBOX.replace(
        "published: { update: Event, by: eventId, remove: [pending]",
        "published: { delete: Event, by: eventId",
    );
    let some = deleted.replace(", set: { pending: \"1\" }", "").replace("present: 0.01%", "present: 25%");
    near(key(&heats(&some), "outbox/out", "OUT").write.peak(), 300.0);
}

const SALES: &str = r#"
model: sales
table: { name: sales, partition: PK, sort: SK }
entities:
  Shop: { id: shop, key: { PK: "SHOP#{shop}", SK: SHOP }, attributes: { shop: { distinct: 200 }, sold: number }, count: 200, size: 300 B }
  Sale: { id: saleId, key: { PK: "SALE#{saleId}", SK: SALE }, attributes: { saleId: ulid, total: number }, count: 50M, size: 300 B }
patterns:
  sell: { transact: [create Sale, { update: Shop, by: shop, add: [sold] }], rate: 900/s, skew: top 40% }
"#;

/// The skew is about shops. Each sale has a key of its own, which gets one write.
#[test]
fn the_skew_of_a_create_falls_on_keys_that_it_shares() {
    let heats = heats(SALES);
    near(key(&heats, "sales", "SHOP#{shop}").write.peak(), 900.0 * 0.4 * 2.0);
    near(key(&heats, "sales", "SALE#{saleId}").write.peak(), 1_800.0 / 50e6);
}

/// 360 transactions a second of 10 ms on one shop: 3.6 / 4.6 find another one under way. Alone on its item, none does.
#[test]
fn transactions_on_one_item_cancel_each_other() {
    let limits = Facts::embedded().limits;
    let found = conflicts(&read(SALES), &limits);
    assert_eq!(found.len(), 1);
    near(found[0].transactions.peak(), 360.0);
    near(found[0].cancelled, 3.6 / 4.6);
    assert!(found[0].is_beyond() && found[0].key == "SHOP#{shop}");
    let even = conflicts(&read(&SALES.replace(", skew: top 40%", "")), &limits);
    near(even[0].cancelled, 0.045 / 1.045);
    assert!(!even[0].is_beyond());
    let single = SALES.replace(
        "transact: [create Sale, { update: Shop, by: shop, add: [sold] }]",
        "update: Shop, add: [sold]",
    );
    assert!(conflicts(&read(&single), &limits).is_empty());
}

/// Ten orders of a customer have its name: each rename is followed by ten writes on the customer's key.
#[test]
fn updates_of_copies_are_heat_where_the_copies_are() {
    let text = r#"
model: den
table: { name: den, partition: PK, sort: SK, stream: new-and-old }
entities:
  Customer: { key: { PK: "C#{customerId}", SK: PROFILE }, attributes: { name: string }, count: 100, size: 500 B }
  Order: { key: { PK: "O#{orderId}", SK: ORDER }, attributes: { customerName: { copy-of: Customer.name, sync: stream } }, count: 10 per Customer, size: 1 KB }
patterns:
  rename: { update: Customer, set: [name], rate: 100/s }
"#;
    let heats = heats(text);
    near(key(&heats, "den", "C#{customerId}").write.peak(), 1.0);
    near(key(&heats, "den", "O#{orderId}").write.peak(), 1.0);
}

/// 900 rows a second enter the index under `OPEN` and 900 leave it: 1,800 WCU, and 1,800 / 700 = 2.57.
#[test]
fn a_queue_of_900_open_orders_a_second_needs_3_shards() {
    let open = key(&heats(ORDERS), "app-main/GSI2", "OPEN");
    near(open.write.peak(), 1_800.0);
    near(open.load, 1.8);
    assert!(open.is_too_hot());
    assert_eq!((open.shards, open.shards_needed), (1, 3));
    let from: Vec<&str> = open.from.iter().map(|one| one.pattern.as_str()).collect();
    assert_eq!(from, ["Create", "Ship"]);
}

/// A million customers share the 1,800 writes of the table: 0.0018 each.
#[test]
fn keys_of_a_million_customers_stay_cold() {
    let customer = key(&heats(ORDERS), "app-main", "CUST#{customerId}");
    near(customer.write.peak(), 0.0018);
    assert_eq!(customer.shards_needed, 1);
}

/// Three shards take 600 each, and three are what is needed still.
#[test]
fn sharding_divides_heat() {
    let sharded = ORDERS.replace("GSI2PK: OPEN", r#"GSI2PK: "OPEN#{shard(orderId, 3)}""#);
    let open = key(&heats(&sharded), "app-main/GSI2", "OPEN#{shard(orderId, 3)}");
    near(open.write.peak(), 600.0);
    assert!(!open.is_too_hot());
    assert_eq!((open.shards, open.shards_needed), (3, 3));
}

/// However many shards there are, together they get the load that one key would get, and the need stays the same.
#[test]
fn any_number_of_shards_divides_heat_by_that_number() {
    let whole = key(&heats(ORDERS), "app-main/GSI2", "OPEN");
    for count in [2u32, 3, 5, 10, 64] {
        let template = format!("OPEN#{{shard(orderId, {count})}}");
        let sharded = ORDERS.replace("GSI2PK: OPEN", &format!("GSI2PK: \"{template}\""));
        let one = key(&heats(&sharded), "app-main/GSI2", &template);
        near(one.write.peak() * f64::from(count), whole.write.peak());
        near(one.load * f64::from(count), whole.load);
        assert_eq!((one.shards, one.shards_needed), (count.into(), whole.shards_needed));
    }
}

const LEADERBOARD: &str = r#"
model: leaderboard
table: { name: game, partition: partitionId, sort: rangeId }
entities:
  Player:
    key: { partitionId: "PLAYER#{playerId}", rangeId: PROFILE }
    attributes:
      season: { type: string, distinct: 20, skew: top 95% }
      rating: number
    count: 1M
    size: 500 B
    indexes:
      GSI: { gsiPartition: "SEASON#{season}", gsiSort: "RATING#{rating:06}#{playerId}" }
indexes: { GSI: { project: keys } }
patterns:
  Rate: { update: Player, by: playerId, knows: [season], set: [rating], rate: 1200/s }
  Top: { query: Player, by: season, order: rating desc, limit: 100, rate: 300/s }
"#;

/// The rating is in the sort key, so each update deletes a row and puts one: 1,200 × 2 × 95 % = 2,280 WCU,
/// and 2,280 / 700 = 3.26.
#[test]
fn a_season_with_1200_new_ratings_a_second_needs_4_shards() {
    let season = key(&heats(LEADERBOARD), "game/GSI", "SEASON#{season}");
    near(season.write.peak(), 2_280.0);
    assert_eq!(season.shards_needed, 4);
    assert!(season.read.peak() > 0.0);
}

#[test]
fn the_shard_count_is_the_larger_of_writes_and_reads() {
    let limits = Facts::embedded().limits;
    assert_eq!(shards(0.0, 0.0, 0.0, 0.7, &limits), 1);
    assert_eq!(shards(700.0, 0.0, 0.0, 0.7, &limits), 1);
    assert_eq!(shards(701.0, 0.0, 0.0, 0.7, &limits), 2);
    assert_eq!(shards(100.0, 4_300.0, 0.0, 0.7, &limits), 3);
    assert_eq!(shards(1_800.0, 0.0, 0.0, 1.0, &limits), 2);
    assert_eq!(shards(2_280.0, 0.0, 0.0, 0.7, &limits), 4);
    // What each shard is asked for anyway leaves less room for the rest, or none.
    assert_eq!(shards(0.0, 4_000.0, 100.0, 0.7, &limits), 2);
    assert_eq!(shards(0.0, 4_000.0, 1_100.0, 0.7, &limits), 4);
    assert_eq!(shards(800.0, 4_000.0, 2_200.0, 0.7, &limits), 2);
}

const NEWS: &str = r#"
model: news
region: us-east-1
table: { name: news, partition: PK, sort: SK }
entities:
  News:
    key: { PK: "BOARD#{board}", SK: "{newsId}" }
    attributes: { board: { distinct: 20 } }
    count: 1M
    size: 400 B
patterns:
  Newest: { query: News, by: board, order: newsId desc, limit: 10, returns: 10, rate: 10K/s, skew: top 50% }
  Add: { create: News, rate: 1/s, skew: top 50% }
"#;

fn cures(text: &str, source: &str, named: &str) -> Vec<Cure> {
    let (model, facts) = (read(text), Facts::embedded());
    let plans: Vec<_> = model.patterns.iter().map(|pattern| plan(&model, pattern)).collect();
    let heats = heat(&model, &plans, &facts.limits, DEFAULT_HEADROOM);
    let heat = heats.iter().find(|heat| heat.name() == source).unwrap();
    Cures::new(&model, &plans, &facts, DEFAULT_HEADROOM).of(heat, &key(&heats, source, named))
}

/// 5,000 reads a second of 4,000 bytes are 2,500 units, of the 2,100 that a key should have. Each shard would be
/// asked for ten items as well. A cache that answers 16 % costs 3 × 730 × $0.04 and saves 16 % of $1,642.50; a copy is
/// half a write a second.
#[test]
fn reads_with_a_limit_are_cured_by_a_cache_or_by_copies_and_not_by_shards() {
    let board = key(&heats(NEWS), "news", "BOARD#{board}");
    near(board.read.peak(), 2_500.0);
    near(board.read_each.peak(), 2_500.0);
    assert_eq!(board.shards_needed, 1);
    let ways = cures(NEWS, "news", "BOARD#{board}");
    assert!(ways.iter().all(|cure| cure.cures), "{ways:?}");
    let [cache, copies] = ways.as_slice() else { panic!("{ways:?}") };
    assert_eq!(cache.way, CureWay::Cache { hit: 0.16 });
    near(cache.monthly.unwrap(), 87.6 - 1_642.5 * 0.16);
    assert_eq!(copies.way, CureWay::Copies { count: 2, write_units: 0.5 });
    near(copies.monthly.unwrap(), 0.5 * 2_628_000.0 * 0.625 / 1e6);
    let text = cache.describe();
    assert_eq!(text, "let a cache answer 16% of it (`cached: 16%`) (saves $175.20 a month)");
}

#[test]
fn what_a_cache_answers_already_is_part_of_what_it_should_answer() {
    let cached = NEWS.replace("rate: 10K/s", "rate: 20K/s, cached: 50%");
    let ways = cures(&cached, "news", "BOARD#{board}");
    assert_eq!(ways[0].way, CureWay::Cache { hit: 0.58 });
    // The nodes are there: only the reads that are saved count.
    near(ways[0].monthly.unwrap(), -1_642.5 * 0.16);
    assert!(
        cures(&NEWS.replace("rate: 10K/s", "rate: 10K/s, cached: 16%"), "news", "BOARD#{board}").is_empty()
    );
}

/// Strong reads reach the table: neither a cache nor a copy answers them.
#[test]
fn nothing_but_the_table_answers_strong_reads() {
    let strong = NEWS.replace("limit: 10,", "limit: 10, consistency: strong,");
    assert!(cures(&strong, "news", "BOARD#{board}").is_empty());
}

/// 1,000 items of 400 bytes are 50 units; a shard of half of them 25. Of two shards each is asked at least half a unit.
#[test]
fn a_whole_collection_is_divided_by_shards_which_cost_what_each_request_takes_at_least() {
    let whole = NEWS
        .replace("order: newsId desc, limit: 10, returns: 10, rate: 10K/s", "returns: 1000, rate: 100/s")
        .replace("count: 1M", "count: 20K");
    let board = key(&heats(&whole), "news", "BOARD#{board}");
    near(board.read_each.peak(), 25.0 * (1_000.0f64 / 64.0 * 400.0 / 4_096.0).ceil());
    assert_eq!(board.shards_needed, 2);
    let ways = cures(&whole, "news", "BOARD#{board}");
    let shards = ways.iter().find(|cure| cure.way == CureWay::Shards { count: 2 }).unwrap();
    assert!(shards.cures && shards.monthly.unwrap() > 0.0, "{ways:?}");
}

/// Ten at once take no more units than two, so readers that go on and on take a fifth of the requests.
#[test]
fn pages_that_fill_a_read_unit_are_cheaper_than_small_ones() {
    let paged =
        NEWS.replace("limit: 10, returns: 10", "limit: 2, returns: { typical: 100, max: 50K }, paged: true");
    let ways = cures(&paged, "news", "BOARD#{board}");
    assert_eq!(ways[0].way, CureWay::Page { limit: 10, instead_of: 2 });
    assert!(ways[0].cures && ways[0].monthly.unwrap() < -1_000.0, "{ways:?}");
}

#[test]
fn r11_names_the_same_cures_the_cheapest_first() {
    let model = read(&NEWS.replace("rate: 10K/s", "rate: 20K/s"));
    let found = check(&model).into_iter().find(|one| one.rule == Some(RuleId(11))).unwrap();
    assert_eq!(
        found.help.as_deref(),
        Some(
            "shards don't help, since a read asks each of them: let a cache answer 58% of it (`cached: 58%`) \
             (saves $1,817.70 a month); or keep 3 copies of what is read most and read one of them, for 1 more \
             write units a second ($1.64 more a month)"
        )
    );
}

/// One item can't be spread, only copied.
#[test]
fn a_single_item_that_is_read_too_much_is_copied_or_cached() {
    let text = ORDERS.to_owned() + "  Read: { get: Customer, by: customerId, rate: 20K/s, skew: top 50% }\n";
    let customer = key(&heats(&text), "app-main", "CUST#{customerId}");
    assert_eq!(customer.shards_needed, 1);
    let ways = cures(&text, "app-main", "CUST#{customerId}");
    assert!(
        ways.iter().any(|cure| matches!(cure.way, CureWay::Copies { count: 3, .. }) && cure.cures),
        "{ways:?}"
    );
}

const STATUS: &str = r#"
model: status
table: { name: jobs, partition: PK }
entities:
  Job:
    key: { PK: "{jobId}" }
    attributes: { status: [WAITING, RUNNING, DONE] }
    count: 1M
    size: 200 B
    indexes: { ByStatus: { status: "{status}" } }
indexes: { ByStatus: { project: keys } }
patterns:
  Add: { create: Job, set: { status: WAITING }, rate: 100/s }
  Start: { update: Job, by: jobId, set: { status: WAITING -> RUNNING }, rate: 100/s }
  Waiting: { query: Job, where: status = WAITING, limit: 1, rate: 10/s }
"#;

/// `WAITING` takes 100 that come and 100 that go; `RUNNING` only those that come. Reads fall on `WAITING`:
/// half a unit, ten times.
#[test]
fn values_that_the_file_lists_are_keys_of_their_own() {
    let heats = heats(STATUS);
    near(key(&heats, "jobs/ByStatus", "WAITING").write.peak(), 200.0);
    near(key(&heats, "jobs/ByStatus", "RUNNING").write.peak(), 100.0);
    near(key(&heats, "jobs/ByStatus", "WAITING").read.peak(), 5.0);
    assert_eq!(heats[1].busiest().unwrap().key, "WAITING");
}

/// Everything written now goes to today's key.
#[test]
fn a_time_bucket_takes_all_that_is_written_now() {
    let events = r#"
model: events
table: { name: events, partition: PK, sort: SK }
entities:
  Event:
    key: { PK: "DAY#{day(at)}", SK: "{at}#{eventId}" }
    attributes: { at: timestamp }
    count: 100M
    size: 2 KB
    growth: 1M per day
patterns:
  Log: { create: Event, rate: { average: 12/s, peak: 600/s } }
"#;
    let today = key(&heats(events), "events", "DAY#{day(at)}");
    near(today.write.peak(), 1_200.0);
    assert_eq!(today.shards_needed, 2);
    // One day of events: a million of 2,048 + 100 bytes.
    let collection = forecasts(&read(events), &Facts::embedded().limits);
    let collection = collection.iter().find(|one| one.growing == Growing::Collection).unwrap();
    near(collection.bytes, 1_000_000.0 * 2_148.0);
    assert!(!collection.enforced && collection.days_left.is_none());
}

/// A pattern's own skew counts for the keys it addresses: 30 % of 5,000 reads at half a unit.
#[test]
fn a_celebrity_is_as_hot_as_the_pattern_says() {
    let text = ORDERS.to_owned() + "  Read: { get: Customer, by: customerId, rate: 5000/s, skew: top 30% }\n";
    near(key(&heats(&text), "app-main", "CUST#{customerId}").read.peak(), 5_000.0 * 0.3 * 0.5);
    let cached = text.replace("top 30%", "top 30%, cached: 80%");
    near(key(&heats(&cached), "app-main", "CUST#{customerId}").read.peak(), 5_000.0 * 0.3 * 0.5 * 0.2);
}

/// However often one item is read, a cache that keeps it for a minute reads it once a minute.
#[test]
fn a_celebrity_that_is_cached_is_read_once_in_the_time_it_is_kept() {
    let text = ORDERS.to_owned()
        + "  Read: { get: Customer, by: customerId, rate: 5000/s, skew: top 30%, cached: 1 min }\n";
    let read = key(&heats(&text), "app-main", "CUST#{customerId}").read.peak();
    near(read, 1_500.0 * 0.5 / (1.0 + 1_500.0 * 60.0));
}

#[test]
fn heat_follows_the_curve() {
    let curve = "{ average: 900/s, curve: [0,0,0,0,0,0,0,0,0,0,0,0,1,1,0,0,0,0,0,0,0,0,0,0] }";
    let text = ORDERS.replace("SHIPPED }, rate: 900/s", &format!("SHIPPED }}, rate: {curve}"));
    let open = key(&heats(&text), "app-main/GSI2", "OPEN");
    near(open.write.0[0], 900.0);
    near(open.write.0[12], 900.0 + 900.0 * 12.0);
}

/// 300 KB that grow by 2 KB each day reach 400 KB after 50 days.
#[test]
fn a_growing_list_is_forecast_to_400_kb() {
    let text = r#"
model: rollup
table: { name: shipments, partition: PK }
entities:
  Shipment:
    key: { PK: "SHIPMENT#{shipmentId}" }
    attributes: { events: { type: list, growth: 2 KB per day } }
    count: 1K
    size: 300 KB
"#;
    let forecast = &forecasts(&read(text), &Facts::embedded().limits)[0];
    assert_eq!((forecast.growing, forecast.of.as_str()), (Growing::Item, "Shipment"));
    near(forecast.days_left.unwrap(), 50.0);
    near(forecast.bytes_after(10.0), 320.0 * 1024.0);
}

/// Ten devices with 100,000 readings each, and a million new ones a day: each device doubles every day. A
/// reading takes 900 + 100 bytes and its row in the local index, the device itself 200 + 100.
#[test]
fn a_collection_with_a_local_index_is_forecast_to_10_gb() {
    let text = r#"
model: devices
table: { name: devices, partition: PK, sort: SK }
indexes: { ByLevel: { type: local, partition: PK, sort: level, project: keys } }
entities:
  Device: { key: { PK: "DEVICE#{deviceId}", SK: META }, count: 10, size: 200 B }
  Reading:
    key: { PK: "DEVICE#{deviceId}", SK: "{at}" }
    attributes: { at: timestamp, level: string }
    count: 100K per Device
    size: 900 B
    growth: 1M per day
"#;
    let forecasts = forecasts(&read(text), &Facts::embedded().limits);
    let device = forecasts.iter().find(|one| one.of == "DEVICE#{deviceId}").unwrap();
    assert!(device.enforced);
    near(device.bytes_per_day, device.bytes - 300.0);
    let reading = device.bytes_per_day / 100_000.0;
    assert!((1_100.0 + 30.0..1_100.0 + 120.0).contains(&reading), "{reading}");
    near(device.days_left.unwrap(), (10.0 * 1024f64.powi(3) - device.bytes) / device.bytes_per_day);
}

#[test]
fn the_picture_has_a_row_for_each_key_and_a_cell_for_each_hour() {
    let limits = Facts::embedded().limits;
    let picture = svg("jobs <heat>", &heats(STATUS), &limits);
    assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"));
    assert!(picture.contains("jobs &lt;heat&gt;"));
    assert_eq!(picture.matches("<title>").count(), 24 * 3);
}

/// The examples are sharded as they need to be: none has a key beyond one partition.
#[test]
fn no_example_is_too_hot() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models");
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        for heat in heats(&std::fs::read_to_string(&path).unwrap()) {
            let hot = heat.keys.iter().find(|key| key.is_too_hot());
            assert!(hot.is_none(), "{path:?} {}: {hot:?}", heat.name());
            assert!(heat.keys.iter().all(|key| key.load.is_finite()));
        }
    }
}

#[test]
fn nothing_a_file_says_is_too_much_or_too_little() {
    assert!(
        heats("model: bare\nentities: { Thing: {} }\npatterns:\n  Get: { get: Thing, rate: 1/s }\n")[0]
            .keys
            .is_empty()
    );
    let absurd = r#"
model: absurd
table: { name: absurd, partition: PK }
indexes: { Wide: { partition: [a, b], project: keys } }
entities:
  Thing:
    key: { PK: "{thingId}" }
    attributes: { thingId: { distinct: 0, skew: zipf 40 }, level: number }
    count: 0
    size: 1 KB
    growth: 999999999999999999999 per day
    indexes: { Wide: { a: "{shard(thingId, 10000)}", b: "{random(10000)}" } }
patterns:
  Add: { create: Thing, rate: 99999999999999999999/s, skew: zipf 0 }
"#;
    let heats = heats(absurd);
    assert!(heats.iter().flat_map(|heat| &heat.keys).all(|key| key.load.is_finite()));
    let limits = Facts::embedded().limits;
    assert!(forecasts(&read(absurd), &limits).iter().all(|one| one.bytes.is_finite()));
    assert!(svg("absurd", &heats, &limits).ends_with("</svg>\n"));
}
