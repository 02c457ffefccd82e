//! The guard: whether what an application asks of its tables is what its model says.
//!
//! A request is read ([`request`]), compared with the plan of each pattern ([`compare`]), and what it stores with its
//! entity ([`contents`]). What is wrong is a [`Finding`]; the pattern that comes closest ([`closest`]) and what to add to
//! the model ([`advice`]) are in its text. [`Ledger`] knows which test a request belongs to, and [`report`] prints what
//! was found.
//!
//! Pure: no input or output, no clock, no chance. The server asks it at one place (`server/src/guarded.rs`).
//!
//! | question | file |
//! |---|---|
//! | is this request one of the patterns? | `judge.rs`; `compare/read.rs` and `compare/write.rs` say in what they differ |
//! | which template gives this key, and what does a range fix? | `key.rs` |
//! | is this item as the model says? | `contents.rs` |
//! | how many units may a request use? | `units.rs` |
//! | which test does a request belong to, and what was found in it? | `ledger.rs` |
//! | how is it reported? | `report.rs`, and `report/` for JUnit, SARIF and Markdown |

mod advice;
mod closest;
mod compare;
mod contents;
mod finding;
mod judge;
mod key;
mod ledger;
pub mod report;
mod request;
mod units;

pub use finding::{Finding, Place, Rule, refusal};
pub use judge::{Figures, Guard, Sent, Verdict};
pub use ledger::{Ledger, Outcome, Record, TestRun};
