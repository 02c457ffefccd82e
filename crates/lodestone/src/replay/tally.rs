//! What came of a replay: by operation, and the first differences.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::compare::Answered;
use super::log::Recorded;

/// Differences that are shown; all are counted.
const SHOWN_MAX: usize = 20;

/// The columns of the table; the last three have both sides.
pub const HEADINGS: [&str; 6] = ["operation", "requests", "differ", "units", "p50", "p99"];

/// The two sides of a replay, and what they answered.
#[derive(Debug, Default)]
pub struct Tally {
    pub sides: [String; 2],
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
    units: f64,
    is_metered: bool,
    throttled: u64,
    took_us: Vec<u64>,
}

#[derive(Debug)]
struct Difference {
    line: u64,
    operation: String,
    what: String,
}

impl Tally {
    pub fn of(sides: [String; 2]) -> Tally {
        Tally { sides, ..Tally::default() }
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
            side.units += answered.units.unwrap_or(0.0);
            side.is_metered |= answered.units.is_some();
            side.throttled +=
                u64::from(answered.outcome.contains("Throughput") || answered.outcome.contains("Throttling"));
            side.took_us.push(u64::try_from(answered.took.as_micros()).unwrap_or(u64::MAX));
        }
    }

    pub fn requests(&self) -> u64 {
        self.operations.values().map(|tally| tally.requests).sum()
    }

    pub fn has_differences(&self) -> bool {
        self.differing > 0
    }

    pub fn json(&mut self) -> Value {
        let operations: serde_json::Map<String, Value> = self
            .operations
            .iter_mut()
            .map(|(name, tally)| {
                let [one, two] = &mut tally.sides;
                let sides = json!([one.json(), two.json()]);
                (
                    name.clone(),
                    json!({ "requests": tally.requests, "differing": tally.differing, "sides": sides }),
                )
            })
            .collect();
        let differences = self.differences.iter();
        let differences =
            differences.map(|one| json!({ "line": one.line, "operation": one.operation, "what": one.what }));
        json!({
            "sides": self.sides,
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
    pub fn rows(&mut self) -> Vec<Vec<String>> {
        let row = |(name, tally): (&String, &mut OperationTally)| {
            let [one, two] = &mut tally.sides;
            let times = [50, 99].map(|percent| [one.took(percent), two.took(percent)].map(shown).join(" / "));
            let units = [one.units_text(), two.units_text()].join(" / ");
            let mut row = vec![name.clone(), tally.requests.to_string(), tally.differing.to_string(), units];
            row.extend(times);
            row
        };
        self.operations.iter_mut().map(row).collect()
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
    fn took(&mut self, percent: usize) -> u64 {
        self.took_us.sort_unstable();
        let at = (self.took_us.len() * percent / 100).min(self.took_us.len().saturating_sub(1));
        self.took_us.get(at).copied().unwrap_or(0)
    }

    fn units_text(&self) -> String {
        if self.is_metered { self.units.to_string() } else { "-".to_owned() }
    }

    fn json(&mut self) -> Value {
        json!({
            "units": self.is_metered.then_some(self.units),
            "throttled": self.throttled,
            "p50Us": self.took(50),
            "p99Us": self.took(99),
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
