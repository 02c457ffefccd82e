//! Where Kinesis streaming destinations are delivered to: `--kinesis NAME=DESTINATION` says it for each stream.
//!
//! | DESTINATION | what gets the records |
//! |---|---|
//! | `file:PATH` | a file, to which each record is added as a line of JSON |
//! | `http://host/path`, `https://…` | an endpoint, by POST: a JSON array of records; any answer of 2xx takes them |
//! | `kinesis+http://host`, `kinesis+https://…` | an endpoint of Kinesis Data Streams, by PutRecords |

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use clap::Args;
use client::{Address, Client, Credentials, CredentialsError, ProcessEnvironment};
use engine::{KinesisRecord, KinesisStream, KinesisStreams, PutFuture, PutOutcome};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

const HEADING: &str = "Kinesis streams that get the changes of tables";
const PUT_RECORDS: &str = "Kinesis_20131202.PutRecords";
/// `ErrorCode` of a record for which a shard has no throughput left.
const THROTTLED: &str = "ProvisionedThroughputExceededException";
/// How long an endpoint may take for a batch.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How often records that an endpoint of Kinesis did not take are put again before the caller waits for longer.
const TRIES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(50);

#[derive(Args)]
pub struct KinesisArguments {
    /// Where a stream's records go, when a table has it as a Kinesis streaming destination: orders=file:orders.jsonl,
    /// orders=https://hook.example/path or orders=kinesis+https://kinesis.eu-west-1.amazonaws.com. May be given several
    /// times
    ///
    /// NAME is the stream's: the end of its ARN. A file gets a line of JSON for each record, an http endpoint a JSON
    /// array by POST, and a kinesis endpoint PutRecords, signed with the credentials of the environment.
    #[arg(long, value_name = "NAME=DESTINATION", value_parser = Mapping::parse, help_heading = HEADING)]
    kinesis: Vec<Mapping>,
}

/// A stream's name, and what gets its records.
#[derive(Clone)]
struct Mapping {
    name: String,
    target: Target,
}

#[derive(Clone)]
enum Target {
    File(PathBuf),
    Http { address: Address, path: String },
    Kinesis(Address),
}

impl Mapping {
    fn parse(text: &str) -> Result<Mapping, String> {
        let (name, target) =
            text.split_once('=').ok_or("a stream is NAME=DESTINATION: orders=file:orders.jsonl")?;
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        if !(1..=128).contains(&name.len()) || !name.bytes().all(is_allowed) {
            return Err(format!("`{name}` is not a stream's name: use letters, digits, `.`, `-` and `_`"));
        }
        Ok(Mapping { name: name.to_owned(), target: Target::parse(target)? })
    }
}

impl Target {
    fn parse(text: &str) -> Result<Target, String> {
        if let Some(path) = text.strip_prefix("file:").filter(|path| !path.is_empty()) {
            return Ok(Target::File(path.into()));
        }
        let address = |text: &str| Address::from_str(text).map_err(|error| error.to_string());
        if let Some(endpoint) = text.strip_prefix("kinesis+") {
            return address(endpoint).map(Target::Kinesis);
        }
        let Some((scheme, rest)) =
            text.split_once("://").filter(|(scheme, _)| ["http", "https"].contains(scheme))
        else {
            return Err(format!("`{text}` is neither file:PATH nor http(s)://… nor kinesis+http(s)://…"));
        };
        let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        let address = address(&format!("{scheme}://{authority}"))?;
        Ok(Target::Http { address, path: path.to_owned() })
    }
}

impl KinesisArguments {
    /// The streams, ready to be put to.
    pub fn open(&self) -> Result<KinesisStreams, String> {
        let mut names = HashSet::new();
        let open = |Mapping { name, target }: &Mapping| {
            if !names.insert(name.clone()) {
                return Err(format!("the stream {name} is given twice"));
            }
            let stream: Arc<dyn KinesisStream> = match target {
                Target::File(path) => Arc::new(FileStream { path: path.clone(), file: Mutex::new(None) }),
                Target::Http { address, path } => {
                    Arc::new(HttpStream { address: address.clone(), path: path.clone() })
                }
                Target::Kinesis(address) => Arc::new(Endpoint::new(name.clone(), address)?),
            };
            Ok((name.clone(), stream))
        };
        let streams: Result<Vec<_>, String> = self.kinesis.iter().map(open).collect();
        Ok(streams?.into_iter().collect())
    }
}

