//! A table in memory under auto scaling, with CloudWatch's own alarms, in simulated time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use api::cloudwatch::{Datapoint, GetMetricStatisticsInput, PutMetricAlarmInput};
use api::{
    BillingMode, BillingModeSummary, Error, ProvisionedThroughputDescription, TableDescription, TableStatus,
    UpdateTableInput,
};
use async_trait::async_trait;
use autoscaling::{AutoScaling, CloudWatch, Tables};
use capacity::metric::Metric;
use cloudwatch::{Dimensions, MemoryInsights, MemoryMetrics};
use host::{Environment, MemoryRows, Namespace};
use parking_lot::Mutex;
use serde_json::{Value, json};

const MINUTE_MS: u64 = 60_000;
/// Midnight UTC.
const START_MS: u64 = 20_775 * 86_400_000;

pub struct Clock {
    now_ms: AtomicU64,
    random: AtomicU64,
}

impl Environment for Clock {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    fn random(&self) -> u128 {
        u128::from(self.random.fetch_add(1, Ordering::Relaxed)) << 64 | 0x1234_5678
    }
}

/// One table, `Orders`.
pub struct Table {
    pub exists: bool,
    pub on_demand: bool,
    pub read_units: i64,
    pub write_units: i64,
    pub id: String,
    /// Write units after each UpdateTable.
    pub updates: Vec<i64>,
    /// What UpdateTable answers instead of doing it.
    pub refusal: Option<Error>,
}

pub struct MemoryTable(pub Mutex<Table>);

#[async_trait]
impl Tables for MemoryTable {
    async fn describe(&self, _namespace: &Namespace, name: &str) -> Result<Option<TableDescription>, Error> {
        let table = self.0.lock();
        if !table.exists || name != "Orders" {
            return Ok(None);
        }
        let mode = if table.on_demand { BillingMode::PayPerRequest } else { BillingMode::Provisioned };
        Ok(Some(TableDescription {
            table_id: Some(table.id.clone()),
            table_status: Some(TableStatus::Active),
            billing_mode_summary: Some(BillingModeSummary {
                billing_mode: Some(mode),
                ..BillingModeSummary::default()
            }),
            provisioned_throughput: Some(ProvisionedThroughputDescription {
                read_capacity_units: Some(table.read_units),
                write_capacity_units: Some(table.write_units),
                ..ProvisionedThroughputDescription::default()
            }),
            ..TableDescription::default()
        }))
    }

    async fn update(&self, _namespace: &Namespace, input: UpdateTableInput) -> Result<(), Error> {
        let mut table = self.0.lock();
        if let Some(refusal) = &table.refusal {
            return Err(refusal.clone());
        }
        let throughput = input.provisioned_throughput.expect("a table's own units");
        (table.read_units, table.write_units) =
            (throughput.read_capacity_units, throughput.write_capacity_units);
        table.updates.push(throughput.write_capacity_units);
        Ok(())
    }
}

struct RealCloudWatch(Arc<cloudwatch::CloudWatch>);

#[async_trait]
impl CloudWatch for RealCloudWatch {
    async fn statistics(
        &self,
        namespace: &Namespace,
        input: GetMetricStatisticsInput,
    ) -> Result<Vec<Datapoint>, Error> {
        Ok(self.0.get_metric_statistics(namespace, input).await?.datapoints.unwrap_or_default())
    }

    async fn put_alarm(&self, namespace: &Namespace, input: PutMetricAlarmInput) -> Result<(), Error> {
        input.check()?;
        self.0.put_metric_alarm(namespace, input).await
    }

    async fn delete_alarm(&self, namespace: &Namespace, name: &str) -> Result<(), Error> {
        self.0.delete_alarms(namespace, &[name.to_owned()]).await
    }
}

pub struct World {
    pub clock: Arc<Clock>,
    pub metrics: Arc<MemoryMetrics>,
    pub table: Arc<MemoryTable>,
    pub rows: Arc<MemoryRows>,
    pub cloudwatch: Arc<cloudwatch::CloudWatch>,
    pub scaling: AutoScaling,
}

impl World {
    /// A table with `write_units`.
    pub async fn with_units(write_units: i64) -> World {
        let clock = Arc::new(Clock { now_ms: AtomicU64::new(START_MS), random: AtomicU64::new(1) });
        let table = Table {
            exists: true,
            on_demand: false,
            read_units: 5,
            write_units,
            id: "first".to_owned(),
            updates: Vec::new(),
            refusal: None,
        };
        let metrics: Arc<MemoryMetrics> = Arc::default();
        metrics.create(&namespace(), &dimensions(), START_MS);
        World::open(clock, metrics, Arc::new(MemoryTable(Mutex::new(table))), Arc::default()).await
    }

