//! Strong consistency between Regions: replicas are views of the same rows.

use std::sync::atomic::{AtomicBool, Ordering};

use engine::{Caller, Dimensions, Enforcement, Metric, MetricId};
use serde_json::{Value, json};

use crate::database::{Database, on_every_store};
use crate::support::until;

const REGIONS: [&str; 3] = ["us-east-1", "us-east-2", "us-west-2"];
const VALIDATION: &str = "ValidationException";

/// One Region of a database.
struct Region<'a> {
    database: &'a Database,
    caller: Caller,
}

impl Region<'_> {
    async fn call(&self, operation: &str, input: Value) -> Result<Value, crate::database::Failure> {
        self.database.call_as(&self.caller, operation, input).await
    }

    async fn ok(&self, operation: &str, input: Value) -> Value {
        let shown = input.to_string();
        let answer = self.call(operation, input).await;
        answer.unwrap_or_else(|failure| panic!("{operation} {shown}: {failure:?}"))
    }

    async fn refused(&self, operation: &str, input: Value, name: &str, part: &str) {
        let shown = input.to_string();
        let failure = self.call(operation, input).await.expect_err(&shown);
        assert_eq!(failure.name, name, "{shown}: {failure:?}");
        assert!(failure.message.contains(part), "{shown}: {failure:?}");
    }

    async fn put(&self, key: &str, value: &str) {
        let item = json!({"p": {"S": key}, "s": {"S": "s"}, "v": {"S": value}});
        self.ok("PutItem", json!({"TableName": "Table", "Item": item})).await;
    }

    async fn get(&self, key: &str) -> Option<String> {
        let key = json!({"p": {"S": key}, "s": {"S": "s"}});
        let input = json!({"TableName": "Table", "Key": key, "ConsistentRead": true});
        self.ok("GetItem", input).await["Item"]["v"]["S"].as_str().map(str::to_owned)
    }

    async fn table(&self) -> Value {
        self.ok("DescribeTable", json!({"TableName": "Table"})).await["Table"].take()
    }

    async fn is_gone(&self) -> bool {
        let answer = self.call("DescribeTable", json!({"TableName": "Table"})).await;
        answer.is_err_and(|failure| failure.name == "ResourceNotFoundException")
    }

    async fn stream(&self, is_on: bool) {
        let mut specification = json!({"StreamEnabled": is_on});
        if is_on {
            specification["StreamViewType"] = json!("NEW_IMAGE");
        }
        self.ok("UpdateTable", json!({"TableName": "Table", "StreamSpecification": specification})).await;
    }

    /// The changes of a stream, as `INSERT a`, in the order in which they were made.
    async fn changes(&self, arn: &Value) -> Vec<String> {
        let streams = async |operation: &str, input: Value| {
            self.database.call_streams_as(&self.caller, operation, input).await.unwrap()
        };
        let described = streams("DescribeStream", json!({"StreamArn": arn})).await;
        let mut changes = Vec::new();
        for shard in described["StreamDescription"]["Shards"].as_array().unwrap() {
            let input = json!({
                "StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON",
            });
            let iterator = streams("GetShardIterator", input).await["ShardIterator"].take();
            let page = streams("GetRecords", json!({"ShardIterator": iterator})).await;
            for record in page["Records"].as_array().unwrap() {
                assert_eq!(record["awsRegion"], *self.caller.namespace.region, "{record}");
                let number = record["dynamodb"]["SequenceNumber"].as_str().unwrap().to_owned();
                let key = record["dynamodb"]["Keys"]["p"]["S"].as_str().unwrap();
                changes.push((number, format!("{} {key}", record["eventName"].as_str().unwrap())));
            }
        }
        changes.sort();
        changes.into_iter().map(|(_, change)| change).collect()
    }
}

fn region<'a>(database: &'a Database, name: &str) -> Region<'a> {
    Region { database, caller: Caller::new("123456789012", name) }
}

