//! `lodestone model heat FILE`.

use std::path::PathBuf;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use clap::Args;
use model::cost::number;
use model::facts::Limits;
use model::heat::{
    Cure, Cures, Forecast, Growing, Heat as Heats, KeyHeat, WriteConflict, conflicts, forecasts, heat, svg,
};
use model::plan::plan;
use serde_json::{Value, json};

use super::prices::Prices;
use super::{FOUND, ModelFile, UNREADABLE, output};

/// Show how hot the busiest keys of a model get, what grows towards a limit, and the shards that are needed. The
/// status is 1 if a key gets more than one partition sustains, or an item more transactions than it takes one after the
/// other, 2 if the file is not a model.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone model heat model.yaml
  lodestone model heat model.yaml --headroom 50 --svg heat.svg")]
pub struct ModelHeat {
    #[command(flatten)]
    file: ModelFile,

    #[command(flatten)]
    prices: Prices,

    /// How much of a partition a key should use, in percent: determines the number of shards.
    #[arg(long, value_name = "PERCENT", default_value_t = 70, value_parser = clap::value_parser!(u8).range(1..=100))]
    headroom: u8,

    /// Also draw a picture of keys by hour into this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Show every key, not only the five hottest of each table and index.
    #[arg(long)]
    all: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const KEYS_SHOWN: usize = 5;
const KEY_WIDTH_MAX: usize = 44;

impl ModelHeat {
    pub fn run(self) -> ExitCode {
        match self.show() {
            Ok(0) => ExitCode::SUCCESS,
            Ok(_) => ExitCode::from(FOUND),
            Err(status) => status,
        }
    }

    /// Returns how many keys are too hot, and how many items are asked for more transactions than they take.
    fn show(&self) -> Result<usize, ExitCode> {
        let model = self.file.model()?;
        let facts = self.prices.facts()?;
        let limits = &facts.limits;
        let plans: Vec<_> = model.patterns.iter().map(|pattern| plan(&model, pattern)).collect();
        let headroom = f64::from(self.headroom) / 100.0;
        let heats = heat(&model, &plans, limits, headroom);
        let cures = Cures::new(&model, &plans, &facts, headroom);
        let forecasts = forecasts(&model, limits);
        let conflicts = conflicts(&model, limits);
        if let Some(path) = &self.svg {
            self.draw(path, &svg(&model.name.value, &heats, limits))?;
        }
        match self.json {
            true => output::print_result(json!({
                "headroom": headroom,
                "heat": heats,
                "cures": cures_of_all(&heats, &cures),
                "forecasts": forecasts,
                "conflicts": conflicts,
            })),
            false => {
                self.print(&heats, &cures, limits);
                meetings(&conflicts, limits);
                grows(&forecasts);
            }
        }
        Ok(too_hot(&heats) + conflicts.iter().filter(|one| one.is_beyond()).count())
    }

    fn draw(&self, path: &PathBuf, picture: &str) -> Result<(), ExitCode> {
        std::fs::write(path, picture).map_err(|error| {
            output::print_error(&format!("{}: {error}", path.display()));
            ExitCode::from(UNREADABLE)
        })
    }

    fn print(&self, heats: &[Heats], cures: &Cures<'_>, limits: &Limits) {
        output::print_text(&format!(
            "Busiest keys, hour by hour, against {} WCU and {} RCU of one partition (█ all of it, ▲ beyond)\n",
            number(limits.partition_write_units),
            number(limits.partition_read_units)
        ));
        for heat in heats.iter().filter(|heat| !heat.keys.is_empty()) {
            self.source(heat, cures, limits);
        }
        let hot = too_hot(heats);
        let verdict = match hot {
            0 => "\nNo key is beyond what one partition sustains.\n".to_owned(),
            1 => "\nOne key is beyond what one partition sustains.\n".to_owned(),
            _ => format!("\n{hot} keys are beyond what one partition sustains.\n"),
        };
        output::print_text(&verdict);
    }

    /// How much of a key there is room for beside its load.
    fn key_width() -> usize {
        const BESIDE: usize = 13;
        output::width().map_or(KEY_WIDTH_MAX, |width| (width - BESIDE).min(KEY_WIDTH_MAX))
    }

