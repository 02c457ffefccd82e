//! A world of three Regions: each has a server and a database of its own, and they share a global table. Clients write in
//! every Region; in the end all Regions are equal, and what last-writer-wins allows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use simulation::last_writer_wins::{RegionWrite, WriteAnswer};

use crate::executor::START_US;
use crate::plan::{ClientPlan, REGIONS, RegionsPlan};
use crate::run::{PEACE, WAIT, World};
use crate::servers::Failure;

/// The global table.
const TABLE: &str = "Global";
/// Few, so that writes in different Regions meet.
const KEYS: u64 = 6;
/// The Region that may leave. The table was made in the first one.
const LEAVING: usize = 2;

impl World {
    /// From the first request to the last check.
    pub(crate) async fn live_in_regions(self: &Arc<World>, regions: &RegionsPlan) -> Result<(), String> {
        self.make_global_table().await?;
        self.say("clients and faults begin");
        for own in self.plan.clients.clone() {
            self.start("client", self.clone().write_in_a_region(own));
        }
        if let Some(at_ms) = regions.leaves_ms {
            self.start("leaving Region", self.clone().leave(at_ms));
        }
        self.start_faults();
        self.start_verifications();
        self.all_idle().await?;
        self.peace_in_regions(regions).await
    }

    async fn make_global_table(&self) -> Result<(), String> {
        let table = json!({
            "TableName": TABLE, "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
            "AttributeDefinitions": [
                {"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "v", "AttributeType": "S"},
            ],
            "GlobalSecondaryIndexes": [{
                "IndexName": "by-value", "KeySchema": [{"AttributeName": "v", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }],
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        });
        self.ok("CreateTable", table).await?;
        for region in &REGIONS[1..] {
            self.are_replicas_active(0).await?;
            let create = json!([{"Create": {"RegionName": region}}]);
            self.ok("UpdateTable", json!({"TableName": TABLE, "ReplicaUpdates": create})).await?;
        }
        for number in 0..REGIONS.len() {
            self.are_replicas_active(number).await?;
        }
        Ok(())
    }

    /// The table in a Region and all members that it knows are ACTIVE.
    async fn are_replicas_active(&self, number: usize) -> Result<(), String> {
        let what = format!("the global table is ACTIVE in {}", REGIONS[number]);
        self.settled(&what, PEACE, || async move {
            let described = self.describe(number).await?;
            let replicas = described["Table"]["Replicas"].as_array().cloned().unwrap_or_default();
            let indexes = &described["Table"]["GlobalSecondaryIndexes"];
            Ok(described["Table"]["TableStatus"] == "ACTIVE"
                && indexes.as_array().into_iter().flatten().all(|index| index["IndexStatus"] == "ACTIVE")
                && replicas.iter().all(|replica| replica["ReplicaStatus"] == "ACTIVE"))
        })
        .await
    }

    async fn describe(&self, number: usize) -> Result<Value, Failure> {
        self.servers.call(number, 0, "DescribeTable", json!({"TableName": TABLE}), WAIT).await
    }

    /// A client of one Region.
    async fn write_in_a_region(self: Arc<World>, own: ClientPlan) -> Result<(), String> {
        let mut chance = self.executor.chance(&format!("client {}", own.number));
        let region = own.number % REGIONS.len();
        for number in 0..own.requests {
            self.executor.sleep(Duration::from_millis(chance.u64(0..=own.pause_ms))).await;
            let key = chance.u64(0..KEYS);
            let value = (chance.u8(0..4) > 0).then(|| format!("{}-{number}", own.number));
            let wait = match chance.u64(0..100) < own.gives_up_percent {
                true => Duration::from_micros(chance.u64(0..20_000)),
                false => WAIT,
            };
            self.write_in(region, key, value, wait).await?;
        }
        Ok(())
    }

    async fn write_in(
        &self,
        region: usize,
        key: u64,
        value: Option<String>,
        wait: Duration,
    ) -> Result<(), String> {
        let name = json!({"p": {"S": key.to_string()}});
        let (operation, mut input) = match &value {
            Some(value) => ("PutItem", json!({"Item": {"p": name["p"], "v": {"S": value}}})),
            None => ("DeleteItem", json!({"Key": name})),
        };
        (input["TableName"], input["ReturnValues"]) = (json!(TABLE), json!("ALL_OLD"));
        let sent = self.since_start();
        let answered = self.servers.call(region, 0, operation, input, wait).await;
        let answer = match answered {
            Ok(answer) => WriteAnswer::Replaced(answer["Attributes"]["v"]["S"].as_str().map(str::to_owned)),
            Err(failure) if failure.is_in_doubt() => WriteAnswer::Lost,
            // The Region has left, or leaves.
            Err(failure) if region == LEAVING && failure.name() == "ResourceNotFoundException" => {
                return Ok(());
            }
            Err(failure) => return Err(format!("{operation} in {}: {failure:?}", REGIONS[region])),
        };
        self.say(&format!("{} {operation} {key} {value:?} → {answer:?}", REGIONS[region]));
        let write = RegionWrite { sent, ended: self.since_start(), value, answer };
        self.region_history.lock().note(key, write);
        Ok(())
    }

    fn since_start(&self) -> Duration {
        Duration::from_micros(self.executor.now_us() - START_US)
    }

    /// A Region leaves the global table while it is written to.
    async fn leave(self: Arc<World>, at_ms: u64) -> Result<(), String> {
        self.executor.sleep(Duration::from_millis(at_ms)).await;
        let left = self.remove_replica().await;
        self.say(&format!("{} is to leave: {:?}", REGIONS[LEAVING], left.map(drop)));
        Ok(())
    }

    async fn remove_replica(&self) -> Result<Value, Failure> {
        let delete = json!([{"Delete": {"RegionName": REGIONS[LEAVING]}}]);
        let input = json!({"TableName": TABLE, "ReplicaUpdates": delete});
        self.servers.call(0, 0, "UpdateTable", input, WAIT).await
    }

    /// No more faults: everything settles.
    async fn peace_in_regions(self: &Arc<World>, regions: &RegionsPlan) -> Result<(), String> {
        self.make_peace();
        self.all_open().await?;
        let members = if regions.leaves_ms.is_some() { &[0, 1][..] } else { &[0, 1, 2] };
        if regions.leaves_ms.is_some() {
            self.has_left().await?;
        }
        for number in members {
            self.are_replicas_active(*number).await?;
            let value = Some(format!("peace-{number}"));
            self.write_in(*number, KEYS, value, WAIT).await?;
        }
        self.settled("nothing is pending between Regions", PEACE, || async move { self.is_all_sent().await })
            .await?;
        let found = self.content(members[0]).await?;
        for number in &members[1..] {
            let other = self.content(*number).await?;
            if other != found {
                return Err(format!(
                    "{} has {other:?}, and {} has {found:?}",
                    REGIONS[*number], REGIONS[members[0]]
                ));
            }
        }
        for number in members {
            self.verify(*number).await?;
        }
        let clocks = Duration::from_millis(self.clock_error_ms());
        self.region_history
            .lock()
            .check(&found, clocks)
            .map_err(|fault| format!("last writer wins: {fault}"))?;
        self.no_job_is_stuck()
    }

    /// The Region that was to leave is gone, for all.
    async fn has_left(&self) -> Result<(), String> {
        self.settled("a Region has left", PEACE, || async move {
            let mut is_gone = true;
            for number in 0..LEAVING {
                let described = self.describe(number).await?;
                let mut replicas = described["Table"]["Replicas"].as_array().into_iter().flatten();
                is_gone &= !replicas.any(|replica| replica["RegionName"] == REGIONS[LEAVING]);
            }
            if !is_gone {
                // The first request may not have got there.
                drop(self.remove_replica().await);
                return Ok(false);
            }
            Ok(self.describe(LEAVING).await.is_err_and(|it| it.name() == "ResourceNotFoundException"))
        })
        .await
    }

    async fn is_all_sent(&self) -> Result<bool, Failure> {
        for number in 0..REGIONS.len() {
            let engine = self.servers.engine(number).ok_or(Failure::Lost)?;
            let status = engine.replication_status().await.map_err(|_| Failure::Lost)?;
            if status.iter().any(|pair| pair.pending > 0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What the table has in a Region.
    async fn content(&self, number: usize) -> Result<BTreeMap<u64, String>, String> {
        let input = json!({"TableName": TABLE, "ConsistentRead": true});
        let scanned = self.servers.call(number, 0, "Scan", input, WAIT).await;
        let scanned = scanned.map_err(|failure| format!("Scan in {}: {failure:?}", REGIONS[number]))?;
        let items = scanned["Items"].as_array().cloned().unwrap_or_default();
        let read = |item: &Value| {
            let key = item["p"]["S"].as_str()?.parse().ok()?;
            Some((key, item["v"]["S"].as_str()?.to_owned()))
        };
        items.iter().map(|item| read(item).ok_or_else(|| format!("an item of no client: {item}"))).collect()
    }
}
