//! A client of DynamoDB: it sends an operation's name and its JSON, and gets JSON back.
//!
//! [`Address`] is the endpoint and [`Credentials`] sign the requests. [`Client`] sends them, and retries
//! when the database is busy. The `api` crate knows what the JSON means.
//!
//! | question | file |
//! |---|---|
//! | which addresses are there? | `address.rs` |
//! | where are credentials found? | `credentials.rs` |
//! | what is signed? | `signature.rs` |
//! | what is tried again? | `lib.rs` |

mod address;
mod credentials;
mod signature;

use std::time::{Duration, SystemTime};

use api::{Error, ErrorKind, Service};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use http_client::{HttpClient, Incoming, innermost_cause};
use serde_json::Value;

pub use address::{Address, AddressError};
pub use credentials::{Credentials, CredentialsError, Environment, ProcessEnvironment};
pub use signature::authorization;

/// A request is sent up to eight times. The pauses between add up to six seconds.
const ATTEMPTS_MAX: u32 = 8;
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// How long to wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The same for a brief answer, and how long one may be.
const BRIEF_TIMEOUT: Duration = Duration::from_secs(30);
const BRIEF_BYTES_MAX: usize = 1 << 20;
/// The content type of requests to a path.
const JSON: &str = "application/json";

/// The service that requests are signed for, and the form of its JSON.
#[derive(Clone, Copy)]
struct Dialect {
    signing_name: &'static str,
    content_type: &'static str,
}

const DYNAMODB: Dialect = Dialect { signing_name: "dynamodb", content_type: "application/x-amz-json-1.0" };
const KINESIS: Dialect = Dialect { signing_name: "kinesis", content_type: "application/x-amz-json-1.1" };

/// A client for one endpoint, Region and set of credentials.
pub struct Client {
    address: Address,
    region: String,
    credentials: Credentials,
    dialect: Dialect,
    http: HttpClient,
}

impl Client {
    /// Sends nothing yet.
    pub fn new(address: Address, region: String, credentials: Credentials) -> Result<Client, AddressError> {
        let http = http_client(&address, None)?;
        Ok(Client { address, region, credentials, dialect: DYNAMODB, http })
    }

    /// The same for an endpoint of Kinesis Data Streams, which is sent whole targets ([`Client::send_once`]).
    pub fn of_kinesis(
        address: Address,
        region: String,
        credentials: Credentials,
    ) -> Result<Client, AddressError> {
        Ok(Client { dialect: KINESIS, ..Client::new(address, region, credentials)? })
    }

