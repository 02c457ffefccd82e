//! The spaces that belong to no table, and the keys of the rows in them.
//!
//! | space | rows |
//! |---|---|
//! | 0 | the catalog: one row for each table, in the partition of its namespace |
//! | 1 | `next`: the number of the next unused space; `drop:N`: space N is to be cleared, unless the row names a server: then by that one, while it is a member; `progress:N`: how far the back-fill of the index in space N has come; `size:N`: the size of space N, only while the database is closed; `learned:N`: what the table or index in space N learned from its traffic; `drop-log:N`: the records of log N are to be removed; `sent:N:R:L`: how far log L of the table in space N was sent to Region R |
//! | 2–4 | client request tokens, one space for each generation |
//! | 5 | the engine itself: `format`, the version of all of this; `barrier`, written to wait for earlier commits; `clock`, how far the faster clock of capacity has come; `migration`, if the database is being moved, or was |
//! | 6 | streams that take no more records |
//! | 7 | backups, exports, imports and bulk puts; why one of them failed |
//! | 8 | what services beside the engine keep, by name |
//! | 9 | metrics: one row for each minute of a table, in the partition of its name |
//! | 10 | which metrics each table has, in the partition of its namespace |
//! | 11 | Contributor Insights: one row for each rule and minute, in the partition of its table or index |
//! | 12 | the servers that share the store: `version`, that of the catalog; `member:N`, what server N says of itself; `lease:NAME`, the number of the server that runs a job; `links`, those between Regions that are cut; `tokens-cleared`, the generation of tokens that was cleared last |
//! | 13–15 | unused |
//! | 16… | tables, their indexes, their item collections; numbers are never used again |

use bytes::Bytes;
use std::ops::Bound;
use store::{Key, Log, Member, Partition, Position, Range, Space, StoreError};

use crate::Namespace;
use crate::base::stream::PastStream;

/// The catalog's tables.
pub const TABLES: Space = Space(0);
/// What the catalog knows about spaces.
pub const SPACES: Space = Space(1);
/// The generations of client request tokens.
pub const CLIENT_TOKENS: [Space; 3] = [Space(2), Space(3), Space(4)];
/// The engine's own rows.
pub const ENGINE: Space = Space(5);
/// The streams that take no more records.
pub const PAST_STREAMS: Space = Space(6);
/// Backups, exports, imports, bulk puts and failures.
pub const RECORDS: Space = Space(7);
/// What services beside the engine keep.
pub const SERVICES: Space = Space(8);
/// The minutes of metrics.
pub const METRICS: Space = Space(9);
/// Which metrics there are.
pub const METRIC_NAMES: Space = Space(10);
/// The minutes of Contributor Insights.
pub const CONTRIBUTORS: Space = Space(11);
/// The servers that share the store.
pub const CLUSTER: Space = Space(12);
/// The first space of a table.
pub const FIRST_OF_TABLES: Space = Space(16);

/// The row that holds the format's version.
pub fn format_key() -> Key {
    key(ENGINE, "format")
}

/// The row that says that the database is being moved to or from another store.
pub fn migration_key() -> Key {
    key(ENGINE, "migration")
}

/// A row without meaning. Its commit comes behind all earlier ones.
pub fn barrier_key() -> Key {
    key(ENGINE, "barrier")
}

/// The row that says how far the clock of capacity has come, where it runs faster than time.
pub fn clock_key() -> Key {
    key(ENGINE, "clock")
}

/// The row that holds the version of the catalog, if several servers share the store.
pub fn version_key() -> Key {
    key(CLUSTER, "version")
}

/// The row of a server that shares the store.
pub fn member_key(member: Member) -> Key {
    key(CLUSTER, &format!("member:{}", member.0))
}

/// The server that a row of [`member_key`] names.
pub fn member_of(sort: &[u8]) -> Option<Result<Member, StoreError>> {
    sort.strip_prefix(b"member:").map(|number| decode_number(number).map(Member))
}

/// The row that says which server runs a job.
pub fn lease_key(name: &str) -> Key {
    key(CLUSTER, &format!("lease:{name}"))
}

/// The row that says which links between Regions are cut.
pub fn links_key() -> Key {
    key(CLUSTER, "links")
}

/// The row that says which generation of client request tokens was cleared last.
pub fn tokens_cleared_key() -> Key {
    key(CLUSTER, "tokens-cleared")
}

/// The row of a table in the catalog.
pub fn table_key(namespace: &Namespace, name: &str) -> Key {
    let partition = of_namespace(namespace);
    Key { space: TABLES, position: Position { partition, sort: name.as_bytes().to_vec() } }
}

/// The row that holds the number of the next unused space.
pub fn next_key() -> Key {
    key(SPACES, "next")
}

