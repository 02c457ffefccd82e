//! `bench hostile`: what a well-behaved client notices of hostile ones, and what they cost in memory.
//!
//! The well-behaved client sends gets and puts at a fixed rate, and its latency counts from when a request was due.
//! It is measured alone and under attack in turns, on one server, so that both meet the same machine, whatever else
//! that does.
//!
//! Attackers are elsewhere in the world. Here they share the machine with the server, so they are kept to what reaches
//! it from there: together they send what a line of a gigabit carries, and one that is turned away comes again some
//! seconds later. They run on a thread of their own; what they take from the machine by merely running is in the
//! figures too.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use clap::ValueEnum;
use hdrhistogram::Histogram;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsConnector;

use crate::connection::Connection;
use crate::data::{self, Data, TABLE};
use crate::place::Place;
use crate::report::{self, number};
use crate::request::encode;
use crate::server::Server;
use crate::table;
use crate::workload::{Mix, Source, Workload};

/// The well-behaved client's connections, and their requests a second together.
const CONNECTIONS: u32 = 8;
const PER_SECOND: u32 = 400;
const ITEMS: u64 = 1000;
/// What the bounds of `serve` add up to (`server/limits.rs`), and as much again as TLS may buffer. An allocator that
/// keeps pages for later is not a growing process.
const MEMORY_BYTES_MAX: u64 = (896 + 512) * 1024 * 1024;
/// How much more than before an attack the process may keep a while after it.
const KEPT_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// What all attackers send together: a gigabit a second.
const LINE_BYTES_PER_SECOND: f64 = 125e6;
/// When an attacker that was turned away comes again.
const RETURN_AFTER: Duration = Duration::from_secs(5);
/// How long an attack may take to be under way.
const BEGIN_WITHIN: Duration = Duration::from_secs(15);
/// How long memory may take to come back.
const RETURN_WITHIN: Duration = Duration::from_secs(30);

/// See what a well-behaved client notices of hostile ones
#[derive(clap::Args, Clone, Debug)]
pub struct HostileOptions {
    /// These attacks only
    #[arg(long, value_delimiter = ',', value_name = "ATTACK")]
    pub only: Vec<Attack>,
    /// How long each attack is measured, and the client without it, in all
    #[arg(long, default_value_t = 12.0)]
    pub seconds: f64,
    /// In how many turns
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    pub turns: u32,
    /// How many connections rest
    #[arg(long, default_value_t = 10_000)]
    pub connections: usize,
    /// See only that the server withstands it: few connections, and a moment for each attack
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Attack {
    /// Connections that ask once and then rest, at a server that has room for them
    Idle,
    /// Connections that say nothing
    Silent,
    /// Heads and bodies that come a byte at a time
    Slow,
    /// Bodies beyond the limit, announced and in endless chunks
    Oversize,
    /// Small bodies that unpack to large ones
    Bombs,
    /// Heads with too many and too long fields
    Headers,
    /// Bodies of brackets in brackets
    Nesting,
    /// Clients that ask for large answers and do not read them
    Unread,
    /// Clients that page through a table with a filter that nothing matches
    LongReads,
    /// Requests over HTTP/2 that are taken back at once
    RapidReset,
    /// HTTP/2 clients that send a hundred requests at once and read no answer
    Streams,
}

impl Attack {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn setup(self) -> Setup {
        match self {
            Attack::Idle => Setup::Roomy,
            Attack::RapidReset | Attack::Streams => Setup::Encrypted,
            _ => Setup::Plain,
        }
    }

    /// Its connections are meant to stay.
    fn rests(self) -> bool {
        matches!(self, Attack::Idle | Attack::Silent | Attack::Slow | Attack::Unread | Attack::Streams)
    }

    /// Connections that attack at once.
    fn attackers(self, options: &HostileOptions) -> usize {
        let count = match self {
            Attack::Idle | Attack::Silent => options.connections,
            Attack::Slow => 2000,
            Attack::Unread => 200,
            Attack::Streams => 100,
            Attack::LongReads => 64,
            Attack::Oversize | Attack::Bombs | Attack::Headers | Attack::Nesting | Attack::RapidReset => 8,
        };
        if options.quick { count.min(64) } else { count }
    }
}

/// How the server is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setup {
    Plain,
    /// With more connections than attack.
    Roomy,
    Encrypted,
}

/// The server that is asked and attacked.
#[derive(Clone)]
struct Target {
    address: SocketAddr,
    tls: Option<TlsConnector>,
    line: Arc<Line>,
}

