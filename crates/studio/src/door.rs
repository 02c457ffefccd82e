//! `/studio/api/…`: every command of the studio's pages, POST with JSON in and JSON out.
//!
//! `call/{Operation}` hands DynamoDB JSON to the engine byte for byte. A read-only studio refuses writes here, not
//! only in its pages.

use api::ErrorKind;
use bytes::Bytes;
use engine::{Caller, FaultKind, FaultRule, FaultStatus, Namespace};
use http::request::Parts;
use http::{HeaderName, Response, StatusCode};
use model::Source;
use model_format::TABLE_CONTENTS;
use proof::apply;
use serde_json::{Value, json};

use crate::live::{self, Live};
use crate::model_files::ModelFileError;
use crate::outside::{AccessKey, SignedIn};
use crate::{Studio, builder, change, guard, item_json, metrics, model_files, pattern, reply, workbench};

/// The account and Region of a request: `000000000000.us-east-1`.
const AS: HeaderName = HeaderName::from_static("x-lodestone-as");
/// The connection whose database is asked, by its id; none for this server's own.
const CONNECTION: HeaderName = HeaderName::from_static("x-lodestone-connection");
const ACCOUNT: &str = "000000000000";
const REGION: &str = "us-east-1";
const READ_ONLY_SERVER: &str = "the server was started with --studio read-only";
const READ_ONLY_CONNECTION: &str = "this connection is read-only: Connections says how to allow writes";
/// What only this server knows, and the action that policies allow it by.
const FEATURES: [(&str, &str); 7] = [
    ("heat", "lodestone:DescribeHeat"),
    ("capacity", "lodestone:DescribeCapacity"),
    ("metrics", "cloudwatch:GetMetricData"),
    ("learn", "lodestone:WatchRequests"),
    ("faults", "lodestone:InjectFault"),
    ("regions", "lodestone:LinkRegions"),
    ("difference", "dynamodb:RestoreTableToPointInTime"),
];
/// Tables and actions that one question names.
const MAY_MAX: usize = 100;
/// Tables whose use is compared.
const TABLES_NAMED_MAX: usize = 10_000;

/// Example models by name.
const EXAMPLES: [(&str, &str); 5] = [
    ("order-management", include_str!("../../../examples/models/m03-order-management.yaml")),
    ("ecommerce-app", include_str!("../../../examples/models/m02-ecommerce-app.yaml")),
    ("leaderboard", include_str!("../../../examples/models/m05-leaderboard.yaml")),
    ("device-readings", include_str!("../../../examples/models/m06-device-readings.yaml")),
    ("starter", model::STARTER),
];

/// Items that are read to learn what a table holds.
pub const SURVEYED_ITEMS_MAX: usize = 500;
/// How much text one list of files holds.
const LISTED_BYTES_MAX: usize = 8 << 20;

/// Why there is no answer.
#[derive(Debug)]
pub struct Fault {
    pub status: StatusCode,
    pub body: Value,
}

impl Fault {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Fault {
        Fault { status, body: json!({ "message": message.into() }) }
    }

    /// Of AWS's errors some have a capital letter.
    fn message(&self) -> &Value {
        self.body.get("message").or_else(|| self.body.get("Message")).unwrap_or(&Value::Null)
    }

    pub fn bad(message: impl Into<String>) -> Fault {
        Fault::new(StatusCode::BAD_REQUEST, message)
    }

    pub fn unknown_command(name: &str) -> Fault {
        Fault::new(StatusCode::NOT_FOUND, format!("The studio's door has no command {name}."))
    }

    /// Something that only this server knows of its own tables.
    fn elsewhere() -> Fault {
        let message = "Only a Lodestone can tell this, of its own tables: open its own studio.";
        Fault::new(StatusCode::NOT_IMPLEMENTED, message)
    }
}

impl From<api::Error> for Fault {
    fn from(error: api::Error) -> Fault {
        let mut body = Vec::new();
        error.write_json(api::Service::DynamoDb, &mut body);
        Fault { status: live::status(&error), body: serde_json::from_slice(&body).unwrap_or_default() }
    }
}

