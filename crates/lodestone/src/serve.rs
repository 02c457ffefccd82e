//! `lodestone serve`: the database on one port.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use futures_util::future::BoxFuture;
use lodestone::{Database, Durability, Enforcement, FoundationDb, Options, Storage};
use server::{NeighbourService, Server};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::administration::{self, Administrator};
use crate::audit::AuditArguments;
use crate::autoscaling_service::{self, AutoScalingService};
use crate::bounds::BoundArguments;
use crate::certificate::{Certificate, TlsArguments};
use crate::cloudwatch_service::{self, CloudWatchService};
use crate::configuration::ConfigurationArguments;
use crate::dax_service::{Dax, DaxArguments, DaxClusters};
use crate::dynamodb_local::{LocalArguments, StartingLines};
use crate::guard_service::GuardArguments;
use crate::kinesis::KinesisArguments;
use crate::memory::MemoryShares;
use crate::neighbour::Neighbour;
use crate::parent::ParentArguments;
use crate::peer::{PeerArguments, ReplicationService};
use crate::studio_outside;
use crate::studio_pages::{self, ServedPages, StudioArgument, StudioPages};
use crate::trigger_service::{self, TriggerService};
use crate::{access_file, advice, environment_now, fault, operator_token, places, region};

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
  lodestone serve --host 0.0.0.0 --open-to-anyone reachable from other machines and from containers
  lodestone serve --tls-self-signed               encrypted, with a certificate made for trying
  lodestone serve --cors https://app.example      let the scripts of a web page use it
  lodestone serve --postgres postgres://me@db/app keep data in PostgreSQL
  lodestone serve --foundationdb fdb.cluster      keep data in FoundationDB, in a build that has it
  lodestone serve --access access.yaml            verify signatures and enforce policies
  lodestone serve --in-memory --guard model.yaml  for tests: refuse requests that the model does not know
  lodestone serve --region us-east-1 --peer eu-west-1=https://eu.example:8000   global tables with another server

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
    ///
    /// A cluster is named by all its hosts: postgres://user@one,two,three/database?target_session_attrs=read-write.
    /// TLS is asked for as usual: ?sslmode=verify-full&sslrootcert=/path/to/root.pem.
    #[arg(long, value_name = "URL", conflicts_with_all = ["in_memory", "data", "durability"], help_heading = STORAGE)]
    postgres: Option<String>,

    /// What answers there: postgres, citus, yugabyte or cockroach [default: found out by asking]
    #[arg(long, value_name = "ENGINE", requires = "postgres", help_heading = STORAGE)]
    postgres_engine: Option<store_postgres::Engine>,

    /// Keep the data in a FoundationDB cluster, by the file that names the cluster
    #[arg(long, value_name = "CLUSTER_FILE", conflicts_with_all = ["in_memory", "data", "durability", "postgres"], help_heading = STORAGE)]
    foundationdb: Option<PathBuf>,

    /// The name of the database in the FoundationDB cluster: several can share one [default: lodestone]
    #[arg(long, value_name = "NAME", requires = "foundationdb", help_heading = STORAGE)]
    prefix: Option<String>,

    /// What an acknowledged write survives: `fsync` power loss, `os` the end of this process
    #[arg(long, value_enum, default_value_t = DurabilityArgument::Fsync, help_heading = STORAGE)]
    durability: DurabilityArgument,

    /// How much of what was read from the data folder is kept in memory, in MiB [default: 64, or an eighth of less than
    /// 512 MiB]
    #[arg(long, value_name = "MIB",
          value_parser = clap::value_parser!(u64).range(1..=1 << 20), conflicts_with_all = ["in_memory", "postgres", "foundationdb"],
          help_heading = STORAGE)]
    cache: Option<u64>,

    /// How much memory compressed copies of large vector indexes may take, in MiB; 0 for none: then a search reads all
    /// rows, or all of a partition [default: 256, or an eighth of less than 2 GiB]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(0..=1 << 20),
          help_heading = STORAGE)]
    vector_memory: Option<u64>,

    /// From how many rows on an index, or a partition of it, is copied
    #[arg(long, value_name = "ROWS", default_value_t = 5_000, hide = true)]
    vector_rows_min: usize,

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

    /// The address to listen on; 0.0.0.0 for all of this machine's, with --open-to-anyone
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", help_heading = NETWORK)]
    host: String,

    /// Let every machine that can reach the port read and change every table
    ///
    /// Signatures are not verified, so every client that can connect has all rights. Without this flag, only this machine
    /// can connect.
    #[arg(long, help_heading = NETWORK)]
    open_to_anyone: bool,

    /// The port to listen on; 0 picks a free one and prints it
    #[arg(long, default_value_t = 8000, help_heading = NETWORK)]
    port: u16,

    /// Let in only the users of this file, and do only what their policies allow; see `lodestone access --help`
    ///
    /// Every request must be signed with a key of the file. Without it, any credentials may do anything.
    #[arg(long, value_name = "FILE", help_heading = NETWORK)]
    access: Option<PathBuf>,

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

    #[command(flatten)]
    tls: TlsArguments,

    #[command(flatten)]
    bounds: BoundArguments,

    #[command(flatten)]
    audit: AuditArguments,

    #[command(flatten)]
    dax: DaxArguments,

    #[command(flatten)]
    peers: PeerArguments,

    #[command(flatten)]
    kinesis: KinesisArguments,

    /// How long tables stay CREATING, UPDATING and DELETING, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0, help_heading = LIKE_AWS)]
    state_delay: u64,

    /// Which limits of throughput hold
    #[arg(long, value_enum, value_name = "MODE", default_value_t = CapacityArgument::Shadow, help_heading = LIKE_AWS)]
    capacity: CapacityArgument,

    /// Run capacity, metrics, alarms and auto scaling this many times as fast: at 60, an hour passes in a minute
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000),
          help_heading = LIKE_AWS)]
    time_scale: u32,

    /// Let reads of global indexes lag behind their tables by up to this time, such as 500ms or 2s, as they may at AWS
    ///
    /// A read misses what was written in about the last half of that time. Reads of tables and local indexes see
    /// everything.
    #[arg(long, value_name = "DURATION", value_parser = index_delay, help_heading = LIKE_AWS)]
    index_delay: Option<Duration>,

    /// How long a change waits before it is sent to the other Regions of a global table, such as 800ms or 2s
    #[arg(long, value_name = "DURATION", value_parser = replication_delay, help_heading = LIKE_AWS)]
    replication_delay: Option<Duration>,

    /// How the items of a transaction reach the other Regions of a global table
    #[arg(long, value_enum, value_name = "HOW", default_value_t = TransactionsArgument::OneByOne, help_heading = LIKE_AWS)]
    replicate_transactions: TransactionsArgument,

    /// Start with the link between these two Regions cut, e.g. us-east-1,eu-west-1; see `lodestone region --help`. May be
    /// given several times
    #[arg(long, value_name = "A,B", value_parser = region_pair, help_heading = LIKE_AWS)]
    partition_regions: Vec<(String, String)>,

    /// A file with faults that requests meet from the start; see `lodestone fault --help`
    #[arg(long, value_name = "FILE", help_heading = LIKE_AWS)]
    faults: Option<PathBuf>,

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

    #[command(flatten)]
    guard: GuardArguments,

    #[command(flatten)]
    local: LocalArguments,

    #[command(flatten)]
    parent: ParentArguments,

    #[command(flatten)]
    configuration: ConfigurationArguments,

    /// The studio, at /studio/: reading and writing, reading alone, or none. Where other machines can reach the
    /// server it is off unless it is asked for, and then needs the token that the ready line shows
    #[arg(long, value_enum, value_name = "MODE", help_heading = STUDIO)]
    studio: Option<StudioArgument>,

    /// Let the studio connect to AWS with the profiles of ~/.aws. Where the studio asks for its token it always may;
    /// elsewhere every user of this machine can open it
    #[arg(long, help_heading = STUDIO)]
    studio_profiles: bool,

    /// The folder of the studio's model files; made when the first is saved
    #[arg(long, value_name = "DIR", default_value = "lodestone-models", help_heading = STUDIO)]
    models: PathBuf,
}

