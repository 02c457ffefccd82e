//! Contributor Insights: which keys of a table or index are used most, and which are throttled most.

use std::collections::HashMap;

use engine::{Dimensions, Enforcement, InsightMinute, Metric, MetricId, Namespace};
use serde_json::{Value, json};

use crate::database::{Database, on_every_store};
use crate::support::until;

fn namespace() -> Namespace {
    Namespace::new("123456789012", "us-east-1")
}

/// A table with a local index on `t` and a global one on `g`.
async fn table(database: &Database, name: &str) {
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let keys = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let index = |name: &str, keys: Value| json!({"IndexName": name, "KeySchema": keys, "Projection": {"ProjectionType": "KEYS_ONLY"}});
    database
        .ok(
            "CreateTable",
            json!({
                "TableName": name, "BillingMode": "PAY_PER_REQUEST", "KeySchema": keys("p", "s"),
                "AttributeDefinitions": (["p", "s", "t", "g"].map(attribute)),
                "LocalSecondaryIndexes": [index("byT", keys("p", "t"))],
                "GlobalSecondaryIndexes": [index("byG", json!([{"AttributeName": "g", "KeyType": "HASH"}]))],
            }),
        )
        .await;
}

async fn switch(database: &Database, action: &str, rest: Value) -> Value {
    let mut input = json!({"TableName": "Table", "ContributorInsightsAction": action});
    for (name, value) in rest.as_object().unwrap() {
        input[name] = value.clone();
    }
    database.ok("UpdateContributorInsights", input).await
}

async fn describe(database: &Database, index: Option<&str>) -> Value {
    let mut input = json!({"TableName": "Table"});
    if let Some(index) = index {
        input["IndexName"] = json!(index);
    }
    database.ok("DescribeContributorInsights", input).await
}

/// The name of a rule of table `Table`, or of its index, by its code.
async fn rule(database: &Database, index: Option<&str>, code: &str) -> String {
    let described = describe(database, index).await;
    let rules = described["ContributorInsightsRuleList"].as_array().cloned().unwrap_or_default();
    let named = |rule: &&Value| rule.as_str().unwrap().split('-').nth(1) == Some(code);
    rules
        .iter()
        .find(named)
        .unwrap_or_else(|| panic!("no {code} in {described}"))
        .as_str()
        .unwrap()
        .to_owned()
}

async fn minutes(database: &Database, index: Option<&str>, code: &str) -> Vec<InsightMinute> {
    let rule = rule(database, index, code).await;
    database.engine.insight_minutes(&namespace(), &rule, 0..u64::MAX).await.unwrap().unwrap().1
}

/// What a rule has counted, by key, the largest first.
async fn counted(database: &Database, index: Option<&str>, code: &str) -> Vec<(String, f64)> {
    let mut sums: HashMap<String, f64> = HashMap::new();
    for minute in minutes(database, index, code).await {
        for (key, value) in minute.contributors {
            *sums.entry(key.join("|")).or_default() += value;
        }
    }
    let mut sums: Vec<(String, f64)> = sums.into_iter().collect();
    sums.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    sums
}

fn sums(expected: &[(&str, f64)]) -> Vec<(String, f64)> {
    expected.iter().map(|(key, sum)| ((*key).to_owned(), *sum)).collect()
}

