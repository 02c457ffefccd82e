//! Scalable targets and their policies, which are resources of their own.

use model::table_shape::TableSection;
use serde_json::{Value, json};

use super::known::KnownConfiguration;
use super::{Configuration, TABLE, blocks, literal, resources};
use crate::names::ImportedNames;
use crate::scaling::{FoundBounds, Scaling, about, scaled};

pub const TARGET: &str = "aws_appautoscaling_target";
pub const POLICY: &str = "aws_appautoscaling_policy";
pub const POLICY_OF: &str = "/policy";
const CONFIGURATION: &str = "target_tracking_scaling_policy_configuration";

pub fn write(configuration: &mut Configuration<'_>, table: &str, scaling: &Scaling<'_>) {
    let about = scaling.about();
    let target = configuration.target_names.give(&about);
    let policy = configuration.policy_names.give(&format!("{about}{POLICY_OF}"));
    let of_target = |member: &str| Value::from(format!("${{{TARGET}.{target}.{member}}}"));
    let mut tracking = json!({
        "target_value": scaling.bounds.target,
        "predefined_metric_specification": [{ "predefined_metric_type": scaling.metric() }],
    });
    let cooldowns = [
        ("scale_in_cooldown", scaling.bounds.scale_in_seconds),
        ("scale_out_cooldown", scaling.bounds.scale_out_seconds),
    ];
    for (name, seconds) in cooldowns {
        if let Some(seconds) = seconds {
            tracking[name] = seconds.into();
        }
    }
    let described = json!({
        "name": literal(&about),
        "policy_type": "TargetTrackingScaling",
        "service_namespace": of_target("service_namespace"),
        "resource_id": of_target("resource_id"),
        "scalable_dimension": of_target("scalable_dimension"),
        CONFIGURATION: [tracking],
    });
    configuration.policies.insert(policy, described);
    let described = json!({
        "service_namespace": "dynamodb",
        // The reference makes the target wait for its table.
        "resource_id": scaling.resource_id(&format!("${{{TABLE}.{table}.name}}")),
        "scalable_dimension": scaling.dimension(),
        "min_capacity": scaling.bounds.min,
        "max_capacity": scaling.bounds.max,
    });
    configuration.targets.insert(target, described);
}

pub fn read(
    document: &Value,
    known: &KnownConfiguration<'_>,
    sections: &mut [TableSection],
    names: &mut ImportedNames,
) {
    for (label, resource) in resources(document, TARGET) {
        let target = known.resolve(resource);
        let texts = (target["resource_id"].as_str(), target["scalable_dimension"].as_str());
        let (Some(resource_id), Some(dimension)) = texts else { continue };
        let Some((table, index, side)) = scaled(resource_id, dimension) else { continue };
        let Some(section) = sections.iter_mut().find(|section| section.name == table) else { continue };
        let policy = policy(document, known, &target);
        let tracking = policy.as_ref().and_then(|(_, policy)| blocks(&policy[CONFIGURATION]).next());
        bounds(&target, tracking.unwrap_or(&Value::Null)).put_into(section, index.as_deref(), side);
        let about = about(&table, index.as_deref(), side);
        names.add(&about, label);
        if let Some((label, _)) = &policy {
            names.add(&format!("{about}{POLICY_OF}"), label);
        }
    }
}

/// The policy for the same capacity.
fn policy(document: &Value, known: &KnownConfiguration<'_>, target: &Value) -> Option<(String, Value)> {
    let mut policies =
        resources(document, POLICY).map(|(label, policy)| (label.clone(), known.resolve(policy)));
    let same = |policy: &Value, member: &str| policy[member].is_string() && policy[member] == target[member];
    policies.find(|(_, policy)| same(policy, "resource_id") && same(policy, "scalable_dimension"))
}

fn bounds(target: &Value, tracking: &Value) -> FoundBounds {
    FoundBounds {
        min: target["min_capacity"].as_u64(),
        max: target["max_capacity"].as_u64(),
        target: tracking["target_value"].as_f64(),
        scale_in_seconds: tracking["scale_in_cooldown"].as_u64(),
        scale_out_seconds: tracking["scale_out_cooldown"].as_u64(),
    }
}
