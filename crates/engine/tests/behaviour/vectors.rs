use std::collections::BTreeMap;

use engine::Options;
use serde_json::{Value, json};

use crate::database::{Database, on_every_store};
use crate::support::until;

const INVALID: &str = "One or more parameter values were invalid: ";

/// The index `ByV` of the attribute `v`, which holds two numbers; with these members in place of the usual ones.
fn index(members: Value) -> Value {
    let mut index = json!({
        "IndexName": "ByV", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2, "DistanceFunction": "EUCLIDEAN",
        "Projection": {"ProjectionType": "ALL"},
    });
    for (name, value) in members.as_object().unwrap() {
        index[name] = value.clone();
    }
    index
}

/// A SearchSchema with the partition key `c` and the filter `f`.
fn schema() -> Value {
    let element = |name, kind| json!({"AttributeName": name, "SearchSchemaElementType": kind});
    json!([element("c", "HASH"), element("f", "INLINE_FILTER")])
}

/// A request for the table `Table` (p) with these indexes; `c` and `f` are defined if `defines` says so.
fn table(indexes: Value, defines: &[&str]) -> Value {
    let definition = |name: &&str| json!({"AttributeName": name, "AttributeType": "S"});
    let definitions: Value = ["p"].iter().chain(defines).map(definition).collect();
    json!({
        "TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": definitions,
        "VectorIndexes": indexes,
    })
}

async fn with_index(database: &Database, members: Value) {
    database.ok("CreateTable", table(json!([index(members)]), &[])).await;
}

async fn with_schema(database: &Database) {
    let index = index(json!({"SearchSchema": schema()}));
    database.ok("CreateTable", table(json!([index]), &["c", "f"])).await;
}

fn numbers(vector: &[f32]) -> Value {
    vector.iter().map(|number| json!({"N": number.to_string()})).collect()
}

fn item(p: &str, vector: &[f32]) -> Value {
    json!({"p": {"S": p}, "v": {"L": numbers(vector)}})
}

/// An item in a partition, with a value of the filter.
fn filed(p: &str, c: &str, f: &str, vector: &[f32]) -> Value {
    let mut item = item(p, vector);
    (item["c"], item["f"]) = (json!({"S": c}), json!({"S": f}));
    item
}

fn search(vector: &[f32], top_k: usize) -> Value {
    json!({"TableName": "Table", "IndexName": "ByV", "SearchVector": numbers(vector), "TopK": top_k})
}

/// A search on a condition about `:c` and `:f`.
fn search_where(condition: &str, values: Value) -> Value {
    let mut search = search(&[0.0, 0.0], 10);
    search["SearchConditionExpression"] = json!(condition);
    search["ExpressionAttributeValues"] = values;
    search
}

/// The keys and the scores of what is found.
async fn found(database: &Database, search: Value) -> Vec<(String, f64)> {
    let results = database.ok("SearchVectors", search).await["SearchResults"].take();
    let result = |result: &Value| {
        (result["Item"]["p"]["S"].as_str().unwrap().to_owned(), result["Score"].as_f64().unwrap())
    };
    results.as_array().unwrap().iter().map(result).collect()
}

async fn keys_found(database: &Database, search: Value) -> Vec<String> {
    found(database, search).await.into_iter().map(|(key, _)| key).collect()
}

async fn refused(database: &Database, operation: &str, input: Value, message: &str) {
    database.refused(operation, input, "ValidationException", message).await;
}

fn put(item: Value) -> Value {
    json!({"TableName": "Table", "Item": item})
}

