//! Findings as JSON, for programs.

use serde_json::{Value, json};

use super::Diagnostic;
use crate::{Lines, Source, Span};

pub fn json(source: &Source, diagnostics: &[Diagnostic]) -> Value {
    let lines = source.lines();
    let findings: Vec<Value> = diagnostics.iter().map(|one| finding(source, &lines, one)).collect();
    json!({ "file": source.path, "findings": findings })
}

fn finding(source: &Source, lines: &Lines<'_>, diagnostic: &Diagnostic) -> Value {
    let related: Vec<Value> = diagnostic
        .related
        .iter()
        .map(|(span, note)| json!({ "at": place(lines, *span), "message": note }))
        .collect();
    json!({
        "rule": diagnostic.rule.map(|rule| rule.to_string()),
        "level": diagnostic.level.name(),
        "message": diagnostic.message,
        "at": place(lines, diagnostic.span),
        "text": source.slice(diagnostic.span),
        "why": diagnostic.why,
        "help": diagnostic.help,
        "related": related,
        "allowed": diagnostic.allowed,
    })
}

fn place(lines: &Lines<'_>, span: Span) -> Value {
    let (line, column) = lines.position(span.start);
    let (end_line, end_column) = lines.position(span.end);
    json!({ "line": line, "column": column, "endLine": end_line, "endColumn": end_column })
}
