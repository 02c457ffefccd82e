//! Applies a model to a database: what is decided, and that it is enough.

use std::path::Path;
use std::sync::Mutex;

use model::{Model, Source, file};
use proof::apply::{Loaded, carry_out, changes, load_samples, observe, prove_beside};
use proof::{Answer, Endpoint, Memory};
use serde_json::{Value, json};

fn read(text: &str) -> Model {
    let source = Source::new("model.yaml", text);
    let reading = file::read(&source);
    let shown = model::diagnostic::text(&source, &reading.diagnostics, false);
    reading.model.unwrap_or_else(|| panic!("{shown}"))
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work)
}

/// Makes the database what the model says, and returns what was done.
async fn apply(model: &Model, endpoint: &dyn Endpoint, delete_indexes: bool) -> Vec<String> {
    let mut done = Vec::new();
    for table in &model.tables {
        let state = observe(endpoint, &table.name).await.expect("an answer");
        let decided = changes(table, state.as_ref(), delete_indexes).expect("a table with keys");
        assert_eq!(decided.impossible, Vec::<String>::new());
        for change in decided.changes {
            carry_out(endpoint, &change, |_| ()).await.expect("it can be done");
            done.push(change.what);
        }
    }
    done
}

/// Not every database keeps streams and recovery yet.
fn without_unkept(done: Vec<String>) -> Vec<String> {
    let unkept = |what: &String| what.starts_with("stream") || what.starts_with("point-in-time");
    done.into_iter().filter(|what| !unkept(what)).collect()
}

#[test]
fn every_example_is_applied_once_and_then_needs_nothing() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models");
    let examples = std::fs::read_dir(folder).expect("the examples are there");
    for path in examples.map(|entry| entry.expect("a readable folder").path()) {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let model = read(&text);
        run(async {
            let database = Memory::open().await.expect("a database");
            assert!(!apply(&model, &database, false).await.is_empty());
            let again = without_unkept(apply(&model, &database, false).await);
            assert_eq!(again, Vec::<String>::new(), "{}", path.display());
        });
    }
}

const ORDERS: &str = "
model: orders
table: { name: orders, partition: PK, sort: SK }
entities:
  Order:
    key: { PK: 'CUST#{customerId}', SK: 'ORDER#{orderId}' }
    attributes: { status: [OPEN, DONE], total: number, expiresAt: epoch }
    count: 100
    size: 300 B
    indexes: { byStatus: { statusKey: '{status}', SK: 'ORDER#{orderId}' } }
indexes: { byStatus: { project: keys } }
patterns:
  P1: { get: Order, by: [customerId, orderId] }
";

/// From the first model to the second: these changes, in this order, and none afterwards.
fn check(from: &str, to: &str, expected: &[&str]) {
    run(async {
        let database = Memory::open().await.expect("a database");
        apply(&read(from), &database, true).await;
        assert_eq!(apply(&read(to), &database, true).await, expected);
        assert_eq!(without_unkept(apply(&read(to), &database, true).await), Vec::<String>::new());
    });
}

#[test]
fn replicas_are_made_one_after_the_other() {
    let replicas = ORDERS.replace("sort: SK }", "sort: SK, replicas: [eu-west-1, us-west-2] }");
    check(ORDERS, &replicas, &["create a replica in eu-west-1", "create a replica in us-west-2"]);
    let fewer = ORDERS.replace("sort: SK }", "sort: SK, replicas: [eu-west-1] }");
    check(&replicas, &fewer, &[]);
}

#[test]
fn each_setting_is_one_change() {
    let with = |settings: &str| ORDERS.replace("sort: SK }", &format!("sort: SK, {settings} }}"));
    check(ORDERS, ORDERS, &[]);
    check(ORDERS, &with("ttl: expiresAt"), &["time to live by expiresAt"]);
    check(ORDERS, &with("tags: { team: blue }"), &["tags"]);
    check(&with("tags: { team: blue }"), &with("tags: { team: red, cost: low }"), &["tags"]);
    check(ORDERS, &with("class: infrequent-access"), &["table class STANDARD_INFREQUENT_ACCESS"]);
    check(ORDERS, &with("deletion-protection: true"), &["deletion protection on"]);
    let provisioned = with("billing: provisioned, read: 7, write: 3");
    check(ORDERS, &provisioned, &["billing: provisioned"]);
    check(&provisioned, ORDERS, &["billing: on-demand"]);
    let more = with("billing: provisioned, read: 8, write: 3");
    check(&provisioned, &more, &["throughput of the table", "throughput of index byStatus"]);
    check(ORDERS, &with("read: { max: 50 }"), &["throughput of the table"]);
}

#[test]
fn what_the_model_leaves_open_stays() {
    let settled = ORDERS
        .replace("sort: SK }", "sort: SK, ttl: expiresAt, tags: { team: blue }, deletion-protection: true }");
    check(&settled, ORDERS, &[]);
}

/// What is decided for a table in this state.
fn decided(text: &str, table: Value) -> proof::apply::TableChanges {
    let model = read(text);
    let state = proof::apply::State { table, ..Default::default() };
    changes(&model.tables[0], Some(&state), false).expect("a table with keys")
}

