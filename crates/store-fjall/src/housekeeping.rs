//! The threads that keep the engine tidy behind those who write.

use std::io;

use fjall::{Database, Keyspace};

use crate::background::Background;
use crate::compaction::Compaction;
use crate::pace::Pace;
use crate::{retirement, write_back};

pub(crate) struct Housekeeping {
    pub(crate) compaction: Compaction,
    retirement: Background,
    write_back: Background,
}

impl Housekeeping {
    pub(crate) fn start(database: &Database, rows: &Keyspace, pace: Pace) -> io::Result<Self> {
        Ok(Housekeeping {
            compaction: Compaction::start(database, rows, pace)?,
            retirement: retirement::start(database, rows)?,
            write_back: write_back::start(rows)?,
        })
    }

    /// Tells that there is something to do, or soon will be, and how many fresh tables there are now.
    pub(crate) fn wake(&self, fresh_tables: usize) {
        self.compaction.fresh_tables(fresh_tables);
        self.retirement.wake();
        self.write_back.wake();
    }

    /// Ends the threads.
    pub(crate) fn stop(&self) {
        self.compaction.stop();
        self.retirement.stop();
        self.write_back.stop();
    }
}
