//! What a step of `cargo xtask test` has to tell: its tests with their times, what failed, and what was left out.
//!
//! Test runners write what they did to files: JUnit's XML (pytest and Node) or libtest's JSON.

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    pub tests: Vec<Test>,
    pub failures: Vec<Failure>,
    /// What was left out, and why.
    pub notes: Vec<String>,
    /// How it ended, if not well.
    pub error: Option<String>,
}

/// A test that ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// The program or the file that it is in.
    pub group: String,
    pub name: String,
    pub seconds: f64,
    pub outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    Passed,
    Failed,
    Skipped,
}

/// Something that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub what: String,
    /// The command that runs it alone.
    pub alone: String,
}

impl Report {
    pub fn count(&self, outcome: Outcome) -> usize {
        self.tests.iter().filter(|test| test.outcome == outcome).count()
    }

    /// Adds tests. `alone` names the command that runs one of them.
    pub fn add(&mut self, tests: Vec<Test>, alone: impl Fn(&Test) -> String) {
        let failed = tests.iter().filter(|test| test.outcome == Outcome::Failed);
        self.failures.extend(
            failed.map(|test| Failure { what: format!("{}: {}", test.group, test.name), alone: alone(test) }),
        );
        self.tests.extend(tests);
    }

    /// Adds the tests of a JUnit file, which a runner has written that ended as `ran` says.
    pub fn add_junit(
        &mut self,
        ran: Result<()>,
        file: &Path,
        group: &str,
        alone: impl Fn(&Test) -> String,
    ) -> Result<()> {
        let text = std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()));
        // How the runner ended says more than that there is no file.
        let tests = match (text, ran) {
            (Ok(text), ran) => junit(&text, group).map(|tests| (tests, ran)),
            (Err(_), Err(error)) | (Err(error), Ok(())) => Err(error),
        };
        let (tests, ran) = tests?;
        let any = tests.iter().any(|test| test.outcome != Outcome::Skipped);
        self.add(tests, alone);
        ran?;
        ensure!(any, "no test ran");
        Ok(())
    }
}

/// The tests in JUnit's XML. A file that says where its tests are groups them by that, and the others are in `group`.
fn junit(text: &str, group: &str) -> Result<Vec<Test>> {
    let mut reader = Reader::from_str(text);
    let mut tests: Vec<Test> = Vec::new();
    // The suites around the place, as Node has them for tests with parts.
    let mut suites: Vec<String> = Vec::new();
    loop {
        match reader.read_event()? {
            Event::Start(element) => match element.name().as_ref() {
                b"testsuite" => suites.push(attribute(&element, "name")?.unwrap_or_default()),
                b"testcase" => tests.push(test(&element, group, &suites)?),
                b"failure" | b"error" => set_last(&mut tests, Outcome::Failed),
                b"skipped" => set_last(&mut tests, Outcome::Skipped),
                _ => {}
            },
            Event::Empty(element) => match element.name().as_ref() {
                b"testcase" => tests.push(test(&element, group, &suites)?),
                b"failure" | b"error" => set_last(&mut tests, Outcome::Failed),
                b"skipped" => set_last(&mut tests, Outcome::Skipped),
                _ => {}
            },
            Event::End(element) if element.name().as_ref() == b"testsuite" => drop(suites.pop()),
            Event::Eof => return Ok(tests),
            _ => {}
        }
    }
}

fn set_last(tests: &mut [Test], outcome: Outcome) {
    if let Some(test) = tests.last_mut() {
        test.outcome = outcome;
    }
}

fn test(element: &BytesStart<'_>, group: &str, suites: &[String]) -> Result<Test> {
    let name = attribute(element, "name")?.context("a test has a name")?;
    let seconds = attribute(element, "time")?.and_then(|time| time.parse().ok()).unwrap_or(0.0);
    Ok(match attribute(element, "file")? {
        Some(file) => Test { group: file, name, seconds, outcome: Outcome::Passed },
        None => {
            let name = suites.iter().chain([&name]).map(String::as_str).collect::<Vec<_>>().join(" > ");
            Test { group: group.to_owned(), name, seconds, outcome: Outcome::Passed }
        }
    })
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Result<Option<String>> {
    let found = element.try_get_attribute(name)?;
    let value = found.map(|found| found.normalized_value(XmlVersion::Implicit1_0)).transpose()?;
    Ok(value.map(Cow::into_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(xml: &str, expected: &[(&str, &str, Outcome)]) {
        let tests = junit(xml, "a.test.mjs").unwrap();
        let found: Vec<_> =
            tests.iter().map(|test| (test.group.as_str(), test.name.as_str(), test.outcome)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn tests_of_pytest_are_grouped_by_their_files() {
        check(
            r#"<?xml version="1.0"?><testsuites><testsuite name="pytest" tests="4">
            <testcase classname="test_a" name="test_ok" file="test_a.py" line="1" time="0.25" />
            <testcase classname="test_a" name="test_bad[a &lt; b]" file="test_a.py" time="0.1"><failure message="&#10;">x &gt; y</failure></testcase>
            <testcase classname="seeds.test_b" name="test_end" file="seeds/test_b.py" time="0.1"><error message="at its end">x</error></testcase>
            <testcase classname="test_a" name="test_skip" file="test_a.py" time="0"><skipped message="x">y</skipped></testcase>
            </testsuite></testsuites>"#,
            &[
                ("test_a.py", "test_ok", Outcome::Passed),
                ("test_a.py", "test_bad[a < b]", Outcome::Failed),
                ("seeds/test_b.py", "test_end", Outcome::Failed),
                ("test_a.py", "test_skip", Outcome::Skipped),
            ],
        );
    }

    #[test]
    fn parts_of_a_test_of_node_are_named_with_it() {
        check(
            r#"<testsuites><testcase name="plain &lt;one>" time="0.000631" classname="test"/>
            <testsuite name="whole" time="1"><testcase name="part" time="0.1" classname="test" failure="x"><failure type="t">y</failure></testcase>
            <testcase name="left out" time="0" classname="test"><skipped type="skipped" message="true"/></testcase></testsuite>
            <testcase name="last" time="0.5" classname="test"/><!-- pass 2 --></testsuites>"#,
            &[
                ("a.test.mjs", "plain <one>", Outcome::Passed),
                ("a.test.mjs", "whole > part", Outcome::Failed),
                ("a.test.mjs", "whole > left out", Outcome::Skipped),
                ("a.test.mjs", "last", Outcome::Passed),
            ],
        );
    }

    #[test]
    fn a_runner_that_fails_without_a_file_tells_why() {
        let mut report = Report::default();
        let added = report.add_junit(
            Err(anyhow::anyhow!("pytest is not there")),
            Path::new("no such file"),
            "",
            |_| String::new(),
        );
        assert_eq!(added.unwrap_err().to_string(), "pytest is not there");
    }
}