#[test]
fn what_scales_by_itself_and_what_takes_an_hour_is_left_alone() {
    let scaled = ORDERS.replace(
        "sort: SK }",
        "sort: SK, billing: provisioned, read: { min: 5, max: 50, target: 70% }, write: 5 }",
    );
    let mut table = model::table_shape::shape(&read(&scaled).tables[0]).expect("keys");
    table["ProvisionedThroughput"]["ReadCapacityUnits"] = 40.into();
    let decided = decided(&scaled, table.clone());
    assert_eq!(decided.changes, []);
    assert_eq!(decided.left, ["auto scaling is a service of its own and is not set here"]);

    let model = read(&ORDERS.replace("sort: SK }", "sort: SK, ttl: expiresAt }"));
    let table = model::table_shape::shape(&model.tables[0]).expect("keys");
    let state = proof::apply::State { table, ttl: Some("until".to_owned()), ..Default::default() };
    let decided = changes(&model.tables[0], Some(&state), false).expect("a table with keys");
    assert_eq!(decided.changes, []);
    assert!(decided.left[0].starts_with("items expire by until, not by expiresAt"), "{:?}", decided.left);
}

#[test]
fn a_stream_is_switched_off_before_it_changes() {
    let streaming = ORDERS.replace("sort: SK }", "sort: SK, stream: new }");
    let mut table = model::table_shape::shape(&read(&streaming).tables[0]).expect("keys");
    assert_eq!(decided(&streaming, table.clone()).changes, []);
    table["StreamSpecification"]["StreamViewType"] = "KEYS_ONLY".into();
    let names: Vec<String> = decided(&streaming, table).changes.into_iter().map(|one| one.what).collect();
    assert_eq!(names, ["stream off, to change what it holds", "stream with NEW_IMAGE"]);
}

#[test]
fn a_local_index_that_is_missing_stops_everything() {
    let local = ORDERS.replace(
        "indexes: { byStatus: { project: keys } }",
        "indexes: { byStatus: { project: keys }, byTotal: { type: local, sort: { total: number } } }",
    );
    let table = model::table_shape::shape(&read(ORDERS).tables[0]).expect("keys");
    let decided = decided(&local.replace("sort: SK }", "sort: SK, deletion-protection: true }"), table);
    assert_eq!(decided.changes, []);
    assert_eq!(decided.impossible, ["the local index byTotal is not there; those are made with their table"]);
}

/// Accepts one write of a batch and returns the others as unprocessed; at first it accepts none.
struct Busy {
    database: Memory,
    refused: Mutex<usize>,
}

impl Endpoint for Busy {
    fn send<'a>(&'a self, operation: &'a str, body: Vec<u8>) -> Answer<'a> {
        if operation != "BatchWriteItem" {
            return self.database.send(operation, body);
        }
        Box::pin(async move {
            let mut request: Value = serde_json::from_slice(&body).expect("JSON");
            let refused = std::mem::take(&mut *self.refused.lock().expect("unharmed"));
            if refused > 0 {
                *self.refused.lock().expect("unharmed") = refused - 1;
                return Ok(json!({ "UnprocessedItems": request["RequestItems"] }).to_string().into_bytes());
            }
            let writes = request["RequestItems"]["orders"].as_array_mut().expect("writes");
            let rest = writes.split_off(1);
            self.database.send(operation, request.to_string().into_bytes()).await?;
            let rest = if rest.is_empty() { json!({}) } else { json!({ "orders": rest }) };
            Ok(json!({ "UnprocessedItems": rest }).to_string().into_bytes())
        })
    }

    fn is_immediate(&self) -> bool {
        true
    }
}

#[test]
fn what_a_busy_table_gives_back_is_sent_again() {
    run(async {
        let busy = Busy { database: Memory::open().await.expect("a database"), refused: Mutex::new(2) };
        let model = read(ORDERS);
        apply(&model, &busy, false).await;
        let loaded = load_samples(&model, &busy, false, |_, _| ()).await.expect("all is loaded");
        assert!(loaded.written > 1 && loaded.present == 0, "{loaded:?}");
        let again = load_samples(&model, &busy, false, |_, _| ()).await.expect("nothing to load");
        assert_eq!(again, Loaded { written: 0, present: loaded.written, kept: 0 });
    });
}

/// The first read of an index does not see the last write.
struct Lagging {
    database: Memory,
    behind: Mutex<bool>,
}

impl Endpoint for Lagging {
    fn send<'a>(&'a self, operation: &'a str, body: Vec<u8>) -> Answer<'a> {
        let of_index = body.windows(11).any(|part| part == b"\"IndexName\"");
        let mut behind = self.behind.lock().expect("unharmed");
        match operation {
            "PutItem" | "UpdateItem" | "DeleteItem" | "TransactWriteItems" => *behind = true,
            "Query" | "Scan" if of_index && std::mem::take(&mut *behind) => {
                let nothing = json!({ "Items": [], "Count": 0, "ScannedCount": 0 });
                return Box::pin(async move { Ok(nothing.to_string().into_bytes()) });
            }
            _ => {}
        }
        self.database.send(operation, body)
    }

    fn is_immediate(&self) -> bool {
        false
    }
}

#[test]
fn a_proof_waits_for_indexes_that_lag_behind_and_leaves_nothing() {
    run(async {
        let database = Memory::open().await.expect("a database");
        let lagging = std::sync::Arc::new(Lagging { database, behind: Mutex::new(false) });
        let model = read(&ORDERS.replace(
            "  P1: { get: Order, by: [customerId, orderId] }",
            "  P1: { query: Order, by: status, read: keys }\n  P2: { create: Order }",
        ));
        let certificate = prove_beside(&model, lagging.clone(), "1234", |_| ()).await.expect("a proof");
        assert!(certificate.is_proven(), "{}{}", certificate.summary(), certificate.failures());
        assert_eq!(certificate.patterns[0].source, "byStatus");
        let tables = lagging.send("ListTables", b"{}".to_vec()).await.expect("an answer");
        assert_eq!(String::from_utf8(tables).expect("text"), r#"{"TableNames":[]}"#);
    });
}
