//! Regions that other servers have. A peer gets messages for the member there, and answers with the state of that
//! member. There are few kinds of messages, and each may be sent again.
//!
//! The engine knows no network. The process that opens it supplies a [`Peer`] for each such Region, and passes the
//! messages of peers to [`Regions::receive`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use item::Item;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use store::{Partition, Position, StoreError};

use super::scaling::Scaled;
use crate::base::membership::{Overrides, ReplicaState};
use crate::base::table::Table;
use crate::base::version::Version;
use crate::commit::Change;
use crate::regions::Regions;

/// The most changes of one message.
pub const CHANGES_MAX: usize = 100;
/// Bytes of items in one message, if there is more than one: with base64 around them far below what a server takes.
pub const MESSAGE_BYTES: usize = 2 << 20;
/// Bytes of items in one message that can't be divided: with base64 around them still below what a server takes.
pub const WHOLE_MESSAGE_BYTES: usize = 8 << 20;
/// The longest sort bytes of a key: 1 KiB, in which some bytes are written as two, for each of several attributes.
const SORT_BYTES_MAX: usize = 16 << 10;
/// How far the clock of another Region may be ahead.
const AHEAD_MAX_US: u64 = 24 * 60 * 60 * 1_000_000;

/// A server that has another Region.
pub trait Peer: Send + Sync {
    /// Sends a message. The error says why there is no answer, or that the peer refuses.
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<Answer, String>>;
}

/// The Regions that other servers have.
#[derive(Clone, Default)]
pub struct Peers(Arc<BTreeMap<String, Arc<dyn Peer>>>);

impl Peers {
    pub(crate) fn get(&self, region: &str) -> Option<Arc<dyn Peer>> {
        self.0.get(region).cloned()
    }
}

impl FromIterator<(String, Arc<dyn Peer>)> for Peers {
    fn from_iter<T: IntoIterator<Item = (String, Arc<dyn Peer>)>>(peers: T) -> Peers {
        Peers(Arc::new(peers.into_iter().collect()))
    }
}

impl fmt::Debug for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// What one member of a global table sends to another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Message {
    pub account: String,
    pub table: String,
    /// The Region of the member that sends it.
    pub from: String,
    /// The Region of the member that it is for.
    pub to: String,
    pub news: News,
}

impl Message {
    /// Whether items are in it.
    pub fn has_items(&self) -> bool {
        matches!(self.news, News::Changes(_) | News::Together(_) | News::Copy(_))
    }
}

/// The content of a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum News {
    /// Nothing: the answer counts.
    Question,
    /// How far the sender's changes have come, and its time.
    Beat { lag_us: u64, now_us: u64 },
    /// Changes that were made at the sender.
    Changes(Vec<SentChange>),
    /// The same, to be made in one commit.
    Together(Vec<SentChange>),
    /// Items of the sender for a new member.
    Copy(Vec<SentChange>),
    /// A new member: this is the table that it is copied from, and these are the other members.
    Create { source: Box<Table>, others: Vec<String> },
    /// All was copied from this table.
    Activate(Box<Table>),
    /// The sender copies itself to a new member in this Region.
    Introduce { region: String, overrides: BTreeMap<String, Overrides> },
    /// What another member does.
    State { region: String, state: ReplicaState },
    /// The member is to send what it has and to leave.
    Leave,
    /// A member has left. If it is lost, the others bring each other up to date.
    Forget { region: String, is_lost: bool },
    /// The settings that members share.
    Settings(Box<Table>),
    /// How units of the member are to be scaled. The answer says how all are.
    Scaling(Vec<Scaled>),
}

/// The state of the member that got a message.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Answer {
    /// False if there is no throughput left for some changes.
    pub is_done: bool,
    /// None if there is no such table.
    pub table: Option<TableThere>,
    /// How the units of the member are scaled, if that was asked.
    #[serde(default)]
    pub scaling: Vec<Scaled>,
}

/// A table in another Region.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TableThere {
    /// Whether the sender is known as another member.
    pub is_member: bool,
    pub is_creating: bool,
    pub is_protected: bool,
    /// Whether others were copied from it lately.
    pub was_source: bool,
    /// When the settings that members share were last changed there.
    pub settings_us: u64,
}

/// A change on its way to another member.
pub struct Versioned {
    pub at: Position,
    /// A put or a deletion.
    pub change: Change,
    pub version: Version,
}

