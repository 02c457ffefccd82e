//! Panics of simulated code are findings, not noise on the terminal: what was said is kept for the report.

use std::any::Any;
use std::cell::RefCell;

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps panics of all threads from the terminal.
pub fn keep_quiet() {
    std::panic::set_hook(Box::new(|panic| LAST.set(Some(panic.to_string()))));
}

/// What a panic said, and where.
pub fn text(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<String>().cloned();
    let said = said.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    LAST.take().or(said).unwrap_or_else(|| "a panic".to_owned())
}
