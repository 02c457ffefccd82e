//! Side-by-side benchmarks: Lodestone, durable and in memory, against a bare hyper server that answers
//! the same bytes without doing any work.
//!
//! The bare server is the floor: what the network, the HTTP parser and this machine cost by themselves.
//! What Lodestone takes beyond it is the price of being a database, and the number worth watching.
//!
//! 1. [`server`] starts a process and waits for its ready line.
//! 2. [`workload`] prepares requests as finished bytes ([`request`]), so that the generator costs little.
//! 3. [`load`] drives them over [`connection`]s, each sending its next request after the last reply.
//! 4. [`report`] prints one table.
//!
//! Generator and server share the machine: compare the rows of one run, not runs of two machines.

pub mod bare;
pub mod connection;
pub mod load;
pub mod report;
pub mod request;
pub mod server;
pub mod workload;
