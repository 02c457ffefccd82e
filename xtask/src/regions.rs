//! `cargo xtask regions`: a global table of three Regions, each a server process of its own. Clients write in all of them
//! while servers are killed and started again and the network between them breaks. When all is whole again, the three
//! tables must be equal, item by item, and what last-writer-wins allows ([`simulation::last_writer_wins`]).
//!
//! With `--strong` the table is strongly consistent instead, and consistent reads are checked ([`strong`]).
//!
//! With `--figures` it measures instead how long a write takes to the other Region at rest, and what a replica costs
//! ([`figures`]).

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ::bench::connection::Connection;
use ::bench::request::encode_in;
use ::bench::server::Server;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::command;
use crate::evidence::Scratch;
use crate::wait::{self, WAIT};

mod figures;
mod gate;
mod strong;

use gate::Gate;
use simulation::last_writer_wins::{RegionHistory, RegionWrite, WriteAnswer};

/// By how much the times of two servers on one machine can differ: they count in milliseconds.
const CLOCKS: Duration = Duration::from_millis(20);
const REGIONS: [&str; 3] = ["us-east-1", "eu-west-1", "ap-south-1"];
const TABLE: &str = "Everywhere";
/// Few, so that writers of several Regions meet.
const KEYS: u64 = 40;
const WRITERS_PER_REGION: usize = 3;
const PAUSE: Duration = Duration::from_millis(20);

#[derive(clap::Args)]
pub struct RegionsOptions {
    /// How long clients write while servers and links fail
    #[arg(long, default_value_t = 3.0)]
    minutes: f64,
    /// Measure the lag at rest and the cost of a replica instead
    #[arg(long)]
    figures: bool,
    /// Read consistently in all Regions of a strongly consistent table while clients write in all and servers are killed:
    /// in Regions of one server, and on servers that share a PostgreSQL
    #[arg(long)]
    strong: bool,
    /// With --strong: how many reads are checked on each of the two
    #[arg(long, default_value_t = 100_000)]
    reads: u64,
    /// Repeats the load and the failures of an earlier run, though not their moments
    #[arg(long)]
    seed: Option<u64>,
    /// Test this binary instead of building one
    #[arg(long, value_name = "BINARY")]
    lodestone: Option<PathBuf>,
}

impl RegionsOptions {
    /// Some seconds, to see that the campaign itself works.
    pub fn brief() -> RegionsOptions {
        RegionsOptions { minutes: 0.1, figures: false, strong: false, reads: 0, seed: None, lodestone: None }
    }
}

pub fn run(options: &RegionsOptions) -> Result<()> {
    if options.strong {
        return strong::run(options);
    }
    let binary = command::lodestone(options.lodestone.as_ref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    if options.figures {
        return runtime.block_on(figures::measure(&binary));
    }
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..));
    println!("regions: {} servers, {:.1} minutes, seed {seed}", REGIONS.len(), options.minutes);
    let scratch = Scratch::new("regions")?;
    scratch.note("seed", seed);
    let history = Arc::default();
    let writing = Duration::from_secs_f64(options.minutes * 60.0);
    let outcome = runtime.block_on(async {
        let folder = scratch.path().to_owned();
        let mut campaign = Campaign::begin(binary, folder, seed, Arc::clone(&history)).await?;
        campaign.run(writing).await.with_context(|| format!("seed {seed}"))
    });
    match &outcome {
        Ok(()) => scratch.passed(),
        Err(_) => {
            let history = history.lock().unwrap_or_else(PoisonError::into_inner);
            scratch.note("history", format!("{history:#?}"));
        }
    }
    outcome
}

/// Where the clients of each Region find its server, if it runs.
type Addresses = [watch::Sender<Option<SocketAddr>>; 3];

struct Campaign {
    binary: PathBuf,
    folder: PathBuf,
    servers: [Option<Server>; 3],
    addresses: Arc<Addresses>,
    /// The way from one server to another, for each pair.
    gates: BTreeMap<(usize, usize), Gate>,
    random: fastrand::Rng,
    history: Arc<Mutex<RegionHistory>>,
    kills: u32,
    cuts: u32,
}

impl Campaign {
    /// Three servers with a table of three Regions.
    async fn begin(
        binary: PathBuf,
        folder: PathBuf,
        seed: u64,
        history: Arc<Mutex<RegionHistory>>,
    ) -> Result<Campaign> {
        let mut gates = BTreeMap::new();
        for (from, to) in pairs() {
            gates.insert((from, to), Gate::open().await?);
        }
        let mut campaign = Campaign {
            binary,
            folder,
            servers: [None, None, None],
            addresses: Arc::new(std::array::from_fn(|_| watch::Sender::new(None))),
            gates,
            random: fastrand::Rng::with_seed(seed),
            history,
            kills: 0,
            cuts: 0,
        };
        for region in 0..REGIONS.len() {
            campaign.start(region).await?;
        }
        let mut home = campaign.connect(0).await?;
        call(&mut home, 0, "CreateTable", &table()).await?;
        for other in &REGIONS[1..] {
            let updates = json!([{"Create": {"RegionName": other}}]);
            call(&mut home, 0, "UpdateTable", &json!({"TableName": TABLE, "ReplicaUpdates": updates}))
                .await?;
            until_active(&mut home, 0, other).await?;
        }
        Ok(campaign)
    }

