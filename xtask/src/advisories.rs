//! `cargo xtask advisories`: is a dependency known to be vulnerable?
//!
//! The versions in the lock files are held against `xtask/advisories.json`, which has what RustSec's database knew when
//! `cargo xtask advisories --refresh` was last run. So the check needs no network. A refresh needs the database: its
//! repository, or a clone of it.
//!
//! Vulnerabilities and unsound code fail the check. That a crate is no longer maintained does not.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use semver::{Version, VersionReq};
use serde::{Deserialize, Serialize};
use toml_edit::{DocumentMut, Item, TableLike};

use crate::command::{self, program, root};
use crate::victim::now_us;

const DATABASE: &str = "https://github.com/RustSec/advisory-db";
const FILE: &str = "xtask/advisories.json";
const LOCK_FILES: [&str; 3] = ["Cargo.lock", "fuzz/Cargo.lock", "acceptance/rust/Cargo.lock"];
const A_DAY_S: u64 = 24 * 60 * 60;
/// From this age on the check asks for a refresh. It does not fail: an old clone must pass on a machine without network.
const AGE_DAYS_MAX: u64 = 30;
/// Advisories that do not concern us, each with the reason.
const ACCEPTED: &[(&str, &str)] = &[];

#[derive(Default, clap::Args)]
pub struct AdvisoriesOptions {
    /// Write the file again from the database first
    #[arg(long)]
    refresh: bool,
    /// Where the database is: a clone of its repository, or its URL
    #[arg(long, value_name = "REPOSITORY", default_value = DATABASE, requires = "refresh")]
    database: String,
}

/// What the database knew.
#[derive(Debug, Deserialize, Serialize)]
struct Database {
    /// The day of its last change.
    date: String,
    /// The same in seconds since 1970.
    changed_s: u64,
    commit: String,
    /// By package.
    advisories: BTreeMap<String, Vec<Advisory>>,
}

/// A flaw, and the versions of its package that do not have it.
#[derive(Debug, PartialEq, Eq, Deserialize, Serialize)]
struct Advisory {
    id: String,
    title: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    patched: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unaffected: Vec<String>,
}

pub fn run(options: &AdvisoriesOptions) -> Result<()> {
    let file = root().join(FILE);
    if options.refresh {
        let database = read_repository(&options.database)?;
        fs::write(&file, serde_json::to_string_pretty(&database)? + "\n")?;
    }
    let text = fs::read_to_string(&file).with_context(|| format!("reading {FILE}"))?;
    let database: Database = serde_json::from_str(&text).with_context(|| format!("reading {FILE}"))?;
    let mut found = Vec::new();
    let mut packages_count = 0;
    for lock in LOCK_FILES {
        let text = fs::read_to_string(root().join(lock)).with_context(|| format!("reading {lock}"))?;
        let packages = packages(&text).with_context(|| format!("reading {lock}"))?;
        packages_count += packages.len();
        found.extend(database.flaws(&packages)?.into_iter().map(|flaw| format!("{lock}: {flaw}")));
    }
    ensure!(found.is_empty(), "{}", found.join("\n"));
    let Database { date, changed_s, .. } = &database;
    println!("no advisory of {date} or before concerns any of {packages_count} packages");
    let age_days = (now_us(0) / 1_000_000).saturating_sub(*changed_s) / A_DAY_S;
    if age_days > AGE_DAYS_MAX {
        println!("WARNING: these advisories are {age_days} days old. Run: cargo xtask advisories --refresh");
    }
    Ok(())
}

impl Database {
    /// The flaws that packages of these versions have.
    fn flaws(&self, packages: &[(String, Version)]) -> Result<Vec<String>> {
        let mut flaws = Vec::new();
        for (name, version) in packages {
            for advisory in self.advisories.get(name).into_iter().flatten() {
                let is_accepted = ACCEPTED.iter().any(|(id, _)| *id == advisory.id);
                if !is_accepted && advisory.concerns(version)? {
                    let Advisory { id, title, patched, .. } = advisory;
                    let patched =
                        if patched.is_empty() { "no version".to_owned() } else { patched.join(" or ") };
                    flaws.push(format!("{name} {version}: {title} ({id}). It is mended in {patched}"));
                }
            }
        }
        Ok(flaws)
    }
}

