//! From a request's signature to its caller.
//!
//! The checks of signature version 4, in AWS's order and with its texts:
//! 1. one way of signing, header or query string;
//! 2. a signature at all;
//! 3. all of its parts;
//! 4. a date that can be read;
//! 5. `Host` among the signed headers;
//! 6. an algorithm we know;
//! 7. a credential of five parts whose scope fits the request.
//!
//! The server knows no secrets yet. So it does not verify the signature itself, and dates may be of any age:
//! an old signature proves as much as a new one. The access key chooses
//! the account if it is an account id, and the credential scope chooses the Region.

use api::{Error, ErrorKind, Service};
use engine::Caller;
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, DATE, HeaderName};
use hyper::http::request::Parts;
use std::borrow::Cow;
use std::fmt::Write;

const AMAZON_DATE: HeaderName = HeaderName::from_static("x-amz-date");
/// The account of every access key that isn't an account id itself.
const DEFAULT_ACCOUNT: &str = "000000000000";
const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const TERMINATOR: &str = "aws4_request";
const REGION_LENGTH_MAX: usize = 64;

/// The parts of a signature, from the header or from the query string.
struct Signature<'a> {
    algorithm: Cow<'a, str>,
    credential: Cow<'a, str>,
    signed_headers: Cow<'a, str>,
    date: Cow<'a, str>,
}

/// The account and Region that the signature names.
pub(crate) fn caller(head: &Parts, service: Service) -> Result<Caller, Error> {
    let query = head.uri.query().filter(|query| parameter(query, "X-Amz-Algorithm").is_some());
    let header = head.headers.get(AUTHORIZATION).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let signature = match (query, header) {
        (Some(_), Some(_)) => return Err(signed_twice()),
        (Some(query), None) => Signature::of_query(query)?,
        (None, Some(header)) if header.starts_with("AWS4-") => {
            return Signature::of_header(&header, &head.headers)?.caller(service);
        }
        (None, _) => return Err(unsigned()),
    };
    signature.caller(service)
}

