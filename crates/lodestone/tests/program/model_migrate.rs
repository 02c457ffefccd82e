//! `lodestone model migrate` against a running server: under load, killed where it hurts, paused, and undone.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::WAIT_MAX;
use crate::support::server::{self, Server};

const OLD: &str = r##"
model: orders
table: { name: app, partition: PK, sort: SK }
entities:
  Order:
    key: { PK: "CUST#{customerId}", SK: "ORDER#{orderId}" }
    attributes: { status: { values: { OPEN: 50%, SHIPPED: 50% } }, version: number }
    count: 3000
    size: 200 B
patterns:
  A1: { query: Order, by: customerId, rate: 10/s, consistency: eventual }
  A2: { create: Order, set: { status: OPEN }, rate: 10/s }
  A3: { update: Order, set: { status: OPEN -> SHIPPED }, rate: 10/s }
"##;

/// The open orders are in a sparse index, in three shards.
fn with_open_orders() -> String {
    let index = r##"    indexes: { open: { when: status = OPEN, openPK: "OPEN#{shard(orderId, 3)}", openSK: "{orderId}" } }
patterns:"##;
    OLD.replace("patterns:", index)
        + "  A4: { query: Order, where: status = OPEN, order: orderId, limit: 100, fan-out: allowed, rate: 1/s, consistency: eventual }\n"
}

/// The statuses of the command.
const DONE: i32 = 0;
const FAILED: i32 = 1;
const UNFINISHED: i32 = 3;

/// What happens to the command when it sends a request of a kind for the so-manieth time.
#[derive(Clone, Copy)]
struct Trap {
    operation: &'static str,
    at: usize,
    fate: Fate,
}

#[derive(Clone, Copy, PartialEq)]
enum Fate {
    /// Killed before the database has the request.
    LosesRequest,
    /// Killed after the database carried out the request, before the answer arrives.
    LosesAnswer,
    /// Asked to pause.
    Pauses,
}

/// Between the command and the database. It passes requests on, notes when they came, and stops the command where the trap says.
struct Proxy {
    url: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    process: Mutex<Option<Child>>,
    trap: Mutex<Option<Trap>>,
    /// The operations of requests, and when they came.
    requests: Mutex<Vec<(String, Instant)>>,
}

impl Proxy {
    fn before(server: &Server) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let shared = Arc::<Shared>::default();
        let (target, of_all) = (server.url.replace("http://", ""), Arc::clone(&shared));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (target, shared) = (target.clone(), Arc::clone(&of_all));
                std::thread::spawn(move || {
                    // A connection that breaks is the business of the two others.
                    let _ = shared.pass_on(client, &target);
                });
            }
        });
        Proxy { url, shared }
    }

    fn operations(&self, operation: &str) -> Vec<Instant> {
        let requests = self.shared.requests.lock().expect("no panic");
        requests.iter().filter(|(name, _)| name == operation).map(|(_, time)| *time).collect()
    }
}

