//! One transaction: reading values, writing them, and commits whose outcome is always found out.
//!
//! If the answer to a commit is lost, it may have happened, and it may still happen. So each commit leaves a mark, in
//! a slot that no other commit of any server uses at the same time, and conflicts with every change of that mark.
//! Whoever wants to know looks: the mark is there, or it is replaced by one that says "closed", which keeps the commit
//! from happening later.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use foundationdb::options::{ConflictRangeType, MutationType, StreamingMode, TransactionOption};
use foundationdb::{FdbError, RangeOption, Transaction};
use futures_util::TryStreamExt;
use parking_lot::Mutex;
use store::StoreError;
use tokio::time::{Instant, timeout};

use super::Shared;
use super::failure::Failure;
use crate::keys::{Generation, KeyRange, next, piece};
use crate::retry::{Fault, Next, Tries};
use crate::value::{self, PIECE_BYTES, Stored};

const OPEN: u8 = 1;
const CLOSED: u8 = 0;
/// How long one look for a lost commit waits.
const LOOK: Duration = Duration::from_secs(5);
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// Pairs of a key and its value.
pub(super) type Pairs = Vec<(Vec<u8>, Bytes)>;

/// The slots of this handle that no commit uses, and how many there are.
#[derive(Default)]
pub(super) struct Slots {
    free: Mutex<(Vec<u32>, u32)>,
}

/// The mark of one commit.
struct Mark {
    key: Vec<u8>,
    value: Vec<u8>,
    slot: u32,
}

impl Shared {
    pub(super) fn begin(&self) -> Result<Transaction, Failure> {
        if self.is_closed() {
            return Err(StoreError::closed().into());
        }
        let transaction = self.database.create_trx()?;
        let limit = i32::try_from(self.options.reply.as_millis()).unwrap_or(i32::MAX);
        transaction.set_option(TransactionOption::Timeout(limit))?;
        Ok(transaction)
    }

    /// Waits until a call may be tried again after this failure.
    pub(super) async fn try_again(&self, tries: &mut Attempts, failure: Failure) -> Result<(), StoreError> {
        match tries.counts.after(failure.fault(), tries.began.elapsed(), self.draw()) {
            Next::Again(pause) if pause.is_zero() => Ok(()),
            Next::Again(pause) => {
                tokio::time::sleep(pause).await;
                Ok(())
            }
            Next::GiveUp => Err(self.explain(failure).await),
        }
    }

    /// The error of a call that is given up. If the cluster is away, it says what is known of the reason.
    async fn explain(&self, failure: Failure) -> StoreError {
        let is_away = matches!(failure.fault(), Fault::Away | Fault::MaybeCommitted);
        let error = failure.into_error();
        match is_away {
            true => self.reason().await.map_or(error, StoreError::Unavailable),
            false => error,
        }
    }

    /// What the cluster's status says.
    pub(super) async fn reason(&self) -> Option<String> {
        const STATUS: &[u8] = b"\xff\xff/status/json";
        let transaction = self.database.create_trx().ok()?;
        let status = timeout(LOOK, transaction.get(STATUS, true)).await.ok()?.ok()??;
        crate::status::reason(&serde_json::from_slice(&status).ok()?)
    }

    /// Commits, also if the caller goes away. The version is that of the commit, if the cluster has told it.
    pub(super) async fn commit(self: &Arc<Self>, transaction: Transaction) -> Result<Option<i64>, Failure> {
        let mark = self.new_mark();
        transaction.set(&mark.key, &mark.value);
        conflict(&transaction, &(mark.key.clone(), next(mark.key.clone())), ConflictRangeType::Read)?;
        let ticket = self.under_way.clone().read_owned().await;
        let shared = self.clone();
        let committing = tokio::spawn(async move {
            let outcome = shared.commit_marked(transaction, &mark).await;
            drop(ticket);
            // A commit of unknown outcome keeps its slot: it may still write there.
            if !matches!(outcome, Err(Failure::Final(StoreError::Ambiguous(_)))) {
                shared.slots.free.lock().0.push(mark.slot);
            }
            outcome
        });
        committing.await.unwrap_or_else(|_| {
            Err(StoreError::Ambiguous("the task of a commit ended early".to_owned()).into())
        })
    }

    fn new_mark(&self) -> Mark {
        let slot = {
            let mut slots = self.slots.free.lock();
            slots.0.pop().unwrap_or_else(|| {
                slots.1 += 1;
                slots.1
            })
        };
        let value = [&self.next_serial().to_be_bytes()[..], &[OPEN]].concat();
        Mark { key: self.keys.mark(self.handle, slot), value, slot }
    }

    async fn commit_marked(&self, transaction: Transaction, mark: &Mark) -> Result<Option<i64>, Failure> {
        let error = match timeout(self.options.reply, transaction.commit()).await {
            Ok(Ok(committed)) => return Ok(committed.committed_version().ok()),
            Ok(Err(error)) => FdbError::from(error),
            Err(_) => FdbError::from_code(TIMED_OUT),
        };
        if Fault::of(error.code(), error.is_retryable()) != Fault::MaybeCommitted {
            return Err(error.into());
        }
        match self.find(mark).await? {
            true => Ok(None),
            // Nothing happened, and nothing will: as after a conflict.
            false => Err(FdbError::from_code(NOT_COMMITTED).into()),
        }
    }

