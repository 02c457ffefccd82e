//! `lodestone replay LOG --endpoint-url A --endpoint-url B`: recorded requests against two servers, or against one and
//! the log.
//!
//! Requests are sent in the order of the log, one at a time and to both servers at once, so that the answers depend on
//! the servers alone. [`log`] reads them, [`pseudonym`] replaces their values, [`compare`] compares two answers, and
//! [`tally`] adds up, with what units cost by [`price`].

mod compare;
mod log;
mod price;
mod pseudonym;
mod tally;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use client::{Address, Client, Credentials, CredentialsError, ProcessEnvironment};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::endpoint::variable;
use crate::output;
use crate::progress::Progress;
use compare::Answered;
use log::{Line, Log, Recorded};
use price::UnitPrices;
use pseudonym::Pseudonyms;
use tally::Tally;

/// Exit status: answers differ.
const DIFFERS: u8 = 1;
const FAILED: u8 = 2;
/// Holds the secret of pseudonyms, for shells that keep what is typed.
const SECRET: &str = "LODESTONE_REPLAY_SECRET";
const ENDPOINTS_MAX: usize = 2;
/// Accounts and Regions of a log.
const CLIENTS_MAX: usize = 1_000;
/// How often the progress is shown.
const SHOWN_EVERY: u64 = 100;

/// Send recorded requests again: to two servers, whose answers are compared, or to one, which is compared with the log.
///
/// The log is what `lodestone serve --audit FILE --audit-bodies` writes. Requests are sent in its order, one at a time,
/// to both servers at once; answers, units, their price and latency are compared. Begin with the same data on both: with empty
/// servers if the log begins with the CreateTable of each table, else with a copy (`lodestone checkpoint`). Writes are
/// sent, too, unless --reads-only is given. The exit status is 0 if all answers are the same, and 1 if some differ.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone replay audit.jsonl --endpoint-url http://localhost:8000 --endpoint-url http://localhost:8001
  lodestone replay audit.jsonl --endpoint-url http://localhost:8000          compare with what the log says
  lodestone replay audit.jsonl --endpoint-url http://localhost:8000 --speed 10    ten times as fast as it was recorded
  lodestone replay audit.jsonl --pseudonyms --write safe.jsonl               a log without the values of customers")]
pub struct Replay {
    /// The log; `-` for standard input
    #[arg(value_name = "LOG")]
    log: PathBuf,

    /// A server to send the requests to; up to two
    #[arg(long, value_name = "URL", required_unless_present = "write")]
    endpoint_url: Vec<String>,

    /// Keep the times of the log, this many times as fast: 1 for as it was recorded [default: without pauses]
    #[arg(long, value_name = "FACTOR", value_parser = speed)]
    speed: Option<f64>,

    /// Leave out all requests that change something
    #[arg(long)]
    reads_only: bool,

    /// Only requests of this operation. May be given several times
    #[arg(long, value_name = "OPERATION")]
    operation: Vec<String>,

    /// Send at most this many requests
    #[arg(long, value_name = "COUNT")]
    limit: Option<u64>,

    /// Price the units as this Region does, on demand [default: us-east-1]
    #[arg(long, value_name = "REGION")]
    region: Option<String>,

    /// Replace the values of texts and binaries, the same value always by the same pseudonym, also inside of keys.
    /// Words in capitals, numbers, dates and times are kept
    #[arg(long)]
    pseudonyms: bool,

    /// A secret from which the pseudonyms are made, so that another run makes the same [default: what
    /// LODESTONE_REPLAY_SECRET says, or a random one]
    #[arg(long, value_name = "TEXT", requires = "pseudonyms")]
    secret: Option<String>,

