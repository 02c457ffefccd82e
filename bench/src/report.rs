//! Measurements side by side, as a Markdown table.

use std::fmt::Write;
use std::time::Duration;

use crate::load::Outcome;
use crate::workload::Operation;

/// The row that the others are compared with.
pub const BARE: &str = "bare hyper";

pub struct Measurement {
    pub server: &'static str,
    pub operation: Operation,
    pub connections: usize,
    pub outcome: Outcome,
    pub cpu: Duration,
}

impl Measurement {
    fn operations_per_second(&self) -> f64 {
        self.outcome.latencies.len() as f64 / self.outcome.elapsed.as_secs_f64()
    }

    fn cpu_per_operation_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.outcome.latencies.len().max(1) as f64
    }

    fn latency_us(&self, quantile: f64) -> f64 {
        self.outcome.latencies.value_at_quantile(quantile) as f64 / 1e3
    }

    fn same_work(&self, other: &Measurement) -> bool {
        self.operation == other.operation && self.connections == other.connections
    }
}

/// One row a measurement, in the order given; the last column is the processor time relative to the bare
/// server's for the same work.
pub fn table(measurements: &[Measurement]) -> String {
    let mut out = String::from(
        "| operation | connections | server | operations/s | p50 µs | p99 µs | p99.9 µs | CPU µs/op | × bare |\n\
         |---|--:|---|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in measurements {
        let bare = measurements.iter().find(|other| other.server == BARE && other.same_work(row));
        let ratio = match bare.map(|bare| row.cpu_per_operation_us() / bare.cpu_per_operation_us()) {
            Some(ratio) if ratio.is_finite() => format!("{ratio:.2}"),
            _ => "–".to_owned(),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "| {} | {} | {} | {:.0} | {:.0} | {:.0} | {:.0} | {:.1} | {ratio} |",
            row.operation.name(),
            row.connections,
            row.server,
            row.operations_per_second(),
            row.latency_us(0.5),
            row.latency_us(0.99),
            row.latency_us(0.999),
            row.cpu_per_operation_us(),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;

    fn measurement(server: &'static str, operations: u64, cpu_ms: u64) -> Measurement {
        let mut latencies = Histogram::new(3).unwrap();
        latencies.record_n(50_000, operations).unwrap();
        Measurement {
            server,
            operation: Operation::GetItem,
            connections: 32,
            outcome: Outcome { latencies, elapsed: Duration::from_secs(2) },
            cpu: Duration::from_millis(cpu_ms),
        }
    }

    #[test]
    fn rows_are_compared_with_the_bare_server() {
        let table = table(&[measurement(BARE, 100_000, 1_000), measurement("in memory", 50_000, 1_250)]);
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(rows[0], "| GetItem | 32 | bare hyper | 50000 | 50 | 50 | 50 | 10.0 | 1.00 |");
        assert_eq!(rows[1], "| GetItem | 32 | in memory | 25000 | 50 | 50 | 50 | 25.0 | 2.50 |");
    }

    #[test]
    fn without_a_bare_row_there_is_nothing_to_compare() {
        assert!(table(&[measurement("durable", 10, 0)]).ends_with("| – |\n"));
    }
}
