//! Which requests are refused.
//!
//! A page of another site must not reach the database through its user's browser:
//! 1. `Host` is a loopback name, or a name that `--allow-host` lists: a name that an attacker's DNS points at
//!    this machine is refused (421). Where other machines can reach it, it may also be an address: no DNS
//!    can point at this machine without it;
//! 2. `Origin` and `Sec-Fetch-Site`, where a browser sends them, say that our own page asks (403);
//! 3. the door wants POST, JSON and a header of its own, so that a browser asks first (preflight), and the
//!    studio never grants;
//! 4. where other machines can reach it, or an access file asks for keys, the header holds the token that the ready
//!    line shows, or the number of a session that began with a key of that file (401).
//!
//! There are no cookies, so a browser adds nothing to a request by itself.

use std::net::IpAddr;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderName, Method, Response, StatusCode};

use serde_json::json;

use crate::sessions::Sessions;
use crate::{Options, PATH, reply};

/// Its value is the token, where there is one.
pub const HEADER: HeaderName = HeaderName::from_static("x-lodestone-studio");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The request was meant for another server.
    Misdirected,
    OtherOrigin,
    NotGet,
    NotPost,
    NotJson,
    NoHeader,
    WrongToken,
    NotSignedIn,
}

impl Refusal {
    fn status_and_message(self) -> (StatusCode, &'static str) {
        match self {
            Refusal::Misdirected => (
                StatusCode::MISDIRECTED_REQUEST,
                "The studio answers to localhost and to the address it listens on, not to this host name.",
            ),
            Refusal::OtherOrigin => (
                StatusCode::FORBIDDEN,
                "Only the studio's own pages may ask: this request comes from elsewhere.",
            ),
            Refusal::NotGet => (StatusCode::METHOD_NOT_ALLOWED, "Pages of the studio are read with GET."),
            Refusal::NotPost => (StatusCode::METHOD_NOT_ALLOWED, "The studio's door takes POST."),
            Refusal::NotJson => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "The studio's door takes JSON: send content-type: application/json.",
            ),
            Refusal::NoHeader => {
                (StatusCode::FORBIDDEN, "The header x-lodestone-studio is missing: send it with any value.")
            }
            Refusal::WrongToken => (
                StatusCode::UNAUTHORIZED,
                "This studio can be reached from other machines and asks for its token: \
                 open the address that the server printed when it started.",
            ),
            Refusal::NotSignedIn => (
                StatusCode::UNAUTHORIZED,
                "This server has an access file: sign in with a key of it, or open the address that the server printed \
                 when it started.",
            ),
        }
    }

    pub fn response(self) -> Response<Bytes> {
        let (status, message) = self.status_and_message();
        let signs_in = self == Refusal::NotSignedIn;
        reply::json(status, &json!({ "message": message, "signIn": signs_in }))
    }
}

pub fn admit(head: &Parts, options: &Options, sessions: &Sessions) -> Result<(), Refusal> {
    let host = head.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host_name(host);
    if !is_loopback_name(name) && !is_named(name, options) {
        return Err(Refusal::Misdirected);
    }
    let is_door = head.uri.path().strip_prefix(PATH).is_some_and(|rest| rest.starts_with("/api/"));
    if !is_door {
        let reads = matches!(head.method, Method::GET | Method::HEAD);
        return if reads { Ok(()) } else { Err(Refusal::NotGet) };
    }
    if is_from_elsewhere(head, host) {
        return Err(Refusal::OtherOrigin);
    }
    if head.method != Method::POST {
        return Err(Refusal::NotPost);
    }
    let content_type =
        head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !content_type
        .split(';')
        .next()
        .is_some_and(|name| name.trim().eq_ignore_ascii_case("application/json"))
    {
        return Err(Refusal::NotJson);
    }
    let header = head.headers.get(HEADER).ok_or(Refusal::NoHeader)?;
    let Some(token) = &options.token else { return Ok(()) };
    let is_signing_in = head.uri.path().strip_prefix(PATH) == Some("/api/signin") && options.has_keys();
    let is_signed_in = || header.to_str().is_ok_and(|id| sessions.key(id).is_some());
    match is_same(header.as_bytes(), token.as_bytes()) || is_signing_in || is_signed_in() {
        true => Ok(()),
        false if options.has_keys() => Err(Refusal::NotSignedIn),
        false => Err(Refusal::WrongToken),
    }
}

fn is_named(name: &str, options: &Options) -> bool {
    let is_address = || options.token.is_some() && name.parse::<IpAddr>().is_ok();
    options.hosts.iter().any(|known| known == "*" || known.eq_ignore_ascii_case(name)) || is_address()
}

/// Browsers say where a request comes from. Other clients send neither header.
fn is_from_elsewhere(head: &Parts, host: &str) -> bool {
    let text = |name: &HeaderName| head.headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let other_origin = text(&ORIGIN).is_some_and(|origin| {
        let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        !authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
    });
    other_origin || text(&FETCH_SITE).is_some_and(|site| site != "same-origin")
}

/// `[::1]:8000` -> `::1`, `localhost:8000` -> `localhost`.
fn host_name(host: &str) -> &str {
    if let Some((inside, _)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return inside;
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

/// Names that mean this machine, whatever DNS answers.
pub fn is_loopback_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Takes the same time for every token of the right length.
fn is_same(given: &[u8], token: &[u8]) -> bool {
    given.len() == token.len()
        && given.iter().zip(token).fold(0, |differs, (one, other)| differs | (one ^ other)) == 0
}
