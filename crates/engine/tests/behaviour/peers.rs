//! Global tables whose Regions are on several servers. The servers are engines of this process; what they tell each other
//! is written as JSON and read again, as between machines.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::{Answer, Caller, Engine, Environment, Message, Options, Peer, Peers};
use serde_json::{Value, json};
use store::{Log, LogPosition, Store};

use crate::convergence::Chance;
use crate::database::{Failure, call_engine, lasting_store};
use crate::global_tables::{Targets, provisioned};
use crate::support::{pass, until, wait_for};

const ACCOUNT: &str = "123456789012";
const REGIONS: [&str; 3] = ["us-east-1", "eu-west-1", "ap-south-1"];

/// The clock of one machine.
struct Clock {
    now_ms: AtomicU64,
    random: AtomicU64,
}

impl Environment for Clock {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    fn random(&self) -> u128 {
        u128::from(self.random.fetch_add(1, Ordering::Relaxed))
    }
}

/// The network between servers.
#[derive(Default)]
struct Network {
    engines: Mutex<BTreeMap<String, Arc<Engine>>>,
    /// Pairs of Regions; nothing gets from the first to the second.
    broken: Mutex<BTreeSet<(String, String)>>,
    /// No replica is ever said to be complete.
    nothing_is_completed: AtomicBool,
    /// Servers replicate transactions whole.
    whole: AtomicBool,
}

struct OverNetwork {
    network: Arc<Network>,
    region: String,
}

impl Peer for OverNetwork {
    fn send<'a>(
        &'a self,
        message: &'a Message,
    ) -> Pin<Box<dyn Future<Output = Result<Answer, String>> + Send + 'a>> {
        Box::pin(async move {
            let way = (message.from.clone(), self.region.clone());
            if self.network.broken.lock().unwrap().contains(&way) {
                return Err("no route".to_owned());
            }
            let engine = self.network.engines.lock().unwrap().get(&self.region).cloned();
            let engine = engine.ok_or("connection refused")?;
            let sent = serde_json::to_string(message).unwrap();
            if self.network.nothing_is_completed.load(Ordering::Relaxed)
                && sent.contains(r#""news":{"Activate""#)
            {
                return Err("no route".to_owned());
            }
            let answer = engine.receive(serde_json::from_str(&sent).unwrap()).await?;
            Ok(serde_json::from_str(&serde_json::to_string(&answer).unwrap()).unwrap())
        })
    }
}

/// A server with one Region.
struct Server {
    network: Arc<Network>,
    region: String,
    store: Arc<dyn Store>,
    clock: Arc<Clock>,
}

/// An engine that has all other Regions as peers.
async fn reopen(
    network: &Arc<Network>,
    region: &str,
    store: Arc<dyn Store>,
    clock: Arc<Clock>,
) -> Arc<Engine> {
    let peer = |other: &str| -> (String, Arc<dyn Peer>) {
        (other.to_owned(), Arc::new(OverNetwork { network: network.clone(), region: other.to_owned() }))
    };
    let peers: Peers = REGIONS.iter().filter(|other| **other != region).map(|other| peer(other)).collect();
    let replicates_transactions_whole = network.whole.load(Ordering::Relaxed);
    let options = Options { peers, replicates_transactions_whole, ..Options::default() };
    Arc::new(Engine::open_with(store, clock, options).await.unwrap())
}

impl Server {
    async fn start(network: &Arc<Network>, region: &str, store: Arc<dyn Store>) -> Server {
        let clock = Arc::new(Clock { now_ms: 1_800_000_000_000.into(), random: AtomicU64::new(1) });
        let server =
            Server { network: network.clone(), region: region.to_owned(), store: store.clone(), clock };
        server.open().await;
        server
    }

    async fn open(&self) {
        let engine = reopen(&self.network, &self.region, self.store.clone(), self.clock.clone()).await;
        self.network.engines.lock().unwrap().insert(self.region.clone(), engine);
    }

