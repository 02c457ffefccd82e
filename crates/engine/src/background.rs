//! Everything that the engine does beside answering requests. No other file starts a task.
//!
//! - A [`Job`] is work of its own: it fills an index, clears a dropped table, counts items. After a failure
//!   of the store it is tried again, a bounded number of times with a pause between; for as long as there is
//!   no room on the disk, it waits. A job may also repeat at an interval. To add one, write its file and start it in `Engine::resume` or where a request
//!   asks for it.
//! - If several servers share the store, a job runs on one of them at a time, under a lease (`members.rs`).
//! - [`Background::carry_through`] runs a step of a request to its end even if the request is dropped.
//!
//! What always holds:
//! - Every task has a name and a subject. [`Background::tasks`] lists it while it runs, and afterwards if it
//!   gave up.
//! - At most [`WORKING_MAX`] long jobs work at the same time; the others wait for their turn. Requests start
//!   at most one job for each table and index, so the number of waiting jobs is bounded, too.
//! - A panic in a task makes the engine unhealthy until it is opened again: changes of tables and items
//!   fail at once, and so does everything that waits for the task.
//! - [`Background::close`] ends every task. A job may be stopped at any await: it must be able to go on
//!   from what is stored.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use store::StoreError;
use store::turns::Turns;
use tokio::sync::{Notify, Semaphore, SemaphorePermit, oneshot, watch};

use crate::Environment;
use crate::cluster::members::{Members, RunningLease};

/// Long jobs that work at the same time. A PostgreSQL store has 16 connections: half of them stay free for
/// requests.
const WORKING_MAX: usize = 8;
/// Tries of a job while the store is unavailable: with the pause between them, at least 100 seconds.
const TRIES_MAX: u32 = 100;
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause of a job that waits for room: it begins again with every try, so it should not do so often.
const ROOM_PAUSE_MAX: Duration = Duration::from_secs(60);
/// Jobs that gave up and are still listed.
const GAVE_UP_MAX: usize = 100;
/// How long `close` waits for steps of requests before it aborts them.
const CLOSE_WAIT: Duration = Duration::from_secs(10);

/// Work that the engine does in the background.
pub trait Job: Send + Sync + 'static {
    /// What it does, for logs and metrics.
    fn name(&self) -> &'static str;

    /// What it works on: a table, an index.
    fn subject(&self) -> String;

    /// The time before its first run.
    fn delay(&self) -> Duration {
        Duration::ZERO
    }

    /// The time between two runs of a job that repeats for as long as the database is open.
    fn interval(&self) -> Option<Duration> {
        None
    }

    /// A short job does not wait for its turn.
    fn is_short(&self) -> bool {
        false
    }

    /// The name under which one server at a time runs it; none if every server runs its own.
    fn lease(&self) -> Option<String> {
        Some(format!("{}/{}", self.name(), self.subject()))
    }

    /// Works until there is nothing left to do. After an error that may pass it is called again, and
    /// goes on from what is stored.
    fn run(&self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Called when the job gives up: whatever a client waits for ends here. If this fails, too, the job is taken
    /// up when the database is next opened.
    fn gave_up(&self, _reason: &StoreError) -> impl Future<Output = Result<(), StoreError>> + Send {
        std::future::ready(Ok(()))
    }
}

/// A [`Job`] of any type, so that what drives jobs is compiled once and not for each of them.
trait AnyJob: Send + Sync {
    fn name(&self) -> &'static str;
    fn subject(&self) -> String;
    fn delay(&self) -> Duration;
    fn interval(&self) -> Option<Duration>;
    fn is_short(&self) -> bool;
    fn lease(&self) -> Option<String>;
    fn run(&self) -> BoxFuture<'_, Result<(), StoreError>>;
    fn gave_up<'a>(&'a self, reason: &'a StoreError) -> BoxFuture<'a, Result<(), StoreError>>;
}