const INDEX_DELAY_MIN: Duration = Duration::from_millis(10);
const INDEX_DELAY_MAX: Duration = Duration::from_secs(600);
const REPLICATION_DELAY_MAX: Duration = Duration::from_secs(600);
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

#[derive(Clone, Copy, ValueEnum)]
enum CapacityArgument {
    /// Serve every request, and count what AWS would have throttled
    Shadow,
    /// Refuse what exceeds a table's own provisioned units or on-demand maximum
    Declared,
    /// Refuse all that AWS refuses: hot partitions, on-demand tables that grow too fast, quotas
    Aws,
    /// Count nothing, and refuse nothing
    Off,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TransactionsArgument {
    /// One by one, as at AWS: a reader elsewhere may see some of them
    OneByOne,
    /// Together: those of one table in one transaction there
    Whole,
}

impl From<CapacityArgument> for Enforcement {
    fn from(argument: CapacityArgument) -> Enforcement {
        match argument {
            CapacityArgument::Shadow => Enforcement::Shadow,
            CapacityArgument::Declared => Enforcement::Declared,
            CapacityArgument::Aws => Enforcement::Aws,
            CapacityArgument::Off => Enforcement::Off,
        }
    }
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
        self.check_open_to(address)?;
        let dax_listener = self.dax.listen(&self.host).await?;
        let certificate = self.tls.open(self.certificate_names(address))?;
        let auditing = self.audit.open()?;
        let model_guard = self.guard.open()?;
        let access = self.access.as_ref().map(|path| access_file::load(path)).transpose()?;
        let database = self.open(address).await?;
        if let Some(file) = &self.faults {
            fault::add_file(&database.engine(), file)?;
        }
        for (one, other) in &self.partition_regions {
            database.engine().cut_regions(one, other).await.map_err(|error| error.to_string())?;
        }
        let services = Services::open(&database, self.trigger_options()).await?;
        let requests = Arc::<studio::Watch>::default();
        let url = format!("{}://{address}", self.scheme());
        let administrator = Administrator::new(database.clone(), self.folder_obstacle(), requests.clone());
        let handed_over = administrator.handed_over();
        let verification = access.zip(self.access.clone()).map(|(loaded, path)| server::Verification {
            authority: loaded.into_authority(path),
            now: environment_now,
        });
        let outside = studio_outside::outside(verification.clone(), self.offers_profiles(address));
        let studio = self.studio(&database, address, requests.clone(), outside);
        let studio_address = studio.as_ref().map(|studio| studio.address(&url));
        let operator = match &verification {
            Some(_) => None,
            None => operator_verification(),
        };
        let tls = certificate.as_ref().map(|certificate| certificate.tls.clone());
        let audit = auditing.as_ref().map(|auditing| auditing.audit.clone());
        let bounds = self.bounds.limits();
        let dax = dax_listener.map(|listener| {
            let engine = database.engine();
            self.dax.open(listener, engine, verification.clone(), tls.clone(), audit.clone(), &bounds)
        });
        let dax = dax.transpose()?;
        let cluster = dax.as_ref().map(|dax| dax.cluster);
        let mut server_options = server::Options {
            tls,
            audit,
            model_guard: model_guard.clone().map(|guard| guard as Arc<dyn server::RequestGuard>),
            verification,
            operator,
            ..self.server_options(studio, &services, administrator)
        };
        server_options.region = self.peers.region();
        self.local.set(&mut server_options);
        server_options.neighbours.push(Arc::new(ReplicationService(database.engine())));
        let clusters = DaxClusters { cluster, since: environment_now() };
        server_options.neighbours.push(Arc::new(Neighbour(Arc::new(clusters))));
        server_options.figures = dax.as_ref().map(|dax| dax.figures.clone() as Arc<dyn server::Figures>);
        let server = Server::on(listener, database.engine(), server_options);
        let server = server.map_err(|error| format!("can't listen on {address}: {error}"))?;
        // Before the ready line: a script that reads it may stop the process at once.
        let stop = stop_signal().map_err(|error| format!("can't listen for signals: {error}"))?;
        let parent_ended = self.parent.ended();
        let stop = async move {
            tokio::select! {
                () = stop => {}
                () = parent_ended => {}
                () = handed_over.notified() => {}
            }
        };
        let trust = certificate.as_ref().and_then(Certificate::how_to_trust);
        let dax_address = cluster.map(|cluster| cluster.url());
        self.announce_as_local(address);
        announce(
            &url,
            &self.storage_name(),
            studio_address.as_deref(),
            dax_address.as_deref(),
            trust.as_deref(),
        );
        let engine = database.engine();
        let is_expelled = tokio::select! {
            () = run(server, dax, Box::pin(stop)) => false,
            () = watch(certificate) => false,
            () = engine.expelled() => true,
        };
        if let Some(auditing) = auditing {
            auditing.close().await;
        }
        let reported = model_guard.map_or(Ok(()), |guard| guard.close());
        services.close().await;
        database.close().await.map_err(|error| format!("can't close the database cleanly: {error}"))?;
        match is_expelled {
            false => reported,
            true => {
                Err("the other servers on the database have expelled this one; start it again".to_owned())
            }
        }
    }