/// The way from all attackers to the server.
#[derive(Default)]
struct Line {
    /// When the bytes that wait to be sent will be.
    free_at: Mutex<Option<Instant>>,
}

impl Line {
    /// Sends as fast as the line allows.
    async fn send(&self, stream: &mut Box<dyn Stream>, bytes: &[u8]) -> std::io::Result<()> {
        for piece in bytes.chunks(64 * 1024) {
            tokio::time::sleep_until(self.turn(piece.len()).into()).await;
            stream.write_all(piece).await?;
        }
        Ok(())
    }

    /// When these bytes may be sent.
    fn turn(&self, bytes: usize) -> Instant {
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let turn = free_at.map_or(now, |free_at| free_at.max(now));
        *free_at = Some(turn + Duration::from_secs_f64(bytes as f64 / LINE_BYTES_PER_SECOND));
        turn
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Target {
    async fn connect(&self, protocol: &[u8]) -> std::io::Result<Box<dyn Stream>> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let Some(tls) = &self.tls else { return Ok(Box::new(stream)) };
        let mut config = tls.config().as_ref().clone();
        config.alpn_protocols = vec![protocol.to_vec()];
        let name = ServerName::try_from("localhost").map_err(std::io::Error::other)?;
        Ok(Box::new(TlsConnector::from(Arc::new(config)).connect(name, stream).await?))
    }
}

struct Row {
    attack: Attack,
    alone: Histogram<u64>,
    under: Histogram<u64>,
    failures: u64,
    attempts: u64,
    before_bytes: u64,
    most_bytes: u64,
    after_bytes: u64,
}

impl Row {
    fn ratio(&self) -> f64 {
        self.under.value_at_quantile(0.99) as f64 / self.alone.value_at_quantile(0.99).max(1) as f64
    }
}

pub async fn run(options: &HostileOptions) -> Result<()> {
    raise_descriptor_limit(options.connections as u64 + 4096)?;
    let folder = options.place.scratch()?;
    let lodestone = options.place.lodestone()?;
    let all = Attack::value_variants().iter().copied();
    let attacks: Vec<Attack> =
        all.filter(|attack| options.only.is_empty() || options.only.contains(attack)).collect();
    let mut rows = Vec::new();
    for setup in [Setup::Roomy, Setup::Plain, Setup::Encrypted] {
        let attacks: Vec<Attack> = attacks.iter().copied().filter(|attack| attack.setup() == setup).collect();
        if !attacks.is_empty() {
            let (server, target) = start(&lodestone, folder.path(), setup, options).await?;
            prepare(&target).await?;
            for attack in attacks {
                rows.push(measure(attack, &server, &target, options).await.with_context(|| attack.name())?);
            }
            server.stop().await?;
        }
    }
    let text = markdown(&rows);
    println!("{text}");
    options.place.write(&[("hostile.md", &text)])?;
    for row in &rows {
        let name = row.attack.name();
        ensure!(row.failures == 0, "{name}: {} requests of the well-behaved client failed", row.failures);
        ensure!(row.attempts > 0, "{name}: the attackers did nothing");
        let most = row.most_bytes / 1_000_000;
        ensure!(row.most_bytes < MEMORY_BYTES_MAX, "{name}: the server took {most} MB");
        let kept = row.after_bytes.saturating_sub(row.before_bytes);
        ensure!(kept < KEPT_BYTES_MAX, "{name}: the server kept {} MB", kept / 1_000_000);
    }
    Ok(())
}

async fn start(
    lodestone: &Path,
    folder: &Path,
    setup: Setup,
    options: &HostileOptions,
) -> Result<(Server, Target)> {
    let mut arguments = vec!["serve".into(), "--port".into(), "0".into()];
    arguments.extend(["--data".into(), folder.join(format!("{setup:?}")).into_os_string()]);
    let authority = folder.join("authority.pem");
    match setup {
        Setup::Plain => {}
        // One address may take three quarters of them.
        Setup::Roomy => {
            arguments.extend(["--max-connections".into(), (2 * options.connections).to_string().into()])
        }
        Setup::Encrypted => {
            arguments.extend(["--tls-self-signed".into(), authority.clone().into_os_string()])
        }
    }
    let server = Server::start(lodestone, arguments, Stdio::inherit()).await?;
    let tls = if setup == Setup::Encrypted { Some(connector(&authority)?) } else { None };
    let address = server.address;
    Ok((server, Target { address, tls, line: Arc::default() }))
}

fn connector(authority: &Path) -> Result<TlsConnector> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority).context("reading the authority")?)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// The table of the well-behaved client, and some large items for attackers that ask for large answers.
async fn prepare(target: &Target) -> Result<()> {
    let mut connection = Connection::over(target.connect(b"http/1.1").await?);
    table::create(&mut connection, &data::table()).await?;
    let mix = Mix::of(&[Workload::Put], Data::new(ITEMS));
    for _ in 0..ITEMS {
        let (status, _) = connection.exchange(&mix.next().1).await?;
        ensure!(status == 200, "a put failed: {status}");
    }
    let large = json!({
        "TableName": LARGE, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
    });
    table::call(&mut connection, "CreateTable", &large).await?;
    for number in 0..LARGE_ITEMS {
        let item = json!({"p": {"S": number.to_string()}, "value": {"S": "x".repeat(390_000)}});
        table::call(&mut connection, "PutItem", &json!({"TableName": LARGE, "Item": item})).await?;
    }
    let pages = json!({
        "TableName": PAGES, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
    });
    table::call(&mut connection, "CreateTable", &pages).await?;
    for batch in 0..PAGES_ITEMS / 25 {
        let put = |number: usize| {
            let value = "x".repeat(60);
            json!({"PutRequest": {"Item": {"p": {"S": format!("{batch}-{number}")}, "value": {"S": value}}}})
        };
        let puts: Vec<_> = (0..25).map(put).collect();
        table::call(&mut connection, "BatchWriteItem", &json!({"RequestItems": {PAGES: puts}})).await?;
    }
    Ok(())
}