impl Advisory {
    fn concerns(&self, version: &Version) -> Result<bool> {
        for text in self.patched.iter().chain(&self.unaffected) {
            let safe = VersionReq::parse(text).with_context(|| format!("{}: versions '{text}'", self.id))?;
            if safe.matches(version) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The packages of a lock file that come from a registry, and their versions.
fn packages(lock: &str) -> Result<Vec<(String, Version)>> {
    let lock: DocumentMut = lock.parse()?;
    let tables = lock.get("package").and_then(Item::as_array_of_tables).context("there are no packages")?;
    let of_registry = tables.iter().filter(|package| package.contains_key("source"));
    of_registry
        .map(|package| {
            let text = |name| text_of(package, name).with_context(|| format!("a package has no {name}"));
            Ok((text("name")?, text("version")?.parse()?))
        })
        .collect()
}

/// Reads all advisories of a repository.
fn read_repository(repository: &str) -> Result<Database> {
    let folder = tempfile::tempdir()?;
    let clone = folder.path().join("database");
    command::run(program("git").args(["clone", "--quiet", "--depth", "1", repository]).arg(&clone))?;
    let head = |format: &str| -> Result<String> {
        let output =
            program("git").arg("-C").arg(&clone).args(["log", "-1", "--date=short", format]).output()?;
        ensure!(output.status.success(), "git log: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    let (date, commit) = (head("--format=%cd")?, head("--format=%H")?);
    let changed_s = head("--format=%ct")?.parse()?;
    let mut advisories: BTreeMap<String, Vec<Advisory>> = BTreeMap::new();
    for package in sorted(&clone.join("crates"))? {
        for file in sorted(&package)? {
            let text = fs::read_to_string(&file)?;
            let read = read_advisory(&text).with_context(|| format!("reading {}", file.display()))?;
            if let Some((package, advisory)) = read {
                advisories.entry(package).or_default().push(advisory);
            }
        }
    }
    Ok(Database { date, changed_s, commit, advisories })
}

fn sorted(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Reads the TOML at the beginning of an advisory, and its heading. None if it was withdrawn, or tells of no flaw.
fn read_advisory(text: &str) -> Result<Option<(String, Advisory)>> {
    let inner = text.trim_start().strip_prefix("```toml").context("it does not begin with TOML")?;
    let (facts, rest) = inner.split_once("\n```").context("its TOML has no end")?;
    let facts: DocumentMut = facts.parse()?;
    let Some(about) = facts.get("advisory").and_then(Item::as_table_like) else {
        bail!("it has no [advisory]")
    };
    let kind = text_of(about, "informational");
    if about.contains_key("withdrawn") || kind.as_deref().is_some_and(|kind| kind != "unsound") {
        return Ok(None);
    }
    let versions = facts.get("versions").and_then(Item::as_table_like);
    let list = |name: &str| -> Vec<String> {
        let values = versions.and_then(|versions| versions.get(name)).and_then(Item::as_array);
        values.into_iter().flatten().filter_map(|value| Some(value.as_str()?.to_owned())).collect()
    };
    let title = rest.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or("an unnamed flaw");
    let field = |name| text_of(about, name).with_context(|| format!("it has no {name}"));
    let advisory = Advisory {
        id: field("id")?,
        title: title.trim().to_owned(),
        patched: list("patched"),
        unaffected: list("unaffected"),
    };
    Ok(Some((field("package")?, advisory)))
}

fn text_of(table: &dyn TableLike, name: &str) -> Option<String> {
    table.get(name)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADVISORY: &str = "```toml\n[advisory]\nid = \"RUSTSEC-2024-0001\"\npackage = \"zip\"\n[versions]\n\
        patched = [\">= 0.4.0\", \"^0.3.2\"]\nunaffected = [\"< 0.2.0\"]\n```\n\n# A crash\n\nText.\n";

    fn lock(version: &str, source: &str) -> String {
        format!("version = 4\n\n[[package]]\nname = \"zip\"\nversion = \"{version}\"\n{source}")
    }

    fn flaws(version: &str, source: &str) -> Vec<String> {
        let (package, advisory) = read_advisory(ADVISORY).unwrap().unwrap();
        let advisories = [(package, vec![advisory])].into();
        let database = Database { date: String::new(), changed_s: 0, commit: String::new(), advisories };
        database.flaws(&packages(&lock(version, source)).unwrap()).unwrap()
    }

    #[test]
    fn a_dependency_with_a_known_flaw_is_found() {
        let registry = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
        let expected = "zip 0.3.1: A crash (RUSTSEC-2024-0001). It is mended in >= 0.4.0 or ^0.3.2";
        assert_eq!(flaws("0.3.1", registry), [expected]);
        for version in ["0.3.2", "0.4.0", "1.0.0", "0.1.9"] {
            assert_eq!(flaws(version, registry), [""; 0], "{version}");
        }
        assert_eq!(flaws("0.3.1", ""), [""; 0], "a package of ours is not in the registry");
    }

    #[test]
    fn what_was_withdrawn_or_tells_of_no_flaw_is_left_out() {
        let with = |line: &str| ADVISORY.replace("package =", &format!("{line}\npackage ="));
        let is_kept = |line: &str| read_advisory(&with(line)).unwrap().is_some();
        assert!(is_kept("informational = \"unsound\""));
        assert!(!is_kept("informational = \"unmaintained\""));
        assert!(!is_kept("withdrawn = \"2024-01-01\""));
        assert!(read_advisory("no TOML").is_err());
    }
}