impl<J: Job> AnyJob for J {
    fn name(&self) -> &'static str {
        Job::name(self)
    }

    fn subject(&self) -> String {
        Job::subject(self)
    }

    fn delay(&self) -> Duration {
        Job::delay(self)
    }

    fn interval(&self) -> Option<Duration> {
        Job::interval(self)
    }

    fn is_short(&self) -> bool {
        Job::is_short(self)
    }

    fn lease(&self) -> Option<String> {
        Job::lease(self)
    }

    fn run(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(Job::run(self))
    }

    fn gave_up<'a>(&'a self, reason: &'a StoreError) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(Job::gave_up(self, reason))
    }
}

/// Whether the database takes writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    Healthy,
    /// Writes are refused for this reason. They go on by themselves when it is gone.
    Stalled(String),
    /// Writes are refused until the database is opened again, for this reason.
    Unhealthy(String),
}

/// A task as the operator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskStatus {
    pub name: &'static str,
    /// The table or index that it works on.
    pub subject: String,
    pub state: TaskState,
    /// How often it was tried since it last succeeded.
    pub tries: u32,
}

/// What a task does at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// It waits: for its time, for its turn, or for another try.
    Waiting,
    Working,
    /// It stopped for this reason. What it did not finish is taken up when the database is next opened, or
    /// at the next run of a job that repeats.
    GaveUp(String),
}

/// Starts tasks, lists them and ends them. Clones share the same tasks.
#[derive(Clone)]
pub struct Background(Arc<Shared>);

struct Shared {
    environment: Arc<dyn Environment>,
    /// The servers that share the store, if it is shared.
    members: Option<Arc<Members>>,
    tasks: Mutex<Tasks>,
    /// True from the beginning of `close` on.
    closing: watch::Sender<bool>,
    /// Notified after each end of a task.
    ended: Notify,
    turns: Semaphore,
    /// Shared with requests.
    slices: Turns,
    /// The first panic of a task.
    panic: OnceLock<String>,
}

#[derive(Default)]
struct Tasks {
    last_id: u64,
    running: BTreeMap<u64, Running>,
    gave_up: VecDeque<TaskStatus>,
    closed: bool,
}

impl Tasks {
    /// Whether a task does this, or gave up on it.
    fn lists(&self, name: &str, subject: &str) -> bool {
        let listed = self.running.values().map(|running| &running.status).chain(&self.gave_up);
        listed.into_iter().any(|status| status.name == name && status.subject == subject)
    }

    /// Takes a job that gave up off the list.
    fn forget(&mut self, name: &str, subject: &str) {
        self.gave_up.retain(|status| status.name != name || status.subject != subject);
    }
}

struct Running {
    status: TaskStatus,
    abort: Option<host::Abort>,
}

/// What happens to a running task when the database is closed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AtClose {
    /// It is stopped at its next await.
    Stop,
    /// It is awaited.
    Finish,
}

/// What a job does whose lease another server has, or another job here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IfLeased {
    /// It waits, because what it was started for may be newer than what runs.
    Wait,
    /// It leaves this run to the other.
    Leave,
}

/// What a task does. It ends with a function that hands the outcome to the waiting caller.
type Work = BoxFuture<'static, Box<dyn FnOnce() + Send>>;

impl Background {
    /// No tasks yet.
    pub fn new(environment: Arc<dyn Environment>, members: Option<Arc<Members>>) -> Background {
        let slices = Turns::new(environment.parallelism());
        Background(Arc::new(Shared {
            environment,
            members,
            tasks: Mutex::default(),
            closing: watch::Sender::new(false),
            ended: Notify::new(),
            turns: Semaphore::new(WORKING_MAX),
            slices,
            panic: OnceLock::new(),
        }))
    }

    /// Starts a job. It goes on when the returned task is dropped.
    pub fn start(&self, job: impl Job) -> Task<Result<(), StoreError>> {
        let busy = if Job::interval(&job).is_some() { IfLeased::Leave } else { IfLeased::Wait };
        self.start_job(Box::new(job), busy)
    }

