//! A client: sends the requests of the workload, gives some of them up, and keeps what it was answered.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use simulation::{Action, Answer, Clock, Event, Key, Kind, Request};

use crate::plan::{ClientPlan, Plan};
use crate::requests::{TABLE, act, by_key, content, item, key_attributes, key_of, number, statement};
use crate::servers::{Failure, Servers};
use crate::strong::{STRONG_REGIONS, is_for_strong_regions};

/// How long a client waits for an answer.
const WAIT: Duration = Duration::from_secs(30);
/// How often a transaction with a token is sent.
const ATTEMPTS_MAX: usize = 8;

/// The requests of all clients and their answers.
#[derive(Default)]
pub struct History {
    events: Mutex<Vec<Event>>,
}

impl History {
    /// The number of a request that begins now.
    fn begin(&self, client: usize, request: &Request, invoked: u64) -> usize {
        let mut events = self.events.lock();
        let answers = vec![Answer::Unknown; request.actions.len()];
        events.push(Event { client, request: request.clone(), invoked, returned: u64::MAX, answers });
        events.len() - 1
    }

    fn end(&self, number: usize, answers: Vec<Answer>, returned: u64) {
        let mut events = self.events.lock();
        (events[number].answers, events[number].returned) = (answers, returned);
    }

    /// Everything so far. A request without an answer has an unknown outcome.
    pub fn events(&self) -> Vec<Event> {
        self.events.lock().clone()
    }
}

/// A client of the servers.
pub struct Client {
    pub servers: Arc<Servers>,
    pub history: Arc<History>,
    pub clock: Arc<Clock>,
    pub number: usize,
    pub chance: fastrand::Rng,
    pub gives_up_percent: u64,
    pub uses_statements: bool,
    /// Decides which writes are statements, if any are.
    pub writes_statements: Option<fastrand::Rng>,
    /// Whether the table is in several Regions, which all see the same.
    pub is_strong: bool,
    /// Whether a scan of one partition is one round trip, and so sees one moment.
    pub pages_are_whole: bool,
}

impl Client {
    /// Sends the requests that the plan has for it.
    pub async fn run(mut self, plan: Arc<Plan>, own: ClientPlan) {
        let mut workload = simulation::Client::new(plan.seed, own.number);
        for _ in 0..own.requests {
            let pause_ms = self.chance.u64(0..=own.pause_ms);
            self.servers.executor.sleep(Duration::from_millis(pause_ms)).await;
            let request = workload.next_request();
            if self.is_strong && !is_for_strong_regions(&request) {
                continue;
            }
            let answers = self.ask(&request).await;
            workload.learn(&request, &answers);
        }
    }

    /// Sends a request and keeps the answer.
    pub async fn ask(&mut self, request: &Request) -> Vec<Answer> {
        let number = self.history.begin(self.number, request, self.clock.tick());
        let answers = self.answers(request, number as u64 + 1).await;
        self.history.end(number, answers.clone(), self.clock.tick());
        let line = format!("{:?} {:?} → {answers:?}", request.kind, request.actions);
        self.servers.trace.line(&format!("client {}", self.number), &line);
        answers
    }

    /// Any server. Sometimes the client gives up before the answer.
    async fn call(&mut self, request: u64, operation: &str, input: Value) -> Result<Value, Failure> {
        let server = self.chance.usize(0..self.servers.count());
        let wait = match self.chance.u64(0..100) < self.gives_up_percent {
            true => Duration::from_micros(self.chance.u64(0..20_000)),
            false => WAIT,
        };
        let answer = match self.is_strong {
            true => {
                let region = self.chance.choice(STRONG_REGIONS).expect("there are some");
                self.servers.call_in(region, server, request, operation, input, wait).await
            }
            false => self.servers.call(server, request, operation, input, wait).await,
        };
        if answer == Err(Failure::Lost) {
            let pause_ms = self.chance.u64(1..200);
            self.servers.executor.sleep(Duration::from_millis(pause_ms)).await;
        }
        answer
    }

    async fn answers(&mut self, request: &Request, number: u64) -> Vec<Answer> {
        let actions = &request.actions;
        let reads = actions.iter().all(|(_, action)| *action == Action::Get);
        match (request.kind, reads) {
            (Kind::Single, _) => vec![self.single(number, actions[0].0, actions[0].1).await],
            (Kind::Transaction, true) => self.transact_get(number, actions).await,
            (Kind::Transaction, false) => self.transact_write(number, actions).await,
            (Kind::Batch, true) => self.batch_get(number, actions).await,
            (Kind::Batch, false) => self.batch_write(number, actions).await,
            (Kind::Index, _) => self.query_local_index(number, actions).await,
        }
    }

