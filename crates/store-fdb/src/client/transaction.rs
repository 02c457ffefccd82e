//! One transaction: reading values, writing them, and commits whose outcome is always found out.
//!
//! If the answer to a commit is lost, it may have happened, and it may still happen. So each commit leaves a mark, in
//! a slot that no other commit of any server uses at the same time, and conflicts with every change of that mark.
//! A server that has to know reads the slot: the mark is there, or it is replaced by one that says "closed", which keeps the commit
//! from happening later.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use store::StoreError;
use tokio::time::{Instant, timeout};

use super::Shared;
use super::database::{Reading, Side, Transaction};
use super::failure::Failure;
use crate::keys::{Generation, after, next, piece};
use crate::retry::{Fault, Next, Tries};
use crate::value::{self, PIECE_BYTES, Stored};

const OPEN: u8 = 1;
const CLOSED: u8 = 0;
/// How long one look for a lost commit waits.
const LOOK: Duration = Duration::from_secs(5);
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// Pieces that are read at once.
const PIECES_PER_READ: usize = 100;

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
        Ok(self.database.begin(self.options.reply)?)
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
        let status = timeout(LOOK, self.database.status(LOOK)).await.ok()??;
        crate::status::reason(&serde_json::from_slice(&status).ok()?)
    }

    /// Commits, also if the caller goes away.
    pub(super) async fn commit(self: &Arc<Self>, transaction: Transaction) -> Result<(), Failure> {
        let mark = self.new_mark();
        transaction.set(&mark.key, &mark.value);
        transaction.conflict(&(mark.key.clone(), next(mark.key.clone())), Side::Reads)?;
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

    async fn commit_marked(&self, transaction: Transaction, mark: &Mark) -> Result<(), Failure> {
        if let Ok(outcome) = timeout(self.options.reply, transaction.commit()).await {
            let Err(refusal) = outcome else { return Ok(()) };
            if Fault::of(refusal.code, refusal.is_retryable) != Fault::MaybeCommitted {
                return Err(refusal.into());
            }
        }
        match self.find(mark).await? {
            true => Ok(()),
            false => Err(Failure::NothingHappened),
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
        let transaction = self.database.begin(LOOK)?;
        let closed = [&mark.value[..mark.value.len() - 1], &[CLOSED]].concat();
        match transaction.get(&mark.key, Reading::Conflicts).await? {
            Some(found) if found[..] == mark.value => Ok(true),
            Some(found) if found[..] == closed => Ok(false),
            _ => {
                transaction.set(&mark.key, &closed);
                transaction.commit().await?;
                Ok(false)
            }
        }
    }

    /// A name that no other write has.
    pub(super) fn generation(&self, time_us: u64) -> Generation {
        Generation { time_us, handle: self.handle, serial: self.next_serial() }
    }
}

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

/// The value of a key, whose pieces begin so.
pub(super) async fn get(
    transaction: &Transaction,
    key: &[u8],
    pieces: impl FnOnce() -> Vec<u8>,
    reading: Reading,
) -> Result<Option<Bytes>, Failure> {
    let Some(stored) = transaction.get(key, reading).await? else { return Ok(None) };
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
            let (mut rest, mut found) = ((first.clone(), next(first)), Vec::new());
            loop {
                // Pieces never change: who names them has said all that can conflict.
                let (pieces, has_more) = transaction.some(&rest, false, PIECES_PER_READ).await?;
                let last = pieces.last().map(|(key, _)| after(key.clone()));
                found.extend(pieces.into_iter().map(|(_, piece)| piece));
                match last {
                    Some(last) if has_more => rest.0 = last,
                    _ => return Ok(value::join(found, length)?),
                }
            }
        }
    }
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
