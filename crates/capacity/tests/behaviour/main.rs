//! Throughput, scaling, metrics and hot keys over time, on a clock that tests move.

mod bucket;
mod contributors;
mod heat;
mod invariants;
mod metric;
mod quota;
mod scaling;
mod support;
mod throughput;
mod units;
