//! Requests and answers of the services: decoded, checked, written.

mod answers;
mod cloudwatch;
mod constraints;
mod decoding;
mod extended_statistic;
mod hostile_bodies;
mod lambda;
mod parameters;
mod schema;
mod serialization;
mod services;
mod streams;
mod support;
mod table_name;