impl From<ModelFileError> for Fault {
    fn from(error: ModelFileError) -> Fault {
        match error {
            ModelFileError::Name => Fault::bad("A model is named with letters, digits, - and _."),
            ModelFileError::Missing => Fault::new(StatusCode::NOT_FOUND, "There is no such model."),
            ModelFileError::Changed(text) => {
                let hash = model_files::hash(&text);
                let message = "The file is not what you read: somebody else has changed it.";
                Fault {
                    status: StatusCode::CONFLICT,
                    body: json!({ "message": message, "text": text, "hash": hash }),
                }
            }
            ModelFileError::TooLarge => {
                Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "A model file has 1 MB at most.")
            }
            ModelFileError::Full => {
                Fault::new(StatusCode::INSUFFICIENT_STORAGE, "There are 500 models already.")
            }
            ModelFileError::Unreadable(why) => {
                Fault::new(StatusCode::INTERNAL_SERVER_ERROR, format!("The file can't be read: {why}."))
            }
        }
    }
}

impl Studio {
    /// `command` is the part after `/studio/api/`.
    pub(crate) async fn door(&self, head: &Parts, command: &str, body: &Bytes) -> Response<Bytes> {
        let answered = match command.split_once('/') {
            Some(("call", operation)) => match self.call(head, operation, body).await {
                Ok(answer) => return reply::with_body(StatusCode::OK, "application/json", answer),
                Err(fault) => Err(fault),
            },
            _ => self.command(head, command, body).await,
        };
        match answered {
            Ok(value) => reply::json(StatusCode::OK, &value),
            Err(fault) => reply::json(fault.status, &fault.body),
        }
    }

    async fn call(&self, head: &Parts, operation: &str, body: &[u8]) -> Result<Vec<u8>, Fault> {
        let live = self.live(head)?;
        if live.read_only.is_some() && live::writes(operation, body) {
            live.refuse_writes(operation)?;
        }
        Ok(live.call(operation, body).await?)
    }

    async fn command(&self, head: &Parts, command: &str, body: &[u8]) -> Result<Value, Fault> {
        let input: Value = if body.is_empty() {
            json!({})
        } else {
            serde_json::from_slice(body).map_err(|error| Fault::bad(format!("This is not JSON: {error}.")))?
        };
        match command.split_once('/').unwrap_or((command, "")) {
            ("session", "") => self.session(head),
            ("signin", "") => self.sign_in(&input),
            ("signout", "") => self.sign_out(head),
            ("may", "") => self.may(head, &input),
            ("connections", act) => self.connections(head, act, input).await,
            ("examples", "") => Ok(examples()),
            ("change", "") => self.change(head, &input).await,
            ("difference", "") => self.difference(head, &input).await,
            ("traffic", "") => self.traffic(head, &input),
            ("metrics", "") => self.metrics(head, &input).await,
            ("capacity", "") => self.capacity(head, &input).await,
            ("learn", "") => self.learn(head, &input).await,
            ("faults", "") => self.faults(head, &input),
            ("regions", "") => self.regions(head, &input).await,
            ("progress", "") => self.progress(head).await,
            ("survey", "") => self.survey(head, &input).await,
            ("run", "") => self.run(head, &input).await,
            ("request", "build") => self.build(head, &input).await,
            ("request", "code") => {
                Ok(model_code::request::all(input["operation"].as_str().unwrap_or_default(), &input["input"]))
            }
            ("model", "apply") => self.apply(head, &input).await,
            ("model", command) => self.workbench(command.to_owned(), input).await,
            ("file", "") => self.files(),
            ("file", name) => self.file(head, name, &input),
            _ => Err(Fault::unknown_command(command)),
        }
    }

    /// What a page shows of where it is, and what it may do there.
    fn session(&self, head: &Parts) -> Result<Value, Fault> {
        let live = self.live(head)?;
        let connection = connection_id(head).and_then(|id| Some((id, self.connections.find(id)?)));
        let signed_in =
            self.session_key(head).map(|(key, signed)| json!({ "name": signed.name, "key": key.id }));
        let feature = |action: &str| match self.authorize(&live, action) {
            Ok(()) => Value::Null,
            Err(fault) => fault.message().clone(),
        };
        let features: serde_json::Map<String, Value> =
            FEATURES.iter().map(|(name, action)| ((*name).to_owned(), feature(action))).collect();
        let has_connections = self.options.outside.is_some() && signed_in.is_none();
        Ok(json!({
            "version": env!("CARGO_PKG_VERSION"),
            "storage": self.options.storage,
            "readOnly": live.read_only.is_some(),
            "readOnlyWhy": live.read_only,
            "account": &*live.caller.namespace.account,
            "region": &*live.caller.namespace.region,
            "models": self.options.models.as_ref().map(|folder| folder.display().to_string()),
            "hasKeys": self.options.has_keys(),
            "signedIn": signed_in,
            "hasConnections": has_connections,
            "connection": connection.map(|(id, connection)| connection.json(id)),
            // What can't be asked here, each with its reason.
            "withheld": features.into_iter().filter(|(_, why)| !why.is_null()).collect::<serde_json::Map<_, _>>(),
        }))
    }

