//! Random workloads, and checkers that decide afterwards whether the answers that clients saw were possible.
//!
//! Pure: it knows no database. A [`Client`] chooses the next request and is given the answers. The test that drives
//! it records each exchange as an [`Event`] with the times at which it began and ended. [`check`] then checks the
//! whole history:
//!
//! - every item by itself must be linearizable ([`linearizability`]);
//! - the transactions on items whose every write names the version that it replaces must be strictly
//!   serializable ([`serializability`]);
//! - every transaction that reads all accounts must see the sum that transfers keep.
//!
//! Where the order of the commits is known, [`replay`] checks more in less time: each request is compared with what it
//! did, one after the other.
//!
//! What is in the Regions of a global table is judged by [`last_writer_wins`].
//!
//! A request of unknown outcome may have happened or not, but not in part.
//!
//! | question | file |
//! |---|---|
//! | which requests are sent? | `workload.rs`; what they may answer: `action.rs` |
//! | what is recorded? | `history.rs` |
//! | what is checked? | `check.rs`, by the checkers above |

mod action;
mod check;
mod history;
pub mod last_writer_wins;
pub mod linearizability;
pub mod replay;
pub mod serializability;
mod workload;

pub use action::{Action, Answer, Condition, Content, Family, Key};
pub use check::{Fault, Findings, check};
pub use history::{Clock, Event, Kind, Request};
pub use workload::{Client, final_reads, setup};
