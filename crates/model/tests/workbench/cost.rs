//! Costs by hand, at the prices of us-east-1: $0.625 and $0.125 for a million writes and reads, $0.00065
//! and $0.00013 for a unit-hour, $0.25 for a GB; a month is 730 hours or 2,628,000 seconds.

use model::cost::{Bill, Cost, CostSettings, Line, Mode, cost, dollars, sum};
use model::facts::Facts;
use model::plan::plan;
use model::{Model, Source, diagnostic, file};

fn read(text: &str) -> Model {
    let source = Source::new("model.yaml", text);
    let reading = file::read(&source);
    let shown = diagnostic::text(&source, &reading.diagnostics, false);
    reading.model.unwrap_or_else(|| panic!("{shown}"))
}

fn cost_with(text: &str, settings: &CostSettings) -> Cost {
    let model = read(text);
    let plans: Vec<_> = model.patterns.iter().map(|pattern| plan(&model, pattern)).collect();
    cost(&model, &plans, &Facts::embedded(), settings).unwrap()
}

fn cost_of(text: &str) -> Cost {
    cost_with(text, &CostSettings::default())
}

fn way(cost: &Cost, mode: Mode, class: &str) -> Bill {
    let found = cost.ways.iter().find(|way| way.mode == mode && way.class == class);
    found.unwrap_or_else(|| panic!("no {} in {class}", mode.name())).bill.clone()
}

fn amount(lines: &[Line], what: &str) -> f64 {
    let found: Vec<&Line> = lines.iter().filter(|line| line.what.contains(what)).collect();
    assert!(!found.is_empty(), "no {what} in {lines:?}");
    sum(found)
}

fn near(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-4 * other.abs().max(1.0), "{one} is not {other}");
}

const SIMPLE: &str = r#"
model: simple
table: { name: simple, partition: PK }
entities:
  Thing: { key: { PK: "{thingId}" }, count: 1M, size: 1 KB }
patterns:
  Get: { get: Thing, by: thingId, rate: 800/s }
  Add: { create: Thing, rate: 100/s }
"#;

/// Reads: 800 × 0.5 × 2,628,000 × 0.125 / 1M = 131.40. Writes: 100 × 1 × 2,628,000 × 0.625 / 1M = 164.25.
/// Storage: 1M × (1,024 + 100) / 2^30 × 0.25 = 0.2617.
#[test]
fn on_demand_is_requests_times_units_times_seconds() {
    let bill = cost_of(SIMPLE).declared;
    near(amount(&bill.throughput, "Get reads"), 131.40);
    near(amount(&bill.throughput, "Add writes"), 164.25);
    near(amount(&bill.storage, "Thing"), 0.2617);
    near(bill.known(), 131.40 + 164.25 + 0.2617);
}

/// 100 a second × 2,628,000 s × (1,024 + 100) B. A declared growth counts instead; what fails or is deleted does not
/// stay, and what expires makes room.
#[test]
fn tables_grow_by_what_is_created() {
    let month = |text: &str| cost_of(text).tables[0].bytes_per_month;
    let all = 100.0 * 2_628_000.0 * 1_124.0;
    near(month(SIMPLE), all);
    near(month(&SIMPLE.replace("rate: 100/s", "rate: 100/s, fails: 10%")), all * 0.9);
    near(month(&format!("{SIMPLE}  Drop: {{ delete: Thing, rate: 40/s }}\n")), all * 0.6);
    near(month(&format!("{SIMPLE}  Drop: {{ delete: Thing, rate: 400/s }}\n")), 0.0);
    near(month(&format!("{SIMPLE}  More: {{ batch: [create Thing × 10], rate: 10/s }}\n")), all * 2.0);
    near(month(&SIMPLE.replace("size: 1 KB", "size: 1 KB, growth: 86400 per day")), all / 100.0);
    let expiring = SIMPLE
        .replace("PK }", "PK, ttl: gone }")
        .replace("size: 1 KB", "size: 1 KB, expires: 1 h, attributes: { gone: epoch }");
    near(month(&expiring), 0.0);
}

