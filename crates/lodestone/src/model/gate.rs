//! `lodestone model gate BASE HEAD`.

mod version;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use model::cost::{CostSettings, UnknownRegion};
use model::diagnostic;
use model::facts::Facts;
use model::file::{self, Reading};
use model::gate::{Comparison, CostLimit, Failure, GeneratedCode, Proof, Ran, Snapshot, Thresholds, compare};
use model::migrate::MigrationSettings;
use model::{Model, Source, check};
use model_code::library::{self, LibraryLanguage};
use proof::Certificate;

use super::prices::Prices;
use super::{FOUND, UNREADABLE, output, prove};

/// Say what a change of a model makes worse, for pull requests.
///
/// BASE and HEAD are files, or REV:PATH as `git show` reads them: main:model.yaml, HEAD~1:model.yaml, and :model.yaml for what
/// is staged. Compares what can be proven, what rules find, the bill of a month, the heat of keys, transactions that
/// meet on one item, and the generated code, and plans the migration from one to the other.
///
/// A new error, and a pattern that is not proven and was or is new, always fail; --max-cost, --max-heat, --deny-warnings and
/// --deny-obstacles fail more. What is as bad in BASE does not fail. If BASE has no such file, or no model in it, everything
/// counts as new.
///
/// The status is 0 if the gate passes, 1 if it fails, 2 if HEAD is not a model or a file can't be read.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone model gate main:model.yaml model.yaml
  lodestone model gate main:model.yaml model.yaml --max-cost +5% --max-heat 80%
  lodestone model gate HEAD:model.yaml :model.yaml --deny-warnings
  lodestone model gate origin/main:model.yaml model.yaml --markdown=gate.md --sarif=gate.sarif")]
pub struct Gate {
    /// The earlier version: a file, or REV:PATH.
    #[arg(value_name = "BASE")]
    base: String,

    /// The later version: a file, or REV:PATH.
    #[arg(value_name = "HEAD")]
    head: String,

    /// What a month may cost: +5% or +$20 more than BASE, or $500.
    #[arg(long, value_name = "LIMIT")]
    max_cost: Option<CostLimit>,

    /// How much of what a partition sustains a key may get, and an item of the transactions that it takes.
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    max_heat: Option<f64>,

    /// New warnings fail, too.
    #[arg(long)]
    deny_warnings: bool,

    /// Fail if there is no way from BASE to HEAD while the application runs.
    #[arg(long)]
    deny_obstacles: bool,

    /// Write units per second that a job of the migration may use.
    #[arg(long, value_name = "UNITS", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,

    #[command(flatten)]
    prices: Prices,

    /// The Region whose prices apply, instead of the models'.
    #[arg(long)]
    region: Option<String>,

    /// Print one comment for a pull request, or write it into a file.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    markdown: Option<PathBuf>,

    /// Print SARIF 2.1.0 with the lines of HEAD, or write it into a file.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    sarif: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const RED: &str = "\u{1b}[31m";
const GREEN: &str = "\u{1b}[32m";
const PLAIN: &str = "\u{1b}[0m";

impl Gate {
    pub fn run(self) -> ExitCode {
        match self.judge() {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(FOUND),
            Err(status) => status,
        }
    }

    /// Whether the gate passes.
    fn judge(&self) -> Result<bool, ExitCode> {
        self.check_outputs()?;
        let facts = self.prices.facts()?;
        let head = self.head()?;
        let head = self.snapshot(head, &facts)?;
        let base = match self.base()? {
            Ok(base) => Ok(self.snapshot(base, &facts)?),
            Err(why) => Err(why),
        };
        let settings = MigrationSettings { region: self.region.clone(), rate: f64::from(self.rate) };
        let base = base.as_ref().map_err(String::clone);
        let comparison = compare(base, &head, &facts, &settings).map_err(unknown_region)?;
        let failures = comparison.failures(&self.thresholds());
        self.show(&comparison, &failures)?;
        Ok(failures.is_empty())
    }

    fn thresholds(&self) -> Thresholds {
        Thresholds {
            max_cost: self.max_cost,
            max_heat: self.max_heat,
            deny_warnings: self.deny_warnings,
            deny_obstacles: self.deny_obstacles,
        }
    }

    /// Standard output has room for one of them.
    fn check_outputs(&self) -> Result<(), ExitCode> {
        let printed = [self.markdown.as_deref(), self.sarif.as_deref()].map(is_printed);
        match printed.into_iter().chain([self.json]).filter(|is_printed| *is_printed).count() {
            0 | 1 => Ok(()),
            _ => Err(unreadable(
                "print one of --markdown, --sarif and --json, and write the others into files: --sarif=FILE",
            )),
        }
    }

    /// The later version has to be a model.
    fn head(&self) -> Result<Version, ExitCode> {
        let source = version::read(&self.head)
            .map_err(|error| unreadable(&error))?
            .ok_or_else(|| unreadable(&format!("{}: there is no such file", self.head)))?;
        let Reading { model, diagnostics } = file::read(&source);
        match model {
            Some(model) => Ok(Version { source, model, findings: diagnostics }),
            None => Err(self.no_model(&source, &diagnostics)),
        }
    }

