//! Plays a plan: opens the servers, lets clients and faults happen, waits in the peace afterwards until everything has
//! settled, and judges what happened.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use engine::{Health, TaskState};
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use serde_json::{Value, json};
use simulation::last_writer_wins::RegionHistory;
use simulation::{Clock, Request};
use store_lsm::vfs::simulated::Fault as DiskFault;

use crate::client::{Client, History};
use crate::disk::Disk;
use crate::executor::{Executor, START_US, Stop, WORLD};
use crate::judge;
use crate::network::{Network, Way};
use crate::panics;
use crate::plan::{Fault, Plan, REGIONS, TimedFault};
use crate::remote::{Committed, Database, Weather};
use crate::requests::{TABLE, by_key, table};
use crate::servers::{Failure, Servers};
use crate::stream::StreamReader;
use crate::strong::is_for_strong_regions;
use crate::trace::Trace;
use crate::walk::Walk;
use crate::warnings;

/// The most polls of a world; more are taken only if something goes round in circles.
const POLLS_MAX: u64 = 30_000_000;
/// How long anything may take in peace: servers open, jobs end, what was expelled comes back.
pub(crate) const PEACE: Duration = Duration::from_secs(150);
/// How long an answer takes at most in peace.
pub(crate) const WAIT: Duration = Duration::from_secs(30);
/// The table whose items expire.
pub const EXPIRING: &str = "Expiring";

/// How a world went.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Everything that happened, as one number.
    pub hash: u64,
    pub polls: u64,
    pub simulated: Duration,
    pub requests: usize,
    pub commits: usize,
    /// What is wrong, if anything is.
    pub failure: Option<String>,
    pub trace: Vec<String>,
    /// How often each kind of fault met each job and request under way.
    pub coverage: BTreeMap<(String, String), usize>,
    pub polls_by_name: Vec<(&'static str, u64)>,
    /// How often each place warned.
    pub warnings: BTreeMap<String, usize>,
}

/// A world that runs.
pub struct World {
    pub plan: Arc<Plan>,
    pub executor: Executor,
    /// The one that all servers share, or that of each Region.
    pub databases: Vec<Arc<Database>>,
    pub network: Option<Arc<Network>>,
    pub disk: Option<Arc<Disk>>,
    pub servers: Arc<Servers>,
    pub clock: Arc<Clock>,
    pub history: Arc<History>,
    pub reader: Option<Arc<StreamReader>>,
    /// What clients know of the writes to a global table.
    pub region_history: Mutex<RegionHistory>,
    pub failure: Mutex<Option<String>>,
    pub is_done: AtomicBool,
    /// What was restored or exported, to be compared.
    pub copies: Mutex<Vec<judge::Copy>>,
    pub walks: Mutex<Vec<Walk>>,
    coverage: Mutex<BTreeMap<(String, String), usize>>,
    /// Clients, and everything else that happens beside them.
    busy: AtomicUsize,
}

/// Plays a plan. The same plan gives the same outcome.
pub fn play(plan: &Plan, keeps_trace: bool) -> Outcome {
    let executor = Executor::new(plan.seed);
    let clock = Arc::new(Clock::default());
    let stale = plan.features.stale_ms.map(Duration::from_millis);
    let count = if plan.regions.is_some() { REGIONS.len() } else { 1 };
    let database = |number| {
        let name = format!("database {number}");
        Database::new(&executor, &name, clock.clone(), plan.features.chunk_rows, stale)
    };
    let databases: Vec<Arc<Database>> = (0..count).map(database).collect();
    let network = plan.regions.is_some().then(|| Network::new(&executor));
    let trace = Arc::new(Trace::new(&executor, keeps_trace));
    let disk = plan.is_embedded.then(|| Disk::new(&executor, clock.clone()));
    let servers = Servers::new(plan, &executor, &databases, network.as_ref(), disk.as_ref(), &trace);
    let world = Arc::new(World {
        plan: Arc::new(plan.clone()),
        reader: plan.features.stream.then(|| StreamReader::new(&servers)),
        executor: executor.clone(),
        databases,
        network,
        disk,
        servers,
        clock,
        history: Arc::default(),
        region_history: Mutex::default(),
        failure: Mutex::default(),
        is_done: AtomicBool::new(false),
        copies: Mutex::default(),
        walks: Mutex::default(),
        coverage: Mutex::default(),
        busy: AtomicUsize::new(0),
    });
    let lived = world.clone();
    executor.spawn(WORLD, "world", Box::pin(async move { lived.live().await }));
    let ended = executor.run(u64::MAX, POLLS_MAX, || world.is_done.load(Ordering::Relaxed));
    let outcome = world.outcome(ended, &trace);
    executor.clear();
    outcome
}

