"""CloudWatch on the same port: what requests consumed, what was throttled, alarms; in every protocol."""

import datetime
import random
import urllib.error
import urllib.parse
import urllib.request
from xml.etree import ElementTree

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from conftest import connect
from lodestone import CREDENTIALS, Lodestone
from schema import key_schema, units

NAMESPACE = "AWS/DynamoDB"
XML = "{http://monitoring.amazonaws.com/doc/2010-08-01/}"
CBOR_PATH = "/service/GraniteServiceVersion20100801/operation/"


@pytest.fixture(scope="module")
def cloudwatch(server):
    return connect(server, boto3.client, "cloudwatch")


def window(hours=1):
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"StartTime": now - datetime.timedelta(hours=hours), "EndTime": now + datetime.timedelta(minutes=2)}


def without(request, name):
    return {known: value for known, value in request.items() if known != name}


def sum_of(cloudwatch, metric, **dimensions):
    """The sum of a metric over the last hour."""
    answer = cloudwatch.get_metric_statistics(
        Namespace=NAMESPACE,
        MetricName=metric,
        Dimensions=[{"Name": name, "Value": value} for name, value in dimensions.items()],
        Period=300,
        Statistics=["Sum"],
        **window(),
    )
    return sum(point["Sum"] for point in answer["Datapoints"])


