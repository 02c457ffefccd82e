//! The comparison as one comment on a pull request. It begins with the verdict; long lists are folded.

use super::difference::{AmountChange, CodeChange, LoadChange, ProofChange};
use super::judge::percent;
use super::text::{ROWS_MAX, migration_text, severity};
use super::{Comparison, Failure};
use crate::cost::dollars;
use crate::diagnostic::Diagnostic;
use crate::migrate::Migration;

/// The longest text in a cell of a table.
const CELL_CHARACTERS_MAX: usize = 400;

type Row = Vec<String>;

impl Comparison<'_> {
    pub fn markdown(&self, failures: &[Failure]) -> String {
        let mark = if failures.is_empty() { "✅" } else { "❌" };
        let file = cell(&self.head.source.path);
        let mut text = format!("### {mark} `{file}`, {}\n", cell(&self.verdict(failures)));
        let reasons = failures.iter().map(|one| format!("- {}\n", cell(&self.failure_line(one))));
        section("", &limited(reasons.collect()), &mut text);
        if let Some(why) = &self.alone {
            section("", &format!("{}: everything counts as new.\n", cell(why)), &mut text);
        }
        section("", &self.figures(), &mut text);
        folded("What changes", &bullets(self.change_lines()), &mut text);
        folded("Proofs", &table(&["pattern", "was", "is", "why"], self.proofs.iter().map(proof)), &mut text);
        folded("Findings", &table(&["", "finding", "line", "what"], self.finding_rows()), &mut text);
        let amounts = self.cost.lines.iter().map(amount);
        folded("Cost by the month", &table(&["what", "was", "is"], amounts), &mut text);
        let headings = ["on", "key", "was", "is", "from"];
        folded(
            "Heat, of what one partition sustains",
            &table(&headings, self.heat.iter().map(load)),
            &mut text,
        );
        let conflicts = table(&headings, self.conflicts.iter().map(load));
        folded("Transactions that meet on one item, of what it takes", &conflicts, &mut text);
        if let Some(migration) = &self.migration {
            folded("Migration", &steps(migration), &mut text);
        }
        let code = self.code.iter().map(code);
        folded("Generated code", &table(&["language", "lines", "patterns"], code), &mut text);
        text
    }

    /// One line for each thing that is compared.
    fn figures(&self) -> String {
        let findings = format!(
            "{} new, {} gone, {} accepted",
            self.findings.new.len(),
            self.findings.gone.len(),
            self.findings.accepted.len()
        );
        let mut rows = vec![
            vec!["proven".to_owned(), self.proven_text()],
            vec!["findings".to_owned(), findings],
            vec!["cost".to_owned(), self.cost_text()],
        ];
        rows.extend(self.heat.first().map(|hottest| {
            let is = hottest.is.map_or("gone".to_owned(), percent);
            vec!["hottest key that differs".to_owned(), format!("{} of {}: {is}", hottest.key, hottest.on)]
        }));
        rows.extend(self.migration.iter().map(|migration| {
            let text =
                if migration.is_empty() { "nothing to do".to_owned() } else { migration_text(migration) };
            vec!["migration".to_owned(), text]
        }));
        table(&["", ""], rows.into_iter())
    }

    fn finding_rows(&self) -> impl Iterator<Item = Row> {
        let row = |how: &str, is_here: bool, one: &Diagnostic| {
            let line = self.head.source.position(one.span.start).0;
            let reason =
                one.allowed.as_ref().map(|reason| format!("; allowed: {reason}")).unwrap_or_default();
            let line = if is_here { line.to_string() } else { String::new() };
            vec![how.to_owned(), severity(one), line, format!("{}{reason}", one.message)]
        };
        let kinds = [
            ("new", true, &self.findings.new),
            ("gone", false, &self.findings.gone),
            ("accepted", true, &self.findings.accepted),
        ];
        kinds
            .into_iter()
            .flat_map(move |(how, is_here, some)| some.iter().map(move |one| row(how, is_here, one)))
    }
}

fn section(heading: &str, body: &str, text: &mut String) {
    if !body.is_empty() {
        *text += &format!("\n{heading}{body}");
    }
}

fn folded(title: &str, body: &str, text: &mut String) {
    if !body.is_empty() {
        *text += &format!("\n<details><summary>{title}</summary>\n\n{body}\n</details>\n");
    }
}

fn table(headings: &[&str], rows: impl Iterator<Item = Row>) -> String {
    let rows: Vec<String> = rows
        .map(|row| format!("| {} |\n", row.iter().map(|text| cell(text)).collect::<Vec<_>>().join(" | ")))
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let rule = "---|".repeat(headings.len());
    format!("| {} |\n|{rule}\n{}", headings.join(" | "), limited(rows))
}

fn bullets(lines: impl Iterator<Item = String>) -> String {
    limited(lines.map(|line| format!("- {}\n", cell(&line))).collect())
}

/// At most [`ROWS_MAX`] lines: a comment has a greatest length.
fn limited(lines: Vec<String>) -> String {
    let more = lines.len().saturating_sub(ROWS_MAX);
    let mut text: String = lines.into_iter().take(ROWS_MAX).collect();
    if more > 0 {
        text += &format!("\nand {more} more\n");
    }
    text
}

/// Text that neither ends its cell nor begins HTML.
fn cell(text: &str) -> String {
    let short: String = match text.char_indices().nth(CELL_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    };
    short.replace('|', "\\|").replace('<', "&lt;").replace(['\n', '\r'], " ")
}

fn proof(one: &ProofChange) -> Row {
    vec![
        one.pattern.clone().unwrap_or_else(|| "the data".to_owned()),
        one.was.clone().unwrap_or_default(),
        one.is.to_owned(),
        one.failures.join("; "),
    ]
}

fn amount(one: &AmountChange) -> Row {
    vec![one.what.clone(), dollars(one.was), dollars(one.is)]
}

fn load(one: &LoadChange) -> Row {
    let share = |share: Option<f64>| share.map(percent).unwrap_or_default();
    vec![one.on.clone(), one.key.clone(), share(one.was), share(one.is), one.patterns.join(", ")]
}

fn steps(migration: &Migration) -> String {
    let obstacles = migration.obstacles.iter().map(|one| format!("{}; {}", one.problem, one.help));
    let steps = migration.steps.iter().enumerate().map(|(position, step)| {
        let figures = step.figures().map(|figures| format!(": {figures}")).unwrap_or_default();
        format!("step {}: {}{figures}", position + 1, step.title)
    });
    let cautions = migration.cautions.iter().map(|caution| format!("mind: {caution}"));
    bullets(obstacles.chain(steps).chain(cautions))
}

fn code(one: &CodeChange) -> Row {
    let lines = format!("+{} -{}", one.lines_added, one.lines_removed);
    vec![one.language.to_owned(), lines, one.patterns.join(", ")]
}
