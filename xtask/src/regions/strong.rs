//! `cargo xtask regions --strong`: a table that is strongly consistent between three Regions, once in the Regions of one
//! server and once on three servers, one for each Region, on one PostgreSQL. Servers are killed and started again while
//! clients write in any Region and read consistently in any other.
//!
//! - Each client has an item of its own and writes its next value in a Region by chance. Every consistent read of it must
//!   find the last value that was acknowledged, or a later one whose answer was lost.
//! - All clients add to one counter. Writes that meet one of another Region are refused and tried again. At the end the
//!   counter is at least what was acknowledged, and at most what was sent.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ::bench::connection::Connection;
use ::bench::request::encode_in;
use ::bench::server::Server;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::{Addresses, PAUSE, RegionsOptions};
use crate::cluster::patroni::Single;
use crate::evidence::Scratch;
use crate::{command, tools};

const REGIONS: [&str; 3] = ["us-east-1", "us-east-2", "us-west-2"];
const TABLE: &str = "Orders";
const CLIENTS: usize = 12;
/// One of this number of steps of a client adds to the counter of all.
const COUNTS: u64 = 10;
/// Between two kills, and until a killed server is started again.
const KILL_PAUSE: Duration = Duration::from_millis(1500);
const DOWN: Duration = Duration::from_millis(300);
/// How long a client waits for an answer. A server that answers later counts as one that does not answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

pub fn run(options: &RegionsOptions) -> Result<()> {
    let binary = command::lodestone(options.lodestone.as_ref())?;
    tools::postgres()?;
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let scratch = Scratch::new("strong-regions")?;
    scratch.note("seed", seed);
    let outcome = runtime.block_on(async {
        let folder = scratch.path().to_owned();
        for place in [Place::OneServer, Place::Postgres] {
            let mut random = fastrand::Rng::with_seed(seed);
            println!("regions: {} consistent reads {}, seed {seed}", options.reads, place.name());
            let round = Round::begin(place, binary.clone(), folder.clone(), options.reads).await?;
            let figures = round.run(&mut random).await;
            println!("regions: {}", figures.with_context(|| format!("{}, seed {seed}", place.name()))?);
        }
        Ok(())
    });
    if outcome.is_ok() {
        scratch.passed();
    }
    outcome
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    OneServer,
    Postgres,
}

impl Place {
    fn name(self) -> &'static str {
        match self {
            Place::OneServer => "in three Regions of one server",
            Place::Postgres => "on three servers on one PostgreSQL",
        }
    }

    /// The server of a Region.
    fn server_of(self, region: usize) -> usize {
        match self {
            Place::OneServer => 0,
            Place::Postgres => region,
        }
    }

    fn servers(self) -> usize {
        match self {
            Place::OneServer => 1,
            Place::Postgres => REGIONS.len(),
        }
    }
}

/// What all clients share.
struct Shared {
    place: Place,
    addresses: Addresses,
    reads_left: AtomicU64,
    counts_sent: AtomicU64,
    counts_acknowledged: AtomicU64,
    conflicts: AtomicU64,
    lost: AtomicU64,
    writes: AtomicU64,
}

struct Round {
    binary: PathBuf,
    folder: PathBuf,
    /// It ends with this value.
    postgres: Option<Single>,
    servers: Mutex<Vec<Option<Server>>>,
    shared: Arc<Shared>,
}

impl Round {
    async fn begin(place: Place, binary: PathBuf, folder: PathBuf, reads: u64) -> Result<Round> {
        // Processes are killed, and not machines: nothing needs to be synced.
        let settings = ["fsync=off", "full_page_writes=off"];
        let postgres = match place {
            Place::OneServer => None,
            Place::Postgres => Some(Single::start(&folder, &settings).await?),
        };
        let shared = Arc::new(Shared {
            place,
            addresses: std::array::from_fn(|_| tokio::sync::watch::Sender::new(None)),
            reads_left: reads.into(),
            counts_sent: 0.into(),
            counts_acknowledged: 0.into(),
            conflicts: 0.into(),
            lost: 0.into(),
            writes: 0.into(),
        });
        let servers = Mutex::new((0..place.servers()).map(|_| None).collect());
        let round = Round { binary, folder, postgres, servers, shared };
        for server in 0..place.servers() {
            round.start(server).await?;
        }
        let mut home = round.shared.connect(0).await.context("a server that was started answers")?;
        super::call_in(&mut home, REGIONS[0], "CreateTable", &table()).await?;
        let create = |region: &&str| json!({"Create": {"RegionName": region}});
        let strong = json!({
            "TableName": TABLE, "MultiRegionConsistency": "STRONG",
            "ReplicaUpdates": REGIONS[1..].iter().map(create).collect::<Vec<_>>(),
        });
        super::call_in(&mut home, REGIONS[0], "UpdateTable", &strong).await?;
        Ok(round)
    }

