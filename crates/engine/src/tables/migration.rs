//! Moving a whole database from one store to another, of whatever kind: what is copied, and which of the two may be
//! opened when.
//!
//! 1. The target is taken: it is empty, or it is a copy of the same source that was not finished ([`Move::begin`]).
//! 2. Walks along both make the target equal to the source (`copy.rs`), while the source is in use ([`Move::pass`]).
//! 3. The source is closed to everybody ([`pause`]).
//! 4. A last walk compares all rows and the change records that no walk has compared yet, copies the rest, and reads that
//!    back ([`Move::settle`]).
//! 5. The source is marked as moved ([`release`]), then the target is opened to everybody ([`Move::finish`]).
//!
//! What always holds:
//! - One row in each store, its mark, says which step was reached. A store with a mark can't be opened as a database,
//!   so at most one of the two ever is, once the source was closed.
//! - Every step can be repeated, so after a crash the command is run again and goes on.
//! - Nothing is written to a target that was neither empty nor marked as a copy of this source.
//! - On a store that several processes share, the one that copies is a member. The next one expels it first.
//!
//! Not copied: the rows about servers that share a store, and the sizes of tables, which are counted again.

mod copy;

use std::collections::HashMap;
use std::ops::ControlFlow;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use store::{Consistency, Direction, Log, Member, Position, Range, Read, Space, Store, StoreError, WriteSet};

use crate::base::space;
use copy::{Check, Compared};

/// What a store says about its being moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Mark {
    /// It becomes a copy of a source. The member is the process that copies, if the store has members.
    Arriving { from: String, by: Option<u64> },
    /// It is closed while the rest of it is copied.
    Leaving { to: String },
    /// All of it is in the target.
    Moved { to: String },
}

impl Mark {
    fn decode(row: &Option<Bytes>) -> Result<Option<Mark>, StoreError> {
        let decode = |row: &Bytes| {
            serde_json::from_slice(row)
                .map_err(|error| StoreError::Corrupt(format!("the mark of a migration: {error}")))
        };
        row.as_ref().map(decode).transpose()
    }

    fn encode(&self) -> Bytes {
        Bytes::from(serde_json::to_vec(self).expect("texts and numbers only"))
    }

    /// Why the store can't be opened as a database.
    fn refusal(&self) -> StoreError {
        StoreError::Format(match self {
            Mark::Arriving { from, .. } => format!(
                "this is an unfinished copy of {from}: `lodestone migrate` goes on with it when it is run again"
            ),
            Mark::Leaving { to } => format!(
                "the data is being moved to {to}. Run `lodestone migrate` again to finish, or `lodestone migrate \
                 --cancel SOURCE` to go on here"
            ),
            Mark::Moved { to } => format!(
                "the data was moved to {to}. `lodestone migrate --cancel SOURCE` lets what was left behind be used again"
            ),
        })
    }
}

/// Why data can't be moved.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "the target is not empty: it holds something other than an unfinished copy of {from}. Name an empty one"
    )]
    TargetInUse { from: String },
    #[error("the target is an unfinished copy of {found}, and not of {from}. Name an empty one")]
    OtherSource { found: String, from: String },
    #[error("the source holds no database")]
    NothingThere,
    #[error(
        "the source was moved, or is being moved, to {to}. `lodestone migrate --cancel SOURCE` lets it be used again"
    )]
    MovedElsewhere { to: String },
    #[error("the source is itself an unfinished copy of {from}")]
    Unfinished { from: String },
    #[error("the migration was cancelled by another process")]
    Cancelled,
}

/// What a source says about an earlier migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceState {
    /// It is, or can be, in use.
    Open,
    /// It is closed, and the move to this target is not finished.
    Closed,
    /// It was moved to this target.
    Moved,
}

/// What one walk along both stores saw.
#[derive(Clone, Debug, Default)]
pub struct Pass {
    /// Rows of the source.
    pub rows: u64,
    /// Change records of the source, with those that an earlier walk has compared.
    pub records: u64,
    /// Rows and records that differed in the target.
    pub changed: u64,
    /// Of all rows of the source, in order.
    pub checksum: String,
}

/// How far a walk has come.
#[derive(Clone, Copy, Debug)]
pub struct PassProgress {
    /// In parts of a million. The rows of a space are spread evenly over their hashes, so it is known where a walk
    /// is without counting them first.
    pub millionths: u64,
    /// Rows that were seen.
    pub rows: u64,
}

/// Called while a walk goes on.
pub type OnProgress<'a> = dyn FnMut(PassProgress) + Send + 'a;

/// A move into a target that was taken for it.
pub struct Move<'a> {
    target: &'a dyn Store,
    member: Option<Member>,
    /// How far the walks have compared each log.
    compared: Mutex<HashMap<Log, Compared>>,
}

/// Refuses a store that is being moved, or was.
pub async fn check_open(store: &dyn Read) -> Result<(), StoreError> {
    match read_mark(store).await? {
        None => Ok(()),
        Some(mark) => Err(mark.refusal()),
    }
}

