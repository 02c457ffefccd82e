//! `lodestone serve`: the database on one port.

use std::io::Write;
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

use crate::checkpoint::{self, Checkpoints};
use crate::studio_pages::{self, StudioArgument, StudioPages};
use crate::trigger_service::{self, TriggerService};
use crate::{advice, places};

/// Serve DynamoDB on one port.
///
/// Any AWS SDK, CLI or tool works against it: give it the endpoint that the ready line shows, any
/// Region, and any credentials. Each Region has its own tables, and so has each account: an access key of
/// 12 digits is an account, every other key is account 000000000000.
///
/// GET / says whether the database can serve, GET /metrics has figures for Prometheus. SIGTERM and Ctrl-C
/// finish the requests in flight and end the process.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone serve                                 keep data in ./lodestone-data, listen on port 8000
  lodestone serve --in-memory --port 0            throw-away database on a free port
  lodestone serve --data /srv/db --host 0.0.0.0   reachable from other machines and from containers
  lodestone serve --cors https://app.example      let the scripts of a web page use it
  lodestone serve --postgres postgres://me@db/app keep data in PostgreSQL

Then, in another terminal:
  export AWS_ENDPOINT_URL=http://127.0.0.1:8000 AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=x AWS_SECRET_ACCESS_KEY=x
  aws dynamodb list-tables")]
pub struct Serve {
    /// The folder that holds the data; made if it isn't there
    #[arg(long, value_name = "DIR", default_value = "lodestone-data", conflicts_with = "in_memory", help_heading = STORAGE)]
    data: PathBuf,

    /// Keep everything in memory, and lose it when the process ends
    #[arg(long, help_heading = STORAGE)]
    in_memory: bool,

    /// Keep the data in PostgreSQL, e.g. postgres://user@host/database
    #[arg(long, value_name = "URL", conflicts_with_all = ["in_memory", "data", "durability"], help_heading = STORAGE)]
    postgres: Option<String>,

    /// What an acknowledged write survives: `fsync` power loss, `os` the end of this process
    #[arg(long, value_enum, default_value_t = DurabilityArgument::Fsync, help_heading = STORAGE)]
    durability: DurabilityArgument,

    /// How much of what was read from the data folder is kept in memory, in MiB
    #[arg(long, value_name = "MIB", default_value_t = lodestone::CACHE_BYTES >> 20,
          value_parser = clap::value_parser!(u64).range(1..=1 << 20), conflicts_with_all = ["in_memory", "postgres"],
          help_heading = STORAGE)]
    cache: u64,

    /// Where CreateBackup keeps its files: a folder, or an S3-compatible endpoint with a bucket, e.g.
    /// http://127.0.0.1:9000/bucket [default: `backups` in the data folder]
    #[arg(long, value_name = "PLACE", help_heading = STORAGE)]
    backups: Option<String>,

    /// What s3://bucket/… means in exports and imports: a folder that has the buckets as sub-folders, or an
    /// S3-compatible endpoint
    #[arg(long, value_name = "PLACE", help_heading = STORAGE)]
    s3: Option<String>,

    /// A function that event source mappings can name: NAME=URL (as Lambda's runtime emulator or
    /// `sam local start-lambda` serves it), or NAME=COMMAND (the event on its standard input, the answer on its
    /// standard output). May be given several times
    #[arg(long, value_name = "NAME=URL|COMMAND", value_parser = function, help_heading = TRIGGERS)]
    function: Vec<String>,

    /// The address to listen on; 0.0.0.0 for all of this machine's
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", help_heading = NETWORK)]
    host: String,

    /// The port to listen on; 0 picks a free one and prints it
    #[arg(long, default_value_t = 8000, help_heading = NETWORK)]
    port: u16,

    /// A further name that clients call this machine by, e.g. host.docker.internal; `*` for any
    ///
    /// While only this machine can connect, a request must name it: localhost, a loopback address, its own
    /// host name, or a name given here. This keeps out web pages that point their own name to this machine.
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = host_name, help_heading = NETWORK)]
    allow_host: Vec<String>,

    /// A web page whose scripts may read and change every table, e.g. https://app.example; `*` for any
    ///
    /// Pages of this machine (http://localhost:3000, say) always may. No other page may unless it is named.
    #[arg(long, value_name = "ORIGIN", value_delimiter = ',', value_parser = origin, help_heading = NETWORK)]
    cors: Vec<String>,

    /// How long tables stay CREATING, UPDATING and DELETING, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0, help_heading = LIKE_AWS)]
    state_delay: u64,

    /// Serve requests beyond what a table or index has provisioned, instead of refusing them
    #[arg(long, help_heading = LIKE_AWS)]
    no_throttling: bool,

    /// How long an expired item stays before it is deleted, in seconds; at AWS it may be days
    #[arg(long, value_name = "SECONDS", default_value_t = 0, help_heading = LIKE_AWS)]
    ttl_delay: u64,

    /// How many shards a new stream has; the shards of existing streams are divided until there are as many
    #[arg(long, value_name = "COUNT", default_value_t = Options::default().stream_shards,
          value_parser = clap::value_parser!(u16).range(1..=256), help_heading = LIKE_AWS)]
    stream_shards: u16,

    /// How much room change records (of streams and point-in-time recovery) may take, in MiB; beyond it, writes that
    /// would be recorded are refused [default: no limit]
    #[arg(long, value_name = "MIB", help_heading = STORAGE)]
    change_log_max: Option<u64>,

    /// The studio, at /studio/: reading and writing, reading alone, or none. Where other machines can reach the
    /// server it is off unless it is asked for, and then needs the token that the ready line shows
    #[arg(long, value_enum, value_name = "MODE", help_heading = STUDIO)]
    studio: Option<StudioArgument>,

    /// The folder of the studio's model files; made when the first is saved
    #[arg(long, value_name = "DIR", default_value = "lodestone-models", help_heading = STUDIO)]
    models: PathBuf,
}

