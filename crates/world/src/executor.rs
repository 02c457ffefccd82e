//! Runs tasks on one thread in simulated time: the same seed gives the same run, poll by poll.
//!
//! - A task's turn is a hash of the seed, its identity and how often it was polled. So the order in which tasks are
//!   woken decides nothing, and a task that is left out shifts no other task's turn.
//! - Time passes only when no task is ready: the clock goes to the next timer.
//! - A task belongs to a process. Killing a process drops its tasks where they wait.
//! - If nothing is ready and no timer is left, the world is stuck, and that is reported. So is a task that never lets
//!   time pass.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use parking_lot::Mutex;

/// A process: one life of a server, the database, or the world itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process(pub u32);

/// What plays the world: clients, faults, checks.
pub const WORLD: Process = Process(0);

/// Polls without any progress of time after which a world counts as stuck.
const POLLS_PER_MOMENT_MAX: u64 = 2_000_000;
/// When worlds begin: microseconds since 1970.
pub const START_US: u64 = 1_800_000_000_000_000;

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

thread_local! {
    static CURRENT: RefCell<Option<Executor>> = const { RefCell::new(None) };
}

/// Ends after a time of the world that runs on this thread.
pub fn sleep_here(time: Duration) -> Work {
    let executor = CURRENT.with_borrow(Clone::clone).expect("a world runs on this thread");
    Box::pin(executor.sleep(time))
}

/// Why a world cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nothing is ready, and nothing will be.
    Stuck,
    /// Tasks wake each other without end.
    Busy(String),
    /// A task panicked.
    Panic(String),
    /// It took more polls than it may.
    TooLong,
}

/// Runs the tasks of one world. Clones share it.
#[derive(Clone)]
pub struct Executor(Arc<Shared>);

struct Shared {
    seed: u64,
    now_us: AtomicU64,
    tasks: Mutex<Tasks>,
    ready: Arc<Mutex<BTreeSet<(u64, u64)>>>,
    timers: Mutex<Timers>,
    hash: AtomicU64,
    polls: AtomicU64,
    /// The request on whose behalf the task runs that is polled.
    request: AtomicU64,
}