    fn start_job(&self, job: Box<dyn AnyJob>, busy: IfLeased) -> Task<Result<(), StoreError>> {
        let (name, subject, shared) = (job.name(), job.subject(), self.0.clone());
        self.start_boxed(name, subject, AtClose::Stop, |id| {
            Box::pin(async move { shared.drive(id, &*job, busy).await })
        })
    }

    /// Runs a step of a request to its end even if the request is dropped. The error says that it could not
    /// begin, or that it panicked.
    pub async fn carry_through<T: Send + 'static>(
        &self,
        name: &'static str,
        subject: &str,
        step: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.check()?;
        let step = Box::pin(step);
        self.start_boxed(name, subject.to_owned(), AtClose::Finish, |_| step).outcome().await
    }

    /// The turns that requests and tasks take at long work.
    pub fn slices(&self) -> &Turns {
        &self.0.slices
    }

    /// Refuses to go on after a panic of a task.
    pub fn check(&self) -> Result<(), StoreError> {
        match self.0.panic.get() {
            None => Ok(()),
            Some(reason) => Err(StoreError::Poisoned(reason.clone())),
        }
    }

    /// Every task that runs, in the order of their start, and then those that gave up.
    pub fn tasks(&self) -> Vec<TaskStatus> {
        let tasks = self.0.tasks.lock();
        tasks.running.values().map(|running| &running.status).chain(&tasks.gave_up).cloned().collect()
    }

    /// Stops the jobs and starts no more tasks. Steps of requests go on.
    pub fn stop(&self) {
        self.0.tasks.lock().closed = true;
        self.0.closing.send_replace(true);
    }

    /// Stops the jobs and waits until no task is left. A task that doesn't end in time is aborted.
    pub async fn close(&self) {
        self.stop();
        tokio::select! {
            biased;
            () = self.0.all_ended() => return,
            () = self.0.environment.sleep(CLOSE_WAIT) => {}
        }
        let mut aborts = Vec::new();
        for Running { status, abort } in self.0.tasks.lock().running.values_mut() {
            tracing::error!(
                task = status.name,
                status.subject,
                "aborted: it did not end within {CLOSE_WAIT:?}"
            );
            aborts.extend(abort.take());
        }
        // A task that is dropped at once takes itself off the list.
        aborts.iter().for_each(|abort| abort());
    }

    fn start_boxed<T: Send + 'static>(
        &self,
        name: &'static str,
        subject: String,
        at_close: AtClose,
        work: impl FnOnce(u64) -> BoxFuture<'static, T>,
    ) -> Task<T> {
        let (sender, receiver) = oneshot::channel();
        if let Some(registered) = self.0.register(name, subject) {
            let work = work(registered.id);
            let work = self.0.slices.share(work);
            let work = async move {
                let outcome = work.await;
                // Perhaps no caller waits for the outcome.
                let hand_over = move || drop(sender.send(outcome));
                Box::new(hand_over) as Box<dyn FnOnce() + Send>
            };
            self.spawn(name, registered, at_close, Box::pin(work));
        }
        Task { background: self.clone(), receiver }
    }

    /// Not generic, because the part of a task that drives it is large.
    fn spawn(&self, name: &'static str, registered: Registered, at_close: AtClose, work: Work) {
        let id = registered.id;
        let work = AssertUnwindSafe(work).catch_unwind();
        let run = async move {
            let outcome = match at_close {
                AtClose::Finish => work.await,
                AtClose::Stop => tokio::select! {
                    biased;
                    () = registered.shared.closing() => return,
                    outcome = work => outcome,
                },
            };
            match outcome {
                Ok(hand_over) => {
                    drop(registered);
                    hand_over();
                }
                Err(panic) => registered.shared.poison(id, &*panic),
            }
        };
        let abort = self.0.environment.spawn(name, Box::pin(run));
        if let Some(running) = self.0.tasks.lock().running.get_mut(&id) {
            running.abort = Some(abort);
        }
    }
}

