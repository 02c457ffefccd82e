//! `lodestone region`: cuts and heals the links between Regions of a running server, to rehearse what an application does
//! when a Region of a global table lags or can't be reached; and takes a Region that is lost out of its tables.
//!
//! A server answers at `POST /lodestone/regions`, which the operator signs, with
//! `{"cut": ["A", "B"]}`, `{"heal": ["A", "B"]}`, `{"forget": "A"}` or `{"list": {}}`.

use std::time::{Duration, UNIX_EPOCH};

use clap::{Args, Subcommand};
use engine::{Engine, LostReplica, PairStatus, StrongTable};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::endpoint::EndpointArguments;
use crate::output;

const PATH: &str = "/lodestone/regions";
const TIMEOUT: Duration = Duration::from_secs(60);

/// Cut and heal the links between the Regions of global tables.
///
/// While a link is cut, both Regions go on by themselves: their changes wait and are sent when the link is healed. Links are
/// whole again when the server ends (of several on one database: the last one), unless it is started with
/// --partition-regions. The server must run on this machine.
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct Region {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Cut the link between two Regions
    Cut(Link),
    /// Heal the link between two Regions
    Heal(Link),
    Forget(Forget),
    List(List),
}

/// Take a Region that is lost for good out of all global tables.
///
/// The other Regions go on without it. What it had acknowledged and sent to none of them is lost: the command says what is
/// known of it. Its own table stays where it is, as a table of one Region.
#[derive(Args)]
#[command(after_help = "Example:
  lodestone region forget eu-west-1")]
struct Forget {
    /// The Region, such as eu-west-1
    lost: String,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    endpoint: EndpointArguments,
}

/// The link between two Regions.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone region cut us-east-1 eu-west-1
  lodestone region heal us-east-1 eu-west-1")]
struct Link {
    /// A Region, such as us-east-1
    one: String,

    /// The other one
    other: String,

    #[command(flatten)]
    endpoint: EndpointArguments,
}

/// List the Regions of global tables, how many changes wait on their way between them, and which links are cut. Tables that
/// are strongly consistent between Regions are named: nothing waits for them, and cut links don't concern them.
#[derive(Args)]
struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    endpoint: EndpointArguments,
}

impl Region {
    pub fn run(self) -> Result<(), String> {
        match self.command {
            Command::Cut(link) => {
                link.ask("cut")?;
                let (one, other) = (&link.one, &link.other);
                output::print(&format!("{one} and {other} are cut off from each other.\n"));
            }
            Command::Heal(link) => {
                link.ask("heal")?;
                output::print(&format!("{} and {} reach each other.\n", link.one, link.other));
            }
            Command::Forget(forget) => forget.run()?,
            Command::List(list) => list.run()?,
        }
        Ok(())
    }
}

impl Link {
    fn ask(&self, what: &str) -> Result<Value, String> {
        self.endpoint.administer(PATH, TIMEOUT, &json!({what: [self.one, self.other]}))
    }
}

impl Forget {
    fn run(self) -> Result<(), String> {
        let answer = self.endpoint.administer(PATH, TIMEOUT, &json!({"forget": self.lost}))?;
        if self.json {
            output::print_json(&answer);
            return Ok(());
        }
        let tables = answer["tables"].as_array().cloned().unwrap_or_default();
        if tables.is_empty() {
            output::print(&format!("No global table has a replica in {}.\n", self.lost));
        }
        for table in &tables {
            output::print(&described(&self.lost, table));
        }
        Ok(())
    }
}

/// What is known of the writes of a lost Region.
fn described(lost: &str, table: &Value) -> String {
    let (name, region) =
        (table["table"].as_str().unwrap_or_default(), table["region"].as_str().unwrap_or_default());
    if table["removed"] == true {
        return format!(
            "{name} in {region} was still being copied from {lost} and can't be completed. It is removed; make it again \
             from a Region that is left.\n"
        );
    }
    let mut text = format!("{name} in {region} goes on without {lost}. ");
    match table["complete_through"].as_str() {
        Some(time) => text.push_str(&format!("What {lost} had acknowledged up to {time} is here.\n")),
        None => text.push_str(&format!("{lost} sent nothing, so nothing is known of its last writes.\n")),
    }
    if let Some(count) = table["lost"].as_u64().filter(|count| *count > 0) {
        text.push_str(&format!("{count} later changes are in {lost} alone, of these items:\n"));
        for key in table["lost_keys"].as_array().into_iter().flatten() {
            text.push_str(&format!("  {}\n", key.as_str().unwrap_or_default()));
        }
    }
    for region in table["untold"].as_array().into_iter().flatten() {
        let region = region.as_str().unwrap_or_default();
        text.push_str(&format!("{region} can't be reached: run the command there, too.\n"));
    }
    text
}

