//! Patterns played against the throughput that their table has.

use model::cost::scaling::{policy, simulate as scale};
use model::facts::Facts;
use model::plan::plan;
use model::simulate::{Payment, PlaceRun, Side, Simulation, Traffic, simulate};
use model::traffic::Day;
use model::{Model, Source, diagnostic, file};

fn read(text: &str) -> Model {
    let source = Source::new("model.yaml", text);
    let reading = file::read(&source);
    let shown = diagnostic::text(&source, &reading.diagnostics, false);
    reading.model.unwrap_or_else(|| panic!("{shown}"))
}

fn play(text: &str, way: Payment, traffic: &Traffic) -> Simulation {
    let model = read(text);
    let plans: Vec<_> = model.patterns.iter().map(|pattern| plan(&model, pattern)).collect();
    simulate(&model, &plans, way, traffic)
}

fn place<'a>(simulation: &'a Simulation, name: &str) -> &'a PlaceRun {
    simulation.places.iter().find(|place| place.name == name).unwrap()
}

/// Units each second, on the average of the last minutes.
fn late(side: &Side, minutes: usize) -> f64 {
    let last = &side.minutes[side.minutes.len() - minutes..];
    last.iter().map(|minute| minute.consumed).sum::<f64>() / (60 * minutes) as f64
}

fn things(table: &str, patterns: &str) -> String {
    format!(
        r#"
model: things
table: {{ name: things, partition: PK, {table} }}
entities:
  Thing: {{ key: {{ PK: "{{thingId}}" }}, count: 1M, size: 1 KB }}
patterns:
{patterns}
"#
    )
}

#[test]
fn what_is_within_all_limits_is_consumed_to_the_unit() {
    let text = things(
        "billing: on-demand",
        "  Add: { create: Thing, rate: 90/s }\n  Get: { get: Thing, by: thingId, rate: 7/s }",
    );
    let simulation = play(&text, Payment::Declared, &Traffic::minutes(60));
    let things = place(&simulation, "things");
    assert_eq!((things.write.consumed(), things.write.throttled()), (90.0 * 3_600.0, 0.0));
    assert_eq!((things.read.consumed(), things.read.throttled()), (7.0 * 0.5 * 3_600.0, 0.0));
    assert!(things.reasons.is_empty());
    assert_eq!(things.write.minutes.len(), 60);
    let prices = Facts::embedded().regions["us-east-1"].standard;
    let price = things.write.price(capacity::Access::Write, &prices);
    assert!((price - 90.0 * 3_600.0 / 1e6 * 0.625).abs() < 1e-9, "{price}");
}

/// 100 units are asked for and 50 are there: after 300 seconds of burst, half is refused.
#[test]
fn fixed_units_refuse_what_goes_beyond_them() {
    let text = things("billing: provisioned, read: 5, write: 50", "  Add: { create: Thing, rate: 100/s }");
    let simulation = play(&text, Payment::Declared, &Traffic::minutes(30));
    let things = place(&simulation, "things");
    assert_eq!(things.reasons.keys().collect::<Vec<_>>(), ["TableWriteProvisionedThroughputExceeded"]);
    assert_eq!(things.write.unit_hours(), Some(50));
    let consumed = things.write.consumed();
    assert!((consumed - 50.0 * 2_100.0).abs() < 200.0, "{consumed}");
    // What burst gives is at the beginning.
    assert_eq!(things.write.minutes[1].throttled, 0.0);
    assert!((late(&things.write, 5) - 50.0).abs() < 0.5);
}

/// The same steps as in the calculation of the cost of a day.
#[test]
fn auto_scaling_settles_at_its_target_as_the_bill_says() {
    let text = things("billing: on-demand", "  Add: { create: Thing, rate: 70/s }");
    let simulation = play(&text, Payment::Provisioned, &Traffic::minutes(120));
    let write = &place(&simulation, "things").write;
    let bill = scale(&Day::flat(70.0), &policy(None));
    assert_eq!(write.unit_hours(), Some(bill.hours[..2].iter().sum()));
    assert_eq!(write.minutes.last().unwrap().provisioned, Some(100));
}