on_every_store! { one server {
    async fn keys_are_counted_by_three_write_units_and_one_read_unit(database) {
        table(database, "Table").await;
        switch(database, "ENABLE", json!({})).await;
        switch(database, "ENABLE", json!({"IndexName": "byG"})).await;
        let item = |p: &str, s: &str| json!({"p": {"S": p}, "s": {"S": s}, "g": {"S": "group"}});
        database.put(item("hot", "1")).await;
        database.put(item("hot", "2")).await;
        database.put(item("cold", "1")).await;
        database.get(json!({"p": {"S": "cold"}, "s": {"S": "1"}})).await;
        let query = |index: Option<&str>, name: &str, value: &str| {
            let mut query = json!({
                "TableName": "Table", "KeyConditionExpression": "#k = :k", "ExpressionAttributeNames": {"#k": name},
                "ExpressionAttributeValues": {":k": {"S": value}},
            });
            if let Some(index) = index {
                query["IndexName"] = json!(index);
            }
            query
        };
        database.ok("Query", query(None, "p", "hot")).await;
        database.ok("Query", query(Some("byG"), "g", "group")).await;
        database.ok("Scan", json!({"TableName": "Table"})).await;
        database.ok("ExecuteStatement", json!({"Statement": "SELECT * FROM \"Table\" WHERE p = 'cold'"})).await;
        assert_eq!(counted(database, None, "PKC").await, sums(&[("hot", 6.5), ("cold", 4.0)]));
        assert_eq!(counted(database, None, "SKC").await, sums(&[("cold|1", 4.0), ("hot|1", 3.0), ("hot|2", 3.0)]));
        assert_eq!(counted(database, None, "PKT").await, []);
        assert_eq!(counted(database, Some("byG"), "PKC").await, sums(&[("group", 9.5)]));
    }

    async fn what_was_counted_outlives_a_restart(database) {
        table(database, "Table").await;
        switch(database, "ENABLE", json!({})).await;
        database.put(json!({"p": {"S": "a"}, "s": {"S": "1"}})).await;
        let database = &database.restarted().await;
        database.put(json!({"p": {"S": "a"}, "s": {"S": "1"}})).await;
        database.pass_ms(60_000);
        database.put(json!({"p": {"S": "b"}, "s": {"S": "1"}})).await;
        let database = &database.restarted().await;
        assert_eq!(counted(database, None, "PKC").await, sums(&[("a", 6.0), ("b", 3.0)]));
    }
}}

#[tokio::test]
async fn batches_and_transactions_count_each_of_their_items() {
    let database = Database::in_memory().await;
    table(&database, "Table").await;
    switch(&database, "ENABLE", json!({})).await;
    let item = |p: &str| json!({"p": {"S": p}, "s": {"S": "1"}});
    let puts = ["a", "b"].map(|p| json!({"PutRequest": {"Item": item(p)}}));
    database.ok("BatchWriteItem", json!({"RequestItems": {"Table": puts}})).await;
    database.ok("BatchGetItem", json!({"RequestItems": {"Table": {"Keys": [item("a"), item("c")]}}})).await;
    let put = json!({"Put": {"TableName": "Table", "Item": item("c")}});
    database.ok("TransactWriteItems", json!({"TransactItems": [put]})).await;
    assert_eq!(counted(&database, None, "PKC").await, sums(&[("c", 6.5), ("a", 3.5), ("b", 3.0)]));
}

#[tokio::test]
async fn an_item_that_leaves_an_index_counts_under_the_key_that_it_had() {
    let database = Database::in_memory().await;
    table(&database, "Table").await;
    switch(&database, "ENABLE", json!({"IndexName": "byG"})).await;
    database.put(json!({"p": {"S": "a"}, "s": {"S": "1"}, "g": {"S": "old"}})).await;
    database.put(json!({"p": {"S": "a"}, "s": {"S": "1"}})).await;
    assert_eq!(counted(&database, Some("byG"), "PKC").await, sums(&[("old", 6.0)]));
}

#[tokio::test]
async fn keys_are_shown_as_text_numbers_and_base64() {
    let database = Database::in_memory().await;
    database
        .ok(
            "CreateTable",
            json!({
                "TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
                "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
                "AttributeDefinitions": [
                    {"AttributeName": "p", "AttributeType": "N"}, {"AttributeName": "s", "AttributeType": "B"},
                ],
            }),
        )
        .await;
    switch(&database, "ENABLE", json!({})).await;
    database.put(json!({"p": {"N": "1.50e2"}, "s": {"B": "AAECAw=="}})).await;
    assert_eq!(counted(&database, None, "SKC").await, sums(&[("150|AAECAw==", 3.0)]));
    let rules = database.engine.insight_rules(&namespace());
    assert_eq!(rules.iter().map(|rule| rule.key_labels.len()).collect::<Vec<_>>(), [1, 1, 2, 2]);
    assert_eq!(rules[2].key_labels, ["p", "s"]);
}

