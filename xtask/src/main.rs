//! `cargo xtask <chore>`: one way to do each chore, one file a chore.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "chores talk on the terminal")]

use std::process::ExitCode;

use anyhow::{Result, anyhow};
use clap::{Parser, Subcommand};

mod acceptance;
mod advisories;
mod bench;
mod budget;
mod cluster;
mod codegen;
mod command;
mod convergence;
mod crash;
mod damage;
mod deny;
mod evidence;
mod fuzz;
mod golden;
mod model_migration;
mod node_tests;
mod package;
mod policies;
mod recovery;
mod regions;
mod replay;
mod report;
mod round_trip;
mod rust_tests;
mod simulate;
mod simulation;
mod stand_in;
mod studio;
mod test;
mod tidy;
mod tools;
mod vectors;
mod victim;
mod wait;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's chores")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Check everything; installs what it needs
    Test(test::TestOptions),
    /// One step of the tests
    #[command(hide = true)]
    Step(test::StepOptions),
    /// Measure how long the first command and the test command take
    Budget(budget::BudgetOptions),
    /// Write the generated code of `api` from the services' facts
    Codegen {
        /// Only check that the code in the tree is what would be written
        #[arg(long)]
        check: bool,
    },
    /// Check the rules that the compiler does not
    Tidy,
    /// Check the dependencies: licences, duplicates, sources
    Deny,
    /// Check the dependencies against known security advisories
    Advisories(advisories::AdvisoriesOptions),
    /// Run the AWS clients against the binary
    Acceptance(acceptance::AcceptanceOptions),
    /// Several servers on PostgreSQL that look like one `lodestone`; for the AWS clients' tests
    #[command(hide = true)]
    StandIn(stand_in::StandInOptions),
    /// Build what is handed out, and try it
    Package(package::PackageOptions),
    /// Use the studio in a browser
    Studio(studio::StudioOptions),
    /// Kill the binary under load, again and again, and look for lost or invented writes
    Crash(crash::CrashOptions),
    /// Kill the leader of a PostgreSQL cluster under load, again and again, and look for lost or invented writes
    Cluster(cluster::ClusterOptions),
    /// Kill the binary while a table is restored, and compare every restored second with what was written
    Recovery(recovery::RecoveryOptions),
    /// Write at random in three Regions of a global table, and compare them with what last-writer-wins says
    Convergence(convergence::ConvergenceOptions),
    /// The same with three server processes that are killed, and whose network breaks; or measure replication
    Regions(regions::RegionsOptions),
    /// Kill the binary and a reader of its stream, and look for records that are missing or come twice
    Replay(replay::ReplayOptions),
    /// Export a large table while it changes, import it, and compare
    RoundTrip(round_trip::RoundTripOptions),
    /// Search a large vector index while it is made, written to and killed, and compare with what is nearest
    Vectors(vectors::VectorsOptions),
    /// Carry out a migration of a large table under load, killed twice, and look for items missed or written twice
    ModelMigration(model_migration::ModelMigrationOptions),
    /// Damage the files of the embedded store in every way, and look for damage that goes unnoticed
    Damage(damage::DamageOptions),
    /// Data of every format that there has been, which later versions must be able to use
    Golden {
        #[command(subcommand)]
        command: golden::GoldenCommand,
    },
    /// Run the embedded store on a simulated disk that crashes and fails
    Simulation(simulation::SimulationOptions),
    /// Play whole worlds in simulated time: servers, clients, and everything that goes wrong
    Simulate(simulate::SimulateOptions),
    /// Let two evaluators of policies decide random requests, and compare
    Policies(policies::PoliciesOptions),
    /// Feed the parsers with random input
    Fuzz(fuzz::FuzzOptions),
    /// Measure the binary beside a bare server
    Bench(Box<bench::Arguments>),
}

fn main() -> ExitCode {
    let has_passed = run(Arguments::parse().chore).unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        evidence::print_place();
        false
    });
    if has_passed {
        evidence::discard();
    }
    if has_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether it has passed, if it says so itself.
fn run(chore: Chore) -> Result<bool> {
    match chore {
        Chore::Test(options) => return test::run(&options),
        Chore::Budget(options) => return budget::run(&options),
        Chore::Step(options) => test::run_step(&options),
        Chore::Codegen { check } => codegen::run(check).map_err(|error| anyhow!("{error}")),
        Chore::Tidy => tidy::run(),
        Chore::Deny => deny::run(),
        Chore::Advisories(options) => advisories::run(&options),
        Chore::Acceptance(options) => acceptance::run(&options, &mut report::Report::default()),
        Chore::StandIn(options) => stand_in::run(&options),
        Chore::Package(options) => package::run(&options, &mut report::Report::default()),
        Chore::Studio(options) => studio::check(&options, &mut report::Report::default()),
        Chore::Crash(options) => crash::run(&options),
        Chore::Cluster(options) => cluster::run(&options),
        Chore::Recovery(options) => recovery::run(&options),
        Chore::Convergence(options) => convergence::run(&options),
        Chore::Regions(options) => regions::run(&options),
        Chore::Replay(options) => replay::run(&options),
        Chore::RoundTrip(options) => round_trip::run(&options),
        Chore::Vectors(options) => vectors::run(&options),
        Chore::ModelMigration(options) => model_migration::run(&options),
        Chore::Damage(options) => damage::run(&options),
        Chore::Golden { command } => golden::run(&command),
        Chore::Simulation(options) => simulation::run(&options),
        Chore::Simulate(options) => simulate::run(&options),
        Chore::Policies(options) => policies::run(&options),
        Chore::Fuzz(options) => fuzz::run(&options),
        Chore::Bench(arguments) => bench::run(&arguments),
    }?;
    Ok(true)
}
