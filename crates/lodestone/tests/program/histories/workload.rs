//! Random workloads on a database in this process: 16 clients at once, every exchange recorded.
//!
//! Items are in one table, a family of them in a partition, with a local index and two global ones, whose rows
//! move with most writes. Requests and answers are DynamoDB JSON, as a client would see them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use api::{Operation, Request, Service};
use engine::{Caller, Engine};
use serde_json::{Map, Value, json};
use simulation::{
    Action, Answer, Client, Clock, Condition, Content, Event, Family, Key, Kind, final_reads, setup,
};

const CLIENTS: usize = 16;
/// How often a transaction with a token is sent. A store that fails one call in a few fails this many in a
/// row once in a billion times.
const ATTEMPTS_MAX: usize = 20;

/// A history that is being made.
pub struct Workload {
    seed: u64,
    requests: usize,
    clock: Clock,
    tokens: AtomicU64,
}

/// A way to call the database.
#[derive(Clone)]
pub struct Connection {
    /// The servers, which get the requests by turns.
    engines: Arc<[Arc<Engine>]>,
    turn: Arc<AtomicUsize>,
    caller: Caller,
    /// The outcome of a write that is neither acknowledged nor refused.
    undone: Answer,
}

/// An error as a client sees it.
#[derive(Debug)]
struct Failure {
    name: String,
    body: Value,
}

impl Workload {
    pub fn new(seed: u64, requests: usize) -> Arc<Workload> {
        Arc::new(Workload { seed, requests, clock: Clock::default(), tokens: AtomicU64::new(0) })
    }

    /// Makes the table and what is there in the beginning.
    pub async fn set_up(&self, connection: &Connection) -> Vec<Event> {
        connection.call("CreateTable", table()).await.expect("a table is made");
        self.ask_all(connection, setup()).await
    }

    /// All clients at once, until they are done.
    pub async fn run(self: &Arc<Self>, connection: &Connection) -> Vec<Event> {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| tokio::spawn(self.clone().run_client(connection.clone(), number)))
            .collect();
        let mut events = Vec::new();
        for client in clients {
            events.extend(client.await.expect("a client is answered"));
        }
        events
    }

    /// Looks at everything when the clients are done.
    pub async fn look(&self, connection: &Connection) -> Vec<Event> {
        self.ask_all(connection, final_reads()).await
    }

    async fn run_client(self: Arc<Self>, connection: Connection, number: usize) -> Vec<Event> {
        let mut client = Client::new(self.seed, number);
        let mut chance = fastrand::Rng::with_seed(self.seed ^ number as u64);
        let mut events = Vec::new();
        while events.len() < self.requests / CLIENTS {
            let event = self.ask(&connection, number, client.next_request()).await;
            client.learn(&event.request, &event.answers);
            events.push(event);
            match chance.u8(0..50) {
                0 => connection.look_through_global_indexes().await,
                1..25 => tokio::task::yield_now().await,
                _ => {}
            }
        }
        events
    }

    async fn ask_all(&self, connection: &Connection, requests: Vec<simulation::Request>) -> Vec<Event> {
        let mut events = Vec::new();
        for request in requests {
            events.push(self.ask(connection, CLIENTS, request).await);
        }
        events
    }

    async fn ask(&self, connection: &Connection, client: usize, request: simulation::Request) -> Event {
        let token = self.tokens.fetch_add(1, Ordering::Relaxed);
        let invoked = self.clock.tick();
        let answers = connection.answers(&request, token).await;
        Event { client, invoked, returned: self.clock.tick(), request, answers }
    }
}

impl Connection {
    pub fn new(engine: Arc<Engine>) -> Connection {
        Connection::by_turns(&[engine])
    }

    /// To several servers on one store.
    pub fn by_turns(engines: &[Arc<Engine>]) -> Connection {
        let caller = Caller::new("000000000000", "us-east-1");
        Connection { engines: engines.into(), turn: Arc::default(), caller, undone: Answer::NotDone }
    }

    /// To a database whose store fails: what is not acknowledged may have been done all the same.
    pub fn to_failing(engine: Arc<Engine>) -> Connection {
        Connection { undone: Answer::Unknown, ..Connection::new(engine) }
    }

    /// Whether a failure tells that the store failed, which only a failing one may.
    fn is_fault(&self, failure: &Failure) -> bool {
        self.undone == Answer::Unknown && failure.name == "InternalServerError"
    }

