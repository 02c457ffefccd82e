//! `lodestone model learn --from ENDPOINT|LOG --minutes N`.

use std::collections::BTreeSet;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use model::learn::{self, shape::Shapes};
use proof::{describe_tables, survey};
use serde_json::{Value, json};
use studio::MINUTES_MAX;

use super::endpoint::{EndpointArguments, Http, explained, runtime};
use super::export::put;
use super::progress::Progress;
use super::{UNREADABLE, output};
use crate::requests::PATH;

/// How many items of each table are read.
const ITEMS: usize = 1000;
const TABLES_MAX: usize = 100;
/// A line of a log that is longer has no body that matters.
const LINE_BYTES_MAX: usize = 1 << 20;
const TIMEOUT: Duration = Duration::from_secs(60);

/// Learn a model from what is asked of tables: entities from their items, patterns from the requests, with rates,
/// skew and numbers of items.
///
/// A running server is watched for some minutes; it keeps the shapes of requests, not their values. Or the
/// log that `lodestone serve --audit FILE --audit-bodies` writes is read, and the tables are looked at where
/// --endpoint-url says. What was guessed, and what is not read, is above the model and on standard error.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone model learn --from http://localhost:8000 --minutes 10 -o model.yaml
  lodestone model learn --from audit.jsonl --endpoint-url http://localhost:8000 -o model.yaml")]
pub struct Learn {
    /// The address of a server on this machine, or a log of its requests
    #[arg(long, value_name = "ENDPOINT|LOG")]
    from: String,

    /// How long to watch; of a log, how much of its end [default: 5, or the whole log]
    #[arg(long, value_name = "MINUTES")]
    minutes: Option<f64>,

    #[command(flatten)]
    endpoint: EndpointArguments,

