//! The event source mappings of a database, and the drivers that run them.
//!
//! A mapping is a row. A change of a mapping is stored first, then its driver is stopped, and a new one starts with
//! the new settings. While that goes on, the mapping shows `Updating`, `Enabling`, `Disabling` or `Deleting`
//! and takes no other change. Positions are rows of their own: they outlive restarts and disabling, and go
//! with the mapping.
//!
//! Where several servers share a database, each answers requests from the rows, and the one that has the lease runs the
//! drivers. It notices what other servers changed within a second. When it is gone, another takes the lease and goes on
//! from the stored positions.
//!
//! Only this file starts tasks, and `close` ends all of them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use api::ErrorKind;
use api::lambda::{
    CreateEventSourceMappingRequest, EventSourceMappingConfiguration, FunctionName, LambdaError,
    ListEventSourceMappingsRequest, ListEventSourceMappingsResponse, Tags, UpdateEventSourceMappingRequest,
    limits,
};
use api::streams::DescribeStreamInput;
use futures_util::future::BoxFuture;
use futures_util::future::join_all;
use host::{SharedRows, Task, uuid};
use parking_lot::Mutex;
use tokio::sync::{MutexGuard, watch};

use crate::destination::Destinations;
use crate::driver::{Driver, Outside, Status, position_prefix};
use crate::function::Functions;
use crate::mapping::{Backoff, Mapping, Resources, State};
use crate::metrics::MappingMetrics;
use crate::outside::{Environment, Namespace, Rows, RowsError, Streams};

/// Mappings that one database runs.
const MAPPINGS_MAX: usize = 1000;
/// How long a driver may take to end. Calls that take longer are ended; their records are delivered again.
const STOP_WAIT: Duration = Duration::from_secs(10);
const MAPPING_PREFIX: &str = "trigger/mapping/";
/// Which server runs the drivers.
const LEASE: &str = "triggers";
/// How often a server looks for what others have changed, and whether the one that runs the drivers is gone.
const FOLLOW_INTERVAL: Duration = Duration::from_secs(1);

/// What triggers can call and report to.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub functions: Functions,
    pub destinations: Destinations,
    pub backoff: Backoff,
}

/// The triggers of a database.
pub struct Triggers {
    shared: Arc<Shared>,
}

struct Shared {
    outside: Arc<Outside>,
    mapping_rows: SharedRows,
    backoff: Backoff,
    /// Whether the drivers run on this server.
    has_lease: AtomicBool,
    mappings: Mutex<BTreeMap<String, Held>>,
    /// One request at a time changes mappings.
    changes: tokio::sync::Mutex<()>,
    tasks: Mutex<Tasks>,
}

/// What stops drivers and starts new ones.
#[derive(Default)]
struct Tasks {
    running: Vec<Task>,
    closed: bool,
}

/// Nothing outlives the service.
impl Drop for Tasks {
    fn drop(&mut self) {
        self.running.iter().for_each(Task::abort);
    }
}

/// A mapping, and what runs it.
struct Held {
    mapping: Arc<Mapping>,
    state: State,
    status: Arc<Status>,
    driver: Option<Running>,
}

struct Running {
    stop: watch::Sender<bool>,
    task: Task,
}

/// Why the triggers could not be opened.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the texts say it")]
pub enum OpenError {
    #[error("reading triggers: {0}")]
    Rows(#[from] RowsError),
    #[error("the row {name} is not an event source mapping: {reason}")]
    Unreadable { name: String, reason: String },
}

impl Triggers {
    /// Reads the stored mappings and starts those that are enabled.
    pub fn open(
        options: Options,
        streams: Arc<dyn Streams>,
        rows: Arc<dyn Rows>,
        environment: Arc<dyn Environment>,
    ) -> BoxFuture<'static, Result<Triggers, OpenError>> {
        Box::pin(async move {
            let Options { functions, destinations, backoff } = options;
            let mapping_rows = SharedRows::new(rows.clone(), MAPPING_PREFIX);
            let outside = Arc::new(Outside { streams, rows, environment, functions, destinations });
            let shared = Arc::new(Shared {
                outside,
                mapping_rows,
                backoff,
                has_lease: AtomicBool::new(false),
                mappings: Mutex::default(),
                changes: tokio::sync::Mutex::default(),
                tasks: Mutex::default(),
            });
            shared.follow().await?;
            if shared.outside.rows.are_shared() {
                shared.spawn(Shared::keep_following(Arc::downgrade(&shared)));
            }
            Ok(Triggers { shared })
        })
    }

