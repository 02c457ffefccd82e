//! A scalable target with all that belongs to it: its policies, scheduled actions and activities. Kept as one row.

use std::collections::{BTreeMap, VecDeque};

use api::Error;
use api::autoscaling::{
    Alarm as ApiAlarm, NotScaledReason, PolicyType, PutScalingPolicyRequest, PutScheduledActionRequest,
    Request, ScalableDimension, ScalableTarget, ScalableTargetAction, ScalingActivity,
    ScalingActivityStatusCode, ScalingPolicy, ScheduledAction, ServiceNamespace, SuspendedState,
    TargetTrackingScalingPolicyConfiguration,
};
use host::Namespace;
use serde::{Deserialize, Serialize};

use crate::resource::Resource;
use crate::schedule::Schedule;

/// Activities that are remembered of a target.
const ACTIVITIES_MAX: usize = 100;
/// The role that AWS makes for itself. Terraform plans a change if it is shown another one.
const ROLE: &str = "role/aws-service-role/dynamodb.application-autoscaling.amazonaws.com/\
                    AWSServiceRoleForApplicationAutoScaling_DynamoDBTable";

/// What tells targets apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id {
    pub namespace: Namespace,
    pub resource_id: String,
    pub dimension: ScalableDimension,
}

#[derive(Clone, Debug)]
pub struct Target {
    pub id: Id,
    pub resource: Resource,
    pub settings: Settings,
    pub policies: BTreeMap<String, Policy>,
    pub actions: BTreeMap<String, Action>,
    /// The latest first.
    pub activities: VecDeque<Activity>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    pub min: i32,
    pub max: i32,
    /// The last part of its ARN.
    pub arn_id: String,
    pub created_ms: u64,
    pub in_suspended: bool,
    pub out_suspended: bool,
    pub schedule_suspended: bool,
    pub tags: BTreeMap<String, String>,
    /// The table that it was registered for. Another table of the same name is not scaled.
    pub table_id: Option<String>,
    /// The bounds changed, and the units were not yet brought within them.
    pub bounds_changed: bool,
}

#[derive(Clone, Debug)]
pub struct Policy {
    /// As it was put.
    pub request: PutScalingPolicyRequest,
    pub state: PolicyState,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PolicyState {
    /// Part of its ARN.
    pub uuid: String,
    pub created_ms: u64,
    /// The names of its alarms.
    pub alarms: Vec<String>,
    /// The units that the alarms' thresholds are for.
    pub alarm_units: u64,
    /// The latest step out: when, and to how many units.
    pub last_out: Option<(u64, u64)>,
    /// The latest step in: when, and to how many units.
    pub last_in: Option<(u64, u64)>,
}

#[derive(Clone, Debug)]
pub struct Action {
    /// As it was put; later requests changed what they named.
    pub request: PutScheduledActionRequest,
    pub schedule: Schedule,
    /// Part of its ARN.
    pub uuid: String,
    pub created_ms: u64,
}

/// Something that was done, or tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    pub id: String,
    pub description: String,
    pub cause: String,
    pub start_ms: u64,
    pub end_ms: u64,
    pub is_success: bool,
    pub message: String,
    /// Why an alarm led to nothing; such activities are shown when they are asked for.
    pub not_scaled: Option<NotScaled>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NotScaled {
    pub code: String,
    pub current: u64,
}

/// The row.
#[derive(Serialize, Deserialize)]
struct Stored {
    namespace: Namespace,
    resource_id: String,
    dimension: String,
    settings: Settings,
    policies: Vec<(serde_json::Value, PolicyState)>,
    actions: Vec<(serde_json::Value, String, u64)>,
    activities: VecDeque<Activity>,
}

/// The ARN of the target with this id.
pub fn arn(namespace: &Namespace, id: &str) -> String {
    let Namespace { account, region } = namespace;
    format!("arn:aws:application-autoscaling:{region}:{account}:scalable-target/{id}")
}

impl Target {
    pub fn is_for_table(&self, table_id: Option<&str>) -> bool {
        self.settings.table_id.is_none() || self.settings.table_id.as_deref() == table_id
    }

    pub fn arn(&self) -> String {
        arn(&self.id.namespace, &self.settings.arn_id)
    }

    pub fn describe(&self) -> ScalableTarget {
        let settings = &self.settings;
        ScalableTarget {
            service_namespace: ServiceNamespace::Dynamodb,
            resource_id: self.id.resource_id.clone(),
            scalable_dimension: self.id.dimension,
            min_capacity: settings.min,
            max_capacity: settings.max,
            role_arn: format!("arn:aws:iam::{}:{ROLE}", self.id.namespace.account),
            creation_time: seconds(settings.created_ms),
            suspended_state: Some(SuspendedState {
                dynamic_scaling_in_suspended: Some(settings.in_suspended),
                dynamic_scaling_out_suspended: Some(settings.out_suspended),
                scheduled_scaling_suspended: Some(settings.schedule_suspended),
            }),
            scalable_target_arn: Some(self.arn()),
            predicted_capacity: None,
        }
    }

