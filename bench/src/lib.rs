//! Side-by-side benchmarks: Lodestone, durable and in memory, against a bare hyper server that answers
//! the same bytes without doing any work, and against peers.
//!
//! The bare server is the floor: what the network, the HTTP parser and this machine cost by themselves.
//! What Lodestone takes beyond it is the cost of being a database, and the number to watch.
//!
//! ```text
//! compare     all contenders, workload by workload -> report, goals, chart
//! scale       tables of several sizes
//! latency     how long clients wait, by a schedule that does not wait for the server
//! change_log  what streams, recovery, triggers and time to live cost
//! hostile     what a well-behaved client notices of hostile ones
//! access      what verified signatures and policies cost
//! agreement   what `lodestone simulate` says, compared with what a server does
//!
//! contender   what is measured, and how each is started; server is one of their processes
//! peer        the contenders that are not ours
//! data        the items; table creates their table
//! workload    the requests, prepared as bytes so that the generator costs little; what a correct reply is
//! load        closed loop: each connection sends its next request after the last reply
//! schedule    open loop: requests are due whatever the server does
//! connection  the minimum of a client; protocol: what it speaks
//! process     other processes, as `/proc` shows them
//! ```
//!
//! Generator and server share the machine: compare the rows of one run, not runs of two machines.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a report on the terminal is what it is for")]

pub mod access;
pub mod agreement;
pub mod bare;
pub mod change_log;
pub mod chart;
pub mod closed_loop;
pub mod compare;
pub mod connection;
pub mod contender;
pub mod data;
pub mod goals;
pub mod hostile;
pub mod latency;
pub mod load;
pub mod measurement;
pub mod peer;
pub mod place;
pub mod process;
pub mod progress;
pub mod protocol;
pub mod report;
pub mod request;
pub mod scale;
pub mod schedule;
pub mod server;
pub mod table;
pub mod workload;

/// What to measure; without a command, all contenders are compared.
#[derive(clap::Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(flatten)]
    pub compare: compare::CompareOptions,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(clap::Subcommand, Clone, Debug)]
pub enum Command {
    Scale(scale::ScaleOptions),
    Latency(latency::LatencyOptions),
    Hostile(hostile::HostileOptions),
    ChangeLog(change_log::ChangeLogOptions),
    Access(access::AccessOptions),
    Agreement(agreement::AgreementOptions),
    /// Send requests to servers that run, and print their rate
    #[command(hide = true)]
    ClosedLoop(closed_loop::ClosedLoopOptions),
    /// Serve recorded replies
    #[command(hide = true)]
    Bare {
        #[arg(long)]
        replies: std::path::PathBuf,
    },
}