on_every_store! {
    async fn the_nearest_come_first_by_each_distance_function(database) {
        let vectors = [("same", [1.0, 0.0]), ("long", [10.0, 0.0]), ("across", [0.0, 1.0]), ("against", [-1.0, 0.0])];
        let scores = |scores: [(&str, f64); 4]| scores.map(|(key, score)| (key.to_owned(), score)).to_vec();
        for (function, expected) in [
            ("COSINE", scores([("long", 0.0), ("same", 0.0), ("across", 1.0), ("against", 2.0)])),
            ("EUCLIDEAN", scores([("same", 0.0), ("across", 2f64.sqrt()), ("against", 2.0), ("long", 9.0)])),
            ("DOT_PRODUCT", scores([("long", 10.0), ("same", 1.0), ("across", 0.0), ("against", -1.0)])),
        ] {
            with_index(database, json!({"DistanceFunction": function})).await;
            for (key, vector) in vectors {
                database.put(item(key, &vector)).await;
            }
            let mut all = found(database, search(&[1.0, 0.0], 10)).await;
            // The order of equal scores is not promised.
            all.sort_by(|left, right| {
                let by_score = left.1.total_cmp(&right.1);
                (if function == "DOT_PRODUCT" { by_score.reverse() } else { by_score }).then(left.0.cmp(&right.0))
            });
            assert_eq!(all, expected, "{function}");
            assert_eq!(found(database, search(&[1.0, 0.0], 3)).await.len(), 3);
            database.ok("DeleteTable", json!({"TableName": "Table"})).await;
        }
    }

    async fn writes_keep_the_index(database) {
        with_index(database, json!({})).await;
        assert_eq!(found(database, search(&[0.0, 0.0], 10)).await, []);
        for number in 1..=4u8 {
            database.put(item(&number.to_string(), &[f32::from(number), 0.0])).await;
        }
        database.put(json!({"p": {"S": "without"}})).await;
        assert_eq!(keys_found(database, search(&[0.0, 0.0], 10)).await, ["1", "2", "3", "4"]);
        let key = |p: &str| json!({"p": {"S": p}});
        database.ok("DeleteItem", json!({"TableName": "Table", "Key": key("1")})).await;
        database.ok("UpdateItem", json!({
            "TableName": "Table", "Key": key("2"), "UpdateExpression": "SET v = :v",
            "ExpressionAttributeValues": {":v": {"L": numbers(&[9.0, 0.0])}},
        })).await;
        database.ok("UpdateItem", json!({"TableName": "Table", "Key": key("3"), "UpdateExpression": "REMOVE v"})).await;
        database.ok("TransactWriteItems", json!({"TransactItems": [{"Put": put(item("5", &[5.0, 0.0]))}]})).await;
        database.ok("BatchWriteItem", json!({"RequestItems": {"Table": [{"PutRequest": {"Item": item("6", &[6.0, 0.0])}}]}})).await;
        assert_eq!(keys_found(database, search(&[0.0, 0.0], 10)).await, ["4", "5", "6", "2"]);
        let verified = database.engine.verify().await.unwrap();
        assert_eq!((verified.index_rows, verified.reports), (4, Vec::new()));
    }

    async fn a_partition_is_searched_alone_and_filters_are_optional(database) {
        with_schema(database).await;
        database.put(filed("a1", "a", "x", &[1.0, 0.0])).await;
        database.put(filed("a2", "a", "y", &[2.0, 0.0])).await;
        database.put(filed("b1", "b", "x", &[0.0, 0.0])).await;
        // Without the partition key there is no row; without the filter's attribute there is.
        database.put(item("none", &[0.0, 0.0])).await;
        database.put(json!({"p": {"S": "a3"}, "c": {"S": "a"}, "v": {"L": numbers(&[3.0, 0.0])}})).await;
        let of_a = json!({":c": {"S": "a"}});
        let both = json!({":c": {"S": "a"}, ":f": {"S": "y"}});
        assert_eq!(keys_found(database, search_where("c = :c", of_a.clone())).await, ["a1", "a2", "a3"]);
        assert_eq!(keys_found(database, search_where("c = :c AND f = :f", both.clone())).await, ["a2"]);
        assert_eq!(keys_found(database, search_where("c = :c", json!({":c": {"S": "z"}}))).await, Vec::<String>::new());
        database.ok("UpdateItem", json!({
            "TableName": "Table", "Key": {"p": {"S": "a1"}}, "UpdateExpression": "SET c = :c",
            "ExpressionAttributeValues": {":c": {"S": "b"}},
        })).await;
        assert_eq!(keys_found(database, search_where("c = :c", json!({":c": {"S": "b"}}))).await, ["b1", "a1"]);

        let missing = "SearchConditionExpression must be provided when SearchSchema has a HASH key";
        refused(database, "SearchVectors", search(&[0.0, 0.0], 1), missing).await;
        refused(database, "SearchVectors", search_where("f = :f", json!({":f": {"S": "x"}})), missing).await;
        let comparator = "Invalid SearchConditionExpression: Invalid comparator used in SearchConditionExpression";
        refused(database, "SearchVectors", search_where("c > :c", of_a.clone()), comparator).await;
        let kind = format!("{INVALID}Condition parameter type does not match schema type");
        refused(database, "SearchVectors", search_where("c = :c", json!({":c": {"N": "1"}})), &kind).await;
        let unknown = "Invalid SearchConditionExpression: The attribute is not part of the SearchSchema; attribute: g";
        refused(database, "SearchVectors", search_where("c = :c AND g = :f", both), unknown).await;
    }

    async fn an_answer_has_what_the_index_projects_and_the_vector_only_if_asked(database) {
        with_index(database, json!({"Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]}})).await;
        let mut whole = item("a", &[0.1, -2.5]);
        (whole["x"], whole["y"]) = (json!({"S": "in"}), json!({"S": "out"}));
        // More digits than 32 bits have stay in the table, and not in the index.
        whole["v"]["L"][0]["N"] = json!("0.1000000000000001");
        database.put(whole.clone()).await;
        assert_eq!(database.get(json!({"p": {"S": "a"}})).await, whole);
        let mut search = search(&[0.1, -2.5], 1);
        let shown = database.ok("SearchVectors", search.clone()).await["SearchResults"][0].take();
        assert_eq!(shown, json!({"Item": {"p": {"S": "a"}, "x": {"S": "in"}}, "Score": 0.0}));
        search["ProjectionExpression"] = json!("x, y, v");
        let shown = database.ok("SearchVectors", search.clone()).await["SearchResults"][0]["Item"].take();
        assert_eq!(shown, json!({"x": {"S": "in"}, "v": {"L": [{"N": "0.1"}, {"N": "-2.5"}]}}));
        search["ProjectionExpression"] = json!("#v[1]");
        search["ExpressionAttributeNames"] = json!({"#v": "v"});
        let shown = database.ok("SearchVectors", search).await["SearchResults"][0]["Item"].take();
        assert_eq!(shown, json!({"v": {"L": [{"N": "-2.5"}]}}));
    }

    async fn vectors_that_do_not_suit_the_index_are_refused(database) {
        with_schema(database).await;
        let with = |v: Value| put(json!({"p": {"S": "a"}, "v": v}));
        let size = format!("{INVALID}Invalid size for parameter v, Expected: 2, Actual: 3. IndexName: ByV");
        refused(database, "PutItem", put(item("a", &[1.0, 2.0, 3.0])), &size).await;
        let kind = |parameter: &str, expected: &str, actual: &str| {
            format!("{INVALID}Invalid type for parameter {parameter}, Expected: {expected}, Actual: {actual}. IndexName: ByV")
        };
        for (value, actual) in [(json!({"S": "1,2"}), "S"), (json!({"N": "1"}), "N"), (json!({"NS": ["1", "2"]}), "NS")] {
            refused(database, "PutItem", with(value), &kind("v", "L", actual)).await;
        }
        refused(database, "PutItem", with(json!({"L": [{"N": "1"}, {"S": "2"}]})), &kind("v[1]", "N", "S")).await;
        let large = format!("{INVALID}Invalid value for parameter v[0], Expected: a 32-bit floating point number. IndexName: ByV");
        refused(database, "PutItem", with(json!({"L": [{"N": "1e39"}, {"N": "0"}]})), &large).await;
        let key = json!({"TableName": "Table", "Key": {"p": {"S": "a"}}, "UpdateExpression": "SET v = :v"});
        let mut update = key.clone();
        update["ExpressionAttributeValues"] = json!({":v": {"L": numbers(&[1.0])}});
        let size = format!("{INVALID}Invalid size for parameter v, Expected: 2, Actual: 1. IndexName: ByV");
        refused(database, "UpdateItem", update, &size).await;

        let mut wrong = filed("a", "a", "x", &[1.0, 2.0]);
        wrong["c"] = json!({"N": "1"});
        let mismatch = |name: &str| format!("{INVALID}Type mismatch for Index Key {name} Expected: S Actual: N IndexName: ByV");
        refused(database, "PutItem", put(wrong), &mismatch("c")).await;
        let mut wrong = filed("a", "a", "x", &[1.0, 2.0]);
        wrong["f"] = json!({"N": "1"});
        refused(database, "PutItem", put(wrong), &mismatch("f")).await;
        let empty = "One or more parameter values are not valid. A value specified for a secondary index key is not \
                     supported. The AttributeValue for a key attribute cannot contain an empty string value. \
                     IndexName: ByV, IndexKey: c";
        refused(database, "PutItem", put(filed("a", "", "x", &[1.0, 2.0])), empty).await;
        assert_eq!(database.ok("Scan", json!({"TableName": "Table"})).await["Count"], 0);
    }

    async fn searches_that_do_not_suit_the_index_are_refused(database) {
        with_index(database, json!({})).await;
        refused(database, "SearchVectors", search(&[1.0, 2.0, 3.0], 1),
            "Input search vector dimension 3 does not match vector index dimension 2").await;
        for top_k in [0, 101] {
            refused(database, "SearchVectors", search(&[1.0, 2.0], top_k), &format!(
                "Provided TopK value '{top_k}' is out of valid range. The value must be between 1 and 100 inclusive"
            )).await;
        }
        let mut wrong = search(&[1.0, 2.0], 1);
        wrong["SearchVector"][1] = json!({"S": "2"});
        refused(database, "SearchVectors", wrong,
            "Invalid SearchVector: the element at index 1 is not a 32-bit floating point number").await;
        let mut unknown = search(&[1.0, 2.0], 1);
        unknown["IndexName"] = json!("ByW");
        refused(database, "SearchVectors", unknown, "The table does not have the specified index: ByW").await;
        let mut unused = search(&[1.0, 2.0], 1);
        unused["ExpressionAttributeValues"] = json!({":c": {"S": "a"}});
        refused(database, "SearchVectors", unused,
            "ExpressionAttributeValues can only be specified when using expressions").await;
        let mut elsewhere = search(&[1.0, 2.0], 1);
        elsewhere["TableName"] = json!("Nowhere");
        database.refused("SearchVectors", elsewhere, "ResourceNotFoundException", "Requested resource not found").await;
        let of_index = json!({"TableName": "Table", "IndexName": "ByV"});
        refused(database, "Scan", of_index.clone(), "Scan operation not supported on this index type.").await;
        let mut query = of_index;
        query["KeyConditionExpression"] = json!("p = :p");
        query["ExpressionAttributeValues"] = json!({":p": {"S": "a"}});
        refused(database, "Query", query, "Query operation not supported on this index type.").await;
    }

    async fn indexes_that_can_not_be_are_refused(database) {
        let create = |indexes: Value, defines: &[&str]| table(indexes, defines);
        let mut provisioned = create(json!([index(json!({}))]), &[]);
        provisioned["BillingMode"] = json!("PROVISIONED");
        provisioned["ProvisionedThroughput"] = json!({"ReadCapacityUnits": 1, "WriteCapacityUnits": 1});
        refused(database, "CreateTable", provisioned, &format!(
            "{INVALID}VectorIndexes are only supported when BillingMode is PAY_PER_REQUEST. IndexName: ByV"
        )).await;
        let six: Value = (0..6).map(|number| index(json!({"IndexName": format!("By{number}")}))).collect();
        refused(database, "CreateTable", create(six, &[]), &format!("{INVALID}VectorIndex count exceeds the per-table limit of 5")).await;
        refused(database, "CreateTable", create(json!([index(json!({"SearchSchema": schema()}))]), &["c"]),
            &format!("{INVALID}One element in SearchSchema is not defined in attribute definitions")).await;
        refused(database, "CreateTable", create(json!([index(json!({"Dimensions": 4097}))]), &[]),
            "1 validation error detected: Value '4097' at 'dimensions' failed to satisfy constraint: Member must have value less than or equal to 4096").await;
        let other = index(json!({"IndexName": "Other", "Dimensions": 3}));
        refused(database, "CreateTable", create(json!([index(json!({})), other]), &[]),
            &format!("{INVALID}All vector indexes of the attribute v must have the same Dimensions")).await;
        refused(database, "CreateTable", create(json!([index(json!({})), index(json!({}))]), &[]),
            &format!("{INVALID}Duplicate index name: ByV")).await;
        database.ok("CreateTable", create(json!([index(json!({}))]), &[])).await;
        refused(database, "UpdateTable", json!({
            "TableName": "Table", "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
        }), &format!("{INVALID}VectorIndexes are only supported when BillingMode is PAY_PER_REQUEST. IndexName: ByV")).await;
    }

    async fn a_new_index_is_filled_while_the_table_is_in_use_and_can_be_dropped(database) {
        database.ok("CreateTable", {
            let mut plain = table(json!([]), &[]);
            plain.as_object_mut().unwrap().remove("VectorIndexes");
            plain
        }).await;
        for number in 0..120u8 {
            database.put(item(&number.to_string(), &[f32::from(number), 0.0])).await;
        }
        // What is no vector of the index stays out of it.
        database.put(json!({"p": {"S": "short"}, "v": {"L": numbers(&[1.0])}})).await;
        let create = |name: &str| json!({"Create": index(json!({"IndexName": name}))});
        let update = |updates: Value| json!({"TableName": "Table", "VectorIndexUpdates": updates});
        database.refused("UpdateTable", update(json!([create("ByV"), create("ByW")])), "LimitExceededException",
            "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table").await;
        let answer = database.ok("UpdateTable", update(json!([create("ByV")]))).await;
        assert_eq!(answer["TableDescription"]["VectorIndexes"][0]["IndexStatus"], "CREATING");
        // These writes meet an index that is being filled.
        database.ok("DeleteItem", json!({"TableName": "Table", "Key": {"p": {"S": "0"}}})).await;
        database.put(item("1", &[500.0, 0.0])).await;
        database.put(item("new", &[1.0, 0.0])).await;
        database.until("ByV", Some("ACTIVE")).await;
        assert_eq!(keys_found(database, search(&[0.0, 0.0], 4)).await, ["new", "2", "3", "4"]);
        assert_eq!(found(database, search(&[499.0, 0.0], 1)).await, [("1".to_owned(), 1.0)]);
        let verified = database.engine.verify().await.unwrap();
        assert_eq!((verified.index_rows, verified.reports), (120, Vec::new()));

        refused(database, "UpdateTable", update(json!([create("ByV")])), "Attempting to create an index which already exists: ByV").await;
        database.refused("UpdateTable", update(json!([{"Delete": {"IndexName": "ByW"}}])), "ResourceNotFoundException",
            "Requested resource not found: Index ByW for table Table").await;
        database.ok("UpdateTable", update(json!([{"Delete": {"IndexName": "ByV"}}]))).await;
        database.until("ByV", None).await;
        refused(database, "SearchVectors", search(&[0.0, 0.0], 1), "The table does not have the specified index: ByV").await;
        assert_eq!(database.ok("Scan", json!({"TableName": "Table", "Select": "COUNT"})).await["Count"], 121);
    }

    async fn a_table_describes_its_vector_indexes(database) {
        with_schema(database).await;
        database.put(filed("a", "a", "x", &[1.0, 2.0])).await;
        let described = database.ok("DescribeTable", json!({"TableName": "Table"})).await["Table"].take();
        let mut expected = index(json!({"SearchSchema": schema()}));
        expected["IndexStatus"] = json!("ACTIVE");
        expected["IndexArn"] = json!("arn:aws:dynamodb:us-east-1:123456789012:table/Table/index/ByV");
        let mut actual = described["VectorIndexes"][0].clone();
        for counted in ["ItemCount", "IndexSizeBytes"] {
            actual.as_object_mut().unwrap().remove(counted);
        }
        assert_eq!(actual, expected);
        assert_eq!(described["GlobalSecondaryIndexes"], Value::Null);
    }

    async fn what_writes_and_searches_are_metered_as_is_shown(database) {
        with_index(database, json!({"Dimensions": 1024})).await;
        let vector: Vec<f32> = (0..1024).map(|number| number as f32 / 7.0).collect();
        let mut put = put(item("a", &vector));
        put["ReturnConsumedCapacity"] = json!("INDEXES");
        let foreseen = database.dry_run("PutItem", put.clone()).await.unwrap().consumed_capacity;
        let written = database.ok("PutItem", put).await["ConsumedCapacity"].take();
        let metered = foreseen[0].vector_indexes.as_ref().unwrap()["ByV"].vector_write_request_bytes;
        assert_eq!((foreseen[0].capacity_units, metered), (Some(5.0), Some(4099.0)), "a dry run says the same");
        // The vector counts as 4,096 bytes, `v` as 1, and `p` and its value as 2: five units of a kilobyte.
        assert_eq!(written, json!({
            "TableName": "Table", "CapacityUnits": 5.0, "Table": {"CapacityUnits": 5.0},
            "VectorIndexes": {"ByV": {"VectorWriteRequestBytes": 4099.0}},
        }));
        let mut other = json!({"TableName": "Table", "Item": {"p": {"S": "b"}}, "ReturnConsumedCapacity": "INDEXES"});
        assert_eq!(database.ok("PutItem", other.take()).await["ConsumedCapacity"]["VectorIndexes"], Value::Null);
        let mut search = search(&vector, 1);
        assert_eq!(database.ok("SearchVectors", search.clone()).await["ConsumedCapacity"], Value::Null);
        for asked in ["TOTAL", "INDEXES"] {
            search["ReturnConsumedCapacity"] = json!(asked);
            let answer = database.ok("SearchVectors", search.clone()).await;
            assert_eq!(answer["ConsumedCapacity"], json!({"VectorSearchRequestBytes": 4098.0}));
        }
    }
}

/// A generator of the same numbers every time.
struct Random(u64);

impl Random {
    fn number(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1 << 24) as f32 - 0.5
    }

    fn vector(&mut self) -> Vec<f32> {
        (0..8).map(|_| self.number()).collect()
    }

    fn below(&mut self, limit: usize) -> usize {
        ((self.number() + 0.5) * limit as f32) as usize
    }
}

/// Rows of many batches, and what a computation over all vectors says is nearest.
#[tokio::test]
async fn a_search_finds_exactly_the_nearest_of_thousands_also_after_a_crash() {
    let database = Database::on_lsm().await;
    with_index(&database, json!({"Dimensions": 8})).await;
    let mut random = Random(1);
    let vectors: Vec<Vec<f32>> = (0..2500).map(|_| random.vector()).collect();
    for (first, batch) in vectors.chunks(25).enumerate() {
        let put = |(number, vector): (usize, &Vec<f32>)| json!({"PutRequest": {"Item": item(&(first * 25 + number).to_string(), vector)}});
        let puts: Value = batch.iter().enumerate().map(put).collect();
        database.ok("BatchWriteItem", json!({"RequestItems": {"Table": puts}})).await;
    }
    let queries: Vec<Vec<f32>> = (0..5).map(|_| random.vector()).collect();
    // Not closed: what is in memory is lost.
    for database in [&database, &database.reopened().await] {
        for query in &queries {
            let squared = |vector: &Vec<f32>| -> f64 {
                let difference = |(left, right): (&f32, &f32)| f64::from(left - right).powi(2);
                vector.iter().zip(query).map(difference).sum()
            };
            let mut judged: Vec<(f64, usize)> =
                vectors.iter().enumerate().map(|(number, vector)| (squared(vector), number)).collect();
            judged.sort_by(|left, right| left.0.total_cmp(&right.0));
            let expected: Vec<String> = judged[..10].iter().map(|(_, number)| number.to_string()).collect();
            assert_eq!(keys_found(database, search(query, 10)).await, expected);
        }
    }
}

/// Every search sees each write as a whole: an item is found once, at its old place or at its new one.
#[tokio::test]
async fn searches_and_writes_at_the_same_time_do_not_disturb_each_other() {
    for vector_rows_min in [usize::MAX, 10] {
        let database = Database::with_options(Options { vector_rows_min, ..Options::default() }).await;
        with_index(&database, json!({})).await;
        for number in 0..50u8 {
            database.put(item(&number.to_string(), &[f32::from(number), 1.0])).await;
        }
        if vector_rows_min == 10 {
            until_copied(&database, search(&[0.0, 0.0], 1), 50).await;
        }
        write_while_searching(&database).await;
    }
}

async fn write_while_searching(database: &Database) {
    let write = async {
        for round in 2..12u8 {
            for number in 0..50u8 {
                database.put(item(&number.to_string(), &[f32::from(number), f32::from(round)])).await;
            }
        }
    };
    let read = async {
        for _ in 0..100 {
            let mut keys = keys_found(database, search(&[0.0, 0.0], 100)).await;
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), 50);
            tokio::task::yield_now().await;
        }
    };
    tokio::join!(write, read);
    assert_eq!(found(database, search(&[0.0, 11.0], 1)).await, [("0".to_owned(), 0.0)]);
}