fn strong(creates: &[&str], witness: Option<&str>) -> Value {
    let create = |region: &&str| json!({"Create": {"RegionName": region}});
    let mut input = json!({
        "TableName": "Table", "MultiRegionConsistency": "STRONG",
        "ReplicaUpdates": creates.iter().map(create).collect::<Vec<_>>(),
    });
    if let Some(witness) = witness {
        input["GlobalTableWitnessUpdates"] = json!([{"Create": {"RegionName": witness}}]);
    }
    input
}

fn parting(deletes: &[&str], witness: Option<&str>) -> Value {
    let delete = |region: &&str| json!({"Delete": {"RegionName": region}});
    let mut input = json!({
        "TableName": "Table", "ReplicaUpdates": deletes.iter().map(delete).collect::<Vec<_>>(),
    });
    if let Some(witness) = witness {
        input["GlobalTableWitnessUpdates"] = json!([{"Delete": {"RegionName": witness}}]);
    }
    input
}

/// A strongly consistent table in three Regions.
async fn three_regions(database: &Database) -> [Region<'_>; 3] {
    database.with_table("Table").await;
    let regions = REGIONS.map(|name| region(database, name));
    regions[0].ok("UpdateTable", strong(&REGIONS[1..], None)).await;
    regions
}

async fn no_faults(database: &Database) {
    let found = database.engine.verify().await.unwrap();
    assert_eq!(found.faults, 0, "{found:?}");
}

