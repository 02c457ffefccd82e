//! The operations, and the targets behind them.
//!
//! A target is a row, with its policies, scheduled actions and activities. Where several servers share a database, one of
//! them scales, and all answer requests from the rows. Only this file starts a task, and `close`
//! ends it; what the task does each minute is in `scaling.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use api::autoscaling::{
    DeleteScalingPolicyRequest, DeleteScalingPolicyResponse, DeleteScheduledActionRequest,
    DeleteScheduledActionResponse, DeregisterScalableTargetRequest, DeregisterScalableTargetResponse,
    DescribeScalableTargetsRequest, DescribeScalableTargetsResponse, DescribeScalingActivitiesRequest,
    DescribeScalingActivitiesResponse, DescribeScalingPoliciesRequest, DescribeScalingPoliciesResponse,
    DescribeScheduledActionsRequest, DescribeScheduledActionsResponse, ListTagsForResourceRequest,
    ListTagsForResourceResponse, MetricType, PutScalingPolicyRequest, PutScalingPolicyResponse,
    PutScheduledActionRequest, PutScheduledActionResponse, RegisterScalableTargetRequest,
    RegisterScalableTargetResponse, ScalableDimension, ServiceNamespace, TagResourceRequest,
    TagResourceResponse, TargetTrackingScalingPolicyConfiguration, UntagResourceRequest,
    UntagResourceResponse, limits,
};
use api::{Error, ErrorKind};
use capacity::{Access, Decreases};
use futures_util::future::BoxFuture;
use host::{EachMinute, Environment, Namespace, Rows, RowsError, SharedRows, uuid};
use parking_lot::Mutex;
use tokio::sync::MutexGuard;

use crate::alarms;
use crate::outside::{CloudWatch, Tables};
use crate::resource::Resource;
use crate::target::{self, Action, Id, Policy, PolicyState, Settings, Target};

const TARGET_PREFIX: &str = "autoscaling/target/";
const DECREASES_PREFIX: &str = "autoscaling/decreases/";
/// Up to when scheduled actions are done, for the server that takes over.
const SCHEDULED_ROW: &str = "autoscaling/scheduled";
/// What a server that was away for longer would have done is not made up for.
const SCHEDULE_SPAN_MAX_MS: u64 = 600_000;
/// After the alarms are evaluated.
const SETTLE: Duration = Duration::from_secs(3);

/// The scalable targets of a database.
pub struct AutoScaling {
    pub(crate) shared: Arc<Shared>,
    task: EachMinute,
}

pub(crate) struct Shared {
    pub tables: Arc<dyn Tables>,
    pub cloudwatch: Arc<dyn CloudWatch>,
    pub rows: Arc<dyn Rows>,
    target_rows: SharedRows,
    pub environment: Arc<dyn Environment>,
    targets: Mutex<BTreeMap<Id, Target>>,
    /// The decreases of each table and index, which its read and write units share.
    decreases: Mutex<BTreeMap<(Namespace, String), Decreases>>,
    /// One request or minute at a time changes targets.
    pub changes: tokio::sync::Mutex<()>,
    /// Minutes before this one count only if something was consumed in them. The others may have been idle, or not
    /// recorded.
    pub opened_ms: u64,
    /// Up to when scheduled actions are done.
    pub scheduled_ms: AtomicU64,
}

/// Why the targets could not be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the texts say it")]
pub enum OpenError {
    #[error("reading scalable targets: {0}")]
    Rows(#[from] RowsError),
    #[error("the row {name} is not a scalable target: {reason}")]
    Unreadable { name: String, reason: String },
}

impl AutoScaling {
    /// Reads the stored targets. They are scaled from [`AutoScaling::start`] on.
    pub fn open(
        tables: Arc<dyn Tables>,
        cloudwatch: Arc<dyn CloudWatch>,
        rows: Arc<dyn Rows>,
        environment: Arc<dyn Environment>,
    ) -> BoxFuture<'static, Result<AutoScaling, OpenError>> {
        Box::pin(async move {
            let opened_ms = environment.now_ms();
            let shared = Shared {
                tables,
                cloudwatch,
                target_rows: SharedRows::new(rows.clone(), TARGET_PREFIX),
                rows,
                environment,
                targets: Mutex::default(),
                decreases: Mutex::default(),
                changes: tokio::sync::Mutex::default(),
                opened_ms,
                scheduled_ms: AtomicU64::new(opened_ms),
            };
            shared.load().await?;
            let shared = Arc::new(shared);
            Ok(AutoScaling { shared, task: EachMinute::default() })
        })
    }

