//! Settings of a database that its clients cannot change.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::limits;
use capacity::Enforcement;
use transfer::{Bucket, Buckets};

use crate::log::kinesis::KinesisStreams;
use crate::regions::Peers;

/// Settings for [`Engine::open_with`](crate::Engine::open_with).
#[derive(Clone, Debug)]
pub struct Options {
    /// How long a table stays CREATING, UPDATING or DELETING. Zero, the default, means that tables
    /// change state at once.
    pub state_delay: Duration,
    /// The host and port in the answer of DescribeEndpoints; DynamoDB's own if there is none.
    pub endpoint: Option<String>,
    /// How large an item collection may grow: what a partition holds.
    pub item_collection_bytes_max: u64,
    /// Which limits of throughput are counted, and which are enforced.
    pub capacity: Enforcement,
    /// How many times as fast as real time capacity, metrics, alarms and cooldowns run.
    pub time_scale: u32,
    /// How far reads of global indexes may lag behind the table. Zero, the default: not at all.
    pub index_delay: Duration,
    /// How much memory compressed copies of vector indexes may take; with zero there are none.
    pub vector_bytes_max: usize,
    /// From how many rows on a vector index, or a partition of one, is copied when it is searched.
    pub vector_rows_min: usize,
    /// How many shards a stream has at first. A greater number divides the shards of existing streams.
    pub stream_shards: u16,
    /// How many bytes change records may take in all tables together; no limit if there is none.
    pub change_log_bytes_max: Option<u64>,
    /// How long an expired item stays before it is deleted.
    pub expiry_delay: Duration,
    /// How long a change stays in its Region before it is sent to the other members of a global table.
    pub replication_delay: Duration,
    /// Whether the items of a transaction arrive together in the other members, table by table, and not one by one as on AWS.
    pub replicates_transactions_whole: bool,
    /// By how much the clocks of Regions differ from that of the process, in milliseconds: to see that global tables
    /// come to the same result nevertheless.
    pub region_clocks: BTreeMap<String, i64>,
    /// The servers that have other Regions of global tables.
    pub peers: Peers,
    /// The streams that Kinesis destinations of tables are delivered to.
    pub kinesis: KinesisStreams,
    /// Where backups are kept.
    pub backups: Option<Bucket>,
    /// The buckets that exports are written to and imports are read from.
    pub s3: Option<Arc<Buckets>>,
    /// How often a server looks for what other servers on the same store did to tables.
    pub member_poll: Duration,
    /// After how long without a sign of life a server is expelled by the others.
    pub member_silence: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            state_delay: Duration::ZERO,
            endpoint: None,
            item_collection_bytes_max: limits::ITEM_COLLECTION_BYTES_MAX,
            capacity: Enforcement::Shadow,
            time_scale: 1,
            index_delay: Duration::ZERO,
            vector_bytes_max: 256 << 20,
            vector_rows_min: 5_000,
            stream_shards: 4,
            change_log_bytes_max: None,
            expiry_delay: Duration::ZERO,
            replication_delay: Duration::ZERO,
            replicates_transactions_whole: false,
            region_clocks: BTreeMap::new(),
            peers: Peers::default(),
            kinesis: KinesisStreams::default(),
            backups: None,
            s3: None,
            member_poll: Duration::from_millis(50),
            member_silence: Duration::from_secs(15),
        }
    }
}