/// Whether a row of the mark allows the store to be opened.
pub fn check_mark(row: &Option<Bytes>) -> Result<(), StoreError> {
    Mark::decode(row)?.map_or(Ok(()), |mark| Err(mark.refusal()))
}

/// What the source says about a move to this target. It must hold a database.
pub async fn source_state(source: &dyn Read, to: &str) -> Result<SourceState, MoveError> {
    let format = source.get(&[space::format_key()], Consistency::Latest).await?.pop().flatten();
    match read_mark(source).await? {
        None if format.is_none() => Err(MoveError::NothingThere),
        None => Ok(SourceState::Open),
        Some(Mark::Arriving { from, .. }) => Err(MoveError::Unfinished { from }),
        Some(Mark::Leaving { to: other } | Mark::Moved { to: other }) if other != to => {
            Err(MoveError::MovedElsewhere { to: other })
        }
        Some(Mark::Leaving { .. }) => Ok(SourceState::Closed),
        Some(Mark::Moved { .. }) => Ok(SourceState::Moved),
    }
}

/// Whether servers are using the source.
pub async fn is_served(source: &dyn Read) -> Result<bool, StoreError> {
    Ok(!members(source).await?.is_empty())
}

/// Closes the source: no server can open it any more, and those that have it open can't write. A process that has the
/// store for itself is not concerned.
pub async fn pause(source: &dyn Store, to: &str) -> Result<(), StoreError> {
    // First the mark: a server that joins later than this sees it.
    set_mark(source, Some(&Mark::Leaving { to: to.to_owned() })).await?;
    let Some(cluster) = source.cluster() else { return Ok(()) };
    for member in members(source).await? {
        cluster.expel(member).await?;
        let key = space::member_key(member);
        let mut forget = |_: &[Option<Bytes>]| WriteSet { deletes: vec![key.clone()], ..WriteSet::default() };
        source.update(std::slice::from_ref(&key), &mut forget).await?;
    }
    Ok(())
}

/// Lets the source be opened again. What the target does from here on is its own.
pub async fn cancel(source: &dyn Store) -> Result<(), MoveError> {
    match read_mark(source).await? {
        Some(Mark::Arriving { from, .. }) => Err(MoveError::Unfinished { from }),
        Some(Mark::Leaving { .. } | Mark::Moved { .. }) | None => Ok(set_mark(source, None).await?),
    }
}

/// Marks the source as moved, or removes its mark if it is kept. An earlier run may have done so already, and servers may
/// have written to the source since.
pub async fn release(source: &dyn Store, to: &str, is_kept: bool) -> Result<(), MoveError> {
    let (leaving, moved) = (Mark::Leaving { to: to.to_owned() }, Mark::Moved { to: to.to_owned() });
    let key = space::migration_key();
    let mut is_leaving = false;
    let mut decide = |rows: &[Option<Bytes>]| {
        is_leaving = rows[0] == Some(leaving.encode());
        match (is_leaving, is_kept) {
            (false, _) => WriteSet::default(),
            (true, true) => WriteSet { deletes: vec![key.clone()], ..WriteSet::default() },
            (true, false) => WriteSet { puts: vec![(key.clone(), moved.encode())], ..WriteSet::default() },
        }
    };
    source.update(std::slice::from_ref(&key), &mut decide).await?;
    if is_leaving { Ok(()) } else { Err(MoveError::Cancelled) }
}

/// Whether a move into this store is unfinished.
pub async fn is_arriving(target: &dyn Read) -> Result<bool, StoreError> {
    Ok(matches!(read_mark(target).await?, Some(Mark::Arriving { .. })))
}

