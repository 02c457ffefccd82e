//! Auto scaling as global tables ask for it: the same targets and policies, for each Region at once.

use std::pin::Pin;
use std::sync::Weak;

use api::Error;
use api::autoscaling::{
    DeleteScalingPolicyRequest, DeregisterScalableTargetRequest, DescribeScalableTargetsRequest,
    DescribeScalingPoliciesRequest, MetricType, PolicyType, PredefinedMetricSpecification,
    PutScalingPolicyRequest, RegisterScalableTargetRequest, ScalableDimension, ScalingPolicy,
    ServiceNamespace, TargetTrackingScalingPolicyConfiguration,
};
use autoscaling::AutoScaling;
use engine::{Scaled, ScaledUnits, ScalingSettings};
use host::Namespace;

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// What the engine asks of auto scaling. The service has the engine, so the engine has it weakly.
pub struct ReplicaScaling(pub Weak<AutoScaling>);

impl engine::Scaling for ReplicaScaling {
    fn scales_writes<'a>(
        &'a self,
        namespace: &'a Namespace,
        table: &'a str,
        index: Option<&'a str>,
    ) -> Answer<'a, bool> {
        Box::pin(async move {
            let Some(service) = self.0.upgrade() else { return Ok(false) };
            Ok(service.current().await?.scales_writes(namespace, table, index))
        })
    }

    fn settings<'a>(
        &'a self,
        namespace: &'a Namespace,
        table: &'a str,
        units: &'a ScaledUnits,
    ) -> Answer<'a, Option<ScalingSettings>> {
        Box::pin(async move {
            let service = self.0.upgrade().ok_or_else(Error::scaling_absent)?;
            let scaling = service.current().await?;
            Target::new(namespace, table, units).settings(scaling)
        })
    }

    fn set<'a>(
        &'a self,
        namespace: &'a Namespace,
        table: &'a str,
        Scaled { units, settings }: Scaled,
    ) -> Answer<'a, ()> {
        Box::pin(async move {
            let service = self.0.upgrade().ok_or_else(Error::scaling_absent)?;
            let target = Target::new(namespace, table, &units);
            match settings {
                Some(settings) => target.scale(&service, settings).await,
                None => target.scale_no_more(&service).await,
            }
        })
    }
}

/// A scalable target, registered or not.
struct Target {
    namespace: Namespace,
    resource_id: String,
    dimension: ScalableDimension,
    metric: MetricType,
}

impl Target {
    fn new(namespace: &Namespace, table: &str, units: &ScaledUnits) -> Target {
        let (resource_id, is_index) = match &units.index {
            Some(index) => (format!("table/{table}/index/{index}"), true),
            None => (format!("table/{table}"), false),
        };
        let dimension = match (is_index, units.is_write) {
            (false, false) => ScalableDimension::DynamodbTableReadCapacityUnits,
            (false, true) => ScalableDimension::DynamodbTableWriteCapacityUnits,
            (true, false) => ScalableDimension::DynamodbIndexReadCapacityUnits,
            (true, true) => ScalableDimension::DynamodbIndexWriteCapacityUnits,
        };
        let metric = match units.is_write {
            false => MetricType::DynamoDBReadCapacityUtilization,
            true => MetricType::DynamoDBWriteCapacityUtilization,
        };
        Target { namespace: namespace.clone(), resource_id, dimension, metric }
    }

    /// The policy that tracks the utilization. There is at most one.
    fn policy(&self, scaling: &AutoScaling) -> Result<Option<ScalingPolicy>, Error> {
        let asked = DescribeScalingPoliciesRequest {
            service_namespace: ServiceNamespace::Dynamodb,
            resource_id: Some(self.resource_id.clone()),
            scalable_dimension: Some(self.dimension),
            max_results: Some(i32::MAX),
            ..DescribeScalingPoliciesRequest::default()
        };
        let policies = scaling.describe_policies(&self.namespace, &asked)?.scaling_policies;
        let tracks = |policy: &ScalingPolicy| {
            let configuration = policy.target_tracking_scaling_policy_configuration.as_ref();
            configuration.is_some_and(|configuration| configuration.predefined_metric_specification.is_some())
        };
        Ok(policies.into_iter().flatten().find(tracks))
    }

