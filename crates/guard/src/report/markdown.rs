//! Markdown, for a comment on a change or the summary of a CI run.

use std::fmt::Write;

use crate::ledger::Outcome;

/// One line a finding, by test.
pub fn markdown(outcome: &Outcome) -> String {
    let findings = outcome.records().count();
    let (requests, tests) =
        (outcome.requests(), outcome.tests.iter().filter(|test| !test.name.is_empty()).count());
    let mut text = String::from("## Lodestone guard\n\n");
    let _ = match findings {
        0 => writeln!(text, "{requests} requests in {tests} tests are what the model says."),
        _ => writeln!(
            text,
            "{findings} findings in {requests} requests of {tests} tests.\n\n| test | finding | times | what | do this |\n|---|---|---|---|---|"
        ),
    };
    for (test, record) in outcome.records() {
        let finding = &record.finding;
        let place = finding.place.as_ref().map(|place| format!(" ({}:{})", place.file, place.line));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {}{} | {} |",
            cell(test.title()),
            finding.rule.id(),
            record.times,
            cell(&finding.message),
            cell(&place.unwrap_or_default()),
            cell(&finding.help)
        );
    }
    if outcome.left_out > 0 {
        let _ = writeln!(text, "\n{} further findings were not kept.", outcome.left_out);
    }
    text
}

/// Text that does not end its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}
