//! Other databases that the studio looks at: Lodestone servers, DynamoDB Local, AWS. They are kept in memory until the
//! server ends; secrets go in and never come out.
//!
//! Connections belong to who runs the server. Users who signed in with a key of the access file have none: the
//! profiles and the network are the server's.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::Caller;
use http::StatusCode;
use http::request::Parts;
use proof::Endpoint;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Studio;
use crate::door::Fault;
use crate::live::Live;
use crate::outside::{AccessKey, Profile, RemoteKey};

const CONNECTIONS_MAX: usize = 50;
const TEXT_MAX: usize = 300;
/// The longest time that writes to AWS can be allowed at once.
const WRITING_MAX: Duration = Duration::from_secs(8 * 60 * 60);
/// How long a test waits for an answer.
const TEST_TIME_MAX: Duration = Duration::from_secs(15);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Lodestone,
    Local,
    Aws,
}

/// A connection as a page describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Description {
    name: String,
    kind: Kind,
    /// Not for AWS: the Region says it.
    #[serde(default)]
    address: String,
    region: String,
    #[serde(default)]
    profile: Option<String>,
    #[serde(default)]
    key_id: Option<String>,
    #[serde(default)]
    secret: Option<String>,
    #[serde(default)]
    session_token: Option<String>,
    #[serde(default)]
    read_only: bool,
    #[serde(default)]
    production: bool,
}

#[derive(Clone)]
pub struct Connection {
    description: Description,
    key: RemoteKey,
    /// The account, once a table's ARN or the profile has said it.
    account: Option<String>,
    writes_until: Option<Instant>,
    /// One client for each Region that was looked at.
    databases: BTreeMap<String, Arc<dyn Endpoint>>,
}

#[derive(Default)]
pub struct Connections(Mutex<BTreeMap<String, Connection>>);

#[allow(clippy::disallowed_methods, reason = "writes are allowed for a real time")]
fn now() -> Instant {
    Instant::now()
}

impl Connection {
    /// AWS is read-only until writes are allowed for a time.
    pub fn is_read_only(&self) -> bool {
        match self.description.kind {
            Kind::Aws => self.writes_until.is_none_or(|until| until <= now()),
            Kind::Lodestone | Kind::Local => self.description.read_only,
        }
    }

    /// What has to be typed to allow writes.
    fn word(&self) -> &str {
        self.account.as_deref().unwrap_or(&self.description.name)
    }

    fn address(&self, region: &str) -> String {
        match self.description.kind {
            Kind::Aws if region.starts_with("cn-") => format!("https://dynamodb.{region}.amazonaws.com.cn"),
            Kind::Aws => format!("https://dynamodb.{region}.amazonaws.com"),
            Kind::Lodestone | Kind::Local => self.description.address.clone(),
        }
    }

    pub fn json(&self, id: &str) -> Value {
        let Description { name, kind, region, profile, key_id, production, .. } = &self.description;
        let seconds = self.writes_until.map(|until| until.saturating_duration_since(now()).as_secs());
        json!({
            "id": id,
            "name": name,
            "kind": match kind { Kind::Lodestone => "lodestone", Kind::Local => "local", Kind::Aws => "aws" },
            "address": self.address(region),
            "region": region,
            "account": self.account,
            "profile": profile,
            "keyId": key_id,
            "readOnly": self.is_read_only(),
            "writesFor": seconds.filter(|seconds| *seconds > 0),
            "word": if self.account.is_some() { "account" } else { "name" },
            "production": production,
        })
    }
}

