//! `lodestone stream`: the change records of a table.

mod show;
mod tail;

use clap::{Args, Subcommand};

/// Look at the change records of a table.
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct Stream {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Tail(tail::Tail),
}

impl Stream {
    pub fn run(self) -> Result<(), String> {
        match self.command {
            Command::Tail(tail) => tail.run(),
        }
    }
}