    /// Shows what is wrong with the file, also where a code host looks for it.
    fn no_model(&self, source: &Source, diagnostics: &[model::Diagnostic]) -> ExitCode {
        let text = diagnostic::text(source, diagnostics, false);
        let markdown =
            format!("### ❌ `{}` is not a model\n\n```text\n{}\n```\n", source.path, text.trim_end());
        let rules = |rule| check::rule(rule).map_or(String::new(), |rule| rule.title.to_owned());
        let sarif = format!("{:#}\n", diagnostic::sarif(source, diagnostics, rules));
        let written = [(&self.markdown, markdown), (&self.sarif, sarif)];
        let written = written.iter().try_for_each(|(to, text)| write(to.as_deref(), text));
        output::print_problems(&output::findings(source, diagnostics));
        written.err().unwrap_or(ExitCode::from(UNREADABLE))
    }

    /// The earlier version, or why there is none.
    fn base(&self) -> Result<Result<Version, String>, ExitCode> {
        let read = version::read(&self.base).map_err(|error| unreadable(&error))?;
        let Some(source) = read else { return Ok(Err(format!("there is no {}", self.base))) };
        let Reading { model, diagnostics } = file::read(&source);
        Ok(match model {
            Some(model) => Ok(Version { source, model, findings: diagnostics }),
            None => Err(format!("{} is not a model", self.base)),
        })
    }

    fn snapshot(&self, version: Version, facts: &Facts) -> Result<Snapshot, ExitCode> {
        let Version { source, model, findings } = version;
        let settings = CostSettings { region: self.region.clone(), stream_readers: 0 };
        let ran = Ran { proofs: proofs(&prove::prove(&model)), code: code(&model) };
        Snapshot::new(source, model, findings, facts, &settings, ran).map_err(unknown_region)
    }

    fn show(&self, comparison: &Comparison<'_>, failures: &[Failure]) -> Result<(), ExitCode> {
        write(self.markdown.as_deref(), &comparison.markdown(failures))?;
        write(self.sarif.as_deref(), &format!("{:#}\n", comparison.sarif(failures)))?;
        if self.json {
            output::print_result(comparison.json(failures));
        } else if !is_printed(self.markdown.as_deref()) && !is_printed(self.sarif.as_deref()) {
            let colour = if failures.is_empty() { GREEN } else { RED };
            output::print_text(&format!("{colour}{}{PLAIN}\n", comparison.verdict(failures)));
            output::print_text(&comparison.text(failures));
        }
        Ok(())
    }
}

/// A version that is a model, and what the reader of the file says about it.
struct Version {
    source: Source,
    model: Model,
    findings: Vec<model::Diagnostic>,
}

fn share(text: &str) -> Result<f64, String> {
    let percent: Option<f64> = text.trim_end_matches('%').trim_end().parse().ok();
    let percent = percent.filter(|percent| percent.is_finite() && *percent > 0.0);
    percent.map(|percent| percent / 100.0).ok_or_else(|| "write percent, as in `80%`".to_owned())
}

fn is_printed(to: Option<&Path>) -> bool {
    to == Some(Path::new("-"))
}

fn write(to: Option<&Path>, text: &str) -> Result<(), ExitCode> {
    match to {
        None => Ok(()),
        Some(path) if is_printed(Some(path)) => {
            output::print(text);
            Ok(())
        }
        Some(path) => {
            std::fs::write(path, text).map_err(|error| unreadable(&format!("{}: {error}", path.display())))
        }
    }
}

fn unreadable(message: &str) -> ExitCode {
    output::print_error(message);
    ExitCode::from(UNREADABLE)
}

fn unknown_region(UnknownRegion { region, known }: UnknownRegion) -> ExitCode {
    unreadable(&format!("there are no prices for {region}; there are for {}", known.join(", ")))
}

/// The certificate, as far as two of them are compared.
fn proofs(certificate: &Certificate) -> Vec<Proof> {
    let lines = |findings: &[proof::Finding]| findings.iter().map(|one| one.fault.to_string()).collect();
    let data = (!certificate.findings.is_empty()).then(|| Proof {
        pattern: None,
        verdict: Proof::FAILED,
        failures: lines(&certificate.findings),
    });
    let patterns = certificate.patterns.iter().map(|one| Proof {
        pattern: Some(one.pattern.clone()),
        verdict: one.verdict.name(),
        failures: lines(&one.findings),
    });
    data.into_iter().chain(patterns).collect()
}

/// The modules for applications in every language, and what each pattern needs of them.
fn code(model: &Model) -> Vec<GeneratedCode> {
    let whole = library::library(model, None);
    let ids = || model.patterns.iter().map(|pattern| &pattern.id.value);
    let parts: Vec<_> = ids().map(|id| (id, library::library(model, Some(id.as_str())))).collect();
    let of = |language: LibraryLanguage| GeneratedCode {
        language: language.name(),
        text: library::source(&whole, language),
        patterns: parts.iter().map(|(id, part)| ((*id).clone(), library::source(part, language))).collect(),
    };
    LibraryLanguage::ALL.map(of).into()
}