/// Waits until this search, which walks many rows at first, uses compressed copies of `vectors` rows.
async fn until_copied(database: &Database, search: Value, vectors: usize) {
    until(&format!("there are copies of {vectors}"), async || {
        database.ok("SearchVectors", search.clone()).await;
        database.engine.sketch_totals().vectors == vectors
    })
    .await;
}

/// A table with one vector index of eight dimensions, and what must be in it.
struct Judged {
    database: Database,
    random: Random,
    distance: &'static str,
    vectors: BTreeMap<String, Vec<f32>>,
}

impl Judged {
    async fn new(distance: &'static str, options: Options) -> Judged {
        let database = Database::with_options(options).await;
        with_index(&database, json!({"Dimensions": 8, "DistanceFunction": distance})).await;
        Judged { database, random: Random(7), distance, vectors: BTreeMap::new() }
    }

    async fn put(&mut self, key: usize) -> Vec<f32> {
        let vector = self.random.vector();
        self.database.put(item(&key.to_string(), &vector)).await;
        self.vectors.insert(key.to_string(), vector.clone());
        vector
    }

    async fn delete(&mut self, key: usize) {
        let key = key.to_string();
        self.database.ok("DeleteItem", json!({"TableName": "Table", "Key": {"p": {"S": key}}})).await;
        self.vectors.remove(&key);
    }

