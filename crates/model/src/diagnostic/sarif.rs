//! Findings as SARIF 2.1.0, which code hosts show beside the changed line.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Diagnostic, Level, RuleId};
use crate::{Lines, Source, Span};

/// `title` names a rule for the list of rules.
pub fn sarif(source: &Source, diagnostics: &[Diagnostic], title: impl Fn(RuleId) -> String) -> Value {
    let rules: BTreeSet<RuleId> = diagnostics.iter().filter_map(|one| one.rule).collect();
    let rules: Vec<Value> = rules
        .into_iter()
        .map(|rule| json!({ "id": rule.to_string(), "shortDescription": { "text": title(rule) } }))
        .collect();
    let lines = source.lines();
    let results: Vec<Value> = diagnostics.iter().map(|one| result(source, &lines, one)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "lodestone model check",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(source: &Source, lines: &Lines<'_>, diagnostic: &Diagnostic) -> Value {
    let related: Vec<Value> = diagnostic
        .related
        .iter()
        .map(|(span, note)| {
            let mut location = location(source, lines, *span);
            location["message"] = json!({ "text": note });
            location
        })
        .collect();
    let suppressions: Vec<Value> = diagnostic
        .allowed
        .iter()
        .map(|reason| json!({ "kind": "inSource", "justification": reason }))
        .collect();
    json!({
        "ruleId": diagnostic.rule.map_or("file".to_owned(), |rule| rule.to_string()),
        "level": level(diagnostic.level),
        "message": { "text": message(diagnostic) },
        "locations": [location(source, lines, diagnostic.span)],
        "relatedLocations": related,
        "suppressions": suppressions,
    })
}

fn message(diagnostic: &Diagnostic) -> String {
    let parts = [Some(&diagnostic.message), diagnostic.why.as_ref(), diagnostic.help.as_ref()];
    parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("\n")
}

fn location(source: &Source, lines: &Lines<'_>, span: Span) -> Value {
    let (line, column) = lines.position(span.start);
    let (end_line, end_column) = lines.position(span.end);
    json!({ "physicalLocation": {
        "artifactLocation": { "uri": source.path },
        "region": {
            "startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column,
        },
    } })
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Info => "note",
    }
}
