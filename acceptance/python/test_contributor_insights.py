"""Contributor Insights: which keys are used most and which are throttled most, through DynamoDB and CloudWatch."""

import boto3
import pytest
from botocore.exceptions import ClientError
from conftest import connect
from lodestone import Lodestone
from schema import key_schema, units
from test_cloudwatch import window

HOT = "EVENT#2026-11-16"


@pytest.fixture(scope="module")
def cloudwatch(server):
    return connect(server, boto3.client, "cloudwatch")


def rule(client, code, **resource):
    """The name of a rule by its code."""
    rules = client.describe_contributor_insights(**resource)["ContributorInsightsRuleList"]
    [name] = [name for name in rules if name.split("-")[1] == code]
    return name


def report(cloudwatch, name, **more):
    return cloudwatch.get_insight_rule_report(RuleName=name, Period=60, **window(), **more)


def test_the_hottest_key_comes_first_with_its_exact_value(client, cloudwatch, new_table):
    """B30: 10,000 writes to one key, 100 to others."""
    table = new_table(pk="S", sk="S")
    answer = client.update_contributor_insights(TableName=table.name, ContributorInsightsAction="ENABLE")
    assert answer["ContributorInsightsStatus"] == "ENABLING"
    described = client.describe_contributor_insights(TableName=table.name)
    assert described["ContributorInsightsStatus"] == "ENABLED", "the waiter of the SDK asks every 20 seconds"
    assert [name.split("-")[1] for name in described["ContributorInsightsRuleList"]] == ["PKC", "SKC", "PKT", "SKT"]
    with table.batch_writer() as batch:
        for number in range(10_000):
            batch.put_item(Item={"pk": HOT, "sk": f"{number:05}"})
        for number in range(100):
            batch.put_item(Item={"pk": f"EVENT#{number}", "sk": "0"})
    found = report(
        cloudwatch, rule(client, "PKC", TableName=table.name), MaxContributorCount=5,
        Metrics=["MaxContributorValue", "Maximum", "UniqueContributors"], OrderBy="Sum",
    )
    assert found["KeyLabels"] == ["pk"]
    assert found["AggregateValue"] == 3 * 10_100
    assert len(found["Contributors"]) == 5
    first = found["Contributors"][0]
    assert first["Keys"] == [HOT]
    assert first["ApproximateAggregateValue"] == 3 * 10_000
    assert sum(point["ApproximateValue"] for point in first["Datapoints"]) == 3 * 10_000
    assert max(point["MaxContributorValue"] for point in found["MetricDatapoints"]) <= 3 * 10_000
    by_both = report(cloudwatch, rule(client, "SKC", TableName=table.name))
    assert by_both["KeyLabels"] == ["pk", "sk"]
    assert all(one["ApproximateAggregateValue"] == 3 for one in by_both["Contributors"])
    # On a quick machine these are more writes than AWS takes for one key in a second. Keys of the same partition may
    # be throttled with it, but none as often.
    throttled = report(cloudwatch, rule(client, "PKT", TableName=table.name))["Contributors"]
    assert [one["Keys"] for one in throttled][:1] in ([], [[HOT]])
    hottest = f'INSIGHT_RULE_METRIC("{rule(client, "PKC", TableName=table.name)}", "MaxContributorValue")'
    answer = cloudwatch.get_metric_data(
        MetricDataQueries=[{"Id": "key", "Expression": hottest, "Period": 60}], **window()
    )
    # A minute that had others alone adds one write of theirs.
    assert 3 * 10_000 <= sum(answer["MetricDataResults"][0]["Values"]) <= 3 * 10_000 + 3


def test_the_most_throttled_key_is_named(tmp_path):
    """B30: a table that is starved; the mode that counts throttled keys alone."""
    server = Lodestone(tmp_path / "data", "--capacity", "declared")
    try:
        client, cloudwatch = connect(server, boto3.client), connect(server, boto3.client, "cloudwatch")
        client.create_table(TableName="Starved", **key_schema(throughput=units(1, 1), pk="S"))
        client.update_contributor_insights(
            TableName="Starved", ContributorInsightsAction="ENABLE", ContributorInsightsMode="THROTTLED_KEYS"
        )
        [name] = client.describe_contributor_insights(TableName="Starved")["ContributorInsightsRuleList"]
        assert "-PKT-Starved-" in name
        throttled = 0
        for _ in range(1_000):
            try:
                client.put_item(TableName="Starved", Item={"pk": {"S": HOT}})
            except client.exceptions.ProvisionedThroughputExceededException:
                throttled += 1
            if throttled == 20:
                break
        assert throttled == 20
        # The SDK itself tries again, and each try counts.
        [first] = report(cloudwatch, name)["Contributors"]
        assert first["Keys"] == [HOT]
        assert first["ApproximateAggregateValue"] >= 20
    finally:
        server.end()