impl Versioned {
    /// About how many bytes it has.
    pub fn size(&self) -> usize {
        match &self.change {
            Change::Put(item) => item.size_bytes(),
            _ => 0,
        }
    }
}

/// A change between servers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SentChange {
    version: Version,
    #[serde(flatten)]
    to: SentItem,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SentItem {
    Put(Binary),
    /// By its position: the attributes of the key may not be known any more.
    Delete {
        partition: Binary,
        sort: Binary,
        key: Option<Binary>,
    },
}

/// Bytes, as base64 in text.
#[derive(Clone, Debug)]
struct Binary(Bytes);

impl Serialize for Binary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Binary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Binary, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let bytes = BASE64.decode(text.as_bytes()).map_err(serde::de::Error::custom)?;
        Ok(Binary(bytes.into()))
    }
}

impl From<Versioned> for SentChange {
    fn from(change: Versioned) -> SentChange {
        let Versioned { at, change, version } = change;
        let to = match change {
            Change::Put(item) | Change::Insert(item) => SentItem::Put(Binary(item.into_stored())),
            Change::Delete { key_attributes }
            | Change::Update { key_attributes, .. }
            | Change::Check { key_attributes } => deletion(at, Some(key_attributes)),
            Change::Expire { .. } => deletion(at, None),
        };
        SentChange { version, to }
    }
}

fn deletion(at: Position, key: Option<Item>) -> SentItem {
    let key = key.filter(|key| !key.is_empty());
    SentItem::Delete {
        partition: Binary(Bytes::copy_from_slice(&at.partition.0)),
        sort: Binary(at.sort.into()),
        key: key.map(|key| Binary(key.into_stored())),
    }
}

impl SentChange {
    /// Checks what a peer has sent. The error says what is wrong with it.
    pub fn check(self, table: &Table, now_us: u64) -> Result<Versioned, String> {
        let SentChange { version, to } = self;
        if version.region.is_empty() || version.region.len() > 64 {
            return Err("the Region of a change has no name".to_owned());
        }
        if version.time_us > now_us.saturating_add(AHEAD_MAX_US) {
            return Err(format!("{} is more than a day ahead: its clock is wrong", version.region));
        }
        let unreadable = |_| "an item can't be read".to_owned();
        match to {
            SentItem::Put(Binary(bytes)) => {
                let item = Item::from_stored(bytes).map_err(unreadable)?;
                let key = table.key_of_item(item.as_ref());
                let key = key.map_err(|error| format!("an item is none of this table: {error:?}"))?;
                Ok(Versioned { at: key.position, change: Change::Put(item), version })
            }
            SentItem::Delete { key: Some(Binary(bytes)), .. } => {
                let key_attributes = Item::from_stored(bytes).map_err(unreadable)?;
                let key = table.key_of(key_attributes.as_ref());
                let key = key.map_err(|error| format!("a key is none of this table: {error:?}"))?;
                Ok(Versioned { at: key.position, change: Change::Delete { key_attributes }, version })
            }
            SentItem::Delete { partition: Binary(partition), sort: Binary(sort), key: None } => {
                let partition = partition[..].try_into().map_err(|_| "a deletion has no key".to_owned())?;
                if sort.len() > SORT_BYTES_MAX {
                    return Err("a deletion has no key".to_owned());
                }
                let at = Position { partition: Partition(partition), sort: sort.into() };
                let change = Change::Delete { key_attributes: Item::default() };
                Ok(Versioned { at, change, version })
            }
        }
    }
}

impl Regions {
    /// Tells a peer what the member there has to know. A peer that can't be reached is unavailable, as a store is.
    pub(crate) async fn send_news(
        &self,
        peer: &Arc<dyn Peer>,
        table: &Table,
        to: &str,
        news: News,
    ) -> Result<Answer, StoreError> {
        let (account, from) = (table.namespace.account.to_string(), table.namespace.region.to_string());
        if self.is_cut(&from, to).await? {
            return Err(StoreError::Unavailable(format!("{from} and {to} are cut off from each other")));
        }
        let message = Message { account, table: table.name.clone(), from, to: to.to_owned(), news };
        peer.send(&message).await.map_err(|reason| StoreError::Unavailable(format!("{to}: {reason}")))
    }
}
