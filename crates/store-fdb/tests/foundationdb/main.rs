//! The store on the model of FoundationDB. No test here runs on a real cluster.

mod conflicts;
mod conformance;
mod faults;
mod large;
mod leftovers;

use std::time::Duration;

use store_fdb::Options;

/// However busy the machine is, some try gets through.
fn options() -> Options {
    Options { wait: Duration::from_secs(60), ..Options::default() }
}
