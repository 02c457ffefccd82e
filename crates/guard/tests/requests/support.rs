//! Requests as JSON, judged by models.

use api::{Request, Service, Target};
use guard::{Figures, Finding, Guard, Sent, Verdict};
use model::{Source, diagnostic, file};
use serde_json::Value;

pub fn guard(name: &str, yaml: &str) -> Guard {
    let source = Source::new(name, yaml);
    let reading = file::read(&source);
    let shown = diagnostic::text(&source, &reading.diagnostics, false);
    Guard::new([(source, reading.model.unwrap_or_else(|| panic!("{shown}")))])
}

pub fn decoded(operation: &str, input: &Value) -> Request {
    let target = Target::find(Service::DynamoDb, operation);
    let Some(Target::DynamoDb(operation)) = target else { panic!("{operation}") };
    Request::decode(operation, input.to_string().as_bytes()).expect("a request that can be decoded")
}

pub fn verdict(guard: &Guard, operation: &str, input: &Value) -> Verdict {
    let body = input.to_string();
    guard.judge(Sent { request: &decoded(operation, input), body: body.as_bytes() })
}

/// What is wrong with a request by what it says.
pub fn findings(guard: &Guard, operation: &str, input: &Value) -> Vec<Finding> {
    verdict(guard, operation, input).findings
}

/// What is wrong with a request that was answered with these figures.
pub fn settled(guard: &Guard, operation: &str, input: &Value, figures: Figures) -> Vec<Finding> {
    guard.settle(verdict(guard, operation, input), figures)
}

/// The rules of the findings, for short comparisons.
pub fn rules(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().map(|finding| finding.rule.id()).collect()
}

/// The texts of the findings, for messages.
pub fn texts(findings: &[Finding]) -> String {
    findings.iter().map(|finding| format!("[{}] {}\n", finding.rule.id(), finding.text())).collect()
}
