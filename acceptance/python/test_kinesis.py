"""Kinesis streaming destinations: the operations by boto3, and what arrives in a file and at an endpoint of Kinesis."""

import base64
import datetime
import json
import signal
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import boto3
import pytest
from botocore.exceptions import ClientError
from conftest import connect
from lodestone import Lodestone
from schema import key_schema
from wait import until


class Kinesis(ThreadingHTTPServer):
    """Takes PutRecords, and refuses every fourth record once."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.records, self.seen = [], set()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def put(self, record):
        data = base64.b64decode(record["Data"])
        event = json.loads(data)["eventID"]
        if len(self.seen) % 4 == 3 and event not in self.seen:
            self.seen.add(event)
            return {"ErrorCode": "ProvisionedThroughputExceededException", "ErrorMessage": "Rate exceeded"}
        self.seen.add(event)
        self.records.append(json.loads(data))
        return {"SequenceNumber": str(len(self.records)), "ShardId": "shardId-000000000000"}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.headers["X-Amz-Target"] == "Kinesis_20131202.PutRecords"
        assert "/kinesis/aws4_request" in self.headers["Authorization"]
        results = [self.server.put(record) for record in body["Records"]]
        failed = sum("ErrorCode" in result for result in results)
        answer = json.dumps({"FailedRecordCount": failed, "Records": results}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def kinesis():
    with Kinesis() as endpoint:
        yield endpoint
        endpoint.shutdown()


@pytest.fixture
def shop(tmp_path, kinesis):
    """A server with two streams: `lines` is a file, `orders` an endpoint of Kinesis."""
    host, port = kinesis.server_address
    options = ["--kinesis", f"lines=file:{tmp_path / 'lines.jsonl'}", "--kinesis", f"orders=kinesis+http://{host}:{port}"]
    server = Lodestone(tmp_path / "data", *options)
    yield server
    server.end()


def orders(server):
    client = connect(server, boto3.client)
    client.create_table(TableName="Orders", **key_schema(pk="S"))
    arn = client.describe_table(TableName="Orders")["Table"]["TableArn"]
    account = arn.split(":")[4]
    return client, lambda name: f"arn:aws:kinesis:us-east-1:{account}:stream/{name}"


def destinations(client):
    answer = client.describe_kinesis_streaming_destination(TableName="Orders")
    return {one["StreamArn"].split("/")[1]: one["DestinationStatus"] for one in answer["KinesisDataStreamDestinations"]}


def put(client, number):
    client.put_item(TableName="Orders", Item={"pk": {"S": f"o{number % 3}"}, "n": {"N": str(number)}})


def test_a_destination_is_enabled_updated_and_disabled(shop):
    client, arn = orders(shop)
    names = {"TableName": "Orders", "StreamArn": arn("lines")}
    answer = client.enable_kinesis_streaming_destination(**names)
    assert answer["DestinationStatus"] == "ENABLING"
    assert destinations(client) == {"lines": "ACTIVE"}
    with pytest.raises(ClientError) as refused:
        client.enable_kinesis_streaming_destination(**names)
    assert refused.value.response["Error"]["Code"] == "ValidationException"
    assert "must be DISABLED or ENABLE_FAILED to perform ENABLE" in refused.value.response["Error"]["Message"]
    precision = {"ApproximateCreationDateTimePrecision": "MICROSECOND"}
    answer = client.update_kinesis_streaming_destination(**names, UpdateKinesisStreamingConfiguration=precision)
    assert (answer["DestinationStatus"], answer["UpdateKinesisStreamingConfiguration"]) == ("UPDATING", precision)
    assert client.disable_kinesis_streaming_destination(**names)["DestinationStatus"] == "DISABLING"
    assert destinations(client) == {"lines": "DISABLED"}
    client.enable_kinesis_streaming_destination(TableName="Orders", StreamArn=arn("unknown"))
    assert destinations(client) == {"lines": "DISABLED", "unknown": "ENABLE_FAILED"}


def test_what_is_missing_is_named(shop):
    client, arn = orders(shop)
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.describe_kinesis_streaming_destination(TableName="Nowhere")
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.enable_kinesis_streaming_destination(TableName="Nowhere", StreamArn=arn("lines"))


def test_every_change_arrives_also_after_a_kill(shop, kinesis, tmp_path):
    client, arn = orders(shop)
    for name in ["lines", "orders"]:
        client.enable_kinesis_streaming_destination(TableName="Orders", StreamArn=arn(name))
    for number in range(30):
        put(client, number)
    shop.restart(signal.SIGKILL)
    client = connect(shop, boto3.client)
    for number in range(30, 60):
        put(client, number)

    def lines():
        text = (tmp_path / "lines.jsonl").read_text() if (tmp_path / "lines.jsonl").exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    for read in [lines, lambda: list(kinesis.records)]:
        until(lambda: len({record["eventID"] for record in read()}) == 60)
        first = {}
        for record in read():
            first.setdefault(record["eventID"], record)
        for key in range(3):
            of_key = [record for record in first.values() if record["dynamodb"]["Keys"]["pk"]["S"] == f"o{key}"]
            assert [int(record["dynamodb"]["NewImage"]["n"]["N"]) for record in of_key] == list(range(key, 60, 3))
            assert [record["eventName"] for record in of_key] == ["INSERT"] + ["MODIFY"] * 19


def statistics(server, metric):
    """The sum and the number of values of a metric of deliveries, in the last ten minutes."""
    now = datetime.datetime.now(datetime.timezone.utc)
    points = connect(server, boto3.client, "cloudwatch").get_metric_statistics(
        Namespace="AWS/DynamoDB",
        MetricName=metric,
        Dimensions=[{"Name": "TableName", "Value": "Orders"}, {"Name": "DelegatedOperation", "Value": "PutRecord"}],
        StartTime=now - datetime.timedelta(minutes=10),
        EndTime=now + datetime.timedelta(minutes=1),
        Period=60,
        Statistics=["Sum", "SampleCount"],
    )["Datapoints"]
    return sum(point["Sum"] for point in points), sum(point["SampleCount"] for point in points)


def test_deliveries_are_metrics_of_the_table(shop, kinesis):
    client, arn = orders(shop)
    client.enable_kinesis_streaming_destination(TableName="Orders", StreamArn=arn("orders"))
    for number in range(12):
        put(client, number)
    until(lambda: statistics(shop, "ConsumedChangeDataCaptureUnits") == (12, 12))
    assert len({record["eventID"] for record in kinesis.records}) == 12
    # The endpoint turns every fourth record away once.
    assert statistics(shop, "ThrottledPutRecordCount")[0] == 3
    assert statistics(shop, "AgeOfOldestUnreplicatedRecord")[1] > 0
    assert statistics(shop, "FailedToReplicateRecordCount") == (0, 0)
    figures = urllib.request.urlopen(f"{shop.endpoint}/metrics").read().decode()
    labels = 'region="us-east-1",table="Orders",delegated_operation="PutRecord"'
    assert f"{labels}}} 12\n" in figures.split("lodestone_consumed_change_data_capture_units_total{")[1]