impl Connections {
    pub fn find(&self, id: &str) -> Option<Connection> {
        self.lock().get(id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Connection>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Studio {
    /// The database of a connection in a Region.
    pub(crate) fn remote(
        &self,
        id: &str,
        account: Option<&str>,
        region: Option<&str>,
    ) -> Result<Remote, Fault> {
        let unknown = || {
            Fault::new(
                StatusCode::NOT_FOUND,
                "There is no such connection any more. Connections are kept until the server ends.",
            )
        };
        let mut connection = self.connections.find(id).ok_or_else(unknown)?;
        let region = region.unwrap_or(&connection.description.region).to_owned();
        let is_other_account =
            |account: &&str| matches!(&connection.key, RemoteKey::Any { account: known } if known != account);
        if let Some(account) = account.filter(is_other_account) {
            // A database that takes any key has an account for each.
            connection.key = RemoteKey::Any { account: account.to_owned() };
            let database = self.open(&connection, &region)?;
            return Ok(Remote { region, is_read_only: connection.is_read_only(), database });
        }
        let database = match connection.databases.get(&region) {
            Some(database) => database.clone(),
            None => {
                let database = self.open(&connection, &region)?;
                if let Some(kept) = self.connections.lock().get_mut(id) {
                    // An address in the page can name any Region.
                    if kept.databases.len() >= CONNECTIONS_MAX {
                        kept.databases.clear();
                    }
                    kept.databases.insert(region.clone(), database.clone());
                }
                database
            }
        };
        Ok(Remote { region, is_read_only: connection.is_read_only(), database })
    }

    fn open(&self, connection: &Connection, region: &str) -> Result<Arc<dyn Endpoint>, Fault> {
        let outside = self.options.outside.as_ref().ok_or_else(no_connections)?;
        outside.database(&connection.address(region), region, &connection.key).map_err(Fault::bad)
    }

    /// `connections/…`: what there is, and what a page does with it.
    pub(crate) async fn connections(&self, head: &Parts, act: &str, input: Value) -> Result<Value, Fault> {
        if self.session_key(head).is_some() {
            return Err(Fault::new(
                StatusCode::FORBIDDEN,
                "Connections use the server's network and profiles: only who opens the studio with the server's token has them.",
            ));
        }
        match act {
            "" => {}
            "test" => return self.test(input).await,
            "add" => return self.add(input),
            "remove" => drop(self.connections.lock().remove(text(&input, "id"))),
            "writes" => self.allow_writes(&input)?,
            _ => return Err(Fault::unknown_command(act)),
        }
        let profiles = self.profiles();
        let shown = |Profile { name, region, account, kind }: &Profile| json!({ "name": name, "region": region, "account": account, "kind": kind });
        let connections = self.connections.lock();
        Ok(json!({
            "connections": connections.iter().map(|(id, one)| one.json(id)).collect::<Vec<_>>(),
            "profiles": profiles.iter().map(shown).collect::<Vec<_>>(),
            "offersProfiles": self.options.outside.as_ref().is_some_and(|outside| outside.offers_profiles()),
        }))
    }

    /// The profiles that pages may use.
    fn profiles(&self) -> Vec<Profile> {
        let outside = self.options.outside.as_ref().filter(|outside| outside.offers_profiles());
        outside.map(|outside| outside.profiles()).unwrap_or_default()
    }

    fn described(&self, input: Value) -> Result<Connection, Fault> {
        let description: Description = serde_json::from_value(input)
            .map_err(|error| Fault::bad(format!("A connection has a name, a kind and a Region: {error}.")))?;
        let texts = [&description.name, &description.address, &description.region];
        if texts.into_iter().any(|text| text.len() > TEXT_MAX) || description.name.trim().is_empty() {
            return Err(Fault::bad(
                "A connection has a name, and no text of it is longer than 300 characters.",
            ));
        }
        let profile = description
            .profile
            .as_ref()
            .and_then(|name| self.profiles().into_iter().find(|one| one.name == *name));
        let key = match (&description.key_id, &description.secret, &description.profile) {
            (_, _, Some(name)) => RemoteKey::Profile(name.clone()),
            (Some(id), Some(secret), None) if !id.is_empty() => RemoteKey::Given(AccessKey {
                id: id.clone(),
                secret: secret.clone(),
                session_token: description.session_token.clone().filter(|token| !token.is_empty()),
            }),
            _ if description.kind == Kind::Aws => {
                return Err(Fault::bad(
                    "AWS needs a profile of the server, or an access key with its secret.",
                ));
            }
            _ => RemoteKey::Any { account: "000000000000".to_owned() },
        };
        Ok(Connection {
            // Only the key holds the secret.
            description: Description { secret: None, session_token: None, ..description },
            key,
            account: profile.and_then(|profile| profile.account),
            writes_until: None,
            databases: BTreeMap::new(),
        })
    }

    fn add(&self, input: Value) -> Result<Value, Fault> {
        let connection = self.described(input)?;
        let region = connection.description.region.clone();
        let database = self.open(&connection, &region)?;
        let mut connections = self.connections.lock();
        if connections.len() >= CONNECTIONS_MAX {
            return Err(Fault::bad("There are 50 connections already: remove one first."));
        }
        let id = free_id(&connection.description.name, &connections);
        let connection = Connection { databases: BTreeMap::from([(region, database)]), ..connection };
        let shown = connection.json(&id);
        connections.insert(id, connection);
        Ok(shown)
    }

    /// Asks for tables: of a connection that there is, or of one that is only described.
    async fn test(&self, input: Value) -> Result<Value, Fault> {
        let id = text(&input, "id").to_owned();
        let database = match self.connections.find(&id) {
            Some(connection) => self.remote(&id, None, Some(&connection.description.region))?.database,
            None => {
                let connection = self.described(input)?;
                self.open(&connection, &connection.description.region)?
            }
        };
        let began = now();
        let live =
            Live { remote: Some(database), ..Live::of_server(self.engine.clone(), Caller::new("", "")) };
        let input = json!({ "Limit": 100 });
        let answered = tokio::time::timeout(TEST_TIME_MAX, live.ask("ListTables", &input)).await;
        let late =
            |_| Fault::new(StatusCode::GATEWAY_TIMEOUT, "No answer within 15 seconds: is the address right?");
        let tables = answered.map_err(late)??;
        let milliseconds = now().duration_since(began).as_secs_f64() * 1e3;
        let names = tables["TableNames"].as_array().cloned().unwrap_or_default();
        let account = match names.first() {
            Some(name) => account_of(&live, name).await,
            None => None,
        };
        if let Some(kept) = self.connections.lock().get_mut(&id) {
            kept.account = kept.account.take().or_else(|| account.clone());
        }
        let more = !tables["LastEvaluatedTableName"].is_null();
        Ok(json!({ "tables": names.len(), "more": more, "milliseconds": milliseconds, "account": account }))
    }

    /// For a time, if the account's number was typed; for no time, at once.
    fn allow_writes(&self, input: &Value) -> Result<(), Fault> {
        let mut connections = self.connections.lock();
        let connection = connections
            .get_mut(text(input, "id"))
            .ok_or_else(|| Fault::bad("There is no such connection."))?;
        let minutes = input["minutes"].as_f64().unwrap_or_default().max(0.0);
        if minutes == 0.0 {
            connection.writes_until = None;
            return Ok(());
        }
        if text(input, "typed").trim() != connection.word() {
            let what =
                if connection.account.is_some() { "number of the account" } else { "name of the connection" };
            return Err(Fault::bad(format!(
                "Writes are allowed by typing the {what}; this is another text."
            )));
        }
        connection.writes_until = Some(now() + Duration::from_secs_f64(minutes * 60.0).min(WRITING_MAX));
        Ok(())
    }
}

/// A database that answers requests of one page.
pub struct Remote {
    pub region: String,
    pub is_read_only: bool,
    pub database: Arc<dyn Endpoint>,
}

fn no_connections() -> Fault {
    Fault::new(StatusCode::NOT_IMPLEMENTED, "This server connects to no other database.")
}

fn text<'a>(input: &'a Value, member: &str) -> &'a str {
    input[member].as_str().unwrap_or_default()
}

/// The account in the ARN of a table.
async fn account_of(live: &Live, table: &Value) -> Option<String> {
    let input = json!({ "TableName": table });
    let described = live.ask("DescribeTable", &input);
    let described = tokio::time::timeout(TEST_TIME_MAX, described).await.ok()?.ok()?;
    let account = described["Table"]["TableArn"].as_str()?.split(':').nth(4)?;
    (account.len() == 12).then(|| account.to_owned())
}

/// The name in the form of an address, with a number if another connection has it.
fn free_id(name: &str, taken: &BTreeMap<String, Connection>) -> String {
    let plain: String = name
        .to_ascii_lowercase()
        .chars()
        .map(|one| if one.is_ascii_alphanumeric() { one } else { '-' })
        .take(40)
        .collect();
    let with_number = |number: usize| if number == 1 { plain.clone() } else { format!("{plain}-{number}") };
    (1..=CONNECTIONS_MAX + 1).map(with_number).find(|id| !taken.contains_key(id)).unwrap_or(plain.clone())
}
