//! Secrets that are encrypted in the access file.
//!
//! A signature can be verified only by someone who could make it, so the server must be able to learn each secret: no
//! hash is enough. But the secrets can be kept apart from what opens them. A sealed secret is AES-256-GCM under a key
//! that is not in the file, bound to its access key id, so that it can't be moved to another one.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use zeroize::Zeroize;

use crate::file::Secret;

/// What opens sealed secrets: 32 bytes.
pub struct SealingKey(LessSafeKey);

/// Why a secret can't be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum SealError {
    #[error("a sealing key is 32 bytes in base64; make one with: head -c 32 /dev/urandom | base64")]
    Key,
    #[error("the sealed secret was not sealed with this key and for this access key id, or it was changed")]
    Secret,
}

impl SealingKey {
    /// Reads a key: base64 of 32 bytes.
    pub fn parse(text: &str) -> Result<SealingKey, SealError> {
        let mut bytes = STANDARD.decode(text.trim()).map_err(|_| SealError::Key)?;
        let key = UnboundKey::new(&AES_256_GCM, &bytes).map_err(|_| SealError::Key);
        bytes.zeroize();
        Ok(SealingKey(LessSafeKey::new(key?)))
    }

    /// Encrypts a secret. Never use a nonce twice.
    pub fn seal(&self, key_id: &str, secret: &Secret, nonce: [u8; NONCE_LEN]) -> String {
        let mut bytes = secret.expose().as_bytes().to_vec();
        let sealed = self.0.seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(key_id.as_bytes()),
            &mut bytes,
        );
        sealed.expect("a secret is far shorter than what can be encrypted");
        STANDARD.encode([&nonce[..], &bytes].concat())
    }

    /// The inverse of [`SealingKey::seal`].
    pub fn open(&self, key_id: &str, sealed: &str) -> Result<Secret, SealError> {
        let mut bytes = STANDARD.decode(sealed).map_err(|_| SealError::Secret)?;
        let (nonce, secret) = bytes.split_at_mut_checked(NONCE_LEN).ok_or(SealError::Secret)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| SealError::Secret)?;
        let opened = self.0.open_in_place(nonce, Aad::from(key_id.as_bytes()), secret);
        let text = opened.ok().and_then(|opened| std::str::from_utf8(opened).ok()).map(Secret::new);
        bytes.zeroize();
        text.ok_or(SealError::Secret)
    }
}

impl std::fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SealingKey(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_opens_with_its_key_and_id_alone() {
        let key = SealingKey::parse(&STANDARD.encode([7; 32])).expect("a key");
        let other = SealingKey::parse(&STANDARD.encode([8; 32])).expect("a key");
        let secret = Secret::new("a secret");
        let sealed = key.seal("AKIA1", &secret, [1; 12]);
        assert!(!sealed.contains("secret"));
        assert_eq!(key.open("AKIA1", &sealed), Ok(secret));
        assert_eq!(key.open("AKIA2", &sealed), Err(SealError::Secret));
        assert_eq!(other.open("AKIA1", &sealed), Err(SealError::Secret));
        assert_eq!(key.open("AKIA1", "AAAA"), Err(SealError::Secret));
        assert!(SealingKey::parse("c2hvcnQ=").is_err());
    }
}