const STORAGE: &str = "Where the data is kept";
const TRIGGERS: &str = "Functions that get the changes of tables";
const NETWORK: &str = "Who can connect";
const STUDIO: &str = "The studio";
const LIKE_AWS: &str = "How much it behaves like AWS";

#[derive(Clone, Copy, ValueEnum)]
enum DurabilityArgument {
    Fsync,
    Os,
}

impl Serve {
    pub fn run(self) -> Result<(), String> {
        tracing_subscriber::registry()
            .with(tracing_subscriber::fmt::layer().with_writer(std::io::stderr))
            .with(log_filter())
            .init();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("can't start the runtime: {error}"))?;
        runtime.block_on(self.serve())
    }

    async fn serve(self) -> Result<(), String> {
        store_lsm::raise_descriptor_limit();
        // The port first: that it is taken is found out before the folder is touched.
        let listener = self.listen().await?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let database = self.open(address).await?;
        let triggers = trigger_service::open(database.engine(), self.trigger_options()).await?;
        let studio = self.studio(&database, address);
        let studio_address = studio.as_ref().map(|studio| studio.address(address));
        let checkpoints = Checkpoints::new(database.clone(), self.checkpoint_obstacle());
        let server_options = self.server_options(studio, &triggers, checkpoints);
        let server = Server::on(listener, database.engine(), server_options);
        let server = server.map_err(|error| format!("can't listen on {address}: {error}"))?;
        // Before the ready line: a script that reads it may stop the process at once.
        let stop = stop_signal().map_err(|error| format!("can't listen for signals: {error}"))?;
        announce(address, &self.storage_name(), studio_address.as_deref());
        server.run(stop).await;
        triggers.close().await;
        database.close().await.map_err(|error| format!("can't close the database cleanly: {error}"))
    }

    async fn listen(&self) -> Result<tokio::net::TcpListener, String> {
        let (host, port) = (self.host.as_str(), self.port);
        let listener = tokio::net::TcpListener::bind((host, port)).await;
        listener.map_err(|error| advice::about_listening(host, port, &error))
    }

    fn server_options(
        &self,
        studio: Option<StudioPages>,
        triggers: &Arc<TriggerService>,
        checkpoints: Checkpoints,
    ) -> server::Options {
        let hosts = self.allow_host.iter().cloned().chain(own_host_name());
        let mut limits = server::Limits::default();
        // The store's share of file descriptors is not for connections.
        limits.connections_max = limits.connections_max.min(store_lsm::connections_max());
        server::Options {
            limits,
            access: server::Access { hosts: hosts.collect(), origins: self.cors.clone() },
            request_id_seed: getrandom::u64().unwrap_or(1),
            pages: studio.map(|studio| Arc::new(studio) as Arc<dyn server::Pages>),
            rest_services: vec![triggers.clone()],
            administration: Some(Arc::new(checkpoints)),
        }
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
        let store = storage
            .open(Some(format!("http://{}", endpoint(address))))
            .await
            .map_err(|error| advice::about_opening(&error))?;
        let data = (!self.in_memory).then_some(self.data.as_path());
        let options = Options {
            state_delay: Duration::from_millis(self.state_delay),
            endpoint: Some(endpoint(address)),
            throttling: !self.no_throttling,
            expiry_delay: Duration::from_secs(self.ttl_delay),
            stream_shards: self.stream_shards,
            change_log_bytes_max: self.change_log_max.map(|mib| mib << 20),
            backups: Some(places::backups(self.backups.as_deref(), data).await?),
            s3: places::buckets(self.s3.as_deref())?,
            ..Options::default()
        };
        let database = Database::on(store, options).await;
        database.map(Arc::new).map_err(|error| advice::about_opening(&error))
    }

    fn trigger_options(&self) -> triggers::Options {
        let folder = self.s3.as_ref().filter(|place| !place.contains("://"));
        let destinations = folder.map(triggers::Destinations::in_folder);
        triggers::Options {
            functions: triggers::Functions::new(
                self.function.iter().filter_map(|text| triggers::Function::parse(text).ok()),
            ),
            destinations: destinations.unwrap_or_default(),
            ..triggers::Options::default()
        }
    }

    /// None if it is off.
    fn studio(&self, database: &Database, address: SocketAddr) -> Option<StudioPages> {
        let mode = studio_pages::mode(self.studio, address)?;
        let options = studio::Options {
            read_only: mode == StudioArgument::ReadOnly,
            token: (!address.ip().is_loopback()).then(studio_pages::token),
            hosts: vec![self.host.clone(), address.ip().to_string()],
            storage: self.storage_name(),
            models: (!self.in_memory).then(|| self.models.clone()),
        };
        Some(StudioPages::new(database.engine(), options))
    }

    /// Why there is no folder to copy, if there is none.
    fn checkpoint_obstacle(&self) -> Option<&'static str> {
        match (&self.postgres, self.in_memory) {
            (Some(_), _) => Some(checkpoint::IN_POSTGRES),
            (None, true) => Some(checkpoint::IN_MEMORY),
            (None, false) => None,
        }
    }

    fn storage_name(&self) -> String {
        match (&self.postgres, self.in_memory) {
            (Some(_), _) => "data in PostgreSQL".into(),
            (None, true) => "data in memory".into(),
            (None, false) => format!("data in {}", self.data.display()),
        }
    }
}