/// A file of JSON lines. Records have arrived when they are on the disk.
struct FileStream {
    path: PathBuf,
    /// Opened for the first records.
    file: Mutex<Option<File>>,
}

impl FileStream {
    async fn append(&self, lines: Vec<u8>) -> Result<(), String> {
        let mut held = self.file.lock().await;
        let (file, path) = (held.take(), self.path.clone());
        let appended = tokio::task::spawn_blocking(move || {
            let mut file = file.map_or_else(|| open_lines(&path), Ok)?;
            append_lines(&mut file, &lines)?;
            Ok::<_, std::io::Error>(file)
        });
        let appended = appended.await.map_err(|error| error.to_string())?;
        // After a failure it is opened again, which takes away a line that was cut.
        *held = Some(appended.map_err(|error| format!("{}: {error}", self.path.display()))?);
        Ok(())
    }
}

fn append_lines(file: &mut File, lines: &[u8]) -> std::io::Result<()> {
    file.write_all(lines)?;
    file.sync_data()
}

/// Opens a file of lines at its end. What follows its last line break was cut by a crash, and is delivered again.
fn open_lines(path: &Path) -> std::io::Result<File> {
    const STEP: u64 = 64 * 1024;
    let mut options = OpenOptions::new();
    // Records hold items: only the owner can read them.
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.open(path)?;
    let mut end = file.seek(SeekFrom::End(0))?;
    while end > 0 {
        let start = end.saturating_sub(STEP);
        let mut part = vec![0; usize::try_from(end - start).unwrap_or(0)];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut part)?;
        match part.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => {
                end = start + at as u64 + 1;
                break;
            }
            None => end = start,
        }
    }
    file.set_len(end)?;
    file.seek(SeekFrom::Start(end))?;
    Ok(file)
}

impl KinesisStream for FileStream {
    fn put<'a>(&'a self, records: &'a [KinesisRecord]) -> PutFuture<'a> {
        Box::pin(async move {
            let mut lines = Vec::with_capacity(records.iter().map(|record| record.data.len() + 1).sum());
            for record in records {
                lines.extend_from_slice(&record.data);
                lines.push(b'\n');
            }
            match self.append(lines).await {
                Ok(()) => all(records),
                Err(reason) => none(reason),
            }
        })
    }
}

/// All records have arrived.
fn all(records: &[KinesisRecord]) -> PutOutcome {
    PutOutcome { arrived: records.len(), ..PutOutcome::default() }
}

/// No record has arrived.
fn none(reason: String) -> PutOutcome {
    PutOutcome { obstacle: Some(reason), ..PutOutcome::default() }
}

/// An endpoint that takes all records of a request, or none.
struct HttpStream {
    address: Address,
    path: String,
}

impl KinesisStream for HttpStream {
    fn put<'a>(&'a self, records: &'a [KinesisRecord]) -> PutFuture<'a> {
        Box::pin(async move {
            let mut body = vec![b'['];
            for record in records {
                if body.len() > 1 {
                    body.push(b',');
                }
                body.extend_from_slice(&record.data);
            }
            body.push(b']');
            let refused = |status: u16| none(format!("{}{} answers {status}", self.address, self.path));
            match client::post(&self.address, &self.path, body, None, TIMEOUT).await {
                Ok((200..=299, _)) => all(records),
                Ok((429, _)) => PutOutcome { throttled: records.len(), ..refused(429) },
                Ok((status, _)) => refused(status),
                Err(reason) => none(reason),
            }
        })
    }
}