const LARGE: &str = "Large";
const LARGE_ITEMS: usize = 10;
/// A little more than a page of small items.
const PAGES: &str = "Pages";
const PAGES_ITEMS: usize = 15_000;

async fn measure(attack: Attack, server: &Server, target: &Target, options: &HostileOptions) -> Result<Row> {
    let (turns, seconds) = if options.quick { (1, 0.5) } else { (options.turns, options.seconds) };
    let turn = Duration::from_secs_f64(seconds / f64::from(turns));
    let before_bytes = server.resident_bytes()?;
    let mut row = Row {
        attack,
        alone: Histogram::new(3)?,
        under: Histogram::new(3)?,
        failures: 0,
        attempts: 0,
        before_bytes,
        most_bytes: 0,
        after_bytes: 0,
    };
    for _ in 0..turns {
        let (latencies, failures) = behave(target, turn).await?;
        row.alone.add(latencies)?;
        row.failures += failures;
        let assault = Assault::begin(attack, target, attack.attackers(options));
        assault.is_under_way(attack.attackers(options) as u64, if options.quick { 0.1 } else { 2.0 }).await;
        let watching = async {
            loop {
                row.most_bytes = row.most_bytes.max(server.resident_bytes().unwrap_or(0));
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let (latencies, failures) = tokio::select! {
            measured = behave(target, turn) => measured?,
            () = watching => unreachable!("it never ends"),
        };
        row.under.add(latencies)?;
        row.failures += failures;
        row.attempts += assault.end().await?;
        row.after_bytes = memory_after(server, before_bytes).await?;
    }
    Ok(row)
}

/// An attack that is under way, on a thread of its own.
struct Assault {
    attempts: Arc<AtomicU64>,
    stop: watch::Sender<bool>,
    thread: std::thread::JoinHandle<std::io::Result<()>>,
}

impl Assault {
    fn begin(attack: Attack, target: &Target, attackers: usize) -> Assault {
        let attempts = Arc::new(AtomicU64::new(0));
        let (stop, stopped) = watch::channel(false);
        let (target, counted) = (target.clone(), attempts.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map(|runtime| runtime.block_on(assault(attack, target, attackers, counted, stopped)))
        });
        Assault { attempts, stop, thread }
    }

    /// Waits until every attacker has begun, and a while longer.
    async fn is_under_way(&self, attackers: u64, seconds: f64) {
        let deadline = Instant::now() + BEGIN_WITHIN;
        while self.attempts.load(Relaxed) < attackers && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
    }

    /// How often it was tried.
    async fn end(self) -> Result<u64> {
        self.stop.send_replace(true);
        let ended = tokio::task::spawn_blocking(move || self.thread.join()).await?;
        ended.map_err(|_| anyhow::anyhow!("the attack panicked"))??;
        Ok(self.attempts.load(Relaxed))
    }
}

/// What the server holds when it has given back what it did not need.
async fn memory_after(server: &Server, before: u64) -> Result<u64> {
    let deadline = Instant::now() + RETURN_WITHIN;
    loop {
        let now = server.resident_bytes()?;
        if now < before + KEPT_BYTES_MAX / 2 || Instant::now() > deadline {
            return Ok(now);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// The well-behaved client: latencies in microseconds, and how many requests failed.
async fn behave(target: &Target, duration: Duration) -> Result<(Histogram<u64>, u64)> {
    let mix = Mix::of(&[Workload::Get, Workload::Put], Data::new(ITEMS));
    let mut clients = tokio::task::JoinSet::new();
    let step = Duration::from_secs(1) * CONNECTIONS / PER_SECOND;
    for number in 0..CONNECTIONS {
        let mut connection = Connection::over(target.connect(b"http/1.1").await?);
        let mix = mix.clone();
        clients.spawn(async move {
            let mut latencies = Histogram::<u64>::new(3)?;
            let mut failures = 0;
            let started = Instant::now() + step * number / CONNECTIONS;
            let mut due = started;
            while due - started < duration {
                tokio::time::sleep_until(due.into()).await;
                match connection.exchange(&mix.next().1).await {
                    Ok((200, _)) => latencies.record((Instant::now() - due).as_micros() as u64)?,
                    _ => failures += 1,
                }
                due += step;
            }
            anyhow::Ok((latencies, failures))
        });
    }
    let (mut latencies, mut failures) = (Histogram::new(3)?, 0);
    while let Some(client) = clients.join_next().await {
        let (others, failed) = client??;
        latencies.add(others)?;
        failures += failed;
    }
    Ok((latencies, failures))
}

/// Attacks over this number of connections until `stop` is set.
async fn assault(
    attack: Attack,
    target: Target,
    attackers: usize,
    attempts: Arc<AtomicU64>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..attackers {
        let (target, attempts) = (target.clone(), attempts.clone());
        tasks.spawn(async move {
            loop {
                let _ = attempt(attack, number, &target, &attempts).await;
                // However the server ends it, an attacker comes again.
                let pause = if attack.rests() { RETURN_AFTER } else { Duration::from_millis(20) };
                tokio::time::sleep(pause).await;
            }
        });
        // Some thousand connections a second.
        if number % 50 == 49 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    let _ = stopped.wait_for(|stopped| *stopped).await;
    tasks.shutdown().await;
}

async fn attempt(attack: Attack, number: usize, target: &Target, attempts: &AtomicU64) -> Result<()> {
    if attack.setup() == Setup::Encrypted {
        return flood_http2(attack, target, attempts).await;
    }
    let mut stream = target.connect(b"http/1.1").await?;
    attempts.fetch_add(1, Relaxed);
    let line = &target.line;
    let head = |headers: &str| {
        format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\n{headers}\r\n"
        )
    };
    match attack {
        Attack::Idle => {
            stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await?;
            // Ends when the server closes.
            drain(&mut stream).await;
        }
        Attack::Silent => drain(&mut stream).await,
        Attack::Slow => {
            let sent = head("Content-Length: 100000\r\n") + &"x".repeat(1000);
            // Half of them are slow in their body.
            let at_once = if number.is_multiple_of(2) { 1 } else { sent.len() - 1000 };
            stream.write_all(&sent.as_bytes()[..at_once]).await?;
            for byte in &sent.as_bytes()[at_once..] {
                stream.write_all(&[*byte]).await?;
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
        Attack::Oversize => {
            let announced = number.is_multiple_of(2);
            let length =
                if announced { "Content-Length: 1000000000\r\n" } else { "Transfer-Encoding: chunked\r\n" };
            stream.write_all(head(length).as_bytes()).await?;
            let chunk = vec![b' '; 65_536];
            for _ in 0..2000 {
                if !announced {
                    stream.write_all(b"10000\r\n").await?;
                }
                line.send(&mut stream, &chunk).await?;
                if !announced {
                    stream.write_all(b"\r\n").await?;
                }
            }
        }
        Attack::Bombs => {
            let bomb = bomb();
            let length = format!("Content-Encoding: gzip\r\nContent-Length: {}\r\n", bomb.len());
            for _ in 0..20 {
                stream.write_all(head(&length).as_bytes()).await?;
                line.send(&mut stream, &bomb).await?;
                if stream.read(&mut [0; 4096]).await? == 0 {
                    break;
                }
                attempts.fetch_add(1, Relaxed);
            }
        }
        Attack::Headers => {
            let headers = if number.is_multiple_of(2) {
                (0..1000).map(|number| format!("x-{number}: y\r\n")).collect()
            } else {
                format!("x-long: {}\r\n", "y".repeat(1_000_000))
            };
            line.send(&mut stream, head(&headers).as_bytes()).await?;
            drain(&mut stream).await;
        }
        Attack::Nesting => {
            let body = json!({"TableName": TABLE}).to_string().replace('}', ",\"Item\":")
                + &"{\"a\":{\"L\":[".repeat(50_000);
            let request = String::from_utf8(encode("PutItem", &json!({})))?;
            let request = request.replace("Content-Length: 2", &format!("Content-Length: {}", body.len()));
            let request = request.trim_end_matches("{}").to_owned() + &body;
            for _ in 0..20 {
                line.send(&mut stream, request.as_bytes()).await?;
                if stream.read(&mut [0; 4096]).await? == 0 {
                    break;
                }
                attempts.fetch_add(1, Relaxed);
            }
        }
        Attack::Unread => {
            let keys: Vec<_> =
                (0..LARGE_ITEMS).map(|number| json!({"p": {"S": number.to_string()}})).collect();
            let request = encode("BatchGetItem", &json!({"RequestItems": {LARGE: {"Keys": keys}}}));
            stream.write_all(&request).await?;
            tokio::time::sleep(Duration::from_secs(3600)).await;
        }
        Attack::LongReads => {
            let request = encode(
                "Scan",
                &json!({
                    "TableName": PAGES, "FilterExpression": "#value = :value",
                    "ExpressionAttributeNames": {"#value": "value"},
                    "ExpressionAttributeValues": {":value": {"S": "none has it"}},
                }),
            );
            let mut connection = Connection::over(stream);
            while connection.exchange(&request).await?.0 == 200 {
                attempts.fetch_add(1, Relaxed);
            }
        }
        Attack::RapidReset | Attack::Streams => unreachable!("these have a protocol of their own"),
    }
    Ok(())
}

async fn flood_http2(attack: Attack, target: &Target, attempts: &AtomicU64) -> Result<()> {
    let stream = target.connect(b"h2").await?;
    let mut client = h2::client::Builder::new();
    client.initial_window_size(if attack == Attack::Streams { 0 } else { 65_535 });
    let (send, connection) = client.handshake::<_, Bytes>(stream).await?;
    let connection = tokio::spawn(connection);
    let mut answers = Vec::new();
    let asked = async {
        for _ in 0..2000 {
            let mut send = send.clone().ready().await?;
            let request = http::Request::get("https://localhost/").body(())?;
            let (answer, mut stream) = send.send_request(request, attack == Attack::Streams)?;
            attempts.fetch_add(1, Relaxed);
            match attack {
                Attack::Streams => answers.push(answer),
                _ => stream.send_reset(h2::Reason::CANCEL),
            }
        }
        anyhow::Ok(())
    };
    // Streams wait until the server gives up.
    let asked = tokio::time::timeout(Duration::from_secs(20), asked).await;
    connection.abort();
    asked?
}

async fn drain(stream: &mut Box<dyn Stream>) {
    let mut bytes = [0; 4096];
    while let Ok(1..) = stream.read(&mut bytes).await {}
}

/// 16 KB that unpack to 16 MB and a little more.
fn bomb() -> Vec<u8> {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let spaces = vec![b' '; 1 << 20];
    for _ in 0..17 {
        packed.write_all(&spaces).expect("writing to memory does not fail");
    }
    packed.finish().expect("writing to memory does not fail")
}

fn raise_descriptor_limit(wanted: u64) -> Result<()> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < wanted {
        setrlimit(Resource::RLIMIT_NOFILE, wanted.min(hard), hard)?;
    }
    Ok(())
}

fn markdown(rows: &[Row]) -> String {
    let mut table = report::table(&[
        "attack",
        "attempts",
        "p50 alone, ms",
        "p50",
        "p99 alone, ms",
        "p99",
        "ratio of p99",
        "failed",
        "MB before",
        "most",
        "after",
    ]);
    for row in rows {
        let ms =
            |latencies: &Histogram<u64>, quantile| number(latencies.value_at_quantile(quantile) as f64 / 1e3);
        let mb = |bytes: u64| number(bytes as f64 / 1e6);
        table.add_row([
            row.attack.name(),
            row.attempts.to_string(),
            ms(&row.alone, 0.5),
            ms(&row.under, 0.5),
            ms(&row.alone, 0.99),
            ms(&row.under, 0.99),
            format!("{:.1}", row.ratio()),
            row.failures.to_string(),
            mb(row.before_bytes),
            mb(row.most_bytes),
            mb(row.after_bytes),
        ]);
    }
    table.to_string()
}