    async fn listen(&self) -> Result<tokio::net::TcpListener, String> {
        let (host, port) = (self.host.as_str(), self.port);
        let listener = tokio::net::TcpListener::bind((host, port)).await;
        listener.map_err(|error| advice::about_listening(host, port, &error))
    }

    /// Refuses to serve other machines unless a flag says who may use the server.
    fn check_open_to(&self, address: SocketAddr) -> Result<(), String> {
        match address.ip().is_loopback() || self.access.is_some() || self.open_to_anyone {
            true => Ok(()),
            false => Err(advice::about_open_host(&self.host)),
        }
    }

    fn scheme(&self) -> &'static str {
        if self.tls.is_on() { "https" } else { "http" }
    }

    /// What clients may call this server.
    fn certificate_names(&self, address: SocketAddr) -> Vec<String> {
        let mut names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        if !address.ip().is_unspecified() {
            names.push(address.ip().to_string());
        }
        let further = self.allow_host.iter().filter(|name| *name != "*");
        names.extend(further.map(|name| name.trim_matches(['[', ']']).to_owned()).chain(own_host_name()));
        names.sort_unstable();
        names.dedup();
        names
    }

    fn server_options(
        &self,
        studio: Option<StudioPages>,
        services: &Services,
        administrator: Administrator,
    ) -> server::Options {
        let hosts = self.allow_host.iter().cloned().chain(own_host_name());
        let mut limits = self.bounds.limits();
        // The store's share of file descriptors is not for connections.
        limits.connections_max = limits.connections_max.min(store_lsm::connections_max());
        server::Options {
            limits,
            access: server::Access { hosts: hosts.collect(), origins: self.cors.clone() },
            request_id_seed: getrandom::u64().unwrap_or(1),
            pages: Some(Arc::new(ServedPages(studio))),
            neighbours: services.neighbours(),
            administration: Some(Arc::new(administrator)),
            ..server::Options::default()
        }
    }

    async fn open(&self, address: SocketAddr) -> Result<Arc<Database>, String> {
        let shares = MemoryShares::of_process();
        let storage = if let Some(url) = &self.postgres {
            Storage::Postgres { url, engine: self.postgres_engine }
        } else if let Some(cluster_file) = &self.foundationdb {
            let prefix = self.prefix.as_deref().unwrap_or(FoundationDb::DEFAULT_PREFIX);
            Storage::FoundationDb(FoundationDb { cluster_file, prefix })
        } else if self.in_memory {
            Storage::Memory
        } else {
            let durability = match self.durability {
                DurabilityArgument::Fsync => Durability::Fsync,
                DurabilityArgument::Os => Durability::Os,
            };
            let cache_bytes = self.cache.unwrap_or(shares.cache_mib) << 20;
            let memtable_bytes = shares.memtable_bytes;
            Storage::Folder { path: &self.data, durability, cache_bytes, memtable_bytes }
        };
        let store = storage
            .open(Some(format!("{}://{}", self.scheme(), endpoint(address))))
            .await
            .map_err(|error| advice::about_opening(&error))?;
        let data = (!self.in_memory).then_some(self.data.as_path());
        let options = Options {
            state_delay: Duration::from_millis(self.state_delay),
            endpoint: Some(endpoint(address)),
            capacity: self.capacity.into(),
            time_scale: self.time_scale,
            index_delay: self.index_delay.unwrap_or_default(),
            vector_bytes_max: usize::try_from(self.vector_memory.unwrap_or(shares.vectors_mib) << 20)
                .unwrap_or(usize::MAX),
            vector_rows_min: self.vector_rows_min,
            expiry_delay: Duration::from_secs(self.ttl_delay),
            replication_delay: self.replication_delay.unwrap_or_default(),
            replicates_transactions_whole: self.replicate_transactions == TransactionsArgument::Whole,
            stream_shards: self.stream_shards,
            peers: self.peers.open()?,
            kinesis: self.kinesis.open()?,
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

    /// Without a token, every user of this machine can open the studio: they get the profiles of the server's user only
    /// if that user says so.
    fn offers_profiles(&self, address: SocketAddr) -> bool {
        self.studio_profiles || self.access.is_some() || !address.ip().is_loopback()
    }

    /// None if it is off.
    fn studio(
        &self,
        database: &Database,
        address: SocketAddr,
        watch: Arc<studio::Watch>,
        outside: Arc<dyn studio::Outside>,
    ) -> Option<StudioPages> {
        let mode = studio_pages::mode(self.studio, address)?;
        let options = studio::Options {
            read_only: mode == StudioArgument::ReadOnly,
            // Where requests must be signed, being on the same machine is not enough for the studio either.
            token: (!address.ip().is_loopback() || self.access.is_some()).then(studio_pages::token),
            hosts: [self.host.clone(), address.ip().to_string()]
                .into_iter()
                .chain(self.allow_host.clone())
                .collect(),
            storage: self.storage_name(),
            models: (!self.in_memory).then(|| self.models.clone()),
            outside: Some(outside),
        };
        Some(StudioPages::new(database.engine(), options, watch))
    }

    /// Says what programs wait for that start DynamoDB Local.
    fn announce_as_local(&self, address: SocketAddr) {
        if !self.local.is_like_local() {
            return;
        }
        let lines = StartingLines {
            port: address.port(),
            folder: (!self.in_memory).then_some(&self.data),
            is_shared: self.local.is_shared(),
            is_delayed: self.state_delay > 0,
            cors: &self.cors,
        };
        crate::output::print(&lines.text());
    }

    /// Why there is no folder to copy, if there is none.
    fn folder_obstacle(&self) -> Option<&'static str> {
        match (&self.postgres, &self.foundationdb, self.in_memory) {
            (Some(_), ..) => Some(administration::IN_POSTGRES),
            (None, Some(_), _) => Some(administration::IN_FOUNDATIONDB),
            (None, None, true) => Some(administration::IN_MEMORY),
            (None, None, false) => None,
        }
    }

    fn storage_name(&self) -> String {
        match (&self.postgres, &self.foundationdb, self.in_memory) {
            (Some(_), ..) => "data in PostgreSQL".into(),
            (None, Some(_), _) => "data in FoundationDB".into(),
            (None, None, true) => "data in memory".into(),
            (None, None, false) => format!("data in {}", self.data.display()),
        }
    }
}