    /// The triggers, as other servers have left them.
    pub(crate) async fn current(&self) -> Result<&Triggers, LambdaError> {
        drop(self.shared.begin_change().await?);
        Ok(self)
    }

    /// Ends every driver. Calls under way are waited for, but not for long.
    pub async fn close(&self) {
        let running = {
            let mut tasks = self.shared.tasks.lock();
            tasks.closed = true;
            std::mem::take(&mut tasks.running)
        };
        running.iter().for_each(Task::abort);
        for mut task in running {
            task.ended().await;
        }
        let drivers: Vec<Running> =
            self.shared.mappings.lock().values_mut().filter_map(|held| held.driver.take()).collect();
        let environment = &*self.shared.outside.environment;
        join_all(drivers.into_iter().map(|driver| driver.end(environment))).await;
    }

    /// The counters of every mapping.
    pub fn metrics(&self) -> Vec<MappingMetrics> {
        let mappings = self.shared.mappings.lock();
        let metrics = mappings.values().map(|held| MappingMetrics {
            uuid: held.mapping.uuid.clone(),
            function_name: held.mapping.function_name.clone(),
            stream_arn: held.mapping.stream_arn.clone(),
            metrics: *held.status.metrics.lock(),
        });
        metrics.collect()
    }

    /// CreateEventSourceMapping
    pub async fn create(
        &self,
        namespace: &Namespace,
        request: CreateEventSourceMappingRequest,
    ) -> Result<EventSourceMappingConfiguration, LambdaError> {
        let shared = &self.shared;
        // Records that are written from here on are LATEST.
        let now_ms = shared.outside.environment.now_ms();
        let _change = shared.begin_change().await?;
        let uuid = uuid(shared.outside.environment.random());
        let mapping = Mapping::create(request, namespace, &shared.resources(), uuid, now_ms)?;
        shared.check_new(&mapping)?;
        shared.check_stream(&mapping).await?;
        shared.store(&mapping).await?;
        let answer = mapping.describe(State::Creating, "No records processed");
        let mapping = Arc::new(mapping);
        let status = Arc::new(Status::default());
        let held = Held { mapping: mapping.clone(), state: State::Creating, status, driver: None };
        shared.mappings.lock().insert(mapping.uuid.clone(), held);
        shared.start(&mapping.uuid);
        Ok(answer)
    }

    /// GetEventSourceMapping
    pub fn get(
        &self,
        namespace: &Namespace,
        uuid: &str,
    ) -> Result<EventSourceMappingConfiguration, LambdaError> {
        self.shared.with(namespace, uuid, |held| Ok(held.describe()))
    }

    /// ListEventSourceMappings
    pub fn list(
        &self,
        namespace: &Namespace,
        request: &ListEventSourceMappingsRequest,
    ) -> ListEventSourceMappingsResponse {
        let after = request.marker.clone().unwrap_or_default();
        let page_max = request.max_items.map_or(limits::LIST_PAGE_MAX, |max| max.max(1) as usize);
        let page_max = page_max.min(limits::LIST_PAGE_MAX);
        let mappings = self.shared.mappings.lock();
        let mut found = mappings
            .values()
            .filter(|held| held.mapping.namespace == *namespace && held.mapping.uuid > after)
            .filter(|held| is_asked_for(&held.mapping, request));
        let page: Vec<_> = found.by_ref().take(page_max).map(Held::describe).collect();
        let next_marker = found.next().and_then(|_| page.last()).map(|last| last.uuid.clone());
        ListEventSourceMappingsResponse { event_source_mappings: page, next_marker }
    }

    /// UpdateEventSourceMapping
    pub async fn update(
        &self,
        namespace: &Namespace,
        request: UpdateEventSourceMappingRequest,
    ) -> Result<EventSourceMappingConfiguration, LambdaError> {
        let shared = &self.shared;
        let _change = shared.begin_change().await?;
        let uuid = request.uuid.clone();
        let before = shared.settled(namespace, &uuid)?;
        let now_ms = shared.outside.environment.now_ms();
        let mapping = before.update(request, &shared.resources(), now_ms)?;
        shared.check_new(&mapping)?;
        shared.store(&mapping).await?;
        let state = match (before.enabled, mapping.enabled) {
            (false, true) => State::Enabling,
            (true, false) => State::Disabling,
            _ => State::Updating,
        };
        let answer = shared.with(namespace, &uuid, |held| {
            (held.mapping, held.state) = (Arc::new(mapping), state);
            Ok(held.describe())
        })?;
        shared.restart(uuid);
        Ok(answer)
    }

