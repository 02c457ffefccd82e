//! `lodestone fault`: errors and delays on demand, to test how an application takes them.
//!
//! A server answers at `POST /lodestone/faults`, which the operator signs, with
//! `{"add": {…}}`, `{"remove": 1}`, `{"remove": "all"}` or `{"list": {}}`. A fault is described in the same words there,
//! in the file of `lodestone serve --faults` and by the command's flags.

mod description;

use std::path::Path;
use std::time::Duration;

use clap::{Args, Subcommand};
use engine::{Engine, FaultStatus, Namespace};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::endpoint::EndpointArguments;
use crate::output;
use description::Description;

const PATH: &str = "/lodestone/faults";
const TIMEOUT: Duration = Duration::from_secs(60);

/// Make a running server answer some requests with errors, late or not at all.
///
/// This is for those who test how an application takes DynamoDB's errors. Faults are off by default, count in GET
/// /metrics while they are on, and are gone when the server ends. The server must run on this machine.
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct Fault {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Add(Add),
    List(List),
    Remove(Remove),
}

/// Switch a fault on.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone fault add --table orders --operation PutItem --error throttle --share 10% --for 5m
  lodestone fault add --table orders --error slow --delay 800ms
  lodestone fault add --error timeout --share 1%
  lodestone fault add --table orders --error internal --key '{\"pk\": {\"S\": \"CUSTOMER#7\"}}'")]
struct Add {
    /// The table; every table if it is left out
    #[arg(long)]
    table: Option<String>,

    /// The operation, such as PutItem; every operation if it is left out
    #[arg(long)]
    operation: Option<String>,

    /// What happens: throttle, internal, conflict (with a transaction), timeout (no answer; half of these requests are
    /// carried out nevertheless) or slow
    #[arg(long)]
    error: String,

    /// How many of the requests meet it: 10%, or 0.1 [default: all]
    #[arg(long)]
    share: Option<String>,

    /// Only requests that name an item with these key attributes, in DynamoDB JSON: '{"pk": {"S": "CUSTOMER#7"}}'
    #[arg(long, value_name = "JSON", value_parser = json_value)]
    key: Option<Value>,

    /// How long a slow request waits, up to 60s [default: 1s]
    #[arg(long, value_name = "DURATION")]
    delay: Option<String>,

    /// Switch the fault off again after this time, such as 5m
    #[arg(long = "for", value_name = "DURATION")]
    lasts: Option<String>,

    #[command(flatten)]
    endpoint: EndpointArguments,
}

/// List the faults that are on, and how many requests met each.
#[derive(Args)]
struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    endpoint: EndpointArguments,
}

/// Switch faults off.
#[derive(Args)]
struct Remove {
    /// The number of the fault, as `fault list` shows it
    #[arg(required_unless_present = "all")]
    fault: Option<u64>,

    /// Switch all faults off
    #[arg(long, conflicts_with = "fault")]
    all: bool,

    #[command(flatten)]
    endpoint: EndpointArguments,
}

fn json_value(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))
}

impl Fault {
    pub fn run(self) -> Result<(), String> {
        match self.command {
            Command::Add(add) => add.run(),
            Command::List(list) => list.run(),
            Command::Remove(remove) => remove.run(),
        }
    }
}

impl Add {
    fn run(self) -> Result<(), String> {
        let Namespace { account, region } = self.endpoint.namespace();
        let description = Description {
            account: Some(account.to_string()),
            region: Some(region.to_string()),
            table: self.table,
            operation: self.operation,
            error: self.error,
            share: self.share.map(Value::String),
            key: self.key,
            delay: self.delay,
            lasts: self.lasts,
        };
        let answer = self.endpoint.administer(PATH, TIMEOUT, &json!({"add": description}))?;
        output::print(&format!(
            "Fault {} is on. To switch it off: lodestone fault remove {}\n",
            answer["fault"], answer["fault"]
        ));
        Ok(())
    }
}

