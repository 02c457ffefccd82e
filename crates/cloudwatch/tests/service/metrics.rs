//! GetMetricStatistics, GetMetricData and ListMetrics.

use capacity::metric::Metric;
use serde_json::{Value, json};

use crate::support::{START_SECONDS, World};

/// A request for the table's consumed write units, as seconds after the start.
fn consumed(start: u64, end: u64, period: u64) -> Value {
    json!({
        "Namespace": "AWS/DynamoDB",
        "MetricName": "ConsumedWriteCapacityUnits",
        "Dimensions": [{"Name": "TableName", "Value": "Orders"}],
        "StartTime": START_SECONDS + start,
        "EndTime": START_SECONDS + end,
        "Period": period,
        "Statistics": ["Sum", "SampleCount"],
    })
}

/// The request with some members replaced.
fn with(mut request: Value, members: Value) -> Value {
    for (name, value) in members.as_object().expect("members") {
        request[name] = value.clone();
    }
    request
}

async fn world() -> World {
    let world = World::new().await;
    for (value, seconds) in [(1.0, 0), (2.5, 59), (3.0, 60), (4.0, 301)] {
        world.add(Metric::ConsumedWriteCapacityUnits, value, seconds);
    }
    world.at(600);
    world
}

#[tokio::test]
async fn a_period_adds_up_its_minutes_and_shows_what_is_asked_for() {
    let world = world().await;
    let answer = world.ok("GetMetricStatistics", consumed(0, 600, 300)).await;
    let start = START_SECONDS;
    assert_eq!(
        answer,
        json!({
            "Label": "ConsumedWriteCapacityUnits",
            "Datapoints": [
                {"Timestamp": start, "Sum": 6.5, "SampleCount": 3.0, "Unit": "Count"},
                {"Timestamp": start + 300, "Sum": 4.0, "SampleCount": 1.0, "Unit": "Count"},
            ]
        })
    );
}