/// 400 RCU / 0.7 = 571.4, so 572 × 730 × 0.00013 = 54.28. 100 WCU / 0.7 = 142.9, so 143 × 730 × 0.00065 =
/// 67.85.
#[test]
fn provisioned_is_what_auto_scaling_provides() {
    let bill = way(&cost_of(SIMPLE), Mode::Provisioned, "Standard");
    near(amount(&bill.throughput, "RCU"), 54.2828);
    near(amount(&bill.throughput, "WCU"), 67.8535);
}

const COPIES: &str = r#"
model: den
table: { name: den, partition: PK, sort: SK, stream: new-and-old }
entities:
  Customer: { key: { PK: "C#{customerId}", SK: PROFILE }, attributes: { name: string }, count: 1M, size: 500 B }
  Order:
    key: { PK: "C#{customerId}", SK: "O#{orderId}" }
    attributes: { customerName: { copy-of: Customer.name, sync: stream } }
    count: { typical: 10, max: 20, per: Customer }
    size: 1 KB
patterns:
  rename: { update: Customer, set: [name], rate: 100/s }
"#;

/// 100 renames of one unit and 1,000 updates of orders: 164.25 and 1,642.50; 100 invocations a second at $0.20 a million.
#[test]
fn copies_that_follow_a_stream_are_written_and_paid_for() {
    let bill = cost_of(COPIES).declared;
    near(amount(&bill.throughput, "rename writes"), 164.25);
    near(amount(&bill.throughput, "copies in Order after rename"), 1_642.50);
    near(amount(&bill.other, "invocations of the function that copies Customer"), 52.56);
    near(cost_of(COPIES).patterns[0].write_units, 11.0);
    // A condition that fails is followed by nothing, and a copy of another owner is not written by a function.
    let failing = cost_of(&COPIES.replace("rate: 100/s", "rate: 100/s, fails: 10%")).declared;
    near(amount(&failing.throughput, "copies in Order after rename"), 1_478.25);
    let never = cost_of(&COPIES.replace("sync: stream", "sync: never")).declared;
    near(never.known() - sum(&never.storage), 164.25);
}

/// Standard-IA has no known price in Frankfurt, and neither has recovery: the bill says so, and is never the cheapest.
#[test]
fn a_price_that_is_not_known_is_not_zero() {
    let text = SIMPLE.replace("partition: PK }", "partition: PK, pitr: true, class: infrequent-access }");
    let cost = cost_of(&text.replace("model: simple", "model: simple\nregion: eu-central-1"));
    assert_eq!(cost.declared.total(), None);
    assert_eq!(cost.declared.missing, ["Standard-IA in eu-central-1"]);
    assert!(cost.cheapest().is_none(), "recovery has no known price");
    assert!(cost.unknown.contains(&"Standard-IA") && cost.unknown.contains(&"point-in-time recovery"));
    let known = cost_of(&SIMPLE.replace("model: simple", "model: simple\nregion: eu-central-1"));
    assert_eq!(known.cheapest().map(|way| way.class), Some("Standard"));
    assert!(Facts::embedded().regions["us-east-1"].unknown().is_empty());
}

/// A transaction is charged twice in its own Region, and its item goes to the other one once: 100 × 1,024 B a second.
#[test]
fn what_goes_to_another_region_is_counted_in_bytes() {
    let text = SIMPLE.replace("partition: PK }", "partition: PK, replicas: [eu-west-1] }");
    let both = text.replace("create: Thing,", "transact: [create Thing, { check: Thing, if: exists }],");
    let transfer = |text: &str| amount(&cost_of(text).declared.other, "transfer");
    near(transfer(&text), 100.0 * 1_024.0 * 2_628_000.0 / 1_073_741_824.0 * 0.02);
    near(transfer(&both), transfer(&text));
}

