//! What the engine needs of a stream outside.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use store::Position;

/// A change as a stream gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KinesisRecord {
    /// Equal for all items of a partition.
    pub partition_key: String,
    /// The key of the item in the store.
    pub item: Position,
    /// JSON.
    pub data: Vec<u8>,
}

/// The outcome of a put of several records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PutOutcome {
    /// How many have arrived, counted from the first; the others are put again.
    pub arrived: usize,
    /// How often the stream turned a record away because it had no throughput left.
    pub throttled: usize,
    /// Why not all have arrived.
    pub obstacle: Option<String>,
}

/// What [`KinesisStream::put`] returns.
pub type PutFuture<'a> = Pin<Box<dyn Future<Output = PutOutcome> + Send + 'a>>;

/// A stream that takes records.
pub trait KinesisStream: Send + Sync {
    /// Puts records. The changes of an item arrive in their order.
    fn put<'a>(&'a self, records: &'a [KinesisRecord]) -> PutFuture<'a>;
}

/// The streams that this server can deliver to, by name.
#[derive(Clone, Default)]
pub struct KinesisStreams(Arc<BTreeMap<String, Arc<dyn KinesisStream>>>);

impl KinesisStreams {
    pub(crate) fn get(&self, name: &str) -> Option<Arc<dyn KinesisStream>> {
        self.0.get(name).cloned()
    }
}

impl FromIterator<(String, Arc<dyn KinesisStream>)> for KinesisStreams {
    fn from_iter<T: IntoIterator<Item = (String, Arc<dyn KinesisStream>)>>(streams: T) -> KinesisStreams {
        KinesisStreams(Arc::new(streams.into_iter().collect()))
    }
}

impl fmt::Debug for KinesisStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