/// A table with 1 read unit and 100 write units, and an index with 1 write unit.
async fn small_table(database: &Database) {
    let units = |read: u64, write: u64| json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write});
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let hash = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    database
        .ok(
            "CreateTable",
            json!({
                "TableName": "Table", "KeySchema": hash("p"), "AttributeDefinitions": (["p", "g"].map(attribute)),
                "ProvisionedThroughput": units(1, 100),
                "GlobalSecondaryIndexes": [{
                    "IndexName": "byG", "KeySchema": hash("g"), "Projection": {"ProjectionType": "KEYS_ONLY"},
                    "ProvisionedThroughput": units(1, 1),
                }],
            }),
        )
        .await;
}

/// How many of 2,000 reads of one key are refused.
async fn read_hot_key(database: &Database) -> f64 {
    let get = || database.call("GetItem", json!({"TableName": "Table", "Key": {"p": {"S": "hot"}}}));
    let mut refused = 0.0;
    for _ in 0..2_000 {
        refused += f64::from(u8::from(get().await.is_err()));
    }
    refused
}

/// How many of 1,000 writes, each of which changes the index key, are refused.
async fn move_item(database: &Database) -> f64 {
    let mut refused = 0.0;
    for number in 0..1_000 {
        let group = if number % 2 == 0 { "group" } else { "other" };
        let item = json!({"p": {"S": "a"}, "g": {"S": group}});
        let put = database.call("PutItem", json!({"TableName": "Table", "Item": item})).await;
        refused += f64::from(u8::from(put.is_err()));
    }
    refused
}

#[tokio::test]
async fn throttled_requests_are_counted_by_key_and_refusals_of_an_index_are_not() {
    let database = Database::with_capacity(Enforcement::Declared).await;
    small_table(&database).await;
    let mode = json!({"ContributorInsightsMode": "THROTTLED_KEYS"});
    switch(&database, "ENABLE", mode.clone()).await;
    switch(&database, "ENABLE", json!({"IndexName": "byG", "ContributorInsightsMode": "THROTTLED_KEYS"}))
        .await;
    let refused = read_hot_key(&database).await;
    assert!(refused > 100.0);
    assert_eq!(counted(&database, None, "PKT").await, sums(&[("hot", refused)]));
    assert!(move_item(&database).await > 0.0);
    assert_eq!(counted(&database, Some("byG"), "PKT").await, []);
    assert_eq!(counted(&database, None, "PKT").await, sums(&[("hot", refused)]));
}

/// The question that people have who look for hot keys before they go to AWS.
#[tokio::test]
async fn where_nothing_is_refused_the_throttled_keys_are_those_that_aws_would_throttle() {
    let database = Database::with_capacity(Enforcement::Shadow).await;
    small_table(&database).await;
    switch(&database, "ENABLE", json!({})).await;
    switch(&database, "ENABLE", json!({"IndexName": "byG"})).await;
    assert_eq!(read_hot_key(&database).await, 0.0, "everything is served");
    let id = MetricId {
        metric: Metric::ShadowReadThrottleEvents,
        dimensions: Dimensions { table: Some("Table".into()), ..Dimensions::default() },
    };
    let points = database.engine.metric_points(&namespace(), &id, 0, 1 << 40).await.unwrap();
    let would_be_refused: f64 = points.iter().map(|(_, cell)| cell.sum).sum();
    assert!(would_be_refused > 100.0);
    assert_eq!(counted(&database, None, "PKT").await, sums(&[("hot", would_be_refused)]));
    // A read that would be refused is served, so it is also a read of the key: 2,000 of half a unit.
    assert_eq!(counted(&database, None, "PKC").await, sums(&[("hot", 1_000.0)]));
    assert_eq!(move_item(&database).await, 0.0);
    assert_eq!(counted(&database, Some("byG"), "PKT").await, [], "an index holds writes up, not a key");
    assert_eq!(counted(&database, None, "PKT").await, sums(&[("hot", would_be_refused)]));
}

