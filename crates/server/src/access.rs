//! Which requests the server answers: requests to a name of this machine, from scripts of a page of this machine.
//!
//! A browser lets any page send requests to `localhost`, and signatures don't help: none is verified here.
//! Two headers tell such requests from a program's own:
//! - `Origin`: the page whose script sends the request. Browsers send it with every request that could
//!   change something; programs don't. A foreign one is refused, and so is `null`.
//! - `Host`: the name that the client was given. A page that makes its own name point to this machine (DNS
//!   rebinding) is of our origin as the browser sees it, but the name gives it away.
//!
//! A server that listens on more than loopback is meant to be reached by names that it can't know. There
//! every `Host` is answered and `Origin` alone protects, also from rebinding: a page's own name is no name
//! of this machine. Only an address may be both `Host` and `Origin`, because no page can rebind one.

use crate::reply::Reply;
use api::{Error, ErrorKind};
use hyper::Version;
use hyper::header::{HOST, HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use std::net::{IpAddr, SocketAddr};

/// Allows every host name, or every origin.
const ANY: &str = "*";

/// Hosts and origins that a server answers in addition to this machine's own names and pages.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Further names of this machine, without port; `*` for any.
    pub hosts: Vec<String>,
    /// Origins of further pages, `https://app.example`; `*` for any.
    pub origins: Vec<String>,
}

/// The names and origins that are answered, ready to be compared with headers.
#[derive(Debug)]
pub(crate) struct Guard {
    names: Vec<String>,
    any_host: bool,
    origins: Vec<String>,
    any_origin: bool,
}

/// Why a request is not answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AccessRefusal {
    /// HTTP/1.1 asks for exactly one.
    HostCount,
    Host(String),
    Origin(String),
}

/// Writes the authority of an HTTP/2 request where HTTP/1.1 has it, so that everything behind looks in one place.
/// A request that has both keeps them, and is refused if they differ.
pub(crate) fn name_host(head: &mut Parts) {
    if head.version != Version::HTTP_2 || head.headers.contains_key(HOST) {
        return;
    }
    let authority = head.uri.authority().map(|authority| HeaderValue::from_str(authority.as_str()));
    if let Some(Ok(host)) = authority {
        head.headers.insert(HOST, host);
    }
}

/// A request that may be answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Admitted {
    /// It comes from a script, which must be allowed to see the answer.
    pub(crate) is_cross_origin: bool,
}

impl Guard {
    /// For a server that listens on this address.
    pub(crate) fn new(access: &Access, address: SocketAddr) -> Guard {
        // The likeliest first.
        let mut names = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0", "[::]"].map(str::to_owned).to_vec();
        names.push(host_of(address.ip()));
        names.extend(access.hosts.iter().cloned());
        let origins = access.origins.iter().map(|origin| origin.trim_end_matches('/').to_owned()).collect();
        Guard {
            names,
            any_host: !address.ip().is_loopback() || access.hosts.iter().any(|name| name == ANY),
            origins,
            any_origin: access.origins.iter().any(|origin| origin == ANY),
        }
    }

    pub(crate) fn check(&self, head: &Parts) -> Result<Admitted, AccessRefusal> {
        let mut hosts = head.headers.get_all(HOST).iter();
        let (host, second) = (hosts.next(), hosts.next());
        if second.is_some() || (host.is_none() && head.version != Version::HTTP_10) {
            return Err(AccessRefusal::HostCount);
        }
        let named = head.uri.authority().map(|authority| authority.as_str().as_bytes());
        if head.version == Version::HTTP_2 && named.is_some() && named != host.map(HeaderValue::as_bytes) {
            return Err(AccessRefusal::HostCount);
        }
        for host in host.map(HeaderValue::as_bytes).into_iter().chain(named) {
            if !self.any_host && !self.is_ours(without_port(host)) {
                return Err(AccessRefusal::Host(shown(without_port(host))));
            }
        }
        let mut is_cross_origin = false;
        for origin in head.headers.get_all(ORIGIN) {
            is_cross_origin = true;
            if !self.allows(origin.as_bytes(), host.map(HeaderValue::as_bytes)) {
                return Err(AccessRefusal::Origin(shown(origin.as_bytes())));
            }
        }
        Ok(Admitted { is_cross_origin })
    }

    fn is_ours(&self, name: &[u8]) -> bool {
        self.names.iter().any(|ours| name.eq_ignore_ascii_case(ours.as_bytes())) || is_loopback(name)
    }

