//! The certificate for people: the rows of the table, and the failures below it.

use item::Value;
use model::diagnostic::counted;
use model::predict::item::Values;
use model::sample::FILLER;
use model::template::plain_text;

use super::{Certificate, Finding, PatternProof, Verdict};

/// Texts of an item are cut after this many characters.
const SHOWN_CHARACTERS: usize = 60;

impl Certificate {
    pub const HEADINGS: [&'static str; 7] =
        ["Pattern", "Operation", "On", "Requests", "Items", "Capacity (predicted = consumed)", "Verdict"];

    pub fn rows(&self) -> Vec<Vec<String>> {
        self.patterns.iter().map(PatternProof::row).collect()
    }

    /// Each failure with the data that shows it; empty if everything is proven.
    pub fn failures(&self) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            finding.describe("data", &mut text);
        }
        for pattern in &self.patterns {
            for finding in &pattern.findings {
                finding.describe(&pattern.pattern, &mut text);
            }
        }
        text
    }

    pub fn summary(&self) -> String {
        if self.patterns.is_empty() {
            return format!("{}: nothing to prove; it has no access patterns\n", self.model);
        }
        let proven = self.patterns.iter().filter(|pattern| pattern.verdict == Verdict::Proven).count();
        let verdict = if self.is_proven() { "proven" } else { "NOT proven" };
        let elsewhere = self.patterns.iter().filter(|pattern| pattern.verdict == Verdict::Elsewhere).count();
        let rest = if elsewhere > 0 { format!(", {elsewhere} served elsewhere") } else { String::new() };
        let tries: usize = self.patterns.iter().map(|pattern| pattern.tries).sum();
        let (tries, items) = (tries_text(tries), counted(self.items as u64, "item"));
        let patterns = counted(self.patterns.len() as u64, "pattern");
        format!("{}: {verdict}; {proven} of {patterns}{rest}, {tries} on {items}\n", self.model)
    }
}

fn tries_text(tries: usize) -> String {
    if tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") }
}

impl PatternProof {
    fn row(&self) -> Vec<String> {
        vec![
            self.pattern.clone(),
            self.operation.to_owned(),
            self.source.clone(),
            if self.tries == 0 { String::new() } else { self.requests.to_string() },
            if self.tries == 0 { String::new() } else { self.returned.to_string() },
            self.capacity_text(),
            self.verdict.name().to_owned(),
        ]
    }

    /// `3 = 3 (app-main 2, GSI1 1)`.
    fn capacity_text(&self) -> String {
        if self.capacity.is_empty() {
            return String::new();
        }
        let parts: Vec<String> =
            self.capacity.iter().map(|part| format!("{} {}", part.part, part.consumed)).collect();
        let parts = if parts.len() > 1 { format!(" ({})", parts.join(", ")) } else { String::new() };
        let sign = if self.predicted() == self.consumed() { "=" } else { "≠" };
        format!("{} {sign} {}{parts}", self.predicted(), self.consumed())
    }
}

impl Finding {
    fn describe(&self, subject: &str, text: &mut String) {
        text.push_str(&format!("\n{subject}: {}\n", self.fault));
        let given: Vec<String> =
            self.given.iter().map(|(name, value)| format!("{name} = {}", shown(value))).collect();
        if !given.is_empty() {
            text.push_str(&format!("  given {}\n", given.join(", ")));
        }
        if !self.data.is_empty() {
            text.push_str("  with\n");
        }
        for (table, values) in &self.data {
            text.push_str(&format!("    {table} {}\n", item_text(values)));
        }
        if self.more > 0 {
            text.push_str(&format!("    and {} more like the last\n", self.more));
        }
    }
}

fn item_text(values: &Values) -> String {
    let shown: Vec<String> = values
        .iter()
        .filter(|(name, _)| name.as_str() != FILLER)
        .map(|(name, value)| format!("{name}: {}", shown(value)))
        .collect();
    format!("{{ {} }}", shown.join(", "))
}

fn shown(value: &Value) -> String {
    let text = plain_text(value);
    if text.chars().count() <= SHOWN_CHARACTERS {
        return text;
    }
    let beginning: String = text.chars().take(SHOWN_CHARACTERS).collect();
    format!("{beginning}…")
}
