//! Records as a function sees them.
//!
//! A function's record has the members of the Streams API, the stream's ARN, and lower-case names in
//! `userIdentity`. It is printed once, when it is read from the shard; batches are put together from the
//! printed records.

use std::hash::{DefaultHasher, Hash, Hasher};

use api::streams::{Identity, Record, StreamRecord};
use bytes::Bytes;
use item::Item;
use item::json::{write_item, write_text};

use crate::window::Window;

/// A record on its way to a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub sequence_number: String,
    /// Milliseconds since 1970.
    pub created_ms: u64,
    /// A hash of the partition key: records with equal keys are delivered in order.
    pub key_hash: u64,
    /// The record as the function sees it.
    pub json: Bytes,
}

/// A record of the Streams API without one of the members that every record has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a stream record has no {0}")]
pub struct MissingMember(&'static str);

impl Entry {
    /// Prints a record. `partition_key` is the name of the table's partition key.
    pub fn new(record: &Record, stream_arn: &str, partition_key: &str) -> Result<Entry, MissingMember> {
        let change = record.dynamodb.as_ref().ok_or(MissingMember("dynamodb"))?;
        let sequence_number = change.sequence_number.clone().ok_or(MissingMember("SequenceNumber"))?;
        let created_s =
            change.approximate_creation_date_time.ok_or(MissingMember("ApproximateCreationDateTime"))?;
        let key = change.keys.as_ref().and_then(|keys| keys.get(partition_key));
        let mut hasher = DefaultHasher::new();
        key.ok_or(MissingMember("Keys"))?.as_bytes().hash(&mut hasher);
        Ok(Entry {
            sequence_number,
            created_ms: (created_s * 1000.0).round() as u64,
            key_hash: hasher.finish(),
            json: event_record(record, stream_arn).into(),
        })
    }
}

/// The JSON of one record in `Records`.
pub fn event_record(record: &Record, stream_arn: &str) -> Vec<u8> {
    let mut object = Printer::open(Vec::with_capacity(512));
    object.text("eventID", record.event_id.as_deref());
    object.text("eventName", record.event_name.map(|name| name.as_str()));
    object.text("eventVersion", record.event_version.as_deref());
    object.text("eventSource", record.event_source.as_deref());
    object.text("awsRegion", record.aws_region.as_deref());
    if let Some(change) = &record.dynamodb {
        object.raw("dynamodb", &change_json(change));
    }
    object.text("eventSourceARN", Some(stream_arn));
    if let Some(identity) = &record.user_identity {
        object.raw("userIdentity", &identity_json(identity));
    }
    object.close()
}

fn change_json(change: &StreamRecord) -> Vec<u8> {
    let mut object = Printer::open(Vec::with_capacity(512));
    if let Some(seconds) = change.approximate_creation_date_time {
        // Lambda shows whole seconds, and a fraction all the same.
        object.raw("ApproximateCreationDateTime", format!("{:.1}", seconds.floor()).as_bytes());
    }
    object.item("Keys", change.keys.as_ref());
    object.item("NewImage", change.new_image.as_ref());
    object.item("OldImage", change.old_image.as_ref());
    object.text("SequenceNumber", change.sequence_number.as_deref());
    if let Some(size) = change.size_bytes {
        object.raw("SizeBytes", size.to_string().as_bytes());
    }
    object.text("StreamViewType", change.stream_view_type.map(|view| view.as_str()));
    object.close()
}

fn identity_json(identity: &Identity) -> Vec<u8> {
    let mut object = Printer::open(Vec::new());
    object.text("type", identity.r#type.as_deref());
    object.text("principalId", identity.principal_id.as_deref());
    object.close()
}

/// A JSON object being printed. Absent members are left out.
struct Printer(Vec<u8>);

impl Printer {
    fn open(mut out: Vec<u8>) -> Printer {
        out.push(b'{');
        Printer(out)
    }

    fn name(&mut self, name: &str) -> &mut Vec<u8> {
        if self.0.last() != Some(&b'{') {
            self.0.push(b',');
        }
        write_text(name, &mut self.0);
        self.0.push(b':');
        &mut self.0
    }

    fn raw(&mut self, name: &str, json: &[u8]) {
        self.name(name).extend_from_slice(json);
    }

    fn text(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            write_text(text, self.name(name));
        }
    }

    fn item(&mut self, name: &str, item: Option<&Item>) {
        if let Some(item) = item {
            write_item(item.as_ref(), self.name(name));
        }
    }

    fn close(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

/// The bytes around the records of an event, without a window: `{"Records":[` and `]}`.
pub const ENVELOPE_BYTES: usize = 14;

/// The whole event of a batch.
pub fn batch_event<'r>(records: impl IntoIterator<Item = &'r Bytes>, tail: &[u8]) -> Bytes {
    let mut out = b"{\"Records\":[".to_vec();
    for (index, record) in records.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(record);
    }
    out.push(b']');
    out.extend_from_slice(tail);
    out.push(b'}');
    out.into()
}

/// The members that an event has beside `Records` if the mapping has tumbling windows.
pub fn window_members(
    window: &Window,
    shard_id: &str,
    stream_arn: &str,
    is_final: bool,
    is_early: bool,
) -> Vec<u8> {
    let members = serde_json::json!({
        "window": {
            "start": crate::time::to_seconds(window.start_ms),
            "end": crate::time::to_seconds(window.end_ms),
        },
        "state": window.state,
        "shardId": shard_id,
        "eventSourceARN": stream_arn,
        "isFinalInvokeForWindow": is_final,
        "isWindowTerminatedEarly": is_early,
    });
    let printed = members.to_string();
    let mut tail = vec![b','];
    tail.extend_from_slice(&printed.as_bytes()[1..printed.len() - 1]);
    tail
}