    pub fn policy_arn(&self, policy: &Policy) -> String {
        self.old_arn("scalingPolicy", &policy.state.uuid, "policyName", &policy.request.policy_name)
    }

    /// The form of ARNs from before the service had a name of its own.
    fn old_arn(&self, kind: &str, uuid: &str, name_kind: &str, name: &str) -> String {
        let Namespace { account, region } = &self.id.namespace;
        let resource = &self.id.resource_id;
        format!(
            "arn:aws:autoscaling:{region}:{account}:{kind}:{uuid}:resource/dynamodb/{resource}:{name_kind}/{name}"
        )
    }

    pub fn describe_alarms(&self, policy: &Policy) -> Vec<ApiAlarm> {
        let Namespace { account, region } = &self.id.namespace;
        let alarm = |name: &String| ApiAlarm {
            alarm_name: name.clone(),
            alarm_arn: format!("arn:aws:cloudwatch:{region}:{account}:alarm:{name}"),
        };
        policy.state.alarms.iter().map(alarm).collect()
    }

    pub fn describe_policy(&self, policy: &Policy) -> ScalingPolicy {
        ScalingPolicy {
            policy_arn: self.policy_arn(policy),
            policy_name: policy.request.policy_name.clone(),
            service_namespace: ServiceNamespace::Dynamodb,
            resource_id: self.id.resource_id.clone(),
            scalable_dimension: self.id.dimension,
            policy_type: PolicyType::TargetTrackingScaling,
            creation_time: seconds(policy.state.created_ms),
            alarms: Some(self.describe_alarms(policy)),
            target_tracking_scaling_policy_configuration: Some(policy.configuration().clone()),
            step_scaling_policy_configuration: None,
        }
    }

    pub fn describe_action(&self, action: &Action) -> ScheduledAction {
        let request = &action.request;
        let name = &request.scheduled_action_name;
        ScheduledAction {
            scheduled_action_name: name.clone(),
            scheduled_action_arn: self.old_arn("scheduledAction", &action.uuid, "scheduledActionName", name),
            service_namespace: ServiceNamespace::Dynamodb,
            schedule: request.schedule.clone().unwrap_or_default(),
            timezone: request.timezone.clone(),
            resource_id: self.id.resource_id.clone(),
            scalable_dimension: Some(self.id.dimension),
            start_time: request.start_time,
            end_time: request.end_time,
            scalable_target_action: request.scalable_target_action.clone(),
            creation_time: seconds(action.created_ms),
        }
    }

    pub fn describe_activity(&self, activity: &Activity) -> ScalingActivity {
        let reason = |not_scaled: &NotScaled| NotScaledReason {
            code: not_scaled.code.clone(),
            max_capacity: Some(self.settings.max),
            min_capacity: Some(self.settings.min),
            current_capacity: Some(i32::try_from(not_scaled.current).unwrap_or(i32::MAX)),
        };
        ScalingActivity {
            activity_id: activity.id.clone(),
            service_namespace: ServiceNamespace::Dynamodb,
            resource_id: self.id.resource_id.clone(),
            scalable_dimension: self.id.dimension,
            description: activity.description.clone(),
            cause: activity.cause.clone(),
            start_time: seconds(activity.start_ms),
            end_time: Some(seconds(activity.end_ms)),
            status_code: match activity.is_success {
                true => ScalingActivityStatusCode::Successful,
                false => ScalingActivityStatusCode::Failed,
            },
            status_message: Some(activity.message.clone()),
            not_scaled_reasons: activity.not_scaled.as_ref().map(|not_scaled| vec![reason(not_scaled)]),
            details: None,
        }
    }

    /// Remembers what happened. What fails the same way minute after minute is one activity that goes on.
    pub fn remember(&mut self, activity: Activity) {
        let is_same = |latest: &&mut Activity| {
            !activity.is_success
                && !latest.is_success
                && latest.description == activity.description
                && latest.message == activity.message
                && latest.not_scaled.as_ref().map(|reason| &reason.code)
                    == activity.not_scaled.as_ref().map(|reason| &reason.code)
        };
        match self.activities.front_mut().filter(is_same) {
            Some(latest) => latest.end_ms = activity.end_ms,
            None => self.activities.push_front(activity),
        }
        self.activities.truncate(ACTIVITIES_MAX);
    }

    /// The bytes to keep.
    pub fn encode(&self) -> Vec<u8> {
        let json = |request: Request| {
            let mut text = Vec::new();
            request.write_json(&mut text);
            serde_json::from_slice(&text).expect("the encoder prints JSON")
        };
        let policies = self.policies.values().map(|policy| {
            (json(Request::PutScalingPolicy(Box::new(policy.request.clone()))), policy.state.clone())
        });
        let actions = self.actions.values().map(|action| {
            let request = json(Request::PutScheduledAction(Box::new(action.request.clone())));
            (request, action.uuid.clone(), action.created_ms)
        });
        let stored = Stored {
            namespace: self.id.namespace.clone(),
            resource_id: self.id.resource_id.clone(),
            dimension: self.id.dimension.as_str().to_owned(),
            settings: self.settings.clone(),
            policies: policies.collect(),
            actions: actions.collect(),
            activities: self.activities.clone(),
        };
        serde_json::to_vec(&stored).expect("JSON can be printed")
    }

