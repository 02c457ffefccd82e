//! Streams: the change log of a table as clients read it.
//!
//! A table has at most one stream at a time. When it is switched off, or the table is deleted, its last
//! records can be read for another day: it becomes a [`PastStream`], a row of its own.

use api::streams::limits::RECORD_LIFETIME;
use api::streams::{OperationType, Record, SequenceNumberRange, StreamArn, StreamRecord, StreamStatus};
use api::{Error, StreamViewType};
use item::Item;
use store::{Log, LogPosition};

use crate::base::caller::Caller;
use crate::base::change_log::Shard;
use crate::base::origin::Origin;
use crate::base::stream::{PastStream, Stream, arn};
use crate::base::table::{KeySchema, Table};
use crate::log::Logs;
use crate::log::record::ChangeRecord;
use crate::{Namespace, Sleep};

/// How long a reader may be unaware of a change that another server recorded.
const ELSEWHERE_PAUSE: std::time::Duration = std::time::Duration::from_millis(250);

/// A stream to be read, of a table or of the past.
pub struct StreamView {
    pub namespace: Namespace,
    pub table: String,
    table_id: String,
    pub keys: KeySchema,
    pub stream: Stream,
    /// In the order in which they are listed.
    pub shards: Vec<Shard>,
    pub status: StreamStatus,
}

impl StreamView {
    /// The stream of a table, if it has one.
    pub fn of_table(table: &Table) -> Option<StreamView> {
        let stream = table.stream.clone()?;
        let own = table.log.shards.iter().filter(|shard| shard.opened_us >= stream.from_us);
        Some(StreamView {
            namespace: table.namespace.clone(),
            table: table.name.clone(),
            table_id: table.id.clone(),
            keys: table.keys.clone(),
            shards: own.cloned().collect(),
            stream,
            status: StreamStatus::Enabled,
        })
    }

    /// A stream that takes no more records.
    pub fn of_past(past: &PastStream) -> StreamView {
        StreamView {
            namespace: past.namespace.clone(),
            table: past.table.clone(),
            table_id: past.table_id.clone(),
            keys: past.keys.clone(),
            stream: past.stream.clone(),
            shards: past.shards.clone(),
            status: StreamStatus::Disabled,
        }
    }

    /// Its ARN.
    pub fn arn(&self) -> String {
        arn(&self.namespace, &self.table, &self.stream)
    }

    /// The id of one of its shards: the time of its opening, so that ids are in the order of time, and eight
    /// digits that tell it apart.
    pub fn shard_id(&self, shard: &Shard) -> String {
        let hash = blake3::hash(format!("{}/{}", self.table_id, shard.number).as_bytes());
        let digits: [u8; 4] = hash.as_bytes()[..4].try_into().expect("the hash is longer");
        format!("shardId-{:020}-{:08x}", shard.opened_us, u32::from_be_bytes(digits))
    }

    /// The shard with this id.
    pub fn shard(&self, id: &str) -> Option<&Shard> {
        self.shards.iter().find(|shard| self.shard_id(shard) == id)
    }

    /// The shard as DescribeStream shows it. A parent that was forgotten is not shown.
    pub fn describe_shard(&self, shard: &Shard) -> api::streams::Shard {
        let parent = shard.parent.and_then(|number| self.shards.iter().find(|other| other.number == number));
        api::streams::Shard {
            shard_id: Some(self.shard_id(shard)),
            parent_shard_id: parent.map(|parent| self.shard_id(parent)),
            sequence_number_range: Some(SequenceNumberRange {
                starting_sequence_number: Some(sequence_number(LogPosition::new(shard.opened_us, 0))),
                ending_sequence_number: shard.end().map(sequence_number),
            }),
        }
    }

    /// A change as GetRecords shows it.
    pub fn record(&self, log: Log, position: LogPosition, change: &ChangeRecord) -> Record {
        let keys = self.keys.pick(change.image().as_ref());
        let [show_new, show_old] = match self.stream.view {
            StreamViewType::KeysOnly => [false, false],
            StreamViewType::NewImage => [true, false],
            StreamViewType::OldImage => [false, true],
            StreamViewType::NewAndOldImages => [true, true],
        };
        let new_image = change.new.clone().filter(|_| show_new);
        let old_image = change.old.clone().filter(|_| show_old);
        let images = [Some(&keys), new_image.as_ref(), old_image.as_ref()];
        let size_bytes: usize = images.into_iter().flatten().map(Item::size_bytes).sum();
        Record {
            aws_region: Some(self.namespace.region.to_string()),
            event_id: Some(self.event_id(log, position)),
            event_name: Some(event_name(change)),
            event_source: Some("aws:dynamodb".to_owned()),
            event_version: Some("1.1".to_owned()),
            user_identity: (change.origin == Origin::Expiry).then(service_identity),
            dynamodb: Some(StreamRecord {
                approximate_creation_date_time: Some((position.time_us() / 1_000_000) as f64),
                keys: Some(keys),
                new_image,
                old_image,
                sequence_number: Some(sequence_number(position)),
                size_bytes: Some(size_bytes as i64),
                stream_view_type: Some(self.stream.view),
            }),
        }
    }

