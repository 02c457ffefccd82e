//! The guard of `lodestone serve`: its flags, the connection of the `guard` crate with the server, the calls of test
//! runners, and the reports.
//!
//! `POST /lodestone/guard` takes one JSON object. An `account` limits all but the last to the requests of one account:
//!
//! | body | answer |
//! |---|---|
//! | `{"begin": "a test"}` | `{}`; the requests from here on are of this test |
//! | `{"end": true}` | the test with its findings |
//! | `{"pause": true}`, `{"pause": false}` | `{}`; in between, everything passes |
//! | `{"report": "junit"}`, `sarif`, `markdown` or `json` | the report so far |

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::{Error, Response as Answer};
use bytes::Bytes;
use clap::{Args, ValueEnum};
use guard::report::Format;
use guard::{Figures, Finding, Guard, Ledger, Sent, Verdict, refusal};
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use model::{Model, Source, file};
use serde_json::{Value, json};
use server::{GuardedAnswer, GuardedRequest, RequestGuard};

const GUARD: &str = "A guard for tests";
const CALLS: &str = r#"Send one of {"begin": "a test"}, {"end": true}, {"pause": true}, {"pause": false} and {"report": "junit"}"#;

#[derive(Args)]
pub struct GuardArguments {
    /// Refuse requests that this model does not know: Scans, requests that no pattern lists, filters that drop most of
    /// what was read, more units than predicted, items that break the model. For tests. May be given several times
    #[arg(long, value_name = "MODEL", conflicts_with = "access", help_heading = GUARD)]
    guard: Vec<PathBuf>,

    /// Whether such requests fail, or are served and reported
    #[arg(long, value_enum, value_name = "MODE", default_value_t = GuardMode::Fail, requires = "guard", help_heading = GUARD)]
    guard_mode: GuardMode,

    /// Write what was found to this file when the server ends: JUnit (.xml), SARIF (.sarif), Markdown (.md) or JSON
    /// (.json), by its ending. May be given several times
    #[arg(long, value_name = "FILE", value_parser = report_file, requires = "guard", help_heading = GUARD)]
    guard_report: Vec<PathBuf>,

    /// How many reads of single items in a row, of one pattern and each of another item, are too many; 0 for none
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u16).range(0..=100),
          requires = "guard", help_heading = GUARD)]
    guard_in_a_row: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GuardMode {
    /// Refuse them with a ValidationException that says what to do
    Fail,
    /// Serve them, and report them when the server ends
    Report,
}

impl GuardArguments {
    /// `None` if no model is given.
    pub fn open(&self) -> Result<Option<Arc<ModelGuard>>, String> {
        if self.guard.is_empty() {
            return Ok(None);
        }
        let models: Vec<(Source, Model)> =
            self.guard.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
        let mut names = BTreeSet::new();
        for table in models.iter().flat_map(|(_, model)| &model.tables) {
            if !names.insert(table.name.value.clone()) {
                return Err(format!(
                    "two models of --guard have a table {}: give one of them",
                    table.name.value
                ));
            }
        }
        Ok(Some(Arc::new(ModelGuard {
            guard: Guard::new(models),
            ledger: Mutex::new(Ledger::new(usize::from(self.guard_in_a_row))),
            fails: self.guard_mode == GuardMode::Fail,
            reports: self.guard_report.clone(),
        })))
    }
}

fn read(path: &Path) -> Result<(Source, Model), String> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("can't read the model {shown}: {error}"))?;
    let source = Source::new(path.display().to_string(), text);
    let reading = file::read(&source);
    let first = reading.diagnostics.first().map(|one| one.message.clone()).unwrap_or_default();
    let model = reading.model.ok_or_else(|| {
        format!("{shown} is no model: {first}. `lodestone model check {shown}` shows all that is wrong")
    })?;
    Ok((source, model))
}

fn report_file(text: &str) -> Result<PathBuf, String> {
    match Format::of_file(text) {
        Some(_) => Ok(PathBuf::from(text)),
        None => Err("its ending says the format: .xml (JUnit), .sarif, .md or .json".to_owned()),
    }
}

/// The guard of a server.
pub struct ModelGuard {
    guard: Guard,
    ledger: Mutex<Ledger>,
    fails: bool,
    reports: Vec<PathBuf>,
}

impl std::fmt::Debug for ModelGuard {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ModelGuard")
    }
}

