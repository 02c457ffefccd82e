//! The certificate of `lodestone serve`: read from files and again when they change, or made for trying.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::Args;
use rcgen::KeyUsagePurpose;
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use server::Tls;

const TLS: &str = "Encrypted connections";
/// How often the files are looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a certificate that was made for trying is valid: as long as any client accepts.
const VALID_FOR: Duration = Duration::from_secs(397 * DAY.as_secs());

#[derive(Args)]
pub struct TlsArguments {
    /// Encrypt all connections (TLS), with the certificate in this PEM file and those between it and its authority
    ///
    /// Clients then use https, with HTTP/1.1 or HTTP/2. When the file or the key changes, new connections get the
    /// new certificate; one that can't be used is reported, and the last good one stays.
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = TLS)]
    tls_cert: Option<PathBuf>,

    /// The certificate's private key, a PEM file without passphrase
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = TLS)]
    tls_key: Option<PathBuf>,

    /// Encrypt all connections with a certificate that is made at every start, for trying. The certificate of its
    /// authority is written to FILE, for clients to trust
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "lodestone-ca.pem",
          conflicts_with_all = ["tls_cert", "tls_key"], help_heading = TLS)]
    tls_self_signed: Option<PathBuf>,
}

/// What the server shows, and where it comes from.
pub struct Certificate {
    pub tls: Arc<Tls>,
    source: Source,
}

enum Source {
    Files {
        certificate: PathBuf,
        key: PathBuf,
        seen: Texts,
    },
    /// Made; clients trust it through this file.
    Made {
        authority: PathBuf,
    },
}

#[derive(Clone, PartialEq, Eq)]
struct Texts {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl TlsArguments {
    pub fn is_on(&self) -> bool {
        self.tls_cert.is_some() || self.tls_self_signed.is_some()
    }

    /// None if connections are not encrypted. A certificate that is made gets these names.
    pub fn open(&self, names: impl IntoIterator<Item = String>) -> Result<Option<Certificate>, String> {
        if let Some(authority) = &self.tls_self_signed {
            return make(authority, names.into_iter().collect()).map(Some);
        }
        let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) else { return Ok(None) };
        let seen = Texts::read(certificate, key)?;
        let tls = seen.tls(certificate, key)?;
        let source = Source::Files { certificate: certificate.clone(), key: key.clone(), seen };
        Ok(Some(Certificate { tls: Arc::new(tls), source }))
    }
}

impl Certificate {
    /// What clients need in order to trust a certificate that was made for trying.
    pub fn how_to_trust(&self) -> Option<String> {
        let Source::Made { authority } = &self.source else { return None };
        let path = fs::canonicalize(authority).unwrap_or_else(|_| authority.clone());
        let path = path.display();
        Some(format!(
            "Its certificate is made for this run. Clients trust it with:\n  \
             export AWS_CA_BUNDLE={path} NODE_EXTRA_CA_CERTS={path} SSL_CERT_FILE={path}\n"
        ))
    }

    /// Replaces the certificate whenever its files change. Never ends.
    pub async fn watch(self) {
        let Source::Files { certificate, key, mut seen } = self.source else {
            return std::future::pending().await;
        };
        // Two files are seldom written at once: what is wrong is reported if it is still wrong a moment later.
        let mut wrong = None;
        loop {
            tokio::time::sleep(LOOK_INTERVAL).await;
            let paths = (certificate.clone(), key.clone());
            let read = tokio::task::spawn_blocking(move || Texts::read(&paths.0, &paths.1)).await;
            let problem = match read {
                Ok(Ok(texts)) if texts == seen => None,
                Ok(Ok(texts)) => {
                    let problem = texts.replace(&self.tls, &certificate, &key).err();
                    if problem.is_none() {
                        tracing::info!("the certificate was replaced");
                        seen = texts;
                    }
                    problem
                }
                Ok(Err(problem)) => Some(problem),
                Err(_) => None,
            };
            match problem {
                None => wrong = None,
                Some(problem) => {
                    let times = match wrong.take() {
                        Some((before, times)) if before == problem => times + 1,
                        _ => 1_u32,
                    };
                    if times == 2 {
                        tracing::error!("{problem}. The last good certificate stays in use.");
                    }
                    wrong = Some((problem, times));
                }
            }
        }
    }
}

impl Texts {
    fn read(certificate: &Path, key: &Path) -> Result<Texts, String> {
        let read = |path: &Path, flag| {
            fs::read(path).map_err(|error| format!("can't read {} ({flag}): {error}", path.display()))
        };
        Ok(Texts { certificate: read(certificate, "--tls-cert")?, key: read(key, "--tls-key")? })
    }

