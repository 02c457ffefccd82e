//! Scalable targets and their policies, which are separate resources beside their table.

use model::table_shape::TableSection;
use serde_json::{Value, json};

use super::known::KnownTemplate;
use super::{Template, resources};
use crate::names::ImportedNames;
use crate::scaling::{FoundBounds, Scaling, about, scaled};

const TARGET: &str = "AWS::ApplicationAutoScaling::ScalableTarget";
const POLICY: &str = "AWS::ApplicationAutoScaling::ScalingPolicy";
const CONFIGURATION: &str = "TargetTrackingScalingPolicyConfiguration";

pub fn write(template: &mut Template<'_>, table_id: &str, scaling: &Scaling<'_>) {
    let about = scaling.about();
    let target_id = template.names.give(&about);
    let policy_id = template.names.give(&policy_of(&about));
    let target = json!({
        "ServiceNamespace": "dynamodb",
        // The reference makes the target wait for its table.
        "ResourceId": { "Fn::Sub": scaling.resource_id(&format!("${{{table_id}}}")) },
        "ScalableDimension": scaling.dimension(),
        "MinCapacity": scaling.bounds.min,
        "MaxCapacity": scaling.bounds.max,
    });
    let mut configuration = scaling.bounds.policy();
    configuration["PredefinedMetricSpecification"] = json!({ "PredefinedMetricType": scaling.metric() });
    let policy = json!({
        "PolicyName": about,
        "PolicyType": "TargetTrackingScaling",
        "ScalingTargetId": { "Ref": target_id },
        CONFIGURATION: configuration,
    });
    template.resources.insert(target_id, json!({ "Type": TARGET, "Properties": target }));
    template.resources.insert(policy_id, json!({ "Type": POLICY, "Properties": policy }));
}

fn policy_of(about: &str) -> String {
    format!("{about}/policy")
}

pub fn read(
    document: &Value,
    known: &KnownTemplate<'_>,
    sections: &mut [TableSection],
    names: &mut ImportedNames,
) {
    for (id, resource) in resources(document).filter(|(_, resource)| resource["Type"] == TARGET) {
        let target = known.resolve(&resource["Properties"]);
        let texts = (target["ResourceId"].as_str(), target["ScalableDimension"].as_str());
        let (Some(resource_id), Some(dimension)) = texts else { continue };
        let Some((table, index, side)) = scaled(resource_id, dimension) else { continue };
        let Some(section) = sections.iter_mut().find(|section| section.name == table) else { continue };
        let policy = policy(document, known, id, &target);
        let configuration = policy.as_ref().map_or(&Value::Null, |(_, policy)| &policy[CONFIGURATION]);
        FoundBounds::of(&target, configuration).put_into(section, index.as_deref(), side);
        let about = about(&table, index.as_deref(), side);
        names.add(&about, id);
        if let Some((policy_id, _)) = &policy {
            names.add(&policy_of(&about), policy_id);
        }
    }
}

/// The policy of a target: one that names the target, or the same capacity.
fn policy(
    document: &Value,
    known: &KnownTemplate<'_>,
    target_id: &str,
    target: &Value,
) -> Option<(String, Value)> {
    let policies = resources(document).filter(|(_, resource)| resource["Type"] == POLICY);
    let mut policies = policies.map(|(id, resource)| (id, &resource["Properties"]));
    let (id, policy) = policies.find(|(_, policy)| {
        let resolved = known.resolve(policy);
        let same = |member: &str| resolved[member].is_string() && resolved[member] == target[member];
        policy["ScalingTargetId"]["Ref"] == target_id || (same("ResourceId") && same("ScalableDimension"))
    })?;
    Some((id.clone(), known.resolve(policy)))
}
