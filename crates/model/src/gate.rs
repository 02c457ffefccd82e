//! The gate: what one version of a model changes in another, and whether that may be merged.
//!
//! A [`Snapshot`] is everything that is known of one version: what rules find, what it costs, how hot its keys get, and
//! what other crates ran (proofs) and wrote (code). [`compare`] takes two of them and keeps what differs
//! (`gate/difference.rs`). [`Comparison::failures`] holds that to [`Thresholds`] (`gate/judge.rs`). Text, Markdown, SARIF
//! and JSON show the same comparison.
//!
//! Only what is worse than before fails: a problem that the earlier version has, too, is not the fault of a change.

mod difference;
mod judge;
mod markdown;
mod report;
mod text;

use crate::check::check;
use crate::cost::{Cost, CostSettings, UnknownRegion, cost};
use crate::diagnostic;
use crate::facts::Facts;
use crate::heat::{DEFAULT_HEADROOM, Heat, WriteConflict, conflicts, heat};
use crate::migrate::{Migration, MigrationSettings, migrate};
use crate::plan::plan;
use crate::{Diagnostic, Model, Source};

pub use difference::{AmountChange, CodeChange, CostChange, FindingChanges, LoadChange, ProofChange};
pub use judge::{CostLimit, Failure, FailureKind, Thresholds};

/// Everything that is known of one version of a model.
pub struct Snapshot {
    pub source: Source,
    pub model: Model,
    /// What the file's reader and the rules find, allowed findings included.
    pub findings: Vec<Diagnostic>,
    pub cost: Cost,
    pub heats: Vec<Heat>,
    pub conflicts: Vec<WriteConflict>,
    pub ran: Ran,
}

/// What has to be run, or written, outside this crate.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    pub proofs: Vec<Proof>,
    pub code: Vec<GeneratedCode>,
}

/// The outcome of proving one pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// `None` for the data that all patterns are tried on.
    pub pattern: Option<String>,
    /// `proven`, `not proven` or `elsewhere`.
    pub verdict: &'static str,
    /// What went wrong, in one line each.
    pub failures: Vec<String>,
}

/// The code of a model in one language.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedCode {
    pub language: &'static str,
    /// The whole file.
    pub text: String,
    /// What each pattern needs of it, by the pattern's id.
    pub patterns: Vec<(String, String)>,
}

/// What differs between two versions.
pub struct Comparison<'s> {
    pub head: &'s Snapshot,
    /// Why there is nothing to compare with, if there is nothing. Then everything counts as new.
    pub alone: Option<String>,
    pub proofs: Vec<ProofChange>,
    /// How many patterns are proven of how many: before, and now.
    pub proven: (Option<[usize; 2]>, [usize; 2]),
    pub findings: FindingChanges,
    pub cost: CostChange,
    /// Keys, by their share of what one partition sustains.
    pub heat: Vec<LoadChange>,
    /// Items, by their share of the transactions that one item takes.
    pub conflicts: Vec<LoadChange>,
    /// The way from the earlier version to this one.
    pub migration: Option<Migration>,
    pub code: Vec<CodeChange>,
}

impl Snapshot {
    /// `findings` are those of the file's reader.
    pub fn new(
        source: Source,
        model: Model,
        mut findings: Vec<Diagnostic>,
        facts: &Facts,
        settings: &CostSettings,
        ran: Ran,
    ) -> Result<Snapshot, UnknownRegion> {
        findings.extend(check(&model));
        diagnostic::sort(&mut findings);
        let plans: Vec<_> = model.patterns.iter().map(|pattern| plan(&model, pattern)).collect();
        Ok(Snapshot {
            cost: cost(&model, &plans, facts, settings)?,
            heats: heat(&model, &plans, &facts.limits, DEFAULT_HEADROOM),
            conflicts: conflicts(&model, &facts.limits),
            source,
            model,
            findings,
            ran,
        })
    }
}

/// What `head` changes in `base`; in place of a base, the reason why there is none.
pub fn compare<'s>(
    base: Result<&Snapshot, String>,
    head: &'s Snapshot,
    facts: &Facts,
    settings: &MigrationSettings,
) -> Result<Comparison<'s>, UnknownRegion> {
    let (base, alone) = match base {
        Ok(base) => (Some(base), None),
        Err(why) => (None, Some(why)),
    };
    let migration = base.map(|base| migrate(&base.model, &head.model, facts, settings)).transpose()?;
    Ok(Comparison {
        proofs: difference::proofs(base, head),
        proven: (base.map(difference::proven), difference::proven(head)),
        findings: difference::findings(base, head),
        cost: difference::cost(base, head),
        heat: difference::heat(base, head),
        conflicts: difference::conflicts(base, head),
        code: difference::code(base, head),
        migration,
        alone,
        head,
    })
}

impl Comparison<'_> {
    /// Whether the two versions are the same in every respect that is compared.
    pub fn is_empty(&self) -> bool {
        self.migration.as_ref().is_some_and(|migration| migration.changes.is_empty())
            && self.proofs.iter().all(|proof| proof.was.as_deref() == Some(proof.is))
            && self.findings.is_empty()
            && self.cost.lines.is_empty()
            && self.heat.is_empty()
            && self.conflicts.is_empty()
            && self.code.is_empty()
    }
}
