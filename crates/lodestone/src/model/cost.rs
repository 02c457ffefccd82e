//! `lodestone model cost FILE`.

use std::process::ExitCode;

use clap::Args;
use model::cost::{Bill, Cost as Costs, CostSettings, Line, UnknownRegion, cost, dollars, number, sum};
use model::facts;
use model::plan::plan;

use super::prices::Prices;
use super::{ModelFile, UNREADABLE, output};

/// Price a model per month: on demand, provisioned with auto scaling, and reserved.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone model cost model.yaml
  lodestone model cost model.yaml --region eu-west-1 --explain")]
pub struct Cost {
    /// The model file.
    #[arg(value_name = "FILE", required_unless_present = "print_prices")]
    file: Option<std::path::PathBuf>,

    #[command(flatten)]
    prices: Prices,

    /// The Region whose prices apply, instead of the model's.
    #[arg(long)]
    region: Option<String>,

    /// Readers of streams that are not Lambda functions.
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    stream_readers: u64,

    /// Show the arithmetic of every line, and the capacity of every hour.
    #[arg(long)]
    explain: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,

    /// Print the built-in prices and limits, which you can edit and pass to `--prices`.
    #[arg(long)]
    print_prices: bool,
}

impl Cost {
    pub fn run(self) -> ExitCode {
        if self.print_prices {
            output::print(facts::EMBEDDED);
            return ExitCode::SUCCESS;
        }
        match self.costs() {
            Ok(costs) => {
                self.print(&costs);
                ExitCode::SUCCESS
            }
            Err(status) => status,
        }
    }

    fn costs(&self) -> Result<Costs, ExitCode> {
        let path = self.file.clone().unwrap_or_default();
        let model = ModelFile { path }.model()?;
        let facts = self.prices.facts()?;
        let plans: Vec<_> = model.patterns.iter().map(|pattern| plan(&model, pattern)).collect();
        let settings = CostSettings { region: self.region.clone(), stream_readers: self.stream_readers };
        cost(&model, &plans, &facts, &settings).map_err(|UnknownRegion { region, known }| {
            output::print_error(&format!(
                "there are no prices for {region}; there are for {}",
                known.join(", ")
            ));
            ExitCode::from(UNREADABLE)
        })
    }

    fn print(&self, costs: &Costs) {
        if self.json {
            output::print_result(serde_json::json!(costs));
            return;
        }
        summary(costs);
        patterns(costs);
        indexes(costs);
        storage(costs);
        ways(costs);
        verdict(costs);
        savings(costs);
        if self.explain {
            explain(costs);
        }
        notes(costs, self.explain);
    }
}

/// What it costs, in one line; the tables below show how.
fn summary(costs: &Costs) {
    let cheapest = costs.cheapest().map(|way| {
        let (mode, class, total) = (way.mode.name(), way.class, dollars(way.bill.known()));
        format!("; the cheapest way to pay is {mode}, {class}: {total}")
    });
    let cheapest = cheapest.unwrap_or_default();
    let declared = total(&costs.declared);
    output::print_text(&format!("{declared} a month in {} as the file says{cheapest}\n", costs.region));
}

/// A bill that lacks a price costs more than what is known.
fn total(bill: &Bill) -> String {
    match bill.total() {
        Some(total) => dollars(total),
        None if bill.known() > 0.0 => format!("at least {}", dollars(bill.known())),
        None => "unknown".to_owned(),
    }
}

/// Some lines of a bill; no lines may be those whose price is missing.
fn part(bill: &Bill, lines: &[Line]) -> String {
    if lines.is_empty() && !bill.missing.is_empty() { "unknown".to_owned() } else { dollars(sum(lines)) }
}

fn heading(text: &str) {
    output::print_text(&format!("\n{text}\n"));
}

fn patterns(costs: &Costs) {
    heading(&format!(
        "Patterns by what they cost on demand in {}, in {} a month",
        costs.region, costs.currency
    ));
    let rows = costs.patterns.iter().map(|one| {
        vec![
            one.pattern.clone(),
            one.operation.clone(),
            rounded(one.rate),
            rounded(one.peak),
            rounded(one.read_units),
            rounded(one.write_units),
            dollars(one.monthly),
            percent(one.share),
        ]
    });
    let headings = ["Pattern", "Operation", "Rate/s", "Peak/s", "RCU each", "WCU each", "Month", "Share"];
    output::print_table(&headings, rows);
}

fn indexes(costs: &Costs) {
    if costs.indexes.is_empty() {
        return;
    }
    heading("What each index adds, on demand");
    let rows = costs.indexes.iter().map(|one| {
        vec![
            format!("{}/{}", one.table, one.index),
            rounded(one.write_units),
            format!("{:.2}", one.amplification),
            gigabytes(one.bytes, costs),
            dollars(one.monthly),
        ]
    });
    output::print_table(&["Index", "WCU/s", "For each WCU of the table", "Size", "Month"], rows);
}

fn storage(costs: &Costs) {
    heading("Storage, with all indexes and 100 bytes for each row");
    let rows = costs.tables.iter().map(|one| {
        vec![
            one.table.clone(),
            gigabytes(one.bytes, costs),
            gigabytes(one.bytes_per_month, costs),
            format!("{:.2}", one.amplification),
        ]
    });
    output::print_table(&["Table", "Size", "Growth a month", "WCU written for each WCU"], rows);
}

