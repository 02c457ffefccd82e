//! What DAX needs from outside: a database to ask, and who may ask it.

use std::net::IpAddr;
use std::sync::Arc;

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

/// A client that was let in.
pub trait Session: Send + Sync + 'static {
    /// Whose tables it reads and writes.
    fn namespace(&self) -> &Namespace;

    /// Refuses what the client's policies don't allow. `action` is as policies have it: `dax:GetItem`.
    fn authorize(&self, action: &str) -> Result<(), api::Error>;
}
