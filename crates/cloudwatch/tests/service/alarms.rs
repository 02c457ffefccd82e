//! Alarms: how they are put, described and evaluated.

use capacity::metric::Metric;
use serde_json::{Value, json};

use crate::support::{World, namespace, table};

fn alarm(name: &str) -> Value {
    json!({
        "AlarmName": name,
        "Namespace": "AWS/DynamoDB",
        "MetricName": "ThrottledRequests",
        "Dimensions": [{"Name": "TableName", "Value": "Orders"}],
        "Statistic": "Sum",
        "Period": 60,
        "EvaluationPeriods": 2,
        "Threshold": 10,
        "ComparisonOperator": "GreaterThanThreshold",
    })
}

async fn state(world: &World, name: &str) -> Value {
    let answer = world.ok("DescribeAlarms", json!({"AlarmNames": [name]})).await;
    answer["MetricAlarms"][0]["StateValue"].clone()
}

#[tokio::test]
async fn an_alarm_goes_on_when_its_points_breach_and_off_when_they_do_not() {
    let world = World::new().await;
    world.ok("PutMetricAlarm", alarm("throttled")).await;
    assert_eq!(state(&world, "throttled").await, "INSUFFICIENT_DATA");
    world.add(Metric::ThrottledRequests, 11.0, 0);
    world.add(Metric::ThrottledRequests, 12.0, 60);
    world.at(122);
    world.cloudwatch.evaluate().await;
    assert_eq!(state(&world, "throttled").await, "ALARM");
    let described = world.ok("DescribeAlarms", json!({})).await;
    assert_eq!(
        described["MetricAlarms"][0]["StateReason"],
        "Threshold Crossed: 2 out of the last 2 datapoints [12.0 (16/11/26 14:01:00), 11.0 (16/11/26 14:00:00)] were \
         greater than the threshold (10.0) (minimum 2 datapoints for INSUFFICIENT_DATA -> ALARM transition)."
    );
    world.add(Metric::ThrottledRequests, 3.0, 120);
    world.at(182);
    world.cloudwatch.evaluate().await;
    assert_eq!(state(&world, "throttled").await, "OK");
    let history = world.ok("DescribeAlarmHistory", json!({"HistoryItemType": "StateUpdate"})).await;
    assert_eq!(history["AlarmHistoryItems"][0]["HistorySummary"], "Alarm updated from ALARM to OK");
    assert_eq!(history["AlarmHistoryItems"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn missing_points_count_as_the_alarm_says() {
    let world = World::new().await;
    for (name, treatment) in [("b", "breaching"), ("n", "notBreaching"), ("m", "missing"), ("i", "ignore")] {
        let mut request = alarm(name);
        request["TreatMissingData"] = json!(treatment);
        world.ok("PutMetricAlarm", request).await;
    }
    let set = json!({"AlarmName": "i", "StateValue": "ALARM", "StateReason": "by hand"});
    world.ok("SetAlarmState", set).await;
    world.at(302);
    world.cloudwatch.evaluate().await;
    for (name, expected) in [("b", "ALARM"), ("n", "OK"), ("m", "INSUFFICIENT_DATA"), ("i", "ALARM")] {
        assert_eq!(state(&world, name).await, expected, "{name}");
    }
}

#[tokio::test]
async fn an_alarm_on_a_percentile_goes_on_when_requests_are_slow() {
    let world = World::new().await;
    let slow = |name: &str, few: &str| {
        let mut request = alarm(name);
        request["MetricName"] = json!("SuccessfulRequestLatency");
        request["Statistic"] = json!(null);
        request["ExtendedStatistic"] = json!("p90");
        request["EvaluateLowSampleCountPercentile"] = json!(few);
        request["EvaluationPeriods"] = json!(1);
        request
    };
    world.ok("PutMetricAlarm", slow("any", "evaluate")).await;
    world.ok("PutMetricAlarm", slow("enough", "ignore")).await;
    let described = world.ok("DescribeAlarms", json!({"AlarmNames": ["enough"]})).await;
    assert_eq!(described["MetricAlarms"][0]["ExtendedStatistic"], "p90");
    assert_eq!(described["MetricAlarms"][0]["EvaluateLowSampleCountPercentile"], "ignore");
    let world = world.restart().await;
    // Ten requests say little about the slowest tenth; a hundred do.
    (0..10).for_each(|_| world.add(Metric::SuccessfulRequestLatency, 11.0, 0));
    world.at(62);
    world.cloudwatch.evaluate().await;
    assert_eq!(state(&world, "any").await, "ALARM");
    assert_eq!(state(&world, "enough").await, "INSUFFICIENT_DATA");
    (0..100).for_each(|_| world.add(Metric::SuccessfulRequestLatency, 11.0, 60));
    world.at(122);
    world.cloudwatch.evaluate().await;
    assert_eq!(state(&world, "enough").await, "ALARM");
    (0..100).for_each(|request| world.add(Metric::SuccessfulRequestLatency, f64::from(request / 10), 120));
    world.at(182);
    world.cloudwatch.evaluate().await;
    assert_eq!(state(&world, "enough").await, "OK");
    let mut wrong = slow("wrong", "sometimes");
    assert_eq!(world.refused("PutMetricAlarm", wrong.clone()).await.1, "ValidationException");
    wrong = slow("wrong", "ignore");
    wrong["ExtendedStatistic"] = json!("p200");
    assert_eq!(world.refused("PutMetricAlarm", wrong).await.1, "InvalidParameterValueException");
}

#[tokio::test]
async fn an_idle_table_consumes_zero_and_not_nothing() {
    let world = World::new().await;
    let mut request = alarm("idle");
    request["MetricName"] = json!("ConsumedWriteCapacityUnits");
    request["ComparisonOperator"] = json!("LessThanThreshold");
    world.ok("PutMetricAlarm", request).await;
    world.at(302);
    world.cloudwatch.evaluate().await;
    assert_eq!(state(&world, "idle").await, "INSUFFICIENT_DATA", "there is no such table");
    world.metrics.create(&namespace(), &table(), 0);
    world.cloudwatch.evaluate().await;
    assert_eq!(state(&world, "idle").await, "ALARM");
}

#[tokio::test]
async fn alarms_their_states_and_tags_survive_a_restart() {
    let world = World::new().await;
    let mut request = alarm("kept");
    request["Tags"] = json!([{"Key": "team", "Value": "orders"}]);
    world.ok("PutMetricAlarm", request.clone()).await;
    let set = json!({"AlarmName": "kept", "StateValue": "ALARM", "StateReason": "by hand"});
    world.ok("SetAlarmState", set).await;
    let before = world.ok("DescribeAlarms", json!({})).await;
    let world = world.restart().await;
    assert_eq!(world.ok("DescribeAlarms", json!({})).await, before);
    let arn = "arn:aws:cloudwatch:us-east-1:000000000000:alarm:kept";
    let tags = world.ok("ListTagsForResource", json!({"ResourceARN": arn})).await;
    assert_eq!(tags["Tags"], json!([{"Key": "team", "Value": "orders"}]));
    // Another put replaces everything but the state and the tags.
    request["Threshold"] = json!(20);
    request["Tags"] = json!(null);
    world.ok("PutMetricAlarm", request).await;
    let after = world.ok("DescribeAlarms", json!({})).await;
    assert_eq!(after["MetricAlarms"][0]["Threshold"], json!(20.0));
    assert_eq!(after["MetricAlarms"][0]["StateValue"], "ALARM");
    assert_eq!(world.ok("ListTagsForResource", json!({"ResourceARN": arn})).await, tags);
}

#[tokio::test]
async fn describing_finds_alarms_by_name_prefix_state_and_metric_page_by_page() {
    let world = World::new().await;
    for name in ["a1", "a2", "b1"] {
        world.ok("PutMetricAlarm", alarm(name)).await;
    }
    let names = async |request: Value| {
        let answer = world.ok("DescribeAlarms", request).await;
        let alarms = answer["MetricAlarms"].as_array().cloned().unwrap_or_default();
        alarms
            .iter()
            .map(|alarm| alarm["AlarmName"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(json!({"AlarmNamePrefix": "a"})).await, ["a1", "a2"]);
    assert_eq!(names(json!({"StateValue": "OK"})).await, Vec::<String>::new());
    assert_eq!(names(json!({"AlarmTypes": ["CompositeAlarm"]})).await, Vec::<String>::new());
    assert_eq!(names(json!({"MaxRecords": 2})).await, ["a1", "a2"]);
    assert_eq!(names(json!({"MaxRecords": 2, "NextToken": "2"})).await, ["b1"]);
    let all = world.ok("DescribeAlarms", json!({})).await;
    assert_eq!((&all["CompositeAlarms"], &all["LogAlarms"]), (&json!([]), &json!([])));
    let metric = json!({
        "Namespace": "AWS/DynamoDB", "MetricName": "ThrottledRequests",
        "Dimensions": [{"Name": "TableName", "Value": "Orders"}],
    });
    let found = world.ok("DescribeAlarmsForMetric", metric).await;
    assert_eq!(found["MetricAlarms"].as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn alarms_are_deleted_all_or_none() {
    let world = World::new().await;
    world.ok("PutMetricAlarm", alarm("one")).await;
    let (status, name, _) = world.refused("DeleteAlarms", json!({"AlarmNames": ["one", "two"]})).await;
    assert_eq!((status, name.as_str()), (404, "ResourceNotFound"));
    assert_eq!(state(&world, "one").await, "INSUFFICIENT_DATA");
    world.ok("DeleteAlarms", json!({"AlarmNames": ["one"]})).await;
    assert_eq!(world.restart().await.ok("DescribeAlarms", json!({})).await["MetricAlarms"], json!([]));
}

#[tokio::test]
async fn an_alarm_that_can_not_be_evaluated_is_refused() {
    let world = World::new().await;
    for (member, value, error) in [
        ("Threshold", json!(null), "MissingRequiredParameterException"),
        ("MetricName", json!(null), "MissingRequiredParameterException"),
        ("Period", json!(10), "InvalidParameterValueException"),
        ("DatapointsToAlarm", json!(3), "ValidationException"),
        ("EvaluationPeriods", json!(100_000), "ValidationException"),
        ("TreatMissingData", json!("guess"), "ValidationException"),
        ("ThresholdMetricId", json!("band"), "ValidationException"),
    ] {
        let mut request = alarm("wrong");
        request[member] = value;
        assert_eq!(world.refused("PutMetricAlarm", request).await.1, error, "{member}");
    }
}
