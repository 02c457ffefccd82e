//! `lodestone simulate MODEL --traffic CURVE`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use capacity::Access;
use clap::Args;
use model::cost::{Prices as RegionPrices, UnknownRegion, dollars, number};
use model::facts::Facts;
use model::plan::plan;
use model::simulate::{
    CURVES, Column, ConflictRun, HotKey, Payment, PlaceRun, Side, Simulation, Traffic, clock, simulate, svg,
};
use serde_json::{Value, json};

use super::prices::Prices;
use super::{ModelFile, UNREADABLE, output, read};

/// Play the patterns of a model over a day or a week, and show what would be throttled.
///
/// Every request passes the code that the database throttles with, auto scaling included, without a server and in
/// seconds. Refused requests are not sent again.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone simulate shop.yaml                                     a day as the model has it
  lodestone simulate shop.yaml --traffic spike                     and ten times of it for a quarter of an hour
  lodestone simulate shop.yaml --traffic friday.csv --svg out.svg  times and rates of a file, as a picture
  lodestone simulate shop.yaml --compare on-demand,provisioned,aws-default

A file of times and rates has a line `time,rate` (requests each second, all patterns together) or `time,factor` (times
the rates of the model), and then lines such as `09:30,450`. Each holds until the next.")]
pub struct Simulate {
    #[command(flatten)]
    file: ModelFile,

    /// How much traffic there is: day, flat, week, spike, launch, or a CSV file of times and rates
    #[arg(long, value_name = "CURVE", default_value = CURVE_DEFAULT)]
    traffic: String,

    /// Compare ways to pay for throughput: on-demand, provisioned (with auto scaling), aws-default (what AWS's console
    /// proposes: 5 units, auto scaling between 1 and 10), declared (as the file says)
    #[arg(long, value_name = "WAY", value_delimiter = ',', value_parser = way)]
    compare: Vec<Payment>,

    #[command(flatten)]
    prices: Prices,

    /// The Region whose prices apply, instead of the model's
    #[arg(long)]
    region: Option<String>,

    /// Also draw a picture into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Print JSON, with every minute
    #[arg(long)]
    json: bool,
}

const CURVE_DEFAULT: &str = "day";
const CHART_COLUMNS: usize = 72;
const CHART_ROWS: usize = 6;
const LABEL_WIDTH: usize = 9;
const MONTH_MINUTES: f64 = 730.0 * 60.0;

fn way(text: &str) -> Result<Payment, String> {
    Payment::from_name(text)
        .ok_or_else(|| format!("there are {}", Payment::ALL.map(Payment::name).join(", ")))
}

/// What one way to pay costs.
struct Played {
    simulation: Simulation,
    /// `None` if a price is not known.
    price: Option<f64>,
}

impl Simulate {
    pub fn run(self) -> ExitCode {
        match self.play() {
            Ok(()) => ExitCode::SUCCESS,
            Err(status) => status,
        }
    }

    fn play(&self) -> Result<(), ExitCode> {
        let model = self.file.model()?;
        let facts = self.prices.facts()?;
        let prices = RegionPrices::of(&model, &facts, self.region.as_deref()).map_err(|unknown| {
            let UnknownRegion { region, known } = unknown;
            refuse(&format!("there are no prices for {region}; there are for {}", known.join(", ")))
        })?;
        let traffic = self.traffic(&model)?;
        let played = played(&model, &prices, &traffic, &self.compare);
        if let Some(path) = &self.svg {
            self.draw(path, &model.name.value, &played)?;
        }
        let minutes = traffic.length_minutes();
        match self.json {
            true => output::print_result(report(&played, minutes)),
            false => print(&played, minutes, &prices.region_name, self.compare.is_empty()),
        }
        Ok(())
    }

    fn traffic(&self, model: &model::Model) -> Result<Traffic, ExitCode> {
        if let Some(traffic) = Traffic::named(&self.traffic) {
            return Ok(traffic);
        }
        let path = Path::new(&self.traffic);
        if !path.exists() {
            let curves = CURVES.map(|(name, what)| format!("  {name:<8}{what}")).join("\n");
            return Err(refuse(&format!(
                "there is no curve or file {}; the curves are\n{curves}",
                self.traffic
            )));
        }
        let source = read(path)?;
        Traffic::read(&source.text, model).map_err(|error| refuse(&format!("{}: {error}", source.path)))
    }

    fn draw(&self, path: &Path, title: &str, played: &[Played]) -> Result<(), ExitCode> {
        let simulations: Vec<Simulation> = played.iter().map(|one| one.simulation.clone()).collect();
        std::fs::write(path, svg(title, &simulations))
            .map_err(|error| refuse(&format!("{}: {error}", path.display())))
    }
}