/// For a year a block of 100 WCU is 150 / 12 + 0.0128 × 730 = 21.84 a month; the 43 beyond it are 20.40,
/// which is less than a second block. A block of RCU is 30 / 12 + 0.0025 × 730 = 4.325; the last 72 would
/// be 6.83, so they get a sixth block: 25.95.
#[test]
fn blocks_are_reserved_as_long_as_they_pay() {
    let bill = way(&cost_of(SIMPLE), Mode::ReservedOneYear, "Standard");
    let blocks: Vec<(&str, u64)> = bill.reservations.iter().map(|one| (one.unit, one.blocks)).collect();
    assert_eq!(blocks, [("RCU", 6), ("WCU", 1)]);
    near(amount(&bill.throughput, "WCU"), 12.5 + 9.344 + 20.4035);
    near(amount(&bill.throughput, "RCU"), 25.95);
    near(bill.reservations[1].break_even, (150.0 / 8_760.0 + 0.0128) / 0.065);
    assert!(way(&cost_of(SIMPLE), Mode::ReservedThreeYears, "Standard").known() < bill.known());
}

/// Standard-IA: requests at 0.155 and 0.78, storage at 0.10.
#[test]
fn infrequent_access_has_its_own_prices() {
    let bill = way(&cost_of(SIMPLE), Mode::OnDemand, "Standard-IA");
    near(amount(&bill.throughput, "Get"), 800.0 * 0.5 * 2.628 * 0.155);
    near(amount(&bill.throughput, "Add"), 100.0 * 2.628 * 0.78);
    near(amount(&bill.storage, "Thing"), 0.10468);
}

/// 28.889 of 100 units used: 28.889 × 2,628,000 × 0.625 / 1M = 47.45 = 100 × 730 × 0.00065.
#[test]
fn at_28_9_percent_both_modes_cost_the_same() {
    let text = SIMPLE
        .replace("partition: PK }", "partition: PK, billing: provisioned, read: 1, write: 100 }")
        .replace("100/s", "28.888888889/s");
    let cost = cost_of(&text);
    let writes = |mode: Mode, what: &str| amount(&way(&cost, mode, "Standard").throughput, what);
    near(writes(Mode::Provisioned, "WCU"), 47.45);
    near(writes(Mode::OnDemand, "Add"), 47.45);
    near(cost.break_even.write, 0.28889);
    near(cost.break_even.write_used.unwrap(), 0.28889);
    near(cost.break_even.read, 0.28889);
}

const INDEXED: &str = r#"
model: queue
table: { name: jobs, partition: PK, pitr: true }
entities:
  Job:
    key: { PK: "{jobId}" }
    attributes: { status: { values: { OPEN: 10%, DONE: 90% } }, note: string, at: timestamp }
    count: 1M
    size: 3 KB
    indexes: { Open: { when: status = OPEN, queue: "{status}", at: "{at}" } }
indexes: { Open: { project: keys } }
patterns:
  Add: { create: Job, set: { status: OPEN }, rate: 10/s }
  Finish: { update: Job, by: jobId, set: { status: OPEN -> DONE }, rate: 10/s }
  Note: { update: Job, by: jobId, set: [note], rate: 10/s }
"#;

/// Each write takes 3 WRU in the table. One row enters the index and one leaves it, a note touches none:
/// 10 × 1 + 10 × 1 = 20 against 90. A tenth of the items is in the index.
#[test]
fn an_index_is_paid_for_by_the_rows_written_in_it() {
    let cost = cost_of(INDEXED);
    let open = &cost.indexes[0];
    near(open.write_units, 20.0);
    near(open.amplification, 20.0 / 90.0);
    near(cost.tables[0].amplification, 110.0 / 90.0);
    let rows = cost.declared.storage.iter().find(|line| line.what == "storage of Job in jobs/Open").unwrap();
    near(rows.factors[0].value, 100_000.0);
    assert!((100.0..250.0).contains(&rows.factors[1].value), "{rows}");
}

/// 1M × (3,072 + 100) / 2^30 × 0.20 = 0.5908.
#[test]
fn recovery_is_paid_for_by_size() {
    let cost = cost_of(INDEXED);
    near(amount(&cost.declared.other, "point-in-time recovery"), 0.5908);
    assert!(cost.optional.iter().all(|line| !line.what.contains("point-in-time")));
    assert!(cost_of(SIMPLE).optional.iter().any(|line| line.what.contains("point-in-time")));
}