/// The draws are such that the n-th key is drawn 1/n as often as the first.
#[tokio::test]
async fn the_top_10_of_a_million_keys_is_found_within_5_percent_in_under_4_megabytes() {
    const KEYS: usize = 1_000_000;
    let database = Database::in_memory().await;
    table(&database, "Table").await;
    switch(&database, "ENABLE", json!({})).await;
    let mut up_to = Vec::with_capacity(KEYS);
    let mut sum = 0.0;
    for rank in 1..=KEYS {
        sum += 1.0 / rank as f64;
        up_to.push(sum);
    }
    let (mut state, mut exact) = (1_u64, HashMap::<usize, f64>::new());
    for batch in 0..400 {
        let mut keys = HashMap::new();
        while keys.len() < 100 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let chance = (state >> 11) as f64 / (1_u64 << 53) as f64 * sum;
            let key = up_to.partition_point(|up_to| *up_to < chance);
            // A batch has each key once.
            keys.entry(key)
                .or_insert_with(|| json!({"p": {"S": format!("CUSTOMER#{key:07}")}, "s": {"S": "1"}}));
        }
        keys.keys().for_each(|key| *exact.entry(*key).or_default() += 0.5);
        let keys: Vec<Value> = keys.into_values().collect();
        database.ok("BatchGetItem", json!({"RequestItems": {"Table": {"Keys": keys}}})).await;
        assert!(database.engine.insight_bytes(&namespace(), "Table") < 4_000_000, "after batch {batch}");
    }
    let mut exact: Vec<(usize, f64)> = exact.into_iter().collect();
    exact.sort_by(|one, other| other.1.total_cmp(&one.1));
    // Keys with equal counts in the tenth and eleventh place can't be told apart.
    let least = exact[9].1;
    let found = counted(&database, None, "PKC").await;
    for (key, value) in found.iter().take(10) {
        let number: usize = key.trim_start_matches("CUSTOMER#").parse().unwrap();
        let (_, count) = *exact.iter().find(|(key, _)| *key == number).unwrap();
        assert!(count >= least, "{key} is not among the first ten");
        assert!(*value <= count && count <= *value * 1.05, "{key}: {value} of {count}");
    }
    assert_eq!(found.len(), 100);
}

#[tokio::test]
async fn insights_are_switched_for_the_table_and_for_each_global_index_by_itself() {
    let database = Database::in_memory().await;
    table(&database, "Table").await;
    let never = json!({"TableName": "Table", "ContributorInsightsStatus": "DISABLED"});
    assert_eq!(describe(&database, None).await, never);
    // Switching off what is off changes nothing.
    assert_eq!(switch(&database, "DISABLE", json!({})).await, never);
    let enabled = switch(&database, "ENABLE", json!({})).await;
    assert_eq!(
        enabled,
        json!({
            "TableName": "Table", "ContributorInsightsStatus": "ENABLING",
            "ContributorInsightsMode": "ACCESSED_AND_THROTTLED_KEYS",
        })
    );
    let described = describe(&database, None).await;
    assert_eq!(described["ContributorInsightsStatus"], "ENABLED");
    assert_eq!(described["LastUpdateDateTime"].as_f64(), Some(1_800_000_000.0));
    assert_eq!(
        described["ContributorInsightsRuleList"],
        json!([
            "DynamoDBContributorInsights-PKC-Table-1800000000000",
            "DynamoDBContributorInsights-SKC-Table-1800000000000",
            "DynamoDBContributorInsights-PKT-Table-1800000000000",
            "DynamoDBContributorInsights-SKT-Table-1800000000000",
        ])
    );
    let index = describe(&database, Some("byG")).await;
    let off = json!({"TableName": "Table", "IndexName": "byG", "ContributorInsightsStatus": "DISABLED"});
    assert_eq!(index, off);
    switch(&database, "ENABLE", json!({"IndexName": "byG"})).await;
    let rules = describe(&database, Some("byG")).await["ContributorInsightsRuleList"].take();
    assert_eq!(
        rules,
        json!([
            "DynamoDBContributorInsights-PKC-Table-byG-1800000000000",
            "DynamoDBContributorInsights-PKT-Table-byG-1800000000000",
        ])
    );
}

