//! TLS: the certificate and key that a server shows, and how they are replaced while it runs.
//!
//! A connection keeps the certificate that it began with. [`Tls::replace`] changes what the next one gets.

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use std::sync::{Arc, PoisonError, RwLock};
use tokio_rustls::TlsAcceptor;

/// The protocols that are offered, the preferred one first.
const HTTP2: &[u8] = b"h2";
const HTTP11: &[u8] = b"http/1.1";

/// What a server shows to clients that want their connection encrypted.
#[derive(Debug)]
pub struct Tls {
    config: RwLock<Arc<ServerConfig>>,
}

/// Why a certificate and a key can't be used.
#[derive(Debug)]
pub enum TlsError {
    /// The text holds no certificate, or one that can't be read.
    Certificate(Option<String>),
    /// The text holds no private key, or one that can't be read.
    Key(Option<String>),
    /// They don't belong together, or are of a kind that is not supported.
    Pair(String),
}

impl std::fmt::Display for TlsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TlsError::Certificate(None) => f.write_str(
                "it holds no certificate. It should be a PEM file: the server's certificate first, then those \
                 between it and the authority",
            ),
            TlsError::Certificate(Some(reason)) => write!(f, "its certificate can't be read: {reason}"),
            TlsError::Key(None) => {
                f.write_str("it holds no private key. It should be a PEM file with a key that has no passphrase")
            }
            TlsError::Key(Some(reason)) => write!(f, "its private key can't be read: {reason}"),
            TlsError::Pair(reason) => {
                write!(f, "the certificate and the key can't be used together: {reason}")
            }
        }
    }
}

impl std::error::Error for TlsError {}

impl Tls {
    /// From the PEM texts of a certificate (with those between it and its authority behind it) and of its key.
    pub fn new(certificate: &[u8], key: &[u8]) -> Result<Tls, TlsError> {
        Ok(Tls { config: RwLock::new(config(certificate, key)?) })
    }

    /// What later connections get. If it can't be used, they get what they got before.
    pub fn replace(&self, certificate: &[u8], key: &[u8]) -> Result<(), TlsError> {
        let config = config(certificate, key)?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    /// What the next connection is encrypted with.
    pub fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.config.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

/// Whether the client chose HTTP/2.
pub(crate) fn is_http2(protocol: Option<&[u8]>) -> bool {
    protocol == Some(HTTP2)
}

fn config(certificate: &[u8], key: &[u8]) -> Result<Arc<ServerConfig>, TlsError> {
    let certificates = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|error| TlsError::Certificate(Some(error.to_string())))?;
    if certificates.is_empty() {
        return Err(TlsError::Certificate(None));
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| match error {
        pem::Error::NoItemsFound => TlsError::Key(None),
        error => TlsError::Key(Some(error.to_string())),
    })?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, key))
        .map_err(|error| TlsError::Pair(error.to_string()))?;
    config.alpn_protocols = vec![HTTP2.to_vec(), HTTP11.to_vec()];
    Ok(Arc::new(config))
}