    /// Write the requests to this log instead of sending them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["endpoint_url", "speed", "region"])]
    write: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Replay {
    pub fn run(self) -> ExitCode {
        let done = match &self.write {
            Some(path) => self.write(path).map(|()| ExitCode::SUCCESS),
            None => self.compare(),
        };
        done.unwrap_or_else(|problem| {
            output::print_error(&problem);
            ExitCode::from(FAILED)
        })
    }

    fn compare(&self) -> Result<ExitCode, String> {
        if self.endpoint_url.len() > ENDPOINTS_MAX {
            return Err("give one --endpoint-url, or two".to_owned());
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("can't start the runtime: {error}"))?;
        let tally = runtime.block_on(self.replay())?;
        if tally.requests() == 0 {
            return Err("no request was sent: the log has none with a body that the flags allow. `lodestone serve --audit \
                        FILE --audit-bodies` records bodies"
                .to_owned());
        }
        match self.json {
            true => output::print(&format!("{:#}\n", tally.json())),
            false => {
                output::print(&format!("A: {}\nB: {}\n\n", tally.sides[0], tally.sides[1]));
                output::print_table(&tally::HEADINGS, tally.rows());
                output::print_text(&tally.notes());
            }
        }
        Ok(if tally.has_differences() { ExitCode::from(DIFFERS) } else { ExitCode::SUCCESS })
    }

    async fn replay(&self) -> Result<Tally, String> {
        let mut servers =
            self.endpoint_url.iter().map(|url| Server::new(url)).collect::<Result<Vec<_>, _>>()?;
        let second = self.endpoint_url.get(1).map_or("the log", String::as_str);
        let prices = UnitPrices::of_region(self.region.as_deref())?;
        let mut tally = Tally::of([self.endpoint_url[0].clone(), second.to_owned()], prices);
        let pseudonyms = self.pseudonyms()?;
        let mut requests = self.requests()?;
        let mut clock: Option<(Instant, Duration)> = None;
        let progress = Progress::new();
        while let Some(mut recorded) = requests.next()? {
            if let Some(pseudonyms) = &pseudonyms {
                pseudonyms.replace(&mut recorded.body);
            }
            if let Some(speed) = self.speed {
                let (began, first) = *clock.get_or_insert((Instant::now(), recorded.time));
                let due = began + recorded.time.saturating_sub(first).div_f64(speed);
                tally.late_max = tally.late_max.max(due.elapsed());
                tokio::time::sleep_until(due).await;
            }
            let answered = send(&mut servers, &recorded).await?;
            tally.count(&recorded, answered);
            if tally.requests().is_multiple_of(SHOWN_EVERY) {
                progress.tell(&format!("{} requests", tally.requests()));
            }
        }
        (tally.without_body, tally.left_out) = (requests.without_body, requests.left_out);
        Ok(tally)
    }

    fn requests(&self) -> Result<Requests<'_>, String> {
        let unreadable = |error: io::Error| format!("{}: {error}", self.log.display());
        let input: Box<dyn BufRead> = match self.log.to_str() {
            Some("-") => Box::new(io::stdin().lock()),
            _ => Box::new(BufReader::new(File::open(&self.log).map_err(unreadable)?)),
        };
        Ok(Requests { replay: self, log: Log::new(input), sent: 0, without_body: 0, left_out: 0 })
    }

    fn pseudonyms(&self) -> Result<Option<Pseudonyms>, String> {
        if !self.pseudonyms {
            return Ok(None);
        }
        let random = || -> Result<String, String> {
            let number = || getrandom::u64().map_err(|error| format!("no random numbers: {error}"));
            Ok(format!("{:016x}{:016x}", number()?, number()?))
        };
        let secret = self.secret.clone().or_else(|| variable(&[SECRET]));
        Ok(Some(Pseudonyms::of_secret(&secret.map_or_else(random, Ok)?)))
    }

    /// Whether a request is one of those that the user wants. Values inside of a statement can't be replaced.
    fn wants(&self, recorded: &Recorded) -> bool {
        (!self.reads_only || recorded.is_read())
            && (self.operation.is_empty() || self.operation.contains(&recorded.operation))
            && !(self.pseudonyms && recorded.is_statement())
    }

    fn write(&self, path: &PathBuf) -> Result<(), String> {
        let pseudonyms = self.pseudonyms()?;
        let failed = |error: io::Error| format!("can't write {}: {error}", path.display());
        let mut output = BufWriter::new(File::create(path).map_err(failed)?);
        let mut requests = self.requests()?;
        while let Some(mut recorded) = requests.next()? {
            if let Some(pseudonyms) = &pseudonyms {
                pseudonyms.replace(&mut recorded.body);
            }
            writeln!(output, "{}", line(&recorded)).map_err(failed)?;
        }
        output.flush().map_err(failed)
    }
}