    fn allows(&self, origin: &[u8], host: Option<&[u8]>) -> bool {
        if self.any_origin || self.origins.iter().any(|known| origin.eq_ignore_ascii_case(known.as_bytes())) {
            return true;
        }
        let Some(authority) = origin.strip_prefix(b"http://").or_else(|| origin.strip_prefix(b"https://"))
        else {
            return false;
        };
        let authority = authority.strip_suffix(b"/").unwrap_or(authority);
        let name = without_port(authority);
        self.is_ours(name) || (host == Some(authority) && address(name).is_some())
    }
}

impl AccessRefusal {
    /// For programs as much as for people: SDKs show the message of such an error.
    /// `is_of_page` is whether the request asks for a page: its answer says that this is the wrong server.
    pub(crate) fn reply(&self, is_of_page: bool) -> Reply {
        let message = match self {
            AccessRefusal::HostCount => {
                return Reply::bad_request("A request must have exactly one Host header.\n");
            }
            AccessRefusal::Host(name) => format!(
                "Lodestone does not answer to the host name '{name}'. If it is a name of the machine that runs \
                 Lodestone, start it with: lodestone serve --allow-host {name}"
            ),
            AccessRefusal::Origin(origin) => format!(
                "Lodestone does not answer to scripts of the origin '{origin}'. To let them read and change \
                 every table, start it with: lodestone serve --cors {origin}"
            ),
        };
        let error = Error::new(ErrorKind::AccessDenied, message);
        match self {
            AccessRefusal::Host(_) if is_of_page => Reply::misdirected(&error),
            _ => Reply::forbidden(&error),
        }
    }
}

/// `localhost:8000` → `localhost`; `[::1]:8000` → `[::1]`.
fn without_port(authority: &[u8]) -> &[u8] {
    match authority.iter().rposition(|byte| *byte == b':') {
        Some(colon) if authority[colon + 1..].iter().all(u8::is_ascii_digit) => &authority[..colon],
        _ => authority,
    }
}

/// Every name and address that stays on the machine (RFC 6761).
fn is_loopback(name: &[u8]) -> bool {
    let suffix = name.len().checked_sub(".localhost".len()).map(|at| &name[at..]);
    suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case(b".localhost"))
        || address(name).is_some_and(|address| address.is_loopback())
}

/// The address, if it isn't a name.
fn address(host: &[u8]) -> Option<IpAddr> {
    let bare = host.strip_prefix(b"[").and_then(|host| host.strip_suffix(b"]")).unwrap_or(host);
    std::str::from_utf8(bare).ok()?.parse().ok()
}

