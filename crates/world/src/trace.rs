//! What happened in a world, for people: one line for each request, fault and finding.

use parking_lot::Mutex;

use crate::executor::{Executor, START_US, hash_text};

/// The lines of a world. Every line is part of the world's hash, whether it is kept or not.
pub struct Trace {
    executor: Executor,
    lines: Option<Mutex<Vec<String>>>,
}

impl Trace {
    /// Lines are kept if they are asked for.
    pub fn new(executor: &Executor, is_kept: bool) -> Trace {
        Trace { executor: executor.clone(), lines: is_kept.then(Mutex::default) }
    }

    /// Adds a line: who did what.
    pub fn line(&self, who: &str, what: &str) {
        self.executor.note(hash_text(what));
        if let Some(lines) = &self.lines {
            let time_us = self.executor.now_us() - START_US;
            lines.lock().push(format!("{:>10.6}s {who:<10} {what}", time_us as f64 / 1e6));
        }
    }

    /// All lines so far.
    pub fn take(&self) -> Vec<String> {
        self.lines.as_ref().map(|lines| std::mem::take(&mut *lines.lock())).unwrap_or_default()
    }
}