#[tokio::test]
async fn the_end_is_excluded_and_the_start_is_rounded_down_to_its_minute() {
    let world = world().await;
    let answer = world.ok("GetMetricStatistics", consumed(59, 60, 60)).await;
    assert_eq!(answer["Datapoints"][0]["Sum"], json!(3.5));
    assert_eq!(answer["Datapoints"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn other_dimensions_names_and_units_find_nothing() {
    let world = world().await;
    let request = || consumed(0, 600, 60);
    for other in [
        with(request(), json!({"Dimensions": []})),
        with(request(), json!({"Dimensions": [{"Name": "TableName", "Value": "Unknown"}]})),
        with(
            request(),
            json!({"Dimensions": [
                {"Name": "TableName", "Value": "Orders"}, {"Name": "Operation", "Value": "PutItem"}
            ]}),
        ),
        with(request(), json!({"MetricName": "NoSuchMetric"})),
        with(request(), json!({"Namespace": "AWS/EC2"})),
        with(request(), json!({"Unit": "Bytes"})),
    ] {
        assert_eq!(world.ok("GetMetricStatistics", other).await["Datapoints"], json!([]));
    }
}

#[tokio::test]
async fn wrong_periods_times_and_statistics_are_refused_in_cloudwatchs_words() {
    let world = world().await;
    let refused = async |members: Value| {
        let (status, name, message) =
            world.refused("GetMetricStatistics", with(consumed(0, 600, 60), members)).await;
        assert_eq!(status, 400, "{message}");
        (name, message)
    };
    let value = "InvalidParameterValueException";
    assert_eq!(refused(json!({"Period": 90})).await.0, value);
    assert_eq!(refused(json!({"EndTime": START_SECONDS})).await.0, value);
    assert_eq!(refused(json!({"Statistics": null, "ExtendedStatistics": ["p101"]})).await.0, value);
    let both = json!({"Statistics": ["Sum"], "ExtendedStatistics": ["p99"]});
    assert_eq!(refused(both).await.0, "InvalidParameterCombinationException");
    assert_eq!(refused(json!({"Statistics": null})).await.0, "MissingRequiredParameterException");
    assert_eq!(
        refused(json!({"Namespace": null})).await,
        ("MissingRequiredParameterException".to_owned(), "The parameter Namespace is required.".to_owned())
    );
    assert_eq!(refused(json!({"Statistics": ["Median"]})).await.0, "ValidationException");
    let (name, message) = refused(json!({"EndTime": START_SECONDS + 86_400 * 60})).await;
    assert_eq!(name, "InvalidParameterCombinationException");
    assert!(message.starts_with("You have requested up to 86400 datapoints"), "{message}");
}

#[tokio::test]
async fn percentiles_and_trimmed_statistics_are_those_of_the_requests() {
    let world = World::new().await;
    // 1 to 100 ms in two minutes, and one request that hung.
    (1..=100_u32).for_each(|ms| world.add(Metric::SuccessfulRequestLatency, f64::from(ms), u64::from(ms)));
    world.add(Metric::SuccessfulRequestLatency, 30_000.0, 100);
    world.at(600);
    let names = [
        "p0",
        "p50",
        "p99",
        "p100",
        "tm50",
        "tc50",
        "TC(20:40)",
        "TS(:3)",
        "TM(10:12)",
        "WM(:50)",
        "PR(:50)",
    ];
    let asked = async |names: &[&str]| {
        let request = with(
            consumed(0, 600, 300),
            json!({"MetricName": "SuccessfulRequestLatency", "Statistics": null, "ExtendedStatistics": names}),
        );
        let answer = world.ok("GetMetricStatistics", request).await;
        assert_eq!(answer["Datapoints"][0]["Unit"], "Milliseconds");
        assert_eq!(answer["Datapoints"][0]["Sum"], Value::Null);
        answer["Datapoints"][0]["ExtendedStatistics"].clone()
    };
    let (first, second) = names.split_at(6);
    assert_eq!(
        asked(first).await,
        json!({"p0": 1.0, "p50": 51.0, "p99": 100.0, "p100": 30000.0, "tm50": (1275.0 + 25.5) / 50.5, "tc50": 50.5})
    );
    let mean = (1..=50).sum::<i32>() as f64 + 51.0 * 50.0;
    assert_eq!(
        asked(second).await,
        json!({
            "TC(20:40)": 20.0, "TS(:3)": 6.0, "TM(10:12)": 11.5, "WM(:50)": mean / 101.0, "PR(:50)": 50.0 / 101.0 * 100.0,
        })
    );
    let mut query = stat("slow", "SuccessfulRequestLatency", "p50", 60);
    query["ReturnData"] = json!(true);
    let answer = world.ok("GetMetricData", data(json!([query]))).await;
    assert_eq!(answer["MetricDataResults"][0]["Values"], json!([30.0, 80.0]));
}

#[tokio::test]
async fn a_metric_that_is_only_counted_has_percentiles_where_all_values_are_the_same() {
    let world = World::new().await;
    for (value, seconds) in [(2.5, 0), (2.5, 10), (1.0, 60), (2.0, 61)] {
        world.add(Metric::ConsumedWriteCapacityUnits, value, seconds);
    }
    world.at(600);
    let request =
        with(consumed(0, 600, 60), json!({"Statistics": null, "ExtendedStatistics": ["p90", "tm90"]}));
    let answer = world.ok("GetMetricStatistics", request).await;
    assert_eq!(answer["Datapoints"].as_array().map(Vec::len), Some(1), "{answer}");
    assert_eq!(answer["Datapoints"][0]["ExtendedStatistics"], json!({"p90": 2.5, "tm90": 2.5}));
}

#[tokio::test]
async fn figures_kept_by_five_minutes_or_hours_answer_for_multiples_alone() {
    let world = world().await;
    world.at(20 * 86_400);
    let answer = world.ok("GetMetricStatistics", consumed(0, 600, 60)).await;
    assert_eq!(answer["Datapoints"], json!([]));
    let answer = world.ok("GetMetricStatistics", consumed(0, 600, 300)).await;
    assert_eq!(answer["Datapoints"][0]["Sum"], json!(6.5));
}

fn data(queries: Value) -> Value {
    json!({
        "StartTime": START_SECONDS,
        "EndTime": START_SECONDS + 600,
        "ScanBy": "TimestampAscending",
        "MetricDataQueries": queries,
    })
}

fn stat(id: &str, metric: &str, statistic: &str, period: u64) -> Value {
    let dimensions = json!([{"Name": "TableName", "Value": "Orders"}]);
    let metric = json!({"Namespace": "AWS/DynamoDB", "MetricName": metric, "Dimensions": dimensions});
    json!({"Id": id, "ReturnData": false, "MetricStat": {"Metric": metric, "Period": period, "Stat": statistic}})
}

#[tokio::test]
async fn utilisation_is_calculated_from_what_is_consumed_and_provisioned() {
    let world = world().await;
    world.add(Metric::ProvisionedWriteCapacityUnits, 5.0, 0);
    let answer = world
        .ok(
            "GetMetricData",
            data(json!([
                stat("m1", "ConsumedWriteCapacityUnits", "Sum", 300),
                stat("m2", "ProvisionedWriteCapacityUnits", "Average", 300),
                {"Id": "used", "Expression": "(m1/PERIOD(m1))/m2*100"},
                {"Id": "filled", "Expression": "FILL(used, 0) + 1", "Label": "Filled"},
            ])),
        )
        .await;
    let results = &answer["MetricDataResults"];
    assert_eq!(results.as_array().map(Vec::len), Some(2));
    assert_eq!(results[0]["Id"], "used");
    // There is no provisioned figure in the second period, so the division has none.
    let used = 6.5 / 300.0 / 5.0 * 100.0;
    assert_eq!(results[0]["Values"], json!([used]));
    assert_eq!(results[1]["Label"], "Filled");
    assert_eq!(results[1]["Values"], json!([used + 1.0, 1.0]));
    assert_eq!(results[1]["StatusCode"], "Complete");
}

#[tokio::test]
async fn a_long_answer_has_pages() {
    let world = world().await;
    let mut request = data(json!([stat("m", "ConsumedWriteCapacityUnits", "Sum", 60)]));
    request["MetricDataQueries"][0]["ReturnData"] = json!(true);
    request["MaxDatapoints"] = json!(2);
    let first = world.ok("GetMetricData", request.clone()).await;
    assert_eq!(first["MetricDataResults"][0]["Values"], json!([3.5, 3.0]));
    request["NextToken"] = first["NextToken"].clone();
    let second = world.ok("GetMetricData", request.clone()).await;
    assert_eq!(second["MetricDataResults"][0]["Values"], json!([4.0]));
    assert_eq!(second["NextToken"], Value::Null);
    request["NextToken"] = json!("nonsense");
    assert_eq!(world.refused("GetMetricData", request).await.1, "InvalidNextToken");
}

#[tokio::test]
async fn expressions_that_make_no_sense_are_refused() {
    let world = world().await;
    for expression in [
        "m1 +",
        "unknown * 2",
        "SUM(m1)",
        "e",
        "SEARCH('{AWS/DynamoDB}', 'Sum')",
        "ANOMALY_DETECTION_BAND(m1)",
        &"(".repeat(2000),
        &["m1"; 600].join("+"),
    ] {
        let request = data(json!([
            stat("m1", "ConsumedWriteCapacityUnits", "Sum", 60),
            {"Id": "e", "Expression": expression},
        ]));
        let (status, name, _) = world.refused("GetMetricData", request).await;
        assert_eq!((status, name.as_str()), (400, "ValidationException"), "{expression}");
    }
}

#[tokio::test]
async fn metrics_are_listed_by_name_and_dimensions_while_they_have_data() {
    let world = world().await;
    let list = async |filter: Value| {
        let answer = world.ok("ListMetrics", filter).await;
        answer["Metrics"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(list(json!({})).await, 1);
    assert_eq!(list(json!({"Namespace": "AWS/DynamoDB", "Dimensions": [{"Name": "TableName"}]})).await, 1);
    assert_eq!(list(json!({"Dimensions": [{"Name": "TableName", "Value": "Unknown"}]})).await, 0);
    assert_eq!(list(json!({"MetricName": "ThrottledRequests"})).await, 0);
    world.at(4 * 3600);
    assert_eq!(list(json!({"RecentlyActive": "PT3H"})).await, 0);
    assert_eq!(list(json!({})).await, 1);
    world.at(15 * 86_400);
    assert_eq!(list(json!({})).await, 0);
}
