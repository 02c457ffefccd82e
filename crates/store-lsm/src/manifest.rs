//! The manifest: which files there must be. All other files are reached from it.
//!
//! ```text
//! lodestone store
//! id 9f86d081884c7d65
//! edition 17
//! tree 42 0a1b…            the tree's version file v42 and its checksum (xxh3, 128 bits)
//! flushed 90211            commits below this sequence number are in tables
//! log 5120 77aa…           the last durable record of the log, and its checksum
//! segment 7 33554432       log segments in their order, with their length
//! segment 8 33554432
//! table 9 67108864 04b1…   the tables of v42 with their length and the checksum of their end
//! checksum 8c1d…           of all the lines before (xxh3, 128 bits)
//! ```
//!
//! The version file names the tables with their checksums, so every file is reached from here. The
//! manifest is replaced as a whole: written beside, synced, renamed.
//!
//! The manifest says what the store is. The tree replaces its own version before the manifest can
//! follow; an opening goes back to the version that the manifest names. So that version, its tables and
//! the log segments from `flushed` on stay until the manifest names a later version.
//!
//! The manifest, the tree and the log are of one moment if the tree has the version and its tables, and
//! the log has the record. A log may go on after that record: it holds all commits since.
//!
//! Manifests of format 2 have no lines `log` and `table`.

use std::fmt::Write;
use std::io;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;

use crate::tree::TableEnd;
use crate::vfs::FileSystem;
use crate::wal::record::LogPoint;
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
    /// Nothing in a manifest of format 2.
    pub(crate) moment: Option<Moment>,
}

/// What shows that the log and the tables are of the manifest's moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    /// A record that was durable when the manifest was written.
    pub(crate) log: LogPoint,
    pub(crate) tables: Vec<TableEnd>,
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
        if let Some(Moment { log, .. }) = &self.moment {
            let _ = writeln!(text, "log {} {:016x}", log.record, log.checksum);
        }
        for Entry { number, bytes } in &self.segments {
            let _ = writeln!(text, "segment {number} {bytes}");
        }
        for TableEnd { id, bytes, checksum } in self.moment.iter().flat_map(|moment| &moment.tables) {
            let _ = writeln!(text, "table {id} {bytes} {checksum:016x}");
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
    let (mut segments, mut moment) = (Vec::new(), None::<Moment>);
    for line in lines {
        let (key, values) = line.split_once(' ')?;
        let mut values = values.split(' ');
        match key {
            "log" => {
                let record = values.next()?.parse().ok()?;
                let checksum = u64::from_str_radix(values.next()?, 16).ok()?;
                moment = Some(Moment { log: LogPoint { record, checksum }, tables: Vec::new() });
            }
            "segment" => {
                let (number, bytes) = (values.next()?.parse().ok()?, values.next()?.parse().ok()?);
                segments.push(Entry::new(number, bytes)?);
            }
            "table" => {
                let (id, bytes) = (values.next()?.parse().ok()?, values.next()?.parse().ok()?);
                let checksum = u64::from_str_radix(values.next()?, 16).ok()?;
                moment.as_mut()?.tables.push(TableEnd { id, bytes, checksum });
            }
            "checksum" => break,
            _ => return None,
        }
    }
    Some(Manifest { store, edition, tree, flushed, segments, moment })
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
            moment: Some(Moment {
                log: LogPoint { record: 5120, checksum: 77 },
                tables: vec![TableEnd { id: 9, bytes: 4000, checksum: 5 }],
            }),
        }
    }

    #[test]
    fn what_is_written_comes_back() {
        let none = Manifest { segments: Vec::new(), moment: Some(Moment::default()), ..sample() };
        let of_format_2 = Manifest { moment: None, ..sample() };
        for manifest in [sample(), none, of_format_2] {
            assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest));
        }
    }

    #[test]
    fn a_segment_that_has_no_room_for_records_is_refused() {
        for bytes in [0, 1, 64] {
            let manifest = Manifest { segments: vec![Entry { number: 7, bytes }], ..sample() };
            assert!(Manifest::decode(&manifest.encode()).is_err(), "{bytes}");
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
