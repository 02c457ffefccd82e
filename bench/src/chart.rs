//! The comparison as a chart: a panel for each workload, a bar for each contender, its length the CPU time
//! per operation. Each panel has its own scale, because a batch costs as much as a hundred gets.

use std::fmt::Write;

use crate::contender::Contender;
use crate::goals;
use crate::measurement::Measurement;
use crate::report::{Report, number};
use crate::workload::Workload;

const PANEL_WIDTH: f64 = 440.0;
const PANELS_ACROSS: usize = 2;
const MARGIN: f64 = 24.0;
const HEAD: f64 = 76.0;
const TITLE: f64 = 26.0;
const BAR: f64 = 16.0;
const BAR_STEP: f64 = 22.0;
/// The text's baseline in a bar's row, from the bar's top.
const BASELINE: f64 = 12.0;
/// Room for the contenders' names.
const NAMES: f64 = 130.0;
/// Room for the figures behind the bars.
const FIGURES: f64 = 120.0;
const BARS: f64 = PANEL_WIDTH - NAMES - FIGURES;
/// The longest bar, as a multiple of our longest.
const CUT_OFF: f64 = 5.0;

/// CPU time per operation, with the most connections.
pub fn svg(report: &Report) -> String {
    let panels = panels(report);
    let bars_max = panels.iter().map(|panel| panel.rows.len()).max().unwrap_or(0);
    let panel_height = TITLE + bars_max as f64 * BAR_STEP + 18.0;
    let width = 2.0 * MARGIN + PANEL_WIDTH * PANELS_ACROSS as f64;
    let height = HEAD + panels.len().div_ceil(PANELS_ACROSS) as f64 * panel_height + MARGIN;
    let mut out = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="system-ui, 'DejaVu Sans', sans-serif" font-size="12" fill="#1f2328">
<rect width="{width}" height="{height}" fill="#ffffff"/>
"##
    );
    text(&mut out, MARGIN, 32.0, r#"font-size="18" font-weight="600""#, "CPU time an operation, µs");
    let connections =
        panels.iter().flat_map(|panel| &panel.rows).map(|row| row.connections).max().unwrap_or(0);
    let account = format!(
        "{connections} connections. In parentheses: times the bare server. Red: the goal for durable. Slit: the bar is cut."
    );
    text(&mut out, MARGIN, 54.0, r##"fill="#59636e""##, &account);
    for (place, panel) in panels.iter().enumerate() {
        let x = MARGIN + (place % PANELS_ACROSS) as f64 * PANEL_WIDTH;
        let y = HEAD + (place / PANELS_ACROSS) as f64 * panel_height;
        panel.draw(&mut out, x, y);
    }
    out + "</svg>\n"
}

struct Panel<'a> {
    workload: Workload,
    rows: Vec<&'a Measurement>,
}

fn panels(report: &Report) -> Vec<Panel<'_>> {
    let mut panels: Vec<Panel<'_>> = Vec::new();
    for row in &report.measurements {
        let Some(best) = report.row(row.contender, row.workload).filter(|best| std::ptr::eq(*best, row))
        else {
            continue;
        };
        match panels.last_mut().filter(|panel| panel.workload == row.workload) {
            Some(panel) => panel.rows.push(best),
            None => panels.push(Panel { workload: row.workload, rows: vec![best] }),
        }
    }
    panels
}

impl Panel<'_> {
    /// What a bar of full length means. Bars of peers that take far longer than ours and the goal are cut off; otherwise
    /// ours could not be distinguished.
    fn longest(&self, goal: Option<f64>) -> f64 {
        let longest = |rows: &mut dyn Iterator<Item = f64>| rows.fold(f64::MIN_POSITIVE, f64::max);
        let all = longest(&mut self.rows.iter().map(|row| row.cpu_us()).chain(goal));
        let ours = self.rows.iter().filter(|row| row.contender.is_ours()).map(|row| row.cpu_us());
        match longest(&mut ours.chain(goal)) {
            f64::MIN_POSITIVE => all,
            ours => all.min(ours * CUT_OFF),
        }
    }

    fn draw(&self, out: &mut String, x: f64, y: f64) {
        text(out, x, y + 14.0, r#"font-weight="600""#, self.workload.title());
        let bare = self.rows.iter().find(|row| row.contender == Contender::Bare).map(|row| row.cpu_us());
        let goal = bare.zip(goals::times_bare_max(self.workload)).map(|(bare, times)| bare * times);
        let scale = BARS / self.longest(goal);
        for (place, row) in self.rows.iter().enumerate() {
            let top = y + TITLE + place as f64 * BAR_STEP;
            draw_bar(out, x, top, scale, row);
            let mark = goal.filter(|_| row.contender == Contender::Durable).map(|goal| goal * scale);
            if let Some(mark) = mark {
                draw_goal(out, x + NAMES + mark, top);
            }
            // After the bar and the goal's mark, so that neither covers it.
            let end = length(row, scale).max(mark.unwrap_or(0.0));
            text(out, x + NAMES + end + 8.0, top + BASELINE, "", &figure(row, bare));
        }
    }
}