impl List {
    fn run(self) -> Result<(), String> {
        let answer = self.endpoint.administer(PATH, TIMEOUT, &json!({"list": {}}))?;
        if self.json {
            output::print_json(&answer);
            return Ok(());
        }
        let faults = answer["faults"].as_array().cloned().unwrap_or_default();
        if faults.is_empty() {
            output::print("No faults are on.\n");
            return Ok(());
        }
        let headings = ["fault", "table", "operation", "key", "error", "share", "ends in", "met"];
        output::print_table(&headings, faults.iter().map(row));
        Ok(())
    }
}

impl Remove {
    fn run(self) -> Result<(), String> {
        let which = self.fault.map_or_else(|| json!("all"), |fault| json!(fault));
        self.endpoint.administer(PATH, TIMEOUT, &json!({"remove": which}))?;
        output::print(&match self.fault {
            Some(fault) => format!("Fault {fault} is off.\n"),
            None => "All faults are off.\n".to_owned(),
        });
        Ok(())
    }
}

fn row(fault: &Value) -> Vec<String> {
    let text = |name: &str| fault[name].as_str().unwrap_or("any").to_owned();
    let error = match fault["delay"].as_str() {
        Some(delay) => format!("{} ({delay})", text("error")),
        None => text("error"),
    };
    let key = if fault["key"].is_null() { "any".to_owned() } else { fault["key"].to_string() };
    let ends = fault["for"].as_str().unwrap_or("—").to_owned();
    let (number, met) = (fault["fault"].to_string(), fault["met"].to_string());
    vec![number, text("table"), text("operation"), key, error, text("share"), ends, met]
}

/// What the operator asks a server.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Question {
    Add(Box<Description>),
    Remove(Which),
    List {},
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Which {
    One(u64),
    All(String),
}

/// Answers the operator's question.
pub fn answer(engine: &Engine, body: &[u8]) -> Result<Value, String> {
    let question = serde_json::from_slice(body).map_err(|error| {
        format!(r#"{error}. Say what to do: {{"add": {{…}}}}, {{"remove": 1}}, {{"remove": "all"}} or {{"list": {{}}}}"#)
    })?;
    match question {
        Question::Add(description) => add(engine, &description, &Namespace::new("000000000000", "us-east-1"))
            .map(|fault| json!({"fault": fault})),
        Question::Remove(Which::One(fault)) => match engine.remove_fault(fault) {
            true => Ok(json!({})),
            false => {
                Err(format!("there is no fault {fault}; `lodestone fault list` shows those that are on"))
            }
        },
        Question::Remove(Which::All(word)) if word == "all" => {
            engine.remove_all_faults();
            Ok(json!({}))
        }
        Question::Remove(Which::All(word)) => {
            Err(format!("{word} is no number of a fault; say which, or all"))
        }
        Question::List {} => {
            let faults: Vec<Value> = engine.injected_faults().iter().map(shown).collect();
            Ok(json!({"faults": faults}))
        }
    }
}

fn add(engine: &Engine, description: &Description, home: &Namespace) -> Result<u64, String> {
    let (rule, lasts) = description.rule(home)?;
    engine.inject_fault(rule, lasts).map_err(|error| error.to_string())
}

/// A fault in the words of its description, with its number and how many requests met it.
fn shown(status: &FaultStatus) -> Value {
    let mut fault = json!(Description::of(&status.rule, status.remaining));
    fault["fault"] = json!(status.id);
    fault["met"] = json!(status.met);
    fault
}

/// Switches on what a file lists, in YAML or JSON. Nothing is on if any of it is wrong.
pub fn add_file(engine: &Engine, path: &Path) -> Result<(), String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("can't read {shown}: {error}"))?;
    let descriptions = description::parse_list(&text).map_err(|error| format!("{shown}: {error}"))?;
    let home = Namespace::new("000000000000", "us-east-1");
    for (number, description) in descriptions.iter().enumerate() {
        description.rule(&home).map_err(|error| format!("{shown}, fault {}: {error}", number + 1))?;
    }
    descriptions.iter().try_for_each(|description| add(engine, description, &home).map(drop))
}