    async fn single(&mut self, request: u64, key: Key, action: Action) -> Answer {
        if action == Action::Get && self.uses_statements && self.chance.bool() {
            return self.select(request, key).await;
        }
        if let Some(chance) = &mut self.writes_statements
            && chance.bool()
            && let Some(statement) = statement(key, action)
        {
            return self.write_by_statement(request, action, statement).await;
        }
        let (name, mut input) = act(key, action);
        match action {
            Action::Get => input["ConsistentRead"] = json!(true),
            Action::Add(..) => input["ReturnValues"] = json!("UPDATED_NEW"),
            _ => input["ReturnValues"] = json!("ALL_OLD"),
        }
        match (self.call(request, &format!("{name}Item"), input).await, action) {
            (Ok(answer), Action::Get) => Answer::Read(content(answer.get("Item"))),
            (Ok(answer), Action::Add(..)) => Answer::Counted(number(&answer["Attributes"]["n"])),
            (Ok(answer), _) => Answer::Replaced(content(answer.get("Attributes"))),
            (Err(Failure::Answered { name, body }), _) if name == "ConditionalCheckFailedException" => {
                Answer::RefusedBecauseOf(content(body.get("Item")))
            }
            (Err(failure), _) if is_met(&failure) => Answer::NotDone,
            (Err(failure), _) => in_doubt(&failure, action),
        }
    }

    async fn write_by_statement(&mut self, request: u64, action: Action, statement: Value) -> Answer {
        match self.call(request, "ExecuteStatement", statement).await {
            // An insert returns nothing: there was nothing.
            Ok(answer) => Answer::Replaced(content(answer["Items"].get(0))),
            Err(Failure::Answered { name, body }) if name == "ConditionalCheckFailedException" => {
                Answer::RefusedBecauseOf(content(body.get("Item")))
            }
            // There is an item, but perhaps none with a version.
            Err(failure) if failure.name() == "DuplicateItemException" => Answer::NotDone,
            Err(failure) if is_met(&failure) => Answer::NotDone,
            Err(failure) => in_doubt(&failure, action),
        }
    }

    async fn select(&mut self, request: u64, key: Key) -> Answer {
        let attributes = key_attributes(key);
        let input = json!({
            "Statement": format!("SELECT * FROM \"{TABLE}\" WHERE p = ? AND s = ?"),
            "Parameters": [attributes["p"], attributes["s"]], "ConsistentRead": true,
        });
        match self.call(request, "ExecuteStatement", input).await {
            Ok(answer) => Answer::Read(content(answer["Items"].get(0))),
            Err(failure) => in_doubt(&failure, key),
        }
    }

    async fn transact_get(&mut self, request: u64, actions: &[(Key, Action)]) -> Vec<Answer> {
        let get =
            |(key, _): &(Key, Action)| json!({"Get": {"TableName": TABLE, "Key": key_attributes(*key)}});
        let gets: Vec<Value> = actions.iter().map(get).collect();
        match self.call(request, "TransactGetItems", json!({"TransactItems": gets})).await {
            Ok(answer) => {
                let responses = answer["Responses"].as_array().expect("a list of responses");
                assert_eq!(responses.len(), actions.len());
                responses.iter().map(|response| Answer::Read(content(response.get("Item")))).collect()
            }
            Err(failure) => reasons(&failure).unwrap_or_else(|| all_in_doubt(&failure, actions)),
        }
    }

    /// Every other transaction has a token and is sent until its outcome is known.
    async fn transact_write(&mut self, request: u64, actions: &[(Key, Action)]) -> Vec<Answer> {
        let item = |(key, action): &(Key, Action)| {
            let (name, input) = act(*key, *action);
            json!({name: input})
        };
        let mut input = json!({"TransactItems": actions.iter().map(item).collect::<Vec<Value>>()});
        let mut attempts = 1;
        if request.is_multiple_of(2) {
            input["ClientRequestToken"] = json!(format!("token-{request}"));
            attempts = ATTEMPTS_MAX;
        }
        let mut is_doubtful = false;
        for _ in 0..attempts {
            let failure = match self.call(request, "TransactWriteItems", input.clone()).await {
                Ok(_) => return vec![Answer::Done; actions.len()],
                Err(failure) => failure,
            };
            match reasons(&failure) {
                // A conflict does not say whether an earlier attempt succeeded. A refused condition does: the token of
                // an attempt that succeeded is looked at before conditions.
                Some(answers) if !is_doubtful || answers.iter().any(|answer| *answer != Answer::NotDone) => {
                    return answers;
                }
                Some(_) => {}
                None if failure.name() == "TransactionInProgressException" => is_doubtful = true,
                None => is_doubtful |= all_in_doubt(&failure, actions).len() == actions.len(),
            }
            let pause_ms = self.chance.u64(1..100);
            self.servers.executor.sleep(Duration::from_millis(pause_ms)).await;
        }
        vec![Answer::Unknown; actions.len()]
    }

