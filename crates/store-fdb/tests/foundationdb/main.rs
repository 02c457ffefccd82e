//! The store on the model of FoundationDB. With the feature `client`, the suite of the contract also runs on a cluster.

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