/// What starts jobs: all of them, or those that are missing.
pub trait Starter {
    fn start(&mut self, job: impl Job);
}

impl Starter for &Background {
    fn start(&mut self, job: impl Job) {
        drop(Background::start(self, job));
    }
}

/// Starts the jobs that what is stored asks for and that no task sees to, on any server.
pub struct Missing<'a> {
    background: &'a Background,
    /// What the look before this one missed, too. Only that is started: a request that has just stored what it is asked for
    /// may be about to start the job itself.
    before: Option<BTreeSet<(&'static str, String)>>,
    found: BTreeSet<(&'static str, String)>,
}

impl<'a> Missing<'a> {
    /// When the database is opened, or when a server is gone.
    pub fn at_once(background: &'a Background) -> Missing<'a> {
        Missing { background, before: None, found: BTreeSet::new() }
    }

    /// At a look, given what the look before it has found.
    pub fn since(background: &'a Background, before: BTreeSet<(&'static str, String)>) -> Missing<'a> {
        Missing { background, before: Some(before), found: BTreeSet::new() }
    }

    /// What is missing.
    pub fn found(self) -> BTreeSet<(&'static str, String)> {
        self.found
    }
}

impl Starter for Missing<'_> {
    fn start(&mut self, job: impl Job) {
        let what = (Job::name(&job), Job::subject(&job));
        if self.background.0.tasks.lock().lists(what.0, &what.1) {
            return;
        }
        if self.before.as_ref().is_none_or(|before| before.contains(&what)) {
            drop(self.background.start_job(Box::new(job), IfLeased::Leave));
        }
        self.found.insert(what);
    }
}

/// A task that was started. Dropping this does not stop it.
pub struct Task<T> {
    background: Background,
    receiver: oneshot::Receiver<T>,
}

impl<T> Task<T> {
    /// Waits until the task has ended. The error says that it panicked, or that the database was closed.
    pub async fn outcome(self) -> Result<T, StoreError> {
        match self.receiver.await {
            Ok(outcome) => Ok(outcome),
            Err(_) => Err(self.background.check().err().unwrap_or_else(StoreError::closed)),
        }
    }
}

impl Shared {
    /// Lists a task; `None` once the database is closed.
    fn register(self: &Arc<Shared>, name: &'static str, subject: String) -> Option<Registered> {
        let mut tasks = self.tasks.lock();
        if tasks.closed {
            return None;
        }
        tasks.forget(name, &subject);
        tasks.last_id += 1;
        let id = tasks.last_id;
        let status = TaskStatus { name, subject, state: TaskState::Waiting, tries: 0 };
        tasks.running.insert(id, Running { status, abort: None });
        Some(Registered { shared: self.clone(), id })
    }

    /// Runs a job: once, or again and again.
    async fn drive(&self, id: u64, job: &dyn AnyJob, busy: IfLeased) -> Result<(), StoreError> {
        self.sleep(job.delay()).await;
        loop {
            let outcome = self.run_with_retries(id, job, busy).await;
            let Some(interval) = job.interval() else {
                self.release(job).await;
                return outcome;
            };
            self.sleep(interval).await;
        }
    }

    async fn run_with_retries(&self, id: u64, job: &dyn AnyJob, busy: IfLeased) -> Result<(), StoreError> {
        for tries in 1.. {
            let outcome = self.run_under_lease(id, job, tries, busy).await;
            self.show(id, TaskState::Waiting, tries);
            match outcome {
                Ok(()) => break,
                Err(error) => match pause_before_next_try(&error, tries) {
                    Some(pause) => {
                        tracing::warn!(%error, job = job.name(), subject = job.subject(), "is tried again");
                        self.sleep(pause).await;
                    }
                    None => {
                        tracing::error!(%error, job = job.name(), subject = job.subject(), "gave up");
                        if let Err(error) = job.gave_up(&error).await {
                            tracing::error!(%error, job = job.name(), subject = job.subject(), "is still to end");
                        }
                        self.show_gave_up(id, &error);
                        return Err(error);
                    }
                },
            }
        }
        self.show(id, TaskState::Waiting, 0);
        self.tasks.lock().forget(job.name(), &job.subject());
        Ok(())
    }

