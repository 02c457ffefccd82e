//! The contenders, and how each is started.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::peer::Peer;
use crate::protocol::Protocol;
use crate::server::Server;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Contender {
    /// A hyper server that answers recorded replies: the floor
    Bare,
    /// Lodestone on disk, every write synced
    Durable,
    /// Lodestone in memory
    InMemory,
    /// Lodestone on disk, with --capacity off: nothing is counted
    Uncounted,
    /// An earlier build of Lodestone on disk, given with --before
    Before,
    /// dynoxide in memory
    Dynoxide,
    /// dynoxide on disk
    DynoxideOnDisk,
    /// dynalite in memory
    Dynalite,
    /// DynamoDB Local in memory
    DynamodbLocal,
    /// PostgreSQL on disk, every commit synced: the same rows and index, by prepared statements
    Postgres,
    /// Redis on disk, every write synced: strings of JSON and sorted sets
    Redis,
}

impl Contender {
    /// What it is called in tables.
    pub fn title(self) -> &'static str {
        match self {
            Contender::Bare => "bare server",
            Contender::Durable => "durable",
            Contender::InMemory => "in memory",
            Contender::Uncounted => "durable, uncounted",
            Contender::Before => "durable, before",
            Contender::Dynoxide => "dynoxide",
            Contender::DynoxideOnDisk => "dynoxide on disk",
            Contender::Dynalite => "dynalite",
            Contender::DynamodbLocal => "DynamoDB Local",
            Contender::Postgres => "PostgreSQL",
            Contender::Redis => "Redis",
        }
    }

    /// The peer that it belongs to, if it is not ours.
    pub fn peer(self) -> Option<Peer> {
        match self {
            Contender::Bare
            | Contender::Durable
            | Contender::InMemory
            | Contender::Uncounted
            | Contender::Before => None,
            Contender::Dynoxide | Contender::DynoxideOnDisk => Some(Peer::Dynoxide),
            Contender::Dynalite => Some(Peer::Dynalite),
            Contender::DynamodbLocal => Some(Peer::DynamodbLocal),
            Contender::Postgres => Some(Peer::Postgres),
            Contender::Redis => Some(Peer::Redis),
        }
    }

    pub fn protocol(self) -> Protocol {
        match self {
            Contender::Postgres => Protocol::Postgres,
            Contender::Redis => Protocol::Redis,
            _ => Protocol::DynamoDb,
        }
    }

    pub fn is_ours(self) -> bool {
        self.peer().is_none()
    }

    /// Whether it stores what it is sent.
    pub fn stores(self) -> bool {
        self != Contender::Bare
    }
}

/// Where the programs and their files are.
pub struct Places {
    pub lodestone: PathBuf,
    /// The earlier build, if one is measured.
    pub before: Option<PathBuf>,
    /// An empty folder for the contenders' data.
    pub data: PathBuf,
    /// The replies of the bare server.
    pub replies: PathBuf,
    /// Where peers are installed.
    pub peers: Option<PathBuf>,
}

impl Places {
    /// Starts a contender, in a new folder of its own if it needs one.
    pub async fn start(&self, contender: Contender) -> Result<Server> {
        let started = match contender {
            Contender::Bare => {
                let this = std::env::current_exe().context("finding this program")?;
                let bare = ["bare".into(), "--replies".into(), self.replies.clone()];
                Server::start(&this, bare, Stdio::inherit()).await
            }
            Contender::Durable => serve(&self.lodestone, ["--data".into(), self.data.join("durable")]).await,
            Contender::InMemory => serve(&self.lodestone, ["--in-memory".into()]).await,
            Contender::Uncounted => {
                let data = self.data.join("uncounted");
                serve(&self.lodestone, ["--data".into(), data, "--capacity".into(), "off".into()]).await
            }
            Contender::Before => {
                let before = self.before.as_ref().context("--before names the earlier build")?;
                serve(before, ["--data".into(), self.data.join("before")]).await
            }
            Contender::DynoxideOnDisk => {
                self.start_peer(Peer::Dynoxide, Some(&self.data.join("dynoxide"))).await
            }
            Contender::Dynoxide => self.start_peer(Peer::Dynoxide, None).await,
            Contender::Dynalite => self.start_peer(Peer::Dynalite, None).await,
            Contender::DynamodbLocal => self.start_peer(Peer::DynamodbLocal, None).await,
            Contender::Postgres => self.start_peer(Peer::Postgres, Some(&self.data.join("postgres"))).await,
            Contender::Redis => self.start_peer(Peer::Redis, Some(&self.data.join("redis"))).await,
        };
        started.with_context(|| format!("starting {}", contender.title()))
    }

    async fn start_peer(&self, peer: Peer, data: Option<&Path>) -> Result<Server> {
        let folder = self.peers.as_deref().context("peers are installed by `cargo xtask bench`")?;
        peer.start(folder, data).await
    }
}

/// Lodestone on a free port.
pub async fn serve(lodestone: &Path, storage: impl IntoIterator<Item = PathBuf>) -> Result<Server> {
    let port = ["serve", "--host", "127.0.0.1", "--port", "0"].map(PathBuf::from);
    Server::start(lodestone, port.into_iter().chain(storage), Stdio::inherit()).await
}
