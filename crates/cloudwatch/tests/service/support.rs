//! CloudWatch over metrics in memory, spoken to as clients do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use api::cloudwatch::Call;
use capacity::metric::Metric;
use cloudwatch::{CloudWatch, Dimensions, MemoryInsights, MemoryMetrics};
use host::{Environment, MemoryRows, Namespace};
use serde_json::Value;

/// 16 November 2026, 14:00 UTC.
pub const START_SECONDS: u64 = 1_794_837_600;

pub struct Clock(pub AtomicU64);

impl Environment for Clock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn random(&self) -> u128 {
        7
    }
}

pub struct World {
    pub clock: Arc<Clock>,
    pub metrics: Arc<MemoryMetrics>,
    pub insights: Arc<MemoryInsights>,
    pub rows: Arc<MemoryRows>,
    pub cloudwatch: CloudWatch,
}

impl World {
    pub async fn new() -> World {
        let clock = Arc::new(Clock(AtomicU64::new(START_SECONDS * 1000)));
        let (metrics, insights, rows) = (Arc::default(), Arc::default(), Arc::default());
        World::open(clock, metrics, insights, rows).await
    }

    async fn open(
        clock: Arc<Clock>,
        metrics: Arc<MemoryMetrics>,
        insights: Arc<MemoryInsights>,
        rows: Arc<MemoryRows>,
    ) -> World {
        let opened = CloudWatch::open(metrics.clone(), insights.clone(), rows.clone(), clock.clone()).await;
        World { clock, metrics, insights, rows, cloudwatch: opened.expect("the rows can be read") }
    }

    /// The same rows and metrics, opened again.
    pub async fn restart(self) -> World {
        World::open(self.clock, self.metrics, self.insights, self.rows).await
    }

    /// Sets the clock to a second after the start.
    pub fn at(&self, seconds: u64) {
        self.clock.0.store((START_SECONDS + seconds) * 1000, Ordering::Relaxed);
    }

    /// Adds a value of the table's at a second after the start.
    pub fn add(&self, metric: Metric, value: f64, seconds: u64) {
        self.metrics.add(&namespace(), metric, &table(), value, (START_SECONDS + seconds) * 1000);
    }

    /// Sends a request as JSON 1.0.
    pub async fn json(&self, operation: &str, body: Value) -> (u16, Value) {
        let target = format!("GraniteServiceVersion20100801.{operation}");
        let call = Call::of("/", Some(&target), Some("application/x-amz-json-1.0")).expect("a call");
        let response = self.cloudwatch.answer(&namespace(), &call, body.to_string().as_bytes()).await;
        let status = response.status().as_u16();
        (status, serde_json::from_slice(response.body()).unwrap_or(Value::Null))
    }

    /// The answer to a request that succeeds.
    pub async fn ok(&self, operation: &str, body: Value) -> Value {
        let (status, answer) = self.json(operation, body).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// The name and message of the error of a request that fails.
    pub async fn refused(&self, operation: &str, body: Value) -> (u16, String, String) {
        let (status, answer) = self.json(operation, body).await;
        let name =
            answer["__type"].as_str().unwrap_or_default().rsplit('#').next().unwrap_or_default().to_owned();
        (status, name, answer["message"].as_str().unwrap_or_default().to_owned())
    }
}

pub fn namespace() -> Namespace {
    Namespace::new("000000000000", "us-east-1")
}

pub fn table() -> Dimensions {
    Dimensions::from([("TableName".to_owned(), "Orders".to_owned())])
}