    async fn run_under_lease(
        &self,
        id: u64,
        job: &dyn AnyJob,
        tries: u32,
        busy: IfLeased,
    ) -> Result<(), StoreError> {
        let name = job.lease();
        let _lease = match (&self.members, &name) {
            (Some(members), Some(name)) => match self.lease(members, name, busy).await? {
                Some(lease) => Some(lease),
                // Another server sees to it.
                None => return Ok(()),
            },
            _ => None,
        };
        let _turn = self.turn(job).await;
        self.show(id, TaskState::Working, tries);
        job.run().await
    }

    /// The lease of a job; none if the job leaves this run to the server that has it.
    async fn lease<'a>(
        &self,
        members: &'a Members,
        name: &'a str,
        busy: IfLeased,
    ) -> Result<Option<RunningLease<'a>>, StoreError> {
        loop {
            let lease = members.take(name).await?;
            if lease.is_some() || busy == IfLeased::Leave {
                return Ok(lease);
            }
            members.lease_may_be_free(RETRY_PAUSE).await;
        }
    }

    async fn release(&self, job: &dyn AnyJob) {
        if let (Some(members), Some(name)) = (&self.members, job.lease())
            && let Err(error) = members.release(&name).await
        {
            tracing::warn!(%error, job = job.name(), "its lease was not given back");
        }
    }

    async fn turn(&self, job: &dyn AnyJob) -> Option<SemaphorePermit<'_>> {
        if job.is_short() {
            return None;
        }
        Some(self.turns.acquire().await.expect("the semaphore is never closed"))
    }

    async fn sleep(&self, time: Duration) {
        if !time.is_zero() {
            self.environment.sleep(time).await;
        }
    }

    fn show(&self, id: u64, state: TaskState, tries: u32) {
        if let Some(Running { status, .. }) = self.tasks.lock().running.get_mut(&id) {
            (status.state, status.tries) = (state, tries);
        }
    }

    /// Keeps the status of a job that gave up; of a job that repeats, until it succeeds.
    fn show_gave_up(&self, id: u64, error: &StoreError) {
        let mut tasks = self.tasks.lock();
        let Some(Running { status, .. }) = tasks.running.get(&id) else { return };
        let status = TaskStatus { state: TaskState::GaveUp(error.to_string()), ..status.clone() };
        tasks.forget(status.name, &status.subject);
        if tasks.gave_up.len() >= GAVE_UP_MAX {
            tasks.gave_up.pop_front();
        }
        tasks.gave_up.push_back(status);
    }

    /// Makes the engine unhealthy.
    fn poison(&self, id: u64, panic: &(dyn Any + Send)) {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        let text = text.unwrap_or_else(|| "unknown reason".to_owned());
        let task = self.tasks.lock().running.get(&id).map(|running| running.status.clone());
        let (name, subject) = task.map_or(("task", String::new()), |task| (task.name, task.subject));
        let reason = format!("the background task \"{name}\" on {subject} panicked: {text}");
        tracing::error!("{reason}. No more writes are taken until the database is opened again");
        // A second panic changes nothing.
        let _ = self.panic.set(reason);
    }

    async fn closing(&self) {
        // The sender lives as long as `self`.
        let _ = self.closing.subscribe().wait_for(|closing| *closing).await;
    }

    async fn all_ended(&self) {
        loop {
            // Made before the check, so that no end is missed between the two.
            let ended = self.ended.notified();
            if self.tasks.lock().running.is_empty() {
                return;
            }
            ended.await;
        }
    }
}