    /// Begins a session with a key of the access file.
    fn sign_in(&self, input: &Value) -> Result<Value, Fault> {
        let text = |member: &str| input[member].as_str().unwrap_or_default().trim().to_owned();
        let outside = self.options.outside.as_ref().filter(|outside| outside.has_keys());
        let outside = outside.ok_or_else(|| {
            Fault::bad("This server has no access file: there is no key to sign in with, and none is needed.")
        })?;
        let session_token = Some(text("token")).filter(|token| !token.is_empty());
        let key = AccessKey { id: text("id"), secret: text("secret"), session_token };
        let signed = outside.caller(&key, REGION).map_err(|error| refused_key(&key, &error))?;
        let id = self.sessions.begin(key);
        let id = id.ok_or_else(|| {
            Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "The system gives no random numbers.")
        })?;
        Ok(json!({ "session": id, "name": signed.name, "account": &*signed.caller.namespace.account }))
    }

    fn sign_out(&self, head: &Parts) -> Result<Value, Fault> {
        self.sessions.end(header_text(head, &guard::HEADER).unwrap_or_default());
        Ok(json!({}))
    }

    /// The key that a page signed in with, and whose it is now.
    pub(crate) fn session_key(&self, head: &Parts) -> Option<(AccessKey, SignedIn)> {
        let key = self.sessions.key(header_text(head, &guard::HEADER)?)?;
        let signed = self.options.outside.as_ref()?.caller(&key, REGION).ok()?;
        Some((key, signed))
    }

    /// Which of these actions on tables the caller's policies allow. A table's own policy is not asked.
    fn may(&self, head: &Parts, input: &Value) -> Result<Value, Fault> {
        let caller = self.live(head)?.caller;
        let texts = |member: &str| {
            let all = input[member].as_array().into_iter().flatten();
            all.filter_map(Value::as_str).take(MAY_MAX).map(str::to_owned).collect::<Vec<_>>()
        };
        let (account, region) = (&caller.namespace.account, &caller.namespace.region);
        let mut denied = serde_json::Map::new();
        for table in texts("tables") {
            let arn = format!("arn:aws:dynamodb:{region}:{account}:table/{table}");
            let denials = texts("actions").into_iter().filter_map(|action| {
                let denial = caller.authorize(&format!("dynamodb:{action}"), &arn).err()?;
                Some((action, json!(denial.message)))
            });
            denied.insert(table, Value::Object(denials.collect()));
        }
        Ok(json!({ "denied": denied }))
    }

    /// The database for the account and Region in the header: this server's, or that of a connection.
    fn live(&self, head: &Parts) -> Result<Live, Fault> {
        let named = match header_text(head, &AS) {
            None => None,
            Some(named) => Some(named.split_once('.').filter(|(account, region)| is_account(account) && is_region(region)).ok_or_else(
                || Fault::bad("An account has 12 digits and a Region letters, digits and -: 000000000000.us-east-1."),
            )?),
        };
        let (account, region) = (named.map(|(account, _)| account), named.map(|(_, region)| region));
        let read_only = self.options.read_only.then_some(READ_ONLY_SERVER);
        let engine = self.engine.clone();
        let header = header_text(head, &guard::HEADER).unwrap_or_default();
        if let Some(key) = self.sessions.key(header) {
            let caller = self.signed_caller(&key, region.unwrap_or(REGION))?;
            if account.is_some_and(|account| account != &*caller.namespace.account) {
                return Err(Fault::bad(
                    "Your key belongs to another account: sign in with a key of this one.",
                ));
            }
            return Ok(Live { engine, caller, remote: None, read_only });
        }
        if let Some(id) = connection_id(head) {
            let remote = self.remote(id, account, region)?;
            let caller = Caller::new(account.unwrap_or(ACCOUNT), remote.region);
            let read_only = read_only.or(remote.is_read_only.then_some(READ_ONLY_CONNECTION));
            return Ok(Live { engine, caller, remote: Some(remote.database), read_only });
        }
        let caller = Caller::new(account.unwrap_or(ACCOUNT), region.unwrap_or(REGION));
        Ok(Live { engine, caller, remote: None, read_only })
    }

    fn signed_caller(&self, key: &AccessKey, region: &str) -> Result<Caller, Fault> {
        let outside =
            self.options.outside.as_ref().ok_or_else(|| refused_session("there is no access file"))?;
        outside
            .caller(key, region)
            .map(|signed| signed.caller)
            .map_err(|error| refused_session(&error.message))
    }

    /// This server's own database, for what only it can tell, if the caller's policies allow the action.
    fn own(&self, head: &Parts, action: &str) -> Result<Live, Fault> {
        let live = self.live(head)?;
        self.authorize(&live, action).map(|()| live)
    }

    fn authorize(&self, live: &Live, action: &str) -> Result<(), Fault> {
        match live.remote {
            Some(_) => Err(Fault::elsewhere()),
            None => Ok(live.caller.authorize(action, "*")?),
        }
    }

    async fn description(&self, live: &Live, input: &Value) -> Result<Value, Fault> {
        let mut answer = live.ask("DescribeTable", &json!({ "TableName": input["table"] })).await?;
        Ok(answer["Table"].take())
    }

    async fn build(&self, head: &Parts, input: &Value) -> Result<Value, Fault> {
        let live = self.live(head)?;
        let table = self.description(&live, input).await?;
        builder::build(&table, &input["parts"], &live.caller.namespace.region).map_err(Fault::bad)
    }

    async fn change(&self, head: &Parts, input: &Value) -> Result<Value, Fault> {
        let live = self.live(head)?;
        let table = self.description(&live, input).await?;
        let model =
            input["model"].as_str().map(|text| workbench::read(&Source::new("model", text))).transpose()?;
        change::plan(&live, &table, model.as_ref(), &input["changes"]).await
    }

    /// What a restore to a time would undo. The time is in seconds, as DynamoDB's are.
    async fn difference(&self, head: &Parts, input: &Value) -> Result<Value, Fault> {
        let live = self.own(head, "dynamodb:RestoreTableToPointInTime")?;
        let time = input["time"].as_f64().ok_or_else(|| Fault::bad("`time` is in seconds."))?;
        let table = input["table"].as_str().unwrap_or_default();
        let _permit = self.permit().await?;
        let found = self.engine.difference(&live.caller, table, (time.max(0.0) * 1e6).round() as u64).await?;
        let document = |item: &Option<item::Item>| item.as_ref().map(item_json::document);
        let examples = found.examples.iter();
        let examples = examples.map(|one| json!({ "then": document(&one.then), "now": document(&one.now) }));
        Ok(json!({
            "added": found.added,
            "removed": found.removed,
            "changed": found.changed,
            "itemsThen": found.items_then,
            "complete": found.is_complete,
            "examples": examples.collect::<Vec<_>>(),
        }))
    }

    /// What clients did with a table lately.
    fn traffic(&self, head: &Parts, input: &Value) -> Result<Value, Fault> {
        let namespace = self.own(head, "lodestone:DescribeHeat")?.caller.namespace;
        let table = input["table"].as_str().unwrap_or_default();
        let heat = self.engine.heat(&namespace, table).map_or_else(Vec::new, |heat| heat.resources);
        Ok(json!({
            "now": self.engine.usage().now().ms as f64 / 1000.0,
            "counts": !self.engine.usage().is_off(),
            "parts": self.traffic.of_table(&namespace, table, &heat),
        }))
    }

    /// The engine's metrics, of one table or of all.
    async fn metrics(&self, head: &Parts, input: &Value) -> Result<Value, Fault> {
        let namespace = self.own(head, "cloudwatch:GetMetricData")?.caller.namespace;
        let minutes = input["minutes"].as_u64().unwrap_or(60);
        let existing = self.table_names(&namespace).await?;
        let table = input["table"].as_str().filter(|table| !table.is_empty());
        let mut found = metrics::read(&self.engine, &namespace, existing, table, minutes).await?;
        found["counts"] = json!(!self.engine.usage().is_off());
        Ok(found)
    }

    /// The tables that there are now.
    async fn table_names(&self, namespace: &Namespace) -> Result<Vec<String>, Fault> {
        let caller = Caller::new(namespace.account.clone(), namespace.region.clone());
        let live = Live::of_server(self.engine.clone(), caller);
        let mut names: Vec<String> = Vec::new();
        while names.len() < TABLES_NAMED_MAX {
            let mut input = json!({ "Limit": 100 });
            if let Some(last) = names.last() {
                input["ExclusiveStartTableName"] = json!(last);
            }
            let page = live.ask("ListTables", &input).await?;
            let found = page["TableNames"].as_array().into_iter().flatten();
            names.extend(found.filter_map(Value::as_str).map(str::to_owned));
            if page["LastEvaluatedTableName"].is_null() {
                break;
            }
        }
        Ok(names)
    }

    /// How a table used its throughput in the last hour, and what was throttled or would have been, and why.
    async fn capacity(&self, head: &Parts, input: &Value) -> Result<Value, Fault> {
        let namespace = self.own(head, "lodestone:DescribeCapacity")?.caller.namespace;
        let table = input["table"].as_str().unwrap_or_default();
        let failed = |_| Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "The capacity can't be read.");
        let report = self.engine.capacity_report(&namespace, table).await.map_err(failed)?;
        let report =
            report.ok_or_else(|| Fault::new(StatusCode::NOT_FOUND, format!("There is no table {table}.")))?;
        Ok(json!(report))
    }

    /// The faults that are injected into requests of the account and Region. One of them, or all, is removed first, if
    /// the page says so.
    fn faults(&self, head: &Parts, input: &Value) -> Result<Value, Fault> {
        let live = self.own(head, "lodestone:InjectFault")?;
        let namespace = live.caller.namespace.clone();
        let own = || {
            let mut faults = self.engine.injected_faults();
            faults.retain(|fault| fault.rule.namespace == namespace);
            faults
        };
        let is_asked = |fault: &FaultStatus| input["remove"] == "all" || input["remove"] == fault.id;
        if !input["remove"].is_null() {
            live.refuse_writes("removing a fault")?;
            own().iter().filter(|fault| is_asked(fault)).for_each(|fault| {
                self.engine.remove_fault(fault.id);
            });
        }
        Ok(json!({ "faults": own().iter().map(shown_fault).collect::<Vec<_>>() }))
    }

    /// How far the changes of a global table have come, in the Regions of this server, and which links are cut. A link is
    /// cut or healed first, if the page says so.
    async fn regions(&self, head: &Parts, input: &Value) -> Result<Value, Fault> {
        let live = self.own(head, "lodestone:LinkRegions")?;
        let account = live.caller.namespace.account.clone();
        let (cut, heal) = (link_of(&input["cut"])?, link_of(&input["heal"])?);
        if cut.is_some() || heal.is_some() {
            live.refuse_writes("changing a link")?;
        }
        let failed = |_| Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "The Regions can't be read.");
        if let Some((one, other)) = cut {
            self.engine.cut_regions(one, other).await.map_err(failed)?;
        }
        if let Some((one, other)) = heal {
            self.engine.heal_regions(one, other).await.map_err(failed)?;
        }
        let all = self.engine.replication_status().await.map_err(failed)?;
        let own = all.iter().filter(|pair| pair.namespace.account == account && input["table"] == pair.table);
        let shown = own.map(|pair| {
            json!({
                "from": &*pair.namespace.region,
                "to": pair.receiving_region,
                "pending": pair.pending,
                "lag": pair.lag.as_secs_f64(),
            })
        });
        let cut = self.engine.cut_links().await.map_err(failed)?;
        Ok(json!({ "pairs": shown.collect::<Vec<_>>(), "cut": cut }))
    }

    /// How far the indexes are that are being filled.
    async fn progress(&self, head: &Parts) -> Result<Value, Fault> {
        let live = self.live(head)?;
        if live.remote.is_some() {
            return Ok(json!({ "indexes": [] }));
        }
        live.caller.authorize("dynamodb:ListTables", "*")?;
        let namespace = live.caller.namespace;
        let failed = |_| Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "The progress can't be read.");
        let all = self.engine.index_progress().await.map_err(failed)?;
        let own = all.iter().filter(|one| one.namespace == namespace);
        let shown =
            own.map(|one| json!({ "table": one.table, "index": one.index, "percentage": one.percentage }));
        Ok(json!({ "indexes": shown.collect::<Vec<_>>() }))
    }

    /// Begins to learn what clients ask, or ends it, if the page says so. Returns what is known of a table so far.
    async fn learn(&self, head: &Parts, input: &Value) -> Result<Value, Fault> {
        let live = self.own(head, "lodestone:WatchRequests")?;
        match input["on"].as_bool() {
            Some(true) => self.begin_learning(&live).await?,
            Some(false) => self.watch.end(),
            None => {}
        }
        self.learned(&live, input["table"].as_str().unwrap_or_default()).await
    }

    /// A model of what a sample of a table's items shows.
    async fn survey(&self, head: &Parts, input: &Value) -> Result<Value, Fault> {
        let live = self.live(head)?;
        let table = input["table"].as_str().unwrap_or_default();
        let _permit = self.permit().await?;
        let document = proof::survey(&live, table, SURVEYED_ITEMS_MAX, |_| ()).await?;
        let document = document
            .ok_or_else(|| Fault::new(StatusCode::NOT_FOUND, format!("There is no table {table}.")))?;
        let import = model_format::import(&TABLE_CONTENTS, &document.to_string())
            .map_err(|error| Fault::bad(error.0))?;
        Ok(json!({ "text": import.text, "notes": import.notes.0 }))
    }

    async fn run(&self, head: &Parts, input: &Value) -> Result<Value, Fault> {
        let live = self.live(head)?;
        let text = input["text"].as_str().ok_or_else(|| Fault::bad("`text` holds the model."))?;
        let model = workbench::read(&Source::new("model", text))?;
        let _permit = self.permit().await?;
        pattern::run(&live, &model, input["pattern"].as_str().unwrap_or_default(), &input["values"]).await
    }

    /// Creates or updates the model's tables, or only plans it. Loads samples on request.
    async fn apply(&self, head: &Parts, input: &Value) -> Result<Value, Fault> {
        let live = self.live(head)?;
        let text = input["text"].as_str().ok_or_else(|| Fault::bad("`text` holds the model."))?;
        let model = workbench::read(&Source::new("model", text))?;
        let plan = input["plan"] == true;
        if !plan {
            live.refuse_writes("model/apply")?;
        }
        let _permit = self.permit().await?;
        let mut tables = Vec::new();
        for table in &model.tables {
            let state = apply::observe(&live, &table.name.value).await?;
            let Some(changes) = apply::changes(table, state.as_ref(), input["deleteIndexes"] == true) else {
                continue;
            };
            let mut outcomes = Vec::new();
            for change in changes.changes.iter().filter(|_| !plan) {
                outcomes.push(format!("{:?}", apply::carry_out(&live, change, |_| ()).await?));
            }
            let described = changes.changes.iter().map(
                |change| json!({ "what": change.what, "operation": change.operation, "input": change.input }),
            );
            tables.push(json!({
                "table": table.name.value,
                "changes": described.collect::<Vec<_>>(),
                "outcomes": outcomes,
                "left": changes.left,
                "impossible": changes.impossible,
            }));
        }
        let mut report = json!({ "tables": tables });
        if !plan && input["samples"] == true {
            let loaded = apply::load_samples(&model, &live, false, |_, _| ()).await?;
            report["samples"] =
                json!({ "written": loaded.written, "present": loaded.present, "kept": loaded.kept });
        }
        Ok(report)
    }

    async fn workbench(&self, command: String, input: Value) -> Result<Value, Fault> {
        if workbench::is_quick(&command) {
            return workbench::run(&command, &input);
        }
        let permit = self.permit().await?;
        // The work keeps its permit even if the client disconnects: it still uses a core.
        let work = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            workbench::run(&command, &input)
        });
        work.await
            .unwrap_or_else(|_| Err(Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "The command has failed.")))
    }

    pub(crate) async fn permit(&self) -> Result<tokio::sync::OwnedSemaphorePermit, Fault> {
        let closed = |_| Fault::new(StatusCode::SERVICE_UNAVAILABLE, "The server is stopping.");
        self.work.clone().acquire_owned().await.map_err(closed)
    }

    fn files(&self) -> Result<Value, Fault> {
        let mut files = Vec::new();
        let mut bytes = 0;
        for name in self.files.names()? {
            match self.files.read(&name) {
                Ok(text) if bytes + text.len() > LISTED_BYTES_MAX => {
                    files.push(
                        json!({ "name": name, "error": "Too large to be listed: open it by its name." }),
                    );
                }
                Ok(text) => {
                    bytes += text.len();
                    files.push(json!({ "name": name, "hash": model_files::hash(&text), "text": text }));
                }
                Err(fault) => {
                    files.push(json!({ "name": name, "error": Fault::from(fault).body["message"] }))
                }
            }
        }
        Ok(json!({ "files": files }))
    }

    /// Reads, or writes if there is a text.
    fn file(&self, head: &Parts, name: &str, input: &Value) -> Result<Value, Fault> {
        let Some(text) = input["text"].as_str() else {
            let text = self.files.read(name)?;
            return Ok(json!({ "name": name, "hash": model_files::hash(&text), "text": text }));
        };
        if self.options.read_only {
            return Err(live::read_only("writing a model", READ_ONLY_SERVER));
        }
        let live = self.live(head)?;
        live.caller.authorize("lodestone:WriteModel", "*")?;
        self.files.write(name, text, input["hash"].as_str())?;
        Ok(json!({ "name": name, "hash": model_files::hash(text) }))
    }
}

