//! A request's signature: its parts, and the checks that need no key, in AWS's order and with its texts:
//!
//! 1. one way of signing, header or query string;
//! 2. a signature at all;
//! 3. all of its parts;
//! 4. a date that can be read, and that is near the server's;
//! 5. `Host` among the signed headers;
//! 6. an algorithm we know;
//! 7. a credential of five parts whose scope fits the request.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::{AUTHORIZATION, DATE, HeaderName};
use http::request::Parts;

use crate::{canonical, time};

const AMAZON_DATE: HeaderName = HeaderName::from_static("x-amz-date");
/// What every signature is made with.
pub const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const TERMINATOR: &str = "aws4_request";
const REGION_LENGTH_MAX: usize = 64;
/// How far the client's clock may be off.
const SKEW_MAX: Duration = Duration::from_secs(15 * 60);
/// How long a presigned request may be valid: a week.
const EXPIRES_MAX_S: u64 = 604_800;
/// Headers that change what a request means: if they are there, they are signed.
const SIGNED_IF_PRESENT: [(&str, &str); 4] = [
    ("x-amz-date", "X-Amz-Date"),
    ("x-amz-target", "X-Amz-Target"),
    ("x-amz-security-token", "X-Amz-Security-Token"),
    ("x-amz-content-sha256", "X-Amz-Content-Sha256"),
];

/// Why a request is not known to be from whom it says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SignatureError {
    /// What kind of problem it is.
    pub fault: SignatureFault,
    /// AWS's text.
    pub message: String,
}

/// The kinds of problems that services have different names for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureFault {
    /// There is no signature.
    Missing,
    /// Parts of the signature are missing or can't be read.
    Incomplete,
    /// The signature is for another service, or does not cover what it must.
    Invalid,
    /// It was made too long ago, or in the future.
    Expired,
    /// The key is unknown, or its session token is not.
    UnknownKey,
    /// The session is over.
    ExpiredToken,
    /// It was made with another secret, or for another request.
    Mismatch,
}

/// The parts of a signature, from the header or from the query string.
#[derive(Debug)]
pub struct Signature<'h> {
    algorithm: Cow<'h, str>,
    /// Key id, day, Region, service and terminator.
    credential: Cow<'h, str>,
    pub(crate) signed_headers: Cow<'h, str>,
    pub(crate) signature: Cow<'h, str>,
    pub(crate) token: Option<Cow<'h, str>>,
    date: Cow<'h, str>,
    presigned: Option<Presigned<'h>>,
}

/// What a signature in the query string has more.
#[derive(Debug)]
struct Presigned<'h> {
    expires: Option<Cow<'h, str>>,
}

/// Whose signature it says it is, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Scope<'s> {
    pub key_id: &'s str,
    pub day: &'s str,
    pub region: &'s str,
    pub service: &'s str,
}

impl<'h> Signature<'h> {
    /// Checks 1 to 3.
    pub fn read(head: &'h Parts) -> Result<Signature<'h>, SignatureError> {
        let query = head.uri.query().filter(|query| parameter(query, "X-Amz-Algorithm").is_some());
        let header = head.headers.get(AUTHORIZATION).map(|value| String::from_utf8_lossy(value.as_bytes()));
        match (query, header) {
            (Some(_), Some(_)) => Err(invalid(
                "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.",
            )),
            (Some(query), None) => Signature::of_query(query),
            (None, Some(header)) if header.starts_with("AWS4-") => {
                Signature::of_header(header, &head.headers)
            }
            (None, _) => {
                Err(fault(SignatureFault::Missing, "Request is missing Authentication Token".to_owned()))
            }
        }
    }

    fn of_header(header: Cow<'h, str>, headers: &'h HeaderMap) -> Result<Signature<'h>, SignatureError> {
        // The parts are separated by spaces, commas or both.
        let mut words = header.split([' ', ',']).filter(|word| !word.is_empty());
        let algorithm = words.next().unwrap_or_default();
        let (mut credential, mut signed_headers, mut signature) = (None, None, None);
        for (name, value) in words.filter_map(|word| word.split_once('=')) {
            match name {
                "Credential" => credential = Some(value),
                "SignedHeaders" => signed_headers = Some(value),
                "Signature" => signature = Some(value),
                _ => {}
            }
        }
        let date = headers.get(AMAZON_DATE).or_else(|| headers.get(DATE));
        let (Some(credential), Some(signature), Some(signed_headers), Some(date)) =
            (credential, signature, signed_headers, date)
        else {
            let mut message = String::new();
            for (name, present) in [
                ("Credential", credential.is_some()),
                ("Signature", signature.is_some()),
                ("SignedHeaders", signed_headers.is_some()),
            ] {
                if !present {
                    let _ = write!(message, "Authorization header requires '{name}' parameter. ");
                }
            }
            if date.is_none() {
                message.push_str(
                    "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ",
                );
            }
            let _ = write!(message, "Authorization={header}");
            return Err(incomplete(message));
        };
        let token = headers.get("x-amz-security-token");
        Ok(Signature {
            algorithm: algorithm.to_owned().into(),
            credential: credential.to_owned().into(),
            signed_headers: signed_headers.to_owned().into(),
            signature: signature.to_owned().into(),
            token: token.map(|token| String::from_utf8_lossy(token.as_bytes())),
            date: String::from_utf8_lossy(date.as_bytes()),
            presigned: None,
        })
    }