/// The row that says that a space is to be cleared.
pub fn drop_key(space: Space) -> Key {
    key(SPACES, &format!("drop:{}", space.0))
}

/// The space that a row of [`drop_key`] names.
pub fn dropped_by(sort: &[u8]) -> Option<Result<Space, StoreError>> {
    numbered(sort, b"drop:")
}

/// The row that says how far the back-fill of the index in a space has come.
pub fn progress_key(space: Space) -> Key {
    key(SPACES, &format!("progress:{}", space.0))
}

/// The row that holds the size of a space while the database is closed.
pub fn size_key(space: Space) -> Key {
    key(SPACES, &format!("size:{}", space.0))
}

/// The space that a row of [`size_key`] names.
pub fn sized_by(sort: &[u8]) -> Option<Result<Space, StoreError>> {
    numbered(sort, b"size:")
}

/// The row that says that the records of a log are to be removed.
pub fn drop_log_key(log: Log) -> Key {
    key(SPACES, &format!("drop-log:{}", log.0))
}

/// The log that a row of [`drop_log_key`] names.
pub fn log_dropped_by(sort: &[u8]) -> Option<Result<Log, StoreError>> {
    sort.strip_prefix(b"drop-log:").map(|number| decode_number(number).map(Log))
}

/// The row that says how far a log of a table was sent to another Region.
pub fn sent_key(table: Space, reader: &str, log: Log) -> Key {
    key(SPACES, &format!("sent:{}:{reader}:{}", table.0, log.0))
}

/// The row of a stream that takes no more records.
pub fn past_stream_key(stream: &PastStream) -> Key {
    let partition = of_namespace(&stream.namespace);
    let sort = format!("{}/{}", stream.table, stream.stream.created_ms).into_bytes();
    Key { space: PAST_STREAMS, position: Position { partition, sort } }
}

/// A row of a service beside the engine.
pub fn service_key(name: &str) -> Key {
    key(SERVICES, name)
}

/// The row of a backup, export or import.
pub fn record_key(namespace: &Namespace, kind: &str, arn: &str) -> Key {
    let sort = format!("{kind}/{arn}").into_bytes();
    Key { space: RECORDS, position: Position { partition: of_namespace(namespace), sort } }
}

/// The row that says which metrics a table has.
pub fn metric_names_key(namespace: &Namespace, table: &str) -> Key {
    let position = Position { partition: of_namespace(namespace), sort: table.as_bytes().to_vec() };
    Key { space: METRIC_NAMES, position }
}

/// The rows that say which metrics the tables of a namespace have.
pub fn metric_names_range(namespace: &Namespace) -> Range {
    let partition = of_namespace(namespace);
    let start = Position { partition, sort: Vec::new() };
    // The names of tables are ASCII.
    let end = Position { partition, sort: vec![u8::MAX] };
    Range { space: METRIC_NAMES, start: Bound::Included(start), end: Bound::Excluded(end) }
}

/// The row that holds what a table or index learned from its traffic.
pub fn learned_key(space: Space) -> Key {
    key(SPACES, &format!("learned:{}", space.0))
}

/// The space that a row of [`learned_key`] names.
pub fn learned_by(sort: &[u8]) -> Option<Result<Space, StoreError>> {
    numbered(sort, b"learned:")
}

/// All rows of a space whose rows are in one partition ([`SPACES`], [`CLUSTER`]). Where a store distributes partitions,
/// such a scan asks one node.
pub fn one_partition(space: Space) -> Range {
    let start = Position { partition: Partition::FIRST, sort: Vec::new() };
    // The sort bytes are ASCII.
    let end = Position { partition: Partition::FIRST, sort: vec![u8::MAX] };
    Range { space, start: Bound::Included(start), end: Bound::Excluded(end) }
}

/// The partition of a namespace's rows.
pub fn of_namespace(namespace: &Namespace) -> Partition {
    hashed(&format!("{}/{}", namespace.account, namespace.region))
}

/// The partition of a text.
pub fn hashed(text: &str) -> Partition {
    let hash = blake3::hash(text.as_bytes());
    Partition(hash.as_bytes()[..Partition::LENGTH].try_into().expect("the hash is longer"))
}

/// A number as the value of a row.
pub fn encode_number(number: u64) -> Bytes {
    Bytes::from(number.to_string())
}

/// The number in a value or key.
pub fn decode_number(bytes: &[u8]) -> Result<u64, StoreError> {
    let number = std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| StoreError::Corrupt("a number in a reserved space".into()))
}

fn numbered(sort: &[u8], prefix: &[u8]) -> Option<Result<Space, StoreError>> {
    sort.strip_prefix(prefix).map(|number| decode_number(number).map(Space))
}

fn key(space: Space, sort: &str) -> Key {
    Key { space, position: Position { partition: Partition::FIRST, sort: sort.as_bytes().to_vec() } }
}
