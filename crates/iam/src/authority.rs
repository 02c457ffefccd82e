//! Verifies signatures with the keys of a directory, which can be replaced while requests come in.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;

use http::request::Parts;
use parking_lot::RwLock;
use ring::{digest, hmac};

use crate::directory::AccessKey;
use crate::signature::{ALGORITHM, Scope, Signature, SignatureError, SignatureFault, fault};
use crate::{Directory, Identity, canonical};

/// Says who sends a request.
#[derive(Debug)]
pub struct Authority {
    directory: RwLock<Arc<Directory>>,
}

/// A request whose head is in order; its signature is verified when its body is there.
#[derive(Debug)]
pub struct Claim<'h> {
    head: &'h Parts,
    signature: Signature<'h>,
    key: Arc<AccessKey>,
    directory: Arc<Directory>,
}

impl Authority {
    /// Knows the keys of this directory.
    pub fn new(directory: Directory) -> Authority {
        Authority { directory: RwLock::new(Arc::new(directory)) }
    }

    /// From now on, knows the keys of this directory alone.
    pub fn replace(&self, directory: Directory) {
        *self.directory.write() = Arc::new(directory);
    }

    /// The account whose users may be allowed to administer the server.
    pub fn operator_account(&self) -> String {
        self.directory.read().operator.clone()
    }

    /// Checks the head of a request to this service. No body is needed, so a sender without a known key costs
    /// nothing more.
    pub fn claim<'h>(
        &self,
        head: &'h Parts,
        service: &str,
        now: SystemTime,
    ) -> Result<Claim<'h>, SignatureError> {
        let signature = Signature::read(head)?;
        let scope = signature.scope(service, Some(now))?;
        signature.check_coverage(&head.headers, service)?;
        let directory = self.directory.read().clone();
        let key = directory.key(scope.key_id).filter(|key| key.is_active).ok_or_else(unknown_key)?.clone();
        if let Some(token) = &key.token {
            let sent = signature.token.as_deref().unwrap_or_default();
            if !is_same(sent.as_bytes(), token.expose().as_bytes()) {
                return Err(unknown_key());
            }
        }
        if key.expires.is_some_and(|expires| expires <= now) {
            let message = "The security token included in the request is expired";
            return Err(fault(SignatureFault::ExpiredToken, message.to_owned()));
        }
        Ok(Claim { head, signature, key, directory })
    }
}

fn unknown_key() -> SignatureError {
    fault(SignatureFault::UnknownKey, "The security token included in the request is invalid.".to_owned())
}

/// Compares secrets in a time that does not tell where they differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"comparison");
    hmac::verify(&key, one, hmac::sign(&key, other).as_ref()).is_ok()
}

impl Claim<'_> {
    /// The Region that the request is for.
    pub fn region(&self) -> &str {
        self.signature.region()
    }

    /// Verifies the signature. The payload is the body as it was received. A payload may be left unsigned only where
    /// no one between client and server can change it: over TLS.
    pub fn verify(&self, payload: &[u8], secure_transport: bool) -> Result<Arc<Identity>, SignatureError> {
        let payload_hash = self.payload_hash(payload, secure_transport);
        let date = self.signature.basic_date()?;
        let (scope, _) = self.signature.credential()?;
        let sent = decode_hex(&self.signature.signature);
        let (key, is_new) = self.key.signing_key(scope.day, scope.region, scope.service);
        let names = lower_case(&self.signature.signed_headers);
        let names = in_signing_order(&names);

        // A proxy may have changed Host; the client signed the name that it knows.
        let hosts = std::iter::once(None).chain(self.directory.hosts.iter().map(|host| Some(host.as_str())));
        let mut request = Vec::with_capacity(1024);
        for host in hosts {
            request.clear();
            canonical::write(self.head, &names, host, payload_hash.as_bytes(), &mut request);
            let text = string_to_sign(&date, &scope, &request);
            if sent.is_some_and(|sent| hmac::verify(&key, &text, &sent).is_ok()) {
                if is_new {
                    self.key.keep(scope.day, scope.region, scope.service, key);
                }
                return Ok(self.key.identity.clone());
            }
        }
        request.clear();
        canonical::write(self.head, &names, None, payload_hash.as_bytes(), &mut request);
        Err(mismatch(&request, &string_to_sign(&date, &scope, &request)))
    }

    fn payload_hash(&self, payload: &[u8], secure_transport: bool) -> PayloadHash {
        let stated = || self.head.headers.get("x-amz-content-sha256");
        if secure_transport && stated().is_some_and(|stated| stated == UNSIGNED) {
            return PayloadHash::Unsigned;
        }
        PayloadHash::Of(hash_hex(payload))
    }
}

const UNSIGNED: &str = "UNSIGNED-PAYLOAD";

/// What the last line of a canonical request is.
enum PayloadHash {
    Unsigned,
    Of(HashHex),
}

impl PayloadHash {
    fn as_bytes(&self) -> &[u8] {
        match self {
            PayloadHash::Unsigned => UNSIGNED.as_bytes(),
            PayloadHash::Of(digits) => digits,
        }
    }
}

/// Clients send the names in lower case.
fn lower_case(names: &str) -> Cow<'_, str> {
    match names.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(names.to_ascii_lowercase()),
        false => Cow::Borrowed(names),
    }
}

/// The names of the headers that a client signed.
fn in_signing_order(names: &str) -> Vec<&str> {
    let mut names: Vec<&str> = names.split(';').collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn string_to_sign(date: &str, scope: &Scope<'_>, request: &[u8]) -> Vec<u8> {
    let Scope { day, region, service, .. } = scope;
    let mut text = Vec::with_capacity(192);
    for part in [ALGORITHM, "\n", date, "\n", day, "/", region, "/", service, "/aws4_request\n"] {
        text.extend_from_slice(part.as_bytes());
    }
    text.extend_from_slice(&hash_hex(request));
    text
}

fn mismatch(request: &[u8], string_to_sign: &[u8]) -> SignatureError {
    let (request, string_to_sign) =
        (String::from_utf8_lossy(request), String::from_utf8_lossy(string_to_sign));
    let message = format!(
        "The request signature we calculated does not match the signature you provided. Check your AWS Secret \
         Access Key and signing method. Consult the service documentation for details.\n\nThe Canonical String \
         for this request should have been\n'{request}'\n\nThe String-to-Sign should have been\n\
         '{string_to_sign}'\n"
    );
    fault(SignatureFault::Mismatch, message)
}

/// A SHA-256 hash as digits.
type HashHex = [u8; 2 * digest::SHA256_OUTPUT_LEN];

fn hash_hex(bytes: &[u8]) -> HashHex {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let hash = digest::digest(&digest::SHA256, bytes);
    let mut text = [0; 2 * digest::SHA256_OUTPUT_LEN];
    for (pair, byte) in text.chunks_exact_mut(2).zip(hash.as_ref()) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    text
}

/// 64 digits; anything else is no signature.
fn decode_hex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    let mut bytes = [0; 32];
    if digits.len() != 2 * bytes.len() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |digit: u8| (digit as char).to_digit(16);
        *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
    }
    Some(bytes)
}