    fn of_query(query: &'h str) -> Result<Signature<'h>, SignatureError> {
        let given = |name: &str| parameter(query, name).filter(|value| !value.is_empty());
        let required =
            ["X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Signature", "X-Amz-SignedHeaders", "X-Amz-Date"];
        let [Some(algorithm), Some(credential), Some(signature), Some(signed_headers), Some(date)] =
            required.map(given)
        else {
            let mut message = String::new();
            for name in required.into_iter().filter(|name| given(name).is_none()) {
                let _ = write!(message, "AWS query-string parameters must include '{name}'. ");
            }
            message.push_str("Re-examine the query-string parameters.");
            return Err(incomplete(message));
        };
        let token = given("X-Amz-Security-Token");
        let presigned = Some(Presigned { expires: given("X-Amz-Expires") });
        Ok(Signature { algorithm, credential, signed_headers, signature, token, date, presigned })
    }

    /// Checks 4 to 7. Without a time, the date may be of any age: where no signature is verified, an old one proves as
    /// much as a new one.
    pub fn scope(&self, service: &str, now: Option<SystemTime>) -> Result<Scope<'_>, SignatureError> {
        let (time, day) = self.time()?;
        if let Some(now) = now {
            self.check_age(time, now)?;
        }
        if !self.is_signed("host") {
            return Err(not_signed("Host' or ':authority"));
        }
        if self.algorithm != ALGORITHM {
            return Err(incomplete(format!("Unsupported AWS 'algorithm': '{}'.", self.algorithm)));
        }
        let mut parts = self.credential.split('/');
        let five = [(); 5].map(|()| parts.next());
        let ([Some(key_id), Some(scope_day), Some(region), Some(scope_service), Some(terminator)], None) =
            (five, parts.next())
        else {
            return Err(incomplete(format!(
                "Credential must have exactly 5 slash-delimited elements, \
                 e.g. keyid/date/region/service/term, got '{}'",
                self.credential
            )));
        };
        let mut problems = String::new();
        if !is_region(region) {
            let _ = write!(problems, "Credential should be scoped to a valid region, not '{region}'. ");
        }
        if scope_service != service {
            let _ = write!(problems, "Credential should be scoped to correct service: '{service}'. ");
        }
        if terminator != TERMINATOR {
            let _ = write!(
                problems,
                "Credential should be scoped with a valid terminator: '{TERMINATOR}', not '{terminator}'. "
            );
        }
        if let Some(day) = day.filter(|day| *day != scope_day) {
            let _ = write!(
                problems,
                "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: \
                 '{scope_day}' != '{day}', from '{}'. ",
                self.date
            );
        }
        if !problems.is_empty() {
            return Err(invalid(problems.trim_end()));
        }
        Ok(Scope { key_id, day: scope_day, region, service: scope_service })
    }