    async fn batch_get(&mut self, request: u64, actions: &[(Key, Action)]) -> Vec<Answer> {
        let keys: Vec<Value> = actions.iter().map(|(key, _)| key_attributes(*key)).collect();
        let input = json!({"RequestItems": {TABLE: {"Keys": keys, "ConsistentRead": true}}});
        match self.call(request, "BatchGetItem", input).await {
            Ok(answer) => {
                let left = answer["UnprocessedKeys"][TABLE]["Keys"].as_array().cloned().unwrap_or_default();
                let found = by_key(&answer["Responses"][TABLE]);
                let read = |(key, _): &(Key, Action)| match left.contains(&key_attributes(*key)) {
                    true => Answer::Unknown,
                    false => Answer::Read(found.get(key).copied()),
                };
                actions.iter().map(read).collect()
            }
            Err(failure) => all_in_doubt(&failure, actions),
        }
    }

    async fn batch_write(&mut self, request: u64, actions: &[(Key, Action)]) -> Vec<Answer> {
        let write = |(key, action): &(Key, Action)| match action {
            Action::Put(content, _) => json!({"PutRequest": {"Item": item(*key, *content)}}),
            _ => json!({"DeleteRequest": {"Key": key_attributes(*key)}}),
        };
        let writes: Vec<Value> = actions.iter().map(write).collect();
        match self.call(request, "BatchWriteItem", json!({"RequestItems": {TABLE: writes}})).await {
            Ok(answer) => {
                // What comes back is to be sent again; it may have been done.
                let left = answer["UnprocessedItems"][TABLE].as_array().cloned().unwrap_or_default();
                let done = |write| if left.contains(write) { Answer::Unknown } else { Answer::Done };
                writes.iter().map(done).collect()
            }
            // One error for the whole batch says nothing of its other writes.
            Err(failure) if is_met(&failure) => {
                vec![Answer::Unknown; actions.len()]
            }
            Err(failure) => all_in_doubt(&failure, actions),
        }
    }

    /// The versions of a partition's items, from the index that is sorted by them.
    async fn query_local_index(&mut self, request: u64, actions: &[(Key, Action)]) -> Vec<Answer> {
        let input = json!({
            "TableName": TABLE, "IndexName": "by-version", "ConsistentRead": true,
            "KeyConditionExpression": "p = :p",
            "ExpressionAttributeValues": {":p": key_attributes(actions[0].0)["p"]},
        });
        match self.call(request, "Query", input).await {
            Ok(answer) => {
                let rows: Vec<&Value> = answer["Items"].as_array().into_iter().flatten().collect();
                let read = |(key, _): &(Key, Action)| {
                    let mut of_key = rows.iter().filter(|row| key_of(row) == Some(*key));
                    match (of_key.next(), of_key.next()) {
                        (Some(row), None) => {
                            Answer::ReadVersion(content(Some(row)).and_then(|it| it.version))
                        }
                        (None, _) if self.pages_are_whole => Answer::ReadVersion(None),
                        // An item that moves while the range is walked may be met twice, or never.
                        (_, again) => {
                            assert!(
                                again.is_none() || !self.pages_are_whole,
                                "{key:?} is there twice: {answer}"
                            );
                            Answer::Unknown
                        }
                    }
                };
                actions.iter().map(read).collect()
            }
            Err(failure) => all_in_doubt(&failure, actions),
        }
    }
}

/// Whether a request was refused because another one was at its item.
fn is_met(failure: &Failure) -> bool {
    matches!(failure.name(), "TransactionConflictException" | "ReplicatedWriteConflictException")
}

/// The answer to a request that may have been carried out. Any other failure is a fault of the server.
fn in_doubt(failure: &Failure, what: impl std::fmt::Debug) -> Answer {
    assert!(failure.is_in_doubt(), "{what:?}: {failure:?}");
    Answer::Unknown
}

fn all_in_doubt(failure: &Failure, actions: &[(Key, Action)]) -> Vec<Answer> {
    vec![in_doubt(failure, actions); actions.len()]
}

/// Why a transaction was cancelled, if it was.
fn reasons(failure: &Failure) -> Option<Vec<Answer>> {
    let Failure::Answered { name, body } = failure else { return None };
    if name != "TransactionCanceledException" {
        return None;
    }
    let answer = |reason: &Value| match reason["Code"].as_str() {
        Some("ConditionalCheckFailed") => Answer::RefusedBecauseOf(content(reason.get("Item"))),
        Some("None" | "TransactionConflict") => Answer::NotDone,
        _ => panic!("{failure:?}"),
    };
    Some(body["CancellationReasons"].as_array()?.iter().map(answer).collect())
}
