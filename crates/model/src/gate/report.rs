//! The comparison for programs: JSON, and SARIF for code hosts.

use serde_json::{Value, json};

use super::{Comparison, Failure, FailureKind};
use crate::check;
use crate::diagnostic::{self, Diagnostic};

impl Comparison<'_> {
    pub fn json(&self, failures: &[Failure]) -> Value {
        let source = &self.head.source;
        let failed = failures.iter().map(|one| {
            json!({
                "kind": one.kind,
                "message": one.message,
                "rule": one.rule.map(|rule| rule.to_string()),
                "line": source.position(one.span.start).0,
            })
        });
        let listed = |some: &[Diagnostic]| diagnostic::json(source, some)["findings"].take();
        // The lines of findings that are gone are those of another file.
        let gone = self.findings.gone.iter().map(|one| {
            json!({ "rule": one.rule.map(|rule| rule.to_string()), "level": one.level.name(), "message": one.message })
        });
        let proven = |[proven, all]: [usize; 2]| json!({ "proven": proven, "patterns": all });
        json!({
            "model": self.head.model.name.value,
            "file": source.path,
            "passed": failures.is_empty(),
            "failures": failed.collect::<Vec<_>>(),
            "alone": self.alone,
            "proofs": {
                "was": self.proven.0.map(proven),
                "is": proven(self.proven.1),
                "changes": self.proofs,
            },
            "findings": {
                "new": listed(&self.findings.new),
                "gone": gone.collect::<Vec<_>>(),
                "accepted": listed(&self.findings.accepted),
            },
            "cost": self.cost,
            "heat": self.heat,
            "conflicts": self.conflicts,
            "migration": self.migration,
            "code": self.code,
        })
    }

    /// New findings, and every other failure, at their lines of the later version.
    pub fn sarif(&self, failures: &[Failure]) -> Value {
        let title = |rule| check::rule(rule).map_or(String::new(), |rule| rule.title.to_owned());
        let others: Vec<&Failure> =
            failures.iter().filter(|one| one.kind != FailureKind::NewFinding).collect();
        let mut results = self.findings.new.clone();
        results.extend(others.iter().map(|one| Diagnostic::error(one.span, &one.message)));
        let mut log = diagnostic::sarif(&self.head.source, &results, title);
        let run = &mut log["runs"][0];
        run["tool"]["driver"]["name"] = json!("lodestone model gate");
        for (position, failure) in others.iter().enumerate() {
            run["results"][self.findings.new.len() + position]["ruleId"] = json!(failure.kind.name());
        }
        if let Value::Array(rules) = &mut run["tool"]["driver"]["rules"] {
            rules.extend(kinds(&others));
        }
        log
    }
}

/// The kinds of failures, each once, as SARIF's rules.
fn kinds(failures: &[&Failure]) -> Vec<Value> {
    let mut kinds: Vec<FailureKind> = Vec::new();
    for failure in failures {
        if !kinds.contains(&failure.kind) {
            kinds.push(failure.kind);
        }
    }
    let rule = |kind: FailureKind| json!({ "id": kind.name(), "shortDescription": { "text": kind.title() } });
    kinds.into_iter().map(rule).collect()
}