/// How long a job waits after this try; none if it gives up. A shortage ends by itself or by the operator, and no
/// job is worth less for having waited, so there is no end to waiting for room.
fn pause_before_next_try(error: &StoreError, tries: u32) -> Option<Duration> {
    match error {
        StoreError::Full(_) => Some(RETRY_PAUSE.saturating_mul(tries).min(ROOM_PAUSE_MAX)),
        error if error.is_transient() && tries < TRIES_MAX => Some(RETRY_PAUSE),
        _ => None,
    }
}

/// A task in the list. Dropped with the task, however that ends.
struct Registered {
    shared: Arc<Shared>,
    id: u64,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.shared.tasks.lock().running.remove(&self.id);
        self.shared.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use store::turns::{SLICE_WORK, Slices};

    use super::*;

    struct Still;

    impl Environment for Still {
        fn now_ms(&self) -> u64 {
            0
        }

        fn random(&self) -> u128 {
            0
        }
    }

    fn background() -> Background {
        Background::new(Arc::new(Still), None)
    }

    struct Cores(usize);

    impl Environment for Cores {
        fn now_ms(&self) -> u64 {
            0
        }

        fn random(&self) -> u128 {
            0
        }

        fn parallelism(&self) -> usize {
            self.0
        }
    }

    #[tokio::test]
    async fn long_work_has_as_many_turns_as_the_environment_has_cores() {
        for cores in [1, 3, 50] {
            let background = Background::new(Arc::new(Cores(cores)), None);
            let begun = Arc::new(AtomicU32::new(0));
            let long_work = || {
                let begun = begun.clone();
                background.slices().share(async move {
                    Slices::begin().spend(SLICE_WORK).await;
                    let mut slices = Slices::begin();
                    slices.spend(SLICE_WORK).await;
                    begun.fetch_add(1, Ordering::SeqCst);
                    std::future::pending::<()>().await;
                })
            };
            let mut all: Vec<_> = (0..cores + 5).map(|_| Box::pin(long_work())).collect();
            for _ in 0..10 {
                for work in &mut all {
                    assert!(work.now_or_never().is_none());
                }
            }
            assert_eq!(begun.load(Ordering::SeqCst) as usize, cores);
        }
    }

    /// Fails this many times, then succeeds.
    struct Failing {
        failures: u32,
        runs: Arc<AtomicU32>,
        error: fn() -> StoreError,
        interval: Option<Duration>,
        gave_up: Arc<AtomicU32>,
    }

    impl Failing {
        fn new(failures: u32, error: fn() -> StoreError) -> (Failing, Arc<AtomicU32>) {
            let runs = Arc::new(AtomicU32::new(0));
            let gave_up = Arc::default();
            (Failing { failures, runs: runs.clone(), error, interval: None, gave_up }, runs)
        }
    }

    impl Job for Failing {
        fn name(&self) -> &'static str {
            "test"
        }

        fn subject(&self) -> String {
            "nothing".into()
        }

        fn interval(&self) -> Option<Duration> {
            self.interval
        }

        async fn run(&self) -> Result<(), StoreError> {
            let run = self.runs.fetch_add(1, Ordering::SeqCst);
            if run < self.failures { Err((self.error)()) } else { Ok(()) }
        }

        async fn gave_up(&self, _: &StoreError) -> Result<(), StoreError> {
            self.gave_up.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    }

    fn unavailable() -> StoreError {
        StoreError::Unavailable("a test".into())
    }

    fn corrupt() -> StoreError {
        StoreError::Corrupt("a test".into())
    }

    struct Panicking;

    impl Job for Panicking {
        fn name(&self) -> &'static str {
            "test"
        }

        fn subject(&self) -> String {
            "a table".into()
        }