impl Shared {
    fn pass_on(&self, client: TcpStream, target: &str) -> std::io::Result<()> {
        let server = TcpStream::connect(target)?;
        let (mut to_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
        let (mut client, mut server) = (BufReader::new(client), BufReader::new(server));
        while let Some(request) = message(&mut client)? {
            let fate = self.fate(&request);
            if fate == Some(Fate::LosesRequest) {
                return self.kill();
            }
            if fate == Some(Fate::Pauses) {
                let id = self.process.lock().expect("no panic").as_ref().expect("it runs").id();
                Command::new("kill").args(["-TERM", &id.to_string()]).status()?;
            }
            to_server.write_all(&request)?;
            let Some(answer) = message(&mut server)? else { return Ok(()) };
            if fate == Some(Fate::LosesAnswer) {
                return self.kill();
            }
            to_client.write_all(&answer)?;
        }
        Ok(())
    }

    fn kill(&self) -> std::io::Result<()> {
        self.process.lock().expect("no panic").as_mut().expect("it runs").kill()
    }

    fn fate(&self, request: &[u8]) -> Option<Fate> {
        let head = String::from_utf8_lossy(request);
        let operation = head.split("DynamoDB_20120810.").nth(1)?.split("\r\n").next()?.to_owned();
        let mut requests = self.requests.lock().expect("no panic");
        requests.push((operation.clone(), Instant::now()));
        let count = requests.iter().filter(|(name, _)| *name == operation).count();
        let trap = self.trap.lock().expect("no panic").filter(|trap| trap.operation == operation)?;
        (count == trap.at).then_some(trap.fate)
    }
}

/// A whole request or answer; `None` at the end.
fn message(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<Vec<u8>>> {
    let (mut bytes, mut length) = (Vec::new(), 0);
    loop {
        let from = bytes.len();
        if stream.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&bytes[from..]).to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        if line == "\r\n" {
            break;
        }
    }
    let head = bytes.len();
    bytes.resize(head + length, 0);
    stream.read_exact(&mut bytes[head..])?;
    Ok(Some(bytes))
}

/// A server, a proxy before it, and a folder with two models.
struct Bench {
    server: Server,
    proxy: Proxy,
    folder: TempDir,
}

/// How the command ended.
struct Ended {
    /// `None` if it was killed.
    status: Option<i32>,
    text: String,
    began: Instant,
}

impl Bench {
    fn start(old: &str, new: &str, arguments: &[&str]) -> Bench {
        let server = Server::start(arguments);
        let proxy = Proxy::before(&server);
        let folder = TempDir::new().expect("a folder");
        std::fs::write(folder.path().join("model.yaml"), old).expect("the folder is ours");
        std::fs::write(folder.path().join("next.yaml"), new).expect("the folder is ours");
        let bench = Bench { server, proxy, folder };
        assert_eq!(bench.run(&["model", "apply", "model.yaml"], None).status, Some(DONE));
        bench
    }

    fn migrate(&self, arguments: &[&str], trap: Option<Trap>) -> Ended {
        self.run(&[&["model", "migrate", "model.yaml", "next.yaml"], arguments].concat(), trap)
    }

    fn run(&self, arguments: &[&str], trap: Option<Trap>) -> Ended {
        let shared = &self.proxy.shared;
        shared.requests.lock().expect("no panic").clear();
        *shared.trap.lock().expect("no panic") = trap;
        let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
        command.current_dir(self.folder.path()).args(arguments).env("HOME", self.folder.path());
        for variable in ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_PROFILE", "AWS_ACCESS_KEY_ID"]
        {
            command.env_remove(variable);
        }
        command.args(["--endpoint-url", &self.proxy.url]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let began = Instant::now();
        let mut process = command.spawn().expect("the command starts");
        let output = process.stdout.take().expect("its output is ours");
        let problems = process.stderr.take().expect("its output is ours");
        *shared.process.lock().expect("no panic") = Some(process);
        let text = std::thread::scope(|scope| {
            let problems = scope.spawn(|| text(problems));
            text(output) + &problems.join().expect("no panic")
        });
        let mut process = shared.process.lock().expect("no panic").take().expect("it was started");
        let status = process.wait().expect("its status").code();
        Ended { status, text, began }
    }

    fn call(&self, operation: &str, input: &Value) -> Value {
        call(&self.server.url, operation, input)
    }

    fn scan(&self, input: Value) -> Vec<Value> {
        let (mut items, mut input) = (Vec::new(), input);
        loop {
            let mut page = self.call("Scan", &input);
            items.extend(page["Items"].as_array().expect("items").iter().cloned());
            match page["LastEvaluatedKey"].take() {
                Value::Null => return items,
                key => input["ExclusiveStartKey"] = key,
            }
        }
    }

    fn state(&self) -> Option<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("next.migration.json")).ok()?;
        Some(serde_json::from_str(&text).expect("JSON"))
    }
}

fn text(mut stream: impl Read) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("text");
    text
}

fn call(url: &str, operation: &str, input: &Value) -> Value {
    let answer = server::call(url, operation, &input.to_string());
    serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap_or_default()).unwrap_or_default()
}

/// An order as the application knows it.
#[derive(Clone, Debug, PartialEq)]
struct Order {
    open: bool,
    version: u64,
}

type Orders = BTreeMap<u64, Order>;

/// Orders that the application creates have greater numbers.
const FIRST_NEW: u64 = 1_000_000;

fn key(number: u64) -> Value {
    json!({ "PK": { "S": format!("CUST#c{}", number % 50) }, "SK": { "S": format!("ORDER#{number:06}") } })
}

