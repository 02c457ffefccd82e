//! The requests of a scenario, sent to a server when they are due by its clock.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::Figures;
use super::scenario::{INDEX, KINDS, Kind, LARGE_BYTES, SMALL_BYTES, Scenario, TABLE};
use crate::connection::Connection;
use crate::request::{encode, encode_scoped};
use crate::table;

const CONNECTIONS: usize = 16;
/// Steps of this size visit all shares evenly: the golden ratio.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// The requests, each with its time.
pub struct Traffic {
    due: Arc<Vec<(Duration, Kind)>>,
    items: usize,
    time_scale: u32,
}

/// The requests that were sent, and what their answers say.
#[derive(Debug, Default)]
pub struct Sent {
    pub count: usize,
    pub figures: Figures,
    /// How late the latest was sent.
    pub latest: Duration,
}

impl Traffic {
    pub fn new(scenario: &Scenario, time_scale: u32) -> Traffic {
        let mut due = Vec::new();
        for flow in &scenario.flows {
            let mut sum = 0.0;
            for second in 0..scenario.minutes() * 60 {
                let rate = flow.per_second * scenario.factor(second / 60);
                let (before, after) = (sum, sum + rate);
                // Evenly within the second.
                for number in before.floor() as u64..after.floor() as u64 {
                    let part = ((number + 1) as f64 - before) / rate;
                    let time = Duration::from_secs_f64(second as f64 + part.clamp(0.0, 1.0));
                    due.push((time / time_scale, flow.kind));
                }
                sum = after;
            }
        }
        due.sort_by_key(|(time, _)| *time);
        Traffic { due: Arc::new(due), items: scenario.items, time_scale }
    }

    #[cfg(test)]
    pub fn due(&self) -> &[(Duration, Kind)] {
        &self.due
    }

    /// Sends each request when it is due, over a few connections. The first minute is one of the server's.
    pub async fn send(self, address: SocketAddr) -> Result<Sent> {
        let started = next_minute(&mut Connection::open(address).await?, self.time_scale).await?;
        let next = Arc::new(AtomicUsize::new(0));
        let mut connections = JoinSet::new();
        for _ in 0..CONNECTIONS {
            let (due, next, items) = (self.due.clone(), next.clone(), self.items);
            connections.spawn(async move {
                // Not earlier: a server gives up connections on which nothing is asked.
                tokio::time::sleep_until(started.into()).await;
                let mut connection = Connection::open(address).await?;
                let mut sent = Sent::default();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some((time, kind)) = due.get(number) else { return Ok(sent) };
                    tokio::time::sleep_until((started + *time).into()).await;
                    sent.latest = sent.latest.max((started + *time).elapsed());
                    sent.note(&mut connection, number, *kind, items).await?;
                }
            });
        }
        let mut all = Sent::default();
        while let Some(sent) = connections.join_next().await {
            let sent: Result<Sent> = sent?;
            let sent = sent?;
            all.count += sent.count;
            all.figures.add(&sent.figures);
            all.latest = all.latest.max(sent.latest);
        }
        Ok(all)
    }
}

