//! What differs, one function for each thing that is compared.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{GeneratedCode, Proof, Snapshot};
use crate::diagnostic::{Diagnostic, RuleId};
use crate::model::{EntityId, Pattern};
use crate::{Model, Span};

/// A difference of less than this is rounding: half a cent.
pub(super) const CENT: f64 = 0.005;
/// Loads that differ by less than a thousandth of what is sustained are shown as the same.
pub(super) const LOAD: f64 = 0.001;
/// A key with less than a hundredth of a partition is of no interest.
const LOAD_MIN: f64 = 0.01;

/// A pattern whose verdict changed, or that is not proven.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProofChange {
    /// `None` for the data that all patterns are tried on.
    pub pattern: Option<String>,
    pub was: Option<String>,
    pub is: &'static str,
    pub failures: Vec<String>,
    /// Whether something fails that did not before.
    pub worse: bool,
    #[serde(skip)]
    pub span: Span,
}

/// Findings, matched by rule and message: neither their number nor their lines matter.
#[derive(Clone, Debug, Default)]
pub struct FindingChanges {
    pub new: Vec<Diagnostic>,
    /// With the lines of the earlier version.
    pub gone: Vec<Diagnostic>,
    /// Findings that this version allows and the earlier one did not.
    pub accepted: Vec<Diagnostic>,
}

/// The bill of a month, as the file declares how it is paid.
#[derive(Clone, Debug, Serialize)]
pub struct CostChange {
    pub was: Option<f64>,
    pub is: f64,
    /// Whether all prices are known. If not, amounts are too low.
    pub complete: bool,
    pub region: String,
    /// Each line that differs, the largest difference first.
    pub lines: Vec<AmountChange>,
    /// The pattern whose requests cost more than before by the most.
    pub pattern: Option<String>,
    #[serde(skip)]
    pub span: Span,
}

/// An amount of the bill, in dollars a month.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AmountChange {
    pub what: String,
    pub was: f64,
    pub is: f64,
}

/// A load in the busiest hour, as a share of what is sustained.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadChange {
    /// The table or index.
    pub on: String,
    pub key: String,
    pub was: Option<f64>,
    pub is: Option<f64>,
    /// The patterns that it comes from, those that add the most first.
    pub patterns: Vec<String>,
    #[serde(skip)]
    pub span: Span,
}

/// Generated code that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CodeChange {
    pub language: &'static str,
    pub lines_added: usize,
    pub lines_removed: usize,
    /// The patterns whose function, or a type that it takes or returns, differs.
    pub patterns: Vec<String>,
}

impl FindingChanges {
    pub fn is_empty(&self) -> bool {
        self.new.is_empty() && self.gone.is_empty() && self.accepted.is_empty()
    }
}

/// Those of `these` that there are more of than in `those`.
fn surplus<'t, T, K: Ord>(these: &'t [T], those: &[T], key: impl Fn(&T) -> K) -> Vec<&'t T> {
    let mut left: BTreeMap<K, usize> = BTreeMap::new();
    for one in those {
        *left.entry(key(one)).or_default() += 1;
    }
    let is_new = |one: &&T| match left.get_mut(&key(one)) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    these.iter().filter(is_new).collect()
}

/// How many patterns are proven, of how many.
pub fn proven(snapshot: &Snapshot) -> [usize; 2] {
    let patterns = || snapshot.ran.proofs.iter().filter(|proof| proof.pattern.is_some());
    [patterns().filter(|proof| proof.verdict != Proof::FAILED).count(), patterns().count()]
}

impl Proof {
    /// The verdict that counts as a failure.
    pub const FAILED: &'static str = "not proven";
}

pub fn proofs(base: Option<&Snapshot>, head: &Snapshot) -> Vec<ProofChange> {
    let earlier = |proof: &Proof| base?.ran.proofs.iter().find(|was| was.pattern == proof.pattern);
    let changes = head.ran.proofs.iter().map(|proof| proof_change(&head.model, earlier(proof), proof));
    changes.filter(|one| one.was.as_deref() != Some(one.is) || one.is == Proof::FAILED).collect()
}

