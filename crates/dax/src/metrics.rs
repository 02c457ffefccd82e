//! What is counted of the cache, for the operator.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// A count that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn count(&self) {
        self.add(1);
    }

    pub fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that rises and falls.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// One more, until what is returned is dropped.
    pub fn raise(&self) -> Raised<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Raised(self)
    }
}

/// One of those that a [`Gauge`] counts.
pub struct Raised<'g>(&'g Gauge);

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The state of the cache at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    pub item_cache_hits: u64,
    pub item_cache_misses: u64,
    pub query_cache_hits: u64,
    pub query_cache_misses: u64,
    pub item_cache_bytes: u64,
    pub query_cache_bytes: u64,
    pub evicted_bytes: u64,
    pub requests: u64,
    pub failed_requests: u64,
    pub connections: u64,
}

impl Metrics {
    /// In Prometheus' text format.
    pub fn prometheus(&self) -> String {
        let mut text = String::new();
        let mut figure = |name: &str, kind: &str, help: &str, value: u64| {
            let _ = write!(
                text,
                "# HELP lodestone_dax_{name} {help}\n# TYPE lodestone_dax_{name} {kind}\nlodestone_dax_{name} {value}\n"
            );
        };
        let counter = "counter";
        figure("item_cache_hits_total", counter, "Items that were in the item cache.", self.item_cache_hits);
        figure(
            "item_cache_misses_total",
            counter,
            "Items that were read from tables.",
            self.item_cache_misses,
        );
        figure(
            "query_cache_hits_total",
            counter,
            "Queries and scans that were in the query cache.",
            self.query_cache_hits,
        );
        figure(
            "query_cache_misses_total",
            counter,
            "Queries and scans that were read from tables.",
            self.query_cache_misses,
        );
        figure("item_cache_bytes", "gauge", "What the item cache holds.", self.item_cache_bytes);
        figure("query_cache_bytes", "gauge", "What the query cache holds.", self.query_cache_bytes);
        figure("evicted_bytes_total", counter, "What had to leave the caches.", self.evicted_bytes);
        figure("requests_total", counter, "Requests of clients of DAX.", self.requests);
        figure(
            "failed_requests_total",
            counter,
            "Requests that were answered with an error.",
            self.failed_requests,
        );
        figure("connections", "gauge", "Open connections of clients of DAX.", self.connections);
        text
    }
}
