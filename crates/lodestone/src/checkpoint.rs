//! `lodestone checkpoint`: an instant physical copy of all tables of a data folder.
//!
//! A running server takes it itself: the command asks for it at `POST /lodestone/checkpoint` with
//! `{"folder": "/absolute/path"}`, which the operator signs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use lodestone::{Database, OpenError};
use serde_json::{Value, json};
use store::Store;
use store_lsm::LsmStore;

use crate::advice;
use crate::endpoint::EndpointArguments;

const PATH: &str = "/lodestone/checkpoint";
/// Files that can't be shared are copied, and that may take a while.
const TIMEOUT: Duration = Duration::from_secs(3600);

/// Copy a whole data folder at once, also while a server uses it.
///
/// The copy is a data folder like any other and holds every write that was acknowledged before. On the same file
/// system it shares files that never change, so it takes a moment and hardly any room; to another one they are
/// copied. A copy that shares files with the original does not protect from a broken disk: copy it on. Backups in
/// the data folder are files of their own and are not copied.
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
    let server = EndpointArguments::at(url);
    server.ask_operator_server(PATH, TIMEOUT, &json!({"folder": folder})).await.map(drop)
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

/// Copies the folder of a running server to where a request says.
pub async fn answer(database: &Database, body: &[u8]) -> Result<Value, String> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let folder = body["folder"].as_str().map(Path::new).filter(|folder| folder.is_absolute());
    let folder = folder.ok_or(r#"Say where the copy goes, as an absolute path: {"folder": "/srv/copy"}"#)?;
    database.checkpoint(folder).await.map_err(|error| refusal(&error))?;
    Ok(json!({"folder": folder}))
}
