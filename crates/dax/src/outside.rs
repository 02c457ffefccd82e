//! What DAX needs from outside: a database to ask, and who may ask it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
pub use host::{Environment, Namespace, Rows, RowsError};

/// The database behind the cache.
#[async_trait]
pub trait Database: Send + Sync + 'static {
    /// Sends a request of the cache itself. Whether the client may send it is asked of its [`Session`].
    async fn call(&self, namespace: &Namespace, request: api::Request) -> Result<api::Response, api::Error>;
}

/// What a client says about itself when it connects.
#[derive(Clone, Debug)]
pub struct Claim {
    pub access_key: String,
    pub signature: String,
    /// The text that was signed.
    pub string_to_sign: String,
    pub session_token: Option<String>,
    pub user_agent: Option<String>,
    /// Where the connection comes from, and whether it is encrypted.
    pub source_ip: IpAddr,
    pub is_encrypted: bool,
}

/// Says who a client is.
pub trait Gate: Send + Sync + 'static {
    fn admit(&self, claim: &Claim) -> Result<Arc<dyn Session>, api::Error>;
}

/// A request that was answered.
#[derive(Debug)]
pub struct Done<'r> {
    /// DynamoDB's name of it.
    pub operation: &'static str,
    pub tables: &'r [String],
    /// None if the client went away before.
    pub outcome: Option<Result<(), &'r api::Error>>,
    pub took: Duration,
    pub from: IpAddr,
    pub is_encrypted: bool,
    /// What was in the caches, and what was not.
    pub item_hits: u64,
    pub item_misses: u64,
    pub page_hits: u64,
    pub page_misses: u64,
    /// What had to leave the caches since the last request.
    pub evicted_bytes: u64,
    /// Connections that are open.
    pub connections: u64,
}

/// A client that was let in.
pub trait Session: Send + Sync + 'static {
    /// Whose tables it reads and writes.
    fn namespace(&self) -> &Namespace;

    /// Refuses what the client's policies don't allow. `action` is as policies have it: `dax:GetItem`.
    fn authorize(&self, action: &str) -> Result<(), api::Error>;

    /// Refuses to serve while requests can't be recorded.
    fn check(&self) -> Result<(), api::Error> {
        Ok(())
    }

    /// Called at the end of every request of the client, for metrics and the audit log.
    fn done(&self, _done: &Done<'_>) {}
}
