//! What a table looks like as files: everything between a stream of items and objects in a bucket.
//!
//! A [`Bucket`] is a folder or a bucket of an S3-compatible endpoint. [`ExportWriter`] writes a full or an incremental
//! export into it, and [`Export`] reads one back, with every checksum and count compared; backups have the same form.
//! [`Import`] reads items from objects that anybody may have written: CSV, DynamoDB JSON or Ion, compressed or not.
//!
//! Everything streams. Memory is bounded by one data file while writing ([`export::FILE_BYTES`]) and by one record
//! while reading ([`RECORD_BYTES_MAX`]).
//!
//! The crate reads no clock and no random source: times and random bytes come in as arguments. (The S3 client of
//! `object_store` reads both, for signatures and for pauses between attempts.)
//!
//! | question | file |
//! |---|---|
//! | which files has an export? | `export.rs`, `export/manifest.rs` |
//! | how is one written, and how is one read? | `export/write.rs`, `export/read.rs`; checksums: `checksum.rs` |
//! | which objects does an import read? | `import.rs`; records that it refuses: `import/log.rs` |
//! | what does a line hold? | `format.rs`, `format/json.rs`, `format/ion.rs`; CSV: `import/csv.rs` |
//! | how is an object decompressed and cut into lines? | `reader.rs` |
//! | where are objects stored? | `place.rs`; in a bucket behind an address: `place/s3.rs` |
//! | how are exports and data files named? | `id.rs` |

mod checksum;
pub mod export;
pub mod format;
pub mod id;
pub mod import;
mod place;
mod reader;

pub use export::{Change, Export, ExportError, ExportWriter, Summary};
pub use format::{Format, PutRecord};
pub use import::{Compression, Import, ImportError};
pub use place::{Bucket, Buckets, ByteStream, ObjectInfo, PlaceError};
pub use reader::RECORD_BYTES_MAX;