    /// DeleteEventSourceMapping
    pub async fn delete(
        &self,
        namespace: &Namespace,
        uuid: &str,
    ) -> Result<EventSourceMappingConfiguration, LambdaError> {
        let shared = &self.shared;
        let _change = shared.begin_change().await?;
        shared.settled(namespace, uuid)?;
        shared.mapping_rows.delete(&mapping_row(uuid)).await.map_err(|error| internal(&error))?;
        let answer = shared.with(namespace, uuid, |held| {
            held.state = State::Deleting;
            Ok(held.describe())
        })?;
        shared.remove(uuid.to_owned());
        Ok(answer)
    }

    /// ListTags
    pub fn tags(&self, namespace: &Namespace, resource: &str) -> Result<Tags, LambdaError> {
        let uuid = self.shared.find_arn(namespace, resource)?;
        self.shared.with(namespace, &uuid, |held| Ok(held.mapping.tags.clone()))
    }

    /// TagResource
    pub async fn tag(&self, namespace: &Namespace, resource: &str, tags: Tags) -> Result<(), LambdaError> {
        self.change_tags(namespace, resource, |mapping| mapping.tag(tags)).await
    }

    /// UntagResource
    pub async fn untag(
        &self,
        namespace: &Namespace,
        resource: &str,
        keys: &[String],
    ) -> Result<(), LambdaError> {
        let without = |mapping: &Mapping| {
            let mut mapping = mapping.clone();
            mapping.tags.retain(|key, _| !keys.contains(key));
            Ok(mapping)
        };
        self.change_tags(namespace, resource, without).await
    }

    async fn change_tags(
        &self,
        namespace: &Namespace,
        resource: &str,
        change: impl FnOnce(&Mapping) -> Result<Mapping, LambdaError>,
    ) -> Result<(), LambdaError> {
        let shared = &self.shared;
        let _change = shared.begin_change().await?;
        let uuid = shared.find_arn(namespace, resource)?;
        // Tags don't matter to the driver, so the mapping need not be settled.
        let mapping = shared.with(namespace, &uuid, |held| match held.state {
            State::Deleting => Err(LambdaError::mapping_in_use()),
            _ => Ok(held.mapping.clone()),
        })?;
        let mapping = change(&mapping)?;
        shared.store(&mapping).await?;
        shared.with(namespace, &uuid, |held| {
            held.mapping = Arc::new(mapping);
            Ok(())
        })
    }
}

