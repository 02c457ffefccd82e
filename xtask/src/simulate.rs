//! `cargo xtask simulate`: the whole system in simulated time, world after world.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::command::{self, cargo, program};
use crate::tools;

/// Worlds that the test command plays, the same each time: what fails there fails for everybody. New ones are for
/// campaigns.
const FIXED_WORLDS: &str = "150";
/// The minutes after which the test command plays no more of them.
const FIXED_MINUTES: &str = "1";
/// Optimised, and with debug assertions: its build takes minutes, and each world then a fraction of the time.
const PROFILE: &str = "worlds";

#[derive(clap::Args)]
pub struct SimulateOptions {
    /// The seed of the world, or of the first of several
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many worlds; one by default, which is then printed
    #[arg(long)]
    worlds: Option<u64>,
    /// The minutes after which it stops
    #[arg(long)]
    minutes: Option<f64>,
    /// Play the plan of a file, as a failure leaves it behind
    #[arg(long)]
    plan: Option<PathBuf>,
    /// Print which faults met which jobs and requests, and which warnings no world reached
    #[arg(long)]
    coverage: bool,
    /// Put known faults into a copy of the code, one after the other: worlds have to find each
    #[arg(long)]
    mutants: bool,
    /// Only the mutants whose names have this in them
    #[arg(long, requires = "mutants")]
    only: Option<String>,
    /// As the test command does: worlds that are always the same, for a minute at most
    #[arg(long)]
    brief: bool,
}

impl SimulateOptions {
    /// For the test command.
    pub fn brief() -> SimulateOptions {
        SimulateOptions {
            seed: 0,
            worlds: None,
            minutes: None,
            plan: None,
            coverage: false,
            mutants: false,
            only: None,
            brief: true,
        }
    }

    /// Many worlds are worth a build of their own.
    fn profile(&self) -> &'static str {
        let is_campaign = self.worlds.is_some_and(|worlds| worlds > 1) || self.minutes.is_some();
        if is_campaign { PROFILE } else { "dev" }
    }
}

pub fn run(options: &SimulateOptions) -> Result<()> {
    if options.mutants {
        return find_mutants(options.only.as_deref().unwrap_or_default());
    }
    if options.brief {
        return play_briefly();
    }
    let profile = options.profile();
    let mut world = cargo(["run", "--quiet", "--profile", profile, "--package", "world", "--", "--seed"]);
    world.arg(options.seed.to_string());
    if let Some(worlds) = options.worlds {
        world.args(["--worlds", &worlds.to_string()]);
    }
    if let Some(minutes) = options.minutes {
        world.args(["--minutes", &minutes.to_string()]);
    }
    if let Some(plan) = &options.plan {
        world.arg("--plan").arg(plan);
    }
    if options.coverage {
        world.arg("--coverage");
    }
    command::run(&mut world)
}

/// Uses what the tests have built anyway.
fn play_briefly() -> Result<()> {
    let mut world = cargo(["run", "--quiet", "--package", "world", "--"]);
    command::run(world.args(["--seed", "0", "--worlds", FIXED_WORLDS, "--minutes", FIXED_MINUTES]))
}

/// Worlds in which a mutant has to be found.
const MUTANT_WORLDS: u64 = 500;
/// The patches, one for each mutant.
const MUTANTS: &str = "crates/world/mutants";

/// Plays worlds with each mutant until one fails, and says which it was. Without a mutant none of them fails.
fn find_mutants(only: &str) -> Result<()> {
    let tree = tools::cache()?.join("mutants");
    let mut patches: Vec<PathBuf> = fs::read_dir(command::root().join(MUTANTS))?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    patches.retain(|path| name_of(path).contains(only));
    patches.sort();
    copy_sources(&tree)?;
    let found = found_by(&tree).context("without a mutant")?;
    ensure!(found.is_none(), "a world fails without any mutant: {}", found.unwrap_or_default());
    let mut missed = Vec::new();
    for patch in &patches {
        copy_sources(&tree)?;
        // Outside of any repository, a patch is applied to the files as they are.
        let mut apply = program("git");
        apply.current_dir(&tree).env("GIT_CEILING_DIRECTORIES", tree.parent().unwrap_or(&tree));
        command::run(apply.args(["apply", "--whitespace=nowarn"]).arg(patch))?;
        let found = found_by(&tree).with_context(|| format!("with the mutant {}", name_of(patch)))?;
        println!("{:40} {}", name_of(patch), found.as_deref().unwrap_or("NOT FOUND"));
        missed.extend(found.is_none().then(|| name_of(patch)));
    }
    ensure!(missed.is_empty(), "{MUTANT_WORLDS} worlds do not find {}", missed.join(", "));
    Ok(())
}

fn name_of(patch: &Path) -> String {
    patch.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Makes `tree` a copy of the sources. A file that is the same stays as it is, so that cargo does not build it again.
fn copy_sources(tree: &Path) -> Result<()> {
    let listed = program("git").args(["ls-files", "--cached", "--others", "--exclude-standard"]).output()?;
    ensure!(listed.status.success(), "git lists no files");
    for name in String::from_utf8_lossy(&listed.stdout).lines() {
        let (from, to) = (command::root().join(name), tree.join(name));
        // It may have been removed, and still be listed.
        let Ok(bytes) = fs::read(&from) else { continue };
        if fs::read(&to).is_ok_and(|there| there == bytes) {
            continue;
        }
        fs::create_dir_all(to.parent().unwrap_or(tree))?;
        fs::write(&to, bytes)?;
    }
    Ok(())
}

/// The first failure of the worlds in a folder.
fn found_by(tree: &Path) -> Result<Option<String>> {
    let target = tree.join("target");
    let mut build = cargo(["build", "--quiet", "--package", "world", "--target-dir"]);
    command::run(build.arg(&target).current_dir(tree))?;
    let mut worlds = program(target.join("debug/world"));
    worlds.current_dir(tree).args(["--until-failure", "--no-shrinking", "--worlds"]);
    let played = worlds.arg(MUTANT_WORLDS.to_string()).output()?;
    let text = String::from_utf8_lossy(&played.stdout);
    Ok(text.lines().find(|line| line.starts_with("seed ")).map(str::to_owned))
}
