use std::sync::{Arc, Mutex};

use engine::{Caller, Enforcement, Namespace, Options, Scaled, ScaledUnits, Scaling, ScalingSettings};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::database::{Database, on_every_store};
use crate::support::until;

/// One Region of a database.
struct Region<'a> {
    database: &'a Database,
    caller: Caller,
}

impl<'a> Region<'a> {
    fn of(database: &'a Database, region: &str) -> Region<'a> {
        Region { database, caller: Caller::new("123456789012", region) }
    }

    async fn ok(&self, operation: &str, input: Value) -> Value {
        let shown = input.to_string();
        let answer = self.database.call_as(&self.caller, operation, input).await;
        answer.unwrap_or_else(|failure| panic!("{operation} {shown}: {failure:?}"))
    }

    async fn refused(&self, operation: &str, input: Value, name: &str, message: &str) {
        let shown = input.to_string();
        let failure = self.database.call_as(&self.caller, operation, input).await.expect_err(&shown);
        assert_eq!((failure.name.as_str(), failure.message.as_str()), (name, message), "{shown}");
    }

    async fn put(&self, p: &str, value: &str) {
        let item = json!({"p": {"S": p}, "s": {"S": "s"}, "v": {"S": value}});
        self.ok("PutItem", json!({"TableName": "Table", "Item": item})).await;
    }

    async fn delete(&self, p: &str) {
        self.ok("DeleteItem", json!({"TableName": "Table", "Key": {"p": {"S": p}, "s": {"S": "s"}}})).await;
    }

    /// The value of an item; none if there is no item.
    async fn get(&self, p: &str) -> Option<String> {
        let input =
            json!({"TableName": "Table", "Key": {"p": {"S": p}, "s": {"S": "s"}}, "ConsistentRead": true});
        let answer = self.ok("GetItem", input).await;
        answer["Item"]["v"]["S"].as_str().map(str::to_owned)
    }

    async fn until(&self, p: &str, value: Option<&str>) {
        let what = format!("{p} is {value:?} in {}", self.caller.namespace.region);
        until(&what, async || self.get(p).await.as_deref() == value).await;
    }

    async fn table(&self) -> Value {
        self.ok("DescribeTable", json!({"TableName": "Table"})).await["Table"].take()
    }

    /// Waits until the other members are these, with their states.
    async fn until_replicas(&self, expected: &[(&str, &str)]) {
        until(&format!("the replicas are {expected:?}"), async || {
            let table = self.table().await;
            let replicas = table["Replicas"].as_array().cloned().unwrap_or_default();
            let text = |replica: &Value, name: &str| replica[name].as_str().unwrap_or_default().to_owned();
            let found: Vec<(String, String)> =
                replicas.iter().map(|it| (text(it, "RegionName"), text(it, "ReplicaStatus"))).collect();
            let shown: Vec<(&str, &str)> = found.iter().map(|(name, state)| (&**name, &**state)).collect();
            shown == expected && table["TableStatus"] == "ACTIVE"
        })
        .await;
    }

    async fn until_gone(&self) {
        until("the table is gone", async || {
            let answer =
                self.database.call_as(&self.caller, "DescribeTable", json!({"TableName": "Table"})).await;
            answer.is_err_and(|failure| failure.name == "ResourceNotFoundException")
        })
        .await;
    }

    /// All records of the table's stream, as `INSERT a`.
    async fn records(&self) -> Vec<String> {
        let arn = self.table().await["LatestStreamArn"].clone();
        let streams = async |operation: &str, input: Value| {
            self.database.call_streams_as(&self.caller, operation, input).await.unwrap()
        };
        let described = streams("DescribeStream", json!({"StreamArn": arn})).await;
        let mut records = Vec::new();
        for shard in described["StreamDescription"]["Shards"].as_array().unwrap() {
            let input = json!({
                "StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON",
            });
            let iterator = streams("GetShardIterator", input).await["ShardIterator"].take();
            let page = streams("GetRecords", json!({"ShardIterator": iterator})).await;
            for record in page["Records"].as_array().unwrap() {
                let key = record["dynamodb"]["Keys"]["p"]["S"].as_str().unwrap();
                let by = if record["userIdentity"].is_null() { "" } else { " by the service" };
                records.push(format!("{} {key}{by}", record["eventName"].as_str().unwrap()));
            }
        }
        records.sort();
        records
    }
}

fn replica(action: &str, region: &str) -> Value {
    json!({"TableName": "Table", "ReplicaUpdates": [{action: {"RegionName": region}}]})
}

/// A table in us-east-1 with a replica in eu-west-1.
async fn two_regions(database: &Database) -> (Region<'_>, Region<'_>) {
    database.with_table("Table").await;
    let (home, away) = (Region::of(database, "us-east-1"), Region::of(database, "eu-west-1"));
    home.ok("UpdateTable", replica("Create", "eu-west-1")).await;
    home.until_replicas(&[("eu-west-1", "ACTIVE")]).await;
    (home, away)
}

on_every_store! { two servers {
    async fn a_replica_has_what_was_there_and_what_is_written_in_either_region(database) {
        database.with_table("Table").await;
        let (home, away) = (Region::of(database, "us-east-1"), Region::of(database, "eu-west-1"));
        home.put("before", "1").await;
        let answer = home.ok("UpdateTable", replica("Create", "eu-west-1")).await["TableDescription"].take();
        assert_eq!(answer["TableStatus"], "UPDATING");
        assert_eq!(answer["GlobalTableVersion"], "2019.11.21");
        let shown = &answer["Replicas"][0];
        assert_eq!((&shown["RegionName"], &shown["ReplicaStatus"]), (&json!("eu-west-1"), &json!("CREATING")));
        assert_eq!(answer["StreamSpecification"]["StreamViewType"], "NEW_AND_OLD_IMAGES");
        home.until_replicas(&[("eu-west-1", "ACTIVE")]).await;
        away.until_replicas(&[("us-east-1", "ACTIVE")]).await;
        assert_eq!(away.get("before").await.as_deref(), Some("1"));
        home.put("a", "home").await;
        away.until("a", Some("home")).await;
        away.put("b", "away").await;
        home.until("b", Some("away")).await;
        home.delete("a").await;
        away.until("a", None).await;
        let expected = ["INSERT a", "INSERT b", "REMOVE a"];
        assert_eq!(home.records().await, expected);
        assert_eq!(away.records().await, expected);
        database.engine.verify().await.unwrap();
    }

    async fn the_later_write_wins_everywhere_when_a_link_is_healed(database) {
        let (home, away) = two_regions(database).await;
        home.put("both", "0").await;
        home.put("deleted", "0").await;
        away.until("both", Some("0")).await;
        away.until("deleted", Some("0")).await;
        database.engine.cut_regions("eu-west-1", "us-east-1").await.unwrap();
        home.put("both", "earlier").await;
        away.delete("deleted").await;
        database.pass_ms(1000);
        away.put("both", "later").await;
        home.put("deleted", "later").await;
        assert_eq!(home.get("both").await.as_deref(), Some("earlier"));
        assert!(database.engine.heal_regions("us-east-1", "eu-west-1").await.unwrap());
        home.until("both", Some("later")).await;
        away.until("deleted", Some("later")).await;
        away.put("end", "").await;
        home.put("end of home", "").await;
        home.until("end", Some("")).await;
        away.until("end of home", Some("")).await;
        assert_eq!(away.get("both").await.as_deref(), Some("later"));
        assert_eq!(home.get("deleted").await.as_deref(), Some("later"));
    }

    async fn an_older_put_does_not_bring_a_deleted_item_back(database) {
        let (home, away) = two_regions(database).await;
        home.put("a", "0").await;
        away.until("a", Some("0")).await;
        database.engine.cut_regions("eu-west-1", "us-east-1").await.unwrap();
        home.put("a", "older").await;
        database.pass_ms(1000);
        away.delete("a").await;
        database.engine.heal_regions("eu-west-1", "us-east-1").await.unwrap();
        home.until("a", None).await;
        home.put("end", "").await;
        away.until("end", Some("")).await;
        assert_eq!(away.get("a").await, None);
        assert_eq!(away.records().await, ["INSERT a", "INSERT end", "REMOVE a"], "what lost leaves no record");
    }

    async fn replication_goes_on_after_a_restart(database) {
        let (home, away) = two_regions(database).await;
        home.put("a", "1").await;
        away.until("a", Some("1")).await;
        database.engine.cut_regions("eu-west-1", "us-east-1").await.unwrap();
        home.put("a", "2").await;
        home.delete("b").await;
        let database = &database.restarted().await;
        let (home, away) = (Region::of(database, "us-east-1"), Region::of(database, "eu-west-1"));
        away.until("a", Some("2")).await;
        away.put("c", "3").await;
        home.until("c", Some("3")).await;
    }

    async fn a_third_region_gets_everything_and_its_writes_reach_all(database) {
        let (home, away) = two_regions(database).await;
        home.put("a", "1").await;
        away.until("a", Some("1")).await;
        // What the source does not have yet reaches the third Region nevertheless.
        database.engine.cut_regions("eu-west-1", "us-east-1").await.unwrap();
        home.put("b", "2").await;
        away.ok("UpdateTable", replica("Create", "ap-south-1")).await;
        away.until_replicas(&[("us-east-1", "ACTIVE"), ("ap-south-1", "ACTIVE")]).await;
        home.until_replicas(&[("eu-west-1", "ACTIVE"), ("ap-south-1", "ACTIVE")]).await;
        let third = Region::of(database, "ap-south-1");
        third.until("a", Some("1")).await;
        third.until("b", Some("2")).await;
        assert_eq!(away.get("b").await, None, "the link is cut, and no other Region passes it on");
        third.put("c", "3").await;
        home.until("c", Some("3")).await;
        away.until("c", Some("3")).await;
        database.engine.heal_regions("eu-west-1", "us-east-1").await.unwrap();
        away.until("b", Some("2")).await;
    }

    async fn a_member_leaves_when_what_was_written_there_is_everywhere(database) {
        let (home, away) = two_regions(database).await;
        let wrong = "Replica cannot be deleted because it has acted as a source region for new replica(s) being added \
            to the table in the last 24 hours.";
        away.refused("UpdateTable", replica("Delete", "us-east-1"), "ValidationException", wrong).await;
        home.refused("DeleteTable", json!({"TableName": "Table"}), "ValidationException", wrong).await;
        database.engine.cut_regions("eu-west-1", "us-east-1").await.unwrap();
        away.put("late", "1").await;
        home.ok("UpdateTable", replica("Delete", "eu-west-1")).await;
        home.until_replicas(&[("eu-west-1", "DELETING")]).await;
        home.refused("UpdateTable", json!({"TableName": "Table", "DeletionProtectionEnabled": true}),
            "ResourceInUseException", "The resource which you are attempting to change is in use.").await;
        database.engine.heal_regions("eu-west-1", "us-east-1").await.unwrap();
        home.until_replicas(&[]).await;
        away.until_gone().await;
        assert_eq!(home.get("late").await.as_deref(), Some("1"));
        let table = home.table().await;
        assert!(table.get("GlobalTableVersion").is_none() && table.get("Replicas").is_none(), "{table}");
        assert_eq!(table["StreamSpecification"]["StreamEnabled"], true, "the stream stays");
        // It can join again, and leave by itself.
        home.ok("UpdateTable", replica("Create", "eu-west-1")).await;
        home.until_replicas(&[("eu-west-1", "ACTIVE")]).await;
        assert_eq!(away.get("late").await.as_deref(), Some("1"));
        away.ok("DeleteTable", json!({"TableName": "Table"})).await;
        home.until_replicas(&[]).await;
        home.put("alone", "1").await;
        home.ok("DeleteTable", json!({"TableName": "Table"})).await;
    }

    async fn expired_items_are_deleted_once_and_the_service_is_named_only_there(database) {
        let (home, away) = two_regions(database).await;
        let ttl = json!({"TableName": "Table", "TimeToLiveSpecification": {"AttributeName": "x", "Enabled": true}});
        home.ok("UpdateTimeToLive", ttl).await;
        let described = away.ok("DescribeTimeToLive", json!({"TableName": "Table"})).await;
        assert_eq!(described["TimeToLiveDescription"]["AttributeName"], "x");
        let item = json!({"p": {"S": "a"}, "s": {"S": "s"}, "v": {"S": "1"}, "x": {"N": "1800000010"}});
        home.ok("PutItem", json!({"TableName": "Table", "Item": item})).await;
        away.until("a", Some("1")).await;
        database.pass_ms(20_000);
        home.until("a", None).await;
        away.until("a", None).await;
        assert_eq!(away.records().await, ["INSERT a", "REMOVE a by the service"]);
        assert_eq!(home.records().await, ["INSERT a", "REMOVE a"]);
    }

    async fn an_index_is_made_and_dropped_in_every_region(database) {
        let (home, away) = two_regions(database).await;
        home.put("a", "g").await;
        away.until("a", Some("g")).await;
        let create = json!({"TableName": "Table", "AttributeDefinitions": [{"AttributeName": "v", "AttributeType": "S"}],
            "GlobalSecondaryIndexUpdates": [{"Create": {"IndexName": "ByValue",
                "KeySchema": [{"AttributeName": "v", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}}]});
        away.ok("UpdateTable", create).await;
        for region in [&home, &away] {
            until("the index is ACTIVE", async || {
                region.table().await["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"
            }).await;
            let query = json!({"TableName": "Table", "IndexName": "ByValue", "KeyConditionExpression": "v = :v",
                "ExpressionAttributeValues": {":v": {"S": "g"}}});
            assert_eq!(region.ok("Query", query).await["Count"], 1);
        }
        home.ok("UpdateTable", json!({"TableName": "Table",
            "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "ByValue"}}]})).await;
        let is_gone = async || away.table().await.get("GlobalSecondaryIndexes").is_none();
        until("the index is gone", is_gone).await;
    }
}}

mod whole_transactions {
    use super::*;

    /// The items that a transaction of the tests below writes: so many that they are in several logs.
    const TOGETHER: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

    impl Region<'_> {
        /// Gives all items of [`TOGETHER`] one value.
        async fn transact(&self, value: &str) {
            let put = |p: &&str| {
                let item = json!({"p": {"S": p}, "s": {"S": "s"}, "v": {"S": value}});
                json!({"Put": {"TableName": "Table", "Item": item}})
            };
            let puts: Vec<Value> = TOGETHER.iter().map(put).collect();
            self.ok("TransactWriteItems", json!({"TransactItems": puts})).await;
        }

        /// The values of these items, of one moment.
        async fn together(&self) -> Vec<Option<String>> {
            let get =
                |p: &&str| json!({"Get": {"TableName": "Table", "Key": {"p": {"S": p}, "s": {"S": "s"}}}});
            let gets: Vec<Value> = TOGETHER.iter().map(get).collect();
            let answer = self.ok("TransactGetItems", json!({"TransactItems": gets})).await;
            let items = answer["Responses"].as_array().unwrap().iter();
            items.map(|item| item["Item"]["v"]["S"].as_str().map(str::to_owned)).collect()
        }
    }

    on_every_store! { one server {
        async fn the_items_of_a_transaction_arrive_together_if_that_is_asked_for(database) {
            let whole = Options { replicates_transactions_whole: true, ..Options::default() };
            let database = &database.restarted_with(whole).await;
            let (home, away) = two_regions(database).await;
            for number in 0..40 {
                home.transact(&number.to_string()).await;
                home.put("alone", &number.to_string()).await;
                let seen = away.together().await;
                assert!(seen.iter().all(|value| *value == seen[0]), "{seen:?}");
            }
            away.until("alone", Some("39")).await;
            away.until("a", Some("39")).await;
            assert_eq!(away.together().await, vec![Some("39".to_owned()); TOGETHER.len()]);

            // What was written later in the other Region stays.
            database.engine.cut_regions("eu-west-1", "us-east-1").await.unwrap();
            home.transact("earlier").await;
            database.pass_ms(1000);
            away.put("c", "later").await;
            database.engine.heal_regions("eu-west-1", "us-east-1").await.unwrap();
            home.until("c", Some("later")).await;
            away.until("a", Some("earlier")).await;
            let mut expected = vec![Some("earlier".to_owned()); TOGETHER.len()];
            expected[2] = Some("later".to_owned());
            assert_eq!(away.together().await, expected);
            assert_eq!(home.together().await, expected);
        }
    }}
}

#[tokio::test(start_paused = true)]
async fn wrong_changes_of_replicas_are_refused_in_aws_words() {
    let database = &Database::in_memory().await;
    let (home, away) = two_regions(database).await;
    let wrong = async |input: Value, message: &str| {
        home.refused("UpdateTable", input, "ValidationException", message).await;
    };
    let updates = |updates: Value| json!({"TableName": "Table", "ReplicaUpdates": updates});
    wrong(
        replica("Create", "eu-west-1"),
        "Failed to create a the new replica of table with name: ‘Table’ because one or more replicas already existed \
         as tables.",
    )
    .await;
    for action in ["Create", "Delete"] {
        wrong(
            replica(action, "us-east-1"),
            "Cannot add or delete the local region through ReplicaUpdates. Use CreateTable, DeleteTable, or UpdateTable \
             as required.",
        )
        .await;
    }
    wrong(
        replica("Delete", "ca-central-1"),
        "Update global table operation failed because one or more replicas were not part of the global table. Please \
         retry the request without these replicas: [ca-central-1].",
    )
    .await;
    let none = "There are no actions specified in the Replica Update Action of the request.";
    wrong(updates(json!([{}])), none).await;
    wrong(replica("Update", "eu-west-1"), none).await;
    wrong(
        updates(json!([{"Create": {"RegionName": "us-west-2"}, "Delete": {"RegionName": "eu-west-1"}}])),
        "Update table operation with more than one type of replica actions not allowed.",
    )
    .await;
    wrong(
        updates(json!([{"Create": {"RegionName": "us-west-2"}}, {"Create": {"RegionName": "us-west-1"}}])),
        "Update table operation with more than one create or delete replica actions not allowed.",
    )
    .await;
    for region in ["us-fake-1", "EU-WEST-3"] {
        let failure =
            database.call_as(&home.caller, "UpdateTable", replica("Create", region)).await.unwrap_err();
        let message = format!(
            "Region {region} is not supported. The latest version of global tables are only supported in the \
             following regions: [ap-south-2, "
        );
        assert!(failure.message.starts_with(&message), "{failure:?}");
    }
    for region in [&home, &away] {
        let off = json!({"TableName": "Table", "StreamSpecification": {"StreamEnabled": false}});
        region
            .refused(
                "UpdateTable",
                off,
                "ValidationException",
                "One or more parameter values were invalid: Disabling Stream is not allowed for a Global Table \
                 replica.",
            )
            .await;
        let again = json!({"TableName": "Table",
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"}});
        region
            .refused(
                "UpdateTable",
                again,
                "ValidationException",
                "Table already has an enabled stream: TableName: Table",
            )
            .await;
    }
    let mut strong =
        updates(json!([{"Create": {"RegionName": "us-east-2"}}, {"Create": {"RegionName": "us-west-2"}}]));
    strong["MultiRegionConsistency"] = json!("STRONG");
    wrong(strong, "MultiRegionConsistency parameter is unsupported on existing global table").await;
    let disassociate = json!({"RegionName": "us-east-1", "DisassociationMode": "WAIT_FOR_REPLICATION"});
    wrong(
        updates(json!([{"Disassociate": disassociate}])),
        "Lodestone does not serve Disassociate of a replica yet. Leave it out of the request.",
    )
    .await;
    wrong(
        json!({"TableName": "Table", "DisassociationProtectionEnabled": false}),
        "Lodestone does not serve DisassociationProtectionEnabled false yet. Leave it out of the request.",
    )
    .await;
}

/// The scalable targets of all Regions. Every table has write units that are scaled.
#[derive(Default)]
pub struct Targets(Mutex<Vec<(Namespace, Scaled)>>);

impl Scaling for Targets {
    fn scales_writes<'a>(
        &'a self,
        _: &'a Namespace,
        table: &'a str,
        _: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool, api::Error>> {
        Box::pin(std::future::ready(Ok(table == "Table")))
    }

    fn settings<'a>(
        &'a self,
        namespace: &'a Namespace,
        _: &'a str,
        units: &'a ScaledUnits,
    ) -> BoxFuture<'a, Result<Option<ScalingSettings>, api::Error>> {
        let targets = self.0.lock().unwrap();
        let mut own = targets.iter().filter(|(home, scaled)| home == namespace && scaled.units == *units);
        let settings = own.next().and_then(|(_, scaled)| scaled.settings.clone());
        Box::pin(std::future::ready(Ok(settings)))
    }

    fn set<'a>(
        &'a self,
        namespace: &'a Namespace,
        _: &'a str,
        scaled: Scaled,
    ) -> BoxFuture<'a, Result<(), api::Error>> {
        let mut targets = self.0.lock().unwrap();
        targets.retain(|(home, known)| home != namespace || known.units != scaled.units);
        targets.push((namespace.clone(), scaled));
        Box::pin(std::future::ready(Ok(())))
    }
}

pub fn provisioned() -> Value {
    json!({"TableName": "Table", "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        "GlobalSecondaryIndexes": [{
            "IndexName": "ByP", "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
            "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
        }],
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}})
}

#[tokio::test(start_paused = true)]
async fn the_auto_scaling_of_all_regions_is_described_and_set_at_once() {
    let database = &Database::in_memory().await;
    let home = Region::of(database, "us-east-1");
    let describe = async || {
        let answer = home.ok("DescribeTableReplicaAutoScaling", json!({"TableName": "Table"})).await;
        answer["TableAutoScalingDescription"].clone()
    };
    home.ok("CreateTable", provisioned()).await;
    home.refused(
        "DescribeTableReplicaAutoScaling",
        json!({"TableName": "Table"}),
        "ResourceNotFoundException",
        "Global table with name: Table does not exist.",
    )
    .await;
    database.engine.set_scaling(Arc::new(Targets::default()));
    home.ok("UpdateTable", replica("Create", "eu-west-1")).await;
    home.until_replicas(&[("eu-west-1", "ACTIVE")]).await;
    let disabled = json!({"AutoScalingDisabled": true, "ScalingPolicies": []});
    let region = |name: &str| {
        json!({
            "RegionName": name, "ReplicaStatus": "ACTIVE",
            "ReplicaProvisionedReadCapacityAutoScalingSettings": disabled,
            "ReplicaProvisionedWriteCapacityAutoScalingSettings": disabled,
            "GlobalSecondaryIndexes": [{
                "IndexName": "ByP", "IndexStatus": "ACTIVE",
                "ProvisionedReadCapacityAutoScalingSettings": disabled,
                "ProvisionedWriteCapacityAutoScalingSettings": disabled,
            }],
        })
    };
    let mut expected = json!({
        "TableName": "Table", "TableStatus": "ACTIVE", "Replicas": [region("us-east-1"), region("eu-west-1")],
    });
    assert_eq!(describe().await, expected);

    // Writes are scaled alike in every Region, reads where it is asked.
    let update = |name: Option<&str>, target: f64| {
        let mut policy = json!({"TargetTrackingScalingPolicyConfiguration": {"TargetValue": target}});
        if let Some(name) = name {
            policy["PolicyName"] = json!(name);
        }
        json!({"MinimumUnits": 2, "MaximumUnits": 20, "ScalingPolicyUpdate": policy})
    };
    let answer = home
        .ok(
            "UpdateTableReplicaAutoScaling",
            json!({
                "TableName": "Table",
                "ProvisionedWriteCapacityAutoScalingUpdate": update(None, 70.0),
                "GlobalSecondaryIndexUpdates": [
                    {"IndexName": "ByP", "ProvisionedWriteCapacityAutoScalingUpdate": update(None, 60.0)},
                ],
                "ReplicaUpdates": [{
                    "RegionName": "eu-west-1",
                    "ReplicaProvisionedReadCapacityAutoScalingUpdate": update(Some("reads"), 50.0),
                }],
            }),
        )
        .await;
    let set = |name: &str, target: f64| {
        json!({
            "MinimumUnits": 2, "MaximumUnits": 20, "AutoScalingRoleArn": "", "ScalingPolicies": [{
                "PolicyName": name, "TargetTrackingScalingPolicyConfiguration": {"TargetValue": target},
            }],
        })
    };
    for replica in expected["Replicas"].as_array_mut().unwrap() {
        replica["ReplicaProvisionedWriteCapacityAutoScalingSettings"] =
            set("DynamoDBWriteCapacityUtilization:table/Table", 70.0);
        replica["GlobalSecondaryIndexes"][0]["ProvisionedWriteCapacityAutoScalingSettings"] =
            set("DynamoDBWriteCapacityUtilization:table/Table/index/ByP", 60.0);
    }
    expected["Replicas"][1]["ReplicaProvisionedReadCapacityAutoScalingSettings"] = set("reads", 50.0);
    assert_eq!(answer["TableAutoScalingDescription"], expected);

    // A new member gets the write targets of its source.
    home.ok("UpdateTable", replica("Create", "ap-south-1")).await;
    home.until_replicas(&[("eu-west-1", "ACTIVE"), ("ap-south-1", "ACTIVE")]).await;
    let mut third = expected["Replicas"][0].clone();
    third["RegionName"] = json!("ap-south-1");
    assert_eq!(describe().await["Replicas"][2], third);

    let off = json!({"TableName": "Table", "ProvisionedWriteCapacityAutoScalingUpdate": {"AutoScalingDisabled": true}});
    for _ in 0..2 {
        let answer = home.ok("UpdateTableReplicaAutoScaling", off.clone()).await;
        for replica in answer["TableAutoScalingDescription"]["Replicas"].as_array().unwrap() {
            assert_eq!(replica["ReplicaProvisionedWriteCapacityAutoScalingSettings"], disabled);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn auto_scaling_of_replicas_is_refused_with_the_words_of_aws() {
    let database = &Database::in_memory().await;
    let home = Region::of(database, "us-east-1");
    database.engine.set_scaling(Arc::new(Targets::default()));
    home.ok("CreateTable", provisioned()).await;
    home.ok("UpdateTable", replica("Create", "us-west-2")).await;
    home.until_replicas(&[("us-west-2", "ACTIVE")]).await;
    let wrong = async |name: &str, mut input: Value, message: &str| {
        input["TableName"] = json!("Table");
        home.refused("UpdateTableReplicaAutoScaling", input, name, message).await;
    };
    let writes = |update: Value| json!({"ProvisionedWriteCapacityAutoScalingUpdate": update});
    wrong(
        "ValidationException",
        writes(json!({"AutoScalingDisabled": true, "MinimumUnits": 1, "MaximumUnits": 2})),
        "Failed to update settings for global table with name ‘Table’: Parameters 'MaximumUnits', 'MinimumUnits' must be \
         left blank when disabling auto scaling.",
    )
    .await;
    wrong(
        "ValidationException",
        writes(json!({"MinimumUnits": 1, "MaximumUnits": 2})),
        "Failed to update settings for global table with name ‘Table’: Parameters 'ScalingPolicyUpdate' are required unless \
         auto scaling is being disabled.",
    )
    .await;
    wrong(
        "ValidationException",
        json!({"ReplicaUpdates": [{"RegionName": "eu-west-1"}]}),
        "Update global table operation failed because one or more replicas were not part of the global table. Please retry \
         the request without these replicas: [eu-west-1].",
    )
    .await;
    wrong(
        "ResourceNotFoundException",
        json!({"GlobalSecondaryIndexUpdates": [
            {"IndexName": "None", "ProvisionedWriteCapacityAutoScalingUpdate": {"AutoScalingDisabled": true}},
        ]}),
        "Requested resource not found: Index None for table Table",
    )
    .await;
    home.ok("UpdateTable", json!({"TableName": "Table", "BillingMode": "PAY_PER_REQUEST"})).await;
    home.until_replicas(&[("us-west-2", "ACTIVE")]).await;
    wrong(
        "ValidationException",
        writes(json!({"AutoScalingDisabled": true})),
        "Failed to update global table with name ‘Table‘. Replicas 'US-EAST-1', 'US-WEST-2' BillingMode is PayPerRequest. \
         You must convert table's BillingMode to PROVISIONED to set parameters: \
         'GlobalTableProvisionedWriteCapacityAutoScalingSettingsUpdate'.",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_has_settings_of_its_own_and_those_of_the_group() {
    let database = &Database::in_memory().await;
    let (home, away) = (Region::of(database, "us-east-1"), Region::of(database, "eu-west-1"));
    let create = json!({"TableName": "Table", "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}});
    home.ok("CreateTable", create).await;
    home.refused(
        "UpdateTable",
        replica("Create", "eu-west-1"),
        "ValidationException",
        "Table write capacity should either be Pay-Per-Request or AutoScaled.",
    )
    .await;
    database.engine.set_scaling(Arc::new(Targets::default()));
    let mut with_override = replica("Create", "eu-west-1");
    with_override["ReplicaUpdates"][0]["Create"]["ProvisionedThroughputOverride"] =
        json!({"ReadCapacityUnits": 9});
    home.ok("UpdateTable", with_override).await;
    home.until_replicas(&[("eu-west-1", "ACTIVE")]).await;
    let reads = async |region: &Region<'_>| {
        let units = region.table().await["ProvisionedThroughput"].take();
        (units["ReadCapacityUnits"].as_i64().unwrap(), units["WriteCapacityUnits"].as_i64().unwrap())
    };
    assert_eq!((reads(&home).await, reads(&away).await), ((5, 5), (9, 5)));
    let shown = home.table().await["Replicas"][0]["ProvisionedThroughputOverride"].take();
    assert_eq!(shown, json!({"ReadCapacityUnits": 9}));
    let units = json!({"TableName": "Table", "ProvisionedThroughput": {"ReadCapacityUnits": 7, "WriteCapacityUnits": 8}});
    away.ok("UpdateTable", units).await;
    assert_eq!((reads(&home).await, reads(&away).await), ((7, 8), (9, 8)));
    // The group's value clears what the Region has of its own.
    let mut cleared = replica("Update", "eu-west-1");
    cleared["ReplicaUpdates"][0]["Update"]["ProvisionedThroughputOverride"] = json!({"ReadCapacityUnits": 7});
    home.ok("UpdateTable", cleared).await;
    assert_eq!((reads(&home).await, reads(&away).await), ((7, 8), (7, 8)));
    assert!(home.table().await["Replicas"][0].get("ProvisionedThroughputOverride").is_none());
    away.ok("UpdateTable", json!({"TableName": "Table", "DeletionProtectionEnabled": true})).await;
    assert_eq!(home.table().await["DeletionProtectionEnabled"], false);
    home.refused(
        "UpdateTable",
        replica("Delete", "eu-west-1"),
        "ValidationException",
        "Cannot delete table Table in region eu-west-1 because it has deletion protection enabled. Disable deletion \
         protection first.",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn clocks_that_differ_by_minutes_come_to_the_same_result() {
    let region_clocks = [("us-east-1".to_owned(), 300_000), ("eu-west-1".to_owned(), -300_000)].into();
    let database = &Database::with_options(Options { region_clocks, ..Options::default() }).await;
    let (home, away) = two_regions(database).await;
    home.put("a", "1").await;
    away.until("a", Some("1")).await;
    // It saw the other one, so it is later, whatever its clock says.
    away.put("a", "2").await;
    home.until("a", Some("2")).await;
    database.engine.cut_regions("eu-west-1", "us-east-1").await.unwrap();
    home.put("a", "by the fast clock").await;
    database.pass_ms(60_000);
    away.put("a", "by the slow clock").await;
    database.engine.heal_regions("eu-west-1", "us-east-1").await.unwrap();
    away.until("a", Some("by the fast clock")).await;
    home.put("end", "").await;
    away.put("end of away", "").await;
    away.until("end", Some("")).await;
    home.until("end of away", Some("")).await;
    assert_eq!(home.get("a").await.as_deref(), Some("by the fast clock"));
}

#[tokio::test(start_paused = true)]
async fn a_replicated_write_costs_units_in_each_region() {
    let database =
        &Database::with_options(Options { capacity: Enforcement::Shadow, ..Options::default() }).await;
    let (home, away) = two_regions(database).await;
    home.put("a", "1").await;
    away.until("a", Some("1")).await;
    let consumed = |region: &str| {
        let totals = database.engine.metric_totals();
        let own = totals.into_iter().filter(|total| {
            *total.namespace.region == *region
                && total.id.metric == engine::Metric::ConsumedWriteCapacityUnits
                && total.id.dimensions.index.is_none()
        });
        own.map(|total| total.sum).sum::<f64>()
    };
    assert_eq!((consumed("us-east-1"), consumed("eu-west-1")), (1.0, 1.0));
    let latency = database.engine.metric_totals().into_iter().find(|total| {
        total.id.metric == engine::Metric::ReplicationLatency && *total.namespace.region == *"us-east-1"
    });
    let latency = latency.expect("the latency is measured in the source's Region");
    assert_eq!(latency.id.dimensions.receiving_region.as_deref(), Some("eu-west-1"));
}

#[tokio::test(start_paused = true)]
async fn what_is_pending_can_be_seen() {
    let database = &Database::in_memory().await;
    let (home, away) = two_regions(database).await;
    database.engine.cut_regions("us-east-1", "eu-west-1").await.unwrap();
    home.put("a", "1").await;
    home.put("b", "1").await;
    let status = database.engine.replication_status().await.unwrap();
    let shown: Vec<_> = status
        .iter()
        .map(|pair| (&*pair.namespace.region, &*pair.receiving_region, pair.pending, pair.is_cut))
        .collect();
    assert_eq!(shown, [("eu-west-1", "us-east-1", 0, true), ("us-east-1", "eu-west-1", 2, true)]);
    database.engine.heal_regions("us-east-1", "eu-west-1").await.unwrap();
    away.until("b", Some("1")).await;
}

#[tokio::test(start_paused = true)]
async fn a_region_that_is_lost_is_forgotten_and_what_it_had_alone_is_named() {
    let database = &Database::in_memory().await;
    let (home, away) = two_regions(database).await;
    away.put("sent", "1").await;
    home.until("sent", Some("1")).await;
    database.engine.cut_regions("us-east-1", "eu-west-1").await.unwrap();
    away.put("alone", "1").await;
    home.ok("UpdateTable", replica("Delete", "eu-west-1")).await;
    home.until_replicas(&[("eu-west-1", "DELETING")]).await;
    let lost = database.engine.forget_region("eu-west-1").await.unwrap();
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0].lost, Some(1));
    assert_eq!(lost[0].lost_keys, [r#"{"p":{"S":"alone"},"s":{"S":"s"}}"#]);
    home.until_replicas(&[]).await;
    assert_eq!(home.get("sent").await.as_deref(), Some("1"));
    home.put("after", "1").await;
    assert!(database.engine.forget_region("eu-west-1").await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn there_are_no_global_tables_of_the_first_version() {
    let database = &Database::in_memory().await;
    let (home, _) = two_regions(database).await;
    let create = json!({"GlobalTableName": "Table", "ReplicationGroup": [{"RegionName": "us-east-1"}]});
    home.refused(
        "CreateGlobalTable",
        create,
        "ValidationException",
        "One or more parameter values were invalid: DynamoDB global tables version 2017.11.29 is not supported. We \
         recommend using DynamoDB global tables version 2019.11.21, instead of version 2017.11.29 (Legacy).",
    )
    .await;
    let named = json!({"GlobalTableName": "Table"});
    let missing = "Global table not found: Global table with name: 'Table' does not exist.";
    for operation in ["DescribeGlobalTable", "DescribeGlobalTableSettings", "UpdateGlobalTableSettings"] {
        home.refused(operation, named.clone(), "GlobalTableNotFoundException", missing).await;
    }
    assert_eq!(home.ok("ListGlobalTables", json!({})).await, json!({"GlobalTables": []}));
}