    /// Ends the server without asking it: its jobs stop where they are.
    async fn stop(&self) {
        let engine = self.network.engines.lock().unwrap().remove(&self.region).expect("it runs");
        engine.close().await.unwrap();
    }

    fn engine(&self) -> Arc<Engine> {
        self.network.engines.lock().unwrap()[&self.region].clone()
    }

    fn break_way_to(&self, other: &Server) {
        self.network.broken.lock().unwrap().insert((self.region.clone(), other.region.clone()));
    }

    fn pass_ms(&self, time_ms: u64) {
        self.clock.now_ms.fetch_add(time_ms, Ordering::Relaxed);
    }

    async fn call(&self, operation: &str, input: Value) -> Result<Value, Failure> {
        call_engine(&self.engine(), &Caller::new(ACCOUNT, &*self.region), operation, input).await
    }

    async fn ok(&self, operation: &str, input: Value) -> Value {
        let shown = input.to_string();
        self.call(operation, input).await.unwrap_or_else(|failure| panic!("{operation} {shown}: {failure:?}"))
    }

    async fn with_table(&self) {
        let input = json!({
            "TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        });
        self.ok("CreateTable", input).await;
    }

    async fn replicas(&self, action: &str, region: &str) -> Result<Value, Failure> {
        let input = json!({"TableName": "Table", "ReplicaUpdates": [{action: {"RegionName": region}}]});
        self.call("UpdateTable", input).await
    }

    async fn put(&self, p: &str, value: &str) {
        let item = json!({"p": {"S": p}, "v": {"S": value}});
        self.ok("PutItem", json!({"TableName": "Table", "Item": item})).await;
    }

    async fn delete(&self, p: &str) {
        self.ok("DeleteItem", json!({"TableName": "Table", "Key": {"p": {"S": p}}})).await;
    }

    async fn get(&self, p: &str) -> Option<String> {
        let input = json!({"TableName": "Table", "Key": {"p": {"S": p}}, "ConsistentRead": true});
        self.ok("GetItem", input).await["Item"]["v"]["S"].as_str().map(str::to_owned)
    }

    async fn until(&self, p: &str, value: Option<&str>) {
        let what = format!("{p} is {value:?} in {}", self.region);
        until(&what, async || self.get(p).await.as_deref() == value).await;
    }

    /// Waits until the table is described like this, and gives the description.
    async fn until_table(&self, is_it: impl Fn(&Value) -> bool) -> Value {
        wait_for(&format!("the table is like this in {}", self.region), async || {
            let table = match self.call("DescribeTable", json!({"TableName": "Table"})).await {
                Ok(mut answer) => answer["Table"].take(),
                Err(_) => Value::Null,
            };
            Some(table).filter(&is_it)
        })
        .await
    }

    /// Waits until the other members are these, with their states.
    async fn until_replicas(&self, expected: &[(&str, &str)]) {
        let shown = |table: &Value| -> Vec<(String, String)> {
            let replicas = table["Replicas"].as_array().cloned().unwrap_or_default();
            let text = |replica: &Value, name: &str| replica[name].as_str().unwrap_or_default().to_owned();
            replicas.iter().map(|it| (text(it, "RegionName"), text(it, "ReplicaStatus"))).collect()
        };
        let expected: Vec<_> =
            expected.iter().map(|(name, state)| (name.to_string(), state.to_string())).collect();
        self.until_table(|table| table["TableStatus"] == "ACTIVE" && shown(table) == expected).await;
    }

    async fn until_gone(&self) {
        self.until_table(Value::is_null).await;
    }
}

async fn servers(count: usize) -> Vec<Server> {
    let network = Arc::new(Network::default());
    let mut servers = Vec::new();
    for region in &REGIONS[..count] {
        servers.push(Server::start(&network, region, lasting_store()).await);
    }
    servers
}

/// A table in us-east-1 with a replica on another server.
async fn two_servers() -> (Server, Server) {
    let mut servers = servers(2).await;
    let (away, home) = (servers.pop().unwrap(), servers.pop().unwrap());
    home.with_table().await;
    home.replicas("Create", "eu-west-1").await.unwrap();
    home.until_replicas(&[("eu-west-1", "ACTIVE")]).await;
    (home, away)
}

async fn a_global_table_lives_on_two_servers(home: &Server, away: &Server) {
    home.with_table().await;
    home.put("before", "1").await;
    let answer = home.replicas("Create", "eu-west-1").await.unwrap()["TableDescription"].take();
    let shown = (&answer["TableStatus"], &answer["Replicas"][0]["ReplicaStatus"]);
    assert_eq!(shown, (&json!("UPDATING"), &json!("CREATING")));
    home.until_replicas(&[("eu-west-1", "ACTIVE")]).await;
    away.until_replicas(&[("us-east-1", "ACTIVE")]).await;
    assert_eq!(away.get("before").await.as_deref(), Some("1"));
    home.put("a", "home").await;
    away.until("a", Some("home")).await;
    away.put("b", "away").await;
    home.until("b", Some("away")).await;
    home.delete("a").await;
    away.until("a", None).await;
    let again = home.replicas("Create", "eu-west-1").await.unwrap_err();
    assert_eq!(again.name, "ValidationException");
    assert!(again.message.contains("already existed as tables"), "{}", again.message);
    home.engine().verify().await.unwrap();
    away.engine().verify().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_replica_at_a_peer_has_what_was_there_and_what_is_written_on_either_server() {
    let servers = servers(2).await;
    a_global_table_lives_on_two_servers(&servers[0], &servers[1]).await;
}

#[tokio::test]
async fn two_databases_of_postgres_have_a_global_table() {
    let network = Arc::new(Network::default());
    let mut servers = Vec::new();
    for region in &REGIONS[..2] {
        let url = store_postgres::test_server::TestServer::fresh_database().await;
        let store = store_postgres::PostgresStore::open(&url, Default::default()).await.unwrap();
        servers.push(Server::start(&network, region, Arc::new(store)).await);
    }
    a_global_table_lives_on_two_servers(&servers[0], &servers[1]).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_away_catches_up_and_the_later_write_wins() {
    let (home, away) = two_servers().await;
    home.put("both", "0").await;
    away.until("both", Some("0")).await;
    home.engine().cut_regions("eu-west-1", "us-east-1").await.unwrap();
    away.pass_ms(1000);
    home.put("both", "earlier").await;
    away.put("both", "later").await;
    away.put("only away", "1").await;
    home.put("only home", "1").await;
    away.stop().await;
    home.put("while away", "1").await;
    home.engine().heal_regions("eu-west-1", "us-east-1").await.unwrap();
    away.open().await;
    for server in [&home, &away] {
        server.until("while away", Some("1")).await;
        server.until("only home", Some("1")).await;
        server.until("only away", Some("1")).await;
        server.until("both", Some("later")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_away_for_longer_than_the_log_gets_all_items() {
    let (home, away) = two_servers().await;
    home.put("deleted", "0").await;
    home.put("kept", "0").await;
    away.until("kept", Some("0")).await;
    away.until("deleted", Some("0")).await;
    home.engine().cut_regions("eu-west-1", "us-east-1").await.unwrap();
    home.put("a", "1").await;
    home.delete("deleted").await;
    away.put("b", "1").await;
    const DAYS_MS: u64 = 30 * 60 * 60 * 1000;
    for server in [&home, &away] {
        server.pass_ms(DAYS_MS);
        // As if it had been trimmed in the meantime.
        for log in 0..200 {
            server.store.trim_log(Log(log), LogPosition::through(1_900_000_000_000_000)).await.unwrap();
        }
    }
    home.engine().heal_regions("eu-west-1", "us-east-1").await.unwrap();
    for server in [&home, &away] {
        server.until("a", Some("1")).await;
        server.until("b", Some("1")).await;
        server.until("deleted", None).await;
    }
    home.put("after", "1").await;
    away.until("after", Some("1")).await;
}

#[tokio::test(start_paused = true)]
async fn shared_settings_follow_also_when_the_other_server_comes_back() {
    let (home, away) = two_servers().await;
    let index = json!({
        "TableName": "Table",
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "v", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": {
            "IndexName": "ByValue", "KeySchema": [{"AttributeName": "v", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }}],
    });
    home.ok("UpdateTable", index).await;
    away.until_table(|table| table["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE").await;
    home.until_table(|table| table["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE").await;
    away.stop().await;
    let ttl = json!({
        "TableName": "Table", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "expires"},
    });
    home.ok("UpdateTimeToLive", ttl).await;
    away.open().await;
    // A server sends a beat every few seconds.
    until("the setting arrives", async || {
        home.pass_ms(100);
        let answer = away.ok("DescribeTimeToLive", json!({"TableName": "Table"})).await;
        answer["TimeToLiveDescription"]["AttributeName"] == "expires"
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_at_a_peer_is_removed_from_either_side() {
    let (home, away) = two_servers().await;
    home.put("a", "1").await;
    away.until("a", Some("1")).await;
    home.replicas("Delete", "eu-west-1").await.unwrap();
    away.until_gone().await;
    home.until_replicas(&[]).await;
    assert_eq!(home.get("a").await.as_deref(), Some("1"));
    home.replicas("Create", "eu-west-1").await.unwrap();
    home.until_replicas(&[("eu-west-1", "ACTIVE")]).await;
    away.put("last", "1").await;
    away.ok("DeleteTable", json!({"TableName": "Table"})).await;
    away.until_gone().await;
    home.until_replicas(&[]).await;
    assert_eq!(home.get("last").await.as_deref(), Some("1"), "what it had is sent before it goes");
}

#[tokio::test(start_paused = true)]
async fn a_third_server_gets_everything_from_both_others() {
    let servers = servers(3).await;
    let [home, away, third] = &servers[..] else { unreachable!() };
    home.with_table().await;
    home.replicas("Create", "eu-west-1").await.unwrap();
    home.until_replicas(&[("eu-west-1", "ACTIVE")]).await;
    away.put("a", "1").await;
    home.replicas("Create", "ap-south-1").await.unwrap();
    home.until_replicas(&[("eu-west-1", "ACTIVE"), ("ap-south-1", "ACTIVE")]).await;
    away.until_replicas(&[("us-east-1", "ACTIVE"), ("ap-south-1", "ACTIVE")]).await;
    third.until("a", Some("1")).await;
    away.put("b", "1").await;
    third.until("b", Some("1")).await;
    third.put("c", "1").await;
    home.until("c", Some("1")).await;
    away.until("c", Some("1")).await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_whose_source_is_lost_before_it_is_complete_is_given_up() {
    let servers = servers(3).await;
    let [lost, away, third] = &servers[..] else { unreachable!() };
    lost.with_table().await;
    lost.put("a", "1").await;
    lost.replicas("Create", "eu-west-1").await.unwrap();
    lost.until_replicas(&[("eu-west-1", "ACTIVE")]).await;
    away.until("a", Some("1")).await;
    lost.network.nothing_is_completed.store(true, Ordering::Relaxed);
    lost.replicas("Create", "ap-south-1").await.unwrap();
    third.until_table(|table| table["TableStatus"] == "CREATING").await;
    away.until_table(|table| table["Replicas"][1]["ReplicaStatus"] == "CREATING").await;
    lost.stop().await;
    let found = third.engine().forget_region("us-east-1").await.unwrap();
    assert!(found[0].is_removed && found[0].untold.is_empty(), "{found:?}");
    third.until_gone().await;
    away.until_replicas(&[]).await;
    assert_eq!(away.get("a").await.as_deref(), Some("1"));
    // It can be made again from a Region that is left.
    away.network.nothing_is_completed.store(false, Ordering::Relaxed);
    away.replicas("Create", "ap-south-1").await.unwrap();
    away.until_replicas(&[("ap-south-1", "ACTIVE")]).await;
    third.until("a", Some("1")).await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_is_lost_before_it_is_complete_can_be_forgotten() {
    let servers = servers(2).await;
    let [home, lost] = &servers[..] else { unreachable!() };
    home.with_table().await;
    home.network.nothing_is_completed.store(true, Ordering::Relaxed);
    home.replicas("Create", "eu-west-1").await.unwrap();
    home.until_replicas(&[("eu-west-1", "CREATING")]).await;
    lost.until_table(|table| table["TableStatus"] == "CREATING").await;
    lost.stop().await;
    let busy = home.replicas("Delete", "eu-west-1").await.unwrap_err();
    assert_eq!(busy.name, "ResourceInUseException");
    let found = home.engine().forget_region("eu-west-1").await.unwrap();
    assert!(!found[0].is_removed, "{found:?}");
    home.until_replicas(&[]).await;
    home.put("alone", "1").await;
    home.ok("UpdateTable", json!({"TableName": "Table", "DeletionProtectionEnabled": true})).await;
}

#[tokio::test(start_paused = true)]
async fn the_items_of_a_transaction_arrive_together_at_a_peer() {
    const ITEMS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let network = Arc::new(Network::default());
    network.whole.store(true, Ordering::Relaxed);
    let home = Server::start(&network, REGIONS[0], lasting_store()).await;
    let away = Server::start(&network, REGIONS[1], lasting_store()).await;
    home.with_table().await;
    home.replicas("Create", "eu-west-1").await.unwrap();
    home.until_replicas(&[("eu-west-1", "ACTIVE")]).await;
    let gets: Vec<Value> =
        ITEMS.iter().map(|p| json!({"Get": {"TableName": "Table", "Key": {"p": {"S": p}}}})).collect();
    let seen = async || -> Vec<Value> {
        let answer = away.ok("TransactGetItems", json!({"TransactItems": gets})).await;
        answer["Responses"].as_array().unwrap().iter().map(|it| it["Item"]["v"]["S"].clone()).collect()
    };
    for number in 0..30 {
        let item = |p: &&str| json!({"p": {"S": p}, "v": {"S": number.to_string()}});
        let puts: Vec<Value> =
            ITEMS.iter().map(|p| json!({"Put": {"TableName": "Table", "Item": item(p)}})).collect();
        home.ok("TransactWriteItems", json!({"TransactItems": puts})).await;
        let seen = seen().await;
        assert!(seen.iter().all(|value| *value == seen[0]), "{seen:?}");
    }
    away.until("a", Some("29")).await;
    assert_eq!(seen().await, vec![json!("29"); ITEMS.len()]);
}

#[tokio::test(start_paused = true)]
async fn auto_scaling_is_described_and_set_at_a_peer() {
    let servers = servers(2).await;
    let [home, away] = &servers[..] else { unreachable!() };
    servers.iter().for_each(|server| server.engine().set_scaling(Arc::new(Targets::default())));
    home.ok("CreateTable", provisioned()).await;
    home.replicas("Create", "eu-west-1").await.unwrap();
    home.until_replicas(&[("eu-west-1", "ACTIVE")]).await;
    away.until_replicas(&[("us-east-1", "ACTIVE")]).await;
    let update = json!({
        "MinimumUnits": 2, "MaximumUnits": 20,
        "ScalingPolicyUpdate": {"TargetTrackingScalingPolicyConfiguration": {"TargetValue": 70.0}},
    });
    let input = json!({"TableName": "Table", "ProvisionedWriteCapacityAutoScalingUpdate": update});
    let answer =
        home.ok("UpdateTableReplicaAutoScaling", input.clone()).await["TableAutoScalingDescription"].take();
    let replicas = answer["Replicas"].as_array().unwrap();
    assert_eq!(replicas.len(), 2);
    for replica in replicas {
        assert_eq!(replica["ReplicaProvisionedWriteCapacityAutoScalingSettings"]["MinimumUnits"], 2);
    }
    away.stop().await;
    let failure = home.call("UpdateTableReplicaAutoScaling", input).await.unwrap_err();
    assert_eq!(failure.message, "Failed to access the region: ‘eu-west-1’. Its server can't be reached.");
}

#[tokio::test(start_paused = true)]
async fn the_others_go_on_without_a_server_that_is_lost() {
    let servers = servers(3).await;
    let [home, lost, third] = &servers[..] else { unreachable!() };
    home.with_table().await;
    home.replicas("Create", "eu-west-1").await.unwrap();
    home.until_replicas(&[("eu-west-1", "ACTIVE")]).await;
    home.replicas("Create", "ap-south-1").await.unwrap();
    home.until_replicas(&[("eu-west-1", "ACTIVE"), ("ap-south-1", "ACTIVE")]).await;
    third.until_replicas(&[("us-east-1", "ACTIVE"), ("eu-west-1", "ACTIVE")]).await;
    lost.break_way_to(third);
    lost.put("sent to one", "1").await;
    home.until("sent to one", Some("1")).await;
    lost.stop().await;
    assert_eq!(third.get("sent to one").await, None);
    // Removing it waits for it: what it has is not here yet.
    home.replicas("Delete", "eu-west-1").await.unwrap();
    home.until_table(|table| table["Replicas"][0]["ReplicaStatus"] == "DELETING").await;
    let found = home.engine().forget_region("eu-west-1").await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].table.as_str(), &found[0].untold), ("Table", &Vec::new()));
    assert_eq!(found[0].lost, None, "it can't be known");
    home.until_replicas(&[("ap-south-1", "ACTIVE")]).await;
    third.until_replicas(&[("us-east-1", "ACTIVE")]).await;
    third.until("sent to one", Some("1")).await;
    third.put("after", "1").await;
    home.until("after", Some("1")).await;
    // It comes back, and its changes are not taken.
    lost.open().await;
    lost.put("unknown", "1").await;
    home.put("end", "1").await;
    third.until("end", Some("1")).await;
    assert_eq!(home.get("unknown").await, None);
    assert_eq!(lost.get("end").await, None);
}

#[tokio::test(start_paused = true)]
async fn a_replica_needs_a_server_that_answers() {
    let servers = servers(2).await;
    servers[0].with_table().await;
    servers[1].stop().await;
    let refused = servers[0].replicas("Create", "eu-west-1").await.unwrap_err();
    assert_eq!(refused.name, "ValidationException");
    assert_eq!(refused.message, "Failed to access the region: ‘eu-west-1’. Its server can't be reached.");
}

#[tokio::test(start_paused = true)]
async fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let (home, away) = two_servers().await;
    home.put("a", "1").await;
    away.until("a", Some("1")).await;
    let version = json!({"time_us": 1_800_000_000_000_000_u64, "region": "us-east-1"});
    let late = json!({"time_us": u64::MAX, "region": "us-east-1"});
    let change = |version: &Value, change: Value| {
        let mut change = change;
        change["version"] = version.clone();
        json!({"Changes": [change]})
    };
    let many: Vec<Value> = (0..101).map(|_| json!({"version": version, "put": ""})).collect();
    let no_item = change(&version, json!({"put": "AAECAwQ="}));
    for (from, to, table, news) in [
        ("us-east-1", "eu-west-1", "Table", no_item),
        ("us-east-1", "eu-west-1", "Table", change(&version, json!({"put": ""}))),
        ("us-east-1", "eu-west-1", "Table", json!({"Changes": many})),
        (
            "us-east-1",
            "eu-west-1",
            "Table",
            change(&late, json!({"delete": {"partition": "", "sort": "", "key": null}})),
        ),
        (
            "us-east-1",
            "eu-west-1",
            "Table",
            change(&version, json!({"delete": {"partition": "AAAA", "sort": "", "key": null}})),
        ),
        ("us-east-1", "eu-west-1", "Other", json!({"Changes": []})),
        ("sa-east-1", "eu-west-1", "Table", json!("Question")),
        ("eu-west-1", "us-east-1", "Table", json!("Leave")),
        ("us-east-1", "eu-west-1", "Table", json!({"Introduce": {"region": "no/region", "overrides": {}}})),
    ] {
        let text = json!({"account": ACCOUNT, "table": table, "from": from, "to": to, "news": news});
        let shown = text.to_string();
        let message: Message = serde_json::from_value(text).unwrap();
        away.engine().receive(message).await.expect_err(&shown);
    }
    for text in [
        json!({}),
        json!({"account": ACCOUNT, "table": "Table", "from": "a", "to": "b", "news": {"Dance": {}}}),
    ] {
        serde_json::from_value::<Message>(text).expect_err("it is no message");
    }
    assert_eq!(away.get("a").await.as_deref(), Some("1"));
    away.until_replicas(&[("us-east-1", "ACTIVE")]).await;
    away.engine().verify().await.unwrap();
}

/// Random writes on three servers with broken ways, cut links and restarts, in simulated time.
async fn converge(seed: u64) {
    let mut chance = Chance(seed);
    let servers = servers(3).await;
    servers[0].with_table().await;
    for region in &REGIONS[1..] {
        servers[0].replicas("Create", region).await.unwrap();
        servers[0].until_table(|table| table["TableStatus"] == "ACTIVE").await;
        let replicas = REGIONS[1..].iter().take_while(|it| *it != region).chain([region]);
        let replicas: Vec<_> = replicas.map(|region| (*region, "ACTIVE")).collect();
        servers[0].until_replicas(&replicas).await;
    }
    // What clients know: the clocks agree and move on between two writes, so the last write of an item wins.
    let mut last: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut stopped = None;
    for step in 0..60 {
        servers.iter().for_each(|server| server.pass_ms(1));
        let at = chance.below(3) as usize;
        let (one, other) = (&servers[at], &servers[(at + 1) % 3]);
        match chance.below(12) {
            0 => one.break_way_to(other),
            1 => other.break_way_to(one),
            2 => one.network.broken.lock().unwrap().clear(),
            3 if stopped != Some(at) => one.engine().cut_regions(&one.region, &other.region).await.unwrap(),
            4 if stopped != Some(at) => {
                one.engine().heal_regions(&one.region, &other.region).await.unwrap();
            }
            5 => match stopped.take() {
                Some(stopped) => servers[stopped].open().await,
                None => {
                    one.stop().await;
                    stopped = Some(at);
                }
            },
            6 => pass(Duration::from_millis(chance.below(3000))).await,
            _ if stopped == Some(at) => {}
            kind => {
                let key = format!("key {}", chance.below(4));
                if kind < 11 {
                    let value = format!("{step} in {}", one.region);
                    one.put(&key, &value).await;
                    last.insert(key, Some(value));
                } else if one.get(&key).await.is_some() {
                    one.delete(&key).await;
                    last.insert(key, None);
                }
            }
        }
    }
    if let Some(stopped) = stopped {
        servers[stopped].open().await;
    }
    for server in &servers {
        server.network.broken.lock().unwrap().clear();
        for (one, other) in server.engine().cut_links().await.unwrap() {
            server.engine().heal_regions(&one, &other).await.unwrap();
        }
    }
    for server in &servers {
        for (key, value) in &last {
            server.until(key, value.as_deref()).await;
        }
        server.engine().verify().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn three_servers_come_to_what_last_writer_wins_says() {
    let seeds = std::env::var("CONVERGENCE_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(2);
    for seed in 0..seeds {
        converge(seed).await;
    }
}