    async fn start(&mut self, region: usize) -> Result<()> {
        let log = self.folder.join(format!("{}.log", REGIONS[region]));
        let log = OpenOptions::new().create(true).append(true).open(log)?;
        let data = self.folder.join(REGIONS[region]).display().to_string();
        let serve =
            ["serve", "--host", "127.0.0.1", "--port", "0", "--data", &data, "--region", REGIONS[region]];
        let mut arguments: Vec<String> = serve.iter().map(|argument| (*argument).to_owned()).collect();
        for ((_, to), gate) in self.gates.iter().filter(|((from, _), _)| *from == region) {
            arguments.extend(["--peer".to_owned(), format!("{}=http://{}", REGIONS[*to], gate.address)]);
        }
        let server = Server::start(&self.binary, &arguments, log.into()).await?;
        for (_, gate) in self.gates.iter().filter(|((_, to), _)| *to == region) {
            gate.leads_to(server.address);
        }
        self.addresses[region].send_replace(Some(server.address));
        self.servers[region] = Some(server);
        Ok(())
    }

    async fn kill(&mut self, region: usize) -> Result<()> {
        if let Some(server) = self.servers[region].take() {
            self.addresses[region].send_replace(None);
            server.kill().await?;
            self.kills += 1;
        }
        Ok(())
    }

    async fn connect(&self, region: usize) -> Result<Connection> {
        let address = (*self.addresses[region].borrow()).context("the server runs")?;
        Ok(Connection::open(address).await?)
    }

    fn set_link(&mut self, one: usize, other: usize, is_whole: bool) {
        for way in [(one, other), (other, one)] {
            self.gates[&way].set_open(is_whole);
        }
        self.cuts += u32::from(!is_whole);
    }

    async fn run(&mut self, writing: Duration) -> Result<()> {
        let stop = watch::Sender::new(false);
        let began = Instant::now();
        let mut writers = JoinSet::new();
        for (region, name) in REGIONS.iter().enumerate() {
            for number in 0..WRITERS_PER_REGION {
                writers.spawn(
                    Writer {
                        region,
                        name: format!("{name} {number}"),
                        random: self.random.fork(),
                        began,
                        addresses: self.addresses.clone(),
                        stop: stop.subscribe(),
                        history: self.history.clone(),
                    }
                    .run(),
                );
            }
        }
        while began.elapsed() < writing {
            self.fail().await?;
            tokio::time::sleep(Duration::from_millis(self.random.u64(50..400))).await;
        }
        // All is whole again. The writers finish what they have begun.
        for (from, to) in pairs() {
            self.gates[&(from, to)].set_open(true);
        }
        for region in 0..REGIONS.len() {
            if self.servers[region].is_none() {
                self.start(region).await?;
            }
        }
        stop.send_replace(true);
        while let Some(ended) = writers.join_next().await {
            ended??;
        }
        let healed = Instant::now();
        let found = self.until_equal().await?;
        let history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        history.check(&found, CLOCKS).map_err(anyhow::Error::msg)?;
        let (acknowledged, lost) = history.counts();
        println!(
            "regions: {acknowledged} acknowledged writes and {lost} without an answer, {} kills, {} cuts; all Regions equal \
             {:.1} s after the end, and as last-writer-wins says",
            self.kills,
            self.cuts,
            healed.elapsed().as_secs_f64(),
        );
        Ok(())
    }

    /// One thing fails, or works again.
    async fn fail(&mut self) -> Result<()> {
        let region = self.random.usize(0..REGIONS.len());
        let other = (region + 1) % REGIONS.len();
        match self.random.u8(0..10) {
            0..4 if self.servers[region].is_some() => self.kill(region).await,
            0..6 if self.servers[region].is_none() => self.start(region).await,
            4..7 => {
                self.set_link(region, other, false);
                Ok(())
            }
            _ => {
                self.set_link(region, other, true);
                Ok(())
            }
        }
    }