    /// Scales each minute from now on. To be called within a tokio runtime.
    pub fn start(&self) {
        let shared = self.shared.clone();
        self.task.start(shared.environment.clone(), SETTLE, move || {
            let shared = shared.clone();
            async move { shared.scale().await }
        });
    }

    /// Ends the scaling. A step under way is stopped where it waits; UpdateTable itself is whole or not done.
    pub async fn close(&self) {
        self.task.end().await;
    }

    /// Does what a minute asks for.
    pub fn scale(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.shared.scale().await;
        })
    }

    /// The targets, as other servers have left them.
    pub async fn current(&self) -> Result<&AutoScaling, Error> {
        drop(self.shared.begin_change().await?);
        Ok(self)
    }

    /// RegisterScalableTarget
    pub async fn register(
        &self,
        namespace: &Namespace,
        input: RegisterScalableTargetRequest,
    ) -> Result<RegisterScalableTargetResponse, Error> {
        let shared = &self.shared;
        let resource =
            Resource::parse(input.service_namespace, &input.resource_id, input.scalable_dimension)?;
        let _change = shared.begin_change().await?;
        let table_id = shared.check_exists(namespace, &input.resource_id, &resource).await?;
        let id = Id {
            namespace: namespace.clone(),
            resource_id: input.resource_id,
            dimension: input.scalable_dimension,
        };
        let before = shared.find(&id);
        if before.is_none() && shared.of_namespace(namespace).len() >= limits::TARGETS_MAX {
            return Err(Error::limit_exceeded("The quota of scalable targets is exceeded"));
        }
        let old = before.as_ref().map(|target| target.settings.clone());
        let bound = |given: Option<i32>, old: Option<i32>, name: &str| {
            given
                .or(old)
                .ok_or_else(|| Error::validation(format!("{name} is required for a new scalable target")))
        };
        let min = bound(input.min_capacity, old.as_ref().map(|old| old.min), "MinCapacity")?;
        let max = bound(input.max_capacity, old.as_ref().map(|old| old.max), "MaxCapacity")?;
        if min > max {
            return Err(Error::min_above_max());
        }
        let random = shared.environment.random();
        let mut settings = old.unwrap_or_else(|| Settings {
            min,
            max,
            arn_id: format!("0a{random:032x}"),
            created_ms: shared.environment.now_ms(),
            in_suspended: false,
            out_suspended: false,
            schedule_suspended: false,
            tags: input.tags.unwrap_or_default(),
            table_id: None,
            bounds_changed: true,
        });
        (settings.min, settings.max, settings.table_id) = (min, max, table_id);
        if let Some(state) = input.suspended_state {
            settings.in_suspended = state.dynamic_scaling_in_suspended.unwrap_or(false);
            settings.out_suspended = state.dynamic_scaling_out_suspended.unwrap_or(false);
            settings.schedule_suspended = state.scheduled_scaling_suspended.unwrap_or(false);
        }
        settings.bounds_changed = true;
        let (policies, actions, activities) =
            before.map(|target| (target.policies, target.actions, target.activities)).unwrap_or_default();
        let mut target = Target { id, resource, settings, policies, actions, activities };
        let arn = target.arn();
        shared.store(&target).await?;
        shared.bring_within_bounds(&mut target).await?;
        Ok(RegisterScalableTargetResponse { scalable_target_arn: Some(arn) })
    }

    /// The ARN of a target, as policies name it. What is no target yet may become any.
    pub fn target_arn(
        &self,
        namespace: &Namespace,
        resource_id: &str,
        dimension: ScalableDimension,
    ) -> String {
        let id = Id { namespace: namespace.clone(), resource_id: resource_id.to_owned(), dimension };
        self.shared.find(&id).map_or_else(|| target::arn(namespace, "*"), |target| target.arn())
    }

    /// Whether a policy scales the writes of a table, or of one of its global indexes.
    pub fn scales_writes(&self, namespace: &Namespace, table: &str, index: Option<&str>) -> bool {
        let is_meant = |target: &Target| {
            let Resource { table: name, index: of_index, access } = &target.resource;
            name == table && of_index.as_deref() == index && *access == Access::Write
        };
        let targets = self.shared.of_namespace(namespace);
        targets.iter().any(|target| is_meant(target) && !target.policies.is_empty())
    }

    /// DeregisterScalableTarget: its policies, their alarms and its scheduled actions go with it.
    pub async fn deregister(
        &self,
        namespace: &Namespace,
        input: DeregisterScalableTargetRequest,
    ) -> Result<DeregisterScalableTargetResponse, Error> {
        let shared = &self.shared;
        let (service, resource_id, dimension) =
            (input.service_namespace, input.resource_id, input.scalable_dimension);
        let _change = shared.begin_change().await?;
        let id = Id { namespace: namespace.clone(), resource_id: resource_id.clone(), dimension };
        let target = shared.find(&id).filter(|_| service == ServiceNamespace::Dynamodb);
        let target = target.ok_or_else(|| Error::target_not_found(service, &resource_id, dimension))?;
        for policy in target.policies.values() {
            shared.delete_alarms(namespace, &policy.state.alarms).await?;
        }
        shared.target_rows.delete(&target_row(&id)).await.map_err(|error| internal(&error))?;
        shared.targets.lock().remove(&id);
        Ok(DeregisterScalableTargetResponse {})
    }

    /// DescribeScalableTargets
    pub fn describe_targets(
        &self,
        namespace: &Namespace,
        input: &DescribeScalableTargetsRequest,
    ) -> Result<DescribeScalableTargetsResponse, Error> {
        let mut targets = self.shared.of_service(namespace, input.service_namespace);
        targets.retain(|target| {
            let ids = input.resource_ids.as_ref();
            ids.is_none_or(|ids| ids.contains(&target.id.resource_id))
                && input.scalable_dimension.is_none_or(|dimension| dimension == target.id.dimension)
        });
        let described = targets.iter().map(Target::describe).collect();
        let (scalable_targets, next_token) =
            page(described, input.next_token.as_deref(), input.max_results.unwrap_or(limits::PAGE_MAX))?;
        Ok(DescribeScalableTargetsResponse { scalable_targets: Some(scalable_targets), next_token })
    }

    /// PutScalingPolicy
    pub async fn put_policy(
        &self,
        namespace: &Namespace,
        mut input: PutScalingPolicyRequest,
    ) -> Result<PutScalingPolicyResponse, Error> {
        let shared = &self.shared;
        let _change = shared.begin_change().await?;
        let mut target = shared.registered(
            namespace,
            input.service_namespace,
            &input.resource_id,
            input.scalable_dimension,
        )?;
        let before = target.policies.get(&input.policy_name).cloned();
        if before.is_none() && target.policies.len() >= limits::POLICIES_PER_TARGET {
            return Err(Error::limit_exceeded("The quota of scaling policies of a target is exceeded"));
        }
        if input.target_tracking_scaling_policy_configuration.is_none() {
            let kept = before.as_ref().map(|policy| policy.configuration().clone());
            input.target_tracking_scaling_policy_configuration = Some(kept.ok_or_else(|| {
                Error::validation("PolicyType and TargetTrackingScalingPolicyConfiguration are required")
            })?);
        }
        let name = input.policy_name.clone();
        let mut policy = shared.new_policy(input, before.as_ref());
        check_metric(&target, &name, policy.configuration())?;
        let kinds = alarms::kinds(&policy);
        if policy.state.alarms.len() != kinds.len() {
            shared.delete_alarms(namespace, &policy.state.alarms).await?;
            let named = |kind| alarms::name(&target.id.resource_id, kind, &uuid(shared.environment.random()));
            policy.state.alarms = kinds.into_iter().map(named).collect();
        }
        let table = shared.tables.describe(namespace, &target.resource.table).await?;
        if let Some(table) = &table {
            target.settings.table_id = table.table_id.clone();
        }
        let provisioned = table.and_then(|table| target.resource.provisioned(&table));
        policy.state.alarm_units = provisioned.map_or(0, |provisioned| target.resource.units(&provisioned));
        target.policies.insert(name, policy.clone());
        shared.put_alarms(&target, &policy).await?;
        shared.store(&target).await?;
        Ok(PutScalingPolicyResponse {
            policy_arn: target.policy_arn(&policy),
            alarms: Some(target.describe_alarms(&policy)),
        })
    }

    /// DescribeScalingPolicies
    pub fn describe_policies(
        &self,
        namespace: &Namespace,
        input: &DescribeScalingPoliciesRequest,
    ) -> Result<DescribeScalingPoliciesResponse, Error> {
        let targets = self.shared.of_service(namespace, input.service_namespace);
        let is_named = |name: &String| input.policy_names.as_ref().is_none_or(|names| names.contains(name));
        let mut described = Vec::new();
        for target in targets
            .iter()
            .filter(|target| is_of_resource(target, input.resource_id.as_deref(), input.scalable_dimension))
        {
            let policies = target.policies.iter().filter(|(name, _)| is_named(name));
            described.extend(policies.map(|(_, policy)| target.describe_policy(policy)));
        }
        let max = input.max_results.unwrap_or(limits::POLICIES_PAGE_MAX);
        let (scaling_policies, next_token) = page(described, input.next_token.as_deref(), max)?;
        Ok(DescribeScalingPoliciesResponse { scaling_policies: Some(scaling_policies), next_token })
    }

    /// DeleteScalingPolicy
    pub async fn delete_policy(
        &self,
        namespace: &Namespace,
        input: DeleteScalingPolicyRequest,
    ) -> Result<DeleteScalingPolicyResponse, Error> {
        let shared = &self.shared;
        let (service, id, dimension) =
            (input.service_namespace, &input.resource_id, input.scalable_dimension);
        let _change = shared.begin_change().await?;
        let not_found = || Error::scaling_policy_not_found(service, id, dimension, &input.policy_name);
        let mut target = shared.registered(namespace, service, id, dimension).map_err(|_| not_found())?;
        let policy = target.policies.remove(&input.policy_name).ok_or_else(not_found)?;
        shared.delete_alarms(namespace, &policy.state.alarms).await?;
        shared.store(&target).await?;
        Ok(DeleteScalingPolicyResponse {})
    }

    /// PutScheduledAction: what a later request does not name stays, except for the times.
    pub async fn put_action(
        &self,
        namespace: &Namespace,
        mut input: PutScheduledActionRequest,
    ) -> Result<PutScheduledActionResponse, Error> {
        let shared = &self.shared;
        let (service, dimension) = (input.service_namespace, input.scalable_dimension);
        let _change = shared.begin_change().await?;
        let mut target = shared.registered(namespace, service, &input.resource_id, dimension)?;
        let name = input.scheduled_action_name.clone();
        let before = target.actions.get(&name);
        if before.is_none() && target.actions.len() >= limits::SCHEDULED_ACTIONS_PER_TARGET {
            return Err(Error::limit_exceeded("The quota of scheduled actions of a target is exceeded"));
        }
        if let Some(before) = before {
            let old = before.request.clone();
            input.schedule = input.schedule.or(old.schedule);
            input.timezone = input.timezone.or(old.timezone);
            input.scalable_target_action = input.scalable_target_action.or(old.scalable_target_action);
        }
        let given = input.scalable_target_action.as_ref();
        if given.is_none_or(|action| action.min_capacity.is_none() && action.max_capacity.is_none()) {
            return Err(Error::validation("ScalableTargetAction must have a MinCapacity or a MaxCapacity"));
        }
        let uuid = before.map_or_else(|| uuid(shared.environment.random()), |action| action.uuid.clone());
        let created_ms = before.map_or_else(|| shared.environment.now_ms(), |action| action.created_ms);
        target.actions.insert(name, Action::new(input, uuid, created_ms)?);
        shared.store(&target).await?;
        Ok(PutScheduledActionResponse {})
    }

    /// DescribeScheduledActions
    pub fn describe_actions(
        &self,
        namespace: &Namespace,
        input: &DescribeScheduledActionsRequest,
    ) -> Result<DescribeScheduledActionsResponse, Error> {
        let targets = self.shared.of_service(namespace, input.service_namespace);
        let names = input.scheduled_action_names.as_ref();
        let is_named = |name: &String| names.is_none_or(|names| names.contains(name));
        let mut described = Vec::new();
        for target in targets
            .iter()
            .filter(|target| is_of_resource(target, input.resource_id.as_deref(), input.scalable_dimension))
        {
            let actions = target.actions.iter().filter(|(name, _)| is_named(name));
            described.extend(actions.map(|(_, action)| target.describe_action(action)));
        }
        let max = input.max_results.unwrap_or(limits::PAGE_MAX);
        let (scheduled_actions, next_token) = page(described, input.next_token.as_deref(), max)?;
        Ok(DescribeScheduledActionsResponse { scheduled_actions: Some(scheduled_actions), next_token })
    }

    /// DeleteScheduledAction
    pub async fn delete_action(
        &self,
        namespace: &Namespace,
        input: DeleteScheduledActionRequest,
    ) -> Result<DeleteScheduledActionResponse, Error> {
        let shared = &self.shared;
        let (service, id, dimension) =
            (input.service_namespace, &input.resource_id, input.scalable_dimension);
        let name = &input.scheduled_action_name;
        let _change = shared.begin_change().await?;
        let not_found = || Error::scheduled_action_not_found(service, id, dimension, name);
        let mut target = shared.registered(namespace, service, id, dimension).map_err(|_| not_found())?;
        target.actions.remove(name).ok_or_else(not_found)?;
        shared.store(&target).await?;
        Ok(DeleteScheduledActionResponse {})
    }

    /// DescribeScalingActivities: the latest first.
    pub fn describe_activities(
        &self,
        namespace: &Namespace,
        input: &DescribeScalingActivitiesRequest,
    ) -> Result<DescribeScalingActivitiesResponse, Error> {
        let targets = self.shared.of_service(namespace, input.service_namespace);
        let with_not_scaled = input.include_not_scaled_activities.unwrap_or(false);
        let mut described = Vec::new();
        for target in targets
            .iter()
            .filter(|target| is_of_resource(target, input.resource_id.as_deref(), input.scalable_dimension))
        {
            let activities = target.activities.iter();
            let shown = activities.filter(|activity| with_not_scaled || activity.not_scaled.is_none());
            described.extend(shown.map(|activity| target.describe_activity(activity)));
        }
        described.sort_by(|one, other| other.start_time.total_cmp(&one.start_time));
        let max = input.max_results.unwrap_or(limits::PAGE_MAX);
        let (scaling_activities, next_token) = page(described, input.next_token.as_deref(), max)?;
        Ok(DescribeScalingActivitiesResponse { scaling_activities: Some(scaling_activities), next_token })
    }

    /// TagResource
    pub async fn tag(
        &self,
        namespace: &Namespace,
        input: TagResourceRequest,
    ) -> Result<TagResourceResponse, Error> {
        let shared = &self.shared;
        let _change = shared.begin_change().await?;
        let mut target = shared.by_arn(namespace, &input.resource_arn)?;
        target.settings.tags.extend(input.tags);
        if target.settings.tags.len() > limits::TAGS_MAX {
            let message = format!("A scalable target has at most {} tags", limits::TAGS_MAX);
            return Err(Error::new(ErrorKind::TooManyTags, message));
        }
        shared.store(&target).await?;
        Ok(TagResourceResponse {})
    }

    /// UntagResource
    pub async fn untag(
        &self,
        namespace: &Namespace,
        input: UntagResourceRequest,
    ) -> Result<UntagResourceResponse, Error> {
        let shared = &self.shared;
        let _change = shared.begin_change().await?;
        let mut target = shared.by_arn(namespace, &input.resource_arn)?;
        target.settings.tags.retain(|key, _| !input.tag_keys.contains(key));
        shared.store(&target).await?;
        Ok(UntagResourceResponse {})
    }

    /// ListTagsForResource
    pub fn tags(
        &self,
        namespace: &Namespace,
        input: &ListTagsForResourceRequest,
    ) -> Result<ListTagsForResourceResponse, Error> {
        let target = self.shared.by_arn(namespace, &input.resource_arn)?;
        Ok(ListTagsForResourceResponse { tags: Some(target.settings.tags) })
    }
}

