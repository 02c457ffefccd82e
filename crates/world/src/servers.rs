//! The servers of a world: they are opened, killed, restarted and asked.
//!
//! A request is a task of its server's process, so that killing the process drops it wherever it waits. The client then
//! sees a broken connection.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use api::Service;
use engine::{Caller, Engine, Health, Options, Peers};
use parking_lot::Mutex;
use serde_json::Value;
use store::Store;
use tokio::sync::{Notify, oneshot};

use crate::bucket::Objects;
use crate::disk::Disk;
use crate::executor::{Executor, Process, WORLD};
use crate::machine::{Machine, MachineClock};
use crate::network::Network;
use crate::plan::{Plan, REGIONS};
use crate::remote::Database;
use crate::trace::Trace;

/// How long a server waits before it tries again to open its database.
const OPEN_PAUSE: Duration = Duration::from_millis(300);

/// How often a server is asked whether it takes writes.
const HEALTH_PAUSE: Duration = Duration::from_secs(1);

/// How wrong a clock may be when a server is opened.
const LEAP_AT_OPEN_US: i64 = 60_000_000;

/// An error as a client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The server answered so.
    Answered { name: String, body: Value },
    /// There is no server, or the connection broke, or the client gave up.
    Lost,
}

impl Failure {
    /// The name of the error.
    pub fn name(&self) -> &str {
        match self {
            Failure::Answered { name, .. } => name,
            Failure::Lost => "no answer",
        }
    }

    /// Whether the request may have been carried out all the same.
    pub fn is_in_doubt(&self) -> bool {
        matches!(self.name(), "no answer" | "InternalServerError" | "ServiceUnavailable")
    }
}

/// All servers of a world.
pub struct Servers {
    pub executor: Executor,
    pub trace: Arc<Trace>,
    /// What backups, exports and imports are in.
    pub objects: Objects,
    slots: Vec<Slot>,
    options: Options,
    later_shards: u16,
    /// Between Regions, if there are several.
    network: Option<Arc<Network>>,
    /// The disk of the only server, if it has one.
    disk: Option<Arc<Disk>>,
    /// By how much a clock had leapt at most when a server was opened: a date begins with what the clock shows.
    leapt_us: AtomicU64,
    /// The requests under way, by the name of their operation.
    pub under_way: Mutex<BTreeMap<String, usize>>,
}

/// The place of a server.
struct Slot {
    database: Arc<Database>,
    region: &'static str,
    clock: Arc<MachineClock>,
    state: Mutex<SlotState>,
    changed: Notify,
}

#[derive(Default)]
struct SlotState {
    lives: u32,
    process: Option<Process>,
    engine: Option<Arc<Engine>>,
    down_until_us: u64,
}

impl Servers {
    /// The servers of a plan: on one database, or each on its own in a Region of its own. They are opened by
    /// [`Servers::start`].
    pub fn new(
        plan: &Plan,
        executor: &Executor,
        databases: &[Arc<Database>],
        network: Option<&Arc<Network>>,
        disk: Option<&Arc<Disk>>,
        trace: &Arc<Trace>,
    ) -> Arc<Servers> {
        let slot = |number: usize| Slot {
            database: databases[number % databases.len()].clone(),
            region: if network.is_some() { REGIONS[number] } else { REGIONS[0] },
            clock: {
                let server = plan.servers[number];
                MachineClock::new(executor, server.offset_ms * 1000, server.drift)
            },
            state: Mutex::default(),
            changed: Notify::new(),
        };
        let regions = plan.regions.as_ref();
        let objects = Objects::new(executor);
        let options = Options {
            backups: Some(objects.bucket()),
            s3: Some(Arc::new(objects.buckets())),
            member_silence: Duration::from_secs(6),
            state_delay: Duration::from_millis(plan.features.state_delay_ms),
            replication_delay: Duration::from_millis(regions.map_or(0, |regions| regions.delay_ms)),
            replicates_transactions_whole: regions.is_some_and(|regions| regions.is_whole),
            ..Options::default()
        };
        let servers = Arc::new(Servers {
            executor: executor.clone(),
            trace: trace.clone(),
            objects,
            slots: (0..plan.servers.len()).map(slot).collect(),
            options,
            later_shards: plan.features.later_shards,
            network: network.cloned(),
            disk: disk.cloned(),
            leapt_us: AtomicU64::new(0),
            under_way: Mutex::default(),
        });
        if let Some(network) = network {
            network.connect(&servers);
        }
        servers
    }

