//! What an opened database may be told.

use std::time::Duration;

use api::limits;

/// Settings of a database that its clients can't change.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long a table stays CREATING, UPDATING or DELETING. Zero, the default, is not at all.
    pub state_delay: Duration,
    /// The host and port that DescribeEndpoints answers with; without one, DynamoDB's own.
    pub endpoint: Option<String>,
    /// How large an item collection may grow: what a partition holds.
    pub item_collection_bytes_max: u64,
    /// Whether requests beyond what a table or index has provisioned are refused.
    pub throttling: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            state_delay: Duration::ZERO,
            endpoint: None,
            item_collection_bytes_max: limits::ITEM_COLLECTION_BYTES_MAX,
            throttling: true,
        }
    }
}
