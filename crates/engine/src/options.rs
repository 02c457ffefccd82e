//! What an opened database may be told.

use std::time::Duration;

/// Settings of a database that its clients can't change.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How long a table stays CREATING, UPDATING or DELETING. Zero, the default, is not at all.
    pub state_delay: Duration,
    /// The host and port that DescribeEndpoints answers with; without one, DynamoDB's own.
    pub endpoint: Option<String>,
}