    /// Lets every server run from here on.
    pub fn start(self: &Arc<Servers>) {
        for number in 0..self.slots.len() {
            let servers = self.clone();
            self.executor.spawn(
                WORLD,
                "supervisor",
                Box::pin(async move { servers.supervise(number).await }),
            );
        }
    }

    /// Lets the clock of a server's machine be wrong by this much. The date of a server that is opened begins with it, so
    /// then it is wrong by a minute at most, as it is where the machine asks for the time when it starts.
    pub fn leap(&self, number: usize, by_us: i64) {
        let slot = &self.slots[number];
        if slot.state.lock().engine.is_some() {
            return slot.clock.leap(by_us);
        }
        let by_us = by_us.clamp(-LEAP_AT_OPEN_US, LEAP_AT_OPEN_US);
        slot.clock.leap(by_us);
        self.leapt_us.fetch_max(by_us.unsigned_abs(), Ordering::Relaxed);
    }

    /// By how many milliseconds a date may be wrong because the clock was when its server was opened.
    pub fn leapt_ms(&self) -> u64 {
        self.leapt_us.load(Ordering::Relaxed) / 1000 + 1
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.slots.len()
    }

    /// The database of a server, while it runs.
    pub fn engine(&self, number: usize) -> Option<Arc<Engine>> {
        self.slots[number].state.lock().engine.clone()
    }

    /// The clock of a server's machine.
    pub fn clock(&self, number: usize) -> &Arc<MachineClock> {
        &self.slots[number].clock
    }

    /// Opens a server's database again whenever it is not open and the machine is on.
    async fn supervise(self: Arc<Servers>, number: usize) {
        let slot = &self.slots[number];
        loop {
            let down_us = slot.state.lock().down_until_us.saturating_sub(self.executor.now_us());
            if down_us > 0 {
                self.executor.sleep(Duration::from_micros(down_us)).await;
                continue;
            }
            match self.open(number).await {
                Some(engine) => {
                    self.trace.line(&format!("server {number}"), "is open");
                    let is_unable = self.wait_for_end(slot, &engine).await;
                    drop(engine);
                    if is_unable {
                        self.trace
                            .line(&format!("server {number}"), "takes no writes any more, and opens again");
                        self.end(number, 0);
                    }
                }
                None => self.executor.sleep(OPEN_PAUSE).await,
            }
        }
    }

    /// Whether the server takes no writes until it is opened again; otherwise its process has ended.
    async fn wait_for_end(&self, slot: &Slot, engine: &Arc<Engine>) -> bool {
        loop {
            let changed = slot.changed.notified();
            let is_current = slot.state.lock().engine.as_ref().is_some_and(|open| Arc::ptr_eq(open, engine));
            if !is_current {
                return false;
            }
            tokio::select! {
                biased;
                () = changed => {}
                () = engine.expelled() => return true,
                // As an operator does who sees it.
                () = self.executor.sleep(HEALTH_PAUSE) => {
                    if matches!(engine.health(), Health::Unhealthy(_)) {
                        return true;
                    }
                }
            }
        }
    }

    async fn open(self: &Arc<Servers>, number: usize) -> Option<Arc<Engine>> {
        let slot = &self.slots[number];
        let (process, lives) = {
            let mut state = slot.state.lock();
            state.lives += 1;
            let process = Process(1000 * (number as u32 + 1) + state.lives);
            state.process = Some(process);
            (process, state.lives)
        };
        self.leap(number, slot.clock.leap_us());
        let machine = Arc::new(Machine {
            executor: self.executor.clone(),
            process,
            clock: slot.clock.clone(),
            chance: Mutex::new(self.executor.chance(&format!("process {}", process.0))),
        });
        let store: Arc<dyn Store> = match &self.disk {
            None => Arc::new(slot.database.handle()),
            Some(disk) => match disk.open(process) {
                Ok(store) => store,
                Err(reason) => {
                    self.trace.line(&format!("server {number}"), &format!("can't open its folder: {reason}"));
                    self.executor.kill(process);
                    disk.cut_power();
                    return None;
                }
            },
        };
        let stream_shards = if lives > 1 { self.later_shards } else { 4 };
        let peers = self.network.as_ref().map_or_else(Peers::default, |network| network.peers(number));
        let options = Options { stream_shards, peers, ..self.options.clone() };
        let (sender, receiver) = oneshot::channel();
        let open = async move {
            let _ = sender.send(Engine::open_with(store, machine, options).await);
        };
        self.executor.spawn(process, "open", Box::pin(open));
        let opened = receiver.await;
        let mut state = slot.state.lock();
        match opened {
            Ok(Ok(engine)) if state.process == Some(process) => {
                let engine = Arc::new(engine);
                state.engine = Some(engine.clone());
                Some(engine)
            }
            Ok(Err(error)) => {
                drop(state);
                self.trace.line(&format!("server {number}"), &format!("can't open: {error}"));
                self.executor.kill(process);
                None
            }
            _ => None,
        }
    }

