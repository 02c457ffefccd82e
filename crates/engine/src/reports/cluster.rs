//! The metrics of a cache in front of the tables.

use capacity::metric::Metric;

use super::Reports;
use crate::Namespace;
use crate::throughput::dimensions::{CellSet, Subject};

impl Reports {
    /// Counts what a cache in front of the tables did for an account.
    pub fn count_cluster(&self, namespace: &Namespace, cluster: &str, node: &str, values: &[(Metric, f64)]) {
        if self.usage.is_off() {
            return;
        }
        let (figures, now_ms) =
            (self.usage.metrics.figures(namespace, Subject::Cluster(cluster)), self.usage.now().ms);
        figures.add(CellSet::Whole, values, now_ms);
        figures.add(CellSet::Node(node), values, now_ms);
    }
}