    fn score(&self, left: &[f32], right: &[f32]) -> f64 {
        let pairs = || left.iter().zip(right).map(|(left, right)| (f64::from(*left), f64::from(*right)));
        let product: f64 = pairs().map(|(left, right)| left * right).sum();
        let squares = |pair: fn((f64, f64)) -> f64| pairs().map(pair).map(|it| it * it).sum::<f64>();
        match self.distance {
            "EUCLIDEAN" => squares(|(left, right)| left - right).sqrt(),
            "DOT_PRODUCT" => product,
            _ => 1.0 - product / (squares(|(left, _)| left) * squares(|(_, right)| right)).sqrt(),
        }
    }

    /// Searches for the ten nearest. All that is found is there and has its score. Returns how many of them are right.
    async fn search(&self, query: &[f32]) -> usize {
        let sign = if self.distance == "DOT_PRODUCT" { -1.0 } else { 1.0 };
        let mut ranks: Vec<f64> =
            self.vectors.values().map(|vector| sign * self.score(query, vector)).collect();
        ranks.sort_by(f64::total_cmp);
        let found = found(&self.database, search(query, 10)).await;
        assert_eq!(found.len(), 10);
        let mut last = f64::NEG_INFINITY;
        for (key, score) in &found {
            let exact = self.score(query, &self.vectors[key]);
            assert!((score - exact).abs() < 1e-5, "{key} has the score {exact}, and not {score}");
            assert!(sign * score >= last, "the nearest come first");
            last = sign * score;
        }
        found.iter().filter(|(_, score)| sign * score <= ranks[9] + 1e-5).count()
    }
}