fn shown_fault(fault: &FaultStatus) -> Value {
    let FaultRule { table, operation, key, kind, share, delay, .. } = &fault.rule;
    json!({
        "fault": fault.id,
        "table": table,
        "operation": operation.map(|operation| operation.name()),
        "key": key.as_ref().map(item_json::document),
        "error": kind.name(),
        "share": share,
        "delay": (*kind == FaultKind::Slow).then_some(delay.as_secs_f64()),
        "remaining": fault.remaining.map(|remaining| remaining.as_secs_f64()),
        "met": fault.met,
    })
}

/// The two Regions of a link that a page names, if it names one.
fn link_of(named: &Value) -> Result<Option<(&str, &str)>, Fault> {
    match named.as_array().map(Vec::as_slice) {
        None => Ok(None),
        Some([Value::String(one), Value::String(other)])
            if one != other && is_region(one) && is_region(other) =>
        {
            Ok(Some((one, other)))
        }
        Some(_) => Err(Fault::bad("A link has two Regions.")),
    }
}

fn header_text<'a>(head: &'a Parts, name: &HeaderName) -> Option<&'a str> {
    head.headers.get(name).map(|value| value.to_str().unwrap_or_default())
}

fn connection_id(head: &Parts) -> Option<&str> {
    header_text(head, &CONNECTION).filter(|id| !id.is_empty())
}

/// The words of an error for a person who types a key.
fn refused_key(key: &AccessKey, error: &api::Error) -> Fault {
    let message = match error.kind {
        ErrorKind::InvalidSignature => {
            let length = key.secret.chars().count();
            let hint = if length == 40 {
                String::new()
            } else {
                format!(" A secret has 40 characters; this one has {length}.")
            };
            format!("The secret does not fit {}.{hint}", key.id)
        }
        ErrorKind::UnrecognizedClient => {
            format!("The access file has no active key {}, or its session token is another one.", key.id)
        }
        _ => error.message.to_string(),
    };
    Fault::new(StatusCode::FORBIDDEN, message)
}

fn refused_session(why: &str) -> Fault {
    let body = json!({ "message": format!("You are signed out: {why}"), "signIn": true });
    Fault { status: StatusCode::UNAUTHORIZED, body }
}

fn examples() -> Value {
    let examples = EXAMPLES.iter().map(|(name, text)| json!({ "name": name, "text": text }));
    json!({ "examples": examples.collect::<Vec<_>>() })
}

fn is_account(account: &str) -> bool {
    account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_region(region: &str) -> bool {
    (1..=64).contains(&region.len())
        && region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}
