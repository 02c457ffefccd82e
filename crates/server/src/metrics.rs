//! `GET /metrics`: figures for the operator, in Prometheus' text format.

use crate::budget::{Budget, Busy};
use crate::peer::Peer;
use crate::reply::{ChunkSender, Reply};
use engine::{
    ChangeLogSize, FaultStatus, IndexProgress, MetricTotal, Namespace, PairStatus, SketchTotals, Unit,
};
use hyper::StatusCode;
use hyper::header::HeaderValue;
use std::sync::Arc;

const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4");
const INDEX_PROGRESS: &str = "lodestone_online_index_percentage_progress";
const CHANGE_LOG_BYTES: &str = "lodestone_change_log_bytes";
const PENDING_CHANGES: &str = "lodestone_pending_replication_count";
const COPIED_VECTORS: &str = "lodestone_copied_vectors";
const COPIED_VECTOR_BYTES: &str = "lodestone_copied_vector_bytes";
const FAULTS_MET: &str = "lodestone_injected_faults_met_total";

/// Figures that can't be read are an error: an empty list would say that all is well.
pub(crate) fn answer(
    progress: Result<(Vec<IndexProgress>, Vec<PairStatus>), String>,
    logs: Vec<ChangeLogSize>,
    faults: Vec<FaultStatus>,
    totals: Vec<MetricTotal>,
    bounds: String,
    budget: &Arc<Budget>,
    peer: &Peer,
) -> Reply {
    match progress {
        Ok((indexes, pairs)) => Reply::streamed(CONTENT_TYPE, budget, peer, |chunks| {
            send(indexes, pairs, logs, faults, totals, bounds, chunks)
        }),
        Err(reason) => Reply::text(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("the progress of indexes and replicas can't be read: {reason}\n"),
        ),
    }
}

async fn send(
    indexes: Vec<IndexProgress>,
    pairs: Vec<PairStatus>,
    logs: Vec<ChangeLogSize>,
    faults: Vec<FaultStatus>,
    totals: Vec<MetricTotal>,
    bounds: String,
    chunks: ChunkSender,
) -> Result<(), Busy> {
    chunks.send(bounds).await?;
    chunks.send(heading(INDEX_PROGRESS, "How far the making of a global secondary index has come.")).await?;
    for index in &indexes {
        chunks.send(line(index)).await?;
    }
    chunks.send(heading(CHANGE_LOG_BYTES, "How much room the change records of a table take.")).await?;
    for log in &logs {
        chunks.send(log_line(log)).await?;
    }
    if !pairs.is_empty() {
        chunks.send(heading(PENDING_CHANGES, "Changes that another Region does not have yet.")).await?;
    }
    for pair in &pairs {
        chunks.send(pair_line(pair)).await?;
    }
    if !faults.is_empty() {
        chunks.send(faults_heading()).await?;
    }
    for fault in &faults {
        chunks.send(fault_line(fault)).await?;
    }
    for totals in totals.chunk_by(|one, other| one.id.metric == other.id.metric) {
        chunks.send(totals_heading(&totals[0])).await?;
        for total in totals {
            chunks.send(total_lines(total)).await?;
        }
    }
    Ok(())
}

/// What compressed copies of vector indexes hold.
pub(crate) fn copies_text(totals: SketchTotals) -> String {
    let vectors =
        heading(COPIED_VECTORS, "Vectors that searches compare by a compressed copy of their index.");
    let bytes = heading(COPIED_VECTOR_BYTES, "How much memory compressed copies of vector indexes take.");
    let SketchTotals { vectors: number, bytes: size } = totals;
    format!("{vectors}{COPIED_VECTORS} {number}\n{bytes}{COPIED_VECTOR_BYTES} {size}\n")
}

fn heading(name: &str, help: &str) -> String {
    format!("# HELP {name} {help}\n# TYPE {name} gauge\n")
}

fn faults_heading() -> String {
    format!("# HELP {FAULTS_MET} Requests that met a fault that is on.\n# TYPE {FAULTS_MET} counter\n")
}

fn fault_line(fault: &FaultStatus) -> String {
    let rule = &fault.rule;
    let Namespace { account, region } = &rule.namespace;
    let table = label(rule.table.as_deref().unwrap_or("*"));
    let operation = rule.operation.map_or("*", |operation| operation.name());
    format!(
        "{FAULTS_MET}{{fault=\"{}\",account=\"{}\",region=\"{}\",table=\"{table}\",operation=\"{operation}\",\
         error=\"{}\",share=\"{}\"}} {}\n",
        fault.id,
        label(account),
        label(region),
        rule.kind.name(),
        rule.share,
        fault.met
    )
}

