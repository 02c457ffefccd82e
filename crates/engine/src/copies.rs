//! Whole tables, copied: to a moment of the past, to files and from them.
//!
//! | question | file |
//! |---|---|
//! | what was in a table at an earlier time? | `past.rs` |
//! | what has changed in a table since a time? | `difference.rs`: counted from the log, before a restore |
//! | how does it become a table again? | `restore.rs` |
//! | how does it become files? | `backup.rs`, `export.rs` |
//! | how do files become a table, or items of one? | `import.rs`, `bulk_put.rs`, both on `loading.rs` |
//! | who keeps the log of the table in the meantime? | `holds.rs` |
//! | where are the files? | `places.rs`; their formats are the `transfer` crate's |
//! | what is known of a copy, also of one that failed? | `records.rs`, `transfer_record.rs`, `failures.rs` |
//!
//! The state of a table at a time T is its rows now, except that a key which changed after T has the old image of its
//! first record after T. `past.rs` walks the live rows in short reads while writes go on, keeps the old images of
//! changed keys in a scratch space, and gives out the items of T in the order of their keys. Restores, backups and
//! exports all copy from it. A backup is an export in DynamoDB's own format, so one writer and one reader serve both.

pub mod backup;
pub mod bulk_put;
pub mod difference;
pub mod export;
pub mod failures;
pub mod holds;
pub mod import;
pub mod loading;
pub mod past;
pub mod places;
pub mod records;
pub mod restore;
pub mod transfer_record;

use std::sync::Arc;

use transfer::{Bucket, Buckets};

use crate::read::Reads;

/// What this room shares with those above it.
pub struct Copies {
    pub(crate) reads: Arc<Reads>,
    /// Where backups are kept.
    pub(crate) backups: Option<Bucket>,
    /// The buckets that exports are written to and imports are read from.
    pub(crate) s3: Option<Arc<Buckets>>,
}

impl std::ops::Deref for Copies {
    type Target = Arc<Reads>;

    fn deref(&self) -> &Arc<Reads> {
        &self.reads
    }
}
