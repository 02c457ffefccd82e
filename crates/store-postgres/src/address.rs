//! Where the database is and how the connection to it is protected.
//!
//! `sslmode` means what it means to PostgreSQL's own programs:
//!
//! | sslmode | encrypted | the certificate is |
//! |---|---|---|
//! | `disable` | no | |
//! | `prefer` (the default) | if the server offers it and it works | not checked |
//! | `require` | yes | checked only if `sslrootcert` is given |
//! | `verify-ca` | yes | signed by an authority of `sslrootcert` |
//! | `verify-full` | yes | so, and made for the host of the URL |
//!
//! `sslrootcert` names a file of PEM certificates, or is `system`: those that the operating system trusts,
//! the default of the two `verify` modes. All other parameters are `tokio_postgres`'s.

use std::error::Error;
use std::io;
use std::str::FromStr;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use store::StoreError;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::failure::with_causes;

/// A database's address, checked.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) config: Config,
    tls: MakeRustlsConnect,
}

type Stream = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;

/// How much of the server's certificate is checked.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Check {
    Nothing,
    Authority,
    AuthorityAndHost,
}

impl Address {
    /// The errors name the wrong setting and never quote the URL, which may hold a password.
    pub(crate) fn parse(url: &str) -> Result<Address, StoreError> {
        let wrong = |reason: String| StoreError::Unavailable(format!("the PostgreSQL URL: {reason}"));
        let (rest, own) = take_parameters(url, ["sslmode", "sslrootcert"]);
        let [mode, roots] = own;
        let mut config = Config::from_str(&rest).map_err(|error| wrong(with_causes(&error)))?;
        let (ssl_mode, mut check) = match mode.as_deref() {
            Some("disable") => (SslMode::Disable, Check::Nothing),
            None | Some("prefer") => (SslMode::Prefer, Check::Nothing),
            Some("require") => (SslMode::Require, Check::Nothing),
            Some("verify-ca") => (SslMode::Require, Check::Authority),
            Some("verify-full") => (SslMode::Require, Check::AuthorityAndHost),
            Some(_) => {
                let modes = "disable, prefer, require, verify-ca and verify-full";
                return Err(wrong(format!("its sslmode is none of {modes}")));
            }
        };
        if ssl_mode == SslMode::Require && check == Check::Nothing && roots.is_some() {
            check = Check::Authority;
        }
        config.ssl_mode(ssl_mode);
        Ok(Address {
            config,
            tls: MakeRustlsConnect::new(client_config(check, roots.as_deref()).map_err(wrong)?),
        })
    }

    /// Opens a connection, by the address's own settings or by others for it. As in PostgreSQL's own programs, a server
    /// with which `prefer` finds no way to encrypt is asked again without: if the handshake fails (a certificate of an
    /// old form, say), or if the server has no entry for this user with encryption. They also do so after a wrong
    /// password, which is of no use and shows the password to the network.
    pub(crate) async fn connect(
        &self,
        config: &Config,
    ) -> Result<(Client, Connection<Socket, Stream>), tokio_postgres::Error> {
        let error = match config.connect(self.tls.clone()).await {
            Err(error) if config.get_ssl_mode() == SslMode::Prefer && is_of_encryption(&error) => error,
            connected => return connected,
        };
        let mut plain = config.clone();
        let connected = plain.ssl_mode(SslMode::Disable).connect(self.tls.clone()).await?;
        tracing::warn!(reason = with_causes(&error), "the connection to PostgreSQL is not encrypted");
        Ok(connected)
    }
}

/// Whether a connection failed because it was to be encrypted.
fn is_of_encryption(error: &tokio_postgres::Error) -> bool {
    if let Some(answer) = error.as_db_error() {
        return *answer.code() == SqlState::INVALID_AUTHORIZATION_SPECIFICATION;
    }
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    let is_of_rustls = |cause: &(dyn Error + 'static)| {
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause.is::<rustls::Error>() || inner.is_some_and(|inner| inner.is::<rustls::Error>())
    };
    causes.into_iter().any(is_of_rustls)
}

