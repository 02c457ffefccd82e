//! Global indexes that lag behind their tables, as they do at AWS, for those who test an application against it.
//!
//! Index rows are in the commit of their item. So a read that lags looks at the past: a job takes a snapshot of the store
//! twice in each delay, and reads of global indexes use the older of the last two. They miss what was written in the last
//! half of the delay, and never what is older than the whole of it.
//!
//! Two snapshots are held, however much is written.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use store::{Read, StoreError};

use crate::background::Job;
use crate::read::Reads;

const SNAPSHOTS_HELD: usize = 2;

/// The store as it was a moment ago.
pub struct IndexDelay {
    delay: Duration,
    /// Oldest first.
    past: RwLock<VecDeque<Moment>>,
}

struct Moment {
    /// It holds all that was written before this time.
    time_ms: u64,
    rows: Arc<dyn Read>,
}

impl IndexDelay {
    pub fn new(delay: Duration) -> IndexDelay {
        IndexDelay { delay, past: RwLock::default() }
    }

    /// The oldest rows that a read may still see.
    pub fn rows(&self, now_ms: u64) -> Option<Arc<dyn Read>> {
        let is_recent =
            |moment: &&Moment| u128::from(now_ms.saturating_sub(moment.time_ms)) <= self.delay.as_millis();
        self.past.read().iter().find(is_recent).map(|moment| moment.rows.clone())
    }

    /// Lets go of the snapshots, before the store is closed.
    pub fn close(&self) {
        self.past.write().clear();
    }

    fn note(&self, moment: Moment) {
        let mut past = self.past.write();
        past.push_back(moment);
        while past.len() > SNAPSHOTS_HELD {
            past.pop_front();
        }
    }
}

/// Takes the snapshots.
pub struct TakeSnapshots {
    pub reads: Arc<Reads>,
}

impl Job for TakeSnapshots {
    fn name(&self) -> &'static str {
        "snapshots for the delay of indexes"
    }

    fn subject(&self) -> String {
        "all tables".into()
    }

    fn interval(&self) -> Option<Duration> {
        self.reads.index_delay.as_ref().map(|delay| delay.delay / 2)
    }

    fn is_short(&self) -> bool {
        true
    }

    /// Each server has its own.
    fn lease(&self) -> Option<String> {
        None
    }

    async fn run(&self) -> Result<(), StoreError> {
        let Some(delay) = &self.reads.index_delay else { return Ok(()) };
        let time_ms = self.reads.environment.now_ms();
        delay.note(Moment { time_ms, rows: self.reads.store.snapshot().await? });
        Ok(())
    }
}
