//! DynamoDB over the network, seen from the client's side: an operation's name and its JSON go out, JSON
//! comes back.
//!
//! [`Address`] says where, [`Credentials`] as whom; [`Client`] signs, sends, and asks again where the
//! database is only busy. Shapes and their meaning are the `api` crate's.

mod address;
mod credentials;
mod signature;

use std::time::{Duration, SystemTime};

use api::{Error, ErrorKind};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, StatusCode};
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

pub use address::{Address, AddressError};
pub use credentials::{Credentials, CredentialsError, Process, Surroundings};

#[cfg(feature = "https")]
type Connector = hyper_rustls::HttpsConnector<legacy::connect::HttpConnector>;
#[cfg(not(feature = "https"))]
type Connector = legacy::connect::HttpConnector;

/// A request is sent so often; the pauses between add up to six seconds.
const ATTEMPTS: u32 = 8;
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// An answer that takes longer is not waited for.
const TIMEOUT: Duration = Duration::from_secs(60);
const CONTENT_TYPE: &str = "application/x-amz-json-1.0";

pub struct Client {
    address: Address,
    region: String,
    credentials: Credentials,
    http: legacy::Client<Connector, Full<Bytes>>,
}

impl Client {
    /// Nothing is sent yet.
    pub fn new(address: Address, region: String, credentials: Credentials) -> Result<Client, AddressError> {
        let http = legacy::Client::builder(TokioExecutor::new()).build(connector(&address)?);
        Ok(Client { address, region, credentials, http })
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The body of the answer, or DynamoDB's error. That nothing answers is ServiceUnavailable.
    pub async fn send(&self, operation: &str, body: Vec<u8>) -> Result<Vec<u8>, Error> {
        let body = Bytes::from(body);
        let mut pause = FIRST_PAUSE;
        for _ in 1..ATTEMPTS {
            match self.attempt(operation, body.clone()).await {
                Err(Refusal { error, passing: true }) if error.kind != ErrorKind::UnknownOperation => {
                    // Clients that were turned away together don't come back together.
                    tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
                    pause *= 2;
                }
                answer => return answer.map_err(|refusal| refusal.error),
            }
        }
        self.attempt(operation, body).await.map_err(|refusal| refusal.error)
    }

    async fn attempt(&self, operation: &str, body: Bytes) -> Result<Vec<u8>, Refusal> {
        let sent = tokio::time::timeout(TIMEOUT, self.http.request(self.request(operation, body)?));
        let response = match sent.await {
            Ok(response) => response.map_err(|error| self.unreachable(&reason(&error)))?,
            Err(_) => return Err(self.unreachable(&format!("no answer within {} s", TIMEOUT.as_secs()))),
        };
        self.read(response).await
    }

    fn request(&self, operation: &str, body: Bytes) -> Result<Request<Full<Bytes>>, Refusal> {
        let now = humantime::format_rfc3339_seconds(now()).to_string().replace(['-', ':'], "");
        let mut headers = vec![
            ("content-type", CONTENT_TYPE.to_owned()),
            ("host", self.address.authority().to_owned()),
            ("x-amz-date", now),
            ("x-amz-target", format!("DynamoDB_20120810.{operation}")),
        ];
        if let Some(token) = &self.credentials.session_token {
            headers.insert(3, ("x-amz-security-token", token.clone()));
        }
        let authorization = signature::authorization(&self.credentials, &self.region, &headers, &body);
        let mut request = Request::post(self.address.uri());
        for (name, value) in headers.into_iter().chain([("authorization", authorization)]) {
            request = request.header(name, value);
        }
        request.body(Full::new(body)).map_err(|error| self.unreachable(&error.to_string()))
    }

    async fn read(&self, response: Response<hyper::body::Incoming>) -> Result<Vec<u8>, Refusal> {
        let status = response.status();
        let body = response.into_body().collect().await;
        let body = body.map_err(|error| self.unreachable(&reason(&error)))?.to_bytes();
        if status == StatusCode::OK && matches!(body.first(), None | Some(b'{')) {
            return Ok(body.to_vec());
        }
        Err(refusal(status, &body).unwrap_or_else(|| {
            self.unreachable(&format!(
                "it answers {status}, and not in DynamoDB's words; is it the right address?"
            ))
        }))
    }

    fn unreachable(&self, why: &str) -> Refusal {
        let message = format!("{}: {why}", self.address);
        Refusal { error: Error::new(ErrorKind::ServiceUnavailable, message), passing: false }
    }
}

/// Why a request failed, and whether it may succeed in a moment.
struct Refusal {
    error: Error,
    passing: bool,
}

/// What DynamoDB says; none if these are not its words.
fn refusal(status: StatusCode, body: &[u8]) -> Option<Refusal> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let name = body["__type"].as_str()?;
    let message = body["message"].as_str().or_else(|| body["Message"].as_str()).unwrap_or_default();
    let kind = ErrorKind::from_type_name(name);
    let bare = name.rsplit('#').next().unwrap_or(name);
    // A name that we don't know is part of the message.
    let error = match kind {
        Some(kind) if !message.is_empty() => Error::new(kind, message),
        Some(kind) => Error::new(kind, bare),
        None if status.is_server_error() => {
            Error::new(ErrorKind::InternalServerError, format!("{bare}: {message}"))
        }
        None => Error::validation(format!("{bare}: {message}")),
    };
    let busy = [
        ErrorKind::ProvisionedThroughputExceeded,
        ErrorKind::RequestLimitExceeded,
        ErrorKind::Throttling,
        ErrorKind::TransactionInProgress,
    ];
    let passing = status.is_server_error() || busy.contains(&error.kind);
    Some(Refusal { error, passing })
}

/// The innermost cause says what happened: `Connection refused`, not `client error`.
fn reason(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost.to_string()
}

#[expect(clippy::disallowed_methods, reason = "a signature is worth nothing without the time")]
fn now() -> SystemTime {
    SystemTime::now()
}

#[cfg(feature = "https")]
fn connector(_address: &Address) -> Result<Connector, AddressError> {
    let builder = hyper_rustls::HttpsConnectorBuilder::new().with_native_roots();
    let builder = builder.map_err(|error| AddressError::NoCertificates(error.to_string()))?;
    Ok(builder.https_or_http().enable_http1().build())
}

#[cfg(not(feature = "https"))]
fn connector(address: &Address) -> Result<Connector, AddressError> {
    if address.is_secure() {
        return Err(AddressError::NoHttps);
    }
    Ok(legacy::connect::HttpConnector::new())
}
