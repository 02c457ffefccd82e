//! `lodestone capacity`: how a table uses its throughput, and what AWS would have throttled.
//!
//! A server answers at `POST /lodestone/capacity` with `{"table", "account", "region"}`, which the operator signs.

use std::time::Duration;

use clap::Args;
use engine::{Engine, Namespace};
use serde_json::{Value, json};

use crate::connection::ConnectionArguments;
use crate::output;

const PATH: &str = "/lodestone/capacity";
const TIMEOUT: Duration = Duration::from_secs(60);

/// Show how a table uses its throughput, and what AWS would have throttled.
///
/// The figures are those of the last hour, for the table and each global index: what is provisioned, what was used,
/// what was throttled and why, and which keys AWS would have throttled most.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone capacity orders                                        on a server at port 8000
  lodestone capacity orders --endpoint-url http://127.0.0.1:9000   on another
  lodestone capacity orders --json                                 for programs")]
pub struct Capacity {
    /// The table
    table: String,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    connection: ConnectionArguments,
}

impl Capacity {
    pub fn run(self) -> Result<(), String> {
        let report = self.connection.administer(PATH, TIMEOUT, |namespace| {
            json!({"table": self.table, "account": &*namespace.account, "region": &*namespace.region})
        }, report)?;
        match self.json {
            true => output::print_json(&report),
            false => print(&report),
        }
        Ok(())
    }
}

/// The report that a request asks for.
pub async fn report(engine: &Engine, body: &[u8]) -> Result<Value, String> {
    let (namespace, table) = asked_table(body)?;
    let report = engine.capacity_report(&namespace, &table).await.map_err(|error| error.to_string())?;
    let report = report.ok_or_else(|| no_table(&namespace, &table))?;
    serde_json::to_value(report).map_err(|error| error.to_string())
}

/// The table that a request names.
pub fn asked_table(body: &[u8]) -> Result<(Namespace, String), String> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let [Some(table), Some(account), Some(region)] =
        ["table", "account", "region"].map(|it| body[it].as_str())
    else {
        return Err(
            r#"Say which table: {"table": "orders", "account": "000000000000", "region": "us-east-1"}"#
                .to_owned(),
        );
    };
    Ok((Namespace::new(account, region), table.to_owned()))
}

/// What to say of a table that does not exist.
pub fn no_table(namespace: &Namespace, table: &str) -> String {
    let Namespace { account, region } = namespace;
    format!("there is no table {table} of account {account} in {region}. AWS_REGION chooses the Region.")
}

fn print(report: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mode = if report["billing_mode"] == "PROVISIONED" { "provisioned" } else { "on demand" };
    let (table, capacity) = (text(&report["table"]), text(&report["capacity"]));
    output::print(&format!(
        "{table}, {mode}, the last {} minutes (--capacity {capacity})\n",
        report["minutes"]
    ));
    let resources = report["resources"].as_array().cloned().unwrap_or_default();
    let rows = resources.iter().flat_map(|resource| ["read", "write"].map(|access| row(resource, access)));
    let headings = ["", "", "units/s", "used", "busiest minute/s", "throttled", "AWS would have throttled"];
    output::print_table(&headings, rows);
    let keys = report["shadow_keys"].as_array().cloned().unwrap_or_default();
    if !keys.is_empty() {
        output::print("Keys that AWS would have throttled most since the start:\n");
        let row = |key: &Value| {
            let place =
                key["index"].as_str().map_or_else(|| "table".to_owned(), |index| format!("index {index}"));
            vec![place, key["key"].to_string(), key["count"].to_string()]
        };
        output::print_table(&["", "partition key", "requests"], keys.iter().map(row));
    }
}

fn row(resource: &Value, access: &str) -> Vec<String> {
    let place =
        resource["index"].as_str().map_or_else(|| "table".to_owned(), |index| format!("index {index}"));
    let figures = &resource[access];
    let declared = figures["declared"].as_u64().map_or_else(|| "—".to_owned(), |units| units.to_string());
    let peak = figures["peak_per_second"].as_f64().unwrap_or(0.0);
    let (throttled, would) = (counts(&figures["throttled"]), counts(&figures["would_throttle"]));
    vec![
        place,
        access.to_owned(),
        declared,
        figures["consumed"].to_string(),
        format!("{peak:.1}"),
        throttled,
        would,
    ]
}

/// Counts by reason, such as `12 KeyRangeThroughputExceeded`.
fn counts(by_reason: &Value) -> String {
    let counts = by_reason.as_object().cloned().unwrap_or_default();
    let lines: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    if lines.is_empty() { "0".to_owned() } else { lines.join("\n") }
}
