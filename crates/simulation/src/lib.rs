//! Random workloads, and checkers that tell afterwards whether what their clients saw could have happened.
//!
//! Pure: it knows no database. A [`Client`] says what to ask next and is told the answers; whoever drives it
//! records each exchange as an [`Event`] with the times at which it began and ended; [`check`] judges the
//! whole history:
//!
//! - every item by itself must be linearizable ([`linearizability`]);
//! - the transactions on items whose every write names the version that it replaces must be strictly
//!   serializable ([`serializability`]);
//! - every reading of all accounts in one transaction must show the sum that transfers keep.
//!
//! An outcome that a client never learnt may have happened or not, but not in part.

mod action;
mod check;
mod history;
pub mod linearizability;
pub mod serializability;
mod workload;

pub use action::{Action, Answer, Condition, Content, Family, Key};
pub use check::{Fault, Findings, check};
pub use history::{Clock, Event, Kind, Request};
pub use workload::{Client, finale, setup};