    /// Trusts a server whose certificate comes from these authorities, and no other. They are PEM texts.
    pub fn trusting(
        authorities: &[u8],
        address: Address,
        region: String,
        credentials: Credentials,
    ) -> Result<Client, AddressError> {
        let http = http_client(&address, Some(authorities))?;
        Ok(Client { address, region, credentials, dialect: DYNAMODB, http })
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The body of the answer, or DynamoDB's error. If nothing answers, the error is ServiceUnavailable.
    pub async fn send(&self, operation: &str, body: Vec<u8>) -> Result<Vec<u8>, Error> {
        self.send_to(Service::DynamoDb, operation, body).await
    }

    /// The same for another service at the endpoint that speaks JSON 1.0.
    pub fn send_to<'a>(
        &'a self,
        service: Service,
        operation: &'a str,
        body: Vec<u8>,
    ) -> BoxFuture<'a, Result<Vec<u8>, Error>> {
        Box::pin(async move {
            let target = format!("{}.{operation}", service.target_prefix().unwrap_or_default());
            let body = Bytes::from(body);
            let mut pause = FIRST_PAUSE;
            for _ in 1..ATTEMPTS_MAX {
                match self.attempt(&target, body.clone()).await {
                    Err(Failure { error, is_transient: true })
                        if error.kind != ErrorKind::UnknownOperation =>
                    {
                        // With random pauses, clients that failed together don't retry together.
                        tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
                        pause *= 2;
                    }
                    answer => return answer.map_err(|failure| failure.error),
                }
            }
            self.attempt(&target, body).await.map_err(|failure| failure.error)
        })
    }

    /// The same as [`Client::send`], but once: that the database is busy is an answer, too.
    pub fn send_unretried<'a>(
        &'a self,
        operation: &'a str,
        body: Vec<u8>,
    ) -> BoxFuture<'a, Result<Vec<u8>, Error>> {
        Box::pin(async move {
            let target = format!("{}.{operation}", Service::DynamoDb.target_prefix().unwrap_or_default());
            self.attempt(&target, body.into()).await.map_err(|failure| failure.error)
        })
    }

    /// Sends a request once, to a server that answers briefly. The target is a whole one.
    pub fn send_once<'a>(&'a self, target: &'a str, body: Vec<u8>) -> BoxFuture<'a, Result<Vec<u8>, Error>> {
        Box::pin(async move {
            let exchange = async {
                let request = self.request(target, body.into())?;
                let response = self.http.send(request).await;
                let response = response.map_err(|error| self.unreachable(&innermost_cause(&error)))?;
                self.read(response, BRIEF_BYTES_MAX).await
            };
            let outcome = tokio::time::timeout(BRIEF_TIMEOUT, exchange).await;
            let late = |_| self.unreachable(&format!("no answer within {} s", BRIEF_TIMEOUT.as_secs()));
            outcome.map_err(late).flatten().map_err(|failure| failure.error)
        })
    }

    async fn attempt(&self, target: &str, body: Bytes) -> Result<Vec<u8>, Failure> {
        let sent = tokio::time::timeout(TIMEOUT, self.http.send(self.request(target, body)?));
        let response = match sent.await {
            Ok(response) => response.map_err(|error| self.unreachable(&innermost_cause(&error)))?,
            Err(_) => return Err(self.unreachable(&format!("no answer within {} s", TIMEOUT.as_secs()))),
        };
        self.read(response, usize::MAX).await
    }

    fn request(&self, target: &str, body: Bytes) -> Result<Request<Full<Bytes>>, Failure> {
        let mut headers = vec![
            ("content-type", self.dialect.content_type.to_owned()),
            ("host", self.address.authority().to_owned()),
            ("x-amz-date", signing_time()),
            ("x-amz-target", target.to_owned()),
        ];
        if let Some(token) = &self.credentials.session_token {
            headers.insert(3, ("x-amz-security-token", token.clone()));
        }
        let authorization = signature::authorization(
            &self.credentials,
            (&self.region, self.dialect.signing_name),
            "/",
            &headers,
            &body,
        );
        let mut request = Request::post(self.address.uri());
        for (name, value) in headers.into_iter().chain([("authorization", authorization)]) {
            request = request.header(name, value);
        }
        request.body(Full::new(body)).map_err(|error| self.unreachable(&error.to_string()))
    }

    async fn read(&self, response: Response<Incoming>, bytes_max: usize) -> Result<Vec<u8>, Failure> {
        let status = response.status();
        let body = Limited::new(response.into_body(), bytes_max).collect().await;
        let body = body.map_err(|error| self.unreachable(&innermost_cause(&*error)))?.to_bytes();
        if status == StatusCode::OK && matches!(body.first(), None | Some(b'{')) {
            return Ok(body.to_vec());
        }
        Err(dynamodb_error(status, &body).unwrap_or_else(|| {
            self.unreachable(&format!("it answers {status}, but not as DynamoDB does; is the address right?"))
        }))
    }

    fn unreachable(&self, why: &str) -> Failure {
        let message = format!("{}: {why}", self.address);
        Failure { error: Error::new(ErrorKind::ServiceUnavailable, message), is_transient: false }
    }
}

/// What signs a request to a path: the credentials, and the Region and service that the signature is for.
#[derive(Clone, Copy)]
pub struct PathSigner<'a> {
    pub credentials: &'a Credentials,
    pub region: &'a str,
    pub service: &'a str,
}

