//! `bench agreement`: does `lodestone simulate` say what really happens?
//!
//! A model is simulated. Then the same traffic is sent to a server with `--capacity aws` that lets time pass faster, and
//! what tables and indexes consumed and refused there is compared with the simulation.
//!
//! Each [`scenario`] is made so that limits of another kind are met; [`traffic`] sends its requests.

mod scenario;
mod traffic;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::contender;
use crate::place::Place;
use crate::report::{self, number};
use crate::table;
use scenario::{INDEX, Name, Scenario, TABLE};
use traffic::Traffic;

/// How far consumed units may differ.
const UNITS_APART_MAX: f64 = 0.02;
/// How far the numbers of refused requests may differ.
const REFUSED_APART_MAX: f64 = 0.05;
/// How many times as fast a quick run is.
const QUICK_TIME_SCALE: u32 = 120;

/// Compare what `lodestone simulate` says with what a server does
#[derive(clap::Args, Clone, Debug)]
pub struct AgreementOptions {
    /// What is compared, one after the other [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub scenario: Vec<Name>,
    /// How many times as fast as real time the server's clock runs [default: 60, and less where a second counts]
    #[arg(long)]
    pub time_scale: Option<u32>,
    /// The first scenario alone, ten minutes of it in five seconds. Late requests and small differences are no failure
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub place: Place,
}

/// What was consumed and refused, simulated or real.
#[derive(Debug, Default, PartialEq)]
struct Figures {
    read_units: f64,
    write_units: f64,
    index_write_units: f64,
    reads_refused: f64,
    writes_refused: f64,
    /// What auto scaling provides at the end.
    provisioned: f64,
}

pub async fn run(options: &AgreementOptions) -> Result<()> {
    if options.quick {
        let mut scenario = Scenario::named(Name::Provisioned);
        scenario.parts.iter_mut().for_each(|(minutes, _)| *minutes /= 4);
        return compare(options, &scenario, QUICK_TIME_SCALE).await.map(drop);
    }
    let all = || Name::value_variants().to_vec();
    let names = if options.scenario.is_empty() { all() } else { options.scenario.clone() };
    for name in names {
        let scenario = Scenario::named(name);
        let time_scale = options.time_scale.unwrap_or(scenario.time_scale).max(1);
        let (simulated, sent) = compare(options, &scenario, time_scale).await?;
        ensure!(
            sent.latest * time_scale <= scenario.late_max,
            "requests were late: the machine is too busy for this comparison; try a smaller --time-scale"
        );
        simulated.check(&sent.figures)?;
    }
    Ok(())
}

/// Plays a scenario twice, and prints what came of it.
async fn compare(
    options: &AgreementOptions,
    scenario: &Scenario,
    time_scale: u32,
) -> Result<(Figures, traffic::Sent)> {
    let lodestone = options.place.lodestone()?;
    let folder = options.place.scratch()?;
    let simulation = simulate(&lodestone, folder.path(), scenario)?;
    let simulated = simulated_figures(&simulation, scenario)?;
    let server = contender::serve(
        &lodestone,
        ["--in-memory", "--capacity", "aws", "--time-scale", &time_scale.to_string()].map(Into::into),
    )
    .await?;
    let mut connection = Connection::open(server.address).await?;
    let mut created = scenario.table.clone();
    if scenario.scaled.is_some() {
        let first = &place(&simulation, TABLE)?["write"]["minutes"][0]["provisioned"];
        created["ProvisionedThroughput"]["WriteCapacityUnits"] = first.clone();
    }
    table::call(&mut connection, "CreateTable", &created).await?;
    traffic::load(&mut connection, scenario.items).await?;
    if let Some(bounds) = scenario.scaled {
        traffic::scale(&mut connection, bounds).await?;
    }
    let mut sent = Traffic::new(scenario, time_scale).send(server.address).await?;
    if scenario.scaled.is_some() {
        sent.figures.provisioned = traffic::provisioned(&mut connection).await?;
    }
    server.stop().await?;
    let title = scenario.name.to_possible_value().map(|value| value.get_name().to_owned());
    println!("{}\n{}", title.unwrap_or_default(), report(&simulated, &sent.figures));
    println!(
        "{} requests in {} minutes, {time_scale} times as fast; the latest was {:.1} s late by the server's clock.\n",
        sent.count,
        scenario.minutes(),
        (sent.latest * time_scale).as_secs_f64()
    );
    Ok((simulated, sent))
}

/// What `lodestone simulate` prints of the first way to pay.
fn simulate(lodestone: &Path, folder: &Path, scenario: &Scenario) -> Result<Value> {
    let (model_file, curve_file) = (folder.join("model.yaml"), folder.join("curve.csv"));
    let line = |minute| format!("{minute}m,{}\n", scenario.factor(minute));
    let lines: String = (0..scenario.minutes()).map(line).collect();
    std::fs::write(&model_file, &scenario.model)?;
    std::fs::write(&curve_file, format!("time,factor\n{lines}"))?;
    let mut command = Command::new(lodestone);
    command.arg("simulate").arg(&model_file).arg("--traffic").arg(&curve_file).arg("--json");
    let output = command.output().context("running lodestone simulate")?;
    ensure!(output.status.success(), "lodestone simulate: {}", String::from_utf8_lossy(&output.stderr));
    let mut report: Value = serde_json::from_slice(&output.stdout)?;
    Ok(report["ways"][0].take())
}

