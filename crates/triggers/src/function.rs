//! Calls functions: by HTTP in the form of Lambda's Invoke, or as a command.
//!
//! `NAME=http://host:port/path`, or `https`, is called as AWS's runtime emulator, `sam local start-lambda` and Lambda itself
//! take it. Without a path, the path of Invoke with the function's name is added; the emulator knows one
//! function and calls it `function`, so its address is given with its path, or the function is called
//! `function` here, too. `NAME=command …` is run by the shell: the event on standard input, the answer on
//! standard output. Standard error goes to the log.
//!
//! What counts as an error of the function: an answer that says so, a time-out, an exit code other than 0, an
//! answer that is too large. All else that goes wrong means that the function was not reached.

use std::collections::BTreeMap;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use api::lambda::FunctionName;
use api::lambda::limits::{FUNCTION_TIMEOUT, PAYLOAD_BYTES_MAX};
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use http_client::{HttpClient, innermost_cause};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use crate::batch::Outcome;

/// Bytes of a failed function's answer that go to the log.
const LOGGED_BYTES_MAX: usize = 1000;

/// The functions that the server was started with.
#[derive(Clone, Debug, Default)]
pub struct Functions(BTreeMap<String, Arc<Function>>);

/// A function, and how it is called.
#[derive(Debug)]
pub struct Function {
    name: String,
    target: Target,
    timeout: Duration,
}

#[derive(Debug)]
enum Target {
    Http { uri: Uri, client: Box<HttpClient> },
    Command(String),
}

/// Why a function can't be used as it was given.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the texts say it")]
pub enum FunctionError {
    #[error("a function is given as NAME=URL or NAME=command, not as {0:?}")]
    NoName(String),
    #[error("{0:?} is not a function's name: use letters, digits, - and _")]
    BadName(String),
    #[error("the address of function {name} is not right: {reason}")]
    BadAddress { name: String, reason: String },
    #[error("function {0} is given by https, which this build of Lodestone does not have")]
    NoHttps(String),
}

impl Functions {
    /// Of two functions with one name the later is used.
    pub fn new(functions: impl IntoIterator<Item = Function>) -> Functions {
        let functions = functions.into_iter();
        Functions(functions.map(|function| (function.name.clone(), Arc::new(function))).collect())
    }

    pub fn get(&self, name: &str) -> Option<&Arc<Function>> {
        self.0.get(name)
    }
}

impl Function {
    /// Parses `NAME=URL` or `NAME=command …`.
    pub fn parse(text: &str) -> Result<Function, FunctionError> {
        let (name, target) = text.split_once('=').ok_or_else(|| FunctionError::NoName(text.to_owned()))?;
        let target = target.trim();
        if target.is_empty() {
            return Err(FunctionError::NoName(text.to_owned()));
        }
        let is_name = FunctionName::parse(name).is_some_and(|parsed| parsed.name == name);
        if !is_name {
            return Err(FunctionError::BadName(name.to_owned()));
        }
        let target = match target.split_once("://") {
            Some(("https", _)) if !http_client::HAS_HTTPS => {
                return Err(FunctionError::NoHttps(name.to_owned()));
            }
            Some(("http" | "https", _)) => http_target(name, target)?,
            _ => Target::Command(target.to_owned()),
        };
        Ok(Function { name: name.to_owned(), target, timeout: FUNCTION_TIMEOUT })
    }

