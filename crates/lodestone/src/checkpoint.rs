//! `lodestone checkpoint`: an instant physical copy of all tables of a data folder.
//!
//! A running server takes it itself: the command asks for it at `POST /lodestone/checkpoint` with
//! `{"folder": "/absolute/path"}`, which only programs on the server's machine may do.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use client::Address;
use http::{Response, StatusCode};
use lodestone::{Database, OpenError};
use serde_json::{Value, json};
use server::{Administration, PageAnswer, Watched};
use store::Store;
use store_lsm::LsmStore;
use studio::Watch;
use tokio::sync::Notify;

use crate::{advice, capacity, fault, heat, region, requests};

const PATH: &str = "/lodestone/checkpoint";
/// Where `lodestone migrate` asks a server to end and let go of its folder.
pub const HAND_OVER: &str = "/lodestone/hand-over";
/// Files that can't be shared are copied, and that may take a while.
const TIMEOUT: Duration = Duration::from_secs(3600);

/// Copy a whole data folder at once, also while a server uses it.
///
/// The copy is a data folder like any other and holds every write that was acknowledged before. On the same file
/// system it shares files that never change, so it takes a moment and hardly any room; to another one they are
/// copied. A copy that shares files with the original does not protect from a broken disk: copy it on. Backups that
/// lie in the data folder are files of their own and are not copied.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone checkpoint --to /srv/copy --endpoint-url http://127.0.0.1:8000   of the folder that a server uses
  lodestone checkpoint --to /srv/copy --data /srv/db                         of a folder that is not in use
  lodestone verify --data /srv/copy                                          check the copy")]
pub struct Checkpoint {
    /// Where the copy goes: a folder that is empty or not there yet
    #[arg(long, value_name = "DIR")]
    to: PathBuf,

    /// The server that uses the data folder; it must run on this machine
    #[arg(long, alias = "endpoint", value_name = "URL", conflicts_with = "data")]
    endpoint_url: Option<String>,

    /// The folder that holds the data, if no server uses it
    #[arg(long, value_name = "DIR", default_value = "lodestone-data")]
    data: PathBuf,
}

impl Checkpoint {
    #[expect(clippy::print_stdout, reason = "where the copy is, is what the command is there to say")]
    pub fn run(self) -> Result<(), String> {
        let to = std::path::absolute(&self.to).map_err(|error| error.to_string())?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("can't start the runtime: {error}"))?;
        match &self.endpoint_url {
            Some(url) => runtime.block_on(ask_server(url, &to))?,
            None => runtime.block_on(copy_folder(&self.data, &to))?,
        }
        println!("the copy is in {}. To use it: lodestone serve --data {}", to.display(), to.display());
        Ok(())
    }
}

pub async fn ask_server(url: &str, to: &Path) -> Result<(), String> {
    let folder = to.to_str().ok_or("the name of the folder is no text")?;
    administer(url, PATH, &json!({"folder": folder}), TIMEOUT).await.map(drop)
}

/// What a server on this machine answers to a request of its operator.
pub async fn administer(url: &str, path: &str, body: &Value, timeout: Duration) -> Result<Value, String> {
    let address: Address = url.parse().map_err(|error: client::AddressError| error.to_string())?;
    let (status, answer) = client::post(&address, path, body.to_string().into_bytes(), timeout).await?;
    let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
    let message = answer["message"].as_str().or_else(|| answer["Message"].as_str());
    match (status, message) {
        (200, _) => Ok(answer),
        (_, Some(message)) => Err(message.to_owned()),
        (404, None) => Err(format!("{address} does not know {path}; is a Lodestone of this version there?")),
        (_, None) => Err(format!("{address} answers with status {status}")),
    }
}

async fn copy_folder(data: &Path, to: &Path) -> Result<(), String> {
    let explain = |error| advice::about_opening(&OpenError::Folder(error));
    if !data.join("store").is_dir() {
        return Err(explain(store_lsm::OpenError::Missing { folder: data.to_owned() }));
    }
    let store = LsmStore::open(data, store_lsm::Options::default()).map_err(|error| match &error {
        store_lsm::OpenError::Taken { .. } => {
            format!("{error}. Ask that server for the checkpoint, with --endpoint-url.")
        }
        _ => explain(error),
    })?;
    let copied = store.checkpoint(to).await.map_err(|error| refusal(&error));
    let closed = store.close().await.map_err(|error| error.to_string());
    copied.and(closed)
}