    async fn start(&self, number: usize) -> Result<()> {
        let mut arguments: Vec<String> =
            ["serve", "--host", "127.0.0.1", "--port", "0"].map(Into::into).into();
        match &self.postgres {
            Some(postgres) => {
                arguments.extend(["--postgres".to_owned(), postgres.url()]);
                arguments.extend(["--region".to_owned(), REGIONS[number].to_owned()]);
            }
            None => arguments.extend(["--data".to_owned(), self.folder.join("strong").display().to_string()]),
        }
        let log = self.folder.join(format!("strong-{number}.log"));
        let log = std::fs::OpenOptions::new().create(true).append(true).open(log)?;
        let server = Server::start(&self.binary, &arguments, log.into()).await?;
        for (region, address) in self.shared.addresses.iter().enumerate() {
            if self.shared.place.server_of(region) == number {
                address.send_replace(Some(server.address));
            }
        }
        self.servers.lock().await[number] = Some(server);
        Ok(())
    }

    async fn kill(&self, number: usize) -> Result<()> {
        let Some(server) = self.servers.lock().await[number].take() else { return Ok(()) };
        for (region, address) in self.shared.addresses.iter().enumerate() {
            if self.shared.place.server_of(region) == number {
                address.send_replace(None);
            }
        }
        server.kill().await
    }

    /// Lets clients read as often as is asked, while servers are killed. Returns the figures.
    async fn run(self, random: &mut fastrand::Rng) -> Result<String> {
        let began = Instant::now();
        let mut clients = JoinSet::new();
        for number in 0..CLIENTS {
            let client = Client {
                name: format!("client {number}"),
                shared: self.shared.clone(),
                random: random.fork(),
                connections: [None, None, None],
                known: Known { value: 0, lost: Vec::new() },
                next: 1,
            };
            clients.spawn(client.run());
        }
        let mut kills = 0;
        while !clients.is_empty() {
            match tokio::time::timeout(KILL_PAUSE, clients.join_next()).await {
                Ok(ended) => ended.context("a client that runs")???,
                Err(_) => {
                    let number = random.usize(0..self.shared.place.servers());
                    self.kill(number).await?;
                    kills += 1;
                    tokio::time::sleep(DOWN).await;
                    self.start(number).await?;
                }
            }
        }
        self.check_end().await?;
        let Shared { conflicts, lost, writes, .. } = &*self.shared;
        let [conflicts, lost, writes] = [conflicts, lost, writes].map(|count| count.load(Ordering::Relaxed));
        Ok(format!(
            "every read found the last acknowledged write; {writes} writes were acknowledged, {lost} had no answer, \
             {conflicts} met one of another Region, {kills} kills, {:.0} s",
            began.elapsed().as_secs_f64()
        ))
    }

    /// All Regions have the same items, and the counter is exact.
    async fn check_end(&self) -> Result<()> {
        let mut tables = Vec::new();
        for (server, region) in REGIONS.iter().enumerate() {
            let mut connection = self.shared.connect(server).await.context("every server runs")?;
            let scan = json!({"TableName": TABLE, "ConsistentRead": true});
            let mut page = super::call_in(&mut connection, region, "Scan", &scan).await?;
            tables.push(page["Items"].take());
        }
        ensure!(tables.iter().all(|table| *table == tables[0]), "the Regions differ: {tables:#?}");
        let items = tables[0].as_array().context("a page has items")?;
        let counter = items.iter().find(|item| item["PK"]["S"] == "counter");
        let count: u64 = counter.map_or(Ok(0), |item| item["v"]["N"].as_str().unwrap_or_default().parse())?;
        let acknowledged = self.shared.counts_acknowledged.load(Ordering::Relaxed);
        let sent = self.shared.counts_sent.load(Ordering::Relaxed);
        ensure!(
            (acknowledged..=sent).contains(&count),
            "the counter is {count}: {acknowledged} additions were acknowledged and {sent} sent"
        );
        Ok(())
    }
}

impl Shared {
    /// A connection to the server of a Region; none while it does not run.
    async fn connect(&self, region: usize) -> Option<Connection> {
        let address = (*self.addresses[region].borrow())?;
        Connection::open(address).await.ok()
    }

