//! The pace of a merge, so that those who read and write hardly notice it.
//!
//! The engine shows each row that it merges to a filter. Ours keeps them all, and takes the opportunity:
//! - to rest for as long as it has worked, if somebody writes meanwhile and merging does not lag behind;
//! - to give up when the store is being closed.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fjall::LsmError;
use fjall::compaction::filter::{
    CompactionFilter, CompactionFilterResult, Context, Factory, ItemAccessor, Verdict,
};

/// Rows between two looks at the clock, some tenths of a millisecond.
const LOOK_ROWS: u32 = 64;
/// How long it works before it rests.
const WORK_TIME: Duration = Duration::from_millis(2);
/// From so many fresh tables on it does not rest.
const HURRY_TABLES: usize = 8;

#[derive(Clone, Default)]
pub(crate) struct Pace(Arc<State>);

#[derive(Default)]
struct State {
    fresh_tables: AtomicUsize,
    /// Somebody has written since the last look.
    written: AtomicBool,
    stopping: AtomicBool,
}

impl Pace {
    /// Tells that somebody writes, and how many fresh tables there are now.
    pub(crate) fn written(&self, fresh_tables: usize) {
        self.0.fresh_tables.store(fresh_tables, Ordering::Relaxed);
        self.0.written.store(true, Ordering::Relaxed);
    }

    /// Has the merge under way fail.
    pub(crate) fn stop(&self) {
        self.0.stopping.store(true, Ordering::Release);
    }

    pub(crate) fn stopping(&self) -> bool {
        self.0.stopping.load(Ordering::Acquire)
    }
}

impl Factory for Pace {
    fn name(&self) -> &str {
        "pace"
    }

    fn make_filter(&self, _: &Context) -> Box<dyn CompactionFilter> {
        Box::new(Merge { pace: self.clone(), rows: 0, rested: Instant::now() })
    }
}

/// A merge under way.
struct Merge {
    pace: Pace,
    /// Since the last look at the clock.
    rows: u32,
    rested: Instant,
}

impl Merge {
    fn look(&mut self) -> Result<(), LsmError> {
        if self.pace.stopping() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the store is being closed").into());
        }
        let worked = self.rested.elapsed();
        if worked < WORK_TIME {
            return Ok(());
        }
        let State { fresh_tables, written, .. } = &*self.pace.0;
        if written.swap(false, Ordering::Relaxed) && fresh_tables.load(Ordering::Relaxed) < HURRY_TABLES {
            std::thread::sleep(worked.min(10 * WORK_TIME));
        }
        self.rested = Instant::now();
        Ok(())
    }
}

impl CompactionFilter for Merge {
    fn filter_item(&mut self, _: ItemAccessor<'_>, _: &Context) -> CompactionFilterResult {
        self.rows += 1;
        if self.rows >= LOOK_ROWS {
            self.rows = 0;
            self.look()?;
        }
        Ok(Verdict::Keep)
    }
}