/// The traffic with each way to pay; as the file declares unless others are named.
fn played(
    model: &model::Model,
    prices: &RegionPrices<'_>,
    traffic: &Traffic,
    compared: &[Payment],
) -> Vec<Played> {
    let plans: Vec<_> = model.patterns.iter().map(|pattern| plan(model, pattern)).collect();
    let ways = if compared.is_empty() { &[Payment::Declared][..] } else { compared };
    let play = |way: &Payment| {
        let simulation = simulate(model, &plans, *way, traffic);
        let of_place = |place: &PlaceRun| {
            let prices = prices.class(model.table(place.table).class)?;
            Some(Access::BOTH.map(|access| place.side(access).price(access, prices)).iter().sum::<f64>())
        };
        let price = simulation.places.iter().map(of_place).sum();
        Played { simulation, price }
    };
    ways.iter().map(play).collect()
}

/// What the command prints with `--json`, but for the minutes: a client that asked for them would get thousands of
/// numbers. The error says what is wrong with the input.
pub fn answer(model: &model::Model, input: &Value) -> Result<Value, String> {
    let facts = Facts::embedded();
    let prices = RegionPrices::of(model, &facts, input["region"].as_str()).map_err(
        |UnknownRegion { region, known }| {
            format!("there are no prices for {region}; there are for {}", known.join(", "))
        },
    )?;
    let curve = input["traffic"].as_str().unwrap_or(CURVE_DEFAULT);
    let known = || CURVES.map(|(name, _)| name).join(", ");
    let traffic =
        Traffic::named(curve).ok_or_else(|| format!("there is no curve {curve}; there are {}", known()))?;
    let names = input["compare"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let compared: Vec<Payment> = names.map(way).collect::<Result<_, _>>()?;
    let mut report = report(&played(model, &prices, &traffic, &compared), traffic.length_minutes());
    let ways = report["ways"].as_array_mut().into_iter().flatten();
    for place in ways.flat_map(|way| way["places"].as_array_mut().into_iter().flatten()) {
        for side in ["read", "write"] {
            place[side].as_object_mut().and_then(|side| side.remove("minutes"));
        }
    }
    Ok(report)
}

fn refuse(text: &str) -> ExitCode {
    output::print_error(text);
    ExitCode::from(UNREADABLE)
}

fn report(played: &[Played], minutes: usize) -> Value {
    let side = |side: &Side| {
        json!({
            "consumed": side.consumed(), "throttled": side.throttled(), "requests": side.requests(),
            "refused": side.refused(), "unit_hours": side.unit_hours(), "hottest": side.hottest,
            "minutes": side.minutes,
        })
    };
    let place = |place: &PlaceRun| json!({"name": place.name, "read": side(&place.read), "write": side(&place.write), "reasons": place.reasons});
    let way = |one: &Played| {
        let places: Vec<Value> = one.simulation.places.iter().map(place).collect();
        json!({
            "way": one.simulation.way.name(), "price": one.price, "price_month": one.of_month(minutes),
            "places": places, "conflicts": one.simulation.conflicts,
        })
    };
    json!({"minutes": minutes, "ways": played.iter().map(way).collect::<Vec<_>>()})
}

impl Played {
    fn of_month(&self, minutes: usize) -> Option<f64> {
        Some(self.price? * MONTH_MINUTES / minutes.max(1) as f64)
    }

    /// All tables' requests, and how many of them were refused. Those of an index alone are queries of it.
    fn requests(&self) -> (f64, f64) {
        let sum = |of: fn(&Side) -> f64| -> f64 {
            let tables = self.simulation.places.iter();
            tables
                .map(|place| match place.name.contains('/') {
                    true => of(&place.read),
                    false => of(&place.read) + of(&place.write),
                })
                .sum()
        };
        (sum(Side::requests), sum(Side::refused))
    }

    /// The key that is asked for most, with its table or index.
    fn hottest(&self) -> Option<(&str, &HotKey)> {
        let keys = self.simulation.places.iter().flat_map(|place| {
            Access::BOTH
                .into_iter()
                .filter_map(|access| Some((place.name.as_str(), place.side(access).hottest.as_ref()?)))
        });
        keys.max_by(|(_, one), (_, other)| {
            (one.throttled, one.peak)
                .partial_cmp(&(other.throttled, other.peak))
                .unwrap_or(std::cmp::Ordering::Equal)
        })
    }
}

fn print(played: &[Played], minutes: usize, region: &str, with_charts: bool) {
    if with_charts {
        for one in played {
            one.simulation.places.iter().for_each(|place| charts(place, minutes));
        }
    }
    let rows = played.iter().map(|one| {
        let (requests, refused) = one.requests();
        let share = if requests > 0.0 { refused / requests } else { 0.0 };
        let hottest =
            one.hottest().map_or_else(String::new, |(place, key)| format!("{} of {place}", key.key));
        vec![
            one.simulation.way.name().to_owned(),
            number(requests.round()),
            format!("{} ({:.2} %)", number(refused.round()), share * 100.0),
            hottest,
            price(one.price),
            price(one.of_month(minutes)),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    output::print_text(&format!("\n{}, prices of {region}, throughput alone\n", length(minutes)));
    output::print_table(&["way", "requests", "throttled", "hottest key", "price", "a month"], rows);
    played.iter().take(1).flat_map(|one| &one.simulation.conflicts).for_each(conflict);
}

fn price(amount: Option<f64>) -> String {
    amount.map_or_else(|| "unknown".to_owned(), dollars)
}

/// Every way to pay has the same ones.
fn conflict(one: &ConflictRun) {
    output::print_text(&format!(
        "Transactions meet on {} of {}: {} of {} writes are cancelled, up to {:.0} % ({})\n",
        one.key,
        one.table,
        number(one.cancelled.round()),
        number(one.requests.round()),
        one.worst_share * 100.0,
        one.patterns.join(", ")
    ));
}

fn length(minutes: usize) -> String {
    match (minutes / 1440, minutes % 1440) {
        (1, 0) => "A day".to_owned(),
        (days, 0) => format!("{days} days"),
        _ => format!("{minutes} minutes"),
    }
}

/// The reads and the writes of a table or index, as far as there are any.
fn charts(place: &PlaceRun, minutes: usize) {
    for access in Access::BOTH {
        let side = place.side(access);
        if side.requests() == 0.0 {
            continue;
        }
        let unit = if access == Access::Read { "read units/s" } else { "write units/s" };
        let refused = side.throttled() / (side.consumed() + side.throttled()).max(f64::MIN_POSITIVE);
        let red = style(AnsiColor::Red);
        let throttled = match refused > 0.0 {
            true => format!(", {red}{:.2} % throttled{red:#}", refused * 100.0),
            false => ", nothing throttled".to_owned(),
        };
        output::print_text(&format!(
            "\n{}, {unit}: {} units consumed{throttled}\n",
            place.name,
            number(side.consumed().round())
        ));
        output::print(&chart(&side.columns(CHART_COLUMNS), minutes));
        if let Some(hottest) = &side.hottest {
            output::print_text(&format!(
                "{:LABEL_WIDTH$}  hottest key: {}, up to {:.0} units/s, {} units throttled\n",
                "",
                hottest.key,
                hottest.peak,
                number(hottest.throttled.round())
            ));
        }
    }
    for (reason, units) in &place.reasons {
        output::print_text(&format!("{:LABEL_WIDTH$}  {} units: {reason}\n", "", number(units.round())));
    }
}

fn style(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(colour.into()))
}

/// What is consumed in blocks, what is throttled above it, and a line for what is provisioned.
fn chart(columns: &[Column], minutes: usize) -> String {
    let most = columns.iter().map(Column::top).fold(f64::MIN_POSITIVE, f64::max);
    let mut text = String::new();
    for row in (0..CHART_ROWS).rev() {
        let label = match row {
            _ if row == CHART_ROWS - 1 => rounded(most),
            0 => "0".to_owned(),
            _ => String::new(),
        };
        text.push_str(&format!("{label:>LABEL_WIDTH$} │"));
        for column in columns {
            let (sign, colour) = cell(column, row, most);
            let style = style(colour);
            text.push_str(&if sign == ' ' { " ".to_owned() } else { format!("{style}{sign}{style:#}") });
        }
        text.push('\n');
    }
    let (middle, end) = (clock(minutes / 2), clock(minutes));
    let gap = columns.len().saturating_sub("00:00".len() + middle.len() + end.len());
    let (before, after) = (gap / 2, gap - gap / 2);
    text.push_str(&format!("{:LABEL_WIDTH$}  00:00{:before$}{middle}{:after$}{end}\n", "", "", ""));
    text
}

fn cell(column: &Column, row: usize, most: f64) -> (char, AnsiColor) {
    const PARTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let height = |units: f64| units / most * CHART_ROWS as f64 - row as f64;
    let consumed = height(column.consumed);
    let asked = height(column.consumed + column.throttled);
    let provisioned = column.provisioned.map(|units| height(units as f64));
    if consumed >= 1.0 {
        return ('█', AnsiColor::Blue);
    }
    if asked > consumed.max(0.0) + 0.125 && column.throttled > 0.0 {
        return ('▒', AnsiColor::Red);
    }
    if provisioned.is_some_and(|height| height > 0.0 && height <= 1.0) && consumed < 0.5 {
        return ('─', AnsiColor::White);
    }
    match (consumed * 8.0).round() as i64 {
        eighths if eighths >= 1 => (PARTS[(eighths as usize - 1).min(7)], AnsiColor::Blue),
        _ => (' ', AnsiColor::Blue),
    }
}

fn rounded(value: f64) -> String {
    number(if value >= 100.0 { value.round() } else { (value * 10.0).round() / 10.0 })
}