    /// With another time-out than Lambda's longest.
    pub fn with_timeout(self, timeout: Duration) -> Function {
        Function { timeout, ..self }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Calls the function and waits for its answer.
    pub async fn invoke(&self, event: Bytes) -> Outcome {
        let called = async {
            match &self.target {
                Target::Http { uri, client } => post(client, uri, event).await,
                Target::Command(command) => run(&self.name, command, event).await,
            }
        };
        match tokio::time::timeout(self.timeout, called).await {
            Ok(outcome) => outcome,
            Err(_) => Outcome::FunctionError(format!(
                "Task timed out after {:.2} seconds",
                self.timeout.as_secs_f64()
            )),
        }
    }
}

fn http_target(name: &str, address: &str) -> Result<Target, FunctionError> {
    let bad_address = |reason: String| FunctionError::BadAddress { name: name.to_owned(), reason };
    let mut uri: Uri =
        address.parse().map_err(|error: http::uri::InvalidUri| bad_address(error.to_string()))?;
    if uri.path() == "/" {
        let invoke = format!("{}/2015-03-31/functions/{name}/invocations", address.trim_end_matches('/'));
        uri = invoke.parse().map_err(|error: http::uri::InvalidUri| bad_address(error.to_string()))?;
    }
    let client = HttpClient::new().map_err(|error| bad_address(error.to_string()))?;
    Ok(Target::Http { uri, client: Box::new(client) })
}

fn unreachable(reason: impl ToString) -> Outcome {
    Outcome::Unreachable { reason: reason.to_string(), throttled: false }
}

fn too_large() -> Outcome {
    Outcome::FunctionError(format!(
        "Response payload size exceeded maximum allowed payload size ({PAYLOAD_BYTES_MAX} bytes)."
    ))
}

async fn post(client: &HttpClient, uri: &Uri, event: Bytes) -> Outcome {
    let request = Request::post(uri.clone()).header("x-amz-invocation-type", "RequestResponse");
    let request = match request.body(Full::new(event)) {
        Ok(request) => request,
        Err(error) => return unreachable(error),
    };
    let response = match client.send(request).await {
        Ok(response) => response,
        Err(error) => return unreachable(innermost_cause(&error)),
    };
    let (head, body) = response.into_parts();
    match Limited::new(body, PAYLOAD_BYTES_MAX).collect().await {
        Ok(body) => judge(head.status, &head.headers, body.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => too_large(),
        Err(error) => unreachable(error),
    }
}

/// What the function reports of an exception.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only that both members are there counts")]
struct Exception {
    error_message: IgnoredAny,
    error_type: IgnoredAny,
}

/// Lambda marks an error of the function by a header; its runtime emulator only in the body.
fn judge(status: StatusCode, headers: &HeaderMap, body: Bytes) -> Outcome {
    let is_function_error = headers.contains_key("x-amz-function-error")
        || status == StatusCode::PAYLOAD_TOO_LARGE
        || (status.is_success() && reports_error(&body));
    if is_function_error {
        return Outcome::FunctionError(excerpt(&body));
    }
    if status.is_success() {
        return Outcome::Answer(body);
    }
    let reason = format!("it answers {status}: {}", excerpt(&body));
    Outcome::Unreachable { reason, throttled: status == StatusCode::TOO_MANY_REQUESTS }
}

fn reports_error(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"{") && serde_json::from_slice::<Exception>(body).is_ok()
        || body.starts_with(b"Task timed out after")
}

fn excerpt(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(LOGGED_BYTES_MAX)]).into_owned()
}

/// Kills a command and all that it started, unless it ended by itself.
struct ProcessGroup(Option<Pid>);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It is no harm if it has just ended.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

async fn run(name: &str, command: &str, event: Bytes) -> Outcome {
    let spawned = Command::new("sh")
        .args(["-c", command])
        .env("AWS_LAMBDA_FUNCTION_NAME", name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => return unreachable(error),
    };
    let group = child.id().and_then(|id| Pid::from_raw(id as i32));
    let mut group = ProcessGroup(group);
    let outcome = converse(name, &mut child, event).await;
    if matches!(outcome, Ok((_, _))) {
        group.0 = None;
    }
    match outcome {
        Ok((status, answer)) if status.success() => match reports_error(&answer) {
            true => Outcome::FunctionError(excerpt(&answer)),
            false => Outcome::Answer(answer.into()),
        },
        Ok((status, _)) => Outcome::FunctionError(format!("the command ended with {status}")),
        Err(outcome) => outcome,
    }
}

/// Hands the event over and waits for the answer and the end.
async fn converse(name: &str, child: &mut Child, event: Bytes) -> Result<(ExitStatus, Vec<u8>), Outcome> {
    let stdin = child.stdin.take();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let feed = async {
        if let Some(mut stdin) = stdin {
            // A command may end without reading its input.
            let _ = stdin.write_all(&event).await;
        }
        Ok(())
    };
    let read = async {
        let mut answer = Vec::new();
        if let Some(stdout) = stdout {
            let mut bounded = stdout.take(PAYLOAD_BYTES_MAX as u64 + 1);
            bounded.read_to_end(&mut answer).await.map_err(unreachable)?;
        }
        if answer.len() > PAYLOAD_BYTES_MAX { Err(too_large()) } else { Ok(answer) }
    };
    let log = async {
        if let Some(stderr) = stderr {
            log_lines(name, stderr).await;
        }
        Ok(())
    };
    let ended = async { child.wait().await.map_err(unreachable) };
    let ((), answer, (), status) = tokio::try_join!(feed, read, log, ended)?;
    Ok((status, answer))
}

async fn log_lines(name: &str, mut stderr: impl AsyncRead + Unpin) {
    let mut buffer = [0; 8192];
    while let Ok(length @ 1..) = stderr.read(&mut buffer).await {
        for line in String::from_utf8_lossy(&buffer[..length]).lines() {
            tracing::info!(function = name, "{line}");
        }
    }
}
