//! Findings as JSON, for programs.

use serde_json::{Value, json};

use super::Diagnostic;
use crate::{Source, Span};

pub fn json(source: &Source, diagnostics: &[Diagnostic]) -> Value {
    let findings: Vec<Value> = diagnostics.iter().map(|one| finding(source, one)).collect();
    json!({ "file": source.path, "findings": findings })
}

fn finding(source: &Source, diagnostic: &Diagnostic) -> Value {
    let related: Vec<Value> = diagnostic
        .related
        .iter()
        .map(|(span, note)| json!({ "at": place(source, *span), "message": note }))
        .collect();
    json!({
        "rule": diagnostic.rule.map(|rule| rule.to_string()),
        "level": diagnostic.level.name(),
        "message": diagnostic.message,
        "at": place(source, diagnostic.span),
        "text": source.slice(diagnostic.span),
        "why": diagnostic.why,
        "help": diagnostic.help,
        "related": related,
        "allowed": diagnostic.allowed,
    })
}

fn place(source: &Source, span: Span) -> Value {
    let (line, column) = source.position(span.start);
    let (end_line, end_column) = source.position(span.end);
    json!({ "line": line, "column": column, "endLine": end_line, "endColumn": end_column })
}