impl World {
    fn outcome(&self, ended: Result<(), Stop>, trace: &Trace) -> Outcome {
        let events = self.history.events();
        let commits = self.commits();
        let stopped = ended.err().map(|stop| format!("the world stops: {stop:?}"));
        let failure = self.failure.lock().take().or(stopped);
        // An answer that can't be understood is a failure, too.
        let judged = || {
            // Regions are judged while the world lives.
            if self.network.is_some() {
                return None;
            }
            std::panic::catch_unwind(AssertUnwindSafe(|| judge::judge(self, &events, &commits)))
                .unwrap_or_else(|panic| Some(panics::text(&*panic)))
        };
        let failure = failure.or_else(judged);
        let (acknowledged, unanswered) = self.region_history.lock().counts();
        Outcome {
            hash: self.executor.hash(),
            polls: self.executor.polls(),
            simulated: Duration::from_micros(self.executor.now_us() - START_US),
            requests: events.len() + acknowledged + unanswered,
            commits: commits.len(),
            failure,
            trace: trace.take(),
            coverage: std::mem::take(&mut self.coverage.lock()),
            polls_by_name: self.executor.polls_by_name(),
            warnings: warnings::take(),
        }
    }

    /// The commits of all databases, in the order of each.
    fn commits(&self) -> Vec<Committed> {
        match &self.disk {
            Some(disk) => disk.commits(),
            None => self.databases.iter().flat_map(|database| database.commits()).collect(),
        }
    }

    /// By how much two dates may differ at most.
    pub fn clock_error_ms(&self) -> u64 {
        self.plan.clock_error_ms(self.servers.leapt_ms())
    }

    /// Ends the world with a failure.
    pub fn fail(&self, reason: String) {
        self.servers.trace.line("world", &format!("FAILED: {reason}"));
        self.failure.lock().get_or_insert(reason);
        self.is_done.store(true, Ordering::Relaxed);
    }

    pub(crate) fn say(&self, what: &str) {
        self.servers.trace.line("world", what);
    }

    async fn live(self: Arc<World>) {
        if let Err(reason) = self.live_through().await {
            self.fail(reason);
        }
        self.is_done.store(true, Ordering::Relaxed);
    }

    async fn live_through(self: &Arc<World>) -> Result<(), String> {
        self.servers.start();
        self.all_open().await?;
        if let Some(regions) = self.plan.clone().regions.as_ref() {
            return self.live_in_regions(regions).await;
        }
        self.set_up().await?;
        self.say("clients and faults begin");
        self.start_all();
        self.all_idle().await?;
        self.peace().await
    }

    /// All clients and faults are done.
    pub(crate) async fn all_idle(&self) -> Result<(), String> {
        self.settled("clients and faults", Duration::from_secs(3600), || async move {
            Ok(self.busy.load(Ordering::Relaxed) == 0)
        })
        .await
    }

    /// Waits until something holds. What fails on the way may pass.
    pub(crate) async fn settled<F>(
        &self,
        what: &str,
        bound: Duration,
        holds: impl Fn() -> F,
    ) -> Result<(), String>
    where
        F: Future<Output = Result<bool, Failure>> + Send,
    {
        let end_us = self.executor.now_us() + bound.as_micros() as u64;
        loop {
            let last = holds().await;
            if last == Ok(true) {
                return Ok(());
            }
            if self.executor.now_us() >= end_us {
                return Err(format!("{what}: not within {bound:?}, last {last:?}"));
            }
            self.executor.sleep(Duration::from_millis(100)).await;
        }
    }