#[derive(Default)]
struct Tasks {
    last: u64,
    /// How many tasks of a name a process has started.
    started: BTreeMap<(Process, &'static str), u64>,
    running: BTreeMap<u64, Running>,
    dead: BTreeSet<Process>,
    /// Processes that are frozen until a time, with their tasks that became ready.
    still: BTreeMap<Process, u64>,
    polls_by_name: BTreeMap<&'static str, u64>,
}

struct Running {
    process: Process,
    name: &'static str,
    work: Option<Work>,
    woken: Arc<Woken>,
    request: u64,
}

/// What wakes a task.
struct Woken {
    id: u64,
    seed: u64,
    polls: AtomicU64,
    ready: Arc<Mutex<BTreeSet<(u64, u64)>>>,
}

impl Woken {
    fn turn(&self) -> u64 {
        mix(self.seed, self.polls.load(Ordering::Relaxed))
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.lock().insert((self.turn(), self.id));
    }
}

#[derive(Default)]
struct Timers {
    last: u64,
    waiting: BTreeMap<(u64, u64), Waker>,
}

/// Two numbers made one that looks random.
pub fn mix(one: u64, other: u64) -> u64 {
    let mut value = one ^ other.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The number of a text.
pub fn hash_text(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

impl Executor {
    /// Nothing runs yet.
    pub fn new(seed: u64) -> Executor {
        Executor(Arc::new(Shared {
            seed,
            now_us: AtomicU64::new(START_US),
            tasks: Mutex::default(),
            ready: Arc::default(),
            timers: Mutex::default(),
            hash: AtomicU64::new(hash_text("world")),
            polls: AtomicU64::new(0),
            request: AtomicU64::new(0),
        }))
    }

    /// The request on whose behalf the task runs that is polled; 0 if there is none.
    pub fn request(&self) -> u64 {
        self.0.request.load(Ordering::Relaxed)
    }

    /// Starts a task on behalf of a request. What it starts is on its behalf, too.
    pub fn spawn_for(&self, request: u64, process: Process, name: &'static str, work: Work) -> u64 {
        let outer = self.0.request.swap(request, Ordering::Relaxed);
        let id = self.spawn(process, name, work);
        self.0.request.store(outer, Ordering::Relaxed);
        id
    }

    /// True time, in microseconds since 1970.
    pub fn now_us(&self) -> u64 {
        self.0.now_us.load(Ordering::Relaxed)
    }

    /// Everything that happened so far as one number.
    pub fn hash(&self) -> u64 {
        self.0.hash.load(Ordering::Relaxed)
    }

    /// How often a task was polled.
    pub fn polls(&self) -> u64 {
        self.0.polls.load(Ordering::Relaxed)
    }

    /// The same by the names of tasks, most polls first.
    pub fn polls_by_name(&self) -> Vec<(&'static str, u64)> {
        let mut polls: Vec<_> =
            self.0.tasks.lock().polls_by_name.iter().map(|(name, polls)| (*name, *polls)).collect();
        polls.sort_by_key(|(_, polls)| std::cmp::Reverse(*polls));
        polls
    }

    /// Makes a value part of the hash.
    pub fn note(&self, value: u64) {
        let hash = self.hash();
        self.0.hash.store(mix(hash, value), Ordering::Relaxed);
    }

    /// A source of chance of its own for each name, so that leaving one out shifts no other.
    pub fn chance(&self, name: &str) -> fastrand::Rng {
        fastrand::Rng::with_seed(mix(self.0.seed, hash_text(name)))
    }

    /// Starts a task. A process that was killed starts none.
    pub fn spawn(&self, process: Process, name: &'static str, work: Work) -> u64 {
        let mut tasks = self.0.tasks.lock();
        if tasks.dead.contains(&process) {
            drop(tasks);
            drop(work);
            return 0;
        }
        tasks.last += 1;
        let id = tasks.last;
        let started = tasks.started.entry((process, name)).or_default();
        *started += 1;
        let identity = mix(mix(u64::from(process.0), hash_text(name)), *started);
        let woken = Arc::new(Woken {
            id,
            seed: mix(self.0.seed, identity),
            polls: AtomicU64::new(0),
            ready: self.0.ready.clone(),
        });
        woken.wake_by_ref();
        tasks.running.insert(id, Running { process, name, work: Some(work), woken, request: self.request() });
        id
    }

    /// Drops a task where it waits.
    pub fn abort(&self, id: u64) {
        let gone = self.0.tasks.lock().running.remove(&id);
        drop(gone);
    }

    /// Drops all tasks of a process where they wait, and lets it start no more.
    pub fn kill(&self, process: Process) {
        self.0.tasks.lock().dead.insert(process);
        loop {
            let mut tasks = self.0.tasks.lock();
            let of_process = |(id, task): (&u64, &Running)| (task.process == process).then_some(*id);
            let Some(id) = tasks.running.iter().find_map(of_process) else { return };
            let gone = tasks.running.remove(&id);
            drop(tasks);
            // What is dropped may wake tasks, or try to start one.
            drop(gone);
        }
    }

    /// Drops everything. Tasks know their executor, so nothing would be freed otherwise.
    pub fn clear(&self) {
        loop {
            let running = std::mem::take(&mut self.0.tasks.lock().running);
            let waiting = std::mem::take(&mut self.0.timers.lock().waiting);
            if running.is_empty() && waiting.is_empty() {
                return;
            }
            drop(running);
            drop(waiting);
            CURRENT.set(None);
        }
    }

    /// Nothing of a process runs until a time; its timers go on.
    pub fn freeze(&self, process: Process, until_us: u64) {
        self.0.tasks.lock().still.insert(process, until_us);
    }

    /// Ends after a time.
    pub fn sleep(&self, time: Duration) -> Timer {
        let time_us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX / 4);
        Timer { executor: self.clone(), at_us: self.now_us().saturating_add(time_us), number: None }
    }

    /// Runs until `is_done`, or until a time. An error says why it cannot go on.
    pub fn run(&self, until_us: u64, polls_max: u64, is_done: impl Fn() -> bool) -> Result<(), Stop> {
        CURRENT.set(Some(self.clone()));
        let mut polls_now = 0;
        while !is_done() && self.now_us() < until_us {
            let next = self.0.ready.lock().pop_first();
            match next {
                Some((_, id)) => {
                    polls_now += 1;
                    self.poll(id)?;
                    if polls_now > POLLS_PER_MOMENT_MAX {
                        return Err(Stop::Busy(format!("{:?}", &self.polls_by_name()[..3])));
                    }
                    if self.polls() > polls_max {
                        return Err(Stop::TooLong);
                    }
                }
                None => {
                    self.pass_time(until_us)?;
                    polls_now = 0;
                }
            }
        }
        Ok(())
    }

    fn poll(&self, id: u64) -> Result<(), Stop> {
        let Some((mut work, woken, request)) = self.take(id) else { return Ok(()) };
        self.0.request.store(request, Ordering::Relaxed);
        woken.polls.fetch_add(1, Ordering::Relaxed);
        self.0.polls.fetch_add(1, Ordering::Relaxed);
        self.note(mix(woken.seed, self.now_us()));
        let waker = Waker::from(woken);
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| {
            work.as_mut().poll(&mut Context::from_waker(&waker))
        }));
        self.0.request.store(0, Ordering::Relaxed);
        match polled {
            Ok(Poll::Pending) => {
                // A task may have been aborted, or its process killed, while it ran.
                match self.0.tasks.lock().running.get_mut(&id) {
                    Some(running) => running.work = Some(work),
                    None => return Ok(()),
                }
            }
            Ok(Poll::Ready(())) => {
                drop(work);
                self.abort(id);
            }
            Err(panic) => {
                self.abort(id);
                return Err(Stop::Panic(crate::panics::text(&*panic)));
            }
        }
        Ok(())
    }