/// Two Regions, each paying 100 rWRU: 164.25 twice. 100 × 1,024 B × 2,628,000 s / 2^30 × 0.02 = 5.01.
#[test]
fn a_replica_is_written_and_stored_once_more() {
    let text = SIMPLE.replace("partition: PK }", "partition: PK, replicas: [us-west-2] }");
    let bill = cost_of(&text).declared;
    near(amount(&bill.throughput, "Add"), 164.25);
    assert!(bill.throughput.iter().any(|line| line.arithmetic().contains("rWRU")));
    near(amount(&bill.other, "us-west-2: Add writes"), 164.25);
    near(amount(&bill.other, "us-west-2: storage"), 0.2617);
    near(amount(&bill.other, "us-west-2: transfer"), 5.0125);
    let unknown = cost_of(&text.replace("us-west-2", "mars-1")).declared;
    assert_eq!(unknown.missing, ["a replica in mars-1"]);
}

/// Replicated writes can't be reserved: only reads are.
#[test]
fn replicated_writes_are_not_reserved() {
    let text = SIMPLE.replace("partition: PK }", "partition: PK, replicas: [us-west-2] }");
    let bill = way(&cost_of(&text), Mode::ReservedOneYear, "Standard");
    let blocks: Vec<u64> = bill.reservations.iter().map(|one| one.blocks).collect();
    assert_eq!(blocks, [6, 0]);
    near(amount(&bill.throughput, "WCU of simple"), 67.8535);
}

/// One reader asks the one shard each second: 2,628,000 × 0.02 / 100,000 = 0.5256.
#[test]
fn readers_of_a_stream_are_paid_for_unless_they_are_functions() {
    let text = SIMPLE.replace("partition: PK }", "partition: PK, stream: new-and-old }");
    let with = cost_with(&text, &CostSettings { stream_readers: 1, ..CostSettings::default() });
    near(amount(&with.declared.other, "stream"), 0.5256);
    assert!(cost_of(&text).declared.other.is_empty());
}

#[test]
fn amounts_are_printed_as_money() {
    let printed = [0.0, -0.0, 0.004, 0.82, 1_234_567.891].map(dollars);
    assert_eq!(printed, ["$0.00", "$0.00", "$0.004", "$0.82", "$1,234,567.89"]);
    assert_eq!(dollars(sum(&[])), "$0.00");
}

#[test]
fn the_dearest_pattern_comes_first() {
    let cost = cost_of(SIMPLE);
    let names: Vec<&str> = cost.patterns.iter().map(|one| one.pattern.as_str()).collect();
    assert_eq!(names, ["Add", "Get"]);
    near(cost.patterns[0].share, 164.25 / (164.25 + 131.40));
    near(cost.patterns.iter().map(|one| one.share).sum::<f64>(), 1.0);
}

#[test]
fn what_a_cache_answers_costs_nothing() {
    let cached = SIMPLE.replace("rate: 800/s", "rate: 800/s, cached: 75%");
    near(amount(&cost_of(&cached).declared.throughput, "Get"), 131.40 / 4.0);
    let both = SIMPLE.replace("rate: 800/s", "rate: 800/s, cached: { ttl: 5m, hit: 75% }");
    near(amount(&cost_of(&both).declared.throughput, "Get"), 131.40 / 4.0);
}