/// Serves on both ports until the process is to stop.
async fn run(server: Server<engine::Engine>, dax: Option<Dax>, stop: BoxFuture<'static, ()>) {
    let (stopping, mut stopped) = tokio::sync::watch::channel(());
    let http = server.run_engine(Box::pin(async move {
        stop.await;
        drop(stopping);
    }));
    let cache = async {
        if let Some(dax) = dax {
            // Ends with an error, because nothing is ever sent.
            dax.server.run(Box::pin(async move { while stopped.changed().await.is_ok() {} })).await;
        }
    };
    tokio::join!(http, cache);
}

/// Renews the certificate while the server runs. Never ends.
async fn watch(certificate: Option<Certificate>) {
    match certificate {
        Some(certificate) => certificate.watch().await,
        None => std::future::pending().await,
    }
}

/// Knows the operator by the token. Without one the server serves its clients, and refuses administration.
fn operator_verification() -> Option<server::Verification> {
    let operator = operator_token::verification();
    operator
        .inspect_err(|error| tracing::warn!("{error}. Until then `lodestone heat` and others are refused"))
        .ok()
}

/// The services beside DynamoDB on the same port.
struct Services {
    triggers: Arc<TriggerService>,
    cloudwatch: Arc<CloudWatchService>,
    scaling: Arc<AutoScalingService>,
}

