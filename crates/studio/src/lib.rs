//! The studio: the database and the workbench to look at, in a browser, from the same binary on the same port.
//!
//! ```text
//! guard     Host, Origin, header, token: which requests are refused
//! page      the files of ui/, built by build.rs and embedded; a plain page where there are none
//! door      /studio/api/…, always POST with JSON
//!   live        call/{Operation}: DynamoDB's operations, through the engine like any client's
//!   builder     request/…: a query from its parts, what it reads, what it costs
//!   change      change: an edit as the write that makes it, with its condition and its price
//!   workbench   model/…: what `lodestone model …` prints
//!   legend      model/plan: tables, entities, key templates and the plan of each pattern
//!   pattern     run: a pattern on the real table, what is expected beside what came
//!   traffic     traffic: what clients asked of which keys lately
//!   learning    learn: what they ask, as the patterns of a model; watch counts it
//!   metrics     metrics: the engine's metrics over a range of time
//!   model_files file/…: model files, in a folder or in memory
//!   sessions    signin: a key of the access file, and the session number that the page sends instead
//!   connections connections/…: other databases, with keys that never leave the server
//! ```
//!
//! Tables and items on screen came through DynamoDB operations; metrics, heat, replication and dry runs are asked of the
//! engine itself. Nothing is written before the page has shown it.
//! The crate knows no sockets: [`Studio::answer`] turns a request into a response, and the server calls it.
//!
//! | question | file |
//! |---|---|
//! | who may ask? | `guard.rs`: Host, Origin, the header, the token; `sessions.rs`: who signed in with a key of the access file |
//! | which database answers? | `live.rs`: this server's, or the one of a connection (`connections.rs`); `outside.rs` is what the process offers for both |
//! | what does the page ask, and who answers? | `door.rs`: the commands below `/studio/api/`, each POST with JSON |
//! | which write does an edit become, on which condition, at what price? | `change.rs`; the price is the engine's, by a dry run of the write |
//! | which request do a key, filters and an order become, and what does it read? | `builder.rs` |
//! | how is a request written in code? | the `model-code` crate, `request.rs`, one language a file in `request/` |
//! | what does a model say about a table? | `legend.rs`; `pattern.rs` runs its patterns on the real table |
//! | how do the pages get into the binary? | `build.rs` and `ui/bundle.mjs`; served by `page.rs` |
//! | what does a screen do? | `ui/src/`: `table/` and `model/` have one file for each tab, the other screens one file each; `table/walk.ts` holds a bounded number of pages of any table |
//! | what did clients do lately? | `traffic.rs`: busiest keys, as an observer of the engine's `usage.rs`, beside the engine's heat; `metrics.rs` has the engine's metrics over a range of time |
//! | what do clients ask, and which model is it? | `watch.rs` counts the shapes of requests, for `lodestone model learn` too; `learning.rs` has the patterns of one table, by `model/learn.rs` |
//! | how do measured heat and forecast get onto the same axes? | `ui/src/table/heat.tsx`: a key that was used has a range of hashes, and the forecast of its form is drawn there |
//! | how is a chart drawn and saved? | `ui/src/chart.tsx`; `Saving` in `parts.tsx` writes SVG, CSV and JSON |

mod builder;
mod change;
mod connections;
mod door;
mod guard;
mod item_json;
mod learning;
mod legend;
mod live;
mod metrics;
mod model_files;
mod outside;
mod page;
mod pattern;
mod reply;
mod sessions;
mod traffic;
mod watch;
mod workbench;

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use engine::Engine;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use tokio::sync::Semaphore;

pub use guard::is_loopback_name;
pub use outside::{AccessKey, Outside, Profile, RemoteKey, SignedIn};
pub use page::{Asset, asset, is_complete};
pub use watch::{MINUTES_MAX, SeenRequests, Watch};

/// The path of the studio. It answers every request at or below it.
pub const PATH: &str = "/studio";
/// Proofs, designs and rehearsals that run at the same time. Each keeps a core busy.
const WORK_MAX: usize = 2;

/// What the studio may do, and what it shows about the server.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Operations that write are refused.
    pub read_only: bool,
    /// The value that the header of every call must have. None if only this machine can reach the server.
    pub token: Option<String>,
    /// Host names that are accepted in addition to those of the loopback address.
    pub hosts: Vec<String>,
    /// Where the data is, for people: `data in ./lodestone-data`.
    pub storage: String,
    /// The folder of model files. Without one they are kept in memory.
    pub models: Option<PathBuf>,
    /// Keys and other databases, if the process has them.
    pub outside: Option<Arc<dyn Outside>>,
}

impl Options {
    /// Whether requests must be signed with a key of an access file.
    fn has_keys(&self) -> bool {
        self.outside.as_ref().is_some_and(|outside| outside.has_keys())
    }
}

/// A command of the workbench, as `check`: what `lodestone model …` prints as JSON, or a `message` that says why there
/// is nothing to print.
pub fn workbench(command: &str, input: &serde_json::Value) -> Result<serde_json::Value, serde_json::Value> {
    workbench::run(command, input).map_err(|fault| fault.body)
}

pub struct Studio {
    engine: Arc<Engine>,
    options: Options,
    files: model_files::ModelFiles,
    work: Arc<Semaphore>,
    traffic: Arc<traffic::Recorder>,
    watch: Arc<Watch>,
    surveyed: learning::LastSurvey,
    sessions: sessions::Sessions,
    connections: connections::Connections,
}

impl Studio {
    /// `watch` is what the server shows its requests to.
    pub fn new(engine: Arc<Engine>, options: Options, watch: Arc<Watch>) -> Studio {
        let files = model_files::ModelFiles::new(options.models.clone());
        let traffic = Arc::<traffic::Recorder>::default();
        engine.usage().observe(traffic.clone());
        let (work, surveyed) = (Arc::new(Semaphore::new(WORK_MAX)), learning::LastSurvey::default());
        let (sessions, connections) = Default::default();
        Studio { engine, options, files, work, traffic, watch, surveyed, sessions, connections }
    }

    /// Whether a path is the studio's.
    pub fn owns(path: &str) -> bool {
        path.strip_prefix(PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The answer to a request whose path [`Studio::owns`].
    pub fn answer(&self, request: Request<Bytes>) -> BoxFuture<'_, Response<Bytes>> {
        Box::pin(async move {
            let (head, body) = request.into_parts();
            if let Err(refusal) = guard::admit(&head, &self.options, &self.sessions) {
                return refusal.response();
            }
            let path = head.uri.path().strip_prefix(PATH).unwrap_or_default();
            match path.strip_prefix("/api/") {
                Some(command) => self.door(&head, command, &body).await,
                None => self.page(&head, path).await,
            }
        })
    }
}