/// Three nodes at $0.04 for 730 hours; what is cached already is not saved again.
#[test]
fn a_cache_has_its_price_and_what_it_would_save_is_reported() {
    let cost = cost_of(SIMPLE);
    assert!(!cost.declared.lines().any(|line| line.what.contains("DAX")));
    let saving = &cost.cache_savings[0];
    assert_eq!(saving.pattern, "Get");
    let items = read(SIMPLE).items(model::model::EntityId(0)).unwrap();
    near(saving.hit_share, 1.0 - 1.0 / (1.0 + 240_000.0 / items));
    near(saving.monthly, 131.40 * saving.hit_share);
    near(amount(&cost.optional, "DAX"), 87.60);
    let cached = cost_of(&SIMPLE.replace("rate: 800/s", "rate: 800/s, cached: 5m"));
    assert!(cached.cache_savings.is_empty());
    near(amount(&cached.declared.other, "DAX on dax.t3.small"), 3.0 * 730.0 * 0.04);
    let elsewhere = CostSettings { region: Some("eu-west-1".to_owned()), ..CostSettings::default() };
    let text = SIMPLE.replace("rate: 800/s", "rate: 800/s, cached: 5m");
    assert_eq!(cost_with(&text, &elsewhere).declared.missing, ["DAX nodes in eu-west-1"]);
}

/// 800 reads a second of N items are 800 / N for each; with an answer kept for 300 s, 1 of 1 + 240,000 / N misses.
#[test]
fn what_a_cache_answers_follows_from_how_long_it_keeps_an_answer() {
    let cached = SIMPLE.replace("rate: 800/s", "rate: 800/s, cached: 5m");
    let items = read(&cached).items(model::model::EntityId(0)).unwrap();
    near(amount(&cost_of(&cached).declared.throughput, "Get"), 131.40 / (1.0 + 240_000.0 / items));
    let strong = SIMPLE.replace("rate: 800/s", "rate: 800/s, cached: 5m, consistency: strong");
    near(amount(&cost_of(&strong).declared.throughput, "Get"), 2.0 * 131.40);
}

#[test]
fn a_region_without_prices_is_named_with_those_that_have_them() {
    let model = read(SIMPLE);
    let settings = CostSettings { region: Some("mars-1".to_owned()), ..CostSettings::default() };
    let plans: Vec<_> = model.patterns.iter().map(|pattern| plan(&model, pattern)).collect();
    let unknown = cost(&model, &plans, &Facts::embedded(), &settings).unwrap_err();
    assert_eq!(unknown.region, "mars-1");
    assert!(unknown.known.contains(&"us-east-1".to_owned()));
    let frankfurt = cost_of(&SIMPLE.replace("model: simple", "model: simple\nregion: eu-central-1"));
    near(amount(&frankfurt.declared.throughput, "Add"), 262.8 * 0.7625);
    assert!(frankfurt.ways.iter().all(|way| way.class == "Standard"), "there are no other prices");
}

/// Reads a printed line as a person would: numbers between × and ÷, up to the equals sign.
fn redone(line: &str) -> (f64, f64) {
    let number = |text: &str| -> f64 {
        let word = text.trim().trim_start_matches('$').split(' ').next().unwrap();
        word.replace(',', "").parse().unwrap_or_else(|_| panic!("{word} in {line}"))
    };
    let (_, sum) = line.rsplit_once(": ").unwrap();
    let (factors, result) = sum.split_once(" = ").unwrap();
    let product = factors.split(" × ").map(|factor| {
        let mut parts = factor.split(" ÷ ");
        let first = number(parts.next().unwrap());
        parts.fold(first, |value, divisor| value / number(divisor))
    });
    (product.product(), number(result))
}

#[test]
fn every_printed_line_can_be_redone_by_hand() {
    let text = INDEXED.replace("pitr: true", "pitr: true, stream: keys, replicas: [us-west-2]");
    let mut lines = 0;
    for text in [SIMPLE, INDEXED, &text] {
        let cost = cost_with(text, &CostSettings { stream_readers: 2, ..CostSettings::default() });
        for bill in cost.ways.iter().map(|way| &way.bill).chain([&cost.declared]) {
            for line in bill.lines() {
                let (product, printed) = redone(&line.to_string());
                assert!((product - printed).abs() <= 0.005 + 1e-6 * product, "{line}: {product}");
                lines += 1;
            }
            near(bill.known(), bill.lines().map(Line::amount).sum());
        }
    }
    assert!(lines > 100, "{lines}");
}