fn proof_change(model: &Model, was: Option<&Proof>, is: &Proof) -> ProofChange {
    let known: &[String] =
        was.filter(|was| was.verdict == Proof::FAILED).map_or(&[], |was| was.failures.as_slice());
    let new_failures = surplus(&is.failures, known, |failure| failure.clone());
    let failed_before = was.is_some_and(|was| was.verdict == Proof::FAILED);
    ProofChange {
        pattern: is.pattern.clone(),
        was: was.map(|was| was.verdict.to_owned()),
        is: is.verdict,
        failures: is.failures.clone(),
        worse: is.verdict == Proof::FAILED && (!failed_before || !new_failures.is_empty()),
        span: is.pattern.as_ref().map_or(model.name.span, |id| pattern_span(model, id)),
    }
}

fn pattern_span(model: &Model, id: &str) -> Span {
    model.pattern_named(id).map_or(model.name.span, |pattern: &Pattern| pattern.id.span)
}

pub fn findings(base: Option<&Snapshot>, head: &Snapshot) -> FindingChanges {
    let known = base.map_or(&[][..], |base| &base.findings);
    let key = |one: &Diagnostic| -> (Option<RuleId>, String) { (one.rule, one.message.clone()) };
    let (open, was_open) = (of(&head.findings, false), of(known, false));
    let (allowed, was_allowed) = (of(&head.findings, true), of(known, true));
    let owned = |some: Vec<&Diagnostic>| some.into_iter().cloned().collect();
    FindingChanges {
        new: owned(surplus(&open, &was_open, key)),
        gone: owned(surplus(&was_open, &open, key)),
        accepted: owned(surplus(&allowed, &was_allowed, key)),
    }
}

fn of(findings: &[Diagnostic], allowed: bool) -> Vec<Diagnostic> {
    findings.iter().filter(|one| one.allowed.is_some() == allowed).cloned().collect()
}

pub fn cost(base: Option<&Snapshot>, head: &Snapshot) -> CostChange {
    let bill = &head.cost.declared;
    let lines = amounts(base, head);
    let pattern = costliest(base, head);
    let model = &head.model;
    CostChange {
        was: base.map(|base| base.cost.declared.known()),
        is: bill.known(),
        complete: bill.missing.is_empty() && base.is_none_or(|base| base.cost.declared.missing.is_empty()),
        region: head.cost.region.clone(),
        lines,
        span: pattern.as_ref().map_or(model.name.span, |id| pattern_span(model, id)),
        pattern,
    }
}

/// The lines of the bills by what is paid for. Together they are the difference of the sums.
fn amounts(base: Option<&Snapshot>, head: &Snapshot) -> Vec<AmountChange> {
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for line in base.iter().flat_map(|base| base.cost.declared.lines()) {
        sums.entry(&line.what).or_default().0 += line.amount();
    }
    for line in head.cost.declared.lines() {
        sums.entry(&line.what).or_default().1 += line.amount();
    }
    let sums = sums.into_iter().map(|(what, (was, is))| AmountChange { what: what.to_owned(), was, is });
    let mut changes: Vec<AmountChange> = sums.filter(|one| (one.is - one.was).abs() >= CENT).collect();
    let size = |one: &AmountChange| (one.is - one.was).abs();
    changes.sort_by(|one, other| size(other).total_cmp(&size(one)));
    changes
}

/// The pattern that costs more than before by the most, on demand.
fn costliest(base: Option<&Snapshot>, head: &Snapshot) -> Option<String> {
    let before = |id: &str| {
        let patterns = base.iter().flat_map(|base| &base.cost.patterns);
        patterns.filter(|one| one.pattern == id).map(|one| one.monthly).sum::<f64>()
    };
    let rises = head.cost.patterns.iter().map(|one| (one.monthly - before(&one.pattern), &one.pattern));
    let largest = rises.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (largest.0 >= CENT).then(|| largest.1.clone())
}

/// A key or an item, its load, and what the load comes from.
struct Loaded {
    on: String,
    key: String,
    load: f64,
    patterns: Vec<String>,
    span: Span,
}

pub fn heat(base: Option<&Snapshot>, head: &Snapshot) -> Vec<LoadChange> {
    loads(base.map(keys).unwrap_or_default(), keys(head))
}

