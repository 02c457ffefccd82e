//! The result of a proof: pattern → operation → index → capacity → verdict, and for each failure the
//! smallest data that shows it.

mod json;
mod text;

use model::Span;
use model::predict::item::Values;
use model::request::Given;

use crate::fault::Fault;

/// What was proven of a model, and what not.
#[derive(Clone, Debug)]
pub struct Certificate {
    pub model: String,
    /// How many items every pattern was tried on.
    pub items: usize,
    /// What is wrong with the data itself: keys that collide, items that are refused.
    pub findings: Vec<Finding>,
    pub patterns: Vec<PatternProof>,
}

#[derive(Clone, Debug)]
pub struct PatternProof {
    pub pattern: String,
    pub span: Span,
    pub operation: &'static str,
    /// The index or the table that serves it.
    pub source: String,
    pub verdict: Verdict,
    /// How often it was tried, each time with other values.
    pub tries: usize,
    /// The most requests of one try.
    pub requests: u64,
    pub pages: u64,
    pub returned: u64,
    pub examined: u64,
    /// Units of the most expensive try, for each table and index.
    pub capacity: Vec<PartCapacity>,
    pub findings: Vec<Finding>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Proven,
    NotProven,
    /// Another system serves it.
    Elsewhere,
}

/// Units of a table or index.
#[derive(Clone, Debug, PartialEq)]
pub struct PartCapacity {
    pub part: String,
    pub predicted: f64,
    pub consumed: f64,
}

/// A failure.
#[derive(Clone, Debug)]
pub struct Finding {
    pub fault: Fault,
    /// The values that the application knew.
    pub given: Given,
    /// The smallest data that shows it, if it needs data: each item with the name of its table.
    pub data: Vec<(String, Values)>,
    /// How many similar items were left out here.
    pub more: usize,
}

impl Finding {
    pub fn of(fault: Fault) -> Finding {
        Finding { fault, given: Given::default(), data: Vec::new(), more: 0 }
    }

    fn rename(&mut self, from: &str, to: &str) {
        self.data.iter_mut().for_each(|(table, _)| *table = table.replace(from, to));
        match &mut self.fault {
            Fault::Capacity { part: text, .. } | Fault::Refused(text) => *text = text.replace(from, to),
            _ => {}
        }
    }
}

impl Certificate {
    /// Shows a table under another name.
    pub fn rename(&mut self, from: &str, to: &str) {
        for pattern in &mut self.patterns {
            pattern.source = pattern.source.replace(from, to);
            pattern.capacity.iter_mut().for_each(|part| part.part = part.part.replace(from, to));
            pattern.findings.iter_mut().for_each(|finding| finding.rename(from, to));
        }
        self.findings.iter_mut().for_each(|finding| finding.rename(from, to));
    }

    /// A model without patterns proves nothing.
    pub fn is_proven(&self) -> bool {
        !self.patterns.is_empty()
            && self.findings.is_empty()
            && self.patterns.iter().all(|pattern| pattern.verdict != Verdict::NotProven)
    }
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Proven => "proven",
            Verdict::NotProven => "not proven",
            Verdict::Elsewhere => "elsewhere",
        }
    }
}

impl PatternProof {
    pub fn predicted(&self) -> f64 {
        self.capacity.iter().map(|part| part.predicted).sum()
    }

    pub fn consumed(&self) -> f64 {
        self.capacity.iter().map(|part| part.consumed).sum()
    }
}
