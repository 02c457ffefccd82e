//! The facts built in: they agree with what the database calculates with, and give the figures that follow
//! from the list prices.

use model::facts::{Certainty, Facts};

fn near(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-9, "{one} is not {other}");
}

#[test]
fn the_limits_are_those_the_database_throttles_by() {
    let limits = Facts::embedded().limits;
    near(limits.partition_write_units, capacity::PARTITION_WRITE_UNITS as f64);
    near(limits.partition_read_units, capacity::PARTITION_READ_UNITS as f64);
    near(limits.item_bytes, 400.0 * 1024.0);
    near(limits.collection_bytes, 10.0 * 1024.0 * 1024.0 * 1024.0);
}

#[test]
fn a_month_is_730_hours() {
    near(Facts::embedded().month_seconds(), 2_628_000.0);
}

/// 0.00065 / (0.625 / 1,000,000 × 3,600) = 0.00065 / 0.00225 = 0.2889, and the same for reads.
#[test]
fn provisioned_capacity_pays_from_28_9_percent_of_use() {
    let prices = Facts::embedded().regions["us-east-1"].standard;
    near(prices.write_break_even(), 0.00065 / 0.00225);
    near(prices.read_break_even(), 0.00013 / 0.00045);
    assert_eq!(format!("{:.1}", prices.write_break_even() * 100.0), "28.9");
}

/// One year: 150 / 8,760 + 0.0128 = 0.02992 an hour for 100 units that cost 0.065, 54 % less.
/// Three years: 180 / 26,280 + 0.0081 = 0.01495, 77 % less.
#[test]
fn reserved_blocks_are_54_and_77_percent_cheaper() {
    let facts = Facts::embedded();
    let region = &facts.regions["us-east-1"];
    let reserved = region.reserved.unwrap();
    let discount =
        |block_hour: f64, unit_hour: f64| ((1.0 - block_hour / (100.0 * unit_hour)) * 100.0).round();
    let prices = region.standard;
    assert_eq!(discount(reserved.one_year.write_block_hour(730.0), prices.write_unit_hour), 54.0);
    assert_eq!(discount(reserved.three_years.write_block_hour(730.0), prices.write_unit_hour), 77.0);
    assert_eq!(discount(reserved.one_year.read_block_hour(730.0), prices.read_unit_hour), 54.0);
    assert_eq!(discount(reserved.three_years.read_block_hour(730.0), prices.read_unit_hour), 77.0);
}

#[test]
fn every_region_is_dated_and_cited_and_says_how_sure_it_is() {
    for (name, region) in Facts::embedded().regions {
        assert!(!region.sources.is_empty() && region.as_of.len() == 10, "{name}");
        assert!(region.certainty == Certainty::Published || region.note.is_some(), "{name}");
        // Everywhere the two modes stand in the same relation.
        let even = region.standard.write_break_even();
        assert!((0.285..0.292).contains(&even), "{name}: {even}");
    }
}

#[test]
fn facts_that_make_no_sense_are_refused() {
    let embedded = include_str!("../../facts/prices.json");
    let refused = |from: &str, to: &str, part: &str| {
        let error = Facts::parse(&embedded.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(part), "{error}");
    };
    refused("\"month_hours\": 730", "\"month_hours\": 0", "month");
    refused("\"item_bytes\": 409600", "\"item_bytes\": -1", "limit");
    refused("\"currency\"", "\"curency\"", "curency");
    refused("\"limits\": \"https", "\"limit\": \"https", "`limits` is cited");
    assert!(Facts::parse("{").is_err());
}
