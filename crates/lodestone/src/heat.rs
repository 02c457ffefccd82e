//! `lodestone heat`: which key ranges of a table were used when, as a picture in the terminal.
//!
//! A server answers at `POST /lodestone/heat` with `{"table", "account", "region"}`, which the operator signs.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use clap::Args;
use engine::Engine;
use serde_json::{Value, json};

use crate::capacity::{asked_table, no_table};
use crate::connection::ConnectionArguments;
use crate::output;

const PATH: &str = "/lodestone/heat";
const TIMEOUT: Duration = Duration::from_secs(60);

/// What one partition sustains each second.
const PARTITION_READ_UNITS: f64 = 3000.0;
const PARTITION_WRITE_UNITS: f64 = 1000.0;
/// Lines of a picture. Each is two of the ranges of keys.
const LINES: usize = 32;
/// Columns of a picture: an hour in minutes, or a day in quarters of an hour.
const HOUR: Window = Window { columns: 60, minutes: 1, text: "the last hour, a column is a minute" };
const DAY: Window =
    Window { columns: 96, minutes: 15, text: "the last day, a column is a quarter of an hour" };
/// From little to much; each is half as much again and more than the one before.
const SHADES: [char; 4] = ['░', '▒', '▓', '█'];

/// Show which key ranges of a table were used when, as a picture.
///
/// Time goes from left to right and keys from top to bottom, by ranges of their hashes: every partition key falls into
/// one line, and a line much darker than the others is a hot key. A column is a minute. A darker square was used more; a red one
/// met a limit. The picture begins when the server starts and covers a day at most.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone heat orders                     the last hour of the table and its global indexes
  lodestone heat orders --index by-status   of one index
  lodestone heat orders --day               the last day, in quarters of an hour
  lodestone heat orders --json              all figures, for programs")]
pub struct TableHeat {
    /// The table
    table: String,

    /// Show this global index alone
    #[arg(long, value_name = "NAME")]
    index: Option<String>,

    /// Show the last day instead of the last hour
    #[arg(long)]
    day: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    connection: ConnectionArguments,
}

impl TableHeat {
    pub fn run(self) -> Result<(), String> {
        let mut report = self.connection.administer(PATH, TIMEOUT, |namespace| {
            json!({"table": self.table, "account": &*namespace.account, "region": &*namespace.region})
        }, report)?;
        if let Some(index) = &self.index {
            let resources = report["resources"].as_array_mut().ok_or("the server's answer is no heat")?;
            resources.retain(|resource| resource["index"] == index.as_str());
            if resources.is_empty() {
                return Err(format!("the table {} has no global index {index}", self.table));
            }
        }
        match self.json {
            true => output::print_json(&report),
            false => output::print(&picture(&report, if self.day { &DAY } else { &HOUR })),
        }
        Ok(())
    }
}

/// The heat that a request asks for.
pub async fn report(engine: &Engine, body: &[u8]) -> Result<Value, String> {
    let (namespace, table) = asked_table(body)?;
    let report = engine.heat(&namespace, &table).ok_or_else(|| no_table(&namespace, &table))?;
    serde_json::to_value(report).map_err(|error| error.to_string())
}

struct Window {
    columns: usize,
    minutes: u64,
    text: &'static str,
}

/// One square of a picture.
#[derive(Clone, Copy, Default, PartialEq)]
struct Cell {
    read: f64,
    write: f64,
    throttled: f64,
}

impl Cell {
    /// As a share of what one partition sustains.
    fn load(&self, minutes: u64) -> f64 {
        let seconds = 60.0 * minutes as f64;
        (self.read / PARTITION_READ_UNITS + self.write / PARTITION_WRITE_UNITS) / seconds
    }

    fn is_empty(&self) -> bool {
        *self == Cell::default()
    }
}