fn refusal(error: &std::io::Error) -> String {
    format!("no checkpoint was taken: {error}")
}

/// Takes the checkpoints that a running server is asked for, and hands its folder over to `lodestone migrate`.
pub struct Checkpoints {
    database: Arc<Database>,
    /// Notified when the folder is to be let go.
    handed_over: Arc<Notify>,
    /// Why the data can't be copied as a folder, if it is not in one.
    obstacle: Option<&'static str>,
    /// Counts the requests of clients while learning is on.
    watch: Arc<Watch>,
}

/// What to do instead.
pub const IN_MEMORY: &str = "This server keeps its data in memory: there is no folder to copy. Start it with \
    `lodestone serve --data DIR` to have one.";
pub const IN_POSTGRES: &str = "This server keeps its data in PostgreSQL: there is no folder to copy. Use \
    PostgreSQL's own tools, such as pg_dump.";

impl Checkpoints {
    pub fn new(database: Arc<Database>, obstacle: Option<&'static str>, watch: Arc<Watch>) -> Checkpoints {
        Checkpoints { database, handed_over: Arc::default(), obstacle, watch }
    }

    /// Notified when the server is to end, because `lodestone migrate` goes on with its folder.
    pub fn handed_over(&self) -> Arc<Notify> {
        self.handed_over.clone()
    }

    async fn hand_over(&self, body: &[u8]) -> Result<Value, String> {
        if let Some(obstacle) = self.obstacle {
            return Err(obstacle.to_owned());
        }
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let to = body["to"].as_str().filter(|to| !to.is_empty());
        let to = to.ok_or(r#"Say where the data goes: {"to": "postgresql://db/app"}"#)?;
        self.database.engine().begin_moving(to).await.map_err(|error| error.to_string())?;
        tracing::warn!("the data is moved to {to}: this server ends");
        self.handed_over.notify_one();
        Ok(json!({}))
    }

    async fn take(&self, body: &[u8]) -> Result<Value, String> {
        if let Some(obstacle) = self.obstacle {
            return Err(obstacle.to_owned());
        }
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let folder = body["folder"].as_str().map(Path::new).filter(|folder| folder.is_absolute());
        let folder =
            folder.ok_or(r#"Say where the copy goes, as an absolute path: {"folder": "/srv/copy"}"#)?;
        self.database.checkpoint(folder).await.map_err(|error| refusal(&error))?;
        Ok(json!({"folder": folder}))
    }
}

impl std::fmt::Debug for Checkpoints {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Checkpoints")
    }
}

impl Administration for Checkpoints {
    fn checkpoint(&self, body: Bytes) -> PageAnswer<'_> {
        Box::pin(async move { response(self.take(&body).await) })
    }

    fn hand_over(&self, body: Bytes) -> PageAnswer<'_> {
        Box::pin(async move { response(self.hand_over(&body).await) })
    }

    fn capacity(&self, body: Bytes) -> PageAnswer<'_> {
        Box::pin(async move { response(capacity::report(&self.database.engine(), &body).await) })
    }

    fn faults(&self, body: Bytes) -> PageAnswer<'_> {
        Box::pin(async move { response(fault::answer(&self.database.engine(), &body)) })
    }

    fn heat(&self, body: Bytes) -> PageAnswer<'_> {
        Box::pin(async move { response(heat::report(&self.database.engine(), &body).await) })
    }

    fn regions(&self, body: Bytes) -> PageAnswer<'_> {
        Box::pin(async move { response(region::answer(&self.database.engine(), &body).await) })
    }

    fn requests(&self, body: Bytes) -> PageAnswer<'_> {
        Box::pin(async move { response(requests::answer(&self.watch, &body)) })
    }

    fn is_watching(&self) -> bool {
        self.watch.is_watching()
    }

    fn watch(&self, watched: &Watched<'_>) {
        let Watched { account, region, operation, body, answer } = *watched;
        self.watch.note((account, region), operation, body, answer);
    }
}

fn response(answer: Result<Value, String>) -> Response<Bytes> {
    let (status, answer) = match answer {
        Ok(answer) => (StatusCode::OK, answer),
        Err(message) => (StatusCode::BAD_REQUEST, json!({"message": message})),
    };
    let mut response = Response::new(Bytes::from(answer.to_string()));
    *response.status_mut() = status;
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    response
}
