//! The operations, as the CLI and Terraform call them.

use serde_json::{Value, json};

use crate::support::{World, target, with};

const TRACKING: &str = "TargetTrackingScalingPolicyConfiguration";

fn policy(name: &str) -> Value {
    let mut request = with(target(), json!({"PolicyName": name, "PolicyType": "TargetTrackingScaling"}));
    request[TRACKING] = json!({
        "TargetValue": 70.0,
        "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBWriteCapacityUtilization"},
        "ScaleInCooldown": 0,
        "ScaleOutCooldown": 0,
        "DisableScaleIn": false,
    });
    request
}

#[tokio::test]
async fn a_target_has_what_terraform_reads() {
    let world = World::with_units(50).await;
    let arn = world.register(50, 2000).await["ScalableTargetARN"].clone();
    let by_all_three = json!({
        "ServiceNamespace": "dynamodb",
        "ResourceIds": ["table/Orders"],
        "ScalableDimension": "dynamodb:table:WriteCapacityUnits",
    });
    let answer = world.ok("DescribeScalableTargets", by_all_three.clone()).await;
    let described = &answer["ScalableTargets"][0];
    assert_eq!(described["ScalableTargetARN"], arn);
    assert_eq!((&described["MinCapacity"], &described["MaxCapacity"]), (&json!(50), &json!(2000)));
    assert_eq!(
        described["RoleARN"],
        "arn:aws:iam::000000000000:role/aws-service-role/dynamodb.application-autoscaling.amazonaws.com/\
         AWSServiceRoleForApplicationAutoScaling_DynamoDBTable"
    );
    assert_eq!(world.ok("ListTagsForResource", json!({"ResourceARN": arn})).await, json!({"Tags": {}}));
    world.ok("TagResource", json!({"ResourceARN": arn, "Tags": {"team": "orders", "tier": "1"}})).await;
    world.ok("UntagResource", json!({"ResourceARN": arn, "TagKeys": ["tier"]})).await;
    let tags = world.ok("ListTagsForResource", json!({"ResourceARN": arn})).await;
    assert_eq!(tags, json!({"Tags": {"team": "orders"}}));
    world.ok("DeregisterScalableTarget", target()).await;
    assert_eq!(world.ok("DescribeScalableTargets", by_all_three).await, json!({"ScalableTargets": []}));
    let (name, message) = world.refused("DeregisterScalableTarget", target()).await;
    assert_eq!(name, "ObjectNotFoundException");
    assert!(message.starts_with("No scalable target found for service namespace: dynamodb"), "{message}");
}

#[tokio::test]
async fn a_policy_is_shown_as_it_was_put_and_takes_its_alarms_with_it() {
    let world = World::with_units(50).await;
    world.register(50, 2000).await;
    let put = world.ok("PutScalingPolicy", policy("p")).await;
    assert_eq!(world.ok("PutScalingPolicy", policy("p")).await, put, "the same policy again");
    let by_name = json!({"ServiceNamespace": "dynamodb", "PolicyNames": ["p"]});
    let described = world.ok("DescribeScalingPolicies", by_name).await;
    let described = &described["ScalingPolicies"][0];
    assert_eq!(described[TRACKING], policy("p")[TRACKING]);
    assert_eq!(described["Alarms"], put["Alarms"]);
    assert_eq!(world.alarm("AlarmHigh").0, 2100.0);
    world.ok("DeleteScalingPolicy", with(target(), json!({"PolicyName": "p"}))).await;
    let alarms =
        world.cloudwatch.describe_alarms(&crate::support::namespace(), &Default::default()).expect("alarms");
    assert_eq!(alarms.metric_alarms, Some(Vec::new()));
    let again = world.refused("DeleteScalingPolicy", with(target(), json!({"PolicyName": "p"}))).await;
    assert_eq!(again.0, "ObjectNotFoundException");
}