    /// Refuses a request with a header that changes its meaning and is not signed.
    pub(crate) fn check_coverage(&self, headers: &HeaderMap, service: &str) -> Result<(), SignatureError> {
        for (name, shown) in SIGNED_IF_PRESENT {
            // Clients of DAX send the token beside what they sign. It is compared with the key's own in any case.
            let may_be_unsigned = service == "dax" && name == "x-amz-security-token";
            if headers.contains_key(name) && !self.is_signed(name) && !may_be_unsigned {
                return Err(not_signed(shown));
            }
        }
        Ok(())
    }

    fn is_signed(&self, header: &str) -> bool {
        self.signed_headers.split(';').any(|name| name.eq_ignore_ascii_case(header))
    }

    /// The Region in the credential.
    pub(crate) fn region(&self) -> &str {
        self.credential.split('/').nth(2).unwrap_or_default()
    }

    /// The date as the string to sign has it.
    pub(crate) fn basic_date(&self) -> Result<String, SignatureError> {
        Ok(match self.time()? {
            (_, Some(_)) => self.date.trim().to_owned(),
            (time, None) => time::basic(time),
        })
    }

    /// The date and its YYYYMMDD; no day if it is in HTTP's own form, `Sun, 06 Nov 1994 08:49:37 GMT`, which is not
    /// compared with the credential.
    fn time(&self) -> Result<(SystemTime, Option<&str>), SignatureError> {
        let date = self.date.trim();
        if let Some(time) = time::parse_basic(date) {
            return Ok((time, Some(&date[..8])));
        }
        match httpdate::parse_http_date(date) {
            Ok(time) => Ok((time, None)),
            Err(_) => Err(incomplete(format!(
                "Date must be in ISO-8601 'basic format'. Got '{date}'. See http://en.wikipedia.org/wiki/ISO_8601"
            ))),
        }
    }

    fn check_age(&self, time: SystemTime, now: SystemTime) -> Result<(), SignatureError> {
        let expired = |message: String| Err(fault(SignatureFault::Expired, message));
        if time > now + SKEW_MAX {
            let (date, limit, shown) = (time::basic(time), time::basic(now + SKEW_MAX), time::basic(now));
            return expired(format!(
                "Signature not yet current: {date} is still later than {limit} ({shown} + 15 min.)"
            ));
        }
        if let Some(expires) = self.presigned.as_ref().and_then(|presigned| presigned.expires.as_deref()) {
            let seconds = expires.parse().ok().filter(|seconds| (1..=EXPIRES_MAX_S).contains(seconds));
            let Some(seconds) = seconds else {
                return Err(incomplete(format!(
                    "X-Amz-Expires must be a number of seconds from 1 to {EXPIRES_MAX_S}, not '{expires}'."
                )));
            };
            let end = time + Duration::from_secs(seconds);
            return match now > end {
                true => expired(format!(
                    "Signature expired: {} is now earlier than {}",
                    time::basic(end),
                    time::basic(now)
                )),
                false => Ok(()),
            };
        }
        if now > time + SKEW_MAX {
            let (date, limit, shown) = (time::basic(time), time::basic(now - SKEW_MAX), time::basic(now));
            return expired(format!(
                "Signature expired: {date} is now earlier than {limit} ({shown} - 15 min.)"
            ));
        }
        Ok(())
    }
}

/// Any name that a Region could have: clients of local databases invent their own.
fn is_region(region: &str) -> bool {
    (1..=REGION_LENGTH_MAX).contains(&region.len())
        && region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// A query-string parameter's value, unescaped.
fn parameter<'q>(query: &'q str, name: &str) -> Option<Cow<'q, str>> {
    let mut pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.find(|(found, _)| *found == name).map(|(_, value)| match value.contains('%') {
        true => String::from_utf8_lossy(&canonical::unescape(value)).into_owned().into(),
        false => value.into(),
    })
}

pub(crate) fn fault(fault: SignatureFault, message: String) -> SignatureError {
    SignatureError { fault, message }
}

fn invalid(message: impl Into<String>) -> SignatureError {
    fault(SignatureFault::Invalid, message.into())
}

fn incomplete(message: String) -> SignatureError {
    fault(SignatureFault::Incomplete, message)
}

fn not_signed(header: &str) -> SignatureError {
    invalid(format!("'{header}' must be a 'SignedHeader' in the AWS Authorization."))
}