/// An endpoint of Kinesis Data Streams.
struct Endpoint {
    name: String,
    client: Client,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct PutRecordsInput<'a> {
    stream_name: &'a str,
    records: Vec<PutRecordsEntry>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct PutRecordsEntry {
    data: String,
    partition_key: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PutRecordsOutput {
    records: Vec<PutRecordsResult>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PutRecordsResult {
    error_code: Option<String>,
    error_message: Option<String>,
}

impl Endpoint {
    fn new(name: String, address: &Address) -> Result<Endpoint, String> {
        let credentials = match Credentials::find(None, &ProcessEnvironment) {
            // An endpoint on this machine that verifies no signatures takes any.
            Err(CredentialsError::Absent) => Credentials::local(),
            credentials => credentials.map_err(|error| error.to_string())?,
        };
        let region = address.region_of("kinesis").unwrap_or("us-east-1").to_owned();
        let client =
            Client::of_kinesis(address.clone(), region, credentials).map_err(|error| error.to_string())?;
        Ok(Endpoint { name, client })
    }

    /// Puts records of different items. Leaves those that were not taken, counts those for which there was no
    /// throughput, and returns why.
    async fn put_once(
        &self,
        open: &mut Vec<&KinesisRecord>,
        throttled: &mut usize,
    ) -> Result<Option<String>, String> {
        let entry = |record: &&KinesisRecord| PutRecordsEntry {
            data: BASE64_STANDARD.encode(&record.data),
            partition_key: record.partition_key.clone(),
        };
        let input = PutRecordsInput { stream_name: &self.name, records: open.iter().map(entry).collect() };
        let body = serde_json::to_vec(&input).map_err(|error| error.to_string())?;
        let answer = self.client.send_once(PUT_RECORDS, body).await.map_err(|error| {
            if error.kind == api::ErrorKind::ProvisionedThroughputExceeded {
                *throttled += open.len();
            }
            error.message
        })?;
        let output: PutRecordsOutput = serde_json::from_slice(&answer)
            .map_err(|error| format!("{}: no answer of PutRecords: {error}", self.client.address()))?;
        if output.records.len() != open.len() {
            return Err(format!("{}: an answer for other records", self.client.address()));
        }
        let mut results = output.records.iter();
        open.retain(|_| results.next().is_some_and(|result| result.error_code.is_some()));
        let is_throttled = |result: &&PutRecordsResult| result.error_code.as_deref() == Some(THROTTLED);
        *throttled += output.records.iter().filter(is_throttled).count();
        let refused = output.records.into_iter().find(|result| result.error_code.is_some());
        Ok(refused.map(|result| {
            format!("{}: {}", result.error_code.unwrap_or_default(), result.error_message.unwrap_or_default())
        }))
    }

    /// Puts records of different items until all are taken, a bounded number of times.
    async fn put_all(&self, records: &[KinesisRecord], throttled: &mut usize) -> Result<(), String> {
        let mut open: Vec<&KinesisRecord> = records.iter().collect();
        let mut pause = FIRST_PAUSE;
        for tries in 1.. {
            match self.put_once(&mut open, throttled).await? {
                None => break,
                Some(reason) if tries == TRIES => return Err(reason),
                Some(_) => tokio::time::sleep(pause).await,
            }
            pause *= 2;
        }
        Ok(())
    }
}

impl KinesisStream for Endpoint {
    /// PutRecords may take a later record and not an earlier one. So that the changes of an item stay in order, a request
    /// has at most one of them.
    fn put<'a>(&'a self, records: &'a [KinesisRecord]) -> PutFuture<'a> {
        Box::pin(async move {
            let mut outcome = PutOutcome::default();
            while outcome.arrived < records.len() && outcome.obstacle.is_none() {
                let mut items = HashSet::new();
                let rest = &records[outcome.arrived..];
                let count = rest.iter().take_while(|record| items.insert(&record.item)).count();
                match self.put_all(&rest[..count], &mut outcome.throttled).await {
                    Ok(()) => outcome.arrived += count,
                    Err(reason) => outcome.obstacle = Some(reason),
                }
            }
            outcome
        })
    }
}
