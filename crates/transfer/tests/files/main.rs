//! Exports and imports as files, in folders and in buckets.

mod damage;
mod exports;
mod id;
mod imports;
mod lines;
mod log;
mod places;
mod s3;
mod support;
