//! Threads that work in the background, and give way to those that serve requests.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;

/// The lowest there is: a thread that serves requests gets seventy times as much of a processor.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 19;

/// A thread of low priority that works when it is woken, until it is stopped or dropped.
pub(crate) struct Background {
    signals: Arc<Signals>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What a thread in the background is told.
#[derive(Default)]
pub(crate) struct Signals {
    wanted: AtomicBool,
    stopping: AtomicBool,
}

impl Background {
    pub(crate) fn start(name: &str, run: impl FnOnce(&Signals) + Send + 'static) -> io::Result<Self> {
        let signals = Arc::<Signals>::default();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn({
            let signals = Arc::clone(&signals);
            move || {
                lower_priority();
                run(&signals);
            }
        })?;
        Ok(Background { signals, thread: Mutex::new(Some(thread)) })
    }

    /// Has it look once more whether there is something to do.
    pub(crate) fn wake(&self) {
        let wanted = &self.signals.wanted;
        // Most find it awake, and need not write to what others read.
        if !wanted.load(Ordering::Relaxed) && !wanted.swap(true, Ordering::AcqRel) {
            self.unpark();
        }
    }

    /// Asks it to end and waits until it has.
    pub(crate) fn stop(&self) {
        self.signals.stopping.store(true, Ordering::Release);
        self.unpark();
        if let Some(thread) = self.thread.lock().take() {
            // A panic on that thread has been told on standard error.
            let _ = thread.join();
        }
    }

    fn unpark(&self) {
        if let Some(thread) = &*self.thread.lock() {
            thread.thread().unpark();
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Signals {
    /// Waits to be woken. False when it is time to end.
    pub(crate) fn wait(&self) -> bool {
        loop {
            if self.stopping() {
                return false;
            }
            if self.wanted.swap(false, Ordering::AcqRel) {
                return true;
            }
            std::thread::park();
        }
    }

    /// As given to a thread that was woken.
    #[cfg(test)]
    pub(crate) fn woken() -> Signals {
        Signals { wanted: true.into(), ..Signals::default() }
    }

    pub(crate) fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }
}

/// Runs something on a thread of low priority. The threads that it starts inherit that.
pub(crate) fn at_low_priority<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    let ended = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            lower_priority();
            run()
        });
        thread.join()
    });
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// On Linux each thread has a priority of its own, elsewhere the process has one.
#[cfg(target_os = "linux")]
fn lower_priority() {
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::debug!("background work keeps its priority: {error}");
    }
}

#[cfg(not(target_os = "linux"))]
fn lower_priority() {}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn it_works_when_woken_and_ends_when_stopped() {
        let (done, told) = mpsc::channel();
        let background = Background::start("test", move |signals| {
            while signals.wait() {
                done.send(()).expect("somebody listens");
            }
        })
        .expect("a thread");
        for _ in 0..3 {
            background.wake();
            told.recv().expect("it works");
        }
        background.stop();
        told.recv().expect_err("it has ended");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_started_at_low_priority_stays_there_and_the_starter_does_not() {
        let priority = || rustix::process::getpriority_process(None).expect("a priority");
        let before = priority();
        let inherited = at_low_priority(|| std::thread::spawn(priority).join().expect("a thread"));
        assert_eq!(inherited, NICENESS);
        assert_eq!(priority(), before);
    }
}