    /// Whether another read is to be made. It is counted as made.
    fn takes_read(&self) -> bool {
        let less = |left: u64| left.checked_sub(1);
        self.reads_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

/// What may be read of an item.
struct Known {
    /// The last value that was acknowledged.
    value: u64,
    /// Later ones, of writes without an answer.
    lost: Vec<u64>,
}

/// How a request ended.
enum Answer {
    Done(Value),
    /// A write of another Region was under way on the item.
    Conflict,
    /// There was no answer: it may have been carried out.
    Lost,
}

struct Client {
    name: String,
    shared: Arc<Shared>,
    random: fastrand::Rng,
    connections: [Option<Connection>; 3],
    known: Known,
    next: u64,
}

impl Client {
    async fn run(mut self) -> Result<()> {
        while self.shared.reads_left.load(Ordering::Relaxed) > 0 {
            let region = self.random.usize(0..REGIONS.len());
            match self.next.is_multiple_of(COUNTS) {
                true => self.count(region).await?,
                false => self.write(region).await?,
            }
            self.next += 1;
            for other in 0..REGIONS.len() {
                if other != region {
                    self.read(other).await?;
                }
            }
        }
        Ok(())
    }

    async fn write(&mut self, region: usize) -> Result<()> {
        let (value, item) = (self.next, json!({"PK": {"S": self.name}, "v": {"N": self.next.to_string()}}));
        match self.ask(region, "PutItem", &json!({"TableName": TABLE, "Item": item})).await? {
            Some(Answer::Done(_)) => {
                self.known = Known { value, lost: Vec::new() };
                self.shared.writes.fetch_add(1, Ordering::Relaxed);
            }
            Some(Answer::Lost) => {
                self.known.lost.push(value);
                self.shared.lost.fetch_add(1, Ordering::Relaxed);
            }
            Some(Answer::Conflict) => bail!("{} is the only one who writes its item", self.name),
            None => {}
        }
        Ok(())
    }

    /// Adds one to the counter of all clients.
    async fn count(&mut self, region: usize) -> Result<()> {
        let add = json!({
            "TableName": TABLE, "Key": {"PK": {"S": "counter"}}, "UpdateExpression": "ADD v :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        });
        loop {
            // Before it is sent: what is sent may be carried out.
            self.shared.counts_sent.fetch_add(1, Ordering::Relaxed);
            match self.ask(region, "UpdateItem", &add).await? {
                Some(Answer::Done(_)) => {
                    self.shared.counts_acknowledged.fetch_add(1, Ordering::Relaxed);
                    return Ok(());
                }
                Some(Answer::Conflict) => {
                    self.shared.conflicts.fetch_add(1, Ordering::Relaxed);
                    self.shared.counts_sent.fetch_sub(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(self.random.u64(1..5))).await;
                }
                Some(Answer::Lost) => return Ok(()),
                None => {
                    self.shared.counts_sent.fetch_sub(1, Ordering::Relaxed);
                    return Ok(());
                }
            }
        }
    }

    /// Reads its item and checks the value.
    async fn read(&mut self, region: usize) -> Result<()> {
        let get = json!({"TableName": TABLE, "Key": {"PK": {"S": self.name}}, "ConsistentRead": true});
        let Some(Answer::Done(answer)) = self.ask(region, "GetItem", &get).await? else { return Ok(()) };
        let value = match answer["Item"]["v"]["N"].as_str() {
            Some(value) => value.parse()?,
            None => 0,
        };
        let Known { value: acknowledged, lost } = &self.known;
        ensure!(
            value == *acknowledged || lost.contains(&value),
            "{}: a consistent read in {} found {value}; {acknowledged} was acknowledged, and {lost:?} had no answer",
            self.name,
            REGIONS[region],
        );
        // A write without an answer that was read stays: those before it were overwritten.
        self.known = Known { value, lost: lost.iter().copied().filter(|lost| *lost > value).collect() };
        self.shared.takes_read();
        Ok(())
    }

    /// Sends a request; none if the server of the Region does not run.
    async fn ask(&mut self, region: usize, operation: &str, body: &Value) -> Result<Option<Answer>> {
        if self.connections[region].is_none() {
            self.connections[region] = self.shared.connect(region).await;
        }
        let Some(connection) = &mut self.connections[region] else {
            tokio::time::sleep(PAUSE).await;
            return Ok(None);
        };
        let request = encode_in(REGIONS[region], operation, body);
        let answer = tokio::time::timeout(ANSWER_WITHIN, connection.exchange(&request)).await;
        let answer = match answer {
            Ok(Ok((200, reply))) => Answer::Done(serde_json::from_slice(reply)?),
            // The database may have been away for a moment, also between a commit and its answer.
            Ok(Ok((500.., _))) => Answer::Lost,
            Ok(Ok((status, reply))) => {
                let text = String::from_utf8_lossy(reply);
                match text.contains("ReplicatedWriteConflictException") {
                    true => Answer::Conflict,
                    false => bail!("{operation} in {}: {status} {text}", REGIONS[region]),
                }
            }
            Ok(Err(_)) | Err(_) => {
                self.connections[region] = None;
                Answer::Lost
            }
        };
        Ok(Some(answer))
    }
}

fn table() -> Value {
    json!({
        "TableName": TABLE, "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
    })
}