on_every_store! { two servers {
    async fn a_write_is_in_every_region_when_it_is_acknowledged(database) {
        let regions = three_regions(database).await;
        for round in 0..30 {
            let value = round.to_string();
            regions[round % 3].put("a", &value).await;
            for region in &regions {
                assert_eq!(region.get("a").await.as_deref(), Some(&*value));
            }
        }
        for region in &regions {
            let count = region.ok("Scan", json!({"TableName": "Table", "Select": "COUNT"})).await;
            assert_eq!(count["Count"], 1);
        }
        no_faults(database).await;
    }

    async fn describe_table_shows_the_others_the_consistency_and_the_witness(database) {
        database.with_table("Table").await;
        let [home, away, witness] = REGIONS.map(|name| region(database, name));
        let answer = home.ok("UpdateTable", strong(&["us-east-2"], Some("us-west-2"))).await;
        assert_eq!(answer["TableDescription"]["TableStatus"], "UPDATING");
        let (own, other) = (home.table().await, away.table().await);
        for (table, replica) in [(&own, "us-east-2"), (&other, "us-east-1")] {
            assert_eq!(table["TableStatus"], "ACTIVE");
            assert_eq!(table["MultiRegionConsistency"], "STRONG");
            assert_eq!(table["GlobalTableVersion"], "2019.11.21");
            assert_eq!(table["Replicas"], json!([{"RegionName": replica, "ReplicaStatus": "ACTIVE"}]));
            let witnesses = json!([{"RegionName": "us-west-2", "WitnessStatus": "ACTIVE"}]);
            assert_eq!(table["GlobalTableWitnesses"], witnesses);
            assert_eq!(table["StreamSpecification"], Value::Null, "nothing is sent, so it needs no stream");
        }
        assert_ne!(own["TableId"], other["TableId"]);
        assert!(other["TableArn"].as_str().unwrap().contains("us-east-2"));
        assert!(witness.is_gone().await, "a witness has no table");
    }

    async fn an_index_that_is_made_in_one_region_is_maintained_by_all(database) {
        let [one, two, three] = three_regions(database).await;
        two.put("a", "red").await;
        one.ok("UpdateTable", json!({
            "TableName": "Table",
            "AttributeDefinitions": [{"AttributeName": "v", "AttributeType": "S"}],
            "GlobalSecondaryIndexUpdates": [{"Create": {
                "IndexName": "ByValue", "KeySchema": [{"AttributeName": "v", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }}],
        })).await;
        three.put("b", "red").await;
        until("the index is made", async || {
            three.table().await["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"
        }).await;
        two.put("c", "red").await;
        let input = json!({"TableName": "Table", "IndexName": "ByValue", "Select": "COUNT"});
        for region in [&one, &two, &three] {
            assert_eq!(region.ok("Scan", input.clone()).await["Count"], 3);
        }
        let arn = two.table().await["GlobalSecondaryIndexes"][0]["IndexArn"].take();
        assert!(arn.as_str().unwrap().contains("us-east-2"));
        no_faults(database).await;
        let delete = json!([{"Delete": {"IndexName": "ByValue"}}]);
        two.ok("UpdateTable", json!({"TableName": "Table", "GlobalSecondaryIndexUpdates": delete})).await;
        until("it is gone", async || one.table().await["GlobalSecondaryIndexes"].is_null()).await;
        three.put("d", "red").await;
        no_faults(database).await;
    }

    async fn each_region_has_a_stream_of_its_own_with_the_writes_of_all(database) {
        let [one, two, three] = three_regions(database).await;
        one.put("before", "1").await;
        two.stream(true).await;
        one.put("a", "1").await;
        three.stream(true).await;
        three.put("b", "1").await;
        two.put("a", "2").await;
        let arn = |table: Value| table["LatestStreamArn"].clone();
        let (second, third) = (arn(two.table().await), arn(three.table().await));
        assert_eq!(one.table().await["LatestStreamArn"], Value::Null);
        assert_eq!(two.changes(&second).await, ["INSERT a", "INSERT b", "MODIFY a"]);
        assert_eq!(three.changes(&third).await, ["INSERT b", "MODIFY a"]);
        two.stream(false).await;
        one.put("c", "1").await;
        assert_eq!(two.changes(&second).await, ["INSERT a", "INSERT b", "MODIFY a"], "it has ended");
        assert_eq!(three.changes(&third).await, ["INSERT b", "MODIFY a", "INSERT c"]);
    }

    async fn all_other_replicas_leave_together_and_the_last_one_keeps_the_items(database) {
        let [one, two, three] = three_regions(database).await;
        two.stream(true).await;
        three.put("a", "1").await;
        let arn = two.table().await["LatestStreamArn"].take();
        let name = "Table";
        one.refused("DeleteTable", json!({"TableName": name}), VALIDATION, "Deletion of only one").await;
        one.refused("UpdateTable", parting(&["us-east-2"], None), VALIDATION, "one by one").await;
        one.refused("UpdateTable", strong(&["us-west-1"], None), VALIDATION, "existing global table").await;
        let mut more = strong(&["us-west-1"], None);
        more.as_object_mut().unwrap().remove("MultiRegionConsistency");
        one.refused("UpdateTable", more, VALIDATION, "one by one").await;
        let protect = json!({"TableName": name, "DeletionProtectionEnabled": true});
        two.ok("UpdateTable", protect).await;
        one.refused("UpdateTable", parting(&["us-east-2", "us-west-2"], None), VALIDATION, "protection").await;
        two.ok("UpdateTable", json!({"TableName": name, "DeletionProtectionEnabled": false})).await;
        one.ok("UpdateTable", parting(&["us-east-2", "us-west-2"], None)).await;
        assert!(two.is_gone().await && three.is_gone().await);
        let table = one.table().await;
        for absent in ["Replicas", "MultiRegionConsistency", "GlobalTableVersion", "GlobalTableWitnesses"] {
            assert_eq!(table[absent], Value::Null, "{absent}");
        }
        assert_eq!(one.get("a").await.as_deref(), Some("1"));
        assert_eq!(two.changes(&arn).await, ["INSERT a"], "its last records can be read for a day");
        one.put("b", "1").await;
        no_faults(database).await;
        one.ok("DeleteTable", json!({"TableName": name})).await;
        assert!(one.is_gone().await);
    }

    async fn a_strong_table_has_no_transactions_and_no_time_to_live(database) {
        let [_, two, _] = three_regions(database).await;
        let item = json!({"p": {"S": "a"}, "s": {"S": "s"}});
        let put = json!([{"Put": {"TableName": "Table", "Item": item}}]);
        let get = json!([{"Get": {"TableName": "Table", "Key": item}}]);
        let select = json!([{"Statement": "SELECT * FROM \"Table\" WHERE p = 'a' AND s = 's'"}]);
        let no = "not supported for table Table with MultiRegionConsistency STRONG";
        two.refused("TransactWriteItems", json!({"TransactItems": put}), VALIDATION, no).await;
        two.refused("TransactGetItems", json!({"TransactItems": get}), VALIDATION, no).await;
        two.refused("ExecuteTransaction", json!({"TransactStatements": select}), VALIDATION, no).await;
        let on = json!({"Enabled": true, "AttributeName": "until"});
        let on = json!({"TableName": "Table", "TimeToLiveSpecification": on});
        two.refused("UpdateTimeToLive", on, VALIDATION, no).await;
    }

    async fn settings_are_shared_except_for_those_that_each_region_has_of_its_own(database) {
        let [one, two, three] = three_regions(database).await;
        let max = json!({"MaxReadRequestUnits": 50, "MaxWriteRequestUnits": 40});
        two.ok("UpdateTable", json!({"TableName": "Table", "OnDemandThroughput": max})).await;
        let class = "STANDARD_INFREQUENT_ACCESS";
        three.ok("UpdateTable", json!({"TableName": "Table", "TableClass": class})).await;
        for region in [&one, &two, &three] {
            let table = region.table().await;
            assert_eq!(table["OnDemandThroughput"], max);
            assert_eq!(table["TableClassSummary"]["TableClass"], class);
        }
        let arn = two.table().await["TableArn"].take();
        let tags = json!([{"Key": "of", "Value": "two"}]);
        two.ok("TagResource", json!({"ResourceArn": arn, "Tags": tags})).await;
        let recovery = json!({"PointInTimeRecoveryEnabled": true});
        let recovery = json!({"TableName": "Table", "PointInTimeRecoverySpecification": recovery});
        two.ok("UpdateContinuousBackups", recovery).await;
        let state = async |region: &Region<'_>| {
            let described = region.ok("DescribeContinuousBackups", json!({"TableName": "Table"})).await;
            let description = &described["ContinuousBackupsDescription"];
            description["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"].clone()
        };
        assert_eq!((state(&one).await, state(&two).await), (json!("DISABLED"), json!("ENABLED")));
        let arn = one.table().await["TableArn"].take();
        assert_eq!(one.ok("ListTagsOfResource", json!({"ResourceArn": arn})).await["Tags"], json!([]));
    }
} }

#[tokio::test]
async fn only_an_empty_plain_table_in_regions_that_belong_together_becomes_strong() {
    let database = Database::in_memory().await;
    database.with_table("Table").await;
    let home = region(&database, "us-east-1");
    let refused = async |input: Value, part: &str| home.refused("UpdateTable", input, VALIDATION, part).await;
    refused(strong(&["us-east-2"], None), "exactly three Regions").await;
    refused(strong(&["us-east-2", "us-east-2"], None), "exactly three Regions").await;
    refused(strong(&["us-east-2", "us-west-2"], Some("us-west-1")), "exactly three Regions").await;
    refused(strong(&["us-east-2"], Some("us-east-2")), "exactly three Regions").await;
    refused(strong(&["us-east-1", "us-west-2"], None), "Cannot add or delete the local region").await;
    refused(strong(&["us-east-2", "us-moon-1"], None), "Region us-moon-1 is not supported").await;
    refused(strong(&["us-east-2", "eu-west-1"], None), "not supported between the Regions").await;
    let mut alone = strong(&["us-east-2"], Some("us-west-2"));
    alone.as_object_mut().unwrap().remove("MultiRegionConsistency");
    refused(alone, "A witness is created together with").await;
    let only = json!({"TableName": "Table", "MultiRegionConsistency": "STRONG"});
    refused(only, "At least one of").await;
    let input = json!({"TableName": "Table", "MultiRegionConsistency": "STRONG", "ReplicaUpdates": [
        {"Create": {"RegionName": "us-east-2"}}, {"Delete": {"RegionName": "us-west-2"}},
    ]});
    refused(input, "[us-west-2]").await;
    home.put("a", "1").await;
    refused(strong(&REGIONS[1..], None), "it is not empty").await;
    let key = json!({"p": {"S": "a"}, "s": {"S": "s"}});
    home.ok("DeleteItem", json!({"TableName": "Table", "Key": key})).await;
    let on = |is_on: bool| {
        let on = json!({"Enabled": is_on, "AttributeName": "until"});
        json!({"TableName": "Table", "TimeToLiveSpecification": on})
    };
    home.ok("UpdateTimeToLive", on(true)).await;
    refused(strong(&REGIONS[1..], None), "its Time to Live is enabled").await;
    home.ok("UpdateTimeToLive", on(false)).await;
    home.ok("UpdateTable", strong(&REGIONS[1..], None)).await;
}

#[tokio::test]
async fn a_region_that_has_a_table_of_the_name_gets_no_replica() {
    let database = Database::in_memory().await;
    database.with_table("Table").await;
    let [home, away, _] = REGIONS.map(|name| region(&database, name));
    let table = json!({
        "TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
    });
    away.ok("CreateTable", table.clone()).await;
    home.refused("UpdateTable", strong(&REGIONS[1..], None), VALIDATION, "already existed as tables").await;
    away.ok("DeleteTable", json!({"TableName": "Table"})).await;
    home.ok("UpdateTable", strong(&REGIONS[1..], None)).await;
    away.refused("CreateTable", table, "ResourceInUseException", "Table already exists").await;
}

#[tokio::test]
async fn two_deletions_at_once_are_refused_where_consistency_is_eventual() {
    let database = Database::in_memory().await;
    database.with_table("Table").await;
    let home = region(&database, "us-east-1");
    let input = parting(&["us-east-2", "us-west-2"], None);
    home.refused("UpdateTable", input, VALIDATION, "more than one create or delete").await;
}

#[tokio::test]
async fn states_pass_in_order_and_an_interrupted_parting_goes_on() {
    let database = Database::delayed().await;
    database.with_table("Table").await;
    database.until_active("Table").await;
    let [home, away, third] = REGIONS.map(|name| region(&database, name));
    home.ok("UpdateTable", strong(&REGIONS[1..], None)).await;
    let table = home.table().await;
    assert_eq!(
        (&table["TableStatus"], &table["Replicas"][0]["ReplicaStatus"]),
        (&json!("UPDATING"), &json!("CREATING"))
    );
    assert_eq!(away.table().await["TableStatus"], "CREATING");
    let item = json!({"TableName": "Table", "Item": {"p": {"S": "a"}, "s": {"S": "s"}}});
    assert_eq!(away.call("PutItem", item).await.unwrap_err().name, "ResourceNotFoundException");
    until("all are active", async || {
        let states = [home.table().await, third.table().await];
        states.iter().all(|table| {
            table["TableStatus"] == "ACTIVE" && table["Replicas"][1]["ReplicaStatus"] == "ACTIVE"
        })
    })
    .await;
    home.put("a", "1").await;
    home.ok("UpdateTable", parting(&["us-east-2", "us-west-2"], None)).await;
    assert_eq!(home.table().await["Replicas"][0]["ReplicaStatus"], "DELETING");
    home.refused(
        "UpdateTable",
        parting(&["us-east-2", "us-west-2"], None),
        "ResourceInUseException",
        "in use",
    )
    .await;
    let database = database.restarted().await;
    let [home, away, third] = REGIONS.map(|name| region(&database, name));
    until("the others are gone", async || away.is_gone().await && third.is_gone().await).await;
    assert_eq!(home.table().await["MultiRegionConsistency"], Value::Null);
    assert_eq!(home.get("a").await.as_deref(), Some("1"));
    no_faults(&database).await;
}

#[tokio::test]
async fn a_write_that_meets_one_of_another_region_is_refused_and_may_be_tried_again() {
    let database = Database::on_lsm().await;
    let [one, two, _] = three_regions(&database).await;
    let is_met = AtomicBool::new(false);
    let write = async |region: &Region<'_>, name: &str| {
        let add = json!({
            "TableName": "Table", "Key": {"p": {"S": "counter"}, "s": {"S": "s"}},
            "UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}},
        });
        let mut written = 0;
        for _ in 0..2000 {
            match region.call("UpdateItem", add.clone()).await {
                Ok(_) => written += 1,
                Err(failure) => {
                    assert_eq!(failure.name, "ReplicatedWriteConflictException", "{name}: {failure:?}");
                    is_met.store(true, Ordering::Relaxed);
                }
            }
            if is_met.load(Ordering::Relaxed) && written > 0 {
                break;
            }
            tokio::task::yield_now().await;
        }
        written
    };
    let (first, second) = tokio::join!(write(&one, "one"), write(&two, "two"));
    assert!(is_met.load(Ordering::Relaxed), "writes of two Regions to one item have met");
    let key = json!({"p": {"S": "counter"}, "s": {"S": "s"}});
    let read = json!({"TableName": "Table", "Key": key, "ConsistentRead": true});
    let count = one.ok("GetItem", read).await["Item"]["n"]["N"].as_str().unwrap().to_owned();
    assert_eq!(count, (first + second).to_string(), "what was refused was not written");
}

#[tokio::test]
async fn a_write_is_charged_in_every_region_and_a_read_in_its_own() {
    let database = Database::with_capacity(Enforcement::Shadow).await;
    let [one, two, three] = three_regions(&database).await;
    one.put("a", "1").await;
    one.get("a").await;
    let used = async |region: &Region<'_>, metric: Metric| {
        let dimensions = Dimensions { table: Some("Table".into()), ..Dimensions::default() };
        let id = MetricId { metric, dimensions };
        let points = database.engine.metric_points(&region.caller.namespace, &id, 0, 1 << 40).await.unwrap();
        points.iter().map(|(_, point)| point.sum).sum::<f64>()
    };
    for (region, reads) in [(&one, 1.0), (&two, 0.0), (&three, 0.0)] {
        assert_eq!(used(region, Metric::ConsumedWriteCapacityUnits).await, 1.0);
        assert_eq!(used(region, Metric::ConsumedReadCapacityUnits).await, reads);
    }
}

#[tokio::test]
async fn a_replica_is_restored_to_a_point_in_time_that_is_before_writes_of_another_region() {
    let database = Database::in_memory().await;
    let [one, two, _] = three_regions(&database).await;
    let recovery = json!({"PointInTimeRecoveryEnabled": true});
    let recovery = json!({"TableName": "Table", "PointInTimeRecoverySpecification": recovery});
    two.ok("UpdateContinuousBackups", recovery).await;
    one.put("a", "1").await;
    database.pass_ms(10_000);
    let between_s = 1_800_000_010;
    database.pass_ms(10_000);
    one.put("a", "2").await;
    one.put("b", "2").await;
    let restore = json!({
        "SourceTableName": "Table", "TargetTableName": "Restored", "RestoreDateTime": between_s,
    });
    two.ok("RestoreTableToPointInTime", restore).await;
    until("it is restored", async || {
        let table = two.ok("DescribeTable", json!({"TableName": "Restored"})).await;
        table["Table"]["TableStatus"] == "ACTIVE"
    })
    .await;
    let items = two.ok("Scan", json!({"TableName": "Restored"})).await["Items"].take();
    assert_eq!(items, json!([{"p": {"S": "a"}, "s": {"S": "s"}, "v": {"S": "1"}}]));
}