impl List {
    fn run(self) -> Result<(), String> {
        let answer = self.endpoint.administer(PATH, TIMEOUT, &json!({"list": {}}))?;
        if self.json {
            output::print_json(&answer);
            return Ok(());
        }
        let cut = answer["cut"].as_array().cloned().unwrap_or_default();
        for link in &cut {
            let name = |at: usize| link[at].as_str().unwrap_or_default().to_owned();
            output::print(&format!("{} and {} are cut off from each other.\n", name(0), name(1)));
        }
        let strong = answer["strong"].as_array().cloned().unwrap_or_default();
        strong.iter().for_each(|table| output::print(&described_strong(table)));
        let pairs = answer["replicas"].as_array().cloned().unwrap_or_default();
        if pairs.is_empty() {
            if strong.is_empty() {
                output::print("There are no global tables.\n");
            }
            return Ok(());
        }
        output::print_table(&["table", "from", "to", "pending", "lag", "link"], pairs.iter().map(row));
        Ok(())
    }
}

/// `Orders is strongly consistent in us-east-1 and us-east-2, with the witness us-west-2.`
fn described_strong(table: &Value) -> String {
    let regions: Vec<&str> =
        table["regions"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let witness = table["witness"].as_str().map(|region| format!(", with the witness {region}"));
    let (name, regions) = (table["table"].as_str().unwrap_or_default(), regions.join(" and "));
    format!("{name} is strongly consistent in {regions}{}.\n", witness.unwrap_or_default())
}

fn row(pair: &Value) -> Vec<String> {
    let text = |name: &str| pair[name].as_str().unwrap_or_default().to_owned();
    let link = if pair["cut"] == true { "cut" } else { "whole" };
    let lag = format!("{} ms", pair["lag_ms"]);
    vec![text("table"), text("from"), text("to"), pair["pending"].to_string(), lag, link.to_owned()]
}

/// What the operator asks a server.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Question {
    Cut([String; 2]),
    Heal([String; 2]),
    Forget(String),
    List {},
}

/// Answers the operator's question.
pub async fn answer(engine: &Engine, body: &[u8]) -> Result<Value, String> {
    let question = serde_json::from_slice(body).map_err(|error| {
        format!(
            r#"{error}. Say what to do: {{"cut": ["A", "B"]}}, {{"heal": ["A", "B"]}}, {{"forget": "A"}} or {{"list": {{}}}}"#
        )
    })?;
    match question {
        Question::Cut([one, other]) => {
            check(&one, &other)?;
            engine.cut_regions(&one, &other).await.map_err(|error| error.to_string())?;
            Ok(json!({}))
        }
        Question::Heal([one, other]) => {
            match engine.heal_regions(&one, &other).await.map_err(|error| error.to_string())? {
                true => Ok(json!({})),
                false => Err(format!("{one} and {other} are not cut off from each other")),
            }
        }
        Question::Forget(region) => {
            check_name(&region)?;
            let lost = engine.forget_region(&region).await.map_err(|error| error.to_string())?;
            Ok(json!({"tables": lost.iter().map(lost_replica).collect::<Vec<_>>()}))
        }
        Question::List {} => {
            let status = engine.replication_status().await.map_err(|error| error.to_string())?;
            let replicas: Vec<Value> = status.iter().map(shown).collect();
            let cut = engine.cut_links().await.map_err(|error| error.to_string())?;
            let strong: Vec<Value> = engine.strong_tables().iter().map(shown_strong).collect();
            Ok(json!({"cut": cut, "replicas": replicas, "strong": strong}))
        }
    }
}

/// Two Regions whose link can be cut.
pub fn check(one: &str, other: &str) -> Result<(), String> {
    match check_name(one).is_ok() && check_name(other).is_ok() && one != other {
        true => Ok(()),
        false => Err("name two Regions, such as us-east-1 and eu-west-1".to_owned()),
    }
}

/// The name of a Region.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    match !name.is_empty() && name.len() <= 64 && name.chars().all(is_letter) {
        true => Ok(()),
        false => Err(format!("{name:?} is no Region; one is called us-east-1")),
    }
}

fn lost_replica(lost: &LostReplica) -> Value {
    let time =
        |ms: u64| humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(ms)).to_string();
    json!({
        "account": &*lost.namespace.account, "region": &*lost.namespace.region, "table": lost.table,
        "complete_through": lost.complete_through_ms.map(time), "lost": lost.lost, "lost_keys": lost.lost_keys,
        "removed": lost.is_removed, "untold": lost.untold,
    })
}

fn shown_strong(table: &StrongTable) -> Value {
    let StrongTable { account, table, regions, witness } = table;
    json!({"account": account, "table": table, "regions": regions, "witness": witness})
}

fn shown(pair: &PairStatus) -> Value {
    json!({
        "account": &*pair.namespace.account, "table": pair.table, "from": &*pair.namespace.region,
        "to": pair.receiving_region, "pending": pair.pending, "lag_ms": pair.lag.as_millis() as u64,
        "cut": pair.is_cut,
    })
}
