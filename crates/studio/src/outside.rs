//! What the studio needs of its process: who a key belongs to, and other databases.

use std::fmt;
use std::sync::Arc;

use api::Error;
use engine::Caller;
use proof::Endpoint;

/// An access key. Its secret is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessKey {
    pub id: String,
    pub secret: String,
    /// Of temporary keys.
    pub session_token: Option<String>,
}

impl fmt::Debug for AccessKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "AccessKey({})", self.id)
    }
}

/// Where requests to another database get their signatures from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteKey {
    /// The database takes any key; the account is the key's id.
    Any {
        account: String,
    },
    Given(AccessKey),
    /// A profile of the server's AWS configuration: keys, a role, single sign-on.
    Profile(String),
}

/// A profile of the server's AWS configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    pub name: String,
    pub region: Option<String>,
    /// Its account, if the configuration says it.
    pub account: Option<String>,
    /// What it signs with: `access key`, `role`, `single sign-on`, `process`.
    pub kind: &'static str,
}

/// What a process offers its studio.
pub trait Outside: fmt::Debug + Send + Sync + 'static {
    /// Whether requests must be signed with a key of an access file.
    fn has_keys(&self) -> bool;

    /// Who a key of the access file signs for, in this Region. The error says why it is not accepted.
    fn caller(&self, key: &AccessKey, region: &str) -> Result<SignedIn, Error>;

    /// Whether pages may use the profiles of the server's AWS configuration.
    fn offers_profiles(&self) -> bool;

    /// Those profiles. Nothing is sent.
    fn profiles(&self) -> Vec<Profile>;

    /// A database behind an address, for one Region. Nothing is sent yet.
    fn database(&self, address: &str, region: &str, key: &RemoteKey) -> Result<Arc<dyn Endpoint>, String>;
}

/// The identity of a key.
#[derive(Clone, Debug)]
pub struct SignedIn {
    pub caller: Caller,
    /// The name of the user or role, for people.
    pub name: String,
}