impl Shared {
    /// Waits for changes under way, and learns what other servers have changed.
    async fn begin_change(self: &Arc<Shared>) -> Result<MutexGuard<'_, ()>, LambdaError> {
        let change = self.changes.lock().await;
        if self.outside.rows.are_shared() {
            self.load().await.map_err(|error| internal(&error))?;
        }
        Ok(change)
    }

    /// Follows the other servers until the triggers are closed.
    async fn keep_following(shared: Weak<Shared>) {
        let pause = || Some(shared.upgrade()?.outside.environment.sleep(FOLLOW_INTERVAL));
        while let Some(pause) = pause() {
            pause.await;
            let Some(shared) = shared.upgrade() else { return };
            if let Err(error) = shared.follow().await {
                tracing::warn!(%error, "the changes of other servers to triggers are not known yet");
            }
        }
    }

    /// Learns what other servers have changed, and runs the drivers if no other server does.
    async fn follow(self: &Arc<Shared>) -> Result<(), OpenError> {
        let _change = self.changes.lock().await;
        let is_first = !self.has_lease.load(Ordering::Acquire);
        // The rows are read after the lease is taken: what the last holder stored is known then.
        let has_lease = self.outside.rows.take_lease(LEASE).await?;
        self.load().await?;
        if !(is_first && has_lease) {
            return Ok(());
        }
        self.delete_orphans().await?;
        self.has_lease.store(true, Ordering::Release);
        let uuids: Vec<String> = self.mappings.lock().keys().cloned().collect();
        uuids.iter().for_each(|uuid| self.start(uuid));
        Ok(())
    }

    /// Reads the stored mappings. Drivers of those that another server has changed or deleted end. A mapping that
    /// changes here at the moment is left alone: its row is as this server wrote it.
    async fn load(self: &Arc<Shared>) -> Result<(), OpenError> {
        let mut stored = BTreeMap::new();
        for (name, row) in self.mapping_rows.load().await? {
            let unreadable = |reason: String| OpenError::Unreadable { name: name.clone(), reason };
            let mapping: Mapping =
                serde_json::from_slice(&row).map_err(|error| unreadable(error.to_string()))?;
            mapping.delivery(self.backoff).map_err(|error| unreadable(error.to_string()))?;
            stored.insert(mapping.uuid.clone(), Arc::new(mapping));
        }
        let (mut changed, mut deleted, mut created) = (Vec::new(), Vec::new(), Vec::new());
        {
            let mut mappings = self.mappings.lock();
            for (uuid, held) in mappings.iter_mut().filter(|(_, held)| held.state.is_settled()) {
                match stored.get(uuid) {
                    Some(mapping) if *mapping == held.mapping => {}
                    Some(mapping) => {
                        (held.mapping, held.state) = (mapping.clone(), State::Updating);
                        changed.push(uuid.clone());
                    }
                    None => {
                        held.state = State::Deleting;
                        deleted.push(uuid.clone());
                    }
                }
            }
            for (uuid, mapping) in stored {
                if let Entry::Vacant(vacant) = mappings.entry(uuid) {
                    created.push(mapping.uuid.clone());
                    let status = Arc::new(Status::default());
                    vacant.insert(Held { mapping, state: State::Creating, status, driver: None });
                }
            }
        }
        created.iter().for_each(|uuid| self.start(uuid));
        changed.into_iter().for_each(|uuid| self.restart(uuid));
        deleted.into_iter().for_each(|uuid| self.remove(uuid));
        Ok(())
    }

    /// Stops the driver of a mapping and starts it with its new settings, after the request was answered.
    fn restart(self: &Arc<Shared>, uuid: String) {
        let shared = self.clone();
        self.spawn(async move {
            shared.stop(&uuid).await;
            shared.start(&uuid);
        });
    }

    /// Stops the driver of a mapping and forgets the mapping, after the request was answered.
    fn remove(self: &Arc<Shared>, uuid: String) {
        let shared = self.clone();
        self.spawn(async move {
            shared.stop(&uuid).await;
            // What stays of the positions is removed when a server next takes the lease. A server without it leaves
            // them to the one whose driver may still run.
            if shared.has_lease.load(Ordering::Acquire)
                && let Err(error) = shared.delete_positions(&uuid).await
            {
                tracing::warn!(%error, uuid, "the positions of a deleted mapping are still there");
            }
            shared.mappings.lock().remove(&uuid);
        });
    }

    /// Deletes the positions of mappings that are no longer there.
    async fn delete_orphans(&self) -> Result<(), RowsError> {
        let prefix = position_prefix("");
        let prefix = prefix.trim_end_matches('/');
        for (name, _) in self.outside.rows.list(prefix).await? {
            let uuid = name[prefix.len()..].split('/').find(|part| !part.is_empty()).unwrap_or_default();
            let is_orphan = !self.mappings.lock().contains_key(uuid);
            if is_orphan {
                self.outside.rows.delete(&name).await?;
            }
        }
        Ok(())
    }

    async fn delete_positions(&self, uuid: &str) -> Result<(), RowsError> {
        for (name, _) in self.outside.rows.list(&position_prefix(uuid)).await? {
            self.outside.rows.delete(&name).await?;
        }
        Ok(())
    }

    fn resources(&self) -> Resources<'_> {
        Resources { functions: &self.outside.functions, destinations: &self.outside.destinations }
    }

    /// Looks at a mapping of this namespace, or changes it.
    fn with<T>(
        &self,
        namespace: &Namespace,
        uuid: &str,
        look: impl FnOnce(&mut Held) -> Result<T, LambdaError>,
    ) -> Result<T, LambdaError> {
        let mut mappings = self.mappings.lock();
        let held = mappings.get_mut(uuid).filter(|held| held.mapping.namespace == *namespace);
        look(held.ok_or_else(LambdaError::mapping_not_found)?)
    }

    /// The mapping, if it takes a change.
    fn settled(&self, namespace: &Namespace, uuid: &str) -> Result<Arc<Mapping>, LambdaError> {
        self.with(namespace, uuid, |held| match held.state.is_settled() {
            true => Ok(held.mapping.clone()),
            false => Err(LambdaError::mapping_in_use()),
        })
    }

    fn find_arn(&self, namespace: &Namespace, arn: &str) -> Result<String, LambdaError> {
        let mappings = self.mappings.lock();
        let mut ours = mappings.values().filter(|held| held.mapping.namespace == *namespace);
        let found = ours.find(|held| held.mapping.arn() == arn);
        found.map(|held| held.mapping.uuid.clone()).ok_or_else(LambdaError::mapping_not_found)
    }

    /// No other mapping delivers the same stream to the same function, and there is room for one more.
    fn check_new(&self, mapping: &Mapping) -> Result<(), LambdaError> {
        let mappings = self.mappings.lock();
        let is_same = |other: &&Held| {
            other.mapping.stream_arn == mapping.stream_arn
                && other.mapping.function_arn == mapping.function_arn
                && other.mapping.uuid != mapping.uuid
        };
        if let Some(other) = mappings.values().find(is_same) {
            let name = &mapping.function_name;
            return Err(LambdaError::mapping_exists(&mapping.stream_arn, name, &other.mapping.uuid));
        }
        if mappings.len() >= MAPPINGS_MAX && !mappings.contains_key(&mapping.uuid) {
            let message = format!("There can be at most {MAPPINGS_MAX} event source mappings.");
            return Err(LambdaError::new(api::lambda::LambdaErrorKind::TooManyRequests, message));
        }
        Ok(())
    }

    async fn check_stream(&self, mapping: &Mapping) -> Result<(), LambdaError> {
        let input = DescribeStreamInput {
            stream_arn: mapping.stream_arn.clone(),
            limit: Some(1),
            ..DescribeStreamInput::default()
        };
        match self.outside.streams.describe_stream(&mapping.namespace, input).await {
            Ok(_) => Ok(()),
            Err(error) if error.kind == ErrorKind::ResourceNotFound => {
                Err(LambdaError::stream_not_found(&mapping.stream_arn))
            }
            Err(error) => Err(internal(&error)),
        }
    }

    async fn store(&self, mapping: &Mapping) -> Result<(), LambdaError> {
        let row = serde_json::to_vec(mapping).map_err(|error| internal(&error))?;
        self.mapping_rows.put(&mapping_row(&mapping.uuid), row).await.map_err(|error| internal(&error))
    }

    /// Starts the driver of a mapping that is enabled, if drivers run here. After that the mapping takes changes again.
    fn start(self: &Arc<Shared>, uuid: &str) {
        let mut mappings = self.mappings.lock();
        let Some(held) = mappings.get_mut(uuid) else { return };
        if !held.mapping.enabled || !self.has_lease.load(Ordering::Acquire) {
            held.state = if held.mapping.enabled { State::Enabled } else { State::Disabled };
            return;
        }
        // Checked when the mapping was made or read.
        let Ok(delivery) = held.mapping.delivery(self.backoff) else { return };
        let tasks = self.tasks.lock();
        if tasks.closed {
            return;
        }
        let environment = &*self.outside.environment;
        let (stop, stopped) = watch::channel(false);
        let driver = Driver {
            mapping: held.mapping.clone(),
            delivery: Arc::new(delivery),
            outside: self.outside.clone(),
            status: held.status.clone(),
            stop: stopped,
        };
        held.driver = Some(Running { stop, task: Task::start(environment, "trigger", driver.run()) });
        held.state = State::Enabled;
    }

    /// Ends the driver of a mapping, if it has one.
    async fn stop(&self, uuid: &str) {
        let driver = self.mappings.lock().get_mut(uuid).and_then(|held| held.driver.take());
        if let Some(driver) = driver {
            driver.end(&*self.outside.environment).await;
        }
    }

    /// Runs the second half of a change, after its request was answered.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock();
        tasks.running.retain(|task| !task.is_ended());
        if !tasks.closed {
            tasks.running.push(Task::start(&*self.outside.environment, "change of a trigger", task));
        }
    }
}

