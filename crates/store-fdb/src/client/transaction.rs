//! One transaction: reading values, writing them, and commits whose outcome is always found out.
//!
//! If the answer to a commit is lost, it may have happened, and it may still happen. So each commit leaves a mark, in
//! a slot that no other commit of any server uses at the same time, and conflicts with every change of that mark.
//! A server that has to know reads the slot: the mark is there, or it is replaced by one that says "closed", which keeps the commit
//! from happening later. Who expels a server removes its marks; the outcome of a commit whose mark may have been
//! among them stays unknown.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use store::{Member, StoreError};
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

/// A slot in use, which is free again when this is dropped.
struct Slot {
    slots: Arc<Slots>,
    number: u32,
}

/// The mark of one commit.
struct Mark {
    key: Vec<u8>,
    value: Vec<u8>,
    /// The member whose expulsion removes it.
    member: Option<Member>,
    /// Kept until the outcome is known. If it stays unknown, the next commit of the slot conflicts with this one, so
    /// that at most one of the two happens after the other was looked for.
    _slot: Slot,
}

/// A transaction that is to be committed, and the mark that its commit leaves.
///
/// The slot is taken before anything is read, so the commit that had it before is one that all reads see. Taken later,
/// it could be that of a commit in between, and the two would conflict although they have nothing in common.
pub(super) struct Commit {
    transaction: Transaction,
    mark: Mark,
}

impl Deref for Commit {
    type Target = Transaction;

    fn deref(&self) -> &Transaction {
        &self.transaction
    }
}

impl Slots {
    fn take(self: &Arc<Self>) -> Slot {
        let mut free = self.free.lock();
        let number = free.0.pop().unwrap_or_else(|| {
            free.1 += 1;
            free.1
        });
        Slot { slots: self.clone(), number }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.free.lock().0.push(self.number);
    }
}

impl Shared {
    /// A transaction that reads, or whose commit changes nothing if it happens late.
    pub(super) fn begin(&self) -> Result<Transaction, Failure> {
        if self.is_closed() {
            return Err(StoreError::closed().into());
        }
        Ok(self.database.begin(self.options.reply)?)
    }

    /// A transaction that [`commit`](Shared::commit) ends.
    pub(super) fn begin_commit(&self) -> Result<Commit, Failure> {
        self.begin_commit_of(*self.member.lock())
    }

    /// The commit of a member, if it is one's.
    pub(super) fn begin_commit_of(&self, member: Option<Member>) -> Result<Commit, Failure> {
        let mark = self.new_mark(member);
        Ok(Commit { transaction: self.begin()?, mark })
    }

    /// Waits until a call may be tried again after this failure.
    pub(super) async fn try_again(&self, tries: &mut Attempts, failure: Failure) -> Result<(), StoreError> {
        let fault = failure.fault();
        if fault == Fault::WrittenAhead {
            tries.began = Instant::now();
        }
        match tries.counts.after(fault, tries.began.elapsed(), self.draw()) {
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
    pub(super) async fn commit(self: &Arc<Self>, commit: Commit) -> Result<(), Failure> {
        let Commit { transaction, mark } = commit;
        transaction.set(&mark.key, &mark.value);
        transaction.conflict(&(mark.key.clone(), next(mark.key.clone())), Side::Reads)?;
        let ticket = self.under_way.clone().read_owned().await;
        let shared = self.clone();
        let committing = tokio::spawn(async move {
            let outcome = shared.commit_marked(transaction, &mark).await;
            drop(ticket);
            outcome
        });
        committing.await.unwrap_or_else(|_| {
            Err(StoreError::Ambiguous("the task of a commit ended early".to_owned()).into())
        })
    }

    fn new_mark(&self, member: Option<Member>) -> Mark {
        let slot = self.slots.take();
        let value = [&self.next_serial().to_be_bytes()[..], &[OPEN]].concat();
        Mark { key: self.keys.mark(self.handle, slot.number), value, member, _slot: slot }
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
                Ok(Err(failure @ Failure::Final(_))) => return Err(failure),
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
            None if self.is_expelled(&transaction, mark.member).await? => {
                let reason = "this server was expelled before it got to know the outcome";
                Err(StoreError::Ambiguous(reason.to_owned()).into())
            }
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