/// What this machine calls itself.
fn own_host_name() -> Option<String> {
    let name = rustix::system::uname();
    name.nodename().to_str().ok().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// A function, checked; it is made when the server starts.
fn function(text: &str) -> Result<String, triggers::FunctionError> {
    triggers::Function::parse(text).map(|_| text.to_owned())
}

/// A host name as `Host` names it, without scheme and port.
fn host_name(text: &str) -> Result<String, String> {
    let is_name = !text.is_empty() && !text.contains(['/', '@', ' ']);
    let has_port = !text.ends_with(']') && text.contains(':');
    match is_name && !has_port {
        true => Ok(text.to_owned()),
        false => Err("a host name has no scheme, port or path: host.docker.internal".to_owned()),
    }
}

/// An origin as `Origin` names it: scheme, host and port, nothing more.
fn origin(text: &str) -> Result<String, String> {
    let bare = text.trim_end_matches('/');
    let has_host = bare.split_once("://").is_some_and(|(scheme, host)| {
        !scheme.is_empty() && !host.is_empty() && !host.contains(['/', '@', '?', '#', ' '])
    });
    match has_host || text == "*" || text == "null" {
        true => Ok(bare.to_owned()),
        false => Err("an origin is scheme, host and port: https://app.example:8443".to_owned()),
    }
}

/// Warnings and errors. The storage engine's own account of compactions is left out: it logs an error for
/// one that is given up because the server stops, and our store reports those that fail.
fn log_filter() -> Targets {
    Targets::new().with_default(LevelFilter::WARN).with_target("lsm_tree::compaction", LevelFilter::OFF)
}

/// Where clients on this machine reach the server, also if it listens on every address.
fn endpoint(address: SocketAddr) -> String {
    if address.ip().is_unspecified() { format!("localhost:{}", address.port()) } else { address.to_string() }
}

/// Says that the server is ready, in one write: a program that waits for the first line may close its end of the
/// pipe at once. The server runs on if there is nobody to read it.
fn announce(address: SocketAddr, storage: &str, studio: Option<&str>) {
    let mut text = format!(
        "lodestone is ready at http://{address} ({storage}). Try: aws dynamodb list-tables --endpoint-url http://{address}\n"
    );
    if let Some(studio) = studio {
        text.push_str(&format!("Its studio is at {studio}\n"));
    }
    let mut output = std::io::stdout().lock();
    if let Err(error) = output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        tracing::warn!(%error, "the ready line could not be printed");
    }
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
    fn the_log_has_warnings_but_not_that_a_stop_gave_up_a_compaction() {
        use tracing::Level;

        let filter = log_filter();
        assert!(filter.would_enable("store_lsm::compaction", &Level::ERROR));
        assert!(filter.would_enable("lsm_tree::tree", &Level::WARN));
        assert!(!filter.would_enable("lsm_tree::compaction::worker", &Level::ERROR));
        assert!(!filter.would_enable("engine", &Level::INFO));
    }

    #[test]
    fn a_host_name_is_bare_and_an_origin_has_a_scheme() {
        for name in ["dynamodb", "host.docker.internal", "*", "10.0.0.1", "[::2]"] {
            assert_eq!(host_name(name).as_deref(), Ok(name));
        }
        for other in ["", "http://dynamodb", "dynamodb:8000", "a/b", "a b"] {
            assert!(host_name(other).is_err(), "{other}");
        }
        for (text, expected) in [
            ("https://app.example", "https://app.example"),
            ("http://app.example:81/", "http://app.example:81"),
            ("*", "*"),
            ("null", "null"),
        ] {
            assert_eq!(origin(text).as_deref(), Ok(expected));
        }
        for other in ["", "app.example", "https://", "https://app.example/path", "https://a@b"] {
            assert!(origin(other).is_err(), "{other}");
        }
    }
}
