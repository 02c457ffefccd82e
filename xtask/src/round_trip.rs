//! `cargo xtask round-trip`: a large table is exported while it changes, imported under another name, and compared
//! with what it held at the time of the export.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use ::bench::connection::Connection;
use ::bench::data::{self, Data, TABLE};
use ::bench::load::{Clients, Until};
use ::bench::progress;
use ::bench::schedule::Schedule;
use ::bench::server::Server;
use ::bench::table;
use ::bench::workload::{Requests, Workload};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::victim::{Victim, call, scan_pages};

const COPY: &str = "Copy";
const CONNECTIONS: usize = 16;
/// Writes each second while the table is exported.
const WRITES_PER_SECOND: f64 = 500.0;

#[derive(clap::Args)]
pub struct RoundTripOptions {
    /// How many items of about 500 bytes the table holds
    #[arg(long, default_value_t = 1_000_000)]
    items: u64,
    /// The format of the files
    #[arg(long, value_parser = ["json", "ion"], default_value = "json")]
    format: String,
    /// Test this binary instead of building one
    #[arg(long, value_name = "BINARY")]
    lodestone: Option<std::path::PathBuf>,
}

impl RoundTripOptions {
    pub fn brief() -> RoundTripOptions {
        RoundTripOptions { items: 5_000, format: "ion".to_owned(), lodestone: None }
    }
}

pub fn run(options: &RoundTripOptions) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(round_trip(options))
}

async fn round_trip(options: &RoundTripOptions) -> Result<()> {
    let data = Data::new(options.items);
    let buckets = tempfile::tempdir()?;
    std::fs::create_dir(buckets.path().join("bucket"))?;
    let s3 = buckets.path().display().to_string();
    let victim = Victim::new("round-trip", options.lodestone.as_ref(), None, &["--s3", &s3])?;
    let server = victim.start().await?;
    fill(&server, data).await?;

    // The clock of an export has seconds: writes begin in the next one.
    let time_s = victim.now_us() / 1_000_000 + 1;
    while victim.now_us() / 1_000_000 <= time_s {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let idle_bytes = server.resident_bytes()?;
    let writers = write_until_aborted(&server, data);
    let began = Instant::now();
    let (at, format) = (time_s.to_string(), options.format.as_str());
    let arguments = ["export", TABLE, "s3://bucket/full", "--at", &at, "--format", format];
    let exported = lodestone(victim.binary(), &server, &arguments).await?["ExportDescription"].take();
    let export_took = began.elapsed();
    writers.abort();
    let export_bytes_max = server.resident_bytes_max()?;
    ensure!(exported["ItemCount"] == data.items(), "exported: {exported}");

    let manifest = exported["ExportManifest"].as_str().context("an export has a manifest")?;
    let files = manifest.replace("manifest-summary.json", "data/");
    let began = Instant::now();
    let files = format!("s3://bucket/{files}");
    let key = ["--key", "customer:S,order:S"];
    let arguments =
        [&["import", &files, COPY, "--compression", "gzip", "--format", format], &key[..]].concat();
    let imported = lodestone(victim.binary(), &server, &arguments).await?["ImportTableDescription"].take();
    let import_took = began.elapsed();
    ensure!(imported["ImportedItemCount"] == data.items(), "imported: {imported}");

    compare(&server, data).await?;
    let mb = |bytes: u64| bytes / 1_000_000;
    println!(
        "round-trip: {} items were exported in {:.1} s while they changed, imported in {:.1} s, and are those of the \
         export's time. Memory: {} MB before, at most {} MB until the export's end, at most {} MB in all.",
        data.items(),
        export_took.as_secs_f64(),
        import_took.as_secs_f64(),
        mb(idle_bytes),
        mb(export_bytes_max),
        mb(server.resident_bytes_max()?),
    );
    server.stop().await?;
    victim.passed();
    Ok(())
}

async fn fill(server: &Server, data: Data) -> Result<()> {
    let mut connection = Connection::open(server.address).await?;
    table::create(&mut connection, &data::table()).await?;
    let mut clients = Clients::connect(server.address, CONNECTIONS).await?;
    let requests = Requests::of(Workload::Load, data);
    let loaded = progress::of_items(&requests, data.items(), clients.drive(&requests, Until::Walked)).await?;
    ensure!(loaded.failures.count == 0, "{:?}", loaded.failures);
    let recovery = json!({"PointInTimeRecoveryEnabled": true});
    let request = json!({"TableName": TABLE, "PointInTimeRecoverySpecification": recovery});
    // The server has closed a connection that was idle while items were loaded.
    let mut connection = Connection::open(server.address).await?;
    call(&mut connection, "UpdateContinuousBackups", &request).await?;
    Ok(())
}

/// Changes items over and over.
fn write_until_aborted(server: &Server, data: Data) -> tokio::task::JoinHandle<Result<()>> {
    let address = server.address;
    tokio::spawn(async move {
        let mut clients = Clients::connect(address, CONNECTIONS).await?;
        let schedule = Schedule { per_second: WRITES_PER_SECOND, duration: Duration::from_secs(3600) };
        clients.keep_to(schedule, &Requests::of(Workload::Put, data)).await?;
        Ok(())
    })
}

/// Runs a command on the server that prints JSON. Its progress bar goes to the terminal.
async fn lodestone(binary: &Path, server: &Server, arguments: &[&str]) -> Result<Value> {
    let mut command = Command::new(binary);
    command.args(arguments).arg("--json").arg("--endpoint-url").arg(format!("http://{}", server.address));
    command.args(["--region", "us-east-1"]).stderr(Stdio::inherit()).kill_on_drop(true);
    let output =
        command.env("AWS_ACCESS_KEY_ID", "BENCH").env("AWS_SECRET_ACCESS_KEY", "any").output().await?;
    ensure!(output.status.success(), "lodestone {}: {}", arguments.join(" "), output.status);
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Every item of the copy is as it was before the writers began.
async fn compare(server: &Server, data: Data) -> Result<()> {
    let mut connection = Connection::open(server.address).await?;
    let mut is_found = vec![false; data.items() as usize];
    let first: u64 = number(&serde_json::from_str(&data.item(0, 0))?)?;
    scan_pages(&mut connection, COPY, None, |items| {
        for item in items {
            let number = number(item)?.checked_sub(first).filter(|number| *number < data.items());
            let number = number.with_context(|| format!("was never written: {item}"))?;
            let expected = stored(&data.item(number, 0))?;
            ensure!(*item == expected, "{item} instead of {expected}");
            ensure!(!std::mem::replace(&mut is_found[number as usize], true), "twice: {item}");
        }
        Ok(())
    })
    .await?;
    let missing = is_found.iter().filter(|is_found| !**is_found).count();
    ensure!(missing == 0, "{missing} items are missing");
    Ok(())
}

/// An order as it was sent, with its amount in the form in which numbers are stored.
fn stored(item: &str) -> Result<Value> {
    let mut item: Value = serde_json::from_str(item)?;
    let amount = item["amount"]["N"].as_str().context("an order has an amount")?;
    item["amount"]["N"] = json!(amount.trim_end_matches('0'));
    Ok(item)
}

/// The number of an order, by the time at which it was placed.
fn number(item: &Value) -> Result<u64> {
    Ok(item["placed"]["N"].as_str().context("an order has a time")?.parse()?)
}
