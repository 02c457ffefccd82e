//! The comparison for a terminal: what fails, then each section that differs.

use super::difference::{AmountChange, CodeChange, LoadChange, ProofChange};
use super::judge::percent;
use super::{Comparison, Failure};
use crate::check::figures;
use crate::cost::dollars;
use crate::diagnostic::Diagnostic;
use crate::migrate::Migration;

/// A longer list is not read; the rest is counted.
pub(super) const ROWS_MAX: usize = 20;

impl Comparison<'_> {
    /// `passes`, or what fails.
    pub fn verdict(&self, failures: &[Failure]) -> String {
        let name = &self.head.model.name.value;
        match failures.len() {
            0 if self.is_empty() => format!("{name}: passes; nothing differs"),
            0 => format!("{name}: passes"),
            1 => format!("{name}: FAILS, for one reason"),
            count => format!("{name}: FAILS, for {count} reasons"),
        }
    }

    pub fn text(&self, failures: &[Failure]) -> String {
        let mut text = list(failures.iter().map(|one| self.failure_line(one)));
        text.extend(self.alone.iter().map(|why| format!("  {why}: everything counts as new\n")));
        section("What changes", &list(self.change_lines()), &mut text);
        section(&format!("Proofs: {}", self.proven_text()), &list(self.proof_lines()), &mut text);
        section("Findings", &list(self.finding_lines()), &mut text);
        section(&format!("Cost: {}", self.cost_text()), &list(self.cost.lines.iter().map(amount)), &mut text);
        section("Heat, of what one partition sustains", &list(self.heat.iter().map(load)), &mut text);
        section(
            "Transactions that meet on one item, of what it takes",
            &list(self.conflicts.iter().map(load)),
            &mut text,
        );
        if let Some(migration) = &self.migration {
            section(&format!("Migration: {}", migration_text(migration)), &steps(migration), &mut text);
        }
        section("Generated code", &list(self.code.iter().map(code)), &mut text);
        text
    }

    /// `model.yaml:12: the message`.
    pub(super) fn failure_line(&self, failure: &Failure) -> String {
        let source = &self.head.source;
        let rule = failure.rule.map(|rule| format!("{rule}: ")).unwrap_or_default();
        format!("{}:{}: {rule}{}", source.path, source.position(failure.span.start).0, failure.message)
    }

    pub(super) fn change_lines(&self) -> impl Iterator<Item = String> {
        self.migration.iter().flat_map(|migration| &migration.changes).map(|change| change.line())
    }

    /// `5 of 6 patterns, 5 of 5 before`.
    pub(super) fn proven_text(&self) -> String {
        let of = |[proven, all]: [usize; 2]| format!("{proven} of {all}");
        let before = self.proven.0.map(|before| format!(", {} before", of(before))).unwrap_or_default();
        format!("{} patterns{before}", of(self.proven.1))
    }

    fn proof_lines(&self) -> impl Iterator<Item = String> {
        self.proofs.iter().flat_map(|one| std::iter::once(proof(one)).chain(failures_of(one)))
    }

    fn finding_lines(&self) -> impl Iterator<Item = String> {
        let line = |sign: char, one: &Diagnostic| {
            let at = match sign {
                '-' => String::new(),
                _ => format!(" (line {})", self.head.source.position(one.span.start).0),
            };
            let reason =
                one.allowed.as_ref().map(|reason| format!("; allowed: {reason}")).unwrap_or_default();
            format!("{sign} {}: {}{at}{reason}", severity(one), one.message)
        };
        let signs = [('+', &self.findings.new), ('-', &self.findings.gone), ('~', &self.findings.accepted)];
        signs.into_iter().flat_map(move |(sign, some)| some.iter().map(move |one| line(sign, one)))
    }

    /// `$120.50 a month, 7.4 % more than $112.20`.
    pub(super) fn cost_text(&self) -> String {
        let least = if self.cost.complete { "" } else { "at least " };
        let rise = self.cost.rise().unwrap_or_else(|| match self.cost.was {
            Some(_) => "as before".to_owned(),
            None => "nothing to compare with".to_owned(),
        });
        format!("{least}{} a month in {}, {rise}", dollars(self.cost.is), self.cost.region)
    }
}

/// `warning R14`.
pub(super) fn severity(one: &Diagnostic) -> String {
    let rule = one.rule.map(|rule| format!(" {rule}")).unwrap_or_default();
    format!("{}{rule}", one.level.name())
}

fn section(heading: &str, lines: &str, text: &mut String) {
    if !lines.is_empty() {
        *text += &format!("\n{heading}\n{lines}");
    }
}

/// Indented lines, at most [`ROWS_MAX`].
fn list(lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = lines.collect();
    let mut text: String = lines.iter().take(ROWS_MAX).map(|line| format!("  {line}\n")).collect();
    if lines.len() > ROWS_MAX {
        text += &format!("  and {} more\n", lines.len() - ROWS_MAX);
    }
    text
}

fn proof(one: &ProofChange) -> String {
    let what = one.pattern.as_deref().unwrap_or("the data");
    let was = match one.was.as_deref() {
        Some(was) if was == one.is => "as before".to_owned(),
        Some(was) => format!("was {was}"),
        None => "new".to_owned(),
    };
    format!("{what}: {} ({was})", one.is)
}

fn failures_of(one: &ProofChange) -> impl Iterator<Item = String> {
    one.failures.iter().map(|failure| format!("  {failure}"))
}

/// `A5 reads of GSI1: $0.00 -> $12.30`.
fn amount(one: &AmountChange) -> String {
    format!("{}: {} -> {}", one.what, dollars(one.was), dollars(one.is))
}

fn load(one: &LoadChange) -> String {
    let share = |share: Option<f64>| share.map_or("none".to_owned(), percent);
    let from = one.patterns.join(", ");
    format!("{}, {}: {} -> {}; from {from}", one.on, one.key, share(one.was), share(one.is))
}

/// `4 steps, jobs take 33 minutes, $1.56; a way back from every step`.
pub(super) fn migration_text(migration: &Migration) -> String {
    if !migration.obstacles.is_empty() {
        return "there is no way while the application runs".to_owned();
    }
    let jobs = match migration.seconds() {
        0.0 => "no job".to_owned(),
        seconds => format!("jobs of {}", figures::duration(seconds)),
    };
    let back = match migration.steps.iter().position(|step| !step.rollback.reversible) {
        Some(last) => format!("a way back up to step {last}"),
        None => "a way back from every step".to_owned(),
    };
    let steps = crate::diagnostic::counted(migration.steps.len() as u64, "step");
    format!("{steps}, {jobs}, {}; {back}", dollars(migration.cost()))
}

/// The obstacles, the steps with their figures, and what only people can judge.
fn steps(migration: &Migration) -> String {
    let obstacles = migration.obstacles.iter().map(|one| format!("{}; {}", one.problem, one.help));
    let steps = migration.steps.iter().enumerate().map(|(position, step)| {
        let figures = step.figures().map(|figures| format!(": {figures}")).unwrap_or_default();
        format!("{}. {}{figures}", position + 1, step.title)
    });
    let cautions = migration.cautions.iter().map(|caution| format!("mind: {caution}"));
    list(obstacles.chain(steps).chain(cautions))
}

fn code(one: &CodeChange) -> String {
    let patterns = one.patterns.join(", ");
    let patterns = if patterns.is_empty() { String::new() } else { format!("; {patterns}") };
    format!("{}: +{} -{} lines{patterns}", one.language, one.lines_added, one.lines_removed)
}