#[tokio::test(start_paused = true)]
async fn a_search_by_a_copy_sees_every_write_that_was_acknowledged() {
    for distance in ["EUCLIDEAN", "COSINE", "DOT_PRODUCT"] {
        let options = Options { vector_rows_min: 500, ..Options::default() };
        let mut judged = Judged::new(distance, options).await;
        for key in 0..1200 {
            judged.put(key).await;
        }
        until_copied(&judged.database, search(&[1.0; 8], 1), 1200).await;
        let (mut right, mut searches) = (0, 0);
        for round in 0..700 {
            let key = judged.random.below(1500);
            match judged.random.below(3) {
                0 if judged.vectors.len() > 1000 => judged.delete(key).await,
                _ => {
                    let vector = judged.put(key).await;
                    if distance != "DOT_PRODUCT" {
                        let nearest = found(&judged.database, search(&vector, 1)).await;
                        assert_eq!(nearest[0].0, key.to_string(), "what was just written is found");
                    }
                }
            }
            if round % 10 == 0 {
                let query = judged.random.vector();
                right += judged.search(&query).await;
                searches += 1;
            }
        }
        assert!(right * 100 >= searches * 10 * 99, "{distance}: {right} of {}", searches * 10);
        // What was written is added to the copy, except the last few.
        for key in 2000..2500 {
            judged.put(key).await;
        }
        until("the copy has most of them", async || {
            judged.database.engine.sketch_totals().vectors + 250 > judged.vectors.len()
        })
        .await;
        let right = judged.search(&[0.25; 8]).await + judged.search(&[-0.25; 8]).await;
        assert!(right >= 19, "{distance}: {right} of 20");
    }
}