fn pair_line(pair: &PairStatus) -> String {
    let PairStatus { namespace, table, receiving_region, pending, .. } = pair;
    let (account, region, receiving) =
        (label(&namespace.account), label(&namespace.region), label(receiving_region));
    format!(
        "{PENDING_CHANGES}{{account=\"{account}\",region=\"{region}\",table=\"{table}\",\
         receiving_region=\"{receiving}\"}} {pending}\n"
    )
}

fn log_line(log: &ChangeLogSize) -> String {
    let ChangeLogSize { namespace, table, bytes } = log;
    let (account, region) = (label(&namespace.account), label(&namespace.region));
    format!("{CHANGE_LOG_BYTES}{{account=\"{account}\",region=\"{region}\",table=\"{table}\"}} {bytes}\n")
}

fn line(index: &IndexProgress) -> String {
    let IndexProgress { namespace, table, index, percentage } = index;
    let (account, region) = (label(&namespace.account), label(&namespace.region));
    format!(
        "{INDEX_PROGRESS}{{account=\"{account}\",region=\"{region}\",table=\"{table}\",index=\"{index}\"}} \
         {percentage:.1}\n"
    )
}

/// `ConsumedReadCapacityUnits` is a counter, `lodestone_consumed_read_capacity_units_total`. A metric that is no
/// number of things, such as `SuccessfulRequestLatency`, is a summary.
fn totals_heading(total: &MetricTotal) -> String {
    let (metric, name) = (total.id.metric.name(), total_name(total));
    let kind = if is_counter(total) { "counter" } else { "summary" };
    format!("# HELP {name} {metric} since the start, as CloudWatch names it.\n# TYPE {name} {kind}\n")
}

fn total_lines(total: &MetricTotal) -> String {
    let (name, labels) = (total_name(total), labels(total));
    match is_counter(total) {
        true => format!("{name}{{{labels}}} {}\n", total.sum),
        false => {
            format!("{name}_sum{{{labels}}} {}\n{name}_count{{{labels}}} {}\n", total.sum, total.count)
        }
    }
}

fn is_counter(total: &MetricTotal) -> bool {
    total.id.metric.unit() == Unit::Count
}

fn total_name(total: &MetricTotal) -> String {
    let metric = total.id.metric;
    let mut name = "lodestone".to_owned();
    for letter in metric.name().chars() {
        if letter.is_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    match metric.unit() {
        Unit::Count => name + "_total",
        unit => format!("{name}_{}", unit.as_str().to_ascii_lowercase()),
    }
}

fn labels(total: &MetricTotal) -> String {
    let Namespace { account, region } = &total.namespace;
    let mut labels = format!("account=\"{}\",region=\"{}\"", label(account), label(region));
    for (name, value) in total.id.dimensions.pairs() {
        let name = match name {
            "TableName" => "table",
            "GlobalSecondaryIndexName" => "index",
            "StreamLabel" => "stream",
            "ReceivingRegion" => "receiving_region",
            "DelegatedOperation" => "delegated_operation",
            _ => "operation",
        };
        labels.push_str(&format!(",{name}=\"{}\"", label(value)));
    }
    labels
}

/// A label's value; accounts and Regions come from signatures and may hold anything.
fn label(value: &str) -> String {
    value.escape_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Dimensions, Metric, MetricId};

    fn total(metric: Metric, operation: Option<&str>) -> MetricTotal {
        let dimensions = Dimensions {
            table: Some("orders".into()),
            operation: operation.map(str::to_owned),
            ..Dimensions::default()
        };
        let (namespace, id) = (Namespace::new("000000000000", "r"), MetricId { metric, dimensions });
        MetricTotal { namespace, id, count: 4, sum: 2.5 }
    }

    #[test]
    fn a_count_is_a_counter_and_a_time_is_a_summary() {
        let consumed = total(Metric::ConsumedReadCapacityUnits, None);
        assert_eq!(
            total_lines(&consumed),
            "lodestone_consumed_read_capacity_units_total\
             {account=\"000000000000\",region=\"r\",table=\"orders\"} 2.5\n"
        );
        let labels = "{account=\"000000000000\",region=\"r\",table=\"orders\",operation=\"GetItem\"}";
        let name = "lodestone_successful_request_latency_milliseconds";
        assert_eq!(
            total_lines(&total(Metric::SuccessfulRequestLatency, Some("GetItem"))),
            format!("{name}_sum{labels} 2.5\n{name}_count{labels} 4\n")
        );
    }

    #[test]
    fn an_index_in_the_making_is_a_line_with_its_labels() {
        let namespace = Namespace::new("000000000000", "us-\"east");
        let index =
            IndexProgress { namespace, table: "orders".into(), index: "GSI3".into(), percentage: 42.04 };
        assert_eq!(
            line(&index),
            "lodestone_online_index_percentage_progress\
             {account=\"000000000000\",region=\"us-\\\"east\",table=\"orders\",index=\"GSI3\"} 42.0\n"
        );
    }
}