    async fn call(&self, operation: &str, input: Value) -> Result<Value, Failure> {
        let operation = Operation::from_target_name(operation).expect("a served operation");
        let request = Request::decode(operation, input.to_string().as_bytes()).expect("a right request");
        let mut body = Vec::new();
        let engine = &self.engines[self.turn.fetch_add(1, Ordering::Relaxed) % self.engines.len()];
        match engine.call(&self.caller, request).await {
            Ok(response) => {
                response.write_json(&mut body);
                Ok(serde_json::from_slice(&body).expect("an answer is JSON"))
            }
            Err(error) => {
                error.write_json(Service::DynamoDb, &mut body);
                let name = error.kind.name().to_owned();
                Err(Failure { name, body: serde_json::from_slice(&body).expect("an error is JSON") })
            }
        }
    }

    async fn answers(&self, request: &simulation::Request, token: u64) -> Vec<Answer> {
        let actions = &request.actions;
        let reads = actions.iter().all(|(_, action)| *action == Action::Get);
        match (request.kind, reads) {
            (Kind::Single, _) => vec![self.single(actions[0].0, actions[0].1).await],
            (Kind::Transaction, true) => self.transact_get(actions).await,
            (Kind::Transaction, false) => self.transact_write(actions, token).await,
            (Kind::Batch, true) => self.batch_get(actions).await,
            (Kind::Batch, false) => self.batch_write(actions).await,
            (Kind::Index, _) => self.query_local_index(actions).await,
        }
    }

    async fn single(&self, key: Key, action: Action) -> Answer {
        let (name, mut input) = act(key, action);
        match action {
            Action::Get => input["ConsistentRead"] = json!(true),
            Action::Add(..) => input["ReturnValues"] = json!("UPDATED_NEW"),
            _ => input["ReturnValues"] = json!("ALL_OLD"),
        }
        match (self.call(&format!("{name}Item"), input).await, action) {
            (Ok(answer), Action::Get) => Answer::Read(content(answer.get("Item"))),
            (Ok(answer), Action::Add(..)) => Answer::Counted(number(&answer["Attributes"]["n"])),
            (Ok(answer), _) => Answer::Replaced(content(answer.get("Attributes"))),
            (Err(failure), _) => match failure.name.as_str() {
                "ConditionalCheckFailedException" => {
                    Answer::RefusedBecauseOf(content(failure.body.get("Item")))
                }
                "TransactionConflictException" => Answer::NotDone,
                _ if self.is_fault(&failure) => Answer::Unknown,
                _ => panic!("{action:?} of {key:?}: {failure:?}"),
            },
        }
    }

    async fn transact_get(&self, actions: &[(Key, Action)]) -> Vec<Answer> {
        let get =
            |(key, _): &(Key, Action)| json!({"Get": {"TableName": "Table", "Key": key_attributes(*key)}});
        let gets: Vec<Value> = actions.iter().map(get).collect();
        match self.call("TransactGetItems", json!({"TransactItems": gets})).await {
            Ok(answer) => {
                let responses = answer["Responses"].as_array().expect("a list of responses");
                assert_eq!(responses.len(), actions.len());
                responses.iter().map(|response| Answer::Read(content(response.get("Item")))).collect()
            }
            Err(failure) if failure.name == "TransactionCanceledException" => reasons(&failure),
            Err(failure) => panic!("{actions:?}: {failure:?}"),
        }
    }

    /// Every other transaction has a token and is sent until its outcome is known.
    async fn transact_write(&self, actions: &[(Key, Action)], token: u64) -> Vec<Answer> {
        let item = |(key, action): &(Key, Action)| {
            let (name, input) = act(*key, *action);
            json!({name: input})
        };
        let mut input = json!({"TransactItems": actions.iter().map(item).collect::<Vec<Value>>()});
        let mut attempts = 1;
        if token.is_multiple_of(2) {
            input["ClientRequestToken"] = json!(format!("token-{token}"));
            attempts = ATTEMPTS_MAX;
        }
        let mut in_doubt = false;
        for _ in 0..attempts {
            match self.call("TransactWriteItems", input.clone()).await {
                Ok(_) => return vec![Answer::Done; actions.len()],
                Err(failure) if self.is_fault(&failure) => in_doubt = true,
                Err(failure) if failure.name == "TransactionCanceledException" => {
                    let answers = reasons(&failure);
                    // A conflict with another transaction does not say whether an earlier attempt succeeded. A
                    // refused condition does: the token of an attempt that succeeded is looked at before conditions.
                    let refused = answers.iter().any(|answer| *answer != Answer::NotDone);
                    if refused || !in_doubt {
                        return answers;
                    }
                    tokio::task::yield_now().await;
                }
                Err(failure) => panic!("{actions:?}: {failure:?}"),
            }
        }
        vec![Answer::Unknown; actions.len()]
    }