fn draw_bar(out: &mut String, x: f64, y: f64, scale: f64, row: &Measurement) {
    let (start, length) = (x + NAMES, length(row, scale));
    text(out, start - 8.0, y + BASELINE, r#"text-anchor="end""#, row.contender.title());
    let colour = colour(row.contender);
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        r#"<rect x="{start:.1}" y="{y:.1}" width="{length:.1}" height="{BAR}" rx="2" fill="{colour}"/>"#
    );
    if row.cpu_us() * scale > BARS * 1.001 {
        let (cut, top, bottom) = (start + length - 16.0, y - 2.0, y + BAR + 2.0);
        let _ = writeln!(
            out,
            r##"<path d="M{:.1} {bottom:.1} L{:.1} {top:.1}" stroke="#ffffff" stroke-width="5"/>"##,
            cut - 3.0,
            cut + 3.0,
        );
    }
}

fn length(row: &Measurement, scale: f64) -> f64 {
    (row.cpu_us() * scale).clamp(1.0, BARS)
}

fn draw_goal(out: &mut String, x: f64, y: f64) {
    let (top, bottom) = (y - 3.0, y + BAR + 3.0);
    let _ = writeln!(
        out,
        r##"<line x1="{x:.1}" x2="{x:.1}" y1="{top:.1}" y2="{bottom:.1}" stroke="#d1242f" stroke-width="3"/>"##
    );
}

fn figure(row: &Measurement, bare: Option<f64>) -> String {
    match bare {
        Some(bare) => format!("{} ({:.1})", number(row.cpu_us()), row.cpu_us() / bare),
        None => number(row.cpu_us()),
    }
}

fn colour(contender: Contender) -> &'static str {
    match contender {
        Contender::Bare => "#8c959f",
        Contender::Durable => "#0a5fb4",
        Contender::InMemory => "#54a0e6",
        Contender::Uncounted => "#9a6700",
        Contender::Before => "#6e7781",
        Contender::Dynoxide => "#bc4c00",
        Contender::DynoxideOnDisk => "#e58a4e",
        Contender::Dynalite => "#7a5195",
        Contender::DynamodbLocal => "#4d7c2a",
        Contender::Postgres => "#336791",
        Contender::Redis => "#a41e11",
    }
}

/// `text` has no characters that XML would have to escape: titles and figures.
fn text(out: &mut String, x: f64, y: f64, style: &str, text: &str) {
    let _ = writeln!(out, r#"<text x="{x:.1}" y="{y:.1}" {style}>{text}</text>"#);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn measured(contender: Contender, connections: usize, cpu_us: u64) -> Measurement {
        let mut row = Measurement::new(contender, Workload::Get, connections).unwrap();
        row.outcome.latencies.record_n(1, 10).unwrap();
        row.cpu = Duration::from_micros(cpu_us * 10);
        row
    }

    #[test]
    fn a_slow_peer_does_not_hide_ours() {
        let svg = svg(&Report::new(vec![
            measured(Contender::Bare, 32, 10),
            measured(Contender::Durable, 32, 20),
            measured(Contender::DynamodbLocal, 32, 5_000),
        ]));
        assert_eq!(svg.matches("<path").count(), 1, "{svg}");
        assert!(svg.contains(">5,000 (500.0)</text>"), "{svg}");
    }

    #[test]
    fn a_panel_shows_each_contender_once_and_the_goal() {
        let svg = svg(&Report::new(vec![
            measured(Contender::Bare, 1, 20),
            measured(Contender::Bare, 32, 10),
            measured(Contender::Durable, 32, 20),
        ]));
        assert_eq!(svg.matches(" rx=").count(), 2, "{svg}");
        assert_eq!(svg.matches("<line").count(), 1, "{svg}");
        assert!(svg.contains(">20.0 (2.0)</text>"), "{svg}");
    }
}