/// The stored item, in the form of the new model if `both`.
fn item(number: u64, order: &Order, both: bool) -> Value {
    let mut item = key(number);
    item["customerId"] = json!({ "S": format!("c{}", number % 50) });
    item["orderId"] = json!({ "S": format!("{number:06}") });
    item["status"] = json!({ "S": if order.open { "OPEN" } else { "SHIPPED" } });
    item["version"] = json!({ "N": order.version.to_string() });
    if both && order.open {
        let (partition, sort) = index_key(number);
        item["openPK"] = json!({ "S": partition });
        item["openSK"] = json!({ "S": sort });
    }
    item
}

fn index_key(number: u64) -> (String, String) {
    let id = format!("{number:06}");
    (format!("OPEN#{}", crc32(id.as_bytes()) % 3), id)
}

/// As zlib has it: what `shard` is made of.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

fn fill(bench: &Bench, count: u64) -> Orders {
    let orders: Orders =
        (0..count).map(|number| (number, Order { open: number.is_multiple_of(2), version: 1 })).collect();
    let all: Vec<(&u64, &Order)> = orders.iter().collect();
    for chunk in all.chunks(25) {
        let puts = chunk
            .iter()
            .map(|(number, order)| json!({ "PutRequest": { "Item": item(**number, order, false) } }));
        let answer =
            bench.call("BatchWriteItem", &json!({ "RequestItems": { "app": puts.collect::<Vec<_>>() } }));
        assert_eq!(answer["UnprocessedItems"], json!({}));
    }
    orders
}