/// `24 × 572 = 13,728`, or each hour that differs.
#[test]
fn the_hours_of_a_supply_add_up_to_its_line() {
    let curved = SIMPLE.replace(
        "rate: 100/s",
        "rate: { average: 100/s, curve: [1,1,1,1,1,1,2,4,8,9,9,9,9,9,9,9,8,7,6,5,4,3,2,1] }",
    );
    for supply in [SIMPLE, &curved].into_iter().flat_map(|text| cost_of(text).capacity) {
        let hours = supply.hours();
        let (runs, printed) = hours.split_once(" = ").unwrap();
        let number = |text: &str| text.replace(',', "").parse::<u64>().unwrap();
        let run = |run: &str| run.split(" × ").map(number).product::<u64>();
        assert_eq!(runs.split(" + ").map(run).sum::<u64>(), number(printed), "{hours}");
        assert_eq!(number(printed), supply.provisioned.unit_hours());
    }
}

#[test]
fn more_requests_never_cost_less() {
    let mut chance = fastrand::Rng::with_seed(7);
    for _ in 0..12 {
        let weights: Vec<String> = (0..24).map(|_| chance.u32(0..50).to_string()).collect();
        let average = f64::from(chance.u32(1..5_000));
        let more = average * (1.0 + chance.f64());
        let text = |average: f64| {
            let rate = format!("{{ average: {average}/s, curve: [{}] }}", weights.join(", "));
            INDEXED.replacen("rate: 10/s", &format!("rate: {rate}"), 2)
        };
        let (less, more) = (cost_of(&text(average)), cost_of(&text(more)));
        assert!(less.declared.known() < more.declared.known());
        let flat = |rate: f64| {
            way(&cost_of(&SIMPLE.replace("800/s", &format!("{rate}/s"))), Mode::Provisioned, "Standard")
        };
        assert!(flat(average).known() <= flat(average * 1.5).known());
    }
}

#[test]
fn everything_is_there_as_json() {
    let json = serde_json::to_value(cost_of(INDEXED)).unwrap();
    assert_eq!(json["region"], "us-east-1");
    assert_eq!(json["declared"]["throughput"][0]["factors"][1]["unit"], "WRU");
    assert!(json["declared"]["total"].as_f64().unwrap() > 0.0);
    assert_eq!(json["ways"][0]["mode"], "on demand");
    assert_eq!(json["capacity"][0]["hours"].as_array().unwrap().len(), 24);
}

#[test]
fn a_model_without_keys_or_rates_has_a_bill_too() {
    let cost = cost_of("model: bare\nentities: { Thing: {} }\npatterns:\n  Get: { get: Thing }\n");
    let noted = |part: &str| cost.notes.iter().any(|note| note.contains(part));
    assert!(noted("without a rate, which cost nothing here: Get"), "{:?}", cost.notes);
    assert!(noted("without a count, which take no storage here: Thing"), "{:?}", cost.notes);
}

/// Absurd figures give absurd amounts, not a panic and not an endless search for blocks.
#[test]
fn nothing_a_file_says_is_too_large() {
    let text = SIMPLE
        .replace("rate: 800/s", "rate: { average: 99999999999999999999/s, peak: 1/s }")
        .replace("rate: 100/s", "rate: 0/s")
        .replace("partition: PK }", "partition: PK, read: { min: 0, max: 999999999999999, target: 0% } }");
    let cost = cost_of(&text);
    assert!(cost.ways.iter().all(|way| way.bill.known().is_finite()));
}

/// Each is priced, and each of its printed lines can be redone.
#[test]
fn every_example_has_a_bill() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let models: Vec<_> = files.filter(|path| path.extension().is_some_and(|one| one == "yaml")).collect();
    assert!(models.len() >= 18);
    for path in models {
        let cost = cost_of(&std::fs::read_to_string(&path).unwrap());
        assert!(cost.declared.known() > 0.0 && cost.declared.missing.is_empty(), "{path:?}");
        for line in cost.ways.iter().flat_map(|way| way.bill.lines()) {
            let (product, printed) = redone(&line.to_string());
            assert!((product - printed).abs() <= 0.005 + 1e-6 * product, "{path:?}: {line}: {product}");
        }
    }
}
