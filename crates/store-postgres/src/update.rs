//! Updates, the only way to change rows: lock, read, decide, commit.
//!
//! The caller's part: queue for the latches of the stripes, then hand the keys to a runner
//! (`transaction`). The runner asks for the decision as often as it needs one, and says how it ended.

use std::sync::Arc;

use bytes::Bytes;
use store::{Decide, Key, StoreError, WriteSet};
use tokio::sync::{mpsc, oneshot};

use crate::Shared;
use crate::member::Ticket;
use crate::stripe::{self, Stripe};

/// An update on its way to a transaction.
pub(crate) struct Update {
    pub(crate) keys: Vec<Key>,
    /// Ascending.
    pub(crate) stripes: Vec<Stripe>,
    caller: mpsc::UnboundedSender<Step>,
    /// Goes back when the update has ended, also if its caller is gone.
    _ticket: Ticket,
}

/// What a runner tells the caller of an update.
enum Step {
    /// These are the rows of its keys: what is to be written?
    Decide {
        rows: Vec<Option<Bytes>>,
        decision: oneshot::Sender<WriteSet>,
    },
    Ended(Result<(), StoreError>),
}

impl Update {
    /// What the caller decides. A caller that is gone decides nothing.
    pub(crate) fn decide(&self, rows: Vec<Option<Bytes>>) -> oneshot::Receiver<WriteSet> {
        let (decision, decided) = oneshot::channel();
        // If the caller is gone, the channel that is dropped with the message says so.
        let _ = self.caller.send(Step::Decide { rows, decision });
        decided
    }

    pub(crate) fn end(self, outcome: Result<(), StoreError>) {
        let _ = self.caller.send(Step::Ended(outcome));
    }
}

impl Shared {
    pub(crate) async fn update_rows(
        self: &Arc<Self>,
        keys: &[Key],
        decide: &mut Decide<'_>,
    ) -> Result<(), StoreError> {
        let stripes = stripe::of_keys(keys);
        let latches = tokio::time::timeout(self.options.wait, self.latches.take(&stripes)).await;
        let _latches = latches.map_err(|_| {
            StoreError::Unavailable(format!("others held a row of the update for {:?}", self.options.wait))
        })?;
        let (caller, mut steps) = mpsc::unbounded_channel();
        let weight = stripes.len();
        let update = Update { keys: keys.to_vec(), stripes, caller, _ticket: self.tickets.take() };
        self.submit(update, weight);
        while let Some(step) = steps.recv().await {
            match step {
                Step::Decide { rows, decision } => {
                    // A runner that is gone ends the update below.
                    let _ = decision.send(decide(&rows));
                }
                Step::Ended(outcome) => return outcome,
            }
        }
        Err(StoreError::Ambiguous("the task of the update ended early".to_owned()))
    }
}
