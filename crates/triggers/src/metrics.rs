//! What is counted. The names are those of AWS/Lambda's metrics.

/// Counters of one mapping since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Calls that reached the function.
    pub invocations: u64,
    /// Calls that the function failed.
    pub errors: u64,
    /// Calls that were refused because too many were under way.
    pub throttles: u64,
    /// The sum of all calls' times.
    pub duration_ms: u64,
    /// The age of the last record of the batch that ended last. `None` before the first batch.
    pub iterator_age_ms: Option<u64>,
    pub polled_event_count: u64,
    pub filtered_out_event_count: u64,
    pub invoked_event_count: u64,
    pub failed_invoke_event_count: u64,
    /// Records that were given up: too old, or retried too often.
    pub dropped_event_count: u64,
    pub on_failure_destination_delivered_event_count: u64,
    /// Failures that could not be reported. The log has them.
    pub destination_delivery_failures: u64,
}

impl Metrics {
    /// Adds what happened since the last call and takes over the latest age.
    pub fn add(&mut self, other: Metrics) {
        self.invocations += other.invocations;
        self.errors += other.errors;
        self.throttles += other.throttles;
        self.duration_ms += other.duration_ms;
        self.iterator_age_ms = other.iterator_age_ms.or(self.iterator_age_ms);
        self.polled_event_count += other.polled_event_count;
        self.filtered_out_event_count += other.filtered_out_event_count;
        self.invoked_event_count += other.invoked_event_count;
        self.failed_invoke_event_count += other.failed_invoke_event_count;
        self.dropped_event_count += other.dropped_event_count;
        self.on_failure_destination_delivered_event_count +=
            other.on_failure_destination_delivered_event_count;
        self.destination_delivery_failures += other.destination_delivery_failures;
    }
}

/// The counters of a mapping, and the dimensions under which they are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingMetrics {
    pub uuid: String,
    pub function_name: String,
    pub stream_arn: String,
    pub metrics: Metrics,
}