impl Shared {
    /// Reads the targets as they are stored.
    async fn load(&self) -> Result<(), OpenError> {
        let (mut targets, mut decreases) = (BTreeMap::new(), BTreeMap::new());
        for (name, row) in self.target_rows.load().await? {
            let target = Target::decode(&row).map_err(|reason| OpenError::Unreadable { name, reason })?;
            targets.insert(target.id.clone(), target);
        }
        for (name, row) in self.rows.list(DECREASES_PREFIX).await? {
            let read = serde_json::from_slice(&row);
            let (namespace, resource_id, [count, first_ms, last_ms]): (Namespace, String, [u64; 3]) =
                read.map_err(|error| OpenError::Unreadable { name, reason: error.to_string() })?;
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            decreases.insert((namespace, resource_id), Decreases { count, first_ms, last_ms });
        }
        (*self.targets.lock(), *self.decreases.lock()) = (targets, decreases);
        Ok(())
    }

    /// Waits for changes under way, and learns what other servers have changed.
    pub async fn begin_change(&self) -> Result<MutexGuard<'_, ()>, Error> {
        let change = self.changes.lock().await;
        if self.rows.are_shared() {
            self.load().await.map_err(|error| internal(&error))?;
        }
        Ok(change)
    }

    pub fn ids(&self) -> Vec<Id> {
        self.targets.lock().keys().cloned().collect()
    }

    pub fn find(&self, id: &Id) -> Option<Target> {
        self.targets.lock().get(id).cloned()
    }

    /// The target that a policy or action is for.
    fn registered(
        &self,
        namespace: &Namespace,
        service: ServiceNamespace,
        resource_id: &str,
        dimension: ScalableDimension,
    ) -> Result<Target, Error> {
        let id = Id { namespace: namespace.clone(), resource_id: resource_id.to_owned(), dimension };
        let target = self.find(&id).filter(|_| service == ServiceNamespace::Dynamodb);
        target.ok_or_else(|| Error::no_target_registered(service, resource_id, dimension))
    }

    fn by_arn(&self, namespace: &Namespace, arn: &str) -> Result<Target, Error> {
        let mut targets = self.of_namespace(namespace).into_iter();
        targets.find(|target| target.arn() == arn).ok_or_else(|| Error::scalable_target_arn_not_found(arn))
    }

    fn of_namespace(&self, namespace: &Namespace) -> Vec<Target> {
        let targets = self.targets.lock();
        targets.values().filter(|target| target.id.namespace == *namespace).cloned().collect()
    }

    /// Only DynamoDB has targets here.
    fn of_service(&self, namespace: &Namespace, service: ServiceNamespace) -> Vec<Target> {
        match service {
            ServiceNamespace::Dynamodb => self.of_namespace(namespace),
            _ => Vec::new(),
        }
    }

    /// Keeps a target, and shows it when it is kept.
    pub async fn store(&self, target: &Target) -> Result<(), Error> {
        let stored = self.target_rows.put(&target_row(&target.id), target.encode()).await;
        stored.map_err(|error| internal(&error))?;
        self.targets.lock().insert(target.id.clone(), target.clone());
        Ok(())
    }

    /// The id of the table, if the table and the index are there.
    async fn check_exists(
        &self,
        namespace: &Namespace,
        resource_id: &str,
        resource: &Resource,
    ) -> Result<Option<String>, Error> {
        let table = self.tables.describe(namespace, &resource.table).await?;
        let table = table.ok_or_else(|| Error::scalable_table_not_found(resource_id))?;
        match resource.provisioned(&table) {
            Some(_) => Ok(table.table_id),
            None => Err(Error::scalable_index_not_found(resource_id)),
        }
    }

    fn new_policy(&self, request: PutScalingPolicyRequest, before: Option<&Policy>) -> Policy {
        let state = before.map_or_else(
            || PolicyState {
                uuid: uuid(self.environment.random()),
                created_ms: self.environment.now_ms(),
                alarms: Vec::new(),
                alarm_units: 0,
                last_out: None,
                last_in: None,
            },
            |policy| policy.state.clone(),
        );
        Policy { request, state }
    }

    pub async fn put_alarms(&self, target: &Target, policy: &Policy) -> Result<(), Error> {
        for request in alarms::requests(target, policy, policy.state.alarm_units) {
            self.cloudwatch.put_alarm(&target.id.namespace, request).await?;
        }
        Ok(())
    }

    async fn delete_alarms(&self, namespace: &Namespace, names: &[String]) -> Result<(), Error> {
        for name in names {
            self.cloudwatch.delete_alarm(namespace, name).await?;
        }
        Ok(())
    }

    /// The decreases that a table or index had.
    pub fn decreases(&self, id: &Id) -> Decreases {
        let key = (id.namespace.clone(), id.resource_id.clone());
        self.decreases.lock().get(&key).copied().unwrap_or_default()
    }

    pub async fn store_decreases(&self, id: &Id, decreases: Decreases) -> Result<(), Error> {
        let Decreases { count, first_ms, last_ms } = decreases;
        let row = serde_json::json!([id.namespace, id.resource_id, [u64::from(count), first_ms, last_ms]]);
        let Namespace { account, region } = &id.namespace;
        let name = format!("{DECREASES_PREFIX}{account}/{region}/{}", id.resource_id);
        let stored = self.rows.put(&name, row.to_string().into_bytes()).await;
        stored.map_err(|error| internal(&error))?;
        self.decreases.lock().insert((id.namespace.clone(), id.resource_id.clone()), decreases);
        Ok(())
    }

    /// The time since which scheduled actions are to be done: since the last minute of this server, or of the one
    /// that did them before.
    pub async fn schedule_start(&self, now_ms: u64) -> Result<u64, RowsError> {
        let own_ms = self.scheduled_ms.load(Ordering::Relaxed);
        let row = if self.rows.are_shared() { self.rows.get(SCHEDULED_ROW).await? } else { None };
        let Some(row) = row else { return Ok(own_ms) };
        let done_ms: u64 = serde_json::from_slice(&row)
            .map_err(|error| RowsError(format!("the row {SCHEDULED_ROW} is not a time: {error}")))?;
        Ok(done_ms.max(now_ms.saturating_sub(SCHEDULE_SPAN_MAX_MS)))
    }

    /// Scheduled actions are done up to this time.
    pub async fn end_schedule(&self, now_ms: u64) -> Result<(), RowsError> {
        self.scheduled_ms.store(now_ms, Ordering::Relaxed);
        match self.rows.are_shared() {
            true => self.rows.put(SCHEDULED_ROW, now_ms.to_string().into_bytes()).await,
            false => Ok(()),
        }
    }
}

