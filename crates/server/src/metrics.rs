//! `GET /metrics`: figures for the operator, in Prometheus' text format.

use std::fmt::Write;

use engine::IndexProgress;
use hyper::header::HeaderValue;

use crate::reply::Reply;

const INDEX_PROGRESS: &str = "lodestone_online_index_percentage_progress";

pub(crate) fn answer(indexes: &[IndexProgress]) -> Reply {
    Reply::text(text(indexes), HeaderValue::from_static("text/plain; version=0.0.4"))
}

fn text(indexes: &[IndexProgress]) -> String {
    let mut text = format!(
        "# HELP {INDEX_PROGRESS} How far the making of a global secondary index has come.\n\
         # TYPE {INDEX_PROGRESS} gauge\n"
    );
    for IndexProgress { namespace, table, index, percentage } in indexes {
        let (account, region) = (label(&namespace.account), label(&namespace.region));
        let _ = writeln!(
            text,
            "{INDEX_PROGRESS}{{account=\"{account}\",region=\"{region}\",table=\"{table}\",index=\"{index}\"}} \
             {percentage:.1}"
        );
    }
    text
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
        let text = text(&[index]);
        assert!(text.ends_with(
            "{account=\"000000000000\",region=\"us-\\\"east\",table=\"orders\",index=\"GSI3\"} 42.0\n"
        ));
        assert_eq!(text.lines().count(), 3);
    }
}