fn picture(report: &Value, window: &Window) -> String {
    let mut text = format!("{}, {}\n", report["table"].as_str().unwrap_or_default(), window.text);
    for resource in report["resources"].as_array().into_iter().flatten() {
        let place =
            resource["index"].as_str().map_or_else(|| "table".to_owned(), |index| format!("index {index}"));
        let cells = cells(resource, report["minute"].as_u64().unwrap_or(0), window);
        if cells.iter().flatten().all(Cell::is_empty) {
            text += &format!("\n{place}: no requests\n");
            continue;
        }
        let hottest = cells.iter().flatten().map(|cell| cell.load(window.minutes)).fold(0.0, f64::max);
        let sum = |of: fn(&Cell) -> f64| cells.iter().flatten().map(of).sum::<f64>();
        text += &format!(
            "\n{place}: {} read units, {} write units, {} requests met a limit\n",
            sum(|cell| cell.read),
            sum(|cell| cell.write),
            sum(|cell| cell.throttled)
        );
        for (number, line) in cells.iter().enumerate() {
            let edge = match number {
                0 => "keys ┐",
                number if number + 1 == LINES => "     ┘",
                _ => "     │",
            };
            let line: String = line.iter().map(|cell| square(*cell, hottest, window.minutes)).collect();
            text += &format!("{edge}{line}\n");
        }
        let first = if window.minutes == 1 { "-60 min" } else { "-24 h" };
        text += &format!("      {first:<width$}now\n", width = window.columns - 3);
        text += &format!(
            "      {} is {:.2} % of what one partition sustains\n",
            SHADES[SHADES.len() - 1],
            hottest * 100.0
        );
    }
    text
}

/// Lines of keys by columns of time.
fn cells(resource: &Value, minute: u64, window: &Window) -> Vec<Vec<Cell>> {
    let mut cells = vec![vec![Cell::default(); window.columns]; LINES];
    let last = minute / window.minutes;
    for column in resource["columns"].as_array().into_iter().flatten() {
        let (first, minutes) =
            (column["minute"].as_u64().unwrap_or(0), column["minutes"].as_u64().unwrap_or(1));
        let age = last.saturating_sub(first / window.minutes) as usize;
        if minutes > window.minutes || age >= window.columns {
            continue;
        }
        let squares = column["squares"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (range, square) in squares.iter().enumerate() {
            let cell = &mut cells[range * LINES / squares.len()][window.columns - 1 - age];
            let figure = |at: usize| square[at].as_f64().unwrap_or(0.0);
            cell.read += figure(0);
            cell.write += figure(1);
            cell.throttled += figure(2);
        }
    }
    cells
}

fn square(cell: Cell, hottest: f64, minutes: u64) -> String {
    if cell.is_empty() {
        return " ".to_owned();
    }
    // A square root shows what is little beside something hot.
    let share = if hottest > 0.0 { (cell.load(minutes) / hottest).sqrt() } else { 0.0 };
    let shade = SHADES[((share * SHADES.len() as f64) as usize).min(SHADES.len() - 1)];
    match cell.throttled > 0.0 {
        true => {
            let red = Style::new().fg_color(Some(AnsiColor::Red.into()));
            format!("{red}{shade}{red:#}")
        }
        false => shade.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(columns: &Value) -> String {
        let report = json!({
            "table": "orders", "minute": 1000, "ranges": 64, "resources": [{"index": null, "columns": columns}],
        });
        anstream::adapter::strip_str(&picture(&report, &HOUR)).to_string()
    }

    #[test]
    fn a_hot_key_is_a_dark_line() {
        let squares = |range: usize, write: f64| {
            let mut squares = vec![json!([0.0, 0.0, 0.0]); 64];
            squares[0] = json!([3.0, 0.0, 0.0]);
            squares[range] = json!([0.0, write, 2.0]);
            json!(squares)
        };
        let columns = json!([
            {"minute": 999, "minutes": 1, "squares": squares(63, 600.0)},
            {"minute": 1000, "minutes": 1, "squares": squares(63, 600.0)},
        ]);
        let text = of(&columns);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "orders, the last hour, a column is a minute");
        assert_eq!(lines[2], "table: 6 read units, 1200 write units, 4 requests met a limit");
        assert_eq!(lines[3], format!("keys ┐{}░░", " ".repeat(58)));
        assert_eq!(lines[4].trim_end(), "     │");
        assert_eq!(lines[34], format!("     ┘{}██", " ".repeat(58)));
        assert_eq!(lines[35], format!("      -60 min{}now", " ".repeat(50)));
        assert_eq!(lines[36], "      █ is 1.00 % of what one partition sustains");
    }

    #[test]
    fn what_is_older_than_the_picture_is_left_out() {
        let columns = json!([
            {"minute": 900, "minutes": 15, "squares": vec![json!([9.0, 9.0, 0.0]); 64]},
            {"minute": 940, "minutes": 1, "squares": vec![json!([9.0, 9.0, 0.0]); 64]},
        ]);
        assert_eq!(of(&columns), "orders, the last hour, a column is a minute\n\ntable: no requests\n");
    }
}
