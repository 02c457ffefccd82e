//! `lodestone serve`: the database on one port.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use lodestone::{Database, Durability, Options, Storage};
use server::Server;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::advice;

/// Serve DynamoDB on one port.
///
/// Any AWS SDK, CLI or tool works against it: give it the endpoint that the ready line shows, any
/// Region, and any credentials. An access key of 12 digits chooses the account.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone serve                                keep data in ./lodestone-data, listen on port 8000
  lodestone serve --in-memory --port 0           throw-away database on a free port
  lodestone serve --data /srv/db --host 0.0.0.0  reachable from other machines")]
pub struct Serve {
    /// The folder that holds the data; made if it isn't there
    #[arg(long, value_name = "DIR", default_value = "lodestone-data", conflicts_with = "in_memory")]
    data: PathBuf,

    /// Keep everything in memory, and lose it when the process ends
    #[arg(long)]
    in_memory: bool,

    /// Keep the data in PostgreSQL, e.g. postgres://user@host/database
    #[arg(long, value_name = "URL", conflicts_with_all = ["in_memory", "data", "durability"])]
    postgres: Option<String>,

    /// The address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    host: String,

    /// The port to listen on; 0 picks a free one and prints it
    #[arg(long, default_value_t = 8000)]
    port: u16,

    /// What an acknowledged write survives: `fsync` power loss, `os` the end of this process
    #[arg(long, value_enum, default_value_t = DurabilityArgument::Fsync)]
    durability: DurabilityArgument,

    /// How much of what was read from the data folder is kept in memory, in MiB
    #[arg(long, value_name = "MIB", default_value_t = lodestone::CACHE_BYTES >> 20,
          value_parser = clap::value_parser!(u64).range(1..=1 << 20), conflicts_with_all = ["in_memory", "postgres"])]
    cache: u64,

    /// How long tables stay CREATING, UPDATING and DELETING, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0)]
    state_delay: u64,

    /// Serve requests beyond what a table or index has provisioned, instead of refusing them
    #[arg(long)]
    no_throttling: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum DurabilityArgument {
    Fsync,
    Os,
}

impl Serve {
    pub fn run(self) -> Result<(), String> {
        tracing_subscriber::registry()
            .with(tracing_subscriber::fmt::layer().with_writer(std::io::stderr))
            .with(told())
            .init();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("can't start the runtime: {error}"))?;
        runtime.block_on(self.serve())
    }

    async fn serve(self) -> Result<(), String> {
        // The port first: a port that is taken is found out before the folder is touched.
        let listener = self.listen().await?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let database = self.open(address).await?;
        let options =
            server::Options { request_id_seed: getrandom::u64().unwrap_or(1), ..server::Options::default() };
        let server = Server::on(listener, database.engine(), options);
        // Before anybody is told that it is ready, so that whoever is told may stop it at once.
        let stop = stop_signal().map_err(|error| format!("can't listen for signals: {error}"))?;
        announce(address, &self.storage());
        server.run(stop).await;
        database.close().await.map_err(|error| format!("can't close the database cleanly: {error}"))
    }

    async fn listen(&self) -> Result<tokio::net::TcpListener, String> {
        let address = (self.host.as_str(), self.port);
        tokio::net::TcpListener::bind(address).await.map_err(|error| match error.kind() {
            std::io::ErrorKind::AddrInUse => format!(
                "port {} on {} is taken by another process. Choose another with --port, or --port 0 for a free one.",
                self.port, self.host
            ),
            _ => format!("can't listen on {}:{}: {error}", self.host, self.port),
        })
    }

    async fn open(&self, address: SocketAddr) -> Result<Arc<Database>, String> {
        let storage = if let Some(url) = &self.postgres {
            Storage::Postgres { url }
        } else if self.in_memory {
            Storage::Memory
        } else {
            let durability = match self.durability {
                DurabilityArgument::Fsync => Durability::Fsync,
                DurabilityArgument::Os => Durability::Os,
            };
            Storage::Folder { path: &self.data, durability, cache_bytes: self.cache << 20 }
        };
        let options = Options {
            state_delay: Duration::from_millis(self.state_delay),
            endpoint: Some(endpoint(address)),
            throttling: !self.no_throttling,
            ..Options::default()
        };
        let database = Database::open_with(storage, options).await;
        database.map(Arc::new).map_err(|error| advice::explain(&error))
    }

    fn storage(&self) -> String {
        match (&self.postgres, self.in_memory) {
            (Some(_), _) => "data in PostgreSQL".into(),
            (None, true) => "data in memory".into(),
            (None, false) => format!("data in {}", self.data.display()),
        }
    }
}

/// What the log tells: warnings and errors. What the engine says about merges is left out: it calls it an error when
/// one is given up because the server is stopped, and of those that fail our store tells what that means.
fn told() -> Targets {
    Targets::new().with_default(LevelFilter::WARN).with_target("lsm_tree::compaction", LevelFilter::OFF)
}

/// Where clients on this machine reach the server, also if it listens on every address.
fn endpoint(address: SocketAddr) -> String {
    if address.ip().is_unspecified() { format!("localhost:{}", address.port()) } else { address.to_string() }
}

#[expect(clippy::print_stdout, reason = "the ready line is what the command is there to say")]
fn announce(address: SocketAddr, storage: &str) {
    println!(
        "lodestone is ready at http://{address} ({storage}). Try: aws dynamodb list-tables --endpoint-url http://{address}"
    );
}

/// Ends when the process is asked to stop.
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_tells_warnings_but_not_that_a_stop_gave_up_a_merge() {
        use tracing::Level;

        let told = told();
        assert!(told.would_enable("store_fjall::compaction", &Level::ERROR));
        assert!(told.would_enable("lsm_tree::tree", &Level::WARN));
        assert!(!told.would_enable("lsm_tree::compaction::worker", &Level::ERROR));
        assert!(!told.would_enable("engine", &Level::INFO));
    }
}