#[tokio::test(start_paused = true)]
async fn a_copy_is_of_a_partition_and_filters_are_kept() {
    let options = Options { vector_rows_min: 500, ..Options::default() };
    let database = Database::with_options(options.clone()).await;
    with_schema(&database).await;
    for number in 0..800u16 {
        let filter = if number == 799 { "rare" } else { ["even", "odd"][usize::from(number % 2)] };
        let (partition, place) = (if number % 10 == 9 { "small" } else { "large" }, f32::from(number));
        database.put(filed(&number.to_string(), partition, filter, &[place, 0.0])).await;
    }
    let both = |c: &str, f: &str| search_where("c = :c AND f = :f", json!({":c": {"S": c}, ":f": {"S": f}}));
    let partition = |c: &str| search_where("c = :c", json!({":c": {"S": c}}));
    let check = async |database: &Database| {
        let numbers = async |search| keys_found(database, search).await.join(" ");
        assert_eq!(numbers(partition("large")).await, "0 1 2 3 4 5 6 7 8 10");
        assert_eq!(numbers(partition("small")).await, "9 19 29 39 49 59 69 79 89 99");
        assert_eq!(numbers(both("large", "odd")).await, "1 3 5 7 11 13 15 17 21 23");
        assert_eq!(numbers(both("small", "rare")).await, "799");
        assert_eq!(numbers(both("large", "rare")).await, "", "most of it is excluded");
    };
    check(&database).await;
    until_copied(&database, partition("large"), 720).await;
    check(&database).await;
    let mut metered = partition("large");
    metered["ReturnConsumedCapacity"] = json!("TOTAL");
    let answer = database.ok("SearchVectors", metered.clone()).await["ConsumedCapacity"].take();
    let database = database.restarted_with(options).await;
    assert_eq!(database.engine.sketch_totals().vectors, 0, "a copy ends with the process");
    assert_eq!(database.ok("SearchVectors", metered).await["ConsumedCapacity"], answer);
    check(&database).await;
}

