//! `metrics`: the engine's metrics over a range of time, of all tables or of one.

use std::collections::{BTreeMap, BTreeSet};

use capacity::metric::{Cells, Metric, Point, buckets};
use engine::{Engine, Namespace};
use http::StatusCode;
use serde_json::{Value, json};

use crate::door::Fault;

/// What is kept of a metric: 15 days.
const MINUTES_MAX: u64 = 15 * 24 * 60;
/// About how many points a series has at most.
const POINTS_MAX: u64 = 120;
/// Tables that are shown together: those that were used most since the database was opened. Others are asked for one by
/// one.
const TABLES_MAX: usize = 64;
/// The widths that points can have, in minutes.
const PERIODS: [u64; 7] = [1, 5, 15, 30, 60, 180, 360];

/// Every metric that had a value in the last `minutes`, with its points: time, count, sum, minimum, maximum. And
/// the latencies of each operation, over the whole time and all tables that are shown.
pub async fn read(
    engine: &Engine,
    namespace: &Namespace,
    existing: Vec<String>,
    table: Option<&str>,
    minutes: u64,
) -> Result<Value, Fault> {
    let unreadable = |_| Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "The metrics can't be read.");
    let minutes = minutes.clamp(1, MINUTES_MAX);
    let period = PERIODS.into_iter().find(|period| minutes / period <= POINTS_MAX).unwrap_or(360) * 60;
    let now = engine.usage().now().ms / 1000;
    // The period that is not over yet is the last one.
    let end = now - now % period + period;
    let start = end.saturating_sub(minutes * 60).next_multiple_of(period);
    let (shown, cut) = match table {
        Some(table) => (BTreeSet::from([table.to_owned()]), 0),
        None => most_used(engine, namespace, existing),
    };
    let mut series = Vec::new();
    let mut latencies: BTreeMap<String, Cells> = BTreeMap::new();
    for id in engine.metrics(namespace).await.map_err(unreadable)? {
        let is_shown = match &id.dimensions.table {
            Some(of) => shown.contains(of),
            None => table.is_none(),
        };
        if !is_shown {
            continue;
        }
        let points = engine.metric_points(namespace, &id, start, end).await.map_err(unreadable)?;
        if points.is_empty() {
            continue;
        }
        if let (Metric::SuccessfulRequestLatency, Some(operation)) = (id.metric, &id.dimensions.operation) {
            let all = latencies.entry(operation.clone()).or_default();
            points.iter().for_each(|(_, cell)| all.merge_cell(id.metric, cell));
        }
        let point = |(time, cell): Point| json!([time, cell.count, cell.sum, cell.min, cell.max]);
        let points = buckets(points, start, end, period).into_iter().map(point);
        series.push(json!({
            "metric": id.metric.name(),
            "table": id.dimensions.table,
            "index": id.dimensions.index,
            "operation": id.dimensions.operation,
            "receivingRegion": id.dimensions.receiving_region,
            "points": points.collect::<Vec<_>>(),
        }));
    }
    let latency = |(operation, cells): (&String, &Cells)| {
        let cell = cells.get(Metric::SuccessfulRequestLatency)?;
        Some(json!({ "operation": operation, "p50": cell.percentile(50.0), "p99": cell.percentile(99.0) }))
    };
    let latencies: Vec<Value> = latencies.iter().filter_map(latency).collect();
    let clock = engine.clock_notice();
    Ok(json!({
        "now": now, "start": start, "end": end, "period": period, "series": series, "latencies": latencies,
        "clock": clock, "tablesCut": cut,
    }))
}

/// The tables that were used most since the database was opened, and how many others there are.
fn most_used(engine: &Engine, namespace: &Namespace, mut existing: Vec<String>) -> (BTreeSet<String>, usize) {
    let cut = existing.len().saturating_sub(TABLES_MAX);
    if cut > 0 {
        let mut used: BTreeMap<String, f64> = BTreeMap::new();
        for total in engine.metric_totals().into_iter().filter(|total| total.namespace == *namespace) {
            if let Some(table) = total.id.dimensions.table {
                *used.entry(table).or_default() += total.count as f64;
            }
        }
        let use_of = |table: &String| used.get(table).copied().unwrap_or_default();
        existing.sort_by(|one, other| use_of(other).total_cmp(&use_of(one)).then_with(|| one.cmp(other)));
        existing.truncate(TABLES_MAX);
    }
    (existing.into_iter().collect(), cut)
}
