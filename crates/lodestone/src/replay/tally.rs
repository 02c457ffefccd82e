//! What came of a replay: by operation, and the first differences.

use std::collections::BTreeMap;
use std::time::Duration;

use capacity::metric::Distribution;
use model::cost::dollars;
use model::demand::UnitKind;
use serde_json::{Value, json};

use super::compare::Answered;
use super::log::Recorded;
use super::price::UnitPrices;

/// Differences that are shown; all are counted.
const SHOWN_MAX: usize = 20;

/// The columns of the table; the last four have both sides.
pub const HEADINGS: [&str; 7] = ["operation", "requests", "differ", "units", "dollars", "p50", "p99"];

/// The two sides of a replay, and what they answered.
#[derive(Debug)]
pub struct Tally {
    pub sides: [String; 2],
    prices: UnitPrices,
    operations: BTreeMap<String, OperationTally>,
    differences: Vec<Difference>,
    differing: u64,
    /// The most by which a request was late, where time is kept.
    pub late_max: Duration,
    pub without_body: u64,
    pub left_out: u64,
}

#[derive(Debug, Default)]
struct OperationTally {
    requests: u64,
    differing: u64,
    sides: [SideTally; 2],
}

#[derive(Debug, Default)]
struct SideTally {
    read_units: f64,
    write_units: f64,
    is_metered: bool,
    throttled: u64,
    /// In microseconds.
    took: Distribution,
}

#[derive(Debug)]
struct Difference {
    line: u64,
    operation: String,
    what: String,
}

impl Tally {
    pub fn of(sides: [String; 2], prices: UnitPrices) -> Tally {
        Tally {
            sides,
            prices,
            operations: BTreeMap::new(),
            differences: Vec::new(),
            differing: 0,
            late_max: Duration::ZERO,
            without_body: 0,
            left_out: 0,
        }
    }

    /// Counts a request that both sides have answered.
    pub fn count(&mut self, recorded: &Recorded, answered: [Answered; 2]) {
        let tally = self.operations.entry(recorded.operation.clone()).or_default();
        tally.requests += 1;
        if let Some(what) = answered[0].difference(&answered[1]) {
            tally.differing += 1;
            self.differing += 1;
            if self.differences.len() < SHOWN_MAX {
                let operation = recorded.operation.clone();
                self.differences.push(Difference { line: recorded.line, operation, what });
            }
        }
        for (side, answered) in tally.sides.iter_mut().zip(answered) {
            side.count(recorded.unit_kind(), &answered);
        }
    }

    pub fn requests(&self) -> u64 {
        self.operations.values().map(|tally| tally.requests).sum()
    }

    pub fn has_differences(&self) -> bool {
        self.differing > 0
    }

    pub fn json(&self) -> Value {
        let operation = |(name, tally): (&String, &OperationTally)| {
            let sides: Vec<Value> = tally.sides.iter().map(|side| side.json(&self.prices)).collect();
            let json = json!({ "requests": tally.requests, "differing": tally.differing, "sides": sides });
            (name.clone(), json)
        };
        let operations: serde_json::Map<String, Value> = self.operations.iter().map(operation).collect();
        let differences = self.differences.iter();
        let differences =
            differences.map(|one| json!({ "line": one.line, "operation": one.operation, "what": one.what }));
        json!({
            "sides": self.sides,
            "region": self.prices.region,
            "requests": self.requests(),
            "differing": self.differing,
            "differences": differences.collect::<Vec<_>>(),
            "operations": operations,
            "lateMs": u64::try_from(self.late_max.as_millis()).unwrap_or(u64::MAX),
            "withoutBody": self.without_body,
            "leftOut": self.left_out,
        })
    }

    /// A row for each operation, under [`HEADINGS`].
    pub fn rows(&self) -> Vec<Vec<String>> {
        let row = |(name, tally): (&String, &OperationTally)| {
            let both = |text: &dyn Fn(&SideTally) -> String| tally.sides.each_ref().map(text).join(" / ");
            vec![
                name.clone(),
                tally.requests.to_string(),
                tally.differing.to_string(),
                both(&|side| side.metered(side.units().to_string())),
                both(&|side| side.metered(dollars(side.dollars(&self.prices)))),
                both(&|side| shown(side.took_us(50.0))),
                both(&|side| shown(side.took_us(99.0))),
            ]
        };
        self.operations.iter().map(row).collect()
    }

    /// What all units of a side cost; `None` for the log, which has none.
    fn dollars(&self, side: usize) -> Option<f64> {
        let sides = self.operations.values().map(|tally| &tally.sides[side]);
        let metered: Vec<&SideTally> = sides.filter(|side| side.is_metered).collect();
        (!metered.is_empty()).then(|| metered.iter().map(|side| side.dollars(&self.prices)).sum())
    }

    /// A line on the price of all units; empty if no server has counted any.
    fn price_note(&self) -> String {
        let side = |at: usize| Some(format!("{} by {}", dollars(self.dollars(at)?), ["A", "B"][at]));
        let sides: Vec<String> = (0..self.sides.len()).filter_map(side).collect();
        if sides.is_empty() {
            return String::new();
        }
        format!("On demand in {}, the units cost {}.\n", self.prices.region, sides.join(" and "))
    }

