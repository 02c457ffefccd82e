//! What auto scaling does with a table, minute by minute.

use api::Error;
use proptest::prelude::*;
use serde_json::json;

use crate::support::{World, target, with};

#[tokio::test]
async fn a_table_settles_at_70_percent_and_goes_back() {
    let world = World::with_units(50).await;
    world.register(50, 2000).await;
    world.put_policy(json!({"TargetValue": 70.0})).await;
    world.minutes(700.0, 30).await;
    let units = world.units();
    assert!((1000..=1020).contains(&units), "{units}");
    world.minutes(70.0, 60).await;
    assert_eq!(world.units(), 100);
    world.minutes(0.0, 60).await;
    assert_eq!(world.units(), 50);
}

#[tokio::test]
async fn the_maximum_is_not_passed() {
    let world = World::with_units(50).await;
    world.register(5, 200).await;
    world.put_policy(json!({"TargetValue": 70.0})).await;
    world.minutes(10_000.0, 30).await;
    assert_eq!(world.units(), 200);
    let request = json!({"ServiceNamespace": "dynamodb", "IncludeNotScaledActivities": true});
    let answer = world.ok("DescribeScalingActivities", request).await;
    assert_eq!(answer["ScalingActivities"][0]["NotScaledReasons"][0]["Code"], "AlreadyAtMaxCapacity");
    assert!(world.activities().await.iter().all(|activity| activity["NotScaledReasons"].is_null()));
}

#[tokio::test]
async fn the_alarms_are_those_of_aws_and_follow_the_units() {
    let world = World::with_units(5).await;
    world.register(5, 1000).await;
    let answer = world.put_policy(json!({"TargetValue": 70.0})).await;
    assert_eq!(answer["Alarms"].as_array().map(Vec::len), Some(4));
    assert_eq!(world.alarm("AlarmHigh"), (210.0, "INSUFFICIENT_DATA".to_owned()));
    assert_eq!(world.alarm("AlarmLow").0, 150.0);
    assert_eq!(world.alarm("ProvisionedCapacityHigh").0, 5.0);
    world.minutes(4.0, 2).await;
    assert_eq!(world.units(), 6);
    assert_eq!(world.alarm("AlarmHigh"), (252.0, "ALARM".to_owned()));
    let latest = world.activities().await.remove(0);
    assert_eq!(latest["Description"], "Setting write capacity units to 6.");
    assert_eq!(latest["StatusCode"], "Successful");
    assert_eq!(
        latest["StatusMessage"],
        "Successfully set write capacity units to 6. Change successfully fulfilled by dynamodb."
    );
    let cause = latest["Cause"].as_str().unwrap_or_default();
    assert!(cause.starts_with("monitor alarm TargetTracking-table/Orders-AlarmHigh-"), "{cause}");
    assert!(cause.ends_with("in state ALARM triggered policy utilization"), "{cause}");
    // Somebody changes the units by hand.
    world.table.0.lock().write_units = 12;
    world.minute(5.0).await;
    assert_eq!(world.alarm("AlarmLow").0, 360.0);
}

#[tokio::test]
async fn decreases_never_pass_the_quota_of_a_day() {
    let world = World::with_units(1000).await;
    world.register(1, 1000).await;
    world.put_policy(json!({"TargetValue": 70.0})).await;
    // The demand falls a little all day, so that each step in asks for one more soon.
    for minute in 0..24 * 60_u64 {
        world.minute(650.0 * 0.996_f64.powi(minute as i32)).await;
    }
    let updates = world.table.0.lock().updates.clone();
    assert!(updates.windows(2).all(|pair| pair[1] < pair[0]), "only decreases: {updates:?}");
    assert!((4..=27).contains(&updates.len()), "{} decreases", updates.len());
    let failed = world.activities().await;
    let failed =
        failed.iter().find(|activity| activity["StatusCode"] == "Failed").expect("some were refused");
    let message = failed["StatusMessage"].as_str().unwrap_or_default();
    assert!(message.contains("Reason: Subscriber limit exceeded"), "{message}");
}

#[tokio::test]
async fn cooldowns_hold_steps_back_but_never_a_larger_step_out() {
    let world = World::with_units(100).await;
    world.register(1, 10_000).await;
    world.put_policy(json!({"TargetValue": 70.0, "ScaleOutCooldown": 600, "ScaleInCooldown": 3600})).await;
    world.minutes(90.0, 2).await;
    assert_eq!(world.units(), 129);
    world.minutes(125.0, 2).await;
    assert_eq!(world.units(), 179, "more than the step before");
    world.minutes(10.0, 16).await;
    let after_in = world.units();
    assert!(after_in < 179);
    world.minutes(1.0, 50).await;
    assert_eq!(world.units(), after_in, "an hour must pass");
    world.minutes(1.0, 20).await;
    assert!(world.units() < after_in);
}

