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
const SECURITY_TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");
/// What every signature is made with.
pub const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const TERMINATOR: &str = "aws4_request";
const REGION_LENGTH_MAX: usize = 64;
/// How far the client's clock may be off.
const SKEW_MAX: Duration = Duration::from_secs(15 * 60);
/// How long a presigned request may be valid: a week.
const EXPIRES_MAX_S: u64 = 604_800;
/// Headers that change what a request means: if they are there, they are signed.
const SIGNED_IF_PRESENT: [(HeaderName, &str); 4] = [
    (AMAZON_DATE, "X-Amz-Date"),
    (HeaderName::from_static("x-amz-target"), "X-Amz-Target"),
    (SECURITY_TOKEN, "X-Amz-Security-Token"),
    (HeaderName::from_static("x-amz-content-sha256"), "X-Amz-Content-Sha256"),
];

/// Why the signature of a request does not prove who sent it.
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

/// The parts of an `Authorization` header, as far as they are there.
#[derive(Debug)]
struct HeaderParts<'h> {
    algorithm: Cow<'h, str>,
    credential: Option<Cow<'h, str>>,
    signed_headers: Option<Cow<'h, str>>,
    signature: Option<Cow<'h, str>>,
}

impl<'h> HeaderParts<'h> {
    /// They are separated by spaces, commas or both.
    fn read<'t>(text: &'t str, keep: impl Fn(&'t str) -> Cow<'h, str>) -> HeaderParts<'h> {
        let mut words = text.split([' ', ',']).filter(|word| !word.is_empty());
        let algorithm = keep(words.next().unwrap_or_default());
        let (mut credential, mut signed_headers, mut signature) = (None, None, None);
        for (name, value) in words.filter_map(|word| word.split_once('=')) {
            match name {
                "Credential" => credential = Some(keep(value)),
                "SignedHeaders" => signed_headers = Some(keep(value)),
                "Signature" => signature = Some(keep(value)),
                _ => {}
            }
        }
        HeaderParts { algorithm, credential, signed_headers, signature }
    }
}

/// What a signature in the query string has more.
#[derive(Debug)]
struct Presigned<'h> {
    expires: Option<Cow<'h, str>>,
}

/// The access key that a signature names, and what the signature is for.
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
        let HeaderParts { algorithm, credential, signed_headers, signature } = match &header {
            Cow::Borrowed(text) => HeaderParts::read(text, Cow::Borrowed),
            Cow::Owned(text) => HeaderParts::read(text, |part| Cow::Owned(part.to_owned())),
        };
        let date = headers.get(AMAZON_DATE).or_else(|| headers.get(DATE));
        let present = [
            ("Credential", credential.is_some()),
            ("Signature", signature.is_some()),
            ("SignedHeaders", signed_headers.is_some()),
        ];
        let (Some(credential), Some(signature), Some(signed_headers), Some(date)) =
            (credential, signature, signed_headers, date)
        else {
            let mut message = String::new();
            for (name, is_present) in present {
                if !is_present {
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
        let token = headers.get(SECURITY_TOKEN);
        Ok(Signature {
            algorithm,
            credential,
            signed_headers,
            signature,
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
        let (scope, terminator) = self.credential()?;
        let mut problems = String::new();
        if !is_region(scope.region) {
            let region = scope.region;
            let _ = write!(problems, "Credential should be scoped to a valid region, not '{region}'. ");
        }
        if scope.service != service {
            let _ = write!(problems, "Credential should be scoped to correct service: '{service}'. ");
        }
        if terminator != TERMINATOR {
            let _ = write!(
                problems,
                "Credential should be scoped with a valid terminator: '{TERMINATOR}', not '{terminator}'. "
            );
        }
        if let Some(day) = day.filter(|day| *day != scope.day) {
            let _ = write!(
                problems,
                "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: \
                 '{}' != '{day}', from '{}'. ",
                scope.day, self.date
            );
        }
        if !problems.is_empty() {
            return Err(invalid(problems.trim_end()));
        }
        Ok(scope)
    }

    /// The credential's parts as they are, and the last of them.
    pub(crate) fn credential(&self) -> Result<(Scope<'_>, &str), SignatureError> {
        let mut parts = self.credential.split('/');
        let five = [(); 5].map(|()| parts.next());
        let ([Some(key_id), Some(day), Some(region), Some(service), Some(terminator)], None) =
            (five, parts.next())
        else {
            return Err(incomplete(format!(
                "Credential must have exactly 5 slash-delimited elements, \
                 e.g. keyid/date/region/service/term, got '{}'",
                self.credential
            )));
        };
        Ok((Scope { key_id, day, region, service }, terminator))
    }

    /// Refuses a request with a header that changes its meaning and is not signed.
    pub(crate) fn check_coverage(&self, headers: &HeaderMap, service: &str) -> Result<(), SignatureError> {
        for (name, shown) in SIGNED_IF_PRESENT {
            // Clients of DAX send the token beside what they sign. It is compared with the key's own in any case.
            let may_be_unsigned = service == "dax" && name == "x-amz-security-token";
            if headers.contains_key(&name) && !self.is_signed(name.as_str()) && !may_be_unsigned {
                return Err(not_signed(shown));
            }
        }
        Ok(())
    }

    fn is_signed(&self, header: &str) -> bool {
        let mut names = self.signed_headers.as_bytes().split(|byte| *byte == b';');
        names.any(|name| name.eq_ignore_ascii_case(header.as_bytes()))
    }

    /// The Region in the credential.
    pub(crate) fn region(&self) -> &str {
        self.credential.split('/').nth(2).unwrap_or_default()
    }

    /// The date as the string to sign has it.
    pub(crate) fn basic_date(&self) -> Result<Cow<'_, str>, SignatureError> {
        let date = self.date.trim();
        if time::is_basic(date) {
            return Ok(date.into());
        }
        Ok(time::basic(self.time()?.0).into())
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