/// A line of a log with no more than a replay needs.
fn line(recorded: &Recorded) -> Value {
    let time = humantime::format_rfc3339_millis(std::time::UNIX_EPOCH + recorded.time).to_string();
    let mut line = json!({
        "time": time,
        "account": recorded.account,
        "region": recorded.region,
        "service": "dynamodb",
        "operation": recorded.operation,
        "outcome": recorded.outcome,
        "us": u64::try_from(recorded.took.as_micros()).unwrap_or(u64::MAX),
        "body": recorded.body,
    });
    if let Some(items) = recorded.items {
        line["items"] = items.into();
    }
    line
}

/// The requests of a log that are wanted.
struct Requests<'a> {
    replay: &'a Replay,
    log: Log<Box<dyn BufRead>>,
    sent: u64,
    without_body: u64,
    left_out: u64,
}

impl Requests<'_> {
    fn next(&mut self) -> Result<Option<Recorded>, String> {
        if self.replay.limit.is_some_and(|limit| self.sent >= limit) {
            return Ok(None);
        }
        let unreadable = |error: io::Error| format!("{}: {error}", self.replay.log.display());
        while let Some(line) = self.log.next_line().map_err(unreadable)? {
            match line {
                Line::Request(recorded) if self.replay.wants(&recorded) => {
                    self.sent += 1;
                    return Ok(Some(*recorded));
                }
                Line::Request(_) => self.left_out += 1,
                Line::WithoutBody => self.without_body += 1,
                Line::Other => {}
            }
        }
        Ok(None)
    }
}

/// Sends a request to one server or to two; the log takes the place of the second.
async fn send(servers: &mut [Server], recorded: &Recorded) -> Result<[Answered; 2], String> {
    match servers {
        [one, two] => {
            let (one, two) = tokio::join!(one.send(recorded), two.send(recorded));
            Ok([one?, two?])
        }
        [one, ..] => Ok([one.send(recorded).await?, Answered::recorded(recorded)]),
        [] => Err("say where to send the requests: --endpoint-url http://localhost:8000".to_owned()),
    }
}

/// A server, with a client for each account and Region of the log.
struct Server {
    address: Address,
    credentials: Option<Credentials>,
    clients: HashMap<(String, String), Client>,
}

impl Server {
    fn new(url: &str) -> Result<Server, String> {
        let address: Address = url.parse().map_err(|error: client::AddressError| error.to_string())?;
        let credentials = match Credentials::find(None, &ProcessEnvironment) {
            // On this machine, each account is asked as the log has it.
            _ if address.is_loopback() => None,
            Err(CredentialsError::Absent) => return Err(CredentialsError::Absent.to_string()),
            credentials => Some(credentials.map_err(|error| error.to_string())?),
        };
        Ok(Server { address, credentials, clients: HashMap::new() })
    }

    async fn send(&mut self, recorded: &Recorded) -> Result<Answered, String> {
        let mut body = recorded.body.clone();
        if recorded.is_on_items() {
            body["ReturnConsumedCapacity"] = json!("TOTAL");
        }
        let client = self.client(&recorded.account, &recorded.region)?;
        let began = Instant::now();
        let answer = client.send_unretried(&recorded.operation, body.to_string().into_bytes()).await;
        let took = began.elapsed();
        match answer {
            Err(error) if error.kind == api::ErrorKind::ServiceUnavailable => Err(error.message),
            answer => Ok(Answered::by_server(recorded, answer, took)),
        }
    }

    fn client(&mut self, account: &str, region: &str) -> Result<&Client, String> {
        let key = (account.to_owned(), region.to_owned());
        if !self.clients.contains_key(&key) {
            if self.clients.len() >= CLIENTS_MAX {
                self.clients.clear();
            }
            let of_account = || Credentials { access_key_id: account.to_owned(), ..Credentials::local() };
            let credentials = self.credentials.clone().unwrap_or_else(of_account);
            let client = Client::new(self.address.clone(), region.to_owned(), credentials);
            self.clients.insert(key.clone(), client.map_err(|error| error.to_string())?);
        }
        self.clients.get(&key).ok_or_else(|| "no client".to_owned())
    }
}

/// A factor of time.
fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if (0.001..=1e6).contains(&speed) => Ok(speed),
        _ => Err("a factor is a number such as 1, 0.5 or 10".to_owned()),
    }
}
