//! `cargo xtask package`: what is handed out, each built around one binary, and with `--check` installed into an empty
//! place and started there.
//!
//! Nothing is published: a release takes the files from the folder that this chore names at its end.

mod archive;
mod binary;
mod deb;
mod image;
mod inventory;
mod npm;
mod rpm;
mod site;
mod stage;
mod testcontainers;
mod validate;
mod vscode;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::command;
use crate::evidence::Scratch;
use crate::report::{Outcome, Report, Test};
use binary::Architecture;
use stage::Stage;

#[derive(clap::Args, Default)]
pub struct PackageOptions {
    /// What to build; everything by default
    parts: Vec<Part>,
    /// Install each into an empty place, start it there, and run the tests of its fixtures
    #[arg(long)]
    check: bool,
    /// Package this binary instead of building one with the profile `dist`
    #[arg(long, value_name = "BINARY")]
    lodestone: Option<PathBuf>,
    /// What machines the packages are for [default: those like this one]
    #[arg(long, value_enum)]
    architecture: Option<Architecture>,
    /// Where the files go [default: `packages` in cargo's target folder]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Pack quickly instead of well: for a check
    #[arg(long)]
    quick: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// All of these
    All,
    Npm,
    Wheel,
    Deb,
    Rpm,
    Tarball,
    Image,
    Site,
    Vscode,
}

/// The parts that are tried with every run of the tests.
const BRIEF: [Part; 4] = [Part::Npm, Part::Wheel, Part::Deb, Part::Vscode];

impl PackageOptions {
    /// For the test command: around the release binary, which other steps use as well.
    pub fn brief() -> Result<PackageOptions> {
        let lodestone = Some(command::build_release()?.join("lodestone"));
        Ok(PackageOptions {
            parts: BRIEF.to_vec(),
            check: true,
            lodestone,
            quick: true,
            ..PackageOptions::default()
        })
    }

    fn parts(&self) -> Vec<Part> {
        let is_all = self.parts.is_empty() || self.parts.contains(&Part::All);
        let each = Part::value_variants().iter().copied().filter(|part| *part != Part::All);
        each.filter(|part| is_all || self.parts.contains(part)).collect()
    }
}

/// A file that is handed out, and how long it took from the installed package to the first answer.
struct Built {
    files: Vec<PathBuf>,
    first_answer_s: Option<f64>,
}

pub fn run(options: &PackageOptions, report: &mut Report) -> Result<()> {
    let folder = match &options.to {
        Some(folder) => folder.clone(),
        None => command::target_folder()?.join("packages"),
    };
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    if options.check {
        validate::run_all()?;
    }
    let scratch = Scratch::new("package")?;
    let architecture = options.architecture.unwrap_or(Architecture::own());
    let lodestone = options.lodestone.as_deref();
    let stage = Stage::new(lodestone, architecture, scratch.path(), &folder, options.quick)?;
    let mut outcome = Ok(());
    let mut lines = vec![stage.line()?];
    for part in options.parts() {
        let began = Instant::now();
        let check = options.check && part.can_be_tried(architecture);
        let made = part.build(&stage, check, scratch.path(), report);
        let seconds = began.elapsed().as_secs_f64();
        let name = part.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let state = if made.is_ok() { Outcome::Passed } else { Outcome::Failed };
        let alone = format!("cargo xtask package --check {name}");
        let test = Test { group: "package".to_owned(), name: name.clone(), seconds, outcome: state };
        report.add(vec![test], |_| alone.clone());
        match made.with_context(|| name.clone()) {
            Ok(built) => lines.extend(built.lines(seconds)?),
            Err(error) => {
                eprintln!("{error:#}");
                outcome = outcome.and(Err(error));
            }
        }
    }
    put_bill_and_sums(&stage)?;
    println!("{}", lines.join("\n"));
    println!("The packages are in {}", folder.display());
    if outcome.is_ok() {
        scratch.passed();
    }
    outcome
}

/// Beside the packages: what the binary is made from, and the checksums of all files.
fn put_bill_and_sums(stage: &Stage) -> Result<()> {
    let bill = stage.to.join(format!("lodestone-{}.cdx.json", stage.version));
    fs::write(bill, format!("{:#}\n", stage.inventory.bill))?;
    let sums = "sha256sum -- $(ls | grep -v SHA256SUMS) > SHA256SUMS";
    command::run(command::program("sh").args(["-c", sums]).current_dir(&stage.to))
}

impl Part {
    /// Whether it can be installed and started on this machine. What is for another architecture runs in an emulator,
    /// out of the archive; package managers and containers would refuse it.
    fn can_be_tried(self, architecture: Architecture) -> bool {
        architecture.is_own() || matches!(self, Part::Tarball | Part::Site)
    }

    fn build(self, stage: &Stage, check: bool, scratch: &Path, report: &mut Report) -> Result<Built> {
        match self {
            Part::All => unreachable!("it is replaced by all others"),
            Part::Npm => npm::build(stage, check, scratch, report),
            Part::Wheel => wheel::build(stage, check, scratch, report),
            Part::Deb => deb::build(stage, check, scratch),
            Part::Image => image::build(stage, check, scratch, report),
            Part::Rpm => rpm::build(stage, check, scratch),
            Part::Site => site::build(stage, check, scratch),
            Part::Tarball => archive::build(stage, check, scratch),
            Part::Vscode => vscode::build(stage, check, report),
        }
    }
}

impl Built {
    fn lines(&self, seconds: f64) -> Result<Vec<String>> {
        let answer = self.first_answer_s.map(|s| format!(", first answer {s:.2} s after the start"));
        let answer = answer.unwrap_or_default();
        self.files
            .iter()
            .map(|file| {
                let megabytes = fs::metadata(file)?.len() as f64 / 1e6;
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                Ok(format!("{megabytes:8.1} MB  {name} ({seconds:.1} s{answer})"))
            })
            .collect()
    }
}