    pub(crate) async fn all_open(&self) -> Result<(), String> {
        let open = || async move {
            Ok((0..self.servers.count()).all(|number| self.servers.engine(number).is_some()))
        };
        self.settled("all servers open", PEACE, open).await
    }

    /// Sends a request to the first server until it is answered; an error other than a passing one is a failure.
    pub async fn ok(&self, operation: &str, input: Value) -> Result<Value, String> {
        for _ in 0..100 {
            match self.servers.call(0, 0, operation, input.clone(), WAIT).await {
                Ok(answer) => return Ok(answer),
                Err(failure) if failure.is_in_doubt() => {
                    self.executor.sleep(Duration::from_millis(200)).await;
                }
                // It was carried out by an earlier try.
                Err(failure)
                    if matches!(failure.name(), "ResourceInUseException" | "TableInUseException") =>
                {
                    return Ok(Value::Null);
                }
                Err(failure) => return Err(format!("{operation}: {failure:?}")),
            }
        }
        Err(format!("{operation} is never answered"))
    }

    async fn set_up(self: &Arc<World>) -> Result<(), String> {
        self.ok("CreateTable", table(&self.plan.features)).await?;
        self.is_active(TABLE).await?;
        if self.plan.features.strong {
            self.join_strong_regions().await?;
        }
        if self.plan.features.imports > 0 {
            self.put_import_files().await?;
        }
        if self.plan.features.recovery {
            let specification = json!({"PointInTimeRecoveryEnabled": true});
            let input = json!({"TableName": TABLE, "PointInTimeRecoverySpecification": specification});
            self.ok("UpdateContinuousBackups", input).await?;
        }
        if self.plan.features.expiring > 0 {
            let input = json!({
                "TableName": EXPIRING, "BillingMode": "PAY_PER_REQUEST",
                "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
            });
            self.ok("CreateTable", input).await?;
            self.is_active(EXPIRING).await?;
            let specification = json!({"Enabled": true, "AttributeName": "until"});
            let input = json!({"TableName": EXPIRING, "TimeToLiveSpecification": specification});
            self.ok("UpdateTimeToLive", input).await?;
        }
        let mut client = self.client(1000, 0);
        for request in simulation::setup() {
            client.ask(&request).await;
        }
        Ok(())
    }

    pub(crate) async fn is_active(&self, table: &str) -> Result<(), String> {
        self.settled(&format!("{table} is ACTIVE"), PEACE, || async move {
            let input = json!({"TableName": table});
            let described = self.servers.call(0, 0, "DescribeTable", input, WAIT).await?;
            let indexes =
                described["Table"]["GlobalSecondaryIndexes"].as_array().cloned().unwrap_or_default();
            let are_active = indexes.iter().all(|index| index["IndexStatus"] == "ACTIVE");
            Ok(described["Table"]["TableStatus"] == "ACTIVE" && are_active)
        })
        .await
    }

    fn client(&self, number: usize, gives_up_percent: u64) -> Client {
        Client {
            servers: self.servers.clone(),
            history: self.history.clone(),
            clock: self.clock.clone(),
            number,
            chance: self.executor.chance(&format!("client {number}")),
            gives_up_percent,
            uses_statements: self.plan.features.partiql,
            writes_statements: self
                .plan
                .features
                .statement_writes
                .then(|| self.executor.chance(&format!("statements of client {number}"))),
            is_strong: self.plan.features.strong,
            pages_are_whole: self.plan.features.chunk_rows >= 64,
        }
    }