/// Takes the parameters of these names out of a URL or a list of `name=value`, and returns the rest and
/// their values.
fn take_parameters<const COUNT: usize>(url: &str, names: [&str; COUNT]) -> (String, [Option<String>; COUNT]) {
    let mut values = [const { None }; COUNT];
    let is_url = url.contains("://");
    let (before, parameters, separator) = match url.split_once('?') {
        Some((before, parameters)) if is_url => (before, parameters, '&'),
        _ if is_url => return (url.to_owned(), values),
        _ => ("", url, ' '),
    };
    let mut kept = Vec::new();
    for parameter in parameters.split(separator) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        match names.iter().position(|own| *own == name) {
            Some(index) if is_url => {
                let decoded = percent_encoding::percent_decode_str(value).decode_utf8_lossy();
                values[index] = Some(decoded.into_owned());
            }
            Some(index) => values[index] = Some(value.to_owned()),
            None => kept.push(parameter),
        }
    }
    let kept = kept.join(&separator.to_string());
    let rest = match (is_url, kept.is_empty()) {
        (true, true) => before.to_owned(),
        (true, false) => format!("{before}?{kept}"),
        (false, _) => kept,
    };
    (rest, values)
}

fn client_config(check: Check, roots: Option<&str>) -> Result<ClientConfig, String> {
    // Named, because a process may hold several providers and rustls then asks for a choice.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Verifier::new(check, roots, &provider)?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(config)
}

/// Checks as much of a certificate as `sslmode` asks for. Signatures are always checked: the server holds
/// the key of the certificate that it shows.
#[derive(Debug)]
struct Verifier {
    authority: Option<Arc<WebPkiServerVerifier>>,
    checks_host: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    fn new(check: Check, roots: Option<&str>, provider: &Arc<CryptoProvider>) -> Result<Verifier, String> {
        let authority = match check {
            Check::Nothing => None,
            Check::Authority | Check::AuthorityAndHost => {
                let roots = Arc::new(root_certificates(roots.unwrap_or("system"))?);
                let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build();
                Some(verifier.map_err(|error| error.to_string())?)
            }
        };
        let algorithms = provider.signature_verification_algorithms;
        Ok(Verifier { authority, checks_host: check == Check::AuthorityAndHost, algorithms })
    }
}

fn root_certificates(file: &str) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    if file == "system" {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    }
    let unreadable = |error: &dyn std::fmt::Display| format!("its sslrootcert {file} can't be read: {error}");
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| unreadable(&error))? {
        roots.add(certificate.map_err(|error| unreadable(&error))?).map_err(|error| unreadable(&error))?;
    }
    if roots.is_empty() {
        return Err(format!("its sslrootcert {file} has no certificate"));
    }
    Ok(roots)
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        match authority.verify_server_cert(certificate, intermediates, host, ocsp, now) {
            // The authority is checked first, so this certificate has a known one.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_host => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_of_tls_are_taken_out_and_the_others_stay() {
        let check = |url: &str, rest: &str, mode: Option<&str>, roots: Option<&str>| {
            let (kept, values) = take_parameters(url, ["sslmode", "sslrootcert"]);
            assert_eq!(
                (kept.as_str(), values.each_ref().map(Option::as_deref)),
                (rest, [mode, roots]),
                "{url}"
            );
        };
        check("postgres://a@b/c", "postgres://a@b/c", None, None);
        check("postgres://a@b/c?sslmode=require", "postgres://a@b/c", Some("require"), None);
        check(
            "postgres://a@b,d/c?sslmode=verify-full&target_session_attrs=read-write&sslrootcert=/x%20y.pem",
            "postgres://a@b,d/c?target_session_attrs=read-write",
            Some("verify-full"),
            Some("/x y.pem"),
        );
        check("host=b sslmode=disable user=a", "host=b user=a", Some("disable"), None);
    }

    #[test]
    fn a_mode_that_is_none_and_a_missing_file_are_named_without_the_password() {
        let check = |parameters: &str, expected: &str| {
            let url = format!("postgres://me:secret@host/db?{parameters}");
            let reason = Address::parse(&url).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(reason.contains(expected) && !reason.contains("secret"), "{parameters}: {reason}");
        };
        check("sslmode=sometimes", "verify-full");
        check("sslmode=verify-full&sslrootcert=/nowhere.pem", "/nowhere.pem");
        check("sslmode=require&sslrootcert=/nowhere.pem", "/nowhere.pem");
        check("connect_timeout=x", "connect_timeout");
    }
}