    /// Finds out whether a commit has happened, and sees to it that it does not happen later.
    async fn find(&self, mark: &Mark) -> Result<bool, Failure> {
        let began = Instant::now();
        loop {
            let failure = match timeout(LOOK, self.look(mark)).await {
                Ok(Ok(found)) => return Ok(found),
                Ok(Err(failure)) => failure,
                Err(_) => Failure::Late("say whether a commit has happened"),
            };
            if began.elapsed() >= self.options.failover {
                let reason = failure.into_error();
                return Err(StoreError::Ambiguous(reason.to_string()).into());
            }
            tokio::time::sleep(LOOK_PAUSE).await;
        }
    }

    async fn look(&self, mark: &Mark) -> Result<bool, Failure> {
        let transaction = self.database.create_trx()?;
        let closed = [&mark.value[..mark.value.len() - 1], &[CLOSED]].concat();
        match transaction.get(&mark.key, false).await? {
            Some(found) if found[..] == mark.value => Ok(true),
            Some(found) if found[..] == closed => Ok(false),
            _ => {
                transaction.set(&mark.key, &closed);
                transaction.commit().await.map_err(FdbError::from)?;
                Ok(false)
            }
        }
    }

    /// What nobody else has used.
    pub(super) fn generation(&self, time_us: u64) -> Generation {
        Generation { time_us, handle: self.handle, serial: self.next_serial() }
    }
}

const TIMED_OUT: i32 = 1031;
const NOT_COMMITTED: i32 = 1020;

/// The attempts of one call.
pub(super) struct Attempts {
    began: Instant,
    counts: Tries,
}

impl Attempts {
    pub(super) fn new(wait: Duration) -> Attempts {
        Attempts { began: Instant::now(), counts: Tries::new(wait) }
    }

    pub(super) fn conflicts(&self) -> u32 {
        self.counts.conflicts()
    }
}

/// Makes the commit conflict where it would not by itself.
pub(super) fn conflict(
    transaction: &Transaction,
    range: &KeyRange,
    kind: ConflictRangeType,
) -> Result<(), Failure> {
    Ok(transaction.add_conflict_range(&range.0, &range.1, kind)?)
}

/// Whether a read conflicts with commits that change what was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Conflicts,
    Looks,
}

impl Reading {
    pub(super) fn is_snapshot(self) -> bool {
        self == Reading::Looks
    }
}

/// The value of a key, whose pieces begin so.
pub(super) async fn get(
    transaction: &Transaction,
    key: &[u8],
    pieces: impl FnOnce() -> Vec<u8>,
    reading: Reading,
) -> Result<Option<Bytes>, Failure> {
    let Some(stored) = transaction.get(key, reading.is_snapshot()).await? else { return Ok(None) };
    whole(transaction, &stored, pieces).await.map(Some)
}

/// The value that is stored so.
pub(super) async fn whole(
    transaction: &Transaction,
    stored: &[u8],
    pieces: impl FnOnce() -> Vec<u8>,
) -> Result<Bytes, Failure> {
    match Stored::decode(stored)? {
        Stored::Whole(value) => Ok(value),
        Stored::InPieces { generation, length } => {
            let first = [&pieces()[..], &generation.encode()].concat();
            // Pieces never change: who names them has said all that can conflict.
            let found = all(transaction, &(first.clone(), next(first)), Reading::Looks).await?;
            Ok(value::join(found.iter().map(|(_, piece)| piece), length)?)
        }
    }
}

/// All pairs of a range.
pub(super) async fn all(
    transaction: &Transaction,
    range: &KeyRange,
    reading: Reading,
) -> Result<Pairs, Failure> {
    let mut option = RangeOption::from((&range.0[..], &range.1[..]));
    option.mode = StreamingMode::WantAll;
    let pairs = transaction.get_ranges_keyvalues(option, reading.is_snapshot());
    let owned = pairs.map_ok(|pair| (pair.key().to_vec(), Bytes::copy_from_slice(pair.value())));
    Ok(owned.try_collect().await?)
}

/// Some pairs of a range, in a direction, and whether there may be more.
pub(super) async fn some(
    transaction: &Transaction,
    range: &KeyRange,
    is_backward: bool,
    limit: usize,
) -> Result<(Pairs, bool), Failure> {
    if range.0 >= range.1 || limit == 0 {
        return Ok((Pairs::new(), false));
    }
    let mut option = RangeOption::from((&range.0[..], &range.1[..]));
    (option.reverse, option.limit, option.mode) = (is_backward, Some(limit), StreamingMode::WantAll);
    let pairs = transaction.get_range(&option, 1, true).await?;
    let owned = pairs.iter().map(|pair| (pair.key().to_vec(), Bytes::copy_from_slice(pair.value())));
    Ok((owned.collect(), pairs.more() || pairs.len() == limit))
}

/// Writes a value, and its pieces if it is large.
pub(super) fn put(
    transaction: &Transaction,
    key: &[u8],
    value: &[u8],
    pieces: impl FnOnce() -> (Vec<u8>, Generation),
) -> Result<(), Failure> {
    if value.len() <= PIECE_BYTES {
        transaction.set(key, &value::encode_whole(value));
        return Ok(());
    }
    let (pieces, generation) = pieces();
    for (number, bytes) in value::pieces(value)? {
        transaction.set(&piece(&pieces, generation, number), bytes);
    }
    transaction.set(key, &Stored::InPieces { generation, length: value.len() }.encode());
    Ok(())
}

/// Raises a number that is stored in its order.
pub(super) fn raise(transaction: &Transaction, key: &[u8], number: u64) {
    transaction.atomic_op(key, &number.to_be_bytes(), MutationType::ByteMax);
}

pub(super) fn clear(transaction: &Transaction, range: &KeyRange) {
    transaction.clear_range(&range.0, &range.1);
}
