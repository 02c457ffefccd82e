//! The alarms of a target-tracking policy, as AWS creates them. They show what the policy sees; the policy itself
//! decides from the same minutes, so both agree.

use api::cloudwatch::{ComparisonOperator, Dimension, PutMetricAlarmInput, StandardUnit, Statistic};
use capacity::Access;

use crate::resource::Resource;
use crate::target::{Policy, Target};

/// What an alarm is there for; also part of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    High,
    Low,
    /// The units were raised by hand.
    ProvisionedHigh,
    ProvisionedLow,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::High => "AlarmHigh",
            Kind::Low => "AlarmLow",
            Kind::ProvisionedHigh => "ProvisionedCapacityHigh",
            Kind::ProvisionedLow => "ProvisionedCapacityLow",
        }
    }

    fn of_name(name: &str) -> Kind {
        let kinds = [Kind::ProvisionedHigh, Kind::ProvisionedLow, Kind::Low];
        kinds.into_iter().find(|kind| name.contains(&format!("-{}-", kind.name()))).unwrap_or(Kind::High)
    }
}

/// The kinds that a policy has.
pub fn kinds(policy: &Policy) -> Vec<Kind> {
    let configuration = policy.configuration();
    let low = (!configuration.disable_scale_in.unwrap_or(false)).then_some(Kind::Low);
    let provisioned = match configuration.customized_metric_specification {
        None => vec![Kind::ProvisionedHigh, Kind::ProvisionedLow],
        Some(_) => Vec::new(),
    };
    [Kind::High].into_iter().chain(low).chain(provisioned).collect()
}

/// `TargetTracking-table/Orders-AlarmHigh-<uuid>`
pub fn name(resource_id: &str, kind: Kind, uuid: &str) -> String {
    format!("TargetTracking-{resource_id}-{}-{uuid}", kind.name())
}

/// The name of the policy's alarm that led to a step.
pub fn of_step(policy: &Policy, kind: Kind) -> &str {
    let mut alarms = policy.state.alarms.iter();
    alarms.find(|name| Kind::of_name(name) == kind).map_or("", String::as_str)
}

/// The alarms of a policy whose target has `units`.
pub fn requests(target: &Target, policy: &Policy, units: u64) -> Vec<PutMetricAlarmInput> {
    let alarm = |name: &String| request(target, policy, name, units);
    policy.state.alarms.iter().map(alarm).collect()
}

fn request(target: &Target, policy: &Policy, name: &str, units: u64) -> PutMetricAlarmInput {
    let kind = Kind::of_name(name);
    let arn = target.policy_arn(policy);
    let step = policy.step_policy(&target.settings);
    let (period, evaluation_periods) = match kind {
        Kind::High => (60, capacity::scaling::OUT_MINUTES as i32),
        Kind::Low => (60, capacity::scaling::IN_MINUTES as i32),
        Kind::ProvisionedHigh | Kind::ProvisionedLow => (300, 3),
    };
    let comparison = match kind {
        Kind::High | Kind::ProvisionedHigh => ComparisonOperator::GreaterThanThreshold,
        Kind::Low | Kind::ProvisionedLow => ComparisonOperator::LessThanThreshold,
    };
    let customized = policy.configuration().customized_metric_specification.as_ref();
    let threshold = match (kind, customized) {
        (Kind::High, None) => step.high_threshold(units),
        (Kind::Low, None) => step.low_threshold(units),
        // Utilization is in percent: 100 means that every unit of the minute was consumed.
        (Kind::High, Some(_)) => step.high_threshold(1) / 60.0 * 100.0,
        (Kind::Low, Some(_)) => step.low_threshold(1) / 60.0 * 100.0,
        (Kind::ProvisionedHigh | Kind::ProvisionedLow, _) => units as f64,
    };
    let alarm = PutMetricAlarmInput {
        alarm_name: name.to_owned(),
        alarm_description: Some(format!("DO NOT EDIT OR DELETE. For TargetTrackingScaling policy {arn}.")),
        alarm_actions: Some(vec![arn]),
        comparison_operator: Some(comparison),
        evaluation_periods: Some(evaluation_periods),
        // Floating point leaves 20999.999 of 21000.
        threshold: Some((threshold * 1e6).round() / 1e6),
        period: Some(period),
        ..PutMetricAlarmInput::default()
    };
    match customized {
        None => PutMetricAlarmInput {
            namespace: Some("AWS/DynamoDB".to_owned()),
            metric_name: Some(metric_name(kind, target.resource.access).to_owned()),
            dimensions: Some(dimensions(&target.resource)),
            statistic: Some(match kind {
                Kind::High | Kind::Low => Statistic::Sum,
                Kind::ProvisionedHigh | Kind::ProvisionedLow => Statistic::Average,
            }),
            ..alarm
        },
        Some(metric) => PutMetricAlarmInput {
            namespace: metric.namespace.clone(),
            metric_name: metric.metric_name.clone(),
            dimensions: Some(customized_dimensions(metric)),
            statistic: metric.statistic.map(statistic),
            unit: metric.unit.as_deref().and_then(unit),
            ..alarm
        },
    }
}

fn metric_name(kind: Kind, access: Access) -> &'static str {
    match (kind, access) {
        (Kind::High | Kind::Low, Access::Read) => "ConsumedReadCapacityUnits",
        (Kind::High | Kind::Low, Access::Write) => "ConsumedWriteCapacityUnits",
        (_, Access::Read) => "ProvisionedReadCapacityUnits",
        (_, Access::Write) => "ProvisionedWriteCapacityUnits",
    }
}

/// The metric of what a target consumes.
pub fn consumed_metric(access: Access) -> &'static str {
    metric_name(Kind::High, access)
}

/// The dimensions of a target's own metrics.
pub fn dimensions(resource: &Resource) -> Vec<Dimension> {
    let dimension =
        |(name, value): (&str, &str)| Dimension { name: name.to_owned(), value: value.to_owned() };
    resource.dimensions().into_iter().map(dimension).collect()
}

/// The dimensions of a metric that a policy names.
pub fn customized_dimensions(metric: &api::autoscaling::CustomizedMetricSpecification) -> Vec<Dimension> {
    let given = metric.dimensions.iter().flatten();
    given.map(|given| Dimension { name: given.name.clone(), value: given.value.clone() }).collect()
}

/// The two services have a type each for the same five words.
pub fn statistic(statistic: api::autoscaling::MetricStatistic) -> Statistic {
    use api::autoscaling::MetricStatistic;
    match statistic {
        MetricStatistic::Average => Statistic::Average,
        MetricStatistic::Minimum => Statistic::Minimum,
        MetricStatistic::Maximum => Statistic::Maximum,
        MetricStatistic::SampleCount => Statistic::SampleCount,
        MetricStatistic::Sum => Statistic::Sum,
    }
}

/// The units that DynamoDB's metrics have.
fn unit(name: &str) -> Option<StandardUnit> {
    let units = [StandardUnit::Count, StandardUnit::Milliseconds, StandardUnit::Bytes, StandardUnit::Percent];
    units.into_iter().find(|unit| unit.as_str() == name)
}