impl ModelGuard {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps findings, and refuses the request for them if requests are to fail.
    fn keep(&self, account: &str, test: Option<&str>, findings: Vec<Finding>) -> Result<(), Error> {
        if findings.is_empty() {
            return Ok(());
        }
        let message = refusal(&findings);
        self.ledger().record(account, test, findings);
        if self.fails { Err(Error::validation(message)) } else { Ok(()) }
    }

    /// Writes the reports. In the mode that serves everything, without a file, they go to standard error.
    pub fn close(&self) -> Result<(), String> {
        let outcome = self.ledger().outcome();
        for path in &self.reports {
            let format = Format::of_file(&path.to_string_lossy()).unwrap_or(Format::Json);
            fs::write(path, format.print(&outcome))
                .map_err(|error| format!("can't write the guard's report {}: {error}", path.display()))?;
        }
        if self.reports.is_empty() && !self.fails {
            crate::output::print_problems(&Format::Markdown.print(&outcome));
        }
        Ok(())
    }

    fn carry_out(&self, body: &[u8]) -> Result<(&'static str, String), String> {
        let call: Value = serde_json::from_slice(body).map_err(|_| CALLS.to_owned())?;
        let account = call["account"].as_str().unwrap_or_default();
        let json = |answer: Value| ("application/json", answer.to_string());
        if let Some(name) = call["begin"].as_str().filter(|name| !name.is_empty()) {
            self.ledger().begin(account, name);
            return Ok(json(json!({})));
        }
        if call["end"] == true {
            let test = self.ledger().end(account).ok_or("No test is running: begin one first")?;
            return Ok(json(guard::report::test_json(&test)));
        }
        if let Some(is_paused) = call["pause"].as_bool() {
            self.ledger().pause(account, is_paused);
            return Ok(json(json!({})));
        }
        let format = call["report"].as_str().and_then(Format::from_name).ok_or(CALLS)?;
        Ok((content_type(format), format.print(&self.ledger().outcome())))
    }
}

fn content_type(format: Format) -> &'static str {
    match format {
        Format::Junit => "application/xml",
        Format::Sarif | Format::Json => "application/json",
        Format::Markdown => "text/markdown; charset=utf-8",
    }
}

impl RequestGuard for ModelGuard {
    fn begin<'g>(&'g self, sent: &GuardedRequest<'_>) -> Result<Option<Box<dyn GuardedAnswer + 'g>>, Error> {
        let GuardedRequest { account, test, request, body } = *sent;
        let mut verdict = self.guard.judge(Sent { request, body });
        if !verdict.is_judged {
            return Ok(None);
        }
        {
            let mut ledger = self.ledger();
            if ledger.is_paused(account) {
                return Ok(None);
            }
            let reads = ledger.note(account, test, &verdict);
            verdict.findings.extend(reads.and_then(|reads| self.guard.repeated(&verdict, reads)));
        }
        // A read changes nothing, and its answer says how much it read: it is refused when it is answered.
        if verdict.is_write {
            self.keep(account, test, std::mem::take(&mut verdict.findings))?;
        }
        let (account, test) = (account.to_owned(), test.map(str::to_owned));
        Ok(Some(Box::new(Pending { guard: self, account, test, verdict })))
    }

    fn call(&self, body: &[u8]) -> Response<Bytes> {
        let (status, (content_type, text)) = match self.carry_out(body) {
            Ok(answer) => (StatusCode::OK, answer),
            Err(message) => {
                (StatusCode::BAD_REQUEST, ("application/json", json!({"message": message}).to_string()))
            }
        };
        let mut response = Response::new(Bytes::from(text));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        response
    }
}

/// A request that is being carried out.
struct Pending<'g> {
    guard: &'g ModelGuard,
    account: String,
    test: Option<String>,
    verdict: Verdict,
}

impl GuardedAnswer for Pending<'_> {
    fn end(self: Box<Self>, answer: &Answer, units: f64) -> Result<(), Error> {
        let (scanned, returned) = match answer {
            Answer::Query(answer) => (answer.scanned_count, answer.count),
            Answer::Scan(answer) => (answer.scanned_count, answer.count),
            _ => (None, None),
        };
        let number = |count: Option<i32>| count.and_then(|count| u64::try_from(count).ok());
        let figures = Figures { units, scanned: number(scanned), returned: number(returned) };
        let Pending { guard, account, test, verdict } = *self;
        guard.keep(&account, test.as_deref(), guard.guard.settle(verdict, figures))
    }
}
