//! Whether what differs may be merged.

use std::str::FromStr;

use serde::Serialize;

use super::difference::CENT;
use super::{Comparison, CostChange, LoadChange, ProofChange};
use crate::cost::dollars;
use crate::diagnostic::{Diagnostic, Level};
use crate::migrate::Obstacle;
use crate::{RuleId, Span};

/// What fails in addition to new errors and patterns that are no longer proven.
#[derive(Clone, Copy, Debug, Default)]
pub struct Thresholds {
    pub max_cost: Option<CostLimit>,
    /// The share of what a partition sustains that a key may get, and of the transactions that an item takes.
    pub max_heat: Option<f64>,
    pub deny_warnings: bool,
    /// There must be a way from the earlier version to this one while the application runs.
    pub deny_obstacles: bool,
}

/// What a month may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CostLimit {
    /// `+5%`: at most this share more than before.
    RiseShare(f64),
    /// `+$20`: at most this many dollars more than before.
    Rise(f64),
    /// `$500`: at most this many dollars. More is accepted if it was as much before.
    Most(f64),
}

impl FromStr for CostLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<CostLimit, String> {
        let wrong = || format!("`{text}` is no limit of cost: write `+5%`, `+$20` or `$500`");
        let (rises, rest) = text.strip_prefix('+').map_or((false, text), |rest| (true, rest));
        let (share, digits) = rest.strip_suffix('%').map_or((false, rest), |rest| (true, rest));
        let digits = if share { digits } else { digits.strip_prefix('$').unwrap_or(digits) };
        let amount: f64 = digits.parse().map_err(|_| wrong())?;
        if !amount.is_finite() || amount < 0.0 {
            return Err(wrong());
        }
        Ok(match (rises, share) {
            // A month can cost a share of another month only: `5%` is `+5%`.
            (_, true) => CostLimit::RiseShare(amount / 100.0),
            (true, false) => CostLimit::Rise(amount),
            (false, false) => CostLimit::Most(amount),
        })
    }
}

impl CostLimit {
    /// What a month may cost; `None` if there is nothing to compare with.
    fn most(self, was: Option<f64>) -> Option<f64> {
        match self {
            CostLimit::RiseShare(share) => was.map(|was| was * (1.0 + share)),
            CostLimit::Rise(dollars) => was.map(|was| was + dollars),
            CostLimit::Most(dollars) => Some(was.map_or(dollars, |was| was.max(dollars))),
        }
    }

    fn describe(self) -> String {
        match self {
            CostLimit::RiseShare(share) => format!("{} more", percent(share)),
            CostLimit::Rise(amount) => format!("{} more", dollars(amount)),
            CostLimit::Most(amount) => dollars(amount),
        }
    }
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    NewFinding,
    NotProven,
    MaxCost,
    MaxHeat,
    NoMigration,
}

impl FailureKind {
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::NewFinding => "new-finding",
            FailureKind::NotProven => "not-proven",
            FailureKind::MaxCost => "max-cost",
            FailureKind::MaxHeat => "max-heat",
            FailureKind::NoMigration => "no-migration",
        }
    }

    /// What it means, as a heading.
    pub fn title(self) -> &'static str {
        match self {
            FailureKind::NewFinding => "A rule finds something that it did not find before",
            FailureKind::NotProven => "An access pattern is not proven",
            FailureKind::MaxCost => "A month costs more than is allowed",
            FailureKind::MaxHeat => "A key gets more than is allowed",
            FailureKind::NoMigration => "The change can't be made while the application runs",
        }
    }
}

/// Why the gate fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub kind: FailureKind,
    pub message: String,
    pub rule: Option<RuleId>,
    /// In the file of the later version.
    pub span: Span,
}

impl Comparison<'_> {
    /// Everything that is worse than before and not allowed, in the order of the sections.
    pub fn failures(&self, thresholds: &Thresholds) -> Vec<Failure> {
        let least = if thresholds.deny_warnings { Level::Warning } else { Level::Error };
        let findings = self.findings.new.iter().filter(|one| one.level >= least).map(finding);
        let proofs = self.proofs.iter().filter(|one| one.worse).map(unproven);
        let cost = thresholds.max_cost.and_then(|limit| expensive(&self.cost, limit));
        let heat = thresholds.max_heat.iter().flat_map(|most| self.hot(*most));
        let obstacles = self.migration.iter().flat_map(|migration| &migration.obstacles);
        let obstacles = obstacles.filter(|_| thresholds.deny_obstacles).map(|one| self.in_the_way(one));
        findings.chain(proofs).chain(cost).chain(heat).chain(obstacles).collect()
    }

    fn hot(&self, most: f64) -> Vec<Failure> {
        let keys = self.heat.iter().map(|one| (one, "a partition sustains"));
        let items = self.conflicts.iter().map(|one| (one, "an item takes transactions"));
        let all = keys.chain(items).filter(|(one, _)| one.is_worse());
        all.filter_map(|(one, limit)| too_hot(one, limit, most)).collect()
    }

    fn in_the_way(&self, obstacle: &Obstacle) -> Failure {
        Failure {
            kind: FailureKind::NoMigration,
            message: format!("{}; {}", obstacle.problem, obstacle.help),
            rule: None,
            span: self.head.model.name.span,
        }
    }
}

fn finding(found: &Diagnostic) -> Failure {
    let (message, rule) = (found.message.clone(), found.rule);
    Failure { kind: FailureKind::NewFinding, message, rule, span: found.span }
}

fn unproven(change: &ProofChange) -> Failure {
    let what = change.pattern.as_deref().unwrap_or("the data");
    let why = change.failures.first().map(|first| format!(": {first}")).unwrap_or_default();
    let more = match change.failures.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let message = format!("{what} is not proven{why}{more}");
    Failure { kind: FailureKind::NotProven, message, rule: None, span: change.span }
}

fn expensive(cost: &CostChange, limit: CostLimit) -> Option<Failure> {
    let most = limit.most(cost.was)?;
    let by = cost.pattern.as_ref().map(|id| format!("; {id} adds the most")).unwrap_or_default();
    let rise = cost.rise().map(|rise| format!(", {rise}")).unwrap_or_default();
    let message = format!("a month costs {}{rise}; allowed is {}{by}", dollars(cost.is), limit.describe());
    (cost.is > most + CENT).then_some(Failure {
        kind: FailureKind::MaxCost,
        message,
        rule: None,
        span: cost.span,
    })
}

fn too_hot(change: &LoadChange, limit: &str, most: f64) -> Option<Failure> {
    let is = change.is.filter(|is| *is > most + 1e-9)?;
    let LoadChange { on, key, patterns, .. } = change;
    let (is, most, from) = (percent(is), percent(most), patterns.join(", "));
    let message = format!("{key} of {on} gets {is} of what {limit}, allowed is {most}; from {from}");
    Some(Failure { kind: FailureKind::MaxHeat, message, rule: None, span: change.span })
}

impl CostChange {
    /// `7.4 % more than $112.20`; `None` if nothing is to be compared with, or nothing changed.
    pub fn rise(&self) -> Option<String> {
        let was = self.was?;
        let difference = self.is - was;
        let way = if difference > 0.0 { "more" } else { "less" };
        let by = match was > 0.0 {
            true => percent((difference / was).abs()),
            false => dollars(difference.abs()),
        };
        (difference.abs() >= CENT).then(|| format!("{by} {way} than {}", dollars(was)))
    }
}

/// `7.4 %`.
pub(super) fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}