/// Puts the large items, as fast as the table takes them.
pub async fn load(connection: &mut Connection, items: usize) -> Result<()> {
    for number in 0..items {
        let item = item(&large_key(number), LARGE_BYTES, json!({"n": {"N": "0"}}));
        let request = encode("PutItem", &json!({"TableName": TABLE, "Item": item}));
        // A second of the server's clock gives new units: this is much longer.
        for attempt in 0.. {
            let (status, body) = connection.exchange(&request).await?;
            match status {
                200 => break,
                400 if is_refusal(body) && attempt < 100 => {}
                _ => bail!("{status}: {}", String::from_utf8_lossy(body)),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(())
}

/// When the server's clock begins a minute: the next that is some seconds ahead. Alarms are created by that clock.
async fn next_minute(connection: &mut Connection, time_scale: u32) -> Result<Instant> {
    const MINUTE: f64 = 60.0;
    let alarm = json!({
        "AlarmName": "clock", "Namespace": "AWS/DynamoDB", "MetricName": "UserErrors", "Statistic": "Sum", "Period": 60,
        "EvaluationPeriods": 1, "Threshold": 0, "ComparisonOperator": "GreaterThanThreshold",
    });
    let (before, put) = (
        Instant::now(),
        encode_scoped("monitoring", "GraniteServiceVersion20100801", "PutMetricAlarm", &alarm),
    );
    let (status, body) = connection.exchange(&put).await?;
    ensure!(status == 200, "PutMetricAlarm: {status} {}", String::from_utf8_lossy(body));
    let created = before + before.elapsed() / 2;
    let describe = encode_scoped("monitoring", "GraniteServiceVersion20100801", "DescribeAlarms", &json!({}));
    let (_, body) = connection.exchange(&describe).await?;
    let described: Value = serde_json::from_slice(body)?;
    let seconds = described["MetricAlarms"][0]["AlarmConfigurationUpdatedTimestamp"].as_f64();
    let seconds = seconds.context("the alarm has no time")?;
    let rest = MINUTE - seconds.rem_euclid(MINUTE);
    let rest = if rest < MINUTE / 6.0 { rest + MINUTE } else { rest };
    Ok(created + Duration::from_secs_f64(rest / f64::from(time_scale)))
}

impl Sent {
    async fn note(
        &mut self,
        connection: &mut Connection,
        number: usize,
        kind: Kind,
        items: usize,
    ) -> Result<()> {
        let (status, body) = connection.exchange(&request(number, kind, items)).await?;
        self.count += 1;
        let figures = &mut self.figures;
        match status {
            200 => {
                let answer: Value = serde_json::from_slice(body)?;
                let consumed = &answer["ConsumedCapacity"];
                let units = |part: &Value| part["CapacityUnits"].as_f64().unwrap_or(0.0);
                match kind.is_write() {
                    true => {
                        figures.write_units += units(&consumed["Table"]);
                        figures.index_write_units += units(&consumed["GlobalSecondaryIndexes"][INDEX]);
                    }
                    false => figures.read_units += units(&consumed["Table"]),
                }
            }
            400 if is_refusal(body) => match kind.is_write() {
                true => figures.writes_refused += 1.0,
                false => figures.reads_refused += 1.0,
            },
            _ => bail!("{status}: {}", String::from_utf8_lossy(body)),
        }
        Ok(())
    }
}

/// A table on demand refuses with another name.
fn is_refusal(body: &[u8]) -> bool {
    let body = String::from_utf8_lossy(body);
    body.contains("ProvisionedThroughputExceeded") || body.contains("ThrottlingException")
}

fn request(number: usize, kind: Kind, items: usize) -> Vec<u8> {
    let key = |key: &str| json!({"PK": {"S": key}});
    let small = format!("THING#{number}");
    match kind {
        Kind::Put => {
            let kind = json!({"kind": {"S": format!("kind-{}", number % KINDS)}});
            let item = item(&small, SMALL_BYTES, kind);
            let input = json!({"TableName": TABLE, "Item": item, "ReturnConsumedCapacity": "INDEXES"});
            encode("PutItem", &input)
        }
        Kind::Get => encode(
            "GetItem",
            &json!({"TableName": TABLE, "Key": key(&small), "ReturnConsumedCapacity": "INDEXES"}),
        ),
        Kind::Update { hot_share } => {
            let chance = (number as f64 * GOLDEN).fract();
            // Another step than that of the chance, so that all items have their turn.
            let item = if chance < hot_share { 0 } else { number * 7919 % items };
            encode(
                "UpdateItem",
                &json!({
                    "TableName": TABLE, "Key": key(&large_key(item)), "UpdateExpression": "ADD n :one",
                    "ExpressionAttributeValues": {":one": {"N": "1"}}, "ReturnConsumedCapacity": "INDEXES",
                }),
            )
        }
    }
}

fn large_key(number: usize) -> String {
    format!("THING#large-{number}")
}

/// An item that is a little smaller than `bytes`.
fn item(key: &str, bytes: usize, mut attributes: Value) -> Value {
    attributes["PK"] = json!({"S": key});
    attributes["v"] = json!({"S": "v".repeat(bytes.saturating_sub(64 + key.len()))});
    attributes
}

/// Lets auto scaling keep the table's write units between two bounds, at 70 %.
pub async fn scale(connection: &mut Connection, (min, max): (u64, u64)) -> Result<()> {
    let target = json!({
        "ServiceNamespace": "dynamodb", "ResourceId": format!("table/{TABLE}"),
        "ScalableDimension": "dynamodb:table:WriteCapacityUnits",
    });
    let with = |members: Value| {
        let mut request = target.clone();
        request.as_object_mut().into_iter().for_each(|request| {
            request.extend(members.as_object().cloned().unwrap_or_default());
        });
        request
    };
    let configuration = json!({
        "TargetValue": 70.0, "ScaleInCooldown": 0, "ScaleOutCooldown": 0,
        "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBWriteCapacityUtilization"},
    });
    for (operation, input) in [
        ("RegisterScalableTarget", with(json!({"MinCapacity": min, "MaxCapacity": max}))),
        (
            "PutScalingPolicy",
            with(json!({
                "PolicyName": "follow", "PolicyType": "TargetTrackingScaling",
                "TargetTrackingScalingPolicyConfiguration": configuration,
            })),
        ),
    ] {
        let (status, body) = connection
            .exchange(&encode_scoped("application-autoscaling", "AnyScaleFrontendService", operation, &input))
            .await?;
        ensure!(status == 200, "{operation}: {status} {}", String::from_utf8_lossy(body));
    }
    Ok(())
}

/// The write units that the table has.
pub async fn provisioned(connection: &mut Connection) -> Result<f64> {
    let described = table::call(connection, "DescribeTable", &json!({"TableName": TABLE})).await?;
    Ok(described["Table"]["ProvisionedThroughput"]["WriteCapacityUnits"].as_f64().unwrap_or(0.0))
}