/// The writers of step 2: they write both forms, until `end` is set.
fn write_both(url: &str, mut orders: Orders, end: &AtomicBool) -> Orders {
    let mut next = FIRST_NEW;
    for turn in 0_u64.. {
        if end.load(Ordering::SeqCst) {
            break;
        }
        // It leaves two of three alone, so that there is enough for the job to do, however slow the machine is.
        let numbers: Vec<u64> = orders.keys().copied().filter(|number| is_own(*number)).collect();
        let number = numbers[(turn * 7919) as usize % numbers.len()];
        match turn % 4 {
            0 => {
                next += 1;
                let order = Order { open: turn.is_multiple_of(8), version: 1 };
                call(url, "PutItem", &json!({ "TableName": "app", "Item": item(next, &order, true) }));
                orders.insert(next, order);
            }
            1 => {
                call(url, "DeleteItem", &json!({ "TableName": "app", "Key": key(number) }));
                orders.remove(&number);
            }
            _ => {
                let order = orders.get_mut(&number).expect("it is one of them");
                *order = Order { open: !order.open, version: order.version + 1 };
                call(url, "UpdateItem", &update(number, order));
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    orders
}

/// Whether the application works on the order.
fn is_own(number: u64) -> bool {
    number.is_multiple_of(3) || number > FIRST_NEW
}

fn update(number: u64, order: &Order) -> Value {
    let (partition, sort) = index_key(number);
    let mut values =
        json!({ ":s": item(number, order, false)["status"], ":v": { "N": order.version.to_string() } });
    let expression = match order.open {
        true => {
            values[":p"] = json!({ "S": partition });
            values[":o"] = json!({ "S": sort });
            "SET #s = :s, version = :v, openPK = :p, openSK = :o"
        }
        false => "SET #s = :s, version = :v REMOVE openPK, openSK",
    };
    json!({
        "TableName": "app", "Key": key(number), "UpdateExpression": expression,
        "ExpressionAttributeNames": { "#s": "status" }, "ExpressionAttributeValues": values,
    })
}

/// How often each item was written without a new version, which the application always gives: by the job.
fn writes_of_the_job(bench: &Bench) -> BTreeMap<String, usize> {
    let url = &bench.server.url;
    let end = json!({ "PK": { "S": "END" }, "SK": { "S": "END" } });
    call(url, "PutItem", &json!({ "TableName": "app", "Item": end }));
    let stream =
        call(url, "DescribeTable", &json!({ "TableName": "app" }))["Table"]["LatestStreamArn"].clone();
    let described = streams(url, "DescribeStream", &json!({ "StreamArn": stream }));
    let shards = described["StreamDescription"]["Shards"].as_array().expect("shards").clone();
    let mut places: Vec<Value> = shards
        .iter()
        .map(|shard| {
            let of = json!({ "StreamArn": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON" });
            streams(url, "GetShardIterator", &of)["ShardIterator"].clone()
        })
        .collect();
    let (mut writes, mut has_ended, began) = (BTreeMap::new(), false, Instant::now());
    loop {
        assert!(began.elapsed() < WAIT_MAX, "the last record can be read");
        let mut found = 0;
        for place in places.iter_mut().filter(|place| !place.is_null()) {
            let page = streams(url, "GetRecords", &json!({ "ShardIterator": place }));
            *place = page["NextShardIterator"].clone();
            for record in page["Records"].as_array().expect("records") {
                found += 1;
                let (old, new) = (&record["dynamodb"]["OldImage"], &record["dynamodb"]["NewImage"]);
                has_ended |= new["PK"]["S"] == "END";
                if record["eventName"] == "MODIFY" && old["version"] == new["version"] {
                    assert!(old.get("openPK").is_none() && new.get("openPK").is_some(), "{record}");
                    *writes.entry(new["orderId"].to_string()).or_default() += 1;
                }
            }
        }
        if has_ended && found == 0 {
            call(url, "DeleteItem", &json!({ "TableName": "app", "Key": end }));
            return writes;
        }
    }
}

fn streams(url: &str, operation: &str, input: &Value) -> Value {
    let headers = format!(
        "Content-Type: application/x-amz-json-1.0\r\nX-Amz-Target: DynamoDBStreams_20120810.{operation}\r\n\
         X-Amz-Date: 20261115T190203Z\r\nAuthorization: AWS4-HMAC-SHA256 \
         Credential=x/20261115/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0\r\n"
    );
    let (status, answer) = server::post(url, "/", &headers, &input.to_string());
    assert_eq!(status, 200, "{operation}: {answer}");
    serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap_or_default()).expect("JSON")
}

/// The table holds exactly these orders, each in the form of the new model, and the index those that are open.
fn holds(bench: &Bench, orders: &Orders) {
    let number =
        |item: &Value| item["orderId"]["S"].as_str().expect("an id").parse::<u64>().expect("a number");
    let items = bench.scan(json!({ "TableName": "app", "ConsistentRead": true }));
    let found: BTreeMap<u64, Value> = items.into_iter().map(|item| (number(&item), item)).collect();
    let expected: BTreeMap<u64, Value> =
        orders.iter().map(|(number, order)| (*number, item(*number, order, true))).collect();
    assert_eq!(found, expected);
    let open = bench.scan(json!({ "TableName": "app", "IndexName": "open" }));
    let open: BTreeSet<u64> = open.iter().map(number).collect();
    assert_eq!(open, orders.iter().filter(|(_, order)| order.open).map(|(number, _)| *number).collect());
}

/// No matter when it is looked: the writes up to then would take as long at the rate.
fn kept_to_the_rate(bench: &Bench, ended: &Ended, per_second: f64) {
    // The first write of each segment is sent before it is known what one costs.
    const AT_ONCE: usize = 4;
    for (count, time) in bench.proxy.operations("UpdateItem").iter().enumerate() {
        let least = count.saturating_sub(AT_ONCE) as f64 / per_second;
        let took = time.duration_since(ended.began).as_secs_f64();
        assert!(took >= least, "{count} writes within {took} s");
    }
}

#[test]
fn a_migration_under_load_that_is_killed_twice_misses_no_item_and_writes_none_twice() {
    let bench = Bench::start(
        &OLD.replace("sort: SK }", "sort: SK, stream: new-and-old }"),
        &with_open_orders().replace("sort: SK }", "sort: SK, stream: new-and-old }"),
        &[],
    );
    let orders = fill(&bench, 3_000);
    let first = bench.migrate(&[], None);
    assert_eq!(first.status, Some(UNFINISHED), "{}", first.text);
    assert!(
        first.text.contains("2. This is yours: Deploy writers that also write openPK, openSK"),
        "{}",
        first.text
    );

    let (end, url) = (AtomicBool::new(false), bench.server.url.clone());
    let orders = std::thread::scope(|scope| {
        let writers = scope.spawn(|| write_both(&url, orders, &end));
        let arguments = ["--deployed", "2", "--rate", "400"];
        let kills = [
            Trap { operation: "UpdateItem", at: 300, fate: Fate::LosesRequest },
            Trap { operation: "UpdateItem", at: 500, fate: Fate::LosesAnswer },
        ];
        let mut done = Vec::new();
        for trap in kills {
            let killed = bench.migrate(&arguments, Some(trap));
            assert_eq!(killed.status, None, "{}", killed.text);
            kept_to_the_rate(&bench, &killed, 400.0);
            done.push(bench.state().expect("a record")["job"]["found"]["written"].as_u64());
        }
        // It went on from where it was.
        assert!(done[0] > Some(0) && done[1] > done[0], "{done:?}");
        let last = bench.migrate(&["--deployed", "4", "--rate", "400", "--json"], None);
        assert_eq!(last.status, Some(DONE), "{}", last.text);
        kept_to_the_rate(&bench, &last, 400.0);
        let report: Value = serde_json::from_str(&last.text).expect("JSON");
        let job = &report["history"][2]["jobs"][0];
        assert_eq!(job["last"]["differing"], 0, "{report:#}");
        assert!(job["last"]["right"].as_u64() > Some(1_000), "{report:#}");
        assert_eq!(job["was_killed"], true, "what it counted is the least that was written: {report:#}");
        end.store(true, Ordering::SeqCst);
        writers.join().expect("no panic")
    });
    holds(&bench, &orders);
    let writes = writes_of_the_job(&bench);
    assert!(writes.len() >= 1_000, "{}", writes.len());
    let twice: Vec<_> = writes.iter().filter(|(_, count)| **count != 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    let again = bench.migrate(&[], None);
    assert_eq!((again.status, again.text.as_str()), (Some(DONE), "All 4 steps are done.\n"));
}

#[test]
fn a_migration_is_paused_and_taken_back() {
    let bench = Bench::start(OLD, &with_open_orders(), &[]);
    let orders = fill(&bench, 400);
    let trap = Trap { operation: "UpdateItem", at: 20, fate: Fate::Pauses };
    let paused = bench.migrate(&["--deployed", "2", "--rate", "100"], Some(trap));
    assert_eq!(paused.status, Some(UNFINISHED), "{}", paused.text);
    assert!(
        paused.text.contains("Paused. To go on:\n  lodestone model migrate model.yaml next.yaml"),
        "{}",
        paused.text
    );
    let written = |bench: &Bench| {
        bench.scan(json!({ "TableName": "app" })).iter().filter(|item| item.get("openPK").is_some()).count()
    };
    assert!((20..200).contains(&written(&bench)), "{}", written(&bench));
    let record = bench.state().expect("a record");
    assert_eq!(record["job"]["found"]["written"], written(&bench), "what was begun is finished, and counted");

    let waits = bench.migrate(&["--back"], None);
    assert_eq!(waits.status, Some(UNFINISHED), "{}", waits.text);
    assert!(waits.text.contains("2. This is yours: undo: Deploy writers"), "{}", waits.text);
    let refused = bench.migrate(&[], None);
    assert_eq!(refused.status, Some(FAILED), "{}", refused.text);
    assert!(refused.text.contains("finish it with --back"), "{}", refused.text);
    let back = bench.migrate(&["--back", "--deployed", "1"], None);
    assert_eq!(back.status, Some(DONE), "{}", back.text);
    assert!(back.text.ends_with("Everything is as it was.\n"), "{}", back.text);
    assert_eq!(written(&bench), 0);
    let table = bench.call("DescribeTable", &json!({ "TableName": "app" }));
    assert_eq!(table["Table"].get("GlobalSecondaryIndexes"), None);
    assert_eq!(bench.state(), None);
    assert_eq!(bench.migrate(&["--back"], None).status, Some(FAILED), "there is nothing left to undo");

    let whole = bench.migrate(&["--deployed", "4"], None);
    assert_eq!(whole.status, Some(DONE), "{}", whole.text);
    assert!(whole.text.contains("400 items of Order are right; 200 written in 2 passes"), "{}", whole.text);
    holds(&bench, &orders);
}

#[test]
fn settings_are_changed_and_changed_back() {
    let new =
        OLD.replace("sort: SK }", "sort: SK, pitr: true, deletion-protection: true, stream: new-and-old }");
    let bench = Bench::start(OLD, &new, &[]);
    let settings = || {
        let table = bench.call("DescribeTable", &json!({ "TableName": "app" }))["Table"].take();
        let backups = bench.call("DescribeContinuousBackups", &json!({ "TableName": "app" }));
        let recovery = &backups["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
        (
            table["DeletionProtectionEnabled"] == true,
            table["StreamSpecification"]["StreamEnabled"] == true,
            recovery["PointInTimeRecoveryStatus"] == "ENABLED",
        )
    };
    assert_eq!(settings(), (false, false, false));
    let done = bench.migrate(&[], None);
    assert_eq!(done.status, Some(DONE), "{}", done.text);
    assert_eq!(settings(), (true, true, true));
    let undone = bench.migrate(&["--back"], None);
    assert_eq!(undone.status, Some(DONE), "{}", undone.text);
    assert_eq!(settings(), (false, false, false));
}

#[test]
fn items_are_copied_to_another_key_and_the_originals_deleted_when_it_is_allowed() {
    let new = OLD.replace("CUST#{customerId}", "C#{customerId}").replace("ORDER#{orderId}", "O#{orderId}");
    let backups = TempDir::new().expect("a folder");
    let bench = Bench::start(OLD, &new, &["--backups", backups.path().to_str().expect("text")]);
    let orders = fill(&bench, 300);
    let trap = Trap { operation: "TransactWriteItems", at: 120, fate: Fate::LosesAnswer };
    let killed = bench.migrate(&["--deployed", "20"], Some(trap));
    assert_eq!(killed.status, None, "{}", killed.text);
    let stopped = bench.migrate(&["--deployed", "20"], None);
    assert_eq!(stopped.status, Some(UNFINISHED), "{}", stopped.text);
    assert!(stopped.text.contains("300 items of Order are right; at least "), "{}", stopped.text);
    assert!(stopped.text.contains("This can't be undone"), "{}", stopped.text);
    let done = bench.migrate(&["--deployed", "20", "--delete"], None);
    assert_eq!(done.status, Some(DONE), "{}", done.text);
    assert!(done.text.contains("backup arn:"), "{}", done.text);
    let tables = bench.call("ListTables", &json!({}));
    let tables: Vec<&str> =
        tables["TableNames"].as_array().expect("names").iter().filter_map(Value::as_str).collect();
    let [table] = tables[..] else { panic!("{tables:?}") };
    let found = bench.scan(json!({ "TableName": table }));
    let found: BTreeSet<&str> = found.iter().filter_map(|item| item["SK"]["S"].as_str()).collect();
    let expected: BTreeSet<String> = orders.keys().map(|number| format!("O#{number:06}")).collect();
    assert_eq!(found, expected.iter().map(String::as_str).collect());
}

#[test]
fn an_item_that_looks_like_an_entity_and_is_none_stops_the_migration() {
    let bench = Bench::start(OLD, &with_open_orders(), &[]);
    fill(&bench, 50);
    let stray = json!({ "PK": { "S": "CUST#x" }, "SK": { "S": "ORDER#y" }, "status": { "S": "OPEN" } });
    bench.call("PutItem", &json!({ "TableName": "app", "Item": stray }));
    let stopped = bench.migrate(&["--deployed", "4"], None);
    assert_eq!(stopped.status, Some(FAILED), "{}", stopped.text);
    assert!(stopped.text.contains("1 item has a key like Order's"), "{}", stopped.text);
    assert_eq!(bench.migrate(&["--deployed", "4", "--ignore-unknown"], None).status, Some(DONE));
}

#[test]
fn a_writer_that_does_not_maintain_both_is_found_out() {
    let bench = Bench::start(OLD, &with_open_orders(), &[]);
    fill(&bench, 50);
    let mut wrong = item(4, &Order { open: true, version: 1 }, true);
    wrong["openSK"] = json!({ "S": "another" });
    bench.call("PutItem", &json!({ "TableName": "app", "Item": wrong }));
    let stopped = bench.migrate(&["--deployed", "4"], None);
    assert_eq!(stopped.status, Some(FAILED), "{}", stopped.text);
    assert!(
        stopped.text.contains("1 item of Order has other keys than its attributes say"),
        "{}",
        stopped.text
    );
    assert!(Path::new(&bench.folder.path().join("next.migration.json")).exists());
}