impl PathSigner<'_> {
    /// The headers of a signed request, sorted by name, with `authorization` at the end.
    fn sign(self, address: &Address, path: &str, body: &[u8]) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("content-type", JSON.to_owned()),
            ("host", address.authority().to_owned()),
            ("x-amz-date", signing_time()),
        ];
        headers.extend(self.credentials.session_token.clone().map(|token| ("x-amz-security-token", token)));
        let scope = (self.region, self.service);
        let authorization = signature::authorization(self.credentials, scope, path, &headers, body);
        headers.push(("authorization", authorization));
        headers
    }
}

/// Sends JSON to a path, for what is no operation of DynamoDB. The answer is its status and body.
pub fn post<'a>(
    address: &'a Address,
    path: &'a str,
    body: Vec<u8>,
    signer: Option<PathSigner<'a>>,
    timeout: Duration,
) -> BoxFuture<'a, Result<(u16, Vec<u8>), String>> {
    let headers = match signer {
        Some(signer) => signer.sign(address, path, &body),
        None => vec![("content-type", JSON.to_owned())],
    };
    let request = Request::post(format!("{address}{path}"));
    let request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
    exchange(address, request.body(Full::new(Bytes::from(body))), timeout)
}

/// Asks for a path, without a signature. The answer is its status and body.
pub fn get<'a>(
    address: &'a Address,
    path: &str,
    timeout: Duration,
) -> BoxFuture<'a, Result<(u16, Vec<u8>), String>> {
    exchange(address, Request::get(format!("{address}{path}")).body(Full::default()), timeout)
}

/// Sends a request once, on a connection of its own.
fn exchange(
    address: &Address,
    request: http::Result<Request<Full<Bytes>>>,
    timeout: Duration,
) -> BoxFuture<'_, Result<(u16, Vec<u8>), String>> {
    Box::pin(async move {
        let http = http_client(address, None).map_err(|error| error.to_string())?;
        let request = request.map_err(|error| error.to_string())?;
        let unreachable = |error: &dyn std::error::Error| format!("{address}: {}", innermost_cause(error));
        let exchange = async {
            let response = http.send(request).await.map_err(|error| unreachable(&error))?;
            let status = response.status().as_u16();
            let body = response.into_body().collect().await.map_err(|error| unreachable(&error))?;
            Ok((status, body.to_bytes().to_vec()))
        };
        match tokio::time::timeout(timeout, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("{address}: no answer within {} s", timeout.as_secs())),
        }
    })
}

/// Why an attempt failed, and whether another may succeed in a moment.
struct Failure {
    error: Error,
    is_transient: bool,
}

/// The error in the body of an answer, if it is one of DynamoDB's.
fn dynamodb_error(status: StatusCode, body: &[u8]) -> Option<Failure> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let name = body["__type"].as_str()?;
    let message = body["message"].as_str().or_else(|| body["Message"].as_str()).unwrap_or_default();
    let kind = ErrorKind::from_type_name(name);
    let bare = name.rsplit('#').next().unwrap_or(name);
    // An unknown name becomes a part of the message.
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
    let is_transient = status.is_server_error() || busy.contains(&error.kind);
    Some(Failure { error, is_transient })
}

/// The time as `x-amz-date` has it.
fn signing_time() -> String {
    humantime::format_rfc3339_seconds(now()).to_string().replace(['-', ':'], "")
}

#[expect(clippy::disallowed_methods, reason = "a signature contains the time")]
fn now() -> SystemTime {
    SystemTime::now()
}

fn http_client(address: &Address, authorities: Option<&[u8]>) -> Result<HttpClient, AddressError> {
    if address.is_secure() && !http_client::HAS_HTTPS {
        return Err(AddressError::NoHttps);
    }
    match authorities {
        Some(authorities) => HttpClient::trusting(authorities).map_err(AddressError::NoAuthority),
        None => HttpClient::new().map_err(|error| AddressError::NoCertificates(error.to_string())),
    }
}