def test_where_nothing_is_refused_the_key_is_named_that_aws_would_throttle(client, cloudwatch):
    """The default: everything is served, and what AWS would do is counted."""
    client.create_table(TableName="WouldStarve", **key_schema(throughput=units(1, 1), pk="S"))
    client.update_contributor_insights(TableName="WouldStarve", ContributorInsightsAction="ENABLE")
    for number in range(600):
        client.put_item(TableName="WouldStarve", Item={"pk": {"S": HOT if number % 2 else f"EVENT#{number}"}})
    contributors = report(cloudwatch, rule(client, "PKT", TableName="WouldStarve"))["Contributors"]
    assert contributors[0]["Keys"] == [HOT]
    assert contributors[0]["ApproximateAggregateValue"] > 1


def test_insights_are_listed_and_switched_off(client, cloudwatch, new_table):
    table = new_table(pk="S")
    client.update_contributor_insights(TableName=table.name, ContributorInsightsAction="ENABLE")
    [summary] = client.list_contributor_insights(TableName=table.name)["ContributorInsightsSummaries"]
    assert summary == {
        "TableName": table.name,
        "ContributorInsightsStatus": "ENABLED",
        "ContributorInsightsMode": "ACCESSED_AND_THROTTLED_KEYS",
    }
    name = rule(client, "PKC", TableName=table.name)
    described = cloudwatch.describe_insight_rules()["InsightRules"]
    assert name in [one["Name"] for one in described]
    client.update_contributor_insights(TableName=table.name, ContributorInsightsAction="DISABLE")
    assert client.describe_contributor_insights(TableName=table.name)["ContributorInsightsStatus"] == "DISABLED"
    assert client.list_contributor_insights(TableName=table.name)["ContributorInsightsSummaries"] == []
    with pytest.raises(ClientError) as gone:
        report(cloudwatch, name)
    assert gone.value.response["Error"]["Code"] == "ResourceNotFoundException"
    assert gone.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404


def test_wrong_requests_get_the_services_own_errors(client, cloudwatch, new_table):
    table = new_table(pk="S")
    client.update_contributor_insights(TableName=table.name, ContributorInsightsAction="ENABLE")
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.update_contributor_insights(
            TableName=table.name, IndexName="none", ContributorInsightsAction="ENABLE"
        )
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.describe_contributor_insights(TableName="no-such-table")
    with pytest.raises(ClientError) as wrong:
        report(cloudwatch, rule(client, "PKC", TableName=table.name), MaxContributorCount=26)
    assert wrong.value.response["Error"]["Code"] == "InvalidParameterValue"


def test_the_cli_finds_the_hottest_key(aws, client, new_table):
    table = new_table(pk="S")
    aws(
        "dynamodb", "update-contributor-insights", "--table-name", table.name,
        "--contributor-insights-action", "ENABLE",
    )
    for _ in range(3):
        table.put_item(Item={"pk": HOT})
    table.put_item(Item={"pk": "other"})
    rules = aws("dynamodb", "describe-contributor-insights", "--table-name", table.name)
    [name] = [name for name in rules["ContributorInsightsRuleList"] if "-PKC-" in name]
    times = {name: value.isoformat() for name, value in window().items()}
    found = aws(
        "cloudwatch", "get-insight-rule-report", "--rule-name", name, "--start-time", times["StartTime"],
        "--end-time", times["EndTime"], "--period", "60", "--max-contributor-count", "10",
        "--metrics", "MaxContributorValue", "Maximum", "--order-by", "Sum",
    )
    assert [(one["Keys"], one["ApproximateAggregateValue"]) for one in found["Contributors"]] == [
        ([HOT], 9.0), (["other"], 3.0),
    ]
