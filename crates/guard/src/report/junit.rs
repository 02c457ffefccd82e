//! JUnit's XML, which CI services show as tests: one case a test, one failure a finding.

use std::fmt::Write;

use crate::ledger::{Outcome, TestRun};

/// The report. Requests outside of tests are a case of their own.
pub fn junit(outcome: &Outcome) -> String {
    let failures = outcome.tests.iter().filter(|test| !test.records.is_empty()).count();
    let tests = outcome.tests.len();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counts = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\"");
    let _ = writeln!(xml, "<testsuites name=\"lodestone guard\" {counts}>");
    let _ = writeln!(xml, "  <testsuite name=\"lodestone guard\" {counts} skipped=\"0\">");
    outcome.tests.iter().for_each(|test| case(&mut xml, test));
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

fn case(xml: &mut String, test: &TestRun) {
    let _ = write!(xml, "    <testcase classname=\"lodestone.guard\" name=\"{}\"", escaped(test.title()));
    if test.records.is_empty() {
        xml.push_str("/>\n");
        return;
    }
    xml.push_str(">\n");
    // Readers of the format expect at most one failure for a case.
    let first = &test.records[0].finding;
    let title = format!("{} ({} in all)", first.rule.title(), test.records.len());
    let _ = write!(xml, "      <failure type=\"{}\" message=\"{}\">", first.rule.id(), escaped(&title));
    for record in &test.records {
        let finding = &record.finding;
        let place = finding.place.as_ref().map(|place| format!(" ({}:{})", place.file, place.line));
        let line = format!(
            "[{}] {} times{}: {}\n",
            finding.rule.id(),
            record.times,
            place.unwrap_or_default(),
            finding.text()
        );
        xml.push_str(&escaped(&line));
    }
    xml.push_str("</failure>\n    </testcase>\n");
}

/// Text as XML may have it: control characters have no place in it.
fn escaped(text: &str) -> String {
    let is_refused =
        |c: char| c.is_control() && !matches!(c, '\n' | '\t') || matches!(c, '\u{FFFE}' | '\u{FFFF}');
    quick_xml::escape::escape(text.replace(is_refused, "?")).into_owned()
}