#[tokio::test]
async fn the_mode_decides_which_rules_there_are_and_enabling_again_makes_new_ones() {
    let database = Database::in_memory().await;
    table(&database, "Table").await;
    switch(&database, "ENABLE", json!({})).await;
    database.put(json!({"p": {"S": "a"}, "s": {"S": "1"}})).await;
    let first = rule(&database, None, "PKT").await;
    database.pass_ms(1_000);
    let again = switch(&database, "ENABLE", json!({})).await;
    assert_eq!(again["ContributorInsightsStatus"], "ENABLED", "nothing changed");
    assert_eq!(describe(&database, None).await["LastUpdateDateTime"].as_f64(), Some(1_800_000_000.0));
    let other = switch(&database, "ENABLE", json!({"ContributorInsightsMode": "THROTTLED_KEYS"})).await;
    assert_eq!(other["ContributorInsightsMode"], "THROTTLED_KEYS");
    let described = describe(&database, None).await;
    assert_eq!(described["ContributorInsightsRuleList"].as_array().map(Vec::len), Some(2));
    assert_eq!(rule(&database, None, "PKT").await, first);
    // Without a mode it is the one that counts everything.
    let back = switch(&database, "ENABLE", json!({})).await;
    assert_eq!(back["ContributorInsightsMode"], "ACCESSED_AND_THROTTLED_KEYS");
    assert_eq!(rule(&database, None, "PKT").await, first);
    assert!(rule(&database, None, "PKC").await.ends_with("-1800000001000"));
    assert_eq!(counted(&database, None, "PKC").await, []);
    let off = switch(&database, "DISABLE", json!({"ContributorInsightsMode": "THROTTLED_KEYS"})).await;
    assert_eq!(off["ContributorInsightsStatus"], "DISABLING");
    let described = describe(&database, None).await;
    assert_eq!(described["ContributorInsightsStatus"], "DISABLED");
    assert_eq!(described["ContributorInsightsMode"], "ACCESSED_AND_THROTTLED_KEYS");
    assert_eq!(described["ContributorInsightsRuleList"], Value::Null);
    assert_eq!(database.engine.insight_rules(&namespace()), []);
    assert!(database.engine.insight_minutes(&namespace(), &first, 0..u64::MAX).await.unwrap().is_none());
    database.pass_ms(120_000);
    switch(&database, "ENABLE", json!({})).await;
    assert_ne!(rule(&database, None, "PKT").await, first);
}