#[tokio::test]
async fn what_can_not_be_scaled_is_refused_in_the_services_words() {
    let world = World::with_units(50).await;
    let register =
        |members: Value| with(with(target(), json!({"MinCapacity": 1, "MaxCapacity": 5})), members);
    for (members, expected) in [
        (json!({"ResourceId": "table/Unknown"}), "DynamoDB table does not exist: table/Unknown"),
        (
            json!({
                "ResourceId": "table/Orders/index/I", "ScalableDimension": "dynamodb:index:WriteCapacityUnits"
            }),
            "DynamoDB index does not exist: table/Orders/index/I",
        ),
        (
            json!({"ResourceId": "Orders"}),
            "Unsupported service namespace, resource type or scalable dimension",
        ),
        (
            json!({"ScalableDimension": "ecs:service:DesiredCount"}),
            "Unsupported service namespace, resource type or scalable dimension",
        ),
        (json!({"MinCapacity": null}), "MinCapacity is required for a new scalable target"),
        (json!({"MinCapacity": 6}), "Maximum capacity cannot be less than minimum capacity"),
        (json!({"MinCapacity": 0}), "Capacities of DynamoDB's tables and indexes must be at least 1"),
    ] {
        let refused = world.refused("RegisterScalableTarget", register(members)).await;
        assert_eq!(refused, ("ValidationException".to_owned(), expected.to_owned()));
    }
    let (name, message) =
        world.refused("RegisterScalableTarget", register(json!({"ServiceNamespace": "s3"}))).await;
    assert_eq!(name, "ValidationException");
    assert!(
        message.starts_with("1 validation error detected: Value 's3' at 'serviceNamespace'"),
        "{message}"
    );
}

#[tokio::test]
async fn policies_that_do_not_fit_are_refused() {
    let world = World::with_units(50).await;
    let (name, message) = world.refused("PutScalingPolicy", policy("p")).await;
    assert_eq!(name, "ObjectNotFoundException");
    assert_eq!(
        message,
        "No scalable target registered for service namespace: dynamodb, resource ID: table/Orders, \
         scalable dimension: dynamodb:table:WriteCapacityUnits"
    );
    world.register(1, 2000).await;
    world.ok("PutScalingPolicy", policy("p")).await;
    let second = world.refused("PutScalingPolicy", policy("q")).await;
    assert_eq!(
        second.1,
        "Only one TargetTrackingScaling policy for a given metric specification is allowed."
    );
    let refused = async |request: Value| world.refused("PutScalingPolicy", request).await.0;
    assert_eq!(refused(with(policy("p"), json!({"PolicyType": "StepScaling"}))).await, "ValidationException");
    let mut wrong = policy("p");
    wrong[TRACKING]["TargetValue"] = json!(95.0);
    assert_eq!(refused(wrong).await, "ValidationException");
    let mut wrong = policy("p");
    wrong[TRACKING]["PredefinedMetricSpecification"]["PredefinedMetricType"] =
        json!("DynamoDBReadCapacityUtilization");
    assert_eq!(refused(wrong).await, "ValidationException");
}

#[tokio::test]
async fn scheduled_actions_are_put_changed_described_and_deleted() {
    let world = World::with_units(50).await;
    world.register(1, 2000).await;
    let put = |members: Value| with(with(target(), json!({"ScheduledActionName": "a"})), members);
    let action = json!({"Schedule": "rate(1 day)", "ScalableTargetAction": {"MinCapacity": 5}});
    world.ok("PutScheduledAction", put(action)).await;
    world.ok("PutScheduledAction", put(json!({"Schedule": "rate(2 days)", "Timezone": "Asia/Tokyo"}))).await;
    let described = world.ok("DescribeScheduledActions", json!({"ServiceNamespace": "dynamodb"})).await;
    let described = &described["ScheduledActions"][0];
    assert_eq!(described["Schedule"], "rate(2 days)");
    assert_eq!(described["ScalableTargetAction"], json!({"MinCapacity": 5}));
    for wrong in [
        json!({"Schedule": "daily"}),
        json!({"Timezone": "Nowhere"}),
        json!({"ScheduledActionName": "a:b"}),
        json!({"ScalableTargetAction": {}}),
    ] {
        assert_eq!(
            world.refused("PutScheduledAction", put(wrong.clone())).await.0,
            "ValidationException",
            "{wrong}"
        );
    }
    world.ok("DeleteScheduledAction", put(json!({}))).await;
    assert_eq!(world.refused("DeleteScheduledAction", put(json!({}))).await.0, "ObjectNotFoundException");
}

#[tokio::test]
async fn operations_that_are_not_served_say_so() {
    let world = World::with_units(50).await;
    let refused = world.refused("GetPredictiveScalingForecast", json!({})).await;
    assert_eq!(refused.0, "UnknownOperationException");
}
