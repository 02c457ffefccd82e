//! One seed, one world: servers, their clients, the database that they share and everything that goes wrong, in
//! simulated time on one thread. A world that fails comes back from its seed, poll by poll.
//!
//! | question | file |
//! |---|---|
//! | who runs tasks, and what time is it? | `executor.rs` |
//! | what does a process get from its machine? | `machine.rs`: a clock that may be wrong, chance |
//! | what do servers share? | `remote.rs`: a database that behaves as PostgreSQL does |
//! | what does a server have alone? | `disk.rs`: the embedded store on a disk that fails |
//! | how do servers live and die? | `servers.rs` |
//! | what is between Regions? | `network.rs` |
//! | where are exports and backups? | `bucket.rs`: objects whose calls fail |
//! | what happens in a world? | `plan.rs`: features, clients and faults, all from the seed |
//! | who asks for what? | `client.rs`, as `requests.rs` words it; `stream.rs` reads the stream, `walk.rs` pages |
//! | how does a world go? | `run.rs`: first faults, then peace; `transfers.rs` looks at exports and imports, `global_table.rs` at Regions, `strong.rs` makes strong ones |
//! | was it right? | `judge.rs`, with the checkers of the crate `simulation` |
//! | what did no world reach? | `warnings.rs` counts warnings by their place; `main.rs` prints faults by what they met |
//! | what is left of a failure? | `shrink.rs`: a small plan; `trace.rs`: a page to read |
//!
//! The engine is the one that users run: it gets its environment and its store from here, and knows nothing of it.

pub mod bucket;
pub mod client;
pub mod disk;
pub mod executor;
mod global_table;
pub mod judge;
pub mod machine;
pub mod network;
pub mod panics;
pub mod plan;
pub mod remote;
pub mod requests;
pub mod run;
pub mod servers;
pub mod shrink;
pub mod stream;
pub mod strong;
pub mod trace;
mod transfers;
pub mod walk;
pub mod warnings;