    /// The target that was kept.
    pub fn decode(row: &[u8]) -> Result<Target, String> {
        let stored: Stored = serde_json::from_slice(row).map_err(|error| error.to_string())?;
        let text = |error: Error| error.to_string();
        let dimension = dimension(&stored.dimension).ok_or("it has an unknown dimension")?;
        let resource =
            Resource::parse(ServiceNamespace::Dynamodb, &stored.resource_id, dimension).map_err(text)?;
        let mut policies = BTreeMap::new();
        for (request, state) in stored.policies {
            let request = decode_request(api::autoscaling::Operation::PutScalingPolicy, &request)?;
            let Request::PutScalingPolicy(request) = request else { return Err("not a policy".to_owned()) };
            policies.insert(request.policy_name.clone(), Policy { request: *request, state });
        }
        let mut actions = BTreeMap::new();
        for (request, uuid, created_ms) in stored.actions {
            let request = decode_request(api::autoscaling::Operation::PutScheduledAction, &request)?;
            let Request::PutScheduledAction(request) = request else {
                return Err("not an action".to_owned());
            };
            let action = Action::new(*request, uuid, created_ms).map_err(text)?;
            actions.insert(action.request.scheduled_action_name.clone(), action);
        }
        let id = Id { namespace: stored.namespace, resource_id: stored.resource_id, dimension };
        Ok(Target {
            id,
            resource,
            settings: stored.settings,
            policies,
            actions,
            activities: stored.activities,
        })
    }
}

impl Policy {
    /// The service takes no policy without one.
    pub fn configuration(&self) -> &TargetTrackingScalingPolicyConfiguration {
        const NONE: &TargetTrackingScalingPolicyConfiguration = &TargetTrackingScalingPolicyConfiguration {
            customized_metric_specification: None,
            disable_scale_in: None,
            predefined_metric_specification: None,
            scale_in_cooldown: None,
            scale_out_cooldown: None,
            target_value: 100.0,
        };
        self.request.target_tracking_scaling_policy_configuration.as_ref().unwrap_or(NONE)
    }

    /// What the step function needs to know.
    pub fn step_policy(&self, settings: &Settings) -> capacity::scaling::Policy {
        let configuration = self.configuration();
        let cooldown_ms = |seconds: Option<i32>| u64::try_from(seconds.unwrap_or(0)).unwrap_or(0) * 1000;
        capacity::scaling::Policy {
            min_units: u64::try_from(settings.min).unwrap_or(1),
            max_units: u64::try_from(settings.max).unwrap_or(1),
            target: configuration.target_value / 100.0,
            out_cooldown_ms: cooldown_ms(configuration.scale_out_cooldown),
            in_cooldown_ms: cooldown_ms(configuration.scale_in_cooldown),
            scale_in_disabled: configuration.disable_scale_in.unwrap_or(false),
        }
    }
}

impl Action {
    /// Refuses a schedule that can't be read.
    pub fn new(request: PutScheduledActionRequest, uuid: String, created_ms: u64) -> Result<Action, Error> {
        let text = request.schedule.as_deref();
        let text =
            text.ok_or_else(|| Error::validation("Schedule must be specified for a new scheduled action"))?;
        let schedule = Schedule::parse(text, request.timezone.as_deref())
            .map_err(|error| Error::validation(error.to_string()))?;
        Ok(Action { request, schedule, uuid, created_ms })
    }

    /// Whether it is to be done after one time and not later than another.
    pub fn is_due(&self, after_ms: u64, until_ms: u64) -> bool {
        let ms = |seconds: f64| (seconds.max(0.0) * 1000.0) as u64;
        let start_ms = self.request.start_time.map(ms);
        let end_ms = self.request.end_time.map(ms);
        // The first moment that counts is the start itself.
        let after_ms = after_ms.max(start_ms.map_or(0, |start_ms| start_ms.saturating_sub(1)));
        let until_ms = until_ms.min(end_ms.unwrap_or(u64::MAX));
        self.schedule.is_due(start_ms.unwrap_or(self.created_ms), after_ms, until_ms)
    }

    /// The bounds that it sets.
    pub fn bounds(&self) -> ScalableTargetAction {
        self.request.scalable_target_action.clone().unwrap_or_default()
    }
}

fn decode_request(
    operation: api::autoscaling::Operation,
    json: &serde_json::Value,
) -> Result<Request, String> {
    Request::decode(operation, json.to_string().as_bytes()).map_err(|error| error.to_string())
}

fn dimension(name: &str) -> Option<ScalableDimension> {
    let dimensions = [
        ScalableDimension::DynamodbTableReadCapacityUnits,
        ScalableDimension::DynamodbTableWriteCapacityUnits,
        ScalableDimension::DynamodbIndexReadCapacityUnits,
        ScalableDimension::DynamodbIndexWriteCapacityUnits,
    ];
    dimensions.into_iter().find(|dimension| dimension.as_str() == name)
}

fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1000.0
}
