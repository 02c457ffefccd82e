//! Rules for requests that need no target.

use super::*;
use crate::Error;
use crate::violation::Refuse;

macro_rules! refuse_alike {
    ($($input:ident),* $(,)?) => {
        $(impl Refuse for $input {})*
    };
}

/// Inputs whose shape says all there is to check.
macro_rules! checked_by_shape {
    ($($input:ident),* $(,)?) => {
        $(
            impl $input {
                /// Nothing beyond the shape.
                pub fn check(&self) -> Result<(), Error> {
                    Ok(())
                }
            }
        )*
    };
}

refuse_alike!(
    RegisterScalableTargetRequest,
    DescribeScalableTargetsRequest,
    DeregisterScalableTargetRequest,
    PutScalingPolicyRequest,
    DescribeScalingPoliciesRequest,
    DeleteScalingPolicyRequest,
    PutScheduledActionRequest,
    DescribeScheduledActionsRequest,
    DeleteScheduledActionRequest,
    DescribeScalingActivitiesRequest,
    TagResourceRequest,
    UntagResourceRequest,
    ListTagsForResourceRequest,
);

checked_by_shape!(
    DeregisterScalableTargetRequest,
    DeleteScalingPolicyRequest,
    DeleteScheduledActionRequest,
    TagResourceRequest,
    UntagResourceRequest,
    ListTagsForResourceRequest,
);

impl RegisterScalableTargetRequest {
    /// Capacities are positive and in order.
    pub fn check(&self) -> Result<(), Error> {
        check_tags(self.tags.as_ref().map_or(0, |tags| tags.len()))?;
        check_capacities(self.min_capacity, self.max_capacity)
    }
}

impl PutScheduledActionRequest {
    /// Capacities are positive and in order, and so are the times.
    pub fn check(&self) -> Result<(), Error> {
        if let (Some(start), Some(end)) = (self.start_time, self.end_time)
            && start >= end
        {
            return Err(Error::validation("Scheduled action start time must be before its end time"));
        }
        match &self.scalable_target_action {
            Some(action) => check_capacities(action.min_capacity, action.max_capacity),
            None => Ok(()),
        }
    }
}

impl PutScalingPolicyRequest {
    /// Only target tracking is there for DynamoDB, on one metric, with cooldowns that are not negative.
    pub fn check(&self) -> Result<(), Error> {
        match self.policy_type {
            None | Some(PolicyType::TargetTrackingScaling) => {}
            Some(other) => {
                return Err(Error::validation(format!(
                    "The policy type {} is not supported for DynamoDB; use TargetTrackingScaling",
                    other.as_str()
                )));
            }
        }
        if self.step_scaling_policy_configuration.is_some() {
            return Err(Error::validation(
                "A StepScalingPolicyConfiguration can't be given for a TargetTrackingScaling policy",
            ));
        }
        match &self.target_tracking_scaling_policy_configuration {
            Some(configuration) => configuration.check(),
            None => Ok(()),
        }
    }
}

impl TargetTrackingScalingPolicyConfiguration {
    fn check(&self) -> Result<(), Error> {
        match (&self.predefined_metric_specification, &self.customized_metric_specification) {
            (Some(_), None) if !limits::TARGET_VALUES.contains(&self.target_value) => {
                return Err(Error::validation(format!(
                    "Target value must be between {} and {} percent for DynamoDB's utilization metrics",
                    limits::TARGET_VALUES.start(),
                    limits::TARGET_VALUES.end()
                )));
            }
            (Some(_), None) => {}
            (None, Some(customized)) => {
                if !(self.target_value > 0.0 && self.target_value.is_finite()) {
                    return Err(Error::validation("Target value must be positive"));
                }
                let is_whole = customized.metric_name.is_some()
                    && customized.namespace.is_some()
                    && customized.statistic.is_some();
                if customized.metrics.is_some() || !is_whole {
                    return Err(Error::validation(
                        "Lodestone takes a customized metric as MetricName, Namespace, Dimensions and Statistic",
                    ));
                }
            }
            _ => {
                return Err(Error::validation(
                    "Exactly one of PredefinedMetricSpecification and CustomizedMetricSpecification must be specified",
                ));
            }
        }
        match [self.scale_in_cooldown, self.scale_out_cooldown]
            .into_iter()
            .flatten()
            .any(|cooldown| cooldown < 0)
        {
            true => Err(Error::validation("Cooldowns must not be negative")),
            false => Ok(()),
        }
    }
}

impl DescribeScalableTargetsRequest {
    /// A dimension needs resources.
    pub fn check(&self) -> Result<(), Error> {
        check_page(self.max_results, limits::PAGE_MAX)?;
        check_dimension(self.scalable_dimension, self.resource_ids.is_some(), "ResourceIds")
    }
}

impl DescribeScalingPoliciesRequest {
    /// A dimension needs a resource.
    pub fn check(&self) -> Result<(), Error> {
        check_page(self.max_results, limits::POLICIES_PAGE_MAX)?;
        check_dimension(self.scalable_dimension, self.resource_id.is_some(), "ResourceId")
    }
}

impl DescribeScheduledActionsRequest {
    /// A dimension needs a resource.
    pub fn check(&self) -> Result<(), Error> {
        check_page(self.max_results, limits::PAGE_MAX)?;
        check_dimension(self.scalable_dimension, self.resource_id.is_some(), "ResourceId")
    }
}

impl DescribeScalingActivitiesRequest {
    /// A dimension needs a resource.
    pub fn check(&self) -> Result<(), Error> {
        check_page(self.max_results, limits::PAGE_MAX)?;
        check_dimension(self.scalable_dimension, self.resource_id.is_some(), "ResourceId")
    }
}

fn check_capacities(min: Option<i32>, max: Option<i32>) -> Result<(), Error> {
    if [min, max].into_iter().flatten().any(|capacity| capacity < 1) {
        return Err(Error::validation("Capacities of DynamoDB's tables and indexes must be at least 1"));
    }
    match (min, max) {
        (Some(min), Some(max)) if min > max => Err(Error::min_above_max()),
        _ => Ok(()),
    }
}

impl Error {
    /// Bounds in the wrong order.
    pub fn min_above_max() -> Error {
        Error::validation("Maximum capacity cannot be less than minimum capacity")
    }
}

fn check_tags(count: usize) -> Result<(), Error> {
    match count > limits::TAGS_MAX {
        true => Err(Error::new(
            crate::ErrorKind::TooManyTags,
            format!("A scalable target has at most {} tags", limits::TAGS_MAX),
        )),
        false => Ok(()),
    }
}

fn check_page(asked: Option<i32>, max: i32) -> Result<(), Error> {
    match asked.is_some_and(|asked| !(1..=max).contains(&asked)) {
        true => Err(Error::validation(format!("MaxResults must be between 1 and {max}"))),
        false => Ok(()),
    }
}

fn check_dimension(
    dimension: Option<ScalableDimension>,
    has_resource: bool,
    member: &str,
) -> Result<(), Error> {
    match dimension.is_some() && !has_resource {
        true => Err(Error::validation(format!("{member} must be specified together with ScalableDimension"))),
        false => Ok(()),
    }
}