impl<'a> Move<'a> {
    /// Takes the target: an empty one, or an unfinished copy of the same source.
    pub async fn begin(target: &'a dyn Store, from: &str) -> Result<Move<'a>, MoveError> {
        let found = read_mark(target).await?;
        let earlier = match &found {
            Some(Mark::Arriving { from: other, by }) if other == from => *by,
            Some(Mark::Arriving { from: other, .. }) => {
                return Err(MoveError::OtherSource { found: other.clone(), from: from.to_owned() });
            }
            Some(_) => return Err(MoveError::TargetInUse { from: from.to_owned() }),
            None if is_empty(target).await? => None,
            None => return Err(MoveError::TargetInUse { from: from.to_owned() }),
        };
        let member = match target.cluster() {
            Some(cluster) => {
                if let Some(earlier) = earlier {
                    cluster.expel(Member(earlier)).await?;
                }
                Some(cluster.join().await?)
            }
            None => None,
        };
        let mark = Mark::Arriving { from: from.to_owned(), by: member.map(|member| member.0) };
        let keys = [space::migration_key(), space::format_key()];
        let mut taken = false;
        let mut decide = |rows: &[Option<Bytes>]| {
            // A server that opens the empty store at the same moment, or another migration, was faster.
            let is_as_found = Mark::decode(&rows[0]).is_ok_and(|mark| mark == found);
            taken = is_as_found && (found.is_some() || rows[1].is_none());
            let puts = taken.then(|| (keys[0].clone(), mark.encode())).into_iter().collect();
            WriteSet { puts, ..WriteSet::default() }
        };
        target.update(&keys, &mut decide).await?;
        match taken {
            true => Ok(Move { target, member, compared: Mutex::default() }),
            false => Err(MoveError::TargetInUse { from: from.to_owned() }),
        }
    }

    /// Walks along the source and the target and makes them equal.
    pub async fn pass(&self, source: &dyn Read, progress: &mut OnProgress<'_>) -> Result<Pass, StoreError> {
        self.walk(source, Check::Later, progress).await
    }

    /// Copies the rest of a source that takes no more writes, and compares every row of both stores, and every change
    /// record that was not compared before.
    pub async fn settle(&self, source: &dyn Read, progress: &mut OnProgress<'_>) -> Result<Pass, StoreError> {
        self.walk(source, Check::ReadBack, progress).await
    }

    fn walk<'w>(
        &'w self,
        source: &'w dyn Read,
        check: Check,
        progress: &'w mut OnProgress<'_>,
    ) -> BoxFuture<'w, Result<Pass, StoreError>> {
        Box::pin(async move {
            let next = source.get(&[space::next_key()], Consistency::Latest).await?.pop().flatten();
            let next = next.as_deref().map(space::decode_number).transpose()?;
            // Logs are numbered like spaces.
            let numbers = 0..next.unwrap_or(0).max(space::FIRST_OF_TABLES.0);
            let spaces = numbers.clone().map(Space).filter(|space| *space != space::CLUSTER);
            let spaces: Vec<Space> = spaces.collect();
            let (mut pass, mut checksum) = (Pass::default(), blake3::Hasher::new());
            let mut rows = 0;
            for (done, space) in spaces.iter().enumerate() {
                let mut step = |position: &Position, seen: u64| {
                    rows += seen;
                    let millionths = (done as u64 * 1_000_000 + fraction(position)) / spaces.len() as u64;
                    progress(PassProgress { millionths, rows });
                };
                let counts =
                    copy::copy_space(source, self.target, *space, is_copied, check, &mut checksum, &mut step)
                        .await?;
                pass.rows += counts.seen;
                pass.changed += counts.changed;
            }
            for log in numbers.map(Log) {
                let mut compared = self.compared.lock().get(&log).copied().unwrap_or_default();
                let counts = copy::copy_log(source, self.target, log, check, &mut compared).await?;
                self.compared.lock().insert(log, compared);
                pass.records += counts.seen;
                pass.changed += counts.changed;
            }
            pass.checksum = checksum.finalize().to_hex().to_string();
            Ok(pass)
        })
    }

    /// Opens the target to everybody.
    pub async fn finish(self) -> Result<(), StoreError> {
        set_mark(self.target, None).await?;
        match (self.target.cluster(), self.member) {
            (Some(cluster), Some(member)) => cluster.expel(member).await,
            _ => Ok(()),
        }
    }
}

/// Whether a row belongs to the database and not to the servers or to the migration.
fn is_copied(space: Space, sort: &[u8]) -> bool {
    match space {
        space::ENGINE => sort != space::migration_key().position.sort,
        space::SPACES => space::sized_by(sort).is_none(),
        _ => true,
    }
}

/// How far a position is along its space, in parts of a million.
fn fraction(position: &Position) -> u64 {
    let [first, second, third, ..] = position.partition.0;
    (u64::from(u32::from_be_bytes([0, first, second, third])) * 1_000_000) >> 24
}

async fn read_mark(store: &dyn Read) -> Result<Option<Mark>, StoreError> {
    let row = store.get(&[space::migration_key()], Consistency::Latest).await?.pop().flatten();
    Mark::decode(&row)
}

async fn set_mark(store: &dyn Store, mark: Option<&Mark>) -> Result<(), StoreError> {
    let key = space::migration_key();
    let mut decide = |_: &[Option<Bytes>]| match mark {
        Some(mark) => WriteSet { puts: vec![(key.clone(), mark.encode())], ..WriteSet::default() },
        None => WriteSet { deletes: vec![key.clone()], ..WriteSet::default() },
    };
    store.update(std::slice::from_ref(&key), &mut decide).await
}

/// The servers that share a store.
async fn members(store: &dyn Read) -> Result<Vec<Member>, StoreError> {
    let mut members = Vec::new();
    let mut visit = |key: store::KeyRef<'_>, _: Bytes| {
        members.extend(space::member_of(key.sort));
        ControlFlow::Continue(())
    };
    store
        .scan(&space::one_partition(space::CLUSTER), Direction::Forward, Consistency::Latest, &mut visit)
        .await?;
    members.into_iter().collect()
}

/// Whether a store has no row in the spaces that every database uses.
async fn is_empty(store: &dyn Read) -> Result<bool, StoreError> {
    let mut is_empty = true;
    for number in 0..space::FIRST_OF_TABLES.0 {
        let mut visit = |_: store::KeyRef<'_>, _: Bytes| {
            is_empty = false;
            ControlFlow::Break(())
        };
        let range = Range::all(Space(number));
        store.scan(&range, Direction::Forward, Consistency::Latest, &mut visit).await?;
    }
    Ok(is_empty)
}
