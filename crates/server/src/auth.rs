//! From a request's signature to its caller.
//!
//! With an access file, the `iam` crate verifies each signature, and policies say what its sender may do. Without one,
//! the server knows no secrets: it checks that a signature is well formed, and dates may be of any age, because an old
//! signature proves as much as a new one. Then the access key chooses the account if it is an account id. The credential
//! scope chooses the Region in either case.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use api::{Error, ErrorKind};
use engine::{Caller, Namespace};
use hyper::header::USER_AGENT;
use hyper::http::request::Parts;
use iam::signature::{Signature, SignatureError, SignatureFault};
use iam::{Authority, Circumstances};

/// The account of every access key that isn't an account id itself.
const DEFAULT_ACCOUNT: &str = "000000000000";
const SHARED_REGION: &str = "us-east-1";

/// What verifies signatures.
#[derive(Clone, Debug)]
pub struct Verification {
    /// Has the keys, and may get others while the server runs.
    pub authority: Arc<Authority>,
    /// The time that signatures are compared with.
    pub now: fn() -> SystemTime,
}

/// The sender of a request to the service with this signing name, from this address. `payload` is the body as it was
/// received.
pub fn caller(
    verification: Option<&Verification>,
    head: &Parts,
    service: &str,
    payload: &[u8],
    source_ip: IpAddr,
    is_secure: bool,
) -> Result<Caller, Error> {
    verified_caller(verification, head, service, payload, source_ip, is_secure).map_err(json_error)
}

/// As [`caller`], with the fault of the signature.
pub(crate) fn verified_caller(
    verification: Option<&Verification>,
    head: &Parts,
    service: &str,
    payload: &[u8],
    source_ip: IpAddr,
    is_secure: bool,
) -> Result<Caller, SignatureError> {
    let Some(Verification { authority, now }) = verification else { return stated_caller(head, service) };
    let now = now();
    let claim = authority.claim(head, service, now)?;
    let identity = claim.verify(payload, is_secure)?;
    let user_agent = head.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
    let circumstances = Circumstances {
        now,
        source_ip: Some(source_ip),
        secure_transport: is_secure,
        region: claim.region().to_owned(),
        user_agent: user_agent.map(str::to_owned),
    };
    Ok(Caller::verified(identity, circumstances))
}

/// The account and Region that a signature names, without any proof.
fn stated_caller(head: &Parts, service: &str) -> Result<Caller, SignatureError> {
    let signature = Signature::read(head)?;
    let scope = signature.scope(service, None)?;
    let account = if is_account(scope.key_id) { scope.key_id } else { DEFAULT_ACCOUNT };
    Ok(Caller::new(account, scope.region).with_access_key(scope.key_id))
}

/// The account and Region of all callers, if they share their tables: those that commands and the studio have by default.
pub(crate) fn shared_namespace() -> Namespace {
    Namespace::new(DEFAULT_ACCOUNT, SHARED_REGION)
}

/// Refuses a request for a Region that another server has.
pub(crate) fn check_region(caller: &Caller, served: Option<&str>) -> Result<(), SignatureError> {
    let asked = &*caller.namespace.region;
    if served.is_none_or(|served| served == asked) {
        return Ok(());
    }
    let message = format!("Credential should be scoped to a valid region, not '{asked}'.");
    Err(SignatureError { fault: SignatureFault::Invalid, message })
}

fn is_account(key: &str) -> bool {
    key.len() == DEFAULT_ACCOUNT.len() && key.bytes().all(|byte| byte.is_ascii_digit())
}

/// The error as services with JSON have it.
pub(crate) fn json_error(error: SignatureError) -> Error {
    let kind = match error.fault {
        SignatureFault::Missing => ErrorKind::MissingAuthenticationToken,
        SignatureFault::Incomplete => ErrorKind::IncompleteSignature,
        SignatureFault::Invalid | SignatureFault::Expired | SignatureFault::Mismatch => {
            ErrorKind::InvalidSignature
        }
        SignatureFault::UnknownKey => ErrorKind::UnrecognizedClient,
        SignatureFault::ExpiredToken => ErrorKind::ExpiredToken,
    };
    Error::new(kind, error.message)
}