#[tokio::test]
async fn scaling_in_can_be_disabled_and_suspended() {
    let world = World::with_units(100).await;
    world.register(1, 1000).await;
    let answer = world.put_policy(json!({"TargetValue": 70.0, "DisableScaleIn": true})).await;
    assert_eq!(answer["Alarms"].as_array().map(Vec::len), Some(3), "no AlarmLow");
    world.minutes(0.0, 30).await;
    assert_eq!(world.units(), 100);
    world.put_policy(json!({"TargetValue": 70.0})).await;
    let suspended = json!({"SuspendedState": {"DynamicScalingInSuspended": true}});
    world.ok("RegisterScalableTarget", with(target(), suspended)).await;
    world.minutes(0.0, 30).await;
    assert_eq!(world.units(), 100);
    let resumed = json!({"SuspendedState": {"DynamicScalingInSuspended": false}});
    world.ok("RegisterScalableTarget", with(target(), resumed)).await;
    world.minutes(0.0, 2).await;
    assert_eq!(world.units(), 1);
}

#[tokio::test]
async fn units_outside_new_bounds_are_moved_at_once() {
    let world = World::with_units(5).await;
    world.register(50, 2000).await;
    assert_eq!(world.units(), 50);
    assert_eq!(world.activities().await[0]["Cause"], "minimum capacity was set to 50");
    world.register(1, 20).await;
    assert_eq!(world.units(), 20);
    assert_eq!(world.activities().await[0]["Cause"], "maximum capacity was set to 20");
}

#[tokio::test]
async fn a_scheduled_action_sets_the_bounds_and_moves_the_units() {
    let world = World::with_units(10).await;
    world.register(1, 100).await;
    let action = json!({
        "ScheduledActionName": "morning",
        "Schedule": "cron(5 0 * * ? *)",
        "ScalableTargetAction": {"MinCapacity": 40, "MaxCapacity": 80},
    });
    world.ok("PutScheduledAction", with(target(), action)).await;
    world.minutes(0.0, 4).await;
    assert_eq!(world.units(), 10);
    world.minute(0.0).await;
    assert_eq!(world.units(), 40);
    let activities = world.activities().await;
    let descriptions: Vec<_> = activities.iter().map(|activity| activity["Description"].as_str()).collect();
    assert!(descriptions.contains(&Some("Setting min capacity to 40 and max capacity to 80")));
    assert!(descriptions.contains(&Some("Setting write capacity units to 40.")));
    let described = world.ok("DescribeScalableTargets", json!({"ServiceNamespace": "dynamodb"})).await;
    assert_eq!(described["ScalableTargets"][0]["MinCapacity"], 40);
}

#[tokio::test]
async fn everything_survives_a_restart() {
    let world = World::with_units(50).await;
    world.register(50, 2000).await;
    world.put_policy(json!({"TargetValue": 70.0})).await;
    world.minute(100.0).await;
    let before = world.ok("DescribeScalingPolicies", json!({"ServiceNamespace": "dynamodb"})).await;
    let world = world.restart().await;
    let after = world.ok("DescribeScalingPolicies", json!({"ServiceNamespace": "dynamodb"})).await;
    assert_eq!(after, before);
    // The minute before the restart counts.
    world.minute(100.0).await;
    assert_eq!(world.units(), 72);
    // After a restart, a full period of idle minutes is needed again: what happened in between is unknown.
    let world = world.restart().await;
    world.minutes(0.0, 14).await;
    assert_eq!(world.units(), 72);
    world.minutes(0.0, 2).await;
    assert_eq!(world.units(), 50);
}

#[tokio::test]
async fn a_new_table_of_the_same_name_and_an_on_demand_table_are_left_alone() {
    let world = World::with_units(50).await;
    world.register(1, 2000).await;
    world.put_policy(json!({"TargetValue": 70.0})).await;
    world.table.0.lock().id = "second".to_owned();
    world.minutes(50.0, 5).await;
    assert_eq!(world.units(), 50);
    world.register(1, 2000).await;
    world.minutes(50.0, 2).await;
    assert_eq!(world.units(), 72);
    world.table.0.lock().on_demand = true;
    world.minutes(72.0, 5).await;
    assert_eq!(world.units(), 72);
}

#[tokio::test]
async fn a_refused_update_is_a_failed_activity_and_is_tried_again() {
    let world = World::with_units(50).await;
    world.register(1, 2000).await;
    world.put_policy(json!({"TargetValue": 70.0})).await;
    world.table.0.lock().refusal =
        Some(Error::validation("Attempt to change a resource which is still in use"));
    world.minutes(50.0, 5).await;
    let activities = world.activities().await;
    assert_eq!(activities.len(), 1, "one activity that goes on");
    assert_eq!(activities[0]["StatusCode"], "Failed");
    world.table.0.lock().refusal = None;
    world.minute(50.0).await;
    assert_eq!(world.units(), 72);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whatever is asked of the table, its units stay within the bounds.
    #[test]
    fn units_stay_within_their_bounds(demands in prop::collection::vec(0.0..3000.0_f64, 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let world = World::with_units(50).await;
            world.register(20, 900).await;
            world.put_policy(json!({"TargetValue": 70.0})).await;
            for demand in demands {
                world.minutes(demand, 3).await;
                assert!((20..=900).contains(&world.units()), "{}", world.units());
            }
        });
    }
}
