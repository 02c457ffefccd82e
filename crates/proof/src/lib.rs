//! What runs a model on a database: the proof that every access pattern does what the model says.
//!
//! `model::plan` decides which request serves a pattern and names what is wrong with it: the symbolic half.
//! This crate is the other half. [`prove`] makes data from the key templates, adds data that tries to break
//! them ([`adversary`]), loads both into a database in memory, and sends every pattern through the real
//! operations (`model::request`), with everything a client could know. What comes back is held against what the
//! pattern means (`model::meaning`, by attributes alone), and what was charged against what the model predicts
//! (`model::predict`). Failures are shown with the smallest data that shows them ([`experiment`]).
//!
//! [`rehearse()`] plays a migration between two models in the same way.

mod adversary;
pub mod apply;
mod bill;
mod certificate;
pub mod database;
mod endpoint;
mod expectation;
mod experiment;
mod fault;
mod group_read;
mod literal;
mod measured;
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
pub use survey::survey;
