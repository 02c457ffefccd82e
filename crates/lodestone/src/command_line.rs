//! The command line: what the user typed, in the words of DynamoDB Local if need be, together with what a
//! configuration file says.

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{
    access, backup, capacity, checkpoint, completions, configuration, documents, dynamodb_local, export,
    fault, health, heat, import, lsp, mcp, migrate, model, region, repair, replay, restore, serve, stream,
    verify, version,
};

/// A DynamoDB you can run, model and trust.
#[derive(Parser)]
#[command(name = "lodestone", version, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Access(access::Access),
    Backup(backup::Backup),
    Capacity(capacity::Capacity),
    Checkpoint(checkpoint::Checkpoint),
    Completions(completions::Completions),
    Docs(documents::WriteDocuments),
    Export(export::ExportTable),
    Fault(fault::Fault),
    Health(health::CheckHealth),
    Heat(heat::TableHeat),
    Import(import::Import),
    Lsp(lsp::Lsp),
    Man(completions::Man),
    Mcp(mcp::Mcp),
    Migrate(migrate::MigrateStore),
    Model(model::Model),
    Region(region::Region),
    Repair(repair::Repair),
    Replay(replay::Replay),
    Restore(restore::Restore),
    Serve(Box<serve::Serve>),
    Simulate(model::Simulate),
    Stream(stream::Stream),
    Verify(verify::Verify),
    Version(version::ShowVersion),
}

/// What is to be done.
pub enum Wanted {
    Run(Box<Command>),
    /// `serve --print-config`: the text.
    Print(String),
}

impl Arguments {
    /// Ends the process if the user made a mistake in the words or asked for help, as [`Parser::parse`] does.
    pub fn read() -> Result<Wanted, String> {
        let words = dynamodb_local::translated(std::env::args_os().collect())?;
        let words = configuration::with_file(words)?;
        let matches = configuration::overriding(Arguments::command()).get_matches_from(&words);
        if let Some(("serve", serve)) = matches.subcommand()
            && serve.get_flag(configuration::PRINT)
        {
            let mut command = Arguments::command();
            command.build();
            let command = command.find_subcommand("serve").ok_or("there is no command `serve`")?;
            return Ok(Wanted::Print(configuration::printed(command, serve)));
        }
        let arguments = Arguments::from_arg_matches(&matches).map_err(|error| error.to_string())?;
        Ok(Wanted::Run(Box::new(arguments.command)))
    }
}

/// The words of a command line, for messages and tests.
pub type Words = Vec<OsString>;