    fn tls(&self, certificate: &Path, key: &Path) -> Result<Tls, String> {
        Tls::new(&self.certificate, &self.key).map_err(|error| about(&error, certificate, key))
    }

    fn replace(&self, tls: &Tls, certificate: &Path, key: &Path) -> Result<(), String> {
        tls.replace(&self.certificate, &self.key).map_err(|error| about(&error, certificate, key))
    }
}

fn about(error: &server::TlsError, certificate: &Path, key: &Path) -> String {
    let (certificate, key) = (certificate.display(), key.display());
    match error {
        server::TlsError::Certificate(_) => format!("can't use {certificate} (--tls-cert): {error}"),
        server::TlsError::Key(_) => format!("can't use {key} (--tls-key): {error}"),
        server::TlsError::Pair(_) => format!("can't use {certificate} and {key}: {error}"),
    }
}

/// An authority that signs one certificate and is then forgotten: its key is never on the disk, so no other
/// certificate can be signed with it.
fn make(authority: &Path, names: Vec<String>) -> Result<Certificate, String> {
    let (authority_text, texts) = signed_by_new_authority(names)
        .map_err(|error| format!("can't make a certificate: {error}. Name one with --tls-cert"))?;
    fs::write(authority, authority_text).map_err(|error| {
        let path = authority.display();
        format!("can't write {path}: {error}. Name another file: --tls-self-signed FILE")
    })?;
    let tls = Tls::new(&texts.certificate, &texts.key).map_err(|error| error.to_string())?;
    Ok(Certificate { tls: Arc::new(tls), source: Source::Made { authority: authority.to_owned() } })
}

/// The authority's certificate; the server's certificate and its key.
#[allow(clippy::disallowed_methods, reason = "clients compare a certificate's dates with the real time")]
fn signed_by_new_authority(names: Vec<String>) -> Result<(String, Texts), rcgen::Error> {
    let now = SystemTime::now();
    let parameters = |names: Vec<String>, name: &str| {
        let mut parameters = CertificateParams::new(names)?;
        parameters.distinguished_name.push(DnType::CommonName, name);
        (parameters.not_before, parameters.not_after) = ((now - DAY).into(), (now + VALID_FOR).into());
        parameters.use_authority_key_identifier_extension = true;
        Ok::<_, rcgen::Error>(parameters)
    };
    let mut authority = parameters(Vec::new(), "Lodestone, made for trying")?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let authority_key = KeyPair::generate()?;
    let authority_text = authority.self_signed(&authority_key)?.pem();

    let mut server = parameters(names, "Lodestone")?;
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    let key = KeyPair::generate()?;
    let certificate = server.signed_by(&key, &Issuer::new(authority, authority_key))?.pem();
    Ok((authority_text, Texts { certificate: certificate.into(), key: key.serialize_pem().into() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> Texts {
        signed_by_new_authority(vec!["localhost".to_owned()]).unwrap().1
    }

    /// Paused time passes at once when all tasks wait, so the files are looked at without delay.
    #[tokio::test(start_paused = true)]
    async fn new_connections_get_what_the_files_hold_and_the_last_good_one_if_that_is_broken() {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = (folder.path().join("server.pem"), folder.path().join("key.pem"));
        let write = |texts: &Texts| {
            fs::write(&certificate, &texts.certificate).unwrap();
            fs::write(&key, &texts.key).unwrap();
        };
        write(&made());
        let arguments = TlsArguments {
            tls_cert: Some(certificate.clone()),
            tls_key: Some(key.clone()),
            tls_self_signed: None,
        };
        let opened = arguments.open([]).unwrap().unwrap();
        let tls = opened.tls.clone();
        let shown = || tls.acceptor().config().clone();
        let checks = async {
            let a_few_looks = || tokio::time::sleep(3 * LOOK_INTERVAL);
            let first = shown();
            a_few_looks().await;
            assert!(Arc::ptr_eq(&first, &shown()), "nothing changed");

            let (second, third) = (made(), made());
            write(&Texts { certificate: second.certificate.clone(), key: third.key.clone() });
            a_few_looks().await;
            assert!(Arc::ptr_eq(&first, &shown()), "a key of another certificate");
            fs::remove_file(&key).unwrap();
            a_few_looks().await;
            assert!(Arc::ptr_eq(&first, &shown()), "no key");

            write(&second);
            a_few_looks().await;
            let now = shown();
            assert!(!Arc::ptr_eq(&first, &now));
            a_few_looks().await;
            assert!(Arc::ptr_eq(&now, &shown()), "it is replaced once");
        };
        tokio::select! {
            () = opened.watch() => unreachable!("it never ends"),
            () = checks => {}
        }
    }
}