    /// What is below the table.
    pub fn notes(&self) -> String {
        let mut text = match self.differing {
            0 => format!("\nAll {} answers are the same.\n", self.requests()),
            differing => format!("\n{differing} of {} answers differ:\n", self.requests()),
        };
        for one in &self.differences {
            text += &format!("  line {}, {}: {}\n", one.line, one.operation, one.what);
        }
        if self.differing > self.differences.len() as u64 {
            text += &format!("  and {} more\n", self.differing - self.differences.len() as u64);
        }
        let throttled =
            |side: usize| self.operations.values().map(|tally| tally.sides[side].throttled).sum::<u64>();
        text += &self.price_note();
        if throttled(0) + throttled(1) > 0 {
            text += &format!("{} requests were throttled by A, {} by B.\n", throttled(0), throttled(1));
        }
        if self.late_max > Duration::from_millis(100) {
            text += &format!("Requests were late by up to {}.\n", shown(self.late_max.as_micros() as u64));
        }
        if self.without_body > 0 {
            text += &format!("{} requests have no body in the log and were left out.\n", self.without_body);
        }
        if self.left_out > 0 {
            text += &format!("{} further requests were left out, as the flags say.\n", self.left_out);
        }
        text
    }
}

impl SideTally {
    fn count(&mut self, kind: UnitKind, answered: &Answered) {
        let units = answered.units.unwrap_or(0.0);
        match kind {
            UnitKind::Read => self.read_units += units,
            UnitKind::Write => self.write_units += units,
        }
        self.is_metered |= answered.units.is_some();
        self.throttled +=
            u64::from(answered.outcome.contains("Throughput") || answered.outcome.contains("Throttling"));
        self.took.add(answered.took.as_micros() as f64);
    }

    fn took_us(&self, percent: f64) -> u64 {
        self.took.percentile(percent) as u64
    }

    fn units(&self) -> f64 {
        self.read_units + self.write_units
    }

    fn dollars(&self, prices: &UnitPrices) -> f64 {
        prices.dollars(UnitKind::Read, self.read_units) + prices.dollars(UnitKind::Write, self.write_units)
    }

    /// A text about units; the log has none.
    fn metered(&self, text: String) -> String {
        if self.is_metered { text } else { "-".to_owned() }
    }

    fn json(&self, prices: &UnitPrices) -> Value {
        json!({
            "units": self.is_metered.then_some(self.units()),
            "dollars": self.is_metered.then_some(self.dollars(prices)),
            "throttled": self.throttled,
            "p50Us": self.took_us(50.0),
            "p99Us": self.took_us(99.0),
        })
    }
}

/// A time in the unit in which it is short.
fn shown(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{:.1} ms", us as f64 / 1e3),
        _ => format!("{:.1} s", us as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(operation: &str) -> Recorded {
        Recorded {
            line: 1,
            time: Duration::ZERO,
            account: String::new(),
            region: String::new(),
            operation: operation.to_owned(),
            outcome: "ok".to_owned(),
            took: Duration::ZERO,
            items: None,
            body: json!({}),
        }
    }

    fn answered(units: Option<f64>, took_us: u64) -> Answered {
        let took = Duration::from_micros(took_us);
        Answered { outcome: "ok".to_owned(), took, answer: None, items: None, units }
    }

    fn tally() -> Tally {
        let prices = UnitPrices::of_region(Some("us-east-1")).expect("prices");
        Tally::of(["one".to_owned(), "two".to_owned()], prices)
    }

    #[test]
    fn units_have_the_price_of_reads_and_of_writes_on_each_side() {
        let mut tally = tally();
        tally.count(&recorded("GetItem"), [answered(Some(0.5), 1), answered(Some(1.0), 1)]);
        tally.count(&recorded("PutItem"), [answered(Some(2.0), 1), answered(None, 1)]);
        let found = tally.json();
        let operations = &found["operations"];
        let dollars = |name: &str, side: usize| operations[name]["sides"][side]["dollars"].as_f64();
        assert_eq!(dollars("GetItem", 0), Some(0.5 * 0.125 / 1e6));
        assert_eq!(dollars("GetItem", 1), Some(0.125 / 1e6));
        assert_eq!(dollars("PutItem", 0), Some(2.0 * 0.625 / 1e6));
        assert_eq!(dollars("PutItem", 1), None);
        let note = "On demand in us-east-1, the units cost $0.00000131 by A and $0.000000125 by B.";
        assert!(tally.notes().contains(note), "{}", tally.notes());
    }

    #[test]
    fn a_region_without_prices_is_an_error_that_names_those_with() {
        let error = UnitPrices::of_region(Some("nowhere-1")).expect_err("no prices");
        assert!(error.starts_with("there are no prices for nowhere-1; there are for "), "{error}");
    }

    #[test]
    fn a_percentile_is_the_smallest_time_that_this_share_of_requests_does_not_exceed() {
        let mut tally = tally();
        for took_us in [1, 3, 5, 100] {
            tally.count(&recorded("GetItem"), [answered(None, took_us), answered(None, 2 * took_us)]);
        }
        let sides = &tally.json()["operations"]["GetItem"]["sides"];
        let times = |side: usize| [&sides[side]["p50Us"], &sides[side]["p99Us"]].map(Value::as_u64);
        assert_eq!(times(0), [Some(3), Some(100)]);
        assert_eq!(times(1)[0], Some(6));
    }
}
