//! The stream of a table, as the catalog stores it. `log/stream.rs` has what clients read of it.
//!
//! A table has at most one stream at a time. When it is switched off, or the table is deleted, its last
//! records can be read for another day: it becomes a [`PastStream`], a row of its own.

use api::StreamViewType;
use serde::{Deserialize, Serialize};
use store::Space;

use super::change_log::Shard;
use super::table::{KeySchema, Table};
use crate::Namespace;

/// The stream of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// When it was switched on; no two streams of a table name have the same.
    pub created_ms: u64,
    /// Its first record is at this time or later.
    pub from_us: u64,
    #[serde(with = "view_name")]
    pub view: StreamViewType,
}

impl Stream {
    /// The time of its creation, as clients see it.
    pub fn label(&self) -> String {
        iso_8601_ms(self.created_ms)
    }
}

/// The time and the numbers that a change of streams goes by.
pub struct Moment {
    /// When the stream is switched on, as its label says.
    pub created_ms: u64,
    pub now_us: u64,
    /// How many shards a new stream has.
    pub shards: u16,
    /// Numbers from here on are free for new logs.
    pub unused: Space,
}

impl Table {
    /// Gives a table without a stream one. Its shards are its own, also if changes were recorded before.
    pub fn switch_stream_on(&mut self, view: StreamViewType, moment: &Moment) {
        let from_us = moment.now_us + 1;
        if self.log.is_open() {
            self.log.roll(moment.now_us);
        }
        self.last_stream_ms = Some(moment.created_ms);
        self.stream = Some(Stream { created_ms: moment.created_ms, from_us, view });
        self.settle_log(moment.shards, moment.unused, from_us);
    }
}

/// A stream that takes no more records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PastStream {
    #[serde(flatten)]
    pub namespace: Namespace,
    /// The name and id that its table has or had.
    pub table: String,
    pub table_id: String,
    pub keys: KeySchema,
    pub stream: Stream,
    pub shards: Vec<Shard>,
    pub closed_us: u64,
}

impl PastStream {
    /// What is left of the stream of a table. `shards` are the table's, closed.
    pub fn of(table: &Table, stream: &Stream, shards: &[Shard], closed_us: u64) -> PastStream {
        let own = shards.iter().filter(|shard| shard.opened_us >= stream.from_us && !shard.is_open());
        PastStream {
            namespace: table.namespace.clone(),
            table: table.name.clone(),
            table_id: table.id.clone(),
            keys: table.keys.clone(),
            stream: stream.clone(),
            shards: own.cloned().collect(),
            closed_us,
        }
    }
}

/// The ARN of a stream of a table with this name.
pub fn arn(namespace: &Namespace, table: &str, stream: &Stream) -> String {
    let Namespace { account, region } = namespace;
    format!("arn:aws:dynamodb:{region}:{account}:table/{table}/stream/{}", stream.label())
}

/// A time as `2026-11-17T01:02:03.456`.
pub fn iso_8601_ms(ms: u64) -> String {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(ms);
    humantime::format_rfc3339_millis(time).to_string().trim_end_matches('Z').to_owned()
}

/// View types have their DynamoDB names in the catalog's rows, so that people can read them.
mod view_name {
    use api::StreamViewType;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Writes the name.
    pub fn serialize<S: Serializer>(view: &StreamViewType, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(view.as_str())
    }

    /// Reads the name.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<StreamViewType, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = [
            StreamViewType::KeysOnly,
            StreamViewType::NewImage,
            StreamViewType::OldImage,
            StreamViewType::NewAndOldImages,
        ];
        let named = known.into_iter().find(|view| view.as_str() == name);
        named.ok_or_else(|| D::Error::custom(format!("no such view type: {name}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_the_time_in_iso_8601() {
        assert_eq!(iso_8601_ms(0), "1970-01-01T00:00:00.000");
        assert_eq!(iso_8601_ms(951_782_400_000), "2000-02-29T00:00:00.000");
        assert_eq!(iso_8601_ms(1_763_341_384_123), "2025-11-17T01:03:04.123");
    }
}