impl<'a> Signature<'a> {
    fn of_header(header: &'a str, headers: &'a HeaderMap) -> Result<Signature<'a>, Error> {
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
        match (credential, signature, signed_headers, date) {
            (Some(credential), Some(_), Some(signed_headers), Some(date)) => Ok(Signature {
                algorithm: algorithm.into(),
                credential: credential.into(),
                signed_headers: signed_headers.into(),
                date: String::from_utf8_lossy(date.as_bytes()),
            }),
            _ => Err(incomplete_header(
                header,
                credential.is_some(),
                signature.is_some(),
                signed_headers.is_some(),
                date.is_some(),
            )),
        }
    }

    fn of_query(query: &'a str) -> Result<Signature<'a>, Error> {
        let algorithm = parameter(query, "X-Amz-Algorithm").filter(|value| !value.is_empty());
        let credential = parameter(query, "X-Amz-Credential").filter(|value| !value.is_empty());
        let signature = parameter(query, "X-Amz-Signature").filter(|value| !value.is_empty());
        let signed_headers = parameter(query, "X-Amz-SignedHeaders").filter(|value| !value.is_empty());
        let date = parameter(query, "X-Amz-Date").filter(|value| !value.is_empty());
        let mut missing = String::new();
        for (name, present) in [
            ("X-Amz-Algorithm", algorithm.is_some()),
            ("X-Amz-Credential", credential.is_some()),
            ("X-Amz-Signature", signature.is_some()),
            ("X-Amz-SignedHeaders", signed_headers.is_some()),
            ("X-Amz-Date", date.is_some()),
        ] {
            if !present {
                let _ = write!(missing, "AWS query-string parameters must include '{name}'. ");
            }
        }
        match (algorithm, credential, signed_headers, date, signature) {
            (Some(algorithm), Some(credential), Some(signed_headers), Some(date), Some(_)) => {
                Ok(Signature { algorithm, credential, signed_headers, date })
            }
            _ => Err(incomplete(format!("{missing}Re-examine the query-string parameters."))),
        }
    }

    /// Checks 4 to 7.
    fn caller(&self, service: Service) -> Result<Caller, Error> {
        let day = self.day()?;
        if !self.signed_headers.split(';').any(|name| name.eq_ignore_ascii_case("host")) {
            return Err(invalid("'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization."));
        }
        if self.algorithm != ALGORITHM {
            return Err(incomplete(format!("Unsupported AWS 'algorithm': '{}'.", self.algorithm)));
        }
        let mut parts = self.credential.split('/');
        let five = [(); 5].map(|()| parts.next());
        let ([Some(key), Some(scope_day), Some(region), Some(scope_service), Some(terminator)], None) =
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
        if scope_service != service.signing_name() {
            let expected = service.signing_name();
            let _ = write!(problems, "Credential should be scoped to correct service: '{expected}'. ");
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
        let account = if is_account(key) { key } else { DEFAULT_ACCOUNT };
        Ok(Caller::new(account, region).with_access_key(key))
    }

    /// The date's YYYYMMDD. `None` if it is in HTTP's own form, `Sun, 06 Nov 1994 08:49:37 GMT`, which is not
    /// compared with the credential.
    fn day(&self) -> Result<Option<&str>, Error> {
        let date = self.date.trim();
        if is_basic_date(date) {
            Ok(Some(&date[..8]))
        } else if date.ends_with(" GMT") && date.len() == "Sun, 06 Nov 1994 08:49:37 GMT".len() {
            Ok(None)
        } else {
            Err(incomplete(format!(
                "Date must be in ISO-8601 'basic format'. Got '{date}'. See http://en.wikipedia.org/wiki/ISO_8601"
            )))
        }
    }
}

/// `YYYYMMDD'T'HHMMSS'Z'`, each part in its range.
fn is_basic_date(date: &str) -> bool {
    let bytes = date.as_bytes();
    let within = |from: usize, to: usize, first: u8, last: u8| {
        let digits = &bytes[from..to];
        digits.iter().all(u8::is_ascii_digit)
            && (first..=last).contains(&digits.iter().fold(0, |number, digit| number * 10 + (digit - b'0')))
    };
    bytes.len() == 16
        && bytes[8] == b'T'
        && bytes[15] == b'Z'
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && within(4, 6, 1, 12)
        && within(6, 8, 1, 31)
        && within(9, 11, 0, 23)
        && within(11, 13, 0, 59)
        && within(13, 15, 0, 60)
}

/// Any name that a Region could have: clients of local databases invent their own.
fn is_region(region: &str) -> bool {
    (1..=REGION_LENGTH_MAX).contains(&region.len())
        && region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

fn is_account(key: &str) -> bool {
    key.len() == DEFAULT_ACCOUNT.len() && key.bytes().all(|byte| byte.is_ascii_digit())
}

/// A query-string parameter's value, unescaped.
fn parameter<'a>(query: &'a str, name: &str) -> Option<Cow<'a, str>> {
    query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .find(|(found, _)| *found == name)
        .map(|(_, value)| unescape(value))
}

fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return text.into();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        let escaped = (byte == b'%').then(|| behind.get(..2)).flatten().and_then(|hex| {
            let hex =
                std::str::from_utf8(hex).ok().filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))?;
            u8::from_str_radix(hex, 16).ok()
        });
        bytes.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned().into()
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidSignature, message)
}

fn incomplete(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::IncompleteSignature, message)
}

fn signed_twice() -> Error {
    invalid("Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.")
}

fn unsigned() -> Error {
    Error::new(ErrorKind::MissingAuthenticationToken, "Request is missing Authentication Token")
}

fn incomplete_header(
    header: &str,
    credential: bool,
    signature: bool,
    signed_headers: bool,
    date: bool,
) -> Error {
    let mut message = String::new();
    for (name, present) in
        [("Credential", credential), ("Signature", signature), ("SignedHeaders", signed_headers)]
    {
        if !present {
            let _ = write!(message, "Authorization header requires '{name}' parameter. ");
        }
    }
    if !date {
        message.push_str(
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ",
        );
    }
    let _ = write!(message, "Authorization={header}");
    incomplete(message)
}
