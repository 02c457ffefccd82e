//! The service as its clients meet it.

mod alarms;
mod insights;
mod metrics;
mod support;
