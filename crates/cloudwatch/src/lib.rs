//! CloudWatch, as far as users of DynamoDB need it: the metrics of the namespaces `AWS/DynamoDB` and `AWS/DAX`, alarms on them, and the
//! reports of Contributor Insights.
//!
//! ```text
//! http          a request in one of three protocols -> an operation -> an answer in the same one
//! service       the operations; keeps the alarms and evaluates them once a minute
//!   series        a metric and a statistic -> points, by the rules for times and periods
//!   statistics    GetMetricStatistics
//!   data          GetMetricData; `math` calculates its expressions
//!   listing       ListMetrics
//!   alarm         what an alarm watches, and what its points mean
//!   insight       GetInsightRuleReport, and the figures of its rules for metric math
//! ```
//!
//! `math`, `alarm` and `insight` are pure. What the crate needs from the database are [`Metrics`] and [`Insights`];
//! alarms are kept in [`host::Rows`], and the time is that of [`host::Environment`].
//!
//! What is not here, on purpose: metrics of other namespaces (PutMetricData), anomaly detection, composite
//! alarms, dashboards, and actions: nothing outside the process is called when an alarm changes.

mod alarm;
mod data;
mod http;
mod insight;
mod listing;
mod math;
mod memory;
mod outside;
mod series;
mod service;
mod statistics;

pub use alarm::arn as alarm_arn;
pub use insight::{Ranking, RuleMinutes};
pub use memory::{MemoryInsights, MemoryMetrics};
pub use outside::{Dimensions, InsightRuleSummary, Insights, Metrics, ReadError};
pub use service::{CloudWatch, OpenError};
