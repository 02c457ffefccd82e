//! Carries out a migration on a database that others use: the steps that `model::migrate` plans, one after the other.
//!
//! [`Run`] does what a request can do, and stops at what only people can do (deploy another version of the
//! application) until they say that it is done. Jobs go over their table in segments ([`sweep`]). How a job changes
//! an item is decided in [`job`], which a rehearsal uses, too. Jobs keep to a share of the capacity ([`rate_limit`]).
//!
//! How far it got is a [`Record`], kept after each step and each page. Everything may be done again: items are
//! written under conditions, and tables and indexes are looked at before they are changed. So a process that is killed
//! costs at most the pages that were being worked on, and even a lost record costs no more than reading everything
//! again.

pub mod form;
pub mod job;
mod rate_limit;
mod record;
pub mod request;
mod run;
mod settings;
mod sweep;

pub use rate_limit::Allowance;
pub use record::{FinishedJob, JobRecord, Record, StepRecord, Tally};
pub use run::{Run, Stop};

/// What a run tells and asks the one who started it.
pub trait Watcher {
    /// Keeps the record, so that it is there after a crash.
    fn keep(&self, record: &Record) -> Result<(), String>;

    /// In a few words, what is being waited for.
    fn tell(&self, text: &str);

    /// How many of about how many items were read.
    fn count(&self, text: &str, done: u64, all: u64);

    /// Whether to stop as soon as what was begun is done.
    fn is_pausing(&self) -> bool;
}
