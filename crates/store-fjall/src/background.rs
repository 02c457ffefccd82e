//! Threads that work in the background, and give way to those that serve requests.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// A thread that serves requests gets three times as much of a processor. Much less would be too little
/// where other programs keep the machine busy: writes wait for merges that lag far behind.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;

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

    /// Sleeps for so long, whoever wakes it. False when it is time to end.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if self.stopping() || left.is_zero() {
                return !self.stopping();
            }
            std::thread::park_timeout(left);
        }
    }

    /// Whether it was woken since it last waited.
    pub(crate) fn wanted(&self) -> bool {
        self.wanted.load(Ordering::Acquire)
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

/// On Linux each thread has a priority of its own, elsewhere the process has one.
#[cfg(target_os = "linux")]
fn lower_priority() {
    use rustix::process::{getpriority_process, setpriority_process};

    let lowered = getpriority_process(None).and_then(|now| setpriority_process(None, now + NICENESS));
    if let Err(error) = lowered {
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

    #[test]
    fn a_pause_goes_on_when_it_is_woken_and_ends_when_it_is_stopped() {
        let (tell, told) = mpsc::channel();
        let background = Background::start("test", move |signals| {
            let moment = Duration::from_millis(20);
            tell.send(signals.pause(moment)).expect("somebody listens");
            tell.send(signals.pause(Duration::from_secs(600))).expect("somebody listens");
        })
        .expect("a thread");
        assert_eq!(told.recv(), Ok(true));
        background.wake();
        assert_eq!(told.recv_timeout(Duration::from_millis(20)), Err(mpsc::RecvTimeoutError::Timeout));
        background.stop();
        assert_eq!(told.recv(), Ok(false));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn its_priority_is_low_and_that_of_others_stays() {
        let priority = || rustix::process::getpriority_process(None).expect("a priority");
        let before = priority();
        let (tell, told) = mpsc::channel();
        let _background =
            Background::start("test", move |_| tell.send(priority()).expect("somebody listens"));
        assert_eq!(told.recv().expect("a priority"), (before + NICENESS).min(19));
        assert_eq!(priority(), before);
    }
}
