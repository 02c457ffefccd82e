//! Buckets of an S3-compatible endpoint, by path (`http://host/bucket/key`).
//!
//! `object_store` signs, retries and reads the answers. The bytes go through `http-client`, so there is no
//! second HTTP client or TLS library. Credentials and the Region come from the usual variables of the
//! environment: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::StatusCode;
use hyper::body::Incoming;
use object_store::aws::AmazonS3Builder;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use object_store::prefix::PrefixStore;
use object_store::{ClientOptions, ObjectStore, RetryConfig};

use super::{Bucket, PlaceError, parse_key, part_fault, unusable};

/// How long to wait for the head of an answer, and for each piece of its body.
const TIMEOUT: Duration = Duration::from_secs(60);
const RETRIES_MAX: usize = 5;
/// Stands for the endpoint of AWS.
const AWS: &str = "s3://";

/// The address of an endpoint; `None` for that of AWS.
#[derive(Clone, Debug)]
pub struct Endpoint {
    url: Option<String>,
}

/// `http://host/bucket/prefix` or `s3://bucket/prefix`: a bucket, seen from the prefix.
pub async fn place(spec: &str) -> Result<Bucket, PlaceError> {
    let host = spec.find("://").map_or(0, |at| at + 3);
    let host_end = match spec.starts_with(AWS) {
        true => host,
        false => spec[host..].find('/').map_or(spec.len(), |length| host + length),
    };
    let (endpoint, path) = spec.split_at(host_end);
    let path = path.trim_matches('/');
    let (bucket, prefix) = path.split_once('/').unwrap_or((path, ""));
    if bucket.is_empty() {
        return Err(unusable(spec, "the address names no bucket"));
    }
    Endpoint::new(endpoint)?.bucket(bucket, prefix).await
}

impl Endpoint {
    pub fn new(spec: &str) -> Result<Endpoint, PlaceError> {
        if !http_client::HAS_HTTPS && !spec.starts_with("http://") {
            return Err(unusable(spec, "this build speaks no https"));
        }
        match spec.strip_prefix(AWS) {
            None => Ok(Endpoint { url: Some(spec.trim_end_matches('/').to_owned()) }),
            Some("") => Ok(Endpoint { url: None }),
            Some(_) => Err(unusable(spec, "buckets are named by requests")),
        }
    }

    /// The bucket, if the endpoint has it. With a prefix, keys are relative to it.
    pub async fn bucket(&self, name: &str, prefix: &str) -> Result<Bucket, PlaceError> {
        if part_fault(name).is_some() {
            return Err(PlaceError::NoSuchBucket { bucket: name.to_owned() });
        }
        let retry =
            RetryConfig { max_retries: RETRIES_MAX, retry_timeout: TIMEOUT, ..RetryConfig::default() };
        let builder = match &self.url {
            Some(url) => AmazonS3Builder::from_env().with_endpoint(url),
            None => AmazonS3Builder::from_env(),
        };
        let store = builder
            .with_allow_http(true)
            .with_virtual_hosted_style_request(false)
            .with_bucket_name(name)
            .with_retry(retry)
            .with_http_connector(Hyper)
            .build()
            .map_err(|error| unusable(name, error))?;
        let store: Arc<dyn ObjectStore> = match prefix {
            "" => Arc::new(store),
            prefix => Arc::new(PrefixStore::new(store, parse_key(prefix)?)),
        };
        let bucket = Bucket::of_store(name, store);
        check(&bucket).await?;
        Ok(bucket)
    }
}

/// An endpoint says that a bucket is missing when its objects are listed. Credentials that may only write can't list,
/// so a refusal says nothing.
async fn check(bucket: &Bucket) -> Result<(), PlaceError> {
    const NOTHING: &str = "lodestone-asks-whether-the-bucket-exists/";
    match bucket.list(NOTHING).await {
        Ok(_) | Err(PlaceError::AccessDenied { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The status of a listing that failed. `object_store` has errors of their own for the statuses of other requests.
#[derive(Debug, thiserror::Error)]
#[error("the endpoint answers a listing with {0}")]
pub struct ListingFailed(StatusCode);

impl ListingFailed {
    /// What a failed listing says about the bucket; `None` for errors of other requests.
    pub fn find(error: &(dyn std::error::Error + 'static), bucket: &str, key: &str) -> Option<PlaceError> {
        let chain = std::iter::successors(Some(error), |error| error.source());
        let status = chain.filter_map(|error| error.downcast_ref::<ListingFailed>()).next()?.0;
        let (bucket, key) = (bucket.to_owned(), key.to_owned());
        match status {
            StatusCode::NOT_FOUND => Some(PlaceError::NoSuchBucket { bucket }),
            StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => {
                Some(PlaceError::AccessDenied { bucket, key })
            }
            _ => None,
        }
    }
}

/// Makes clients for `object_store`.
#[derive(Debug)]
struct Hyper;

impl HttpConnector for Hyper {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = http_client::HttpClient::new();
        let client =
            client.map_err(|error| object_store::Error::Generic { store: "S3", source: error.into() })?;
        Ok(HttpClient::new(Service(client)))
    }
}

#[derive(Debug)]
struct Service(http_client::HttpClient);

#[async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_listing = request.uri().query().is_some_and(|query| query.contains("list-type="));
        let answer = tokio::time::timeout(TIMEOUT, self.0.send(request)).await;
        let response = answer.map_err(|slow| HttpError::new(HttpErrorKind::Timeout, slow))?;
        let response = response.map_err(|error| match error.is_connect() {
            true => HttpError::new(HttpErrorKind::Connect, error),
            false => HttpError::new(HttpErrorKind::Request, error),
        })?;
        if is_listing && response.status().is_client_error() {
            return Err(HttpError::new(HttpErrorKind::Unknown, ListingFailed(response.status())));
        }
        Ok(response.map(|body| HttpResponseBody::new(StreamBody::new(frames(body)))))
    }
}

/// The pieces of a body. An endpoint that stops sending is an error after a while.
fn frames(
    body: Incoming,
) -> impl stream::Stream<Item = Result<hyper::body::Frame<bytes::Bytes>, HttpError>> + Send + Sync {
    stream::try_unfold(body, |mut body| async {
        let frame = tokio::time::timeout(TIMEOUT, body.frame()).await;
        let frame = frame.map_err(|slow| HttpError::new(HttpErrorKind::Timeout, slow))?;
        match frame {
            None => Ok(None),
            Some(Ok(frame)) => Ok(Some((frame, body))),
            Some(Err(error)) => Err(HttpError::new(HttpErrorKind::Interrupted, error)),
        }
    })
}
