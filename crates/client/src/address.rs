//! The endpoint of a database: `http://localhost:8000`, `https://dynamodb.eu-west-1.amazonaws.com`.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use http::Uri;
use http::uri::Scheme;

/// An endpoint: scheme, host and port.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    uri: Uri,
}

/// Why an endpoint can't be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AddressError {
    #[error("`{0}` is not an endpoint; one looks like http://localhost:8000")]
    Malformed(String),
    #[error("this build of Lodestone has no https; build it with: cargo build --release --features https")]
    NoHttps,
    #[error("the system's certificates can't be read: {0}")]
    NoCertificates(String),
    #[error("the certificate of the authority can't be used: {0}")]
    NoAuthority(String),
}

impl Address {
    pub fn uri(&self) -> Uri {
        self.uri.clone()
    }

    /// Host and port, as the `Host` header names them.
    pub fn authority(&self) -> &str {
        self.uri.authority().map_or("", |authority| authority.as_str())
    }

    fn host(&self) -> &str {
        self.uri.host().unwrap_or_default().trim_matches(['[', ']'])
    }

    /// Whether it is on this machine: a loopback address, or a name that always means one.
    pub fn is_loopback(&self) -> bool {
        let host = self.host();
        let is_local_name = host == "localhost" || host.ends_with(".localhost");
        is_local_name || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    pub fn is_secure(&self) -> bool {
        self.uri.scheme() == Some(&Scheme::HTTPS)
    }

    /// The Region that an endpoint of AWS names.
    pub fn region(&self) -> Option<&str> {
        self.region_of("dynamodb")
    }

    /// The Region that an endpoint of another service of AWS names.
    pub fn region_of(&self, name: &str) -> Option<&str> {
        let (service, rest) = self.host().split_once('.')?;
        let (region, domain) = rest.split_once('.')?;
        let is_aws = ["amazonaws.com", "amazonaws.com.cn", "api.aws"].contains(&domain);
        (is_aws && service.starts_with(name)).then_some(region)
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        let malformed = || AddressError::Malformed(text.to_owned());
        let uri: Uri = text.parse().map_err(|_| malformed())?;
        let is_http = [Some(&Scheme::HTTP), Some(&Scheme::HTTPS)].contains(&uri.scheme());
        let has_no_user = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
        // Requests are signed for the path `/`, where DynamoDB answers.
        if !is_http || !has_no_user || uri.path() != "/" || uri.query().is_some() {
            return Err(malformed());
        }
        Ok(Address { uri })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.uri.scheme_str().unwrap_or_default(), self.authority())
    }
}
