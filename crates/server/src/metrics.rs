//! `GET /metrics`: figures for the operator, in Prometheus' text format.

use crate::budget::{Budget, Busy};
use crate::reply::{ChunkSender, Reply};
use engine::{ChangeLogSize, IndexProgress};
use hyper::StatusCode;
use hyper::header::HeaderValue;
use std::sync::Arc;

const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4");
const INDEX_PROGRESS: &str = "lodestone_online_index_percentage_progress";
const CHANGE_LOG_BYTES: &str = "lodestone_change_log_bytes";

/// Figures that can't be read are an error: an empty list would say that all is well.
pub(crate) fn answer(
    indexes: Result<Vec<IndexProgress>, String>,
    logs: Vec<ChangeLogSize>,
    budget: &Arc<Budget>,
) -> Reply {
    match indexes {
        Ok(indexes) => Reply::streamed(CONTENT_TYPE, budget, |chunks| send(indexes, logs, chunks)),
        Err(reason) => Reply::text(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("the progress of indexes can't be read: {reason}\n"),
        ),
    }
}

async fn send(
    indexes: Vec<IndexProgress>,
    logs: Vec<ChangeLogSize>,
    chunks: ChunkSender,
) -> Result<(), Busy> {
    chunks.send(heading(INDEX_PROGRESS, "How far the making of a global secondary index has come.")).await?;
    for index in &indexes {
        chunks.send(line(index)).await?;
    }
    chunks.send(heading(CHANGE_LOG_BYTES, "How much room the change records of a table take.")).await?;
    for log in &logs {
        chunks.send(log_line(log)).await?;
    }
    Ok(())
}

fn heading(name: &str, help: &str) -> String {
    format!("# HELP {name} {help}\n# TYPE {name} gauge\n")
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

/// A label's value; accounts and Regions come from signatures and may hold anything.
fn label(value: &str) -> String {
    value.escape_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Namespace;

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
