//! Settings of rules, and findings that the file allows with a reason.

use indexmap::IndexMap;

use crate::diagnostic::{Level, RuleId};
use crate::{Span, Spanned};

/// `rules: { R18: { level: error, max: 8 }, R4: off }`.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleSetting {
    pub rule: RuleId,
    pub level: Option<RuleLevel>,
    /// The rule's own numbers.
    pub parameters: IndexMap<String, Spanned<f64>>,
    pub span: Span,
}

/// The level that the file gives a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleLevel {
    Off,
    At(Level),
}

/// `allow: { R18: "reason" }`: findings of the rule inside `scope` are accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Allowance {
    pub rule: RuleId,
    pub reason: String,
    /// The element that it is declared in; the whole file for the top level.
    pub scope: Span,
    pub span: Span,
}