    fn source(&self, heat: &Heats, cures: &Cures<'_>, limits: &Limits) {
        output::print_text(&format!("\n{}\n", heat.name()));
        let shown = if self.all { heat.keys.len() } else { KEYS_SHOWN };
        let keys = &heat.keys[..shown.min(heat.keys.len())];
        let width =
            keys.iter().map(|key| key.key.chars().count()).max().unwrap_or(0).min(ModelHeat::key_width());
        for key in keys {
            output::print_text(&row(key, width, limits));
            cures.of(heat, key).iter().for_each(|cure| output::print_text(&advice(cure)));
        }
        if heat.keys.len() > keys.len() {
            output::print_text(&format!("  and {} cooler keys\n", heat.keys.len() - keys.len()));
        }
        if !heat.assumed.is_empty() {
            let names = heat.assumed.join(", ");
            output::print_text(&format!(
                "  how many values there are of {names} is not declared: add `distinct` or `skew`\n"
            ));
        }
    }
}

/// How many keys get more than one partition sustains.
fn too_hot(heats: &[Heats]) -> usize {
    heats.iter().flat_map(|heat| &heat.keys).filter(|key| key.is_too_hot()).count()
}

/// The name and the load, then the day as a picture, then what it means.
fn row(key: &KeyHeat, width: usize, limits: &Limits) -> String {
    let name: String = match key.key.chars().count() > width {
        true => key.key.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        false => key.key.clone(),
    };
    let style = style(key.load);
    let load = format!("{:.1} %", key.load * 100.0);
    format!(
        "  {name:<width$}  {style}{load:>9}{style:#}\n    {style}{}{style:#}  {} WCU, {} RCU\n      {}\n",
        day(key, limits),
        units(key.write.peak()),
        units(key.read.peak()),
        remark(key)
    )
}

/// `      cures it: keep 3 copies …`.
fn advice(cure: &Cure) -> String {
    let how = if cure.cures { "cures it" } else { "not enough" };
    format!("      {how}: {}\n", cure.describe())
}

/// For each key that has more than it should.
fn cures_of_all(heats: &[Heats], cures: &Cures<'_>) -> Vec<Value> {
    let keys = heats.iter().flat_map(|heat| heat.keys.iter().map(move |key| (heat, key)));
    let hot = keys.map(|(heat, key)| (heat, key, cures.of(heat, key))).filter(|(.., ways)| !ways.is_empty());
    hot.map(|(heat, key, ways)| json!({ "on": heat.name(), "key": key.key, "ways": ways })).collect()
}

/// One character for each hour, as high as the load of the hour; full at what one partition sustains, and marked
/// beyond it.
fn day(key: &KeyHeat, limits: &Limits) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let hour = |hour: usize| {
        let load = key.load_at(hour, limits);
        let height = (load * HEIGHTS.len() as f64).ceil() as usize;
        if load > 1.0 { '▲' } else { HEIGHTS[height.clamp(1, HEIGHTS.len()) - 1] }
    };
    (0..key.write.0.len()).map(hour).collect()
}

fn style(load: f64) -> Style {
    let colour = match load {
        load if load > 1.0 => AnsiColor::Red,
        load if load > 0.7 => AnsiColor::Yellow,
        _ => AnsiColor::Green,
    };
    Style::new().fg_color(Some(colour.into()))
}

fn remark(key: &KeyHeat) -> String {
    let shards = match (key.shards, key.shards_needed) {
        (_, 1) => String::new(),
        (has, needed) if has >= needed => format!("{has} shards are enough"),
        (1, needed) => format!("needs {needed} shards"),
        (has, needed) => format!("needs {needed} shards, has {has}"),
    };
    let from: Vec<&str> = key.from.iter().map(|one| one.pattern.as_str()).collect();
    let from = format!("from {}", from.join(", "));
    if shards.is_empty() { from } else { format!("{shards}; {from}") }
}

/// Items on which transactions meet.
fn meetings(conflicts: &[WriteConflict], limits: &Limits) {
    if conflicts.is_empty() {
        return;
    }
    output::print_text("\nTransactions that meet on one item\n");
    let rows = conflicts.iter().map(|one| {
        vec![
            one.key.clone(),
            units(one.transactions.peak()),
            units(one.most),
            format!("{:.0} %", one.cancelled * 100.0),
            one.patterns.join(", "),
        ]
    });
    output::print_table(&["Item", "A second", "It takes", "Cancelled", "From"], rows);
    let milliseconds = number(limits.transaction_seconds * 1_000.0);
    output::print_text(&format!(
        "Cancelled: the share that finds another transaction under way, without retries, if one takes {milliseconds} ms.\n"
    ));
}

/// Items that grow or are already large, and collections that have a limit or are larger than a GB.
fn grows(forecasts: &[Forecast]) {
    const GIGABYTE: f64 = 1_073_741_824.0;
    let worth = |one: &&Forecast| match one.growing {
        Growing::Item => one.bytes_per_day > 0.0 || one.bytes > one.limit_bytes / 4.0,
        Growing::Collection => one.enforced || one.bytes_after(365.0) > GIGABYTE,
    };
    let rows: Vec<Vec<String>> = forecasts.iter().filter(worth).map(forecast).collect();
    if rows.is_empty() {
        return;
    }
    output::print_text("\nWhat grows towards a limit\n");
    output::print_table(&["What", "Now", "In a month", "In a year", "Limit", "Reached"], rows);
}

fn forecast(one: &Forecast) -> Vec<String> {
    let what = match one.growing {
        Growing::Item => format!("an item of {}", one.of),
        Growing::Collection => format!("the collection {} of {}", one.of, one.table),
    };
    let limit = match one.enforced {
        true => bytes(one.limit_bytes),
        false => "none: no local index".to_owned(),
    };
    let reached = match one.days_left.filter(|_| one.enforced) {
        None => "never".to_owned(),
        Some(0.0) => "already".to_owned(),
        Some(days) => format!("in {}", time(days)),
    };
    vec![what, bytes(one.bytes), bytes(one.bytes_after(30.0)), bytes(one.bytes_after(365.0)), limit, reached]
}

fn time(days: f64) -> String {
    match days {
        days if days < 2.0 => format!("{:.0} hours", days * 24.0),
        days if days < 90.0 => format!("{days:.0} days"),
        days if days < 730.0 => format!("{:.0} months", days / 30.4),
        days => format!("{:.0} years", days / 365.0),
    }
}

fn bytes(value: f64) -> String {
    let scale = [("GB", 1_073_741_824.0), ("MB", 1_048_576.0), ("KB", 1_024.0)];
    match scale.into_iter().find(|(_, size)| value >= *size) {
        Some((unit, size)) => format!("{} {unit}", units(value / size)),
        None => format!("{value:.0} B"),
    }
}

fn units(value: f64) -> String {
    if value > 0.0 && value < 0.05 {
        return "<0.1".to_owned();
    }
    number(if value >= 100.0 { value.round() } else { (value * 10.0).round() / 10.0 })
}