    /// Takes the work of a task to poll it. A task of a process that is frozen is woken later.
    fn take(&self, id: u64) -> Option<(Work, Arc<Woken>, u64)> {
        let mut tasks = self.0.tasks.lock();
        let tasks = &mut *tasks;
        let running = tasks.running.get_mut(&id)?;
        match tasks.still.get(&running.process) {
            Some(until_us) if *until_us > self.now_us() => {
                let mut timers = self.0.timers.lock();
                timers.last += 1;
                let key = (*until_us, timers.last);
                timers.waiting.insert(key, Waker::from(running.woken.clone()));
                return None;
            }
            Some(_) => drop(tasks.still.remove(&running.process)),
            None => {}
        }
        *tasks.polls_by_name.entry(running.name).or_default() += 1;
        Some((running.work.take()?, running.woken.clone(), running.request))
    }

    /// Goes to the next timer, and wakes all that are due then.
    fn pass_time(&self, until_us: u64) -> Result<(), Stop> {
        let mut due = Vec::new();
        {
            let mut timers = self.0.timers.lock();
            let Some((at_us, _)) = timers.waiting.first_key_value().map(|(key, _)| *key) else {
                return Err(Stop::Stuck);
            };
            let now_us = self.now_us().max(at_us.min(until_us));
            self.0.now_us.store(now_us, Ordering::Relaxed);
            let later = timers.waiting.split_off(&(now_us + 1, 0));
            due.extend(std::mem::replace(&mut timers.waiting, later).into_values());
        }
        due.into_iter().for_each(Waker::wake);
        Ok(())
    }
}

/// Ends at a time.
pub struct Timer {
    executor: Executor,
    at_us: u64,
    number: Option<u64>,
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.executor.now_us() >= self.at_us {
            return Poll::Ready(());
        }
        let shared = self.executor.0.clone();
        let mut timers = shared.timers.lock();
        let number = *self.number.get_or_insert_with(|| {
            timers.last += 1;
            timers.last
        });
        timers.waiting.insert((self.at_us, number), context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let gone = self.executor.0.timers.lock().waiting.remove(&(self.at_us, number));
            drop(gone);
        }
    }
}