    async fn batch_get(&self, actions: &[(Key, Action)]) -> Vec<Answer> {
        let keys: Vec<Value> = actions.iter().map(|(key, _)| key_attributes(*key)).collect();
        let input = json!({"RequestItems": {"Table": {"Keys": keys, "ConsistentRead": true}}});
        let answer = self.call("BatchGetItem", input).await.expect("a batch is read");
        assert_eq!(answer["UnprocessedKeys"], json!({}));
        let found = by_key(&answer["Responses"]["Table"]);
        actions.iter().map(|(key, _)| Answer::Read(found.get(key).copied())).collect()
    }

    /// What comes back is to be sent again.
    async fn batch_write(&self, actions: &[(Key, Action)]) -> Vec<Answer> {
        let request = |(key, action): &(Key, Action)| match action {
            Action::Put(content, _) => json!({"PutRequest": {"Item": item(*key, *content)}}),
            _ => json!({"DeleteRequest": {"Key": key_attributes(*key)}}),
        };
        let requests: Vec<Value> = actions.iter().map(request).collect();
        match self.call("BatchWriteItem", json!({"RequestItems": {"Table": requests}})).await {
            Ok(answer) => {
                let left = answer["UnprocessedItems"]["Table"].as_array().cloned().unwrap_or_default();
                let done = |request| if left.contains(request) { self.undone } else { Answer::Done };
                requests.iter().map(done).collect()
            }
            // One error for the whole batch says nothing of its other writes.
            Err(failure) if failure.name == "TransactionConflictException" || self.is_fault(&failure) => {
                vec![self.undone; actions.len()]
            }
            Err(failure) => panic!("{actions:?}: {failure:?}"),
        }
    }

    /// The versions of a partition's items, from the index that is sorted by them.
    async fn query_local_index(&self, actions: &[(Key, Action)]) -> Vec<Answer> {
        let input = json!({
            "TableName": "Table", "IndexName": "by-version", "ConsistentRead": true,
            "KeyConditionExpression": "p = :p",
            "ExpressionAttributeValues": {":p": key_attributes(actions[0].0)["p"]},
        });
        let answer = self.call("Query", input).await.expect("an index is read");
        let found = by_key(&answer["Items"]);
        let version = |key| found.get(key).and_then(|content: &Content| content.version);
        actions.iter().map(|(key, _)| Answer::ReadVersion(version(key))).collect()
    }

    /// A global index promises little to those who read it beside writers: only that every row is whole.
    async fn look_through_global_indexes(&self) {
        let input = json!({"TableName": "Table", "IndexName": "by-sort", "Limit": 5});
        self.call("Scan", input).await.expect("an index is read");
        let input = json!({
            "TableName": "Table", "IndexName": "by-flag", "ScanIndexForward": false,
            "KeyConditionExpression": "f = :f AND n > :n",
            "ExpressionAttributeValues": {":f": {"S": "flag"}, ":n": {"N": "2"}},
        });
        let answer = self.call("Query", input).await.expect("an index is read");
        for content in by_key(&answer["Items"]).values() {
            assert!(content.count.is_some_and(|count| count > 2), "{answer}");
        }
    }
}

fn reasons(failure: &Failure) -> Vec<Answer> {
    let answer = |reason: &Value| match reason["Code"].as_str() {
        Some("ConditionalCheckFailed") => Answer::RefusedBecauseOf(content(reason.get("Item"))),
        Some("None" | "TransactionConflict") => Answer::NotDone,
        _ => panic!("{failure:?}"),
    };
    failure.body["CancellationReasons"].as_array().expect("a list of reasons").iter().map(answer).collect()
}