#[test]
fn auto_scaling_follows_a_spike_and_comes_back() {
    let table = "billing: provisioned, read: 5, write: { units: 50, min: 50, max: 2000, target: 70% }";
    let text = things(table, "  Add: { create: Thing, rate: 30/s }");
    let traffic = Traffic::minutes(180).with_spike(30, 60, 20.0);
    let simulation = play(&text, Payment::Declared, &traffic);
    let write = &place(&simulation, "things").write;
    let provisioned = |minute: usize| write.minutes[minute].provisioned.unwrap();
    assert_eq!(provisioned(29), 50);
    // 600 units at 70 %.
    assert!((858..=870).contains(&provisioned(60)), "{}", provisioned(60));
    assert_eq!(write.minutes[60].throttled, 0.0);
    assert!(write.throttled() > 0.0);
    assert_eq!(provisioned(120), 50);
}

/// The seed's scenario: one shipment has most of the events, and the table is far from its limit.
#[test]
fn a_hot_key_is_throttled_while_the_table_is_at_40_percent() {
    let text = things(
        "billing: provisioned, stream: new, read: 5, write: 4000",
        "  Add: { put: Thing, rate: 1600/s, skew: top 90% }",
    );
    let simulation = play(&text, Payment::Declared, &Traffic::minutes(10));
    let things = place(&simulation, "things");
    assert_eq!(things.reasons.keys().collect::<Vec<_>>(), ["TableWriteKeyRangeThroughputExceeded"]);
    let hottest = things.write.hottest.as_ref().unwrap();
    assert!((hottest.peak - 1_440.0).abs() < 30.0, "{hottest:?}");
    assert!(hottest.consumed <= 1_000.0 * 601.0 + 100.0, "{hottest:?}");
    assert!(hottest.throttled > 400.0 * 500.0, "{hottest:?}");
    assert!(late(&things.write, 5) / 4_000.0 < 0.4);
}

#[test]
fn on_demand_refuses_a_cold_spike_and_serves_it_the_second_time() {
    let text = things("billing: on-demand", "  Add: { create: Thing, rate: 500/s }");
    let spike = |at: usize, factor: f64| (at, 5, factor);
    let traffic = [spike(5, 14.0), spike(50, 14.0)]
        .into_iter()
        .fold(Traffic::minutes(60), |traffic, (at, minutes, factor)| traffic.with_spike(at, minutes, factor));
    let simulation = play(&text, Payment::OnDemand, &traffic);
    let write = &place(&simulation, "things").write;
    let throttled =
        |from: usize| write.minutes[from..from + 5].iter().map(|minute| minute.throttled).sum::<f64>();
    // 7,000 against 4,000; 30 minutes later 8,000 are there.
    assert!(throttled(5) > 2_500.0 * 300.0, "{}", throttled(5));
    assert!(throttled(50) < 0.02 * 7_000.0 * 300.0, "{}", throttled(50));
    assert_eq!(write.unit_hours(), None);
}

const INDEXED: &str = r#"
model: indexed
table:
  name: indexed
  partition: PK
  billing: provisioned
  read: 5
  write: 500
indexes:
  GSI1: { read: 5, write: 5 }
entities:
  Thing:
    key: { PK: "{thingId}" }
    indexes:
      GSI1: { GSI1PK: "{owner}" }
    attributes: { owner: { distinct: 10000 } }
    count: 1M
    size: 1 KB
patterns:
  Add: { create: Thing, rate: 100/s }
  Of: { query: Thing, by: owner, rate: 1/s, returns: 3 }
"#;

#[test]
fn a_starved_index_refuses_the_writes_of_its_table() {
    let simulation = play(INDEXED, Payment::Declared, &Traffic::minutes(10));
    let (table, index) = (place(&simulation, "indexed"), place(&simulation, "indexed/GSI1"));
    assert!(table.reasons.is_empty());
    assert_eq!(index.reasons.keys().collect::<Vec<_>>(), ["IndexWriteProvisionedThroughputExceeded"]);
    assert_eq!(table.write.consumed() > 0.0, index.write.consumed() > 0.0);
    assert!(late(&table.write, 5) < 10.0, "{}", late(&table.write, 5));
}

#[test]
fn the_same_model_gives_the_same_result() {
    let run = || play(INDEXED, Payment::Provisioned, &Traffic::minutes(20));
    assert_eq!(run(), run());
}