    /// Ends the process of a server without a word. It is down for a while.
    pub fn end(&self, number: usize, down_ms: u64) {
        let slot = &self.slots[number];
        let (process, engine) = {
            let mut state = slot.state.lock();
            state.down_until_us = self.executor.now_us() + down_ms * 1000;
            (state.process.take(), state.engine.take())
        };
        if let Some(disk) = &self.disk {
            disk.cut_power();
        }
        if let Some(process) = process {
            self.executor.kill(process);
        }
        drop(engine);
        slot.changed.notify_waiters();
    }

    /// Closes a server's database, and ends its process then.
    pub async fn restart(self: &Arc<Servers>, number: usize, down_ms: u64) {
        let Some((process, engine)) = self.running(number) else { return };
        let (sender, receiver) = oneshot::channel();
        let close = async move {
            let _ = sender.send(engine.close().await.map_err(|error| error.to_string()));
        };
        self.executor.spawn(process, "close", Box::pin(close));
        let closed = receiver.await;
        self.trace.line(&format!("server {number}"), &format!("closed: {closed:?}"));
        let is_same = self.slots[number].state.lock().process == Some(process);
        if is_same {
            self.end(number, down_ms);
        }
    }

    /// Nothing of a server runs for a while.
    pub fn freeze(&self, number: usize, for_ms: u64) {
        if let Some(process) = self.slots[number].state.lock().process {
            self.executor.freeze(process, self.executor.now_us() + for_ms * 1000);
        }
    }

    /// The process of a server and its database, while it is open.
    pub fn running(&self, number: usize) -> Option<(Process, Arc<Engine>)> {
        let state = self.slots[number].state.lock();
        state.process.zip(state.engine.clone())
    }

    /// Sends a request to a server, in its Region, and waits for its answer for a time.
    pub async fn call(
        &self,
        number: usize,
        request: u64,
        operation: &str,
        input: Value,
        wait: Duration,
    ) -> Result<Value, Failure> {
        self.call_in(self.slots[number].region, number, request, operation, input, wait).await
    }

    /// Sends a request to a server in any of the Regions that it serves.
    pub async fn call_in(
        &self,
        region: &str,
        number: usize,
        request: u64,
        operation: &str,
        input: Value,
        wait: Duration,
    ) -> Result<Value, Failure> {
        let Some((process, engine)) = self.running(number) else { return Err(Failure::Lost) };
        let (sender, receiver) = oneshot::channel();
        let caller = Caller::new("123456789012", region);
        let name = operation.to_owned();
        let work = async move {
            let _ = sender.send(carry_out(&engine, &caller, &name, input).await);
        };
        *self.under_way.lock().entry(operation.to_owned()).or_default() += 1;
        let task = self.executor.spawn_for(request, process, "request", Box::pin(work));
        let answer = tokio::select! {
            biased;
            answer = receiver => answer.unwrap_or(Err(Failure::Lost)),
            () = self.executor.sleep(wait) => {
                self.executor.abort(task);
                Err(Failure::Lost)
            }
        };
        if let Some(count) = self.under_way.lock().get_mut(operation) {
            *count -= 1;
        }
        answer
    }
}