        async fn run(&self) -> Result<(), StoreError> {
            panic!("on purpose")
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_is_tried_again_until_it_succeeds() {
        let background = background();
        let (job, runs) = Failing::new(5, unavailable);
        background.start(job).outcome().await.unwrap().unwrap();
        assert_eq!(runs.load(Ordering::SeqCst), 6);
        background.close().await;
        assert_eq!(background.tasks(), []);
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_gives_up_after_a_hundred_tries_and_is_still_listed() {
        let background = background();
        let (job, runs) = Failing::new(u32::MAX, unavailable);
        let gave_up_count = job.gave_up.clone();
        background.start(job).outcome().await.unwrap().unwrap_err();
        assert_eq!((runs.load(Ordering::SeqCst), gave_up_count.load(Ordering::SeqCst)), (TRIES_MAX, 1));
        let gave_up = &background.tasks()[0];
        assert_eq!(gave_up.state, TaskState::GaveUp(unavailable().to_string()));
        assert_eq!(gave_up.tries, TRIES_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_waits_for_room_for_as_long_as_it_takes() {
        let background = background();
        let (job, runs) = Failing::new(10 * TRIES_MAX, || StoreError::Full("a test".into()));
        background.start(job).outcome().await.unwrap().unwrap();
        assert_eq!(runs.load(Ordering::SeqCst), 10 * TRIES_MAX + 1);
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_that_cannot_pass_ends_a_job_at_once() {
        let background = background();
        let (job, runs) = Failing::new(u32::MAX, corrupt);
        background.start(job).outcome().await.unwrap().unwrap_err();
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        assert_eq!(background.tasks()[0].state, TaskState::GaveUp(corrupt().to_string()));
        // The same job is started again and succeeds.
        background.start(Failing::new(0, corrupt).0).outcome().await.unwrap().unwrap();
        background.close().await;
        assert_eq!(background.tasks(), []);
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_repeats_at_its_interval_until_the_database_is_closed() {
        let background = background();
        let (job, runs) = Failing::new(1, corrupt);
        let task = background.start(Failing { interval: Some(Duration::from_secs(10)), ..job });
        tokio::time::sleep(Duration::from_secs(35)).await;
        assert_eq!(runs.load(Ordering::SeqCst), 4);
        background.close().await;
        assert!(matches!(task.outcome().await, Err(StoreError::Unavailable(_))));
        tokio::time::sleep(Duration::from_secs(35)).await;
        assert_eq!(runs.load(Ordering::SeqCst), 4);
    }

    #[tokio::test]
    async fn a_panic_is_reported_to_all_waiting_callers_and_stops_later_tasks() {
        let background = background();
        assert!(background.check().is_ok());
        let waiting = background.start(Panicking).outcome().await;
        let Err(StoreError::Poisoned(reason)) = waiting else { panic!("{waiting:?}") };
        assert_eq!(reason, "the background task \"test\" on a table panicked: on purpose");
        let later = background.carry_through("step", "a table", async {}).await;
        assert!(matches!(later, Err(StoreError::Poisoned(_))));
        background.close().await;
    }

    #[tokio::test]
    async fn a_step_of_a_request_ends_even_if_the_request_is_dropped() {
        let background = background();
        let (sender, receiver) = oneshot::channel();
        let step = async move {
            tokio::task::yield_now().await;
            sender.send(()).unwrap();
        };
        let mut request = Box::pin(background.carry_through("step", "a table", step));
        assert!((&mut request).now_or_never().is_none());
        drop(request);
        background.close().await;
        receiver.await.unwrap();
        let later = background.carry_through("step", "a table", async {}).await;
        assert!(matches!(later, Err(StoreError::Unavailable(_))), "nothing starts after close");
    }

    #[tokio::test(start_paused = true)]
    async fn close_aborts_a_step_that_never_ends() {
        let background = background();
        let mut request = Box::pin(background.carry_through("step", "a table", std::future::pending::<()>()));
        assert!((&mut request).now_or_never().is_none());
        background.close().await;
        assert!(matches!(request.await, Err(StoreError::Unavailable(_))));
    }
}
