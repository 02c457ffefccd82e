//! ClientRequestToken: a transaction that is sent again within ten minutes, with the same token, has no
//! further effect.
//!
//! Each transaction with a token commits one row as a companion of its items: a digest of the request and
//! until when the row is valid. Time is divided into generations of ten minutes, which take turns in three
//! spaces. A row is written to the space of its generation and looked up there and in the space of the one
//! before, so every row is found for ten minutes. When a generation begins, the space of the next one is
//! cleared: it holds the rows of the generation before the last.
//!
//! What always holds: an expired row has no effect, whether it was cleared or not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use api::Operation;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use store::{Key, Partition, Position, Space, Store, StoreError, WriteSet};

use crate::Namespace;
use crate::background::{Background, Job, Task};
use crate::base::caller::Caller;
use crate::base::space::{CLIENT_TOKENS, decode_number, encode_number, tokens_cleared_key};
use crate::commit::Outcome;
use crate::commit::companion::{Companion, Stop};
use crate::commit::decide::Draft;

/// How long a token is valid, and how long a generation is.
const VALID_MS: u64 = 10 * 60 * 1000;

/// The token of a request.
pub struct Token {
    /// Its rows in this generation and in the one before. The first is the one to be written.
    keys: [Key; 2],
    /// Of the request's parameters.
    digest: blake3::Hash,
    /// When the request came.
    now_ms: u64,
}

/// The row of a token: a request that was carried out with it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Earlier {
    /// When the row expires.
    until_ms: u64,
    /// Of its parameters, in hexadecimal.
    digest: String,
    /// The larger of old and new, for each of its items.
    pub sizes_bytes: Vec<usize>,
}

impl Token {
    /// Each operation has tokens of its own: equal texts of two operations are two tokens.
    pub fn new(
        caller: &Caller,
        operation: Operation,
        text: &str,
        digest: blake3::Hash,
        now_ms: u64,
    ) -> Token {
        let Namespace { account, region } = &caller.namespace;
        let scope = format!("{account}/{region}/{}", operation.name());
        let hash = blake3::hash(format!("{scope}/{text}").as_bytes());
        let partition = Partition(hash.as_bytes()[..Partition::LENGTH].try_into().expect("a longer hash"));
        let key =
            |generation| Key { space: space(generation), position: Position { partition, sort: Vec::new() } };
        let generation = now_ms / VALID_MS;
        Token { keys: [key(generation), key(generation.saturating_sub(1))], digest, now_ms }
    }

    /// The row to be written. A transaction under way holds it.
    pub fn key(&self) -> &Key {
        &self.keys[0]
    }

    /// The request that was carried out with this token, given the rows of its keys.
    fn earlier(&self, rows: &[Option<Bytes>]) -> Result<Option<Earlier>, StoreError> {
        for row in rows.iter().flatten() {
            let earlier: Earlier = serde_json::from_slice(row)
                .map_err(|error| StoreError::Corrupt(format!("a client request token: {error}")))?;
            if earlier.until_ms > self.now_ms {
                return Ok(Some(earlier));
            }
        }
        Ok(None)
    }

    /// Whether the earlier request was the same as this one.
    pub fn is_of(&self, earlier: &Earlier) -> bool {
        earlier.digest == self.digest.to_hex().as_str()
    }

    /// The row of this request.
    fn row<'a>(&self, outcomes: impl Iterator<Item = &'a Outcome>) -> (Key, Bytes) {
        let earlier = Earlier {
            until_ms: self.now_ms + VALID_MS,
            digest: self.digest.to_hex().to_string(),
            sizes_bytes: outcomes.map(Outcome::larger_bytes).collect(),
        };
        let row = serde_json::to_vec(&earlier).expect("text and numbers");
        (self.key().clone(), row.into())
    }
}

impl Companion for &Token {
    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn decide(&self, rows: &[Option<Bytes>], draft: &mut Draft<'_>) -> Result<(), Stop> {
        if let Some(earlier) = self.earlier(rows).map_err(Stop::Unreadable)? {
            return Err(Stop::Earlier(earlier));
        }
        if !draft.is_refused() {
            draft.writes.puts.push(self.row(draft.results.iter().flatten()));
        }
        Ok(())
    }
}

fn space(generation: u64) -> Space {
    CLIENT_TOKENS[(generation % 3) as usize]
}

/// Clears expired rows.
#[derive(Default)]
pub struct TokenClearing {
    /// The generation that the last clearing was begun in.
    generation: AtomicU64,
    last: tokio::sync::Mutex<Option<Task<Result<(), StoreError>>>>,
}

impl TokenClearing {
    /// Begins the clearing of the next generation's space, once in each generation. There are ten minutes
    /// for it; if that isn't enough, requests with a token wait until it is done.
    pub async fn keep_up(&self, background: &Background, store: &Arc<dyn Store>, now_ms: u64) {
        let generation = now_ms / VALID_MS;
        if self.generation.load(Ordering::Acquire) == generation {
            return;
        }
        let mut last = self.last.lock().await;
        if self.generation.load(Ordering::Acquire) == generation {
            return;
        }
        if let Some(last) = last.take()
            && let Err(error) = last.outcome().await
        {
            tracing::error!(%error, "the clearing of old client request tokens broke off");
        }
        let store = store.clone();
        *last = Some(background.start(ClearGeneration { store, generation: generation + 1 }));
        self.generation.store(generation, Ordering::Release);
    }
}

/// Clears the tokens of one generation.
struct ClearGeneration {
    store: Arc<dyn Store>,
    generation: u64,
}

impl Job for ClearGeneration {
    fn name(&self) -> &'static str {
        "clearing of client request tokens"
    }

    fn subject(&self) -> String {
        format!("space {}", space(self.generation).0)
    }

    async fn run(&self) -> Result<(), StoreError> {
        if self.store.cluster().is_some() && !self.is_first().await? {
            return Ok(());
        }
        self.store.clear(space(self.generation)).await
    }
}

impl ClearGeneration {
    /// Notes that this generation is cleared; false if another server did so. A server that comes late must not
    /// clear what others have begun to use.
    async fn is_first(&self) -> Result<bool, StoreError> {
        let key = tokens_cleared_key();
        let mut is_first = Ok(false);
        let mut decide = |rows: &[Option<Bytes>]| {
            let last = rows[0].as_deref().map(decode_number).transpose();
            is_first = last.map(|last| last.is_none_or(|last| last < self.generation));
            let puts = matches!(is_first, Ok(true)).then(|| (key.clone(), encode_number(self.generation)));
            WriteSet { puts: puts.into_iter().collect(), ..WriteSet::default() }
        };
        self.store.update(std::slice::from_ref(&key), &mut decide).await?;
        is_first
    }
}