/// A table or index of a simulation.
fn place<'s>(simulation: &'s Value, name: &str) -> Result<&'s Value> {
    let mut places = simulation["places"].as_array().into_iter().flatten();
    places.find(|place| place["name"] == name).with_context(|| format!("{name} is missing"))
}

fn simulated_figures(simulation: &Value, scenario: &Scenario) -> Result<Figures> {
    let table = place(simulation, TABLE)?;
    let none = json!(null);
    let index = place(simulation, &format!("{TABLE}/{INDEX}")).unwrap_or(&none);
    let figure = |value: &Value| value.as_f64().unwrap_or(0.0);
    let last = table["write"]["minutes"].as_array().and_then(|minutes| minutes.last());
    let provisioned = last.map_or(0.0, |minute| figure(&minute["provisioned"]));
    Ok(Figures {
        read_units: figure(&table["read"]["consumed"]),
        write_units: figure(&table["write"]["consumed"]),
        index_write_units: figure(&index["write"]["consumed"]),
        reads_refused: figure(&table["read"]["refused"]),
        writes_refused: figure(&table["write"]["refused"]),
        provisioned: if scenario.scaled.is_some() { provisioned } else { 0.0 },
    })
}

impl Figures {
    fn add(&mut self, other: &Figures) {
        self.read_units += other.read_units;
        self.write_units += other.write_units;
        self.index_write_units += other.index_write_units;
        self.reads_refused += other.reads_refused;
        self.writes_refused += other.writes_refused;
    }

    /// Each figure with its name and how far two runs may differ in it.
    fn each(&self) -> [(&'static str, f64, f64); 6] {
        [
            ("read units of the table", self.read_units, UNITS_APART_MAX),
            ("write units of the table", self.write_units, UNITS_APART_MAX),
            ("write units of the index", self.index_write_units, UNITS_APART_MAX),
            ("reads refused", self.reads_refused, REFUSED_APART_MAX),
            ("writes refused", self.writes_refused, REFUSED_APART_MAX),
            ("write units provisioned at the end", self.provisioned, 0.0),
        ]
    }

    fn check(&self, real: &Figures) -> Result<()> {
        ensure!(
            self.reads_refused + self.writes_refused > 0.0,
            "the simulation refuses nothing, so the traffic is too weak to compare"
        );
        for ((name, simulated, apart_max), (_, real, _)) in self.each().into_iter().zip(real.each()) {
            ensure!(
                apart(simulated, real) <= apart_max,
                "{name}: simulated {simulated}, really {real}; more than {} % apart",
                apart_max * 100.0
            );
        }
        Ok(())
    }
}

fn apart(simulated: f64, real: f64) -> f64 {
    (simulated - real).abs() / simulated.max(real).max(f64::MIN_POSITIVE)
}

fn report(simulated: &Figures, real: &Figures) -> String {
    let mut table = report::table(&["figure", "simulated", "really", "apart"]);
    for ((name, simulated, _), (_, real, _)) in simulated.each().into_iter().zip(real.each()) {
        if simulated == 0.0 && real == 0.0 {
            continue;
        }
        let apart = format!("{:.2} %", apart(simulated, real) * 100.0);
        table.add_row([name, &number(simulated), &number(real), &apart]);
    }
    report::align_right(&mut table, &[1, 2, 3]);
    table.to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_traffic_has_the_requests_of_its_rates() {
        for name in Name::value_variants() {
            let scenario = Scenario::named(*name);
            let traffic = Traffic::new(&scenario, 60);
            let weight: f64 =
                scenario.parts.iter().map(|(minutes, factor)| *minutes as f64 * 60.0 * factor).sum();
            for flow in &scenario.flows {
                let count = traffic.due().iter().filter(|(_, kind)| *kind == flow.kind).count() as f64;
                assert!((count - flow.per_second * weight).abs() <= 1.0, "{name:?}: {count}");
            }
            let end = Duration::from_secs(scenario.minutes() as u64);
            assert!(traffic.due().last().is_some_and(|(time, _)| *time <= end));
            assert!(traffic.due().is_sorted_by_key(|(time, _)| *time));
        }
    }

    #[test]
    fn figures_that_differ_too_much_are_named() {
        let figures = |reads_refused| Figures {
            read_units: 100.0,
            write_units: 100.0,
            index_write_units: 50.0,
            reads_refused,
            writes_refused: 10.0,
            provisioned: 0.0,
        };
        figures(100.0).check(&figures(96.0)).unwrap();
        let refused = figures(100.0).check(&figures(90.0)).unwrap_err().to_string();
        assert!(refused.starts_with("reads refused"), "{refused}");
        let scaled = Figures { provisioned: 2.0, ..figures(100.0) };
        let refused = scaled.check(&figures(100.0)).unwrap_err().to_string();
        assert!(refused.starts_with("write units provisioned"), "{refused}");
    }
}