fn table() -> Value {
    let key = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    json!({
        "TableName": "Table", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("p", "s"),
        "AttributeDefinitions": [
            {"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "s", "AttributeType": "S"},
            {"AttributeName": "v", "AttributeType": "N"}, {"AttributeName": "n", "AttributeType": "N"},
            {"AttributeName": "f", "AttributeType": "S"},
        ],
        "LocalSecondaryIndexes": [
            {"IndexName": "by-version", "KeySchema": key("p", "v"), "Projection": {"ProjectionType": "ALL"}},
        ],
        "GlobalSecondaryIndexes": [
            {"IndexName": "by-flag", "KeySchema": key("f", "n"),
             "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["v"]}},
            {"IndexName": "by-sort", "KeySchema": key("s", "p"), "Projection": {"ProjectionType": "KEYS_ONLY"}},
        ],
    })
}

/// The member of a transaction that carries the action out. Its name with `Item` behind it is the operation
/// that does the same by itself.
fn act(key: Key, action: Action) -> (&'static str, Value) {
    let mut values = Map::new();
    let (name, mut input) = match action {
        Action::Get => ("Get", json!({"Key": key_attributes(key)})),
        Action::Put(content, _) => ("Put", json!({"Item": item(key, content)})),
        Action::Delete(_) => ("Delete", json!({"Key": key_attributes(key)})),
        Action::Check(_) => ("ConditionCheck", json!({"Key": key_attributes(key)})),
        Action::SetVersion(version, _) => {
            values.insert(":v".to_owned(), json!({"N": version.to_string()}));
            let update = if is_flagged(version) {
                values.insert(":f".to_owned(), json!({"S": "flag"}));
                "SET v = :v, f = :f"
            } else {
                "SET v = :v REMOVE f"
            };
            ("Update", json!({"Key": key_attributes(key), "UpdateExpression": update}))
        }
        Action::Add(amount, _) => {
            values.insert(":amount".to_owned(), json!({"N": amount.to_string()}));
            ("Update", json!({"Key": key_attributes(key), "UpdateExpression": "ADD n :amount"}))
        }
    };
    let condition = match action.condition() {
        Condition::Always => None,
        Condition::Version(None) => Some("attribute_not_exists(v)"),
        Condition::Version(Some(version)) => {
            values.insert(":expected".to_owned(), json!({"N": version.to_string()}));
            Some("v = :expected")
        }
        Condition::CountAtLeast(least) => {
            values.insert(":expected".to_owned(), json!({"N": least.to_string()}));
            Some("n >= :expected")
        }
    };
    if let Some(condition) = condition {
        input["ConditionExpression"] = json!(condition);
        input["ReturnValuesOnConditionCheckFailure"] = json!("ALL_OLD");
    }
    if !values.is_empty() {
        input["ExpressionAttributeValues"] = Value::Object(values);
    }
    input["TableName"] = json!("Table");
    (name, input)
}

fn key_attributes(key: Key) -> Value {
    json!({"p": {"S": format!("{:?}", key.family)}, "s": {"S": key.number.to_string()}})
}

/// Some versions carry a flag, so that items come and go in the index of flags, and so that an item which
/// mixes two writes shows itself.
fn is_flagged(version: u64) -> bool {
    version.is_multiple_of(3)
}

fn item(key: Key, content: Content) -> Value {
    let mut item = key_attributes(key);
    if let Some(version) = content.version {
        item["v"] = json!({"N": version.to_string()});
        if is_flagged(version) {
            item["f"] = json!({"S": "flag"});
        }
    }
    if let Some(count) = content.count {
        item["n"] = json!({"N": count.to_string()});
    }
    item
}

fn content(item: Option<&Value>) -> Option<Content> {
    let item = item?;
    let read = |name| item.get(name).map(number);
    let content = Content { version: read("v").map(i64::cast_unsigned), count: read("n") };
    let flagged = content.version.is_some_and(is_flagged);
    assert_eq!(item.get("f").is_some(), flagged, "an item mixes two writes: {item}");
    Some(content)
}

fn by_key(items: &Value) -> BTreeMap<Key, Content> {
    let mut found = BTreeMap::new();
    for item in items.as_array().expect("a list of items") {
        let family = [Family::Register, Family::Versioned, Family::Account]
            .into_iter()
            .find(|family| item["p"]["S"] == format!("{family:?}"));
        let number = item["s"]["S"].as_str().and_then(|number| number.parse().ok());
        let key = Key { family: family.expect("a family"), number: number.expect("a number") };
        let twice = found.insert(key, content(Some(item)).expect("an item"));
        assert!(twice.is_none(), "{key:?} is there twice: {items}");
    }
    found
}

fn number(value: &Value) -> i64 {
    value["N"].as_str().and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no number: {value}"))
}
