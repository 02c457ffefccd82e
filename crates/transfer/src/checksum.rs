//! MD5 as manifests hold it. It finds damage; it is no protection against forgery.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};

/// The MD5 of the bytes seen so far.
#[derive(Clone, Default)]
pub struct Checksum(Md5);

impl Checksum {
    pub fn of(bytes: &[u8]) -> Checksum {
        let mut checksum = Checksum::default();
        checksum.update(bytes);
        checksum
    }

    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// As in `md5Checksum` and in the `.md5` files.
    pub fn base64(&self) -> String {
        STANDARD.encode(self.0.clone().finalize())
    }

    /// As in an ETag.
    pub fn hex(&self) -> String {
        self.0.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