impl Running {
    async fn end(mut self, environment: &dyn Environment) {
        self.stop.send_replace(true);
        tokio::select! {
            biased;
            () = self.task.ended() => return,
            () = environment.sleep(STOP_WAIT) => {}
        }
        self.task.abort();
        self.task.ended().await;
    }
}

/// A task that is dropped before it ended must not leave its driver running.
impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Held {
    fn describe(&self) -> EventSourceMappingConfiguration {
        self.mapping.describe(self.state, &self.status.last_result.lock())
    }
}

fn mapping_row(uuid: &str) -> String {
    format!("{MAPPING_PREFIX}{uuid}")
}

/// The client learns nothing of the server's inside; the log does.
fn internal(error: &dyn std::error::Error) -> LambdaError {
    tracing::error!(%error, "a request on triggers failed");
    LambdaError::internal()
}

fn is_asked_for(mapping: &Mapping, request: &ListEventSourceMappingsRequest) -> bool {
    let stream_fits = request.event_source_arn.as_ref().is_none_or(|arn| *arn == mapping.stream_arn);
    let function_fits = request.function_name.as_deref().is_none_or(|name| {
        let Namespace { account, region } = &mapping.namespace;
        FunctionName::parse(name).is_some_and(|name| name.arn(region, account) == mapping.function_arn)
    });
    stream_fits && function_fits
}
