//! GetCallerIdentity of AWS's Security Token Service: who does the server think I am? Terraform and `aws sts` ask it. It
//! needs no permission. The request is a form, the answer XML.

use bytes::Bytes;
use engine::{Caller, Principal};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use iam::signature::{SignatureError, SignatureFault};
use iam::{Identity, IdentityKind};

/// The service's name in a credential scope.
pub(crate) const SIGNING_NAME: &str = "sts";
const NAMESPACE: &str = "https://sts.amazonaws.com/doc/2011-06-15/";

/// Whether a body is a form.
pub(crate) fn is_form(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name = content_type.split(';').next().unwrap_or_default().trim();
    name.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// Whether a form asks for GetCallerIdentity.
pub(crate) fn is_get_caller_identity(form: &[u8]) -> bool {
    let mut pairs = form.split(|byte| *byte == b'&');
    pairs.any(|pair| pair == b"Action=GetCallerIdentity")
}

pub(crate) fn answer(caller: &Caller, request_id: &[u8]) -> Response<Bytes> {
    let account = &*caller.namespace.account;
    let (arn, user_id) = match &caller.principal {
        Principal::Verified(verified) => (verified.identity.arn.clone(), verified.identity.user_id.clone()),
        // Without an access file everyone is the root of their account.
        Principal::Anonymous | Principal::AccessKey(_) => {
            let root = Identity::new(account, IdentityKind::Root);
            (root.arn, root.user_id)
        }
    };
    let (arn, user_id, account) = (escaped(&arn), escaped(&user_id), escaped(account));
    let request_id = String::from_utf8_lossy(request_id);
    xml(
        StatusCode::OK,
        format!(
            "<GetCallerIdentityResponse xmlns=\"{NAMESPACE}\"><GetCallerIdentityResult><Arn>{arn}</Arn>\
             <UserId>{user_id}</UserId><Account>{account}</Account></GetCallerIdentityResult>\
             <ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata>\
             </GetCallerIdentityResponse>"
        ),
    )
}

/// The error as services with forms and XML have it.
pub(crate) fn error(error: &SignatureError, request_id: &[u8]) -> Response<Bytes> {
    let code = match error.fault {
        SignatureFault::Missing => "MissingAuthenticationToken",
        SignatureFault::Incomplete => "IncompleteSignature",
        SignatureFault::Invalid | SignatureFault::Expired | SignatureFault::Mismatch => {
            "SignatureDoesNotMatch"
        }
        SignatureFault::UnknownKey => "InvalidClientTokenId",
        SignatureFault::ExpiredToken => "ExpiredToken",
    };
    let (message, request_id) = (escaped(&error.message), String::from_utf8_lossy(request_id));
    xml(
        StatusCode::FORBIDDEN,
        format!(
            "<ErrorResponse xmlns=\"{NAMESPACE}\"><Error><Type>Sender</Type><Code>{code}</Code>\
             <Message>{message}</Message></Error><RequestId>{request_id}</RequestId></ErrorResponse>"
        ),
    )
}

fn xml(status: StatusCode, body: String) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/xml"));
    response
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