/// Carries out a request to DynamoDB or to DynamoDB Streams.
async fn carry_out(
    engine: &Engine,
    caller: &Caller,
    operation: &str,
    input: Value,
) -> Result<Value, Failure> {
    let input = input.to_string();
    let mut body = Vec::new();
    let answered = match api::Operation::from_target_name(operation) {
        Some(operation) => match api::Request::decode(operation, input.as_bytes()) {
            Ok(request) => engine.call(caller, request).await.map(|answer| answer.write_json(&mut body)),
            Err(error) => Err(error),
        },
        None => {
            let operation = api::streams::Operation::from_target_name(operation).expect("a served operation");
            match api::streams::Request::decode(operation, input.as_bytes()) {
                Ok(request) => {
                    engine.call_streams(caller, request).await.map(|answer| answer.write_json(&mut body))
                }
                Err(error) => Err(error),
            }
        }
    };
    let json = |body: &[u8]| serde_json::from_slice(body).unwrap_or(Value::Null);
    answered.map(|()| json(&body)).map_err(|error| {
        let mut body = Vec::new();
        error.write_json(Service::DynamoDb, &mut body);
        Failure::Answered { name: error.kind.name().to_owned(), body: json(&body) }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::{Features, ServerPlan};

    const WAIT: Duration = Duration::from_secs(30);

    /// Two servers with right clocks.
    fn two(executor: &Executor, database: &Arc<Database>) -> Arc<Servers> {
        let server = ServerPlan { offset_ms: 0, drift: 0 };
        let features = Features { chunk_rows: 64, later_shards: 4, ..Features::default() };
        let plan = Plan {
            seed: 1,
            servers: vec![server; 2],
            regions: None,
            is_embedded: false,
            clients: Vec::new(),
            features,
            faults: Vec::new(),
        };
        let trace = Arc::new(Trace::new(executor, false));
        Servers::new(&plan, executor, std::slice::from_ref(database), None, None, &trace)
    }

    async fn until(executor: &Executor, is_so: impl Fn() -> bool) {
        while !is_so() {
            executor.sleep(Duration::from_millis(50)).await;
        }
    }

    /// An item is put, and the request is cut off after a time. The server leaves at once, and the other one makes an
    /// index. Returns how many faults there are.
    async fn try_once(servers: &Servers, database: &Database, number: u32, cut_ms: u64) -> usize {
        let slow_us = servers.executor.now_us() + 60_000_000;
        database.change_weather(|it| (it.slow_factor, it.slow_until_us) = (300, slow_us));
        let item = json!({"p": {"S": format!("item-{number}")}, "c": {"S": "red"}});
        let put = json!({"TableName": "Table", "Item": item});
        drop(servers.call(0, 1, "PutItem", put, Duration::from_millis(cut_ms)).await);
        database.change_weather(|it| it.slow_until_us = 0);
        let (process, engine) = servers.running(0).expect("it runs");
        engine.close().await.expect("it closes");
        servers.end(0, 2000);
        assert_ne!(process, WORLD);
        let name = format!("index-{number}");
        let change = |update: Value| {
            json!({
                "TableName": "Table", "GlobalSecondaryIndexUpdates": [update],
                "AttributeDefinitions": [{"AttributeName": "c", "AttributeType": "S"}],
            })
        };
        let create = json!({"Create": {
            "IndexName": name, "KeySchema": [{"AttributeName": "c", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }});
        servers.call(1, 0, "UpdateTable", change(create), WAIT).await.expect("an index is made");
        // Longer than any commit is under way.
        servers.executor.sleep(Duration::from_secs(3)).await;
        let faults = servers.engine(1).expect("it runs").verify().await.expect("it is readable").faults;
        let delete = json!({"Delete": {"IndexName": name}});
        servers.call(1, 0, "UpdateTable", change(delete), WAIT).await.expect("an index is dropped");
        while let Ok(table) = servers.call(1, 0, "DescribeTable", json!({"TableName": "Table"}), WAIT).await
            && !table["Table"]["GlobalSecondaryIndexes"].is_null()
        {
            servers.executor.sleep(Duration::from_millis(50)).await;
        }
        until(&servers.executor, || servers.engine(0).is_some()).await;
        faults
    }

    #[test]
    fn a_server_that_leaves_waits_for_the_commits_of_requests_that_were_cut_off() {
        let executor = Executor::new(1);
        let database = Database::new(&executor, "database", Arc::default(), 64, None);
        let servers = two(&executor, &database);
        servers.start();
        let faults = Arc::new(Mutex::new(None));
        let found = faults.clone();
        let test = servers.clone();
        let tries = async move {
            until(&test.executor, || test.engine(0).is_some() && test.engine(1).is_some()).await;
            let table = json!({
                "TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
                "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
            });
            test.call(0, 0, "CreateTable", table, WAIT).await.expect("a table is made");
            let mut sum = 0;
            for number in 0..24 {
                sum += try_once(&test, &database, number, 20 + 15 * u64::from(number)).await;
            }
            *found.lock() = Some(sum);
        };
        executor.spawn(WORLD, "test", Box::pin(tries));
        let ended = executor.run(u64::MAX, 10_000_000, || faults.lock().is_some());
        executor.clear();
        assert_eq!((ended, *faults.lock()), (Ok(()), Some(0)));
    }
}
