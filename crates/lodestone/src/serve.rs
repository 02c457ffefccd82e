//! `lodestone serve`: the database on one port.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use lodestone::{Database, Durability};
use server::Server;

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
}

#[derive(Clone, Copy, ValueEnum)]
enum DurabilityArgument {
    Fsync,
    Os,
}

impl Serve {
    pub fn run(self) -> Result<(), String> {
        tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(tracing::Level::WARN).init();
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
        let database = self.open().await?;
        let options = server::Options { request_id_seed: getrandom::u64().unwrap_or(1), ..server::Options::default() };
        let server = Server::on(listener, database.engine(), options);
        announce(address, &self.storage());
        server.run(stop_signal()).await;
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

    async fn open(&self) -> Result<Arc<Database>, String> {
        let database = if let Some(url) = &self.postgres {
            Database::open_postgres(url).await
        } else if self.in_memory {
            Database::in_memory().await
        } else {
            let durability = match self.durability {
                DurabilityArgument::Fsync => Durability::Fsync,
                DurabilityArgument::Os => Durability::Os,
            };
            Database::open_with(&self.data, durability).await
        };
        database.map(Arc::new).map_err(|error| error.to_string())
    }

    fn storage(&self) -> String {
        match (&self.postgres, self.in_memory) {
            (Some(_), _) => "data in PostgreSQL".into(),
            (None, true) => "data in memory".into(),
            (None, false) => format!("data in {}", self.data.display()),
        }
    }
}

#[expect(clippy::print_stdout, reason = "the ready line is what the command is there to say")]
fn announce(address: SocketAddr, storage: &str) {
    println!(
        "lodestone is ready at http://{address} ({storage}). Try: aws dynamodb list-tables --endpoint-url http://{address}"
    );
}

/// Ends when the process is asked to stop.
async fn stop_signal() {
    let mut terminate = match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(terminate) => terminate,
        Err(_) => return std::future::pending().await,
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}