#[tokio::test(start_paused = true)]
async fn a_copy_has_no_more_memory_than_it_may_and_ends_with_its_index() {
    for (vector_bytes_max, vectors) in [(0, 0), (20_000, 0), (1 << 20, 300)] {
        let options = Options { vector_rows_min: 100, vector_bytes_max, ..Options::default() };
        let mut judged = Judged::new("COSINE", options).await;
        for key in 0..300 {
            judged.put(key).await;
        }
        until_copied(&judged.database, search(&[1.0; 8], 1), vectors).await;
        assert_eq!(judged.search(&[1.0; 8]).await, 10);
        assert!(judged.database.engine.sketch_totals().bytes <= vector_bytes_max);
        judged.database.ok("DeleteTable", json!({"TableName": "Table"})).await;
        until("the copy is gone", async || judged.database.engine.sketch_totals().bytes == 0).await;
    }
}

#[tokio::test]
async fn a_restored_table_has_the_vector_indexes_of_its_source_unless_the_request_says_otherwise() {
    let database = Database::with_backups_in_a_folder().await;
    // Two items that are older than the index: it can hold one of them.
    let mut plain = table(json!([]), &[]);
    plain.as_object_mut().unwrap().remove("VectorIndexes");
    database.ok("CreateTable", plain).await;
    database.put(filed("a", "a", "x", &[1.0, 2.0])).await;
    database.put(filed("long", "a", "x", &[1.0, 2.0, 3.0])).await;
    let mut update = json!({
        "TableName": "Table", "VectorIndexUpdates": [{"Create": index(json!({"SearchSchema": schema()}))}],
    });
    update["AttributeDefinitions"] = table(json!([]), &["c", "f"])["AttributeDefinitions"].clone();
    database.ok("UpdateTable", update).await;
    database.until("ByV", Some("ACTIVE")).await;
    let answer = database.ok("CreateBackup", json!({"TableName": "Table", "BackupName": "one"})).await;
    let arn = answer["BackupDetails"]["BackupArn"].as_str().unwrap();
    let kept = database.until_available(arn).await["SourceTableFeatureDetails"]["VectorIndexes"].take();
    assert_eq!(kept, json!([index(json!({"SearchSchema": schema()}))]));
    let renamed = index(json!({"SearchSchema": schema(), "IndexName": "Renamed"}));
    let other = index(json!({"SearchSchema": schema(), "DistanceFunction": "COSINE"}));
    let restore = |name: &str| json!({"BackupArn": arn, "TargetTableName": name});
    for (name, indexes, expected) in [
        ("Same", None, vec!["ByV"]),
        ("Renamed", Some(json!([renamed])), vec!["Renamed"]),
        ("Without", Some(json!([])), vec![]),
    ] {
        let mut restore = restore(name);
        if let Some(indexes) = indexes {
            restore["VectorIndexOverride"] = indexes;
        }
        database.ok("RestoreTableFromBackup", restore).await;
        let table = database.until_active(name).await;
        let indexes = table["VectorIndexes"].as_array().cloned().unwrap_or_default();
        let names: Vec<&str> = indexes.iter().map(|index| index["IndexName"].as_str().unwrap()).collect();
        assert_eq!(names, expected, "{name}");
        assert_eq!(database.ok("Scan", json!({"TableName": name})).await["Count"], 2);
        if let Some(index) = names.first() {
            let mut search = search_where("c = :c", json!({":c": {"S": "a"}}));
            (search["TableName"], search["IndexName"]) = (json!(name), json!(index));
            assert_eq!(keys_found(&database, search).await, ["a"]);
        }
    }
    let mut wrong = restore("Wrong");
    wrong["VectorIndexOverride"] = json!([other]);
    assert!(database.call("RestoreTableFromBackup", wrong).await.is_err());
}