/// The metric fits the target, and no other policy has it.
fn check_metric(
    target: &Target,
    name: &str,
    configuration: &TargetTrackingScalingPolicyConfiguration,
) -> Result<(), Error> {
    if let Some(metric) = &configuration.predefined_metric_specification {
        let own = match target.resource.access {
            Access::Read => MetricType::DynamoDBReadCapacityUtilization,
            Access::Write => MetricType::DynamoDBWriteCapacityUtilization,
        };
        if metric.predefined_metric_type != own {
            return Err(Error::validation(format!(
                "The metric {} can't be used with the scalable dimension {}",
                metric.predefined_metric_type.as_str(),
                target.id.dimension.as_str()
            )));
        }
    }
    let is_same = |other: &Policy| {
        let other = other.configuration();
        other.predefined_metric_specification == configuration.predefined_metric_specification
            && other.customized_metric_specification == configuration.customized_metric_specification
    };
    match target.policies.iter().any(|(other, policy)| other != name && is_same(policy)) {
        true => Err(Error::metric_has_policy()),
        false => Ok(()),
    }
}

fn is_of_resource(target: &Target, resource_id: Option<&str>, dimension: Option<ScalableDimension>) -> bool {
    resource_id.is_none_or(|id| id == target.id.resource_id)
        && dimension.is_none_or(|dimension| dimension == target.id.dimension)
}

/// A page, and the token of the next one: the number of what came before it.
fn page<T>(mut all: Vec<T>, token: Option<&str>, max: i32) -> Result<(Vec<T>, Option<String>), Error> {
    let start = match token.map(str::parse) {
        None => 0,
        Some(Ok(start)) if start <= all.len() => start,
        Some(_) => return Err(Error::invalid_next_token()),
    };
    let end = all.len().min(start + usize::try_from(max).unwrap_or(1));
    let next_token = (end < all.len()).then(|| end.to_string());
    all.truncate(end);
    Ok((all.split_off(start), next_token))
}

fn target_row(id: &Id) -> String {
    let Namespace { account, region } = &id.namespace;
    format!("{TARGET_PREFIX}{account}/{region}/{}/{}", id.resource_id, id.dimension.as_str())
}

fn internal(error: &dyn std::error::Error) -> Error {
    tracing::error!(%error, "a scalable target can't be read or stored");
    Error::internal_service_exception()
}