    /// Starts something that the peace waits for.
    pub(crate) fn start(
        self: &Arc<World>,
        name: &'static str,
        work: impl Future<Output = Result<(), String>> + Send + 'static,
    ) {
        self.busy.fetch_add(1, Ordering::Relaxed);
        let world = self.clone();
        let work = AssertUnwindSafe(work).catch_unwind();
        let task = async move {
            match work.await {
                Ok(Ok(())) => {}
                Ok(Err(reason)) => world.fail(format!("{name}: {reason}")),
                Err(panic) => world.fail(format!("{name}: {}", panics::text(&*panic))),
            }
            world.busy.fetch_sub(1, Ordering::Relaxed);
        };
        self.executor.spawn(WORLD, name, Box::pin(task));
    }

    fn start_all(self: &Arc<World>) {
        for own in self.plan.clients.clone() {
            let client = self.client(own.number, own.gives_up_percent);
            let plan = self.plan.clone();
            self.start("client", async move {
                client.run(plan, own).await;
                Ok(())
            });
        }
        self.start_faults();
        self.start_verifications();
        if let Some(reader) = &self.reader {
            self.executor.spawn(WORLD, "stream reader", Box::pin(reader.clone().run()));
        }
        let features = &self.plan.features;
        for number in 0..features.index_changes {
            self.start("index change", self.clone().change_index(number));
        }
        for number in 0..features.backups {
            self.start("backup", self.clone().back_up(number));
        }
        for number in 0..features.exports {
            self.start("export", self.clone().export(number));
        }
        for number in 0..features.imports {
            self.start("import", self.clone().import(number));
        }
        for number in 0..features.walks {
            self.start("walk", self.clone().walk_some_time(number));
        }
        for number in 0..features.expiring {
            self.start("expiring item", self.clone().put_expiring(number));
        }
    }

    pub(crate) fn start_faults(self: &Arc<World>) {
        for timed in self.plan.faults.clone() {
            let world = self.clone();
            self.start("fault", async move {
                world.befall(timed).await;
                Ok(())
            });
        }
    }

    pub(crate) fn start_verifications(self: &Arc<World>) {
        for number in 0..self.plan.features.verifications {
            self.start("verification", self.clone().verify_some_time(number));
        }
    }

    async fn befall(self: Arc<World>, TimedFault { at_ms, fault }: TimedFault) {
        self.executor.sleep(Duration::from_millis(at_ms)).await;
        self.say(&format!("{fault:?}"));
        self.note_coverage(fault);
        let until = |for_ms: u64| self.executor.now_us() + for_ms * 1000;
        let weather = |change: &dyn Fn(&mut Weather)| {
            self.databases.iter().for_each(|database| database.change_weather(change));
        };
        let way = |from, to, change: &dyn Fn(&mut Way)| {
            self.network.iter().for_each(|network| network.change_way(from, to, change));
        };
        let disk = |fault: DiskFault, after_calls| {
            self.disk.iter().for_each(|disk| disk.fail(fault, after_calls));
        };
        match fault {
            Fault::Kill { server, down_ms } => self.servers.end(server, down_ms),
            Fault::Restart { server, down_ms } => self.servers.restart(server, down_ms).await,
            Fault::Standstill { server, for_ms } => self.servers.freeze(server, for_ms),
            Fault::ClockLeap { server, by_ms, for_ms } => {
                self.servers.leap(server, by_ms * 1000);
                self.executor.sleep(Duration::from_millis(for_ms)).await;
                self.servers.clock(server).leap(0);
                return;
            }
            Fault::RollBack { server, down_ms } => {
                self.servers.end(server, down_ms);
                self.disk.iter().for_each(|disk| disk.roll_back());
            }
            Fault::DiskBroken { after_calls } => disk(DiskFault::Broken, after_calls),
            Fault::DiskFull { after_calls } => disk(DiskFault::Full, after_calls),
            Fault::FailingOpen { down_ms, is_full, after_calls } => {
                self.servers.end(0, down_ms);
                disk(if is_full { DiskFault::Full } else { DiskFault::Broken }, after_calls);
            }
            Fault::StoreAway { for_ms } => weather(&|it| it.away_until_us = until(for_ms)),
            Fault::StoreSlow { factor, for_ms } => {
                weather(&|it| (it.slow_factor, it.slow_until_us) = (factor, until(for_ms)));
            }
            Fault::StoreAmbiguous { percent, for_ms } => {
                weather(&|it| (it.ambiguous_percent, it.ambiguous_until_us) = (percent, until(for_ms)));
            }
            Fault::StoreConflicts { percent, for_ms } => {
                weather(&|it| (it.conflict_percent, it.conflict_until_us) = (percent, until(for_ms)));
            }
            Fault::StoreFailing { percent, for_ms } => {
                weather(&|it| (it.failing_percent, it.failing_until_us) = (percent, until(for_ms)));
            }
            Fault::BucketFailing { percent, for_ms } => self.servers.objects.fail(percent, until(for_ms)),
            Fault::LinkCut { from, to, for_ms } => way(from, to, &|it| it.cut_until_us = until(for_ms)),
            Fault::LinkSlow { from, to, delay_ms, for_ms } => {
                way(from, to, &|it| (it.delay_ms, it.slow_until_us) = (delay_ms, until(for_ms)));
            }
            Fault::LinkLosing { from, to, percent, for_ms } => {
                way(from, to, &|it| (it.losing_percent, it.losing_until_us) = (percent, until(for_ms)));
            }
            Fault::LinkRepeating { from, to, percent, for_ms } => {
                way(from, to, &|it| (it.repeating_percent, it.repeating_until_us) = (percent, until(for_ms)));
            }
        }
        self.executor.sleep(Duration::from_millis(fault.lasts_ms())).await;
    }