fn keys(snapshot: &Snapshot) -> Vec<Loaded> {
    let keys = snapshot.heats.iter().flat_map(|heat| heat.keys.iter().map(move |key| (heat, key)));
    keys.map(|(heat, key)| {
        let patterns: Vec<String> = key.from.iter().map(|one| one.pattern.clone()).collect();
        let first = patterns.first();
        let span = first.map_or(snapshot.model.name.span, |id| pattern_span(&snapshot.model, id));
        Loaded { on: heat.name(), key: key.key.clone(), load: key.load, patterns, span }
    })
    .collect()
}

pub fn conflicts(base: Option<&Snapshot>, head: &Snapshot) -> Vec<LoadChange> {
    loads(base.map(items).unwrap_or_default(), items(head))
}

fn items(snapshot: &Snapshot) -> Vec<Loaded> {
    let span = |id: EntityId| snapshot.model.entity(id).name.span;
    let items = snapshot.conflicts.iter().map(|one| Loaded {
        on: one.table.clone(),
        key: one.key.clone(),
        load: one.transactions.peak() / one.most,
        patterns: one.patterns.clone(),
        span: span(one.entity),
    });
    items.collect()
}

/// Those whose load differs, the most loaded first.
fn loads(was: Vec<Loaded>, is: Vec<Loaded>) -> Vec<LoadChange> {
    let same = |one: &Loaded, other: &Loaded| one.on == other.on && one.key == other.key;
    let gone = was.iter().filter(|one| !is.iter().any(|other| same(one, other)));
    let gone: Vec<LoadChange> = gone.map(|one| one.change(Some(one.load), None)).collect();
    let now = is.iter().map(|one| {
        let before = was.iter().find(|other| same(one, other)).map(|other| other.load);
        one.change(before, Some(one.load))
    });
    let mut changes: Vec<LoadChange> = now.chain(gone).filter(LoadChange::is_noticeable).collect();
    changes.sort_by(|one, other| other.most().total_cmp(&one.most()));
    changes
}

impl Loaded {
    fn change(&self, was: Option<f64>, is: Option<f64>) -> LoadChange {
        let (on, key, patterns) = (self.on.clone(), self.key.clone(), self.patterns.clone());
        LoadChange { on, key, was, is, patterns, span: self.span }
    }
}

impl LoadChange {
    fn most(&self) -> f64 {
        self.is.unwrap_or_default().max(self.was.unwrap_or_default())
    }

    fn is_noticeable(&self) -> bool {
        let changed = match (self.was, self.is) {
            (Some(was), Some(is)) => (is - was).abs() >= LOAD,
            _ => true,
        };
        changed && self.most() >= LOAD_MIN
    }

    /// Whether it is more than before.
    pub fn is_worse(&self) -> bool {
        self.is.is_some_and(|is| self.was.is_none_or(|was| is >= was + LOAD))
    }
}

pub fn code(base: Option<&Snapshot>, head: &Snapshot) -> Vec<CodeChange> {
    let earlier = |language| base?.ran.code.iter().find(|was| was.language == language);
    let changes = head.ran.code.iter().map(|is| code_change(earlier(is.language), is));
    changes.filter(|one| one.lines_added + one.lines_removed > 0).collect()
}

fn code_change(was: Option<&GeneratedCode>, is: &GeneratedCode) -> CodeChange {
    let lines = |code: Option<&GeneratedCode>| -> Vec<String> {
        code.iter().flat_map(|code| code.text.lines()).map(str::to_owned).collect()
    };
    let (before, now) = (lines(was), lines(Some(is)));
    let known = was.map_or(&[][..], |was| &was.patterns);
    let differing = surplus(&is.patterns, known, |pattern| pattern.clone());
    let gone = known.iter().filter(|(id, _)| !is.patterns.iter().any(|(other, _)| other == id));
    CodeChange {
        language: is.language,
        lines_added: surplus(&now, &before, String::clone).len(),
        lines_removed: surplus(&before, &now, String::clone).len(),
        patterns: differing.into_iter().chain(gone).map(|(id, _)| id.clone()).collect(),
    }
}