    /// The model file to write; standard output by default
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Learn {
    pub fn run(mut self) -> ExitCode {
        let is_address = self.from.contains("://");
        if is_address {
            self.endpoint.set_url(&self.from);
        } else if let Err(error) = std::fs::metadata(&self.from) {
            output::print_error(&format!(
                "{}: {error}. --from takes the address of a server (http://localhost:8000), or a log that `lodestone serve --audit` wrote",
                self.from
            ));
            return ExitCode::from(UNREADABLE);
        }
        let endpoint = match self.endpoint.open() {
            Ok(endpoint) => endpoint,
            Err(status) => return status,
        };
        match self.learn(&endpoint, is_address) {
            Ok(import) => {
                let described = json!({ "model": import.text, "notes": import.notes.0 });
                put(self.output.as_deref(), self.json.then_some(described), &import.text, &import.notes)
            }
            Err(problem) => {
                output::print_error(&problem);
                ExitCode::from(UNREADABLE)
            }
        }
    }

    fn learn(&self, endpoint: &Http, is_address: bool) -> Result<model::draft::Import, String> {
        if self.minutes.is_some_and(|minutes| !(minutes > 0.0 && minutes <= MINUTES_MAX)) {
            return Err(format!("--minutes is more than 0 and at most {MINUTES_MAX}"));
        }
        let runtime = runtime();
        let tables =
            runtime.block_on(describe_tables(endpoint, TABLES_MAX)).map_err(|error| explained(&error))?;
        let (shapes, seconds) = match is_address {
            true => self.watch(&tables)?,
            false => self.read_log(&tables)?,
        };
        let asked: BTreeSet<String> = shapes.tables();
        if asked.is_empty() {
            return Err("no request on items was seen: is the application running?".to_owned());
        }
        let mut contents = Vec::new();
        let progress = Progress::new();
        for table in tables.iter().filter_map(|table| table["TableName"].as_str()) {
            if asked.contains(table) {
                let tell = |items| progress.count(table, items, ITEMS);
                let found = runtime.block_on(survey(endpoint, table, ITEMS, tell));
                contents.extend(found.map_err(|error| explained(&error))?);
            }
        }
        let learning = learn::learn(&contents, &shapes, seconds).map_err(|error| error.0)?;
        Ok(learning.import)
    }

    /// Has the server watch, and waits.
    fn watch(&self, tables: &[Value]) -> Result<(Shapes, f64), String> {
        let minutes = self.minutes.unwrap_or(5.0);
        let namespace = self.endpoint.namespace();
        let keys = learn::key_names(tables.iter());
        let begin = json!({
            "account": &*namespace.account, "region": &*namespace.region, "minutes": minutes, "keys": keys,
        });
        self.endpoint.administer(PATH, TIMEOUT, &begin)?;
        let progress = Progress::new();
        let seconds = (minutes * 60.0).ceil() as usize;
        for second in 0..seconds {
            progress.count("watching", second, seconds);
            let left = minutes * 60.0 - second as f64;
            std::thread::sleep(Duration::from_secs_f64(left.clamp(0.0, 1.0)));
        }
        drop(progress);
        let seen = self.endpoint.administer(PATH, TIMEOUT, &json!({}))?;
        let shapes = Shapes::from_json(&seen).ok_or("the server's answer has no shapes of requests")?;
        let seconds = seen["seconds"].as_f64().filter(|seconds| *seconds > 0.0);
        Ok((shapes, seconds.ok_or("the server's answer does not say how long it watched")?))
    }

    fn read_log(&self, tables: &[Value]) -> Result<(Shapes, f64), String> {
        let path = Path::new(&self.from);
        let unreadable = |error: std::io::Error| format!("{}: {error}", path.display());
        let open = || std::fs::File::open(path).map(std::io::BufReader::new).map_err(unreadable);
        let (first, last) = span(open()?).map_err(unreadable)?.ok_or_else(|| {
            format!(
                "{}: no request with a time; `lodestone serve --audit FILE --audit-bodies` writes one",
                path.display()
            )
        })?;
        let since = self.minutes.map_or(first, |minutes| first.max(last - minutes * 60.0));
        let mut shapes = Shapes::new(learn::key_names(tables.iter()));
        let namespace = self.endpoint.namespace();
        let mut has_bodies = false;
        for line in lines(open()?) {
            let line = line.map_err(unreadable)?;
            let has_failed = line["outcome"] == "ConditionalCheckFailedException";
            let is_meant = (line["outcome"] == "ok" || has_failed)
                && line["account"] == *namespace.account
                && line["region"] == *namespace.region
                && time(&line).is_some_and(|time| time >= since);
            if let Some(operation) = line["operation"].as_str().filter(|_| is_meant) {
                has_bodies |= line["body"].is_object();
                if line["body"].is_object() && has_failed {
                    shapes.note_failed(operation, &line["body"], 1);
                } else if line["body"].is_object() {
                    let answer = line["items"].as_u64().map(|items| json!({ "Count": items }));
                    shapes.note(operation, &line["body"], answer.as_ref(), 1);
                }
            }
        }
        if !has_bodies {
            return Err(format!(
                "{}: no bodies of requests; add --audit-bodies to the server",
                path.display()
            ));
        }
        Ok((shapes, (last - since).max(1.0)))
    }
}

/// The lines of a log that are JSON.
fn lines(log: impl BufRead) -> impl Iterator<Item = std::io::Result<Value>> {
    let short = |line: &std::io::Result<String>| !line.as_ref().is_ok_and(|line| line.len() > LINE_BYTES_MAX);
    log.lines().filter(short).map(|line| Ok(serde_json::from_str(&line?).unwrap_or_default()))
}

/// Seconds since 1970.
fn time(line: &Value) -> Option<f64> {
    let time = humantime::parse_rfc3339(line["time"].as_str()?).ok()?;
    Some(time.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs_f64())
}

/// The first and the last time in a log.
fn span(log: impl BufRead) -> std::io::Result<Option<(f64, f64)>> {
    let mut span: Option<(f64, f64)> = None;
    for line in lines(log) {
        if let Some(time) = time(&line?) {
            span = Some(span.map_or((time, time), |(first, last)| (first.min(time), last.max(time))));
        }
    }
    Ok(span)
}
