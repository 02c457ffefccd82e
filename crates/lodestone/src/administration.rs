//! Administration: what commands such as `lodestone heat` ask of a server on the same machine, and what answers there.
//!
//! A request is a POST with JSON to a path below `/lodestone/`. Only programs on the server's machine may send one, and
//! they sign it (`server/src/administration.rs`). What a task answers is in the file of its command.

use std::sync::Arc;
use std::time::Duration;

use api::ErrorKind;
use bytes::Bytes;
use client::{Address, Credentials, PathSigner};
use http::{Response, StatusCode};
use lodestone::Database;
use serde_json::{Value, json};
use server::{Administration, PageAnswer, Task, Watched};
use studio::Watch;
use tokio::sync::Notify;

use crate::{capacity, checkpoint, fault, heat, operator_token, region, requests};

/// A request of the operator to a server on this machine.
pub struct OperatorRequest<'a> {
    pub url: &'a str,
    pub region: &'a str,
    pub path: &'a str,
    pub body: &'a Value,
    pub timeout: Duration,
}

/// Why a request was refused.
struct Refusal {
    /// The server does not know the key that signed the request.
    is_by_unknown_key: bool,
    message: String,
}

impl OperatorRequest<'_> {
    /// What the server answers. A server with an access file wants the usual credentials, and one without wants the
    /// operator's token. The command can't know which it is, so it tries the second when the first is unknown there.
    pub async fn send(&self, usual: Option<Credentials>) -> Result<Value, String> {
        let unknown = match &usual {
            Some(credentials) => match self.attempt(credentials).await {
                Err(Refusal { is_by_unknown_key: true, message }) => Some(message),
                answer => return answer.map_err(|refusal| refusal.message),
            },
            None => None,
        };
        match (operator_token::credentials()?, unknown) {
            (Some(operator), _) => self.attempt(&operator).await.map_err(|refusal| refusal.message),
            (None, Some(message)) => Err(message),
            // No key is known: the server says what it wants.
            (None, None) => self.attempt(&Credentials::local()).await.map_err(|refusal| refusal.message),
        }
    }

    async fn attempt(&self, credentials: &Credentials) -> Result<Value, Refusal> {
        let other = |message: String| Refusal { is_by_unknown_key: false, message };
        let address: Address =
            self.url.parse().map_err(|error: client::AddressError| other(error.to_string()))?;
        let body = self.body.to_string().into_bytes();
        let signer = PathSigner { credentials, region: self.region, service: server::SIGNING_NAME };
        let (path, timeout) = (self.path, self.timeout);
        let (status, answer) =
            client::post(&address, path, body, Some(signer), timeout).await.map_err(other)?;
        let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
        let message = answer["message"].as_str().or_else(|| answer["Message"].as_str());
        match (status, message) {
            (200, _) => Ok(answer),
            (_, Some(message)) => {
                let kind = answer["__type"].as_str().and_then(ErrorKind::from_type_name);
                let is_by_unknown_key = kind == Some(ErrorKind::UnrecognizedClient);
                Err(Refusal { is_by_unknown_key, message: message.to_owned() })
            }
            (404, None) => {
                Err(other(format!("{address} does not know {path}; is a Lodestone of this version there?")))
            }
            (_, None) => Err(other(format!("{address} answers with status {status}"))),
        }
    }
}

/// Carries out the tasks that a running server is given.
pub struct Administrator {
    database: Arc<Database>,
    /// Notified when the server is to end and let go of its folder.
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
pub const IN_FOUNDATIONDB: &str = "This server keeps its data in FoundationDB: there is no folder to copy. Use \
    FoundationDB's own tool, fdbbackup.";

impl Administrator {
    pub fn new(database: Arc<Database>, obstacle: Option<&'static str>, watch: Arc<Watch>) -> Administrator {
        Administrator { database, handed_over: Arc::default(), obstacle, watch }
    }

    /// Notified when the server is to end, because `lodestone migrate` goes on with its folder.
    pub fn handed_over(&self) -> Arc<Notify> {
        self.handed_over.clone()
    }

    async fn carry_out(&self, task: Task, body: &[u8]) -> Result<Value, String> {
        let engine = self.database.engine();
        match task {
            Task::Checkpoint => {
                self.check_folder()?;
                checkpoint::answer(&self.database, body).await
            }
            Task::HandOver => {
                self.check_folder()?;
                self.hand_over(body).await
            }
            Task::Capacity => capacity::report(&engine, body).await,
            Task::Faults => fault::answer(&engine, body),
            Task::Heat => heat::report(&engine, body).await,
            Task::Regions => region::answer(&engine, body).await,
            Task::Requests => requests::answer(&self.watch, body),
        }
    }

    fn check_folder(&self) -> Result<(), String> {
        self.obstacle.map_or(Ok(()), |obstacle| Err(obstacle.to_owned()))
    }

    async fn hand_over(&self, body: &[u8]) -> Result<Value, String> {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let to = body["to"].as_str().filter(|to| !to.is_empty());
        let to = to.ok_or(r#"Say where the data goes: {"to": "postgresql://db/app"}"#)?;
        self.database.engine().begin_moving(to).await.map_err(|error| error.to_string())?;
        tracing::warn!("the data is moved to {to}: this server ends");
        self.handed_over.notify_one();
        Ok(json!({}))
    }
}

impl std::fmt::Debug for Administrator {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Administrator")
    }
}

impl Administration for Administrator {
    fn answer(&self, task: Task, account: Option<Arc<str>>, body: Bytes) -> PageAnswer<'_> {
        let body = account.map_or_else(|| body.clone(), |account| about_account(&body, &account));
        Box::pin(async move { response(self.carry_out(task, &body).await) })
    }

    fn is_watching(&self) -> bool {
        self.watch.is_watching()
    }

    fn watch(&self, watched: &Watched<'_>) {
        let Watched { account, region, operation, body, answer, units } = *watched;
        self.watch.note((account, region), operation, body, answer, units);
    }
}

/// The same request, about the tables of this account if it names one.
fn about_account(body: &Bytes, account: &str) -> Bytes {
    match serde_json::from_slice::<Value>(body) {
        Ok(mut request) if request.get("account").is_some() => {
            request["account"] = json!(account);
            request.to_string().into()
        }
        _ => body.clone(),
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
