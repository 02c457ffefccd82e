//! The one HTTP client: for databases and Kinesis streams (`client`), buckets (`transfer`) and functions (`triggers`).
//!
//! Over https, the certificate of a server comes from an authority that the system trusts, or from one of those that
//! the client was made with. Its code is compiled here and not in the crates that use it, so bodies are boxed.

#![warn(missing_docs)]

use std::error::Error;
use std::io;

use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::Request;
use hyper::body::Body;
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;

/// The body of an answer.
pub use hyper::body::Incoming;

/// Whether this build has https. Without it, a request to such an address fails.
pub const HAS_HTTPS: bool = cfg!(feature = "https");

type BoxError = Box<dyn Error + Send + Sync>;
type BoxBody = UnsyncBoxBody<Bytes, BoxError>;

#[cfg(feature = "https")]
type Connector = hyper_rustls::HttpsConnector<legacy::connect::HttpConnector>;
#[cfg(not(feature = "https"))]
type Connector = legacy::connect::HttpConnector;

/// A client that keeps its connections for further requests. It has no timeouts.
#[derive(Clone, Debug)]
pub struct HttpClient(legacy::Client<Connector, BoxBody>);

impl HttpClient {
    /// Trusts servers whose certificates come from authorities that the system trusts.
    pub fn new() -> io::Result<HttpClient> {
        system_connector().map(HttpClient::over)
    }

    /// Trusts servers whose certificates come from these authorities, and no other. They are PEM texts; the error says
    /// what is wrong with them.
    pub fn trusting(authorities: &[u8]) -> Result<HttpClient, String> {
        trusting_connector(authorities).map(HttpClient::over)
    }

    fn over(connector: Connector) -> HttpClient {
        HttpClient(legacy::Client::builder(TokioExecutor::new()).build(connector))
    }

    /// Sends a request. The answer is its head, with a body to be read.
    pub fn send<B>(&self, request: Request<B>) -> legacy::ResponseFuture
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        self.send_boxed(request.map(|body| body.map_err(Into::into).boxed_unsync()))
    }

    fn send_boxed(&self, request: Request<BoxBody>) -> legacy::ResponseFuture {
        self.0.request(request)
    }
}

/// The text of the innermost cause: `Connection refused`, not `client error`.
pub fn innermost_cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost.to_string()
}

#[cfg(feature = "https")]
fn system_connector() -> io::Result<Connector> {
    let builder = hyper_rustls::HttpsConnectorBuilder::new().with_native_roots()?;
    Ok(builder.https_or_http().enable_http1().build())
}

#[cfg(feature = "https")]
fn trusting_connector(authorities: &[u8]) -> Result<Connector, String> {
    let builder = hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(trust(authorities)?);
    Ok(builder.https_or_http().enable_http1().build())
}

/// Trust in the certificates of these authorities alone.
#[cfg(feature = "https")]
fn trust(authorities: &[u8]) -> Result<rustls::ClientConfig, String> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;

    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authorities) {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() {
        return Err("there is none in it. It should be a PEM file".to_owned());
    }
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(not(feature = "https"))]
fn system_connector() -> io::Result<Connector> {
    Ok(legacy::connect::HttpConnector::new())
}

#[cfg(not(feature = "https"))]
fn trusting_connector(_authorities: &[u8]) -> Result<Connector, String> {
    Ok(legacy::connect::HttpConnector::new())
}
