//! `cargo xtask budget`: how long it takes to get an answer. Two figures decide that, and each has a budget:
//!
//! - **The first command**, `cargo run --release -- serve`: from an empty build folder to a server that is ready, studio
//!   included. Its processor time is the figure to trust, since the wall time depends on what else runs. Downloads
//!   are not measured: all crates are fetched before.
//! - **The test command**, `cargo xtask test`, with the caches of the run before.
//!
//! Both are printed beside those of the last run on this machine. A figure beyond its budget is said and fails
//! nothing: a busy machine is not a fault of the tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use ::bench::process;
use ::bench::server::Server;
use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::command::{self, cargo};
use crate::test::{self, Record};
use crate::tools;

#[derive(clap::Args)]
pub struct BudgetOptions {
    /// What is measured; both by default
    commands: Vec<Measured>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Measured {
    /// The first command; takes minutes
    First,
    /// The test command; takes the longest
    Test,
}

/// What was measured last, in the user's cache. Times are in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Figures {
    first_processor_s: Option<f64>,
    first_wall_s: Option<f64>,
    /// The size of the binary that the first command builds.
    first_binary_mb: Option<f64>,
    test_wall_s: Option<f64>,
}

/// The most seconds that each may take on two idle cores.
const FIRST_PROCESSOR_S_MAX: f64 = 300.0;
const FIRST_WALL_S_MAX: f64 = 180.0;
const TEST_WALL_S_MAX: f64 = 25.0 * 60.0;

/// Whether the test command passed, if it ran.
pub fn run(options: &BudgetOptions) -> Result<bool> {
    let wants = |what| options.commands.is_empty() || options.commands.contains(&what);
    let file = tools::cache()?.join("budget.json");
    let last = Figures::read(&file);
    let mut now = Figures::default();
    if wants(Measured::First) {
        measure_first(&mut now)?;
    }
    let mut has_passed = true;
    if wants(Measured::Test) {
        has_passed = test::run(&test::TestOptions::default())?;
        now.test_wall_s = Record::read().whole.filter(|_| has_passed).map(|whole| whole.seconds);
    }
    print!("{}", table(&now, &last));
    now.or(last).write(&file)?;
    Ok(has_passed)
}

/// Builds into an empty folder, starts the server, and waits for its ready line.
fn measure_first(figures: &mut Figures) -> Result<()> {
    command::run(&mut cargo(["fetch", "--quiet", "--locked"]))?;
    let folder = tempfile::tempdir()?;
    let target = folder.path().join("target");
    let (began, before) = (Instant::now(), time_of_children()?);
    command::run(
        cargo(["build", "--release", "--locked"])
            .env("CARGO_TARGET_DIR", &target)
            .env("LODESTONE_STUDIO", "required")
            // Cargo's own default, which a chore of ours may have changed.
            .env_remove("CARGO_INCREMENTAL"),
    )?;
    let binary = target.join("release/lodestone");
    let data = folder.path().join("data");
    let arguments = ["serve".as_ref(), "--port".as_ref(), "0".as_ref(), "--data".as_ref(), data.as_os_str()];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let wall = runtime.block_on(async {
        let server = Server::start(&binary, arguments, Stdio::null()).await?;
        let wall = began.elapsed();
        server.stop().await?;
        anyhow::Ok(wall)
    })?;
    figures.first_processor_s = Some((time_of_children()? - before).as_secs_f64());
    figures.first_wall_s = Some(wall.as_secs_f64());
    figures.first_binary_mb = Some(fs::metadata(&binary)?.len() as f64 / 1e6);
    Ok(())
}

/// The processor time of all that this process has started and that has ended.
fn time_of_children() -> Result<Duration> {
    process::time_of_ended_children_of(std::process::id().cast_signed())
}

impl Figures {
    /// Nothing if there was no run yet.
    fn read(file: &Path) -> Figures {
        fs::read(file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    fn write(&self, file: &PathBuf) -> Result<()> {
        fs::create_dir_all(tools::cache()?)?;
        fs::write(file, serde_json::to_vec(self)?).with_context(|| format!("writing {}", file.display()))
    }

    /// These figures, and of the others what these don't have.
    fn or(self, other: Figures) -> Figures {
        Figures {
            first_processor_s: self.first_processor_s.or(other.first_processor_s),
            first_wall_s: self.first_wall_s.or(other.first_wall_s),
            first_binary_mb: self.first_binary_mb.or(other.first_binary_mb),
            test_wall_s: self.test_wall_s.or(other.test_wall_s),
        }
    }
}

fn table(now: &Figures, last: &Figures) -> String {
    let rows = [
        (
            "first command, processor s",
            now.first_processor_s,
            last.first_processor_s,
            Some(FIRST_PROCESSOR_S_MAX),
        ),
        ("first command, wall s", now.first_wall_s, last.first_wall_s, Some(FIRST_WALL_S_MAX)),
        ("its binary, MB", now.first_binary_mb, last.first_binary_mb, None),
        ("test command, wall s", now.test_wall_s, last.test_wall_s, Some(TEST_WALL_S_MAX)),
    ];
    let shown = |figure: Option<f64>| figure.map_or("–".to_owned(), |figure| format!("{figure:.0}"));
    let mut text = format!("\n{:<28}{:>8}{:>8}{:>8}\n", "", "now", "last", "budget");
    for (name, now, last, budget) in rows {
        let beyond = now.zip(budget).is_some_and(|(now, budget)| now > budget);
        let remark = if beyond { "  beyond its budget" } else { "" };
        text += &format!("{name:<28}{:>8}{:>8}{:>8}{remark}\n", shown(now), shown(last), shown(budget));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_shown_beside_the_last_ones_and_their_budgets() {
        let now = Figures { first_processor_s: Some(310.4), first_wall_s: Some(144.0), ..Figures::default() };
        let last =
            Figures { first_processor_s: Some(690.0), test_wall_s: Some(1200.0), ..Figures::default() };
        assert_eq!(
            table(&now, &last),
            "
                                 now    last  budget
first command, processor s       310     690     300  beyond its budget
first command, wall s            144       –     180
its binary, MB                     –       –       –
test command, wall s               –    1200    1500
"
        );
    }

    #[test]
    fn a_figure_that_was_not_measured_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("budget.json");
        assert_eq!(Figures::read(&file), Figures::default());
        fs::write(&file, r#"{"test_wall_s": 1200.0}"#).unwrap();
        let now = Figures { first_wall_s: Some(144.0), ..Figures::default() };
        let kept = now.or(Figures::read(&file));
        assert_eq!((kept.first_wall_s, kept.test_wall_s), (Some(144.0), Some(1200.0)));
    }

    #[test]
    fn the_time_of_a_process_that_has_ended_counts() {
        let before = time_of_children().unwrap();
        command::run(
            command::program("sh").args(["-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"]),
        )
        .unwrap();
        assert!(time_of_children().unwrap() > before);
    }
}