impl Services {
    async fn open(database: &Database, options: triggers::Options) -> Result<Services, String> {
        let triggers = trigger_service::open(database.engine(), options).await?;
        let cloudwatch = cloudwatch_service::open(database.engine()).await?;
        let scaling = autoscaling_service::open(database.engine(), cloudwatch.0.clone()).await?;
        Ok(Services { triggers, cloudwatch, scaling })
    }

    fn neighbours(&self) -> Vec<Arc<dyn NeighbourService>> {
        vec![self.triggers.clone(), self.cloudwatch.clone(), self.scaling.clone()]
    }

    async fn close(&self) {
        self.scaling.0.close().await;
        self.cloudwatch.0.close().await;
        self.triggers.0.close().await;
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

/// How long changes stay in their Region.
fn replication_delay(text: &str) -> Result<Duration, String> {
    let delay = humantime::parse_duration(text).map_err(|_| "a time is like 500ms, 2s or 1m".to_owned())?;
    match delay <= REPLICATION_DELAY_MAX {
        true => Ok(delay),
        false => Err("at most 10m".to_owned()),
    }
}

/// Two Regions, with a comma between them.
fn region_pair(text: &str) -> Result<(String, String), String> {
    let (one, other) = text.split_once(',').unwrap_or((text, ""));
    region::check(one, other).map(|()| (one.to_owned(), other.to_owned()))
}

/// How far indexes lag. The store keeps all that was overwritten in that time.
fn index_delay(text: &str) -> Result<Duration, String> {
    let delay = humantime::parse_duration(text).map_err(|_| "a time is like 500ms, 2s or 1m".to_owned())?;
    match delay >= INDEX_DELAY_MIN && delay <= INDEX_DELAY_MAX {
        true => Ok(delay),
        false => Err("indexes lag by 10ms at least, and by 10m at most".to_owned()),
    }
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
/// pipe at once. The server runs on if the line has no reader.
fn announce(url: &str, storage: &str, studio: Option<&str>, dax: Option<&str>, trust: Option<&str>) {
    let mut text = format!(
        "lodestone is ready at {url} ({storage}). Try: aws dynamodb list-tables --endpoint-url {url}\n"
    );
    text.extend(trust);
    if let Some(studio) = studio {
        text.push_str(&format!("Its studio is at {studio}\n"));
    }
    if let Some(dax) = dax {
        text.push_str(&format!("DAX is at {dax}\n"));
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