def signed(server, path, body, headers):
    """Sends what no SDK at hand sends, and returns status, headers and body."""
    url = server.endpoint + path
    request = AWSRequest("POST", url, data=body, headers=headers)
    credentials = Credentials(CREDENTIALS["AWS_ACCESS_KEY_ID"], CREDENTIALS["AWS_SECRET_ACCESS_KEY"])
    SigV4Auth(credentials, "monitoring", CREDENTIALS["AWS_DEFAULT_REGION"]).add_auth(request)
    sent = urllib.request.Request(url, data=body, headers=dict(request.headers), method="POST")
    try:
        with urllib.request.urlopen(sent, timeout=10) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def query(server, **parameters):
    body = urllib.parse.urlencode({"Version": "2010-08-01", **parameters}).encode()
    status, _, answer = signed(server, "/", body, {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"})
    return status, ElementTree.fromstring(answer)


def cbor(server, operation, body):
    headers = {"Content-Type": "application/cbor", "Accept": "application/cbor", "smithy-protocol": "rpc-v2-cbor"}
    return signed(server, CBOR_PATH + operation, body, headers)


def test_the_cli_asks_for_throttled_requests(aws, table):
    """A24"""
    now = datetime.datetime.now(datetime.timezone.utc)
    answer = aws(
        "cloudwatch", "get-metric-statistics", "--namespace", NAMESPACE, "--metric-name", "ThrottledRequests",
        "--dimensions", f"Name=TableName,Value={table.name}", "Name=Operation,Value=PutItem",
        "--start-time", (now - datetime.timedelta(hours=1)).isoformat(), "--end-time", now.isoformat(),
        "--period", "300", "--statistics", "Sum",
    )
    assert answer == {"Label": "ThrottledRequests", "Datapoints": []}


def test_a_starved_table_shows_its_throttled_requests(tmp_path):
    """A24, B30"""
    server = Lodestone(tmp_path / "data", "--capacity", "declared")
    try:
        client = connect(server, boto3.client)
        client.create_table(TableName="Starved", **key_schema(throughput=units(1, 1), pk="S"))
        throttled = 0
        for number in range(1000):
            try:
                client.put_item(TableName="Starved", Item={"pk": {"S": str(number)}})
            except client.exceptions.ProvisionedThroughputExceededException:
                throttled += 1
        assert throttled > 0
        cloudwatch = connect(server, boto3.client, "cloudwatch")
        assert sum_of(cloudwatch, "ThrottledRequests", TableName="Starved", Operation="PutItem") == throttled
        assert sum_of(cloudwatch, "WriteThrottleEvents", TableName="Starved") == throttled
        assert sum_of(cloudwatch, "ConsumedWriteCapacityUnits", TableName="Starved") == 1000 - throttled
    finally:
        server.end()


def test_consumed_units_are_those_of_the_replies_across_restarts(tmp_path):
    """B30: to the half unit, over a random workload."""
    server = Lodestone(tmp_path / "data")
    chance = random.Random(16)
    reported = {"ConsumedReadCapacityUnits": 0.0, "ConsumedWriteCapacityUnits": 0.0}

    def note(answer, metric):
        consumed = answer["ConsumedCapacity"]
        for part in consumed if isinstance(consumed, list) else [consumed]:
            reported[metric] += part["CapacityUnits"]

    try:
        client = connect(server, boto3.client)
        client.create_table(TableName="Counted", **key_schema(pk="S"))
        for _ in range(3):
            client = connect(server, boto3.client)
            for _ in range(60):
                key = {"pk": {"S": str(chance.randrange(20))}}
                item = {**key, "text": {"S": "x" * chance.randrange(1, 20_000)}}
                asked = {"TableName": "Counted", "ReturnConsumedCapacity": "TOTAL"}
                kind = chance.randrange(6)
                if kind == 0:
                    note(client.put_item(Item=item, **asked), "ConsumedWriteCapacityUnits")
                elif kind == 1:
                    note(client.delete_item(Key=key, **asked), "ConsumedWriteCapacityUnits")
                elif kind == 2:
                    note(client.get_item(Key=key, ConsistentRead=chance.random() < 0.5, **asked), "ConsumedReadCapacityUnits")
                elif kind == 3:
                    note(client.scan(**asked), "ConsumedReadCapacityUnits")
                elif kind == 4:
                    answer = client.transact_write_items(
                        TransactItems=[{"Put": {"TableName": "Counted", "Item": item}}], ReturnConsumedCapacity="TOTAL"
                    )
                    note(answer, "ConsumedWriteCapacityUnits")
                else:
                    answer = client.batch_get_item(
                        RequestItems={"Counted": {"Keys": [key]}}, ReturnConsumedCapacity="TOTAL"
                    )
                    note(answer, "ConsumedReadCapacityUnits")
            server.restart()
        cloudwatch = connect(server, boto3.client, "cloudwatch")
        for metric, units in reported.items():
            assert sum_of(cloudwatch, metric, TableName="Counted") == units
    finally:
        server.end()


def test_metrics_are_listed_and_calculated_with(cloudwatch, table):
    for number in range(4):
        table.put_item(Item={"pk": "a", "sk": str(number)})
    listed = cloudwatch.list_metrics(Namespace=NAMESPACE, Dimensions=[{"Name": "TableName", "Value": table.name}])
    assert "ConsumedWriteCapacityUnits" in {metric["MetricName"] for metric in listed["Metrics"]}
    metric = {
        "Namespace": NAMESPACE,
        "MetricName": "ConsumedWriteCapacityUnits",
        "Dimensions": [{"Name": "TableName", "Value": table.name}],
    }
    answer = cloudwatch.get_metric_data(
        MetricDataQueries=[
            {"Id": "m", "MetricStat": {"Metric": metric, "Period": 3600, "Stat": "Sum"}, "ReturnData": False},
            {"Id": "twice", "Expression": "m * 2"},
        ],
        **window(),
    )
    (twice,) = answer["MetricDataResults"]
    assert (twice["Id"], sum(twice["Values"])) == ("twice", 8.0)


def test_percentiles_of_latency_are_those_of_the_requests(cloudwatch, table):
    for number in range(50):
        table.put_item(Item={"pk": "a", "sk": str(number)})
    latency = {
        "Namespace": NAMESPACE,
        "MetricName": "SuccessfulRequestLatency",
        "Dimensions": [{"Name": "TableName", "Value": table.name}, {"Name": "Operation", "Value": "PutItem"}],
    }
    plain = cloudwatch.get_metric_statistics(
        Period=3600, Statistics=["Minimum", "Maximum", "SampleCount"], **latency, **window()
    )
    extended = cloudwatch.get_metric_statistics(
        Period=3600, ExtendedStatistics=["p0", "p50", "p99", "tc100"], **latency, **window()
    )
    assert len(plain["Datapoints"]) == len(extended["Datapoints"])
    for figures, point in zip(plain["Datapoints"], extended["Datapoints"]):
        found = point["ExtendedStatistics"]
        assert figures["Minimum"] <= found["p0"] <= found["p50"] <= found["p99"] <= figures["Maximum"]
        assert found["tc100"] == figures["SampleCount"]
    answer = cloudwatch.get_metric_data(
        MetricDataQueries=[{"Id": "slow", "MetricStat": {"Metric": latency, "Period": 3600, "Stat": "p99"}}], **window()
    )
    told = {point["ExtendedStatistics"]["p99"] for point in extended["Datapoints"]}
    assert set(answer["MetricDataResults"][0]["Values"]) == told


def test_wrong_requests_get_typed_errors(cloudwatch, table):
    good = {
        "Namespace": NAMESPACE,
        "MetricName": "ThrottledRequests",
        "Dimensions": [{"Name": "TableName", "Value": table.name}],
        "Period": 60,
        "Statistics": ["Sum"],
        **window(),
    }
    assert cloudwatch.get_metric_statistics(**{**good, "Dimensions": []})["Datapoints"] == []
    unknown = [{"Name": "TableName", "Value": "no-such-table"}]
    assert cloudwatch.get_metric_statistics(**{**good, "Dimensions": unknown})["Datapoints"] == []
    with pytest.raises(cloudwatch.exceptions.InvalidParameterValueException):
        cloudwatch.get_metric_statistics(**{**good, "Period": 61})
    with pytest.raises(cloudwatch.exceptions.InvalidParameterValueException):
        cloudwatch.get_metric_statistics(**{**without(good, "Statistics"), "ExtendedStatistics": ["p101"]})
    with pytest.raises(cloudwatch.exceptions.InvalidParameterCombinationException) as refused:
        cloudwatch.get_metric_statistics(**{**good, **window(hours=24 * 60)})
    assert "exceeds the limit of 1440" in str(refused.value)
    with pytest.raises(cloudwatch.exceptions.MissingRequiredParameterException):
        cloudwatch.get_metric_statistics(**without(good, "Statistics"))
    with pytest.raises(ClientError) as refused:
        cloudwatch.get_insight_rule_report(RuleName="no-such-rule", Period=60, **window())
    assert refused.value.response["Error"]["Code"] in ("ResourceNotFound", "ResourceNotFoundException")
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404


def test_alarms_are_put_described_tagged_and_deleted(cloudwatch, table):
    name = f"throttled-{table.name}"
    cloudwatch.put_metric_alarm(
        AlarmName=name,
        Namespace=NAMESPACE,
        MetricName="ThrottledRequests",
        Dimensions=[{"Name": "TableName", "Value": table.name}],
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=0,
        ComparisonOperator="GreaterThanThreshold",
        Tags=[{"Key": "team", "Value": "orders"}],
    )
    (alarm,) = cloudwatch.describe_alarms(AlarmNames=[name], AlarmTypes=["MetricAlarm"])["MetricAlarms"]
    assert (alarm["StateValue"], alarm["Threshold"]) == ("INSUFFICIENT_DATA", 0.0)
    tags = cloudwatch.list_tags_for_resource(ResourceARN=alarm["AlarmArn"])["Tags"]
    assert tags == [{"Key": "team", "Value": "orders"}]
    cloudwatch.delete_alarms(AlarmNames=[name])
    assert cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"] == []
    with pytest.raises(ClientError) as refused:
        cloudwatch.delete_alarms(AlarmNames=[name])
    assert refused.value.response["Error"]["Code"] == "ResourceNotFound"


def test_older_clients_send_forms_and_get_xml(server):
    status, answer = query(server, Action="DescribeAlarms", **{"AlarmNames.member.1": "none"})
    assert status == 200 and answer.tag == f"{XML}DescribeAlarmsResponse"
    assert list(answer.find(f"{XML}DescribeAlarmsResult/{XML}MetricAlarms")) == []
    assert answer.find(f"{XML}ResponseMetadata/{XML}RequestId").text
    status, answer = query(server, Action="DeleteAlarms", **{"AlarmNames.member.1": "none"})
    assert status == 404 and answer.find(f"{XML}Error/{XML}Code").text == "ResourceNotFound"
    status, answer = query(server, Action="DescribeAlarms", MaxRecords="0")
    assert status == 400 and answer.find(f"{XML}Error/{XML}Code").text == "ValidationError"


def test_newer_clients_send_cbor(server):
    status, headers, answer = cbor(server, "DescribeAlarms", b"\xa1\x6aMaxRecords\x01")
    assert status == 200
    assert headers["smithy-protocol"] == "rpc-v2-cbor" and headers["content-type"] == "application/cbor"
    assert b"MetricAlarms" in answer
    for broken in [b"\xff", b"\xa1\x6aMaxRecords", b"\x81" * 100_000, b"\x9b" + b"\xff" * 8, b"\x01"]:
        status, headers, answer = cbor(server, "DescribeAlarms", broken)
        assert (status, headers["smithy-protocol"]) == (400, "rpc-v2-cbor")
        assert headers["x-amzn-query-error"] == "MalformedInput;Sender"
        assert b"SerializationException" in answer
    status, headers, _ = cbor(server, "PutDashboard", b"\xa0")
    assert (status, headers["x-amzn-query-error"]) == (400, "InvalidAction;Sender")
