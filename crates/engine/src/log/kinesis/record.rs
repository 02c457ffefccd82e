//! A change as JSON, in the form in which DynamoDB puts it into a Kinesis data stream.

use item::Item;
use item::json::{write_item, write_text};
use store::{Log, LogPosition};

use super::KinesisRecord;
use crate::base::kinesis_destination::Precision;
use crate::base::origin::Origin;
use crate::base::table::Table;
use crate::log::record::ChangeRecord;

/// The record of a change. Its `eventID` is the same however often it is delivered.
pub fn record(
    table: &Table,
    precision: Precision,
    log: Log,
    position: LogPosition,
    change: &ChangeRecord,
) -> KinesisRecord {
    let keys = table.keys.pick(change.image().as_ref());
    let (name, time) = match precision {
        Precision::Millisecond => ("MILLISECOND", position.time_us() / 1000),
        Precision::Microsecond => ("MICROSECOND", position.time_us()),
    };
    let event = match (&change.old, &change.new) {
        (None, _) => "INSERT",
        (Some(_), Some(_)) => "MODIFY",
        (Some(_), None) => "REMOVE",
    };
    let identity = match change.origin {
        Origin::Expiry => r#"{"type":"Service","principalId":"dynamodb.amazonaws.com"}"#,
        _ => "null",
    };
    let images = [Some(&keys), change.new.as_ref(), change.old.as_ref()];
    let size_bytes: usize = images.into_iter().flatten().map(Item::size_bytes).sum();

    let mut data = Vec::with_capacity(512 + 2 * size_bytes);
    data.extend_from_slice(br#"{"awsRegion":"#);
    write_text(&table.namespace.region, &mut data);
    let head = format!(
        r#","eventID":"{}","eventName":"{event}","userIdentity":{identity},"recordFormat":"application/json","tableName":"#,
        event_id(table, log, position)
    );
    data.extend_from_slice(head.as_bytes());
    write_text(&table.name, &mut data);
    let start = format!(r#","dynamodb":{{"ApproximateCreationDateTime":{time},"Keys":"#);
    data.extend_from_slice(start.as_bytes());
    write_item(keys.as_ref(), &mut data);
    for (member, image) in [("NewImage", &change.new), ("OldImage", &change.old)] {
        if let Some(image) = image {
            data.extend_from_slice(format!(r#","{member}":"#).as_bytes());
            write_item(image.as_ref(), &mut data);
        }
    }
    let end = format!(
        r#","SizeBytes":{size_bytes},"ApproximateCreationDateTimePrecision":"{name}"}},"eventSource":"aws:dynamodb"}}"#
    );
    data.extend_from_slice(end.as_bytes());
    let item = table.keys.position(change.image().as_ref());
    let partition_key = item.partition.0[..16].iter().map(|byte| format!("{byte:02X}")).collect();
    KinesisRecord { partition_key, item, data }
}

/// In the form of a UUID.
fn event_id(table: &Table, log: Log, position: LogPosition) -> String {
    let hash = blake3::hash(format!("kinesis/{}/{}/{}", table.id, log.0, position.0).as_bytes()).to_hex();
    let part = |from: usize, to: usize| &hash.as_str()[from..to];
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}