fn ways(costs: &Costs) {
    heading("Ways to pay, per month");
    let cheapest = costs.cheapest().map(|way| way.bill.known());
    let declared = ("as the file says", "", &costs.declared);
    let all = costs.ways.iter().map(|way| (way.mode.name(), way.class, &way.bill)).chain([declared]);
    let rows = all.map(|(mode, class, bill)| {
        vec![
            mode.to_owned(),
            class.to_owned(),
            part(bill, &bill.throughput),
            part(bill, &bill.storage),
            part(bill, &bill.other),
            total(bill),
            remark(bill, cheapest),
        ]
    });
    output::print_table(&["Mode", "Class", "Throughput", "Storage", "Other", "Month", ""], rows);
    if !costs.unknown.is_empty() {
        let unknown = costs.unknown.join(", ");
        output::print_text(&format!("No prices are known in {} of: {unknown}.\n", costs.region));
    }
}

fn remark(bill: &Bill, cheapest: Option<f64>) -> String {
    match bill.total() {
        None => format!("without {}, of which no price is known", bill.missing.join(", ")),
        Some(total) if cheapest.is_some_and(|cheapest| total <= cheapest) => "cheapest".to_owned(),
        Some(_) => String::new(),
    }
}

fn verdict(costs: &Costs) {
    let even = &costs.break_even;
    let mut lines = String::from("\n");
    for (what, at, used) in [("Writes", even.write, even.write_used), ("Reads", even.read, even.read_used)] {
        let Some(used) = used else { continue };
        let cheaper = if used >= at { "provisioned is cheaper" } else { "on demand is cheaper" };
        lines += &format!(
            "{what}: provisioned capacity pays from {} of use; here {} is used, so {cheaper}.\n",
            percent(at),
            percent(used)
        );
    }
    for supply in costs.capacity.iter().filter(|supply| supply.provisioned.throttled > 0.0005) {
        lines += &format!(
            "Provisioned, {} of the {} of {} would be throttled: the most it may have is too little, or \
             traffic rises faster than capacity.\n",
            percent(supply.provisioned.throttled),
            supply.unit,
            supply.name
        );
    }
    output::print_text(&lines);
}

/// What a cache would save of the dearest reads, beside what its nodes cost.
fn savings(costs: &Costs) {
    const SHOWN: usize = 3;
    if costs.cache_savings.is_empty() {
        return;
    }
    heading("What a cache would save, on demand, if it keeps answers for 5 minutes");
    let rows = costs
        .cache_savings
        .iter()
        .take(SHOWN)
        .map(|one| vec![one.pattern.clone(), percent(one.hit_share), dollars(one.monthly)]);
    output::print_table(&["Pattern", "Answered by it", "Month"], rows);
    let all: f64 = costs.cache_savings.iter().map(|one| one.monthly).sum();
    match costs.optional.iter().find(|line| line.what.starts_with("DAX")) {
        Some(nodes) => output::print_text(&format!(
            "All together {} a month; {} costs at least {}.\n",
            dollars(all),
            nodes.what,
            dollars(nodes.amount())
        )),
        None => output::print_text(&format!("All together {} a month, without its nodes.\n", dollars(all))),
    }
}

fn explain(costs: &Costs) {
    for way in &costs.ways {
        heading(&format!("{}, {}", way.mode.name(), way.class));
        lines(&way.bill);
    }
    heading("as the file says");
    lines(&costs.declared);
    heading("Capacity of each hour, from midnight on");
    for supply in costs.capacity.iter().filter(|supply| supply.average > 0.0) {
        let target = supply.target.map_or("fixed".to_owned(), |target| format!("target {}", percent(target)));
        output::print_text(&format!(
            "  {} of {} ({target}, asked for {}/s): {}\n",
            supply.unit,
            supply.name,
            rounded(supply.average),
            supply.hours()
        ));
    }
    heading("Break-even of provisioned capacity");
    costs.break_even.arithmetic.iter().for_each(|line| output::print_text(&format!("  {line}\n")));
    if !costs.optional.is_empty() {
        heading("In no sum, but to be had");
        costs.optional.iter().for_each(|line| output::print_text(&format!("  {line}\n")));
    }
}

fn lines(bill: &Bill) {
    bill.lines().for_each(|line| output::print_text(&format!("  {line}\n")));
    output::print_text(&format!("  together = {}\n", total(bill)));
}

fn notes(costs: &Costs, all: bool) {
    output::print_text(&format!("\nPrices: {}.\n", costs.prices));
    if all {
        costs.notes.iter().for_each(|note| output::print_text(&format!("{note}\n")));
    } else {
        output::print_text(
            "A month is 730 hours unless the facts say otherwise; --explain shows every line and note.\n",
        );
    }
}

fn gigabytes(bytes: f64, costs: &Costs) -> String {
    format!("{} GB", rounded(bytes / costs.gigabyte_bytes))
}

/// At most three decimals: enough to read, not to calculate with.
fn rounded(value: f64) -> String {
    number((value * 1_000.0).round() / 1_000.0)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