    fn settings(&self, scaling: &AutoScaling) -> Result<Option<ScalingSettings>, Error> {
        let asked = DescribeScalableTargetsRequest {
            service_namespace: ServiceNamespace::Dynamodb,
            resource_ids: Some(vec![self.resource_id.clone()]),
            scalable_dimension: Some(self.dimension),
            ..DescribeScalableTargetsRequest::default()
        };
        let targets = scaling.describe_targets(&self.namespace, &asked)?.scalable_targets;
        let target = targets.into_iter().flatten().next();
        let Some((target, policy)) = target.zip(self.policy(scaling)?) else { return Ok(None) };
        let configuration = policy.target_tracking_scaling_policy_configuration.unwrap_or_default();
        Ok(Some(ScalingSettings {
            min_units: target.min_capacity.into(),
            max_units: target.max_capacity.into(),
            role_arn: target.role_arn,
            policy_name: policy.policy_name,
            target_value: configuration.target_value,
            scale_in_cooldown: configuration.scale_in_cooldown,
            scale_out_cooldown: configuration.scale_out_cooldown,
            disable_scale_in: configuration.disable_scale_in,
        }))
    }

    /// Registers the target and puts its policy. A policy of another name is replaced.
    async fn scale(&self, scaling: &AutoScaling, settings: ScalingSettings) -> Result<(), Error> {
        let units = |units: i64| {
            i32::try_from(units)
                .map_err(|_| Error::validation(format!("{units} units are too many to be scaled")))
        };
        let register = RegisterScalableTargetRequest {
            service_namespace: ServiceNamespace::Dynamodb,
            resource_id: self.resource_id.clone(),
            scalable_dimension: self.dimension,
            min_capacity: Some(units(settings.min_units)?),
            max_capacity: Some(units(settings.max_units)?),
            ..RegisterScalableTargetRequest::default()
        };
        let configuration = TargetTrackingScalingPolicyConfiguration {
            predefined_metric_specification: Some(PredefinedMetricSpecification {
                predefined_metric_type: self.metric,
                resource_label: None,
            }),
            target_value: settings.target_value,
            scale_in_cooldown: settings.scale_in_cooldown,
            scale_out_cooldown: settings.scale_out_cooldown,
            disable_scale_in: settings.disable_scale_in,
            customized_metric_specification: None,
        };
        let put = PutScalingPolicyRequest {
            policy_name: settings.policy_name,
            policy_type: Some(PolicyType::TargetTrackingScaling),
            resource_id: self.resource_id.clone(),
            scalable_dimension: self.dimension,
            service_namespace: ServiceNamespace::Dynamodb,
            step_scaling_policy_configuration: None,
            target_tracking_scaling_policy_configuration: Some(configuration),
        };
        register.check()?;
        put.check()?;
        scaling.register(&self.namespace, register).await?;
        if let Some(other) = self.policy(scaling)?.filter(|other| other.policy_name != put.policy_name) {
            let delete = DeleteScalingPolicyRequest {
                policy_name: other.policy_name,
                resource_id: self.resource_id.clone(),
                scalable_dimension: self.dimension,
                service_namespace: ServiceNamespace::Dynamodb,
            };
            scaling.delete_policy(&self.namespace, delete).await?;
        }
        scaling.put_policy(&self.namespace, put).await.map(drop)
    }

    /// The target goes with its policies, if there is one.
    async fn scale_no_more(&self, scaling: &AutoScaling) -> Result<(), Error> {
        let deregister = DeregisterScalableTargetRequest {
            service_namespace: ServiceNamespace::Dynamodb,
            resource_id: self.resource_id.clone(),
            scalable_dimension: self.dimension,
        };
        match scaling.deregister(&self.namespace, deregister).await {
            Err(error) if error.kind == api::ErrorKind::ObjectNotFound => Ok(()),
            done => done.map(drop),
        }
    }
}
