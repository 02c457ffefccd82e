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
//!
//! | question | file |
//! |---|---|
//! | does a pattern do what the model says? | `prove.rs`, then `read.rs` and `write.rs`; `adversary.rs` tries to break it (items with extreme values, and such as have expired), `extreme.rs` shows hot keys and items of one moment, `literal.rs` sends the request that the file has itself, `literal_write.rs` looks at what such a write leaves behind and `literal_condition.rs` at what its condition accepts, `crowd.rs` has as many items as the file declares |
//! | what do rules and proofs miss? | `proof/tests/proofs/mutants.rs` breaks the examples one place at a time |
//! | where do proofs run? | on an `endpoint.rs`, JSON in and JSON out, in memory or behind an address; `database.rs` keeps exactly the data that is asked for in it |
//! | how does a model get onto a database? | `apply/state.rs` looks, `apply/change.rs` decides, `apply/carry_out.rs` does; `survey.rs` is the way back |
//! | who carries it out, and goes on after a crash? | `migrate/`: `run.rs` takes the steps, `sweep.rs` runs a job over a table, `job.rs` (pure, shared with rehearsals) decides about an item, `rate_limit.rs` keeps to the rate, `record.rs` is how far it got |

mod adversary;
pub mod apply;
mod bill;
mod certificate;
mod crowd;
pub mod database;
mod endpoint;
mod expectation;
mod experiment;
mod extreme;
mod fault;
mod group_read;
mod literal;
mod literal_condition;
mod literal_write;
mod measured;
pub mod migrate;
mod neighbour;
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
pub use prove::{prove, prove_on, prove_some, prove_with};
pub use rehearse::{Rehearsal, rehearse};
pub use survey::{describe_tables, survey};