    fn event_id(&self, log: Log, position: LogPosition) -> String {
        let hash = blake3::hash(format!("{}/{}/{}", self.table_id, log.0, position.0).as_bytes());
        hash.to_hex()[..32].to_owned()
    }
}

impl Logs {
    /// All streams of a namespace, those that take no more records included.
    pub(crate) fn streams(&self, namespace: &Namespace) -> Vec<StreamView> {
        let tables = self.catalog.all();
        let current = tables.iter().filter_map(|table| StreamView::of_table(table));
        let past = self.catalog.past_streams();
        let past = past.iter().map(|stream| StreamView::of_past(stream));
        current.chain(past).filter(|stream| stream.namespace == *namespace).collect()
    }

    /// Ends when the stream with this ARN may have new records. What happens after this call counts, also if
    /// the future is polled later. It never ends if there is no such table any more.
    pub fn stream_changed(&self, arn: &str) -> Sleep {
        let named = StreamArn::parse(arn).and_then(|arn| Some((arn.table.home?, arn.table.name)));
        let table = named
            .and_then(|(home, name)| self.catalog.find(&Namespace::new(home.account, home.region), name));
        match table {
            Some(table) if self.members.is_some() => {
                let (changed, elsewhere) =
                    (table.changed.clone().notified_owned(), self.environment.sleep(ELSEWHERE_PAUSE));
                Box::pin(
                    async move { drop(futures_util::future::select(Box::pin(changed), elsewhere).await) },
                )
            }
            Some(table) => Box::pin(table.changed.clone().notified_owned()),
            None => Box::pin(std::future::pending()),
        }
    }

    /// The caller's stream with this ARN.
    pub(crate) fn stream(&self, caller: &Caller, arn: &str) -> Result<StreamView, Error> {
        let not_found = || Error::stream_not_found(arn);
        let StreamArn { table: name, label } = StreamArn::parse(arn).ok_or_else(not_found)?;
        let table = self.find(caller, arn.split("/stream/").next().unwrap_or(arn))?;
        let has_label = |stream: &StreamView| stream.stream.label() == label;
        let current = table.and_then(|table| StreamView::of_table(&table)).filter(has_label);
        let past = || {
            let past = self.catalog.past_streams();
            let own = past
                .iter()
                .filter(|stream| stream.namespace == caller.namespace && stream.table == name.name);
            own.map(|stream| StreamView::of_past(stream)).find(has_label)
        };
        current.or_else(past).ok_or_else(not_found)
    }

    /// Waits for the writes that are under way in the stream's table.
    pub(crate) async fn wait_for_writes_of(&self, stream: &StreamView) {
        if let Some(table) = self.catalog.find(&stream.namespace, &stream.table) {
            table.wait_for_writes().await;
        }
    }

    /// Records before this position can't be read by streams any more.
    pub(crate) fn stream_horizon(&self) -> LogPosition {
        LogPosition::new(self.date_us().saturating_sub(RECORD_LIFETIME.as_micros() as u64), 0)
    }
}

impl Logs {
    /// The creation time of a new stream: no other stream of a table with this name has it.
    pub(crate) fn new_stream_ms(&self, namespace: &Namespace, table: &str) -> u64 {
        let past = self.catalog.past_streams();
        let own = past.iter().filter(|stream| stream.namespace == *namespace && stream.table == table);
        let last = own.map(|stream| stream.stream.created_ms + 1).max();
        self.environment.now_ms().max(last.unwrap_or(0))
    }
}

/// A position as clients see it: 21 digits, in the same order.
pub fn sequence_number(position: LogPosition) -> String {
    format!("1{:020}", position.0)
}

/// The inverse of [`sequence_number`].
pub fn position(sequence_number: &str) -> Option<LogPosition> {
    let digits = sequence_number.strip_prefix('1').filter(|digits| digits.len() == 20)?;
    digits.parse().ok().map(LogPosition)
}

fn event_name(change: &ChangeRecord) -> OperationType {
    match (&change.old, &change.new) {
        (None, _) => OperationType::Insert,
        (Some(_), Some(_)) => OperationType::Modify,
        (Some(_), None) => OperationType::Remove,
    }
}

/// Who deletes an item whose time to live is over.
fn service_identity() -> api::streams::Identity {
    api::streams::Identity {
        r#type: Some("Service".to_owned()),
        principal_id: Some("dynamodb.amazonaws.com".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_number_comes_back_as_its_position() {
        for number in [0, 1, u64::MAX] {
            let text = sequence_number(LogPosition(number));
            assert_eq!(text.len(), 21);
            assert_eq!(position(&text), Some(LogPosition(number)));
        }
        assert_eq!(position("12"), None);
    }
}
