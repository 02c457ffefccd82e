//! The reports of Contributor Insights.

use cloudwatch::{Ranking, RuleMinutes};
use serde_json::json;

use crate::support::{START_SECONDS, World};

const RULE: &str = "DynamoDBContributorInsights-PKC-Orders-1794837600000";

async fn world() -> World {
    let world = World::new().await;
    let minute = |minute: u64, contributors: &[(&str, f64)]| Ranking {
        minute: START_SECONDS / 60 + minute,
        total: contributors.iter().map(|(_, value)| value).sum(),
        distinct: contributors.len() as u64,
        contributors: contributors.iter().map(|(key, value)| (vec![(*key).to_owned()], *value)).collect(),
    };
    let minutes = vec![
        minute(0, &[("steady", 30.0), ("burst", 1.0)]),
        minute(1, &[("steady", 30.0), ("other", 2.0)]),
        minute(5, &[("burst", 50.0)]),
    ];
    let rule = RuleMinutes { key_labels: vec!["PK".to_owned()], minutes };
    world.insights.0.lock().insert(RULE.to_owned(), rule);
    world
}

#[tokio::test]
async fn contributors_are_ranked_by_sum_or_by_their_best_period() {
    let world = world().await;
    let request = |order: &str| {
        json!({
            "RuleName": RULE, "StartTime": START_SECONDS, "EndTime": START_SECONDS + 600, "Period": 60,
            "OrderBy": order, "MaxContributorCount": 2, "Metrics": ["MaxContributorValue", "Sum"],
        })
    };
    let report = world.ok("GetInsightRuleReport", request("Sum")).await;
    assert_eq!(report["KeyLabels"], json!(["PK"]));
    assert_eq!(report["AggregateValue"], json!(113.0));
    assert_eq!(report["ApproximateUniqueCount"], json!(3));
    assert_eq!(report["Contributors"][0]["Keys"], json!(["steady"]));
    assert_eq!(report["Contributors"][0]["ApproximateAggregateValue"], json!(60.0));
    assert_eq!(report["Contributors"][0]["Datapoints"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["Contributors"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["MetricDatapoints"][2]["MaxContributorValue"], json!(50.0));
    assert_eq!(report["MetricDatapoints"][0]["Sum"], json!(31.0));
    let report = world.ok("GetInsightRuleReport", request("Maximum")).await;
    assert_eq!(report["Contributors"][0]["Keys"], json!(["burst"]));
}

#[tokio::test]
async fn an_unknown_rule_and_too_many_contributors_are_refused() {
    let world = world().await;
    let request = |rule: &str, count: i32| {
        json!({
            "RuleName": rule, "StartTime": START_SECONDS, "EndTime": START_SECONDS + 600, "Period": 60,
            "MaxContributorCount": count,
        })
    };
    let (status, name, _) = world.refused("GetInsightRuleReport", request("no-such-rule", 10)).await;
    assert_eq!((status, name.as_str()), (404, "ResourceNotFoundException"));
    let (status, name, _) = world.refused("GetInsightRuleReport", request(RULE, 26)).await;
    assert_eq!((status, name.as_str()), (400, "InvalidParameterValueException"));
    let rules = world.ok("DescribeInsightRules", json!({})).await;
    assert_eq!(rules["InsightRules"][0]["Name"], RULE);
}

#[tokio::test]
async fn the_hottest_key_is_a_metric_for_math_and_alarms() {
    let world = world().await;
    let hottest = format!("INSIGHT_RULE_METRIC(\"{RULE}\", 'MaxContributorValue')");
    let request = json!({
        "StartTime": START_SECONDS, "EndTime": START_SECONDS + 600, "ScanBy": "TimestampAscending",
        "MetricDataQueries": [
            {"Id": "key", "Expression": hottest, "Period": 60},
            {"Id": "share", "Expression": format!("100 * {hottest} / INSIGHT_RULE_METRIC('{RULE}', 'Sum')"), "Period": 300},
            {"Id": "doubled", "Expression": "key * 2"},
            {"Id": "none", "Expression": "INSIGHT_RULE_METRIC('no-such-rule', 'Sum')"},
        ],
    });
    let answer = world.ok("GetMetricData", request.clone()).await;
    let values = |number: usize| answer["MetricDataResults"][number]["Values"].clone();
    assert_eq!(values(0), json!([30.0, 30.0, 50.0]));
    assert_eq!(values(1), json!([100.0 * 60.0 / 63.0, 100.0]));
    assert_eq!(values(2), json!([60.0, 60.0, 100.0]));
    assert_eq!(values(3), json!([]));
    let alarm = json!({
        "AlarmName": "hot key", "ComparisonOperator": "GreaterThanThreshold", "Threshold": 40,
        "EvaluationPeriods": 1, "Metrics": [{"Id": "key", "Expression": hottest, "Period": 60}],
    });
    world.ok("PutMetricAlarm", alarm).await;
    world.at(362);
    world.cloudwatch.evaluate().await;
    let described = world.ok("DescribeAlarms", json!({})).await;
    assert_eq!(described["MetricAlarms"][0]["StateValue"], "ALARM", "{described}");
}

#[tokio::test]
async fn a_figure_that_rules_do_not_have_is_refused() {
    let world = world().await;
    let many = vec![format!("INSIGHT_RULE_METRIC('{RULE}', 'Sum')"); 120].join("+");
    for (expression, period, days) in [
        ("INSIGHT_RULE_METRIC('rule', 'Median')", 60, 1),
        ("INSIGHT_RULE_METRIC('rule')", 60, 1),
        ("INSIGHT_RULE_METRIC('rule, 'Sum')", 60, 1),
        ("INSIGHT_RULE_METRIC(rule, Sum)", 60, 1),
        ("INSIGHT_RULE_METRIC('rule', 'Sum')", 0, 1),
        ("INSIGHT_RULE_METRIC('rule', 'Sum')", 7, 1),
        (many.as_str(), 60, 14),
    ] {
        let request = json!({
            "StartTime": START_SECONDS, "EndTime": START_SECONDS + days * 86_400,
            "MetricDataQueries": [{"Id": "e", "Expression": expression, "Period": period}],
        });
        let (status, name, message) = world.refused("GetMetricData", request).await;
        assert_eq!((status, name.as_str()), (400, "ValidationException"), "{expression}: {message}");
    }
}
