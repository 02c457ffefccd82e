//! The manifest: which files there must be. All other files are reached from it.
//!
//! ```text
//! lodestone store
//! id 9f86d081884c7d65
//! edition 17
//! tree 42 0a1b…            the tree's version file v42 and its checksum (xxh3, 128 bits)
//! flushed 90211            commits below this sequence number are in tables
//! segment 7 33554432       log segments in their order, with their length
//! segment 8 33554432
//! checksum 8c1d…           of all the lines before (xxh3, 128 bits)
//! ```
//!
//! The version file names the tables with their checksums, so every file is reached from here. The
//! manifest is replaced as a whole: written beside, synced, renamed.
//!
//! The tree replaces its own version before the manifest can follow. So the tree may be ahead of the
//! manifest, never behind. A log segment is removed only when the manifest names a version that holds
//! its rows.

use std::fmt::Write;
use std::io;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;

use crate::vfs::FileSystem;
use crate::wal::segment::Entry;

pub(crate) const FILE_NAME: &str = "manifest";
const TITLE: &str = "lodestone store";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// The store's id, a random number. Every segment and record of its log has it.
    pub(crate) store: u64,
    /// Rises with each replacement.
    pub(crate) edition: u64,
    pub(crate) tree: TreeVersion,
    /// Commits below this sequence number are in tables.
    pub(crate) flushed: u64,
    pub(crate) segments: Vec<Entry>,
}

/// A version of the tree and the checksum of the file that describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TreeVersion {
    pub(crate) number: u64,
    pub(crate) checksum: u128,
}

impl Manifest {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut text = format!(
            "{TITLE}\nid {:016x}\nedition {}\ntree {} {:032x}\nflushed {}\n",
            self.store, self.edition, self.tree.number, self.tree.checksum, self.flushed
        );
        for Entry { number, bytes } in &self.segments {
            let _ = writeln!(text, "segment {number} {bytes}");
        }
        let _ = writeln!(text, "checksum {:032x}", xxh3_128(text.as_bytes()));
        text.into_bytes()
    }

    /// What is wrong is the error.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Manifest, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "is no text")?;
        let mut manifest = parse(text).ok_or("is not complete or has lines that do not belong there")?;
        manifest.segments.shrink_to_fit();
        // Written again it is the same, byte for byte, down to the checksum.
        if manifest.encode() == bytes { Ok(manifest) } else { Err("its checksum is wrong".to_owned()) }
    }

    pub(crate) fn write(&self, fs: &dyn FileSystem, store_folder: &Path) -> io::Result<()> {
        let bytes = self.encode();
        debug_assert_eq!(Manifest::decode(&bytes).as_ref(), Ok(self), "what is written can be read back");
        fs.replace(&store_folder.join(FILE_NAME), &bytes)
    }
}

fn parse(text: &str) -> Option<Manifest> {
    let mut lines = text.lines();
    let mut word = |key: &str| lines.next()?.strip_prefix(key)?.strip_prefix(' ').map(str::to_owned);
    if text.lines().next()? != TITLE {
        return None;
    }
    let _title = word("lodestone")?;
    let store = u64::from_str_radix(&word("id")?, 16).ok()?;
    let edition = word("edition")?.parse().ok()?;
    let tree = word("tree")?;
    let (number, checksum) = tree.split_once(' ')?;
    let tree =
        TreeVersion { number: number.parse().ok()?, checksum: u128::from_str_radix(checksum, 16).ok()? };
    let flushed = word("flushed")?.parse().ok()?;
    let mut segments = Vec::new();
    for line in lines {
        if line.starts_with("checksum ") {
            break;
        }
        let (number, bytes) = line.strip_prefix("segment ")?.split_once(' ')?;
        segments.push(Entry { number: number.parse().ok()?, bytes: bytes.parse().ok()? });
    }
    Some(Manifest { store, edition, tree, flushed, segments })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Manifest {
        Manifest {
            store: 0x12,
            edition: 17,
            tree: TreeVersion { number: 42, checksum: 99 },
            flushed: 1000,
            segments: vec![Entry { number: 7, bytes: 1 << 25 }, Entry { number: 8, bytes: 1 << 25 }],
        }
    }

    #[test]
    fn what_is_written_comes_back() {
        let none = Manifest { segments: Vec::new(), ..sample() };
        for manifest in [sample(), none] {
            assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest));
        }
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let bytes = sample().encode();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Manifest::decode(&flipped).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(Manifest::decode(&bytes[..length]).is_err(), "cut at {length}");
        }
        assert!(Manifest::decode(&[&bytes[..], b"x"].concat()).is_err());
    }
}
