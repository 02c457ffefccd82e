//! A digest of what a request asks for, by which the same request is recognized.

use std::collections::BTreeMap;

use item::{Item, ValueBuf};

/// A hash of parts, each with its length before it, so that no two lists of parts have the same bytes.
#[derive(Default)]
pub struct Digest(blake3::Hasher);

impl Digest {
    /// Adds a part.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }

    /// Adds a part.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Adds an item as one part.
    pub fn item(&mut self, item: &Item) {
        self.bytes(&item.clone().into_stored());
    }

    /// Adds a map that may be absent; absent and empty are the same.
    pub fn map<T>(&mut self, map: &Option<BTreeMap<String, T>>, add: impl Fn(&mut Digest, &T)) {
        let entries = || map.iter().flatten();
        self.bytes(&entries().count().to_be_bytes());
        for (name, value) in entries() {
            self.text(name);
            add(self, value);
        }
    }

    /// Adds a PartiQL statement with its parameters.
    pub fn statement(&mut self, text: &str, parameters: Option<&Vec<ValueBuf>>) {
        self.text(text);
        let parameters = || parameters.into_iter().flatten();
        self.bytes(&parameters().count().to_be_bytes());
        for parameter in parameters() {
            self.bytes(&parameter.clone().into_stored());
        }
    }

    /// The digest of all parts.
    pub fn finish(self) -> blake3::Hash {
        self.0.finalize()
    }
}