#[tokio::test]
async fn what_is_off_is_not_listed_and_pages_are_full() {
    let database = Database::in_memory().await;
    for name in ["Alpha", "Beta", "Gamma"] {
        table(&database, name).await;
        let on = |rest: Value| {
            let mut input = json!({"TableName": name, "ContributorInsightsAction": "ENABLE"});
            input.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            input
        };
        if name != "Beta" {
            database.ok("UpdateContributorInsights", on(json!({}))).await;
        }
        database.ok("UpdateContributorInsights", on(json!({"IndexName": "byG"}))).await;
    }
    let (mut listed, mut token) = (Vec::new(), Value::Null);
    loop {
        let mut input = json!({"MaxResults": 2});
        if !token.is_null() {
            input["NextToken"] = token;
        }
        let page = database.ok("ListContributorInsights", input).await;
        for one in page["ContributorInsightsSummaries"].as_array().unwrap() {
            assert_eq!(one["ContributorInsightsStatus"], "ENABLED");
            listed.push(format!(
                "{}/{}",
                one["TableName"].as_str().unwrap(),
                one["IndexName"].as_str().unwrap_or("")
            ));
        }
        token = page["NextToken"].clone();
        if token.is_null() {
            break;
        }
    }
    assert_eq!(listed, ["Alpha/", "Alpha/byG", "Beta/byG", "Gamma/", "Gamma/byG"]);
    let of_one = database.ok("ListContributorInsights", json!({"TableName": "Beta"})).await;
    assert_eq!(of_one["ContributorInsightsSummaries"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn what_does_not_exist_has_no_insights() {
    let database = Database::in_memory().await;
    table(&database, "Table").await;
    let on = |table: &str, index: Option<&str>| {
        let mut input = json!({"TableName": table, "ContributorInsightsAction": "ENABLE"});
        if let Some(index) = index {
            input["IndexName"] = json!(index);
        }
        input
    };
    let (name, gone) = ("ResourceNotFoundException", "Requested resource not found: Table: Gone not found");
    database.refused("UpdateContributorInsights", on("Gone", None), name, gone).await;
    database.refused("DescribeContributorInsights", json!({"TableName": "Gone"}), name, gone).await;
    database.refused("ListContributorInsights", json!({"TableName": "Gone"}), name, gone).await;
    for index in ["none", "byT"] {
        let message = format!("Requested resource not found: Index {index} for table Table");
        database.refused("UpdateContributorInsights", on("Table", Some(index)), name, &message).await;
        let input = json!({"TableName": "Table", "IndexName": index});
        database.refused("DescribeContributorInsights", input, name, &message).await;
    }
    database
        .refused(
            "UpdateContributorInsights",
            json!({"TableName": "Table", "ContributorInsightsAction": "PERHAPS"}),
            "ValidationException",
            "1 validation error detected: Value 'PERHAPS' at 'contributorInsightsAction' failed to satisfy \
             constraint: Member must satisfy enum value set: [ENABLE, DISABLE]",
        )
        .await;
}

#[tokio::test]
async fn a_table_that_is_being_created_has_to_be_active_first() {
    let database = Database::delayed().await;
    table(&database, "Table").await;
    let input = json!({"TableName": "Table", "ContributorInsightsAction": "ENABLE"});
    let message = "TableStatus must be ACTIVE";
    database.refused("UpdateContributorInsights", input, "ValidationException", message).await;
}

#[tokio::test]
async fn an_account_has_room_for_100_rules() {
    let database = Database::in_memory().await;
    for number in 0..26 {
        let name = format!("Table{number}");
        database.with_table(&name).await;
        let input = json!({"TableName": name, "ContributorInsightsAction": "ENABLE"});
        database.ok("UpdateContributorInsights", input).await;
    }
    assert_eq!(database.engine.insight_rules(&namespace()).len(), 100);
    let failed = database.ok("DescribeContributorInsights", json!({"TableName": "Table25"})).await;
    assert_eq!(failed["ContributorInsightsStatus"], "FAILED");
    assert_eq!(failed["FailureException"]["ExceptionName"], "LimitExceededException");
    assert_eq!(failed["ContributorInsightsRuleList"], Value::Null);
    let listed = database.ok("ListContributorInsights", json!({"TableName": "Table25"})).await;
    assert_eq!(listed["ContributorInsightsSummaries"][0]["ContributorInsightsStatus"], "FAILED");
    let off = json!({"TableName": "Table0", "ContributorInsightsAction": "DISABLE"});
    database.ok("UpdateContributorInsights", off).await;
    let on = json!({"TableName": "Table25", "ContributorInsightsAction": "ENABLE"});
    assert_eq!(database.ok("UpdateContributorInsights", on).await["ContributorInsightsStatus"], "ENABLING");
}

#[tokio::test]
async fn the_rule_of_a_table_with_a_long_name_has_a_name_that_cloudwatch_takes() {
    let database = Database::in_memory().await;
    let name = "n".repeat(250);
    database.with_table(&name).await;
    let input = json!({"TableName": name, "ContributorInsightsAction": "ENABLE"});
    database.ok("UpdateContributorInsights", input).await;
    for rule in database.engine.insight_rules(&namespace()) {
        assert_eq!(rule.name.len(), 128);
        assert!(rule.name.ends_with("-1800000000000"), "{}", rule.name);
    }
}

#[tokio::test]
async fn a_dropped_table_leaves_no_rules_and_no_rows() {
    let database = Database::in_memory().await;
    table(&database, "Table").await;
    switch(&database, "ENABLE", json!({})).await;
    database.put(json!({"p": {"S": "a"}, "s": {"S": "1"}})).await;
    let database = database.restarted().await;
    assert_eq!(database.count_rows(11..=11).await, 2);
    database.ok("DeleteTable", json!({"TableName": "Table"})).await;
    assert_eq!(database.engine.insight_rules(&namespace()), []);
    until("no rows are left", async || database.count_rows(11..=11).await == 0).await;
}
