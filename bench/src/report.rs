//! Measurements side by side, as Markdown that is also readable on a terminal.

use anyhow::{Result, ensure};
use comfy_table::{CellAlignment, Table, presets::ASCII_MARKDOWN};

use crate::contender::Contender;
use crate::goals;
use crate::measurement::Measurement;
use crate::workload::Workload;

/// Replies of the bare server may differ from Lodestone's by this much: numbers grow while they are updated.
const REPLY_SIZE_TOLERANCE: f64 = 0.02;

pub struct Report {
    pub measurements: Vec<Measurement>,
}

impl Report {
    pub fn new(mut measurements: Vec<Measurement>) -> Report {
        measurements.sort_by_key(|row| (row.workload, row.connections, row.contender));
        Report { measurements }
    }

    /// The row of a contender with the most connections.
    pub fn row(&self, contender: Contender, workload: Workload) -> Option<&Measurement> {
        let mut rows = self.measurements.iter();
        rows.rfind(|row| {
            (row.contender, row.workload) == (contender, workload) && row.outcome.succeeded() > 0
        })
    }

    pub fn markdown(&self) -> String {
        let mut parts = vec![
            "## Contenders\n\nIn parentheses: how many times the bare server's figure in the same run."
                .to_owned(),
            self.rows().to_string(),
        ];
        let goals = goals::reached(self);
        if !goals.is_empty() {
            parts.push(format!("## Goals\n\n{}", goals::table(&goals)));
        }
        let troubles = self.troubles();
        if !troubles.is_empty() {
            parts.push(format!("## Troubles\n\n- {}", troubles.join("\n- ")));
        }
        parts.join("\n\n") + "\n"
    }

    fn rows(&self) -> Table {
        let mut table = table(&[
            "workload",
            "connections",
            "contender",
            "operations/s",
            "p50 µs",
            "p99 µs",
            "p99.9 µs",
            "CPU µs/op",
            "memory MB",
            "reply bytes",
            "errors",
            "retries",
        ]);
        for row in &self.measurements {
            let bare = self.bare(row);
            let cell = |figure: &dyn Fn(&Measurement) -> f64| beside(figure(row), bare.map(figure));
            table.add_row([
                row.workload.title().to_owned(),
                row.connections.to_string(),
                row.contender.title().to_owned(),
                cell(&Measurement::rate),
                cell(&|row| row.latency_us(0.5)),
                cell(&|row| row.latency_us(0.99)),
                cell(&|row| row.latency_us(0.999)),
                cell(&Measurement::cpu_us),
                cell(&Measurement::resident_mb),
                number(row.reply_bytes()),
                row.outcome.failures.count.to_string(),
                row.outcome.retries.to_string(),
            ]);
        }
        align_right(&mut table, &[1, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        table
    }

    fn bare(&self, row: &Measurement) -> Option<&Measurement> {
        self.measurements.iter().find(|other| other.contender == Contender::Bare && other.same_work(row))
    }

    /// Reasons to doubt a row.
    fn troubles(&self) -> Vec<String> {
        self.measurements
            .iter()
            .flat_map(|row| [self.failure(row), self.uneven_replies(row)])
            .flatten()
            .collect()
    }

    fn failure(&self, row: &Measurement) -> Option<String> {
        let first = row.outcome.failures.first.as_ref()?;
        let count = row.outcome.failures.count;
        Some(format!("{}, {count} errors, the first: {first}", named(row)))
    }

    /// A ratio to the bare server is meaningful only if both send replies of the same size.
    fn uneven_replies(&self, row: &Measurement) -> Option<String> {
        let bare = self.bare(row).filter(|_| row.contender.is_ours())?;
        let difference = (row.reply_bytes() / bare.reply_bytes() - 1.0).abs();
        (difference > REPLY_SIZE_TOLERANCE).then(|| {
            let (ours, bare) = (number(row.reply_bytes()), number(bare.reply_bytes()));
            format!("{}: replies of {ours} bytes, the bare server's have {bare}", named(row))
        })
    }

    /// Fails if Lodestone or the bare server failed; a failed peer is only shown.
    pub fn ensure_sound(&self) -> Result<()> {
        let ours = self.measurements.iter().filter(|row| row.contender.is_ours());
        let failed =
            ours.filter(|row| row.outcome.failures.count > 0 || row.outcome.succeeded() == 0).count();
        ensure!(failed == 0, "{failed} rows had errors; see the troubles above");
        Ok(())
    }
}

fn named(row: &Measurement) -> String {
    format!("{}, {}, {} connections", row.workload.title(), row.contender.title(), row.connections)
}

pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_header(header);
    table
}

pub fn align_right(table: &mut Table, columns: &[usize]) {
    for &column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// A figure, and its ratio to the bare server's.
fn beside(figure: f64, bare: Option<f64>) -> String {
    match bare.map(|bare| figure / bare).filter(|ratio| ratio.is_finite()) {
        Some(ratio) => format!("{} ({ratio:.2})", number(figure)),
        None => number(figure),
    }
}

/// At least three significant digits, with thousands separators.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    match value.abs() {
        small if small < 9.995 => format!("{value:.2}"),
        middling if middling < 99.95 => format!("{value:.1}"),
        _ => thousands(&format!("{value:.0}")),
    }
}

fn thousands(digits: &str) -> String {
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn measured(contender: Contender, operations: u64, cpu_ms: u64, reply_bytes: u64) -> Measurement {
        let mut row = Measurement::new(contender, Workload::Get, 32).unwrap();
        row.outcome.latencies.record_n(50_000, operations).unwrap();
        row.outcome.elapsed = Duration::from_secs(2);
        row.outcome.reply_bytes = operations * reply_bytes;
        row.cpu = Duration::from_millis(cpu_ms);
        row.resident_bytes = 10_000_000;
        row
    }

    #[test]
    fn every_figure_is_shown_beside_the_bare_server_s() {
        let report = Report::new(vec![
            measured(Contender::Durable, 50_000, 1_250, 640),
            measured(Contender::Bare, 100_000, 1_000, 640),
        ]);
        let rows = report.rows();
        let durable: Vec<String> = rows.row(1).unwrap().cell_iter().map(|cell| cell.content()).collect();
        assert_eq!(durable[2..6], ["durable", "25,000 (0.50)", "50.0 (1.00)", "50.0 (1.00)"]);
        assert_eq!(durable[7..], ["25.0 (2.50)", "10.0 (1.00)", "640", "0", "0"]);
        assert!(report.markdown().contains("| get  "), "{}", report.markdown());
    }

    #[test]
    fn without_a_bare_row_there_is_nothing_to_compare() {
        let report = Report::new(vec![measured(Contender::Durable, 1_000, 100, 640)]);
        assert!(!report.rows().to_string().contains('('));
    }

    #[test]
    fn errors_and_uneven_replies_are_reported() {
        let mut failing = measured(Contender::Durable, 1_000, 100, 700);
        failing.outcome.failures.record(|| "500: oh".to_owned());
        let report = Report::new(vec![failing, measured(Contender::Bare, 1_000, 100, 640)]);
        let text = report.markdown();
        assert!(text.contains("1 errors, the first: 500: oh"), "{text}");
        assert!(text.contains("replies of 700 bytes, the bare server's have 640"), "{text}");
        assert!(report.ensure_sound().is_err());
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.123, 9.999, 42.26, 999.4, 1_234_567.0, f64::NAN].map(number);
        assert_eq!(shown, ["0.12", "10.0", "42.3", "999", "1,234,567", "–"]);
    }
}