/// As `Host` spells it.
fn host_of(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn guard(address: &str, hosts: &[&str], origins: &[&str]) -> Guard {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let access = Access { hosts: owned(hosts), origins: owned(origins) };
        Guard::new(&access, address.parse().unwrap())
    }

    fn check(guard: &Guard, headers: &[(&str, &str)]) -> Result<Admitted, AccessRefusal> {
        let mut request = Request::post("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        guard.check(&request.body(()).unwrap().into_parts().0)
    }

    const LOOPBACK: &str = "127.0.0.1:8000";
    const EVERYWHERE: &str = "0.0.0.0:8000";

    #[test]
    fn on_loopback_only_names_of_this_machine_are_answered() {
        let guard = guard(LOOPBACK, &["box", "Dynamo.test"], &[]);
        for host in [
            "localhost",
            "LOCALHOST:8000",
            "127.0.0.1:1",
            "127.0.0.2",
            "[::1]:8000",
            "0.0.0.0:8000",
            "orders.localhost:8000",
            "box:8000",
            "BOX",
            "dynamo.test",
        ] {
            assert!(check(&guard, &[("host", host)]).is_ok(), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "notlocalhost",
            "127.0.0.1.evil.example:80",
            "[::2]",
            "10.0.0.1",
            "dynamodb:8000",
            "host.docker.internal:8000",
            "box.example",
        ] {
            let name = String::from_utf8_lossy(without_port(host.as_bytes())).into_owned();
            assert_eq!(check(&guard, &[("host", host)]), Err(AccessRefusal::Host(name)));
        }
    }

    #[test]
    fn an_address_that_was_bound_or_a_star_names_more_hosts() {
        assert!(check(&guard("127.0.0.9:1", &[], &[]), &[("host", "127.0.0.9:1")]).is_ok());
        assert!(check(&guard(LOOPBACK, &["*"], &[]), &[("host", "any.example")]).is_ok());
        for address in [EVERYWHERE, "192.168.1.5:8000", "[::]:8000"] {
            assert!(check(&guard(address, &[], &[]), &[("host", "any.example")]).is_ok(), "{address}");
        }
    }

    #[test]
    fn a_request_has_one_host() {
        let guard = guard(EVERYWHERE, &[], &[]);
        assert_eq!(check(&guard, &[]), Err(AccessRefusal::HostCount));
        assert_eq!(
            check(&guard, &[("host", "localhost"), ("host", "localhost")]),
            Err(AccessRefusal::HostCount)
        );
    }

    #[test]
    fn the_host_in_the_request_line_counts_too() {
        let guard = guard(LOOPBACK, &[], &[]);
        let of = |uri: &str| {
            let request = Request::post(uri).header("host", "localhost").body(()).unwrap();
            guard.check(&request.into_parts().0)
        };
        assert!(of("http://localhost:8000/").is_ok());
        assert_eq!(of("http://evil.example/"), Err(AccessRefusal::Host("evil.example".into())));
    }

    #[test]
    fn the_authority_of_http2_is_the_host() {
        let guard = guard(LOOPBACK, &[], &[]);
        let check = |uri: &str, host: Option<&str>, origin: Option<&str>| {
            let mut request = Request::post(uri).version(Version::HTTP_2);
            for (name, value) in [("host", host), ("origin", origin)] {
                if let Some(value) = value {
                    request = request.header(name, value);
                }
            }
            let mut head = request.body(()).unwrap().into_parts().0;
            name_host(&mut head);
            guard.check(&head)
        };
        let ours = "https://localhost:8000/";
        assert!(check(ours, None, None).is_ok());
        assert!(check(ours, Some("localhost:8000"), None).is_ok());
        assert!(check(ours, None, Some("https://localhost:8000")).is_ok());
        assert_eq!(check("/", None, None), Err(AccessRefusal::HostCount), "neither");
        assert_eq!(check(ours, Some("127.0.0.1:8000"), None), Err(AccessRefusal::HostCount), "two of them");
        let foreign = Err(AccessRefusal::Host("evil.example".into()));
        assert_eq!(check("https://evil.example/", None, None), foreign);
        assert_eq!(check("/", Some("evil.example"), None), foreign);
        let page = "https://evil.example";
        assert_eq!(check(ours, None, Some(page)), Err(AccessRefusal::Origin(page.into())));
    }

    #[test]
    fn only_pages_of_this_machine_are_answered() {
        for address in [LOOPBACK, EVERYWHERE] {
            let guard = guard(address, &["box"], &["https://app.example/", "chrome-extension://abc"]);
            let from = |origin| check(&guard, &[("host", "localhost:8000"), ("origin", origin)]);
            for origin in [
                "http://localhost:3000",
                "https://localhost",
                "http://127.0.0.1:5173",
                "http://[::1]:3000",
                "http://box:8000",
                "http://app.localhost",
                "https://app.example",
                "chrome-extension://abc",
            ] {
                assert_eq!(from(origin), Ok(Admitted { is_cross_origin: true }), "{origin}");
            }
            for origin in [
                "null",
                "",
                "http://evil.example",
                "https://app.example:444",
                "http://app.example",
                "http://localhost.evil.example",
                "file://localhost",
                "http://localhost@evil.example",
                "http://10.0.0.1:8000",
            ] {
                assert_eq!(from(origin), Err(AccessRefusal::Origin(origin.into())));
            }
        }
    }

    #[test]
    fn a_page_may_not_rebind_its_name_but_an_address_may_call_itself() {
        let guard = guard(EVERYWHERE, &[], &[]);
        let check = |host, origin| check(&guard, &[("host", host), ("origin", origin)]);
        assert!(check("evil.example:8000", "http://evil.example:8000").is_err());
        assert!(check("192.168.1.5:8000", "http://192.168.1.5:8000").is_ok());
        assert!(check("[fe80::1]:8000", "http://[fe80::1]:8000").is_ok());
        assert!(check("192.168.1.5:8000", "http://192.168.1.6:8000").is_err());
        assert!(check("192.168.1.5:8000", "http://192.168.1.5:80").is_err());
    }

    #[test]
    fn a_star_allows_every_page() {
        let guard = guard(LOOPBACK, &[], &["*"]);
        for origin in ["null", "http://evil.example"] {
            assert!(check(&guard, &[("host", "localhost"), ("origin", origin)]).is_ok());
        }
    }
}