    /// Waits until all Regions have the same items, and gives their values.
    async fn until_equal(&self) -> Result<BTreeMap<u64, String>> {
        let deadline = Instant::now() + WAIT;
        loop {
            let mut tables = Vec::new();
            for region in 0..REGIONS.len() {
                tables.push(items(&mut self.connect(region).await?, region).await?);
            }
            if tables.iter().all(|table| *table == tables[0]) {
                return tables.swap_remove(0).iter().map(value_of).collect();
            }
            if Instant::now() > deadline {
                bail!("the Regions are not equal {} s after the end: {tables:#?}", WAIT.as_secs());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// A client of one Region. It writes until it is stopped, and waits while its server is gone.
struct Writer {
    region: usize,
    name: String,
    random: fastrand::Rng,
    began: Instant,
    addresses: Arc<Addresses>,
    stop: watch::Receiver<bool>,
    history: Arc<Mutex<RegionHistory>>,
}

impl Writer {
    async fn run(mut self) -> Result<()> {
        let mut addresses = self.addresses[self.region].subscribe();
        let mut number = 0;
        while !*self.stop.borrow() {
            let address = *addresses.borrow_and_update();
            let connection = match address {
                Some(address) => Connection::open(address).await.ok(),
                None => None,
            };
            let Some(mut connection) = connection else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            while !*self.stop.borrow() && self.write(&mut connection, &mut number).await? {}
        }
        Ok(())
    }

    /// Writes once. False if the connection broke.
    async fn write(&mut self, connection: &mut Connection, number: &mut u64) -> Result<bool> {
        *number += 1;
        let key = self.random.u64(0..KEYS);
        let name = json!({"PK": {"S": key.to_string()}});
        let value = (self.random.u8(0..4) > 0).then(|| format!("{} {number}", self.name));
        let (operation, mut request) = match &value {
            Some(value) => {
                let mut item = name;
                item["v"] = json!({"S": value});
                ("PutItem", json!({"Item": item}))
            }
            None => ("DeleteItem", json!({"Key": name})),
        };
        request["TableName"] = json!(TABLE);
        request["ReturnValues"] = json!("ALL_OLD");
        let request = encode_in(REGIONS[self.region], operation, &request);
        let sent = self.began.elapsed();
        let answer = match connection.exchange(&request).await {
            Ok((200, reply)) => {
                let reply: Value = serde_json::from_slice(reply)?;
                WriteAnswer::Replaced(reply["Attributes"]["v"]["S"].as_str().map(str::to_owned))
            }
            Ok((status, reply)) => bail!("{operation}: {status} {}", String::from_utf8_lossy(reply)),
            Err(_) => WriteAnswer::Lost,
        };
        let is_open = answer != WriteAnswer::Lost;
        let write = RegionWrite { sent, ended: self.began.elapsed(), value, answer };
        self.history.lock().unwrap_or_else(PoisonError::into_inner).note(key, write);
        Ok(is_open)
    }
}

fn pairs() -> impl Iterator<Item = (usize, usize)> {
    (0..REGIONS.len())
        .flat_map(|from| (0..REGIONS.len()).map(move |to| (from, to)))
        .filter(|(from, to)| from != to)
}

fn table() -> Value {
    json!({
        "TableName": TABLE, "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
    })
}

/// Sends a request to a Region that must succeed.
async fn call(connection: &mut Connection, region: usize, operation: &str, body: &Value) -> Result<Value> {
    call_in(connection, REGIONS[region], operation, body).await
}

async fn call_in(connection: &mut Connection, region: &str, operation: &str, body: &Value) -> Result<Value> {
    let request = encode_in(region, operation, body);
    let (status, reply) = connection.exchange(&request).await.context(operation.to_owned())?;
    ensure!(status == 200, "{operation}: {status} {}", String::from_utf8_lossy(reply));
    Ok(serde_json::from_slice(reply)?)
}

/// Waits until the replica in another Region is ACTIVE.
async fn until_active(connection: &mut Connection, region: usize, other: &str) -> Result<()> {
    wait::until(&format!("{other} is ACTIVE"), async || {
        let mut shown = call(connection, region, "DescribeTable", &json!({"TableName": TABLE})).await?;
        let replicas = shown["Table"]["Replicas"].take();
        let is_active =
            |replica: &Value| replica["RegionName"] == other && replica["ReplicaStatus"] == "ACTIVE";
        Ok(replicas.as_array().is_some_and(|replicas| replicas.iter().any(is_active)))
    })
    .await
}

/// All items of a Region, by key.
async fn items(connection: &mut Connection, region: usize) -> Result<BTreeMap<String, Value>> {
    // Few small items: one page.
    let request = json!({"TableName": TABLE, "ConsistentRead": true});
    let page = call(connection, region, "Scan", &request).await?;
    ensure!(page.get("LastEvaluatedKey").is_none(), "the table is larger than a page");
    let items = page["Items"].as_array().context("a page has items")?;
    let keyed = |item: &Value| Ok((item["PK"]["S"].as_str().context("a key")?.to_owned(), item.clone()));
    items.iter().map(keyed).collect()
}

/// The key and the value of an item.
fn value_of((key, item): (&String, &Value)) -> Result<(u64, String)> {
    let value = item["v"]["S"].as_str().with_context(|| format!("an item that no client wrote: {item}"))?;
    Ok((key.parse().context("a key that no client wrote")?, value.to_owned()))
}
