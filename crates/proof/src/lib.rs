//! Runs a model on a database: the proof that every access pattern does what the model says.
//!
//! `model::plan` decides which request serves a pattern and names what is wrong with it: the symbolic half.
//! This crate is the other half. [`prove`] makes data from the key templates, adds data that tries to break
//! them ([`adversary`]), loads both into a database in memory, and sends every pattern through the real
//! operations (`model::request`), with all values that a client could know. The results are compared with what the
//! pattern means (`model::meaning`, by attributes alone), and the charged units with the model's prediction
//! (`model::predict`). Each failure comes with the smallest data that shows it ([`experiment`]).
//!
//! [`rehearse()`] plays a migration between two models in the same way, and [`migrate`] carries it out where others
//! work.

mod adversary;
pub mod apply;
mod bill;
mod certificate;
pub mod database;
mod endpoint;
mod expectation;
mod experiment;
mod extreme;
mod fault;
mod group_read;
mod literal;
mod measured;
pub mod migrate;
mod page;
mod prove;
mod read;
pub mod rehearse;
mod survey;
pub mod table;
mod trial;
mod write;

pub use certificate::{Certificate, Finding, PartCapacity, PatternProof, Verdict};
pub use database::Database;
pub use endpoint::{Answer, Endpoint, Memory};
pub use fault::Fault;
pub use prove::{prove, prove_on};
pub use rehearse::{Rehearsal, rehearse};
pub use survey::{describe_tables, survey};