#[test]
fn every_example_can_be_played() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/models");
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for way in [Payment::Declared, Payment::OnDemand, Payment::Provisioned] {
            let simulation = play(&text, way, &Traffic::minutes(2));
            assert!(simulation.places.iter().all(|place| place.write.minutes.len() == 2));
        }
    }
}

fn adds(per_second: u32) -> String {
    things("billing: on-demand", &format!("  Add: {{ create: Thing, rate: {per_second}/s }}"))
}

#[test]
fn a_curve_of_a_file_says_how_many_requests_there_are() {
    let model = read(&adds(10));
    let plans: Vec<_> = model.patterns.iter().map(|pattern| plan(&model, pattern)).collect();
    let consumed = |curve: &str| {
        let traffic = Traffic::read(curve, &model).unwrap();
        place(&simulate(&model, &plans, Payment::Declared, &traffic), "things").write.consumed()
    };
    assert_eq!(consumed("time,rate\n00:00,2\n00:10,4\n"), 2.0 * 600.0 + 4.0 * 600.0, "requests each second");
    assert_eq!(
        consumed("time,factor\n0m,1\n10m,0.5\n"),
        10.0 * 600.0 + 5.0 * 600.0,
        "times the model's rate"
    );
    let dated = "# of last Friday\ntime,rate\n2026-11-13T09:00:00Z, 3\n2026-11-13T09:05:00Z, 1\n";
    assert_eq!(consumed(dated), 3.0 * 300.0 + 300.0);
}

#[test]
fn a_wrong_line_of_a_curve_is_named() {
    let model = read(&adds(10));
    for (curve, message) in [
        ("", "line 1: the file is empty"),
        ("when,much\n", "line 1: the first line is `time,rate` or `time,factor`"),
        ("time,rate\nsoon,1\n", "line 2: soon is no time"),
        ("time,rate\n00:00,-1\n", "line 2: -1 is no rate"),
        ("time,rate\n00:05,1\n00:05,2\n", "line 3: times must rise"),
        ("time,rate\n00:05,1\n00:01,2\n", "line 3: times must rise"),
        ("time,rate\n00:05,1\n60d 00:00,2\n", "line 3: this is more than four weeks"),
        ("time,rate\n", "line 1: there is no time"),
    ] {
        let error = Traffic::read(curve, &model).unwrap_err().to_string();
        assert!(error.starts_with(message), "{curve:?}: {error}");
    }
}

#[test]
fn every_named_curve_can_be_played() {
    let text = adds(2);
    for (name, _) in model::simulate::CURVES {
        let traffic = Traffic::named(name).unwrap();
        let simulation = play(&text, Payment::Declared, &traffic);
        let write = &place(&simulation, "things").write;
        let (minutes, asked) = (traffic.length_minutes(), write.requests());
        let expected: f64 = (0..minutes).map(|minute| 2.0 * 60.0 * traffic.factor(minute)).sum();
        assert!((asked - expected).abs() <= minutes as f64 / 100.0 + 1.0, "{name}: {asked}, not {expected}");
    }
    assert!(Traffic::named("other").is_none());
}

/// Ten units of each second are all that AWS's console lets a table have.
#[test]
fn the_default_of_the_console_refuses_what_needs_more() {
    let simulation = play(&adds(20), Payment::AwsDefault, &Traffic::minutes(120));
    let write = &place(&simulation, "things").write;
    assert_eq!(write.minutes[0].provisioned, Some(5));
    assert_eq!(write.minutes[119].provisioned, Some(10));
    assert!((late(write, 30) - 10.0).abs() < 0.1, "{}", late(write, 30));
    let refused = write.refused() / write.requests();
    assert!((0.3..0.5).contains(&refused), "{refused}");
}

#[test]
fn a_picture_has_a_panel_for_what_is_used() {
    let simulation = play(&adds(20), Payment::AwsDefault, &Traffic::minutes(60));
    let picture = model::simulate::svg("a <title>", &[simulation]);
    assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"));
    assert!(picture.contains("a &lt;title&gt;") && picture.contains("things, write units/s, aws-default"));
    assert!(!picture.contains("read units/s"), "nothing is read");
    assert!(picture.contains("<polyline"), "what is provisioned");
}