    /// Counts what is under way when a fault begins.
    fn note_coverage(&self, fault: Fault) {
        let mut met: Vec<String> = Vec::new();
        for number in 0..self.servers.count() {
            let tasks = self.servers.engine(number).map(|engine| engine.tasks()).unwrap_or_default();
            met.extend(
                tasks.iter().filter(|task| task.state == TaskState::Working).map(|task| task.name.to_owned()),
            );
        }
        let under_way = self.servers.under_way.lock();
        met.extend(under_way.iter().filter(|(_, count)| **count > 0).map(|(name, _)| name.clone()));
        let mut coverage = self.coverage.lock();
        for name in met {
            *coverage.entry((fault.kind().to_owned(), name)).or_default() += 1;
        }
    }

    /// Any server, at a moment of its own.
    pub(crate) async fn some_time(&self, name: &str, number: u32) -> usize {
        let mut chance = self.executor.chance(&format!("{name} {number}"));
        self.executor.sleep(Duration::from_millis(chance.u64(50..20_000))).await;
        chance.usize(0..self.servers.count())
    }

    /// Makes an index, waits until it is there, and drops it or leaves it.
    async fn change_index(self: Arc<World>, number: u32) -> Result<(), String> {
        let server = self.some_time("index", number).await;
        let name = format!("extra-{number}");
        let create = json!({"Create": {
            "IndexName": name, "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }});
        let delete = json!({"Delete": {"IndexName": name}});
        for (update, stays) in [(create, true), (delete, false)] {
            let input = json!({
                "TableName": TABLE, "GlobalSecondaryIndexUpdates": [update],
                "AttributeDefinitions": [{"AttributeName": "n", "AttributeType": "N"}],
            });
            let asked = self.servers.call(server, 0, "UpdateTable", input, WAIT).await;
            self.say(&format!(
                "index {name} {}: {:?}",
                if stays { "made" } else { "dropped" },
                asked.map(drop)
            ));
            let pause_ms = self.executor.chance(&name).u64(10..8000);
            self.executor.sleep(Duration::from_millis(pause_ms)).await;
        }
        Ok(())
    }

    async fn verify_some_time(self: Arc<World>, number: u32) -> Result<(), String> {
        let server = self.some_time("verification", number).await;
        self.look_at_all(server).await.map(drop)
    }

    /// Every index equals its table. Nothing keeps the server from looking in peace.
    pub(crate) async fn verify(&self, server: usize) -> Result<(), String> {
        match self.look_at_all(server).await? {
            None => Ok(()),
            Some(reason) => Err(format!("server {server} can't verify in peace: {reason}")),
        }
    }

    /// Looks at all data of a server. The reason says why it can't look now; the error, what is wrong with the data.
    async fn look_at_all(&self, server: usize) -> Result<Option<String>, String> {
        let Some((process, engine)) = self.servers.running(server) else {
            return Ok(Some("it does not run".to_owned()));
        };
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let look = async move {
            let _ = sender.send(engine.verify().await);
        };
        self.executor.spawn(process, "verify", Box::pin(look));
        match receiver.await {
            Ok(Ok(found)) if found.faults > 0 => Err(format!("verify: {:?}", found.reports)),
            Ok(Ok(_)) => Ok(None),
            Ok(Err(error)) if error.is_transient() || matches!(error, store::StoreError::Fenced(_)) => {
                Ok(Some(error.to_string()))
            }
            Ok(Err(error)) => Err(format!("verify: {error}")),
            Err(_) => Ok(Some("it has ended".to_owned())),
        }
    }

    /// Puts an item that expires some seconds later.
    async fn put_expiring(self: Arc<World>, number: u32) -> Result<(), String> {
        let server = self.some_time("expiring", number).await;
        let seconds = self.executor.chance(&format!("lifetime {number}")).u64(1..15);
        let until_s = self.executor.now_us() / 1_000_000 + seconds;
        let item = json!({"p": {"S": format!("expiring-{number}")}, "until": {"N": until_s.to_string()}});
        let input = json!({"TableName": EXPIRING, "Item": item});
        let put = self.servers.call(server, 0, "PutItem", input, WAIT).await;
        self.say(&format!("expiring-{number} until {until_s}: {:?}", put.map(drop)));
        Ok(())
    }

    /// Nothing goes wrong any more.
    pub(crate) fn make_peace(&self) {
        self.say("peace");
        self.databases
            .iter()
            .for_each(|database| database.change_weather(|weather| *weather = Weather::default()));
        self.network.iter().for_each(|network| network.heal());
        self.servers.objects.fail(0, 0);
        if self.disk.as_ref().is_some_and(|disk| disk.is_repaired()) {
            self.servers.end(0, 0);
        }
        for number in 0..self.servers.count() {
            self.servers.clock(number).leap(0);
        }
    }

    /// Everything settles.
    async fn peace(self: &Arc<World>) -> Result<(), String> {
        self.make_peace();
        self.all_open().await?;
        for number in 0..self.servers.count() {
            self.takes_writes(number).await?;
        }
        self.is_active(TABLE).await?;
        self.look().await?;
        for number in 0..self.servers.count() {
            self.verify(number).await?;
        }
        if self.plan.features.expiring > 0 {
            self.is_empty_in_time().await?;
        }
        if let Some(reader) = &self.reader {
            reader.ends.store(true, Ordering::Relaxed);
            let read = || async move { Ok(reader.is_done.load(Ordering::Relaxed)) };
            self.settled("the stream is read to its end", PEACE, read).await?;
        }
        self.restore_all().await?;
        self.look_at_transfers().await?;
        self.part_strong_regions().await?;
        self.delete_table().await?;
        self.no_job_is_stuck()
    }

    async fn takes_writes(&self, number: usize) -> Result<(), String> {
        self.settled(&format!("server {number} takes writes"), PEACE, || async move {
            let input =
                json!({"TableName": TABLE, "Key": {"p": {"S": "Peace"}, "s": {"S": number.to_string()}}});
            self.servers.call(number, 0, "DeleteItem", input, WAIT).await.map(|_| true)
        })
        .await
    }

    /// Reads everything, as part of the history.
    async fn look(self: &Arc<World>) -> Result<(), String> {
        let mut client = self.client(1001, 0);
        let is_asked = |request: &Request| !self.plan.features.strong || is_for_strong_regions(request);
        for request in simulation::final_reads().into_iter().filter(is_asked) {
            client.ask(&request).await;
        }
        Ok(())
    }

    async fn is_empty_in_time(&self) -> Result<(), String> {
        let clock_error = Duration::from_millis(self.clock_error_ms());
        self.settled("expired items are gone", PEACE + clock_error, || async move {
            let input = json!({"TableName": EXPIRING, "ConsistentRead": true});
            Ok(self.servers.call(0, 0, "Scan", input, WAIT).await?["Count"] == 0)
        })
        .await
    }

    /// Restores backups and moments, to be compared with what was there.
    async fn restore_all(self: &Arc<World>) -> Result<(), String> {
        if self.plan.features.restores > 0 {
            let commits = self.commits();
            let logged: Vec<u64> = commits.iter().filter_map(|commit| commit.logged_us).collect();
            let mut chance = self.executor.chance("restores");
            for number in 0..self.plan.features.restores {
                let Some(time_us) = chance.choice(&logged) else { break };
                self.copies.lock().push(judge::Copy::of_moment(number, time_us / 1000 * 1000));
            }
        }
        let mut copies = std::mem::take(&mut *self.copies.lock());
        for copy in &mut copies {
            self.restore(copy).await?;
        }
        *self.copies.lock() = copies;
        Ok(())
    }

    async fn restore(self: &Arc<World>, copy: &mut judge::Copy) -> Result<(), String> {
        let target = copy.name.clone();
        match &copy.source {
            judge::Source::Backup { arn, .. } => {
                self.settled("a backup is made", PEACE, || async move {
                    let input = json!({"BackupArn": arn});
                    let described = self.servers.call(0, 0, "DescribeBackup", input, WAIT).await?;
                    Ok(described["BackupDescription"]["BackupDetails"]["BackupStatus"] == "AVAILABLE")
                })
                .await?;
                let input = json!({"TargetTableName": target, "BackupArn": arn});
                self.ok("RestoreTableFromBackup", input).await?;
            }
            judge::Source::Moment { time_us } | judge::Source::About { time_us } => {
                let seconds = *time_us as f64 / 1e6;
                let input = json!({
                    "SourceTableName": TABLE, "TargetTableName": target, "RestoreDateTime": seconds,
                });
                match self.ok("RestoreTableToPointInTime", input).await {
                    Err(reason) if reason.contains("InvalidRestoreTimeException") => {
                        return self.may_refuse_moment(seconds, reason).await;
                    }
                    outcome => drop(outcome?),
                }
            }
        }
        self.is_active(&target).await?;
        let input = json!({"TableName": target, "ConsistentRead": true});
        copy.found = Some(by_key(&self.ok("Scan", input).await?["Items"]));
        self.say(&format!("restored {copy:?}"));
        Ok(())
    }

    /// A moment is refused only outside of the time that the table can be restored to, or because a clock was wrong.
    async fn may_refuse_moment(&self, seconds: f64, reason: String) -> Result<(), String> {
        if !self.plan.has_right_clocks() {
            return Ok(());
        }
        let described = self.ok("DescribeContinuousBackups", json!({"TableName": TABLE})).await?;
        let recovery = &described["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
        let [earliest, latest] = ["EarliestRestorableDateTime", "LatestRestorableDateTime"]
            .map(|name| recovery[name].as_f64().unwrap_or_default());
        match (earliest..=latest).contains(&seconds) {
            true => Err(format!("{reason}, in {recovery}")),
            false => Ok(()),
        }
    }

    pub(crate) fn no_job_is_stuck(&self) -> Result<(), String> {
        for number in 0..self.servers.count() {
            let Some(engine) = self.servers.engine(number) else {
                return Err(format!("server {number} is gone"));
            };
            if engine.health() != Health::Healthy {
                return Err(format!("server {number}: {:?}", engine.health()));
            }
            let gave_up = |state: &TaskState| matches!(state, TaskState::GaveUp(_));
            if let Some(task) = engine.tasks().iter().find(|task| gave_up(&task.state)) {
                return Err(format!("server {number}: {task:?}"));
            }
        }
        Ok(())
    }
}