    async fn open(
        clock: Arc<Clock>,
        metrics: Arc<MemoryMetrics>,
        table: Arc<MemoryTable>,
        rows: Arc<MemoryRows>,
    ) -> World {
        let insights = Arc::new(MemoryInsights::default());
        let opened =
            cloudwatch::CloudWatch::open(metrics.clone(), insights, rows.clone(), clock.clone()).await;
        let cloudwatch = Arc::new(opened.expect("the alarms can be read"));
        let watched = Arc::new(RealCloudWatch(cloudwatch.clone()));
        let opened = AutoScaling::open(table.clone(), watched, rows.clone(), clock.clone()).await;
        let scaling = opened.expect("the targets can be read");
        World { clock, metrics, table, rows, cloudwatch, scaling }
    }

    /// The same rows, opened again.
    pub async fn restart(self) -> World {
        World::open(self.clock, self.metrics, self.table, self.rows).await
    }

    /// Sends a request to Application Auto Scaling.
    pub async fn send(&self, operation: &str, body: Value) -> (u16, Value) {
        let target = format!("AnyScaleFrontendService.{operation}");
        let response = self.scaling.answer(&namespace(), &target, body.to_string().as_bytes()).await;
        (response.status().as_u16(), serde_json::from_slice(response.body()).expect("JSON"))
    }

    pub async fn ok(&self, operation: &str, body: Value) -> Value {
        let (status, answer) = self.send(operation, body).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// The name and message of the error of a request that fails.
    pub async fn refused(&self, operation: &str, body: Value) -> (String, String) {
        let (status, answer) = self.send(operation, body).await;
        assert_eq!(status, 400, "{answer}");
        let name = answer["__type"].as_str().unwrap_or_default();
        let name = name.rsplit('#').next().unwrap_or_default().to_owned();
        (name, answer["Message"].as_str().or(answer["message"].as_str()).unwrap_or_default().to_owned())
    }

    pub async fn register(&self, min: i32, max: i32) -> Value {
        self.ok("RegisterScalableTarget", with(target(), json!({"MinCapacity": min, "MaxCapacity": max})))
            .await
    }

    pub async fn put_policy(&self, configuration: Value) -> Value {
        let members = json!({
            "PolicyName": "utilization",
            "PolicyType": "TargetTrackingScaling",
            "TargetTrackingScalingPolicyConfiguration": with(configuration, json!({
                "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBWriteCapacityUtilization"},
            })),
        });
        self.ok("PutScalingPolicy", with(target(), members)).await
    }

    /// One minute with a demand of this many units each second: no more than provisioned are consumed.
    pub async fn minute(&self, demand: f64) {
        let now_ms = self.clock.now_ms();
        let consumed = demand.min(self.units() as f64) * 60.0;
        if consumed > 0.0 {
            let metric = Metric::ConsumedWriteCapacityUnits;
            self.metrics.add(&namespace(), metric, &dimensions(), consumed, now_ms);
        }
        let units = self.units() as f64;
        self.metrics.add(&namespace(), Metric::ProvisionedWriteCapacityUnits, &dimensions(), units, now_ms);
        self.clock.now_ms.store(now_ms + MINUTE_MS, Ordering::Relaxed);
        self.cloudwatch.evaluate().await;
        self.scaling.scale().await;
    }

    pub async fn minutes(&self, demand: f64, minutes: u64) {
        for _ in 0..minutes {
            self.minute(demand).await;
        }
    }

    pub fn units(&self) -> i64 {
        self.table.0.lock().write_units
    }

    pub async fn activities(&self) -> Vec<Value> {
        let answer = self.ok("DescribeScalingActivities", json!({"ServiceNamespace": "dynamodb"})).await;
        answer["ScalingActivities"].as_array().cloned().unwrap_or_default()
    }

    /// The alarms by the kind in their names: threshold and state.
    pub fn alarm(&self, kind: &str) -> (f64, String) {
        let all = self.cloudwatch.describe_alarms(&namespace(), &Default::default()).expect("alarms");
        let mut alarms = all.metric_alarms.into_iter().flatten();
        let name = format!("TargetTracking-table/Orders-{kind}-");
        let is_it = |alarm: &api::cloudwatch::MetricAlarm| {
            alarm.alarm_name.as_ref().is_some_and(|alarm| alarm.starts_with(&name))
        };
        let alarm = alarms.find(is_it).expect("the alarm is there");
        let state = alarm.state_value.map_or("", |state| state.as_str());
        (alarm.threshold.unwrap_or_default(), state.to_owned())
    }
}

pub fn namespace() -> Namespace {
    Namespace::new("000000000000", "us-east-1")
}

fn dimensions() -> Dimensions {
    Dimensions::from([("TableName".to_owned(), "Orders".to_owned())])
}

/// What names the target.
pub fn target() -> Value {
    json!({
        "ServiceNamespace": "dynamodb",
        "ResourceId": "table/Orders",
        "ScalableDimension": "dynamodb:table:WriteCapacityUnits",
    })
}

/// The request with some members more.
pub fn with(mut request: Value, members: Value) -> Value {
    for (name, value) in members.as_object().expect("members") {
        request[name] = value.clone();
    }
    request
}
