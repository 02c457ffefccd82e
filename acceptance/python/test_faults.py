"""Errors and delays that somebody asks for, and indexes that lag, as applications meet them."""

import json
import subprocess
import urllib.request

import boto3
import pytest
from boto3.dynamodb.conditions import Key
from botocore.config import Config
from botocore.exceptions import ClientError, ReadTimeoutError
from conftest import connect
from lodestone import CREDENTIALS, Lodestone, binary
from schema import Index, units
from wait import until


@pytest.fixture(scope="module")
def server():
    running = Lodestone(None)
    yield running
    running.end()


@pytest.fixture(scope="module")
def client(server):
    return connect(server, boto3.client)


@pytest.fixture(scope="module")
def resource(server):
    return connect(server, boto3.resource)


@pytest.fixture
def fault(server):
    """Runs `lodestone fault` against the server; no fault outlives its test."""

    def run(*arguments):
        done = subprocess.run(
            [binary(), "fault", *arguments], env=server.environment(), capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    yield run
    run("remove", "--all")


def patient(server, kind=boto3.client, **config):
    """A client or resource that tries again, as applications do."""
    return kind(
        "dynamodb",
        endpoint_url=server.endpoint,
        region_name=CREDENTIALS["AWS_DEFAULT_REGION"],
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        config=Config(**config),
    )


def error_of(call, **arguments):
    with pytest.raises(ClientError) as refused:
        call(**arguments)
    return refused.value.response


def metrics(server):
    with urllib.request.urlopen(f"{server.endpoint}/metrics", timeout=10) as answer:
        return answer.read().decode()


def test_a_fault_meets_its_operation_until_it_is_removed(server, fault, new_table):
    table = new_table(pk="S")
    fault("add", "--table", table.name, "--operation", "PutItem", "--error", "internal")
    refused = error_of(table.put_item, Item={"pk": "a"})
    assert refused["Error"]["Code"] == "InternalServerError"
    assert refused["ResponseMetadata"]["HTTPStatusCode"] == 500
    assert "Item" not in table.get_item(Key={"pk": "a"})

    [listed] = json.loads(fault("list", "--json"))["faults"]
    assert (listed["table"], listed["operation"], listed["error"]) == (table.name, "PutItem", "internal")
    assert (listed["share"], listed["met"]) == ("100%", 1)
    shown = [line for line in metrics(server).splitlines() if line.startswith("lodestone_injected_faults_met_total")]
    assert len(shown) == 1 and f'table="{table.name}"' in shown[0] and shown[0].endswith(" 1"), shown

    fault("remove", str(listed["fault"]))
    table.put_item(Item={"pk": "a"})
    assert "lodestone_injected_faults" not in metrics(server)
    assert fault("list") == "No faults are on.\n"


def test_throttling_is_that_of_the_tables_mode(fault, new_table):
    for throughput, code, reason in [
        (None, "ThrottlingException", "TableWriteKeyRangeThroughputExceeded"),
        (units(5, 5), "ProvisionedThroughputExceededException", "TableWriteProvisionedThroughputExceeded"),
    ]:
        table = new_table(throughput=throughput, pk="S")
        fault("add", "--table", table.name, "--error", "throttle")
        refused = error_of(table.put_item, Item={"pk": "a"})
        assert refused["Error"]["Code"] == code
        reasons = refused.get("ThrottlingReasons") or refused.get("throttlingReasons")
        assert [found["reason"] for found in reasons] == [reason]
        fault("remove", "--all")


def test_a_client_that_tries_again_gets_through_a_share_of_faults(server, fault, new_table):
    table = new_table(pk="S")
    fault("add", "--table", table.name, "--error", "throttle", "--share", "30%", "--for", "5m")
    client = patient(server, retries={"max_attempts": 20, "mode": "standard"})
    for number in range(20):
        client.put_item(TableName=table.name, Item={"pk": {"S": str(number)}})
    fault("remove", "--all")
    assert table.scan()["Count"] == 20


def test_a_batch_writer_sends_again_what_is_left_unprocessed(server, fault, new_table):
    table = new_table(pk="S")
    fault("add", "--table", table.name, "--operation", "BatchWriteItem", "--error", "throttle", "--share", "20%")
    # The last batches are small. One whose every item is throttled is an error, as on AWS, so the client must retry.
    resource = patient(server, boto3.resource, retries={"max_attempts": 20, "mode": "standard"})
    answers = []
    resource.meta.client.meta.events.register(
        "after-call.dynamodb.BatchWriteItem", lambda parsed, **_: answers.append(parsed)
    )
    with resource.Table(table.name).batch_writer() as batch:
        for number in range(100):
            batch.put_item(Item={"pk": str(number)})
    fault("remove", "--all")
    assert table.scan()["Count"] == 100
    assert any(answer.get("UnprocessedItems") for answer in answers), "no item of a hundred was left over"


def test_a_conflict_cancels_a_transaction(client, fault, new_table):
    table = new_table(pk="S")
    key = json.dumps({"pk": {"S": "b"}})
    fault("add", "--table", table.name, "--error", "conflict", "--key", key)
    actions = [{"Put": {"TableName": table.name, "Item": {"pk": {"S": pk}}}} for pk in "ab"]
    refused = error_of(client.transact_write_items, TransactItems=actions)
    assert refused["Error"]["Code"] == "TransactionCanceledException"
    assert [reason["Code"] for reason in refused["CancellationReasons"]] == ["None", "TransactionConflict"]
    assert error_of(table.put_item, Item={"pk": "b"})["Error"]["Code"] == "TransactionConflictException"
    table.put_item(Item={"pk": "a"})


def test_a_client_that_gives_up_does_not_know_whether_it_wrote(server, fault, new_table):
    table = new_table(pk="S")
    fault("add", "--table", table.name, "--operation", "PutItem", "--error", "timeout")
    client = patient(server, read_timeout=0.2, retries={"total_max_attempts": 1})
    for number in range(20):
        with pytest.raises(ReadTimeoutError):
            client.put_item(TableName=table.name, Item={"pk": {"S": str(number)}})
    fault("remove", "--all")
    # Each is carried out or not by chance: all or none of twenty is one case in half a million.
    assert 0 < table.scan()["Count"] < 20


def test_a_slow_answer_is_right(fault, new_table):
    table = new_table(pk="S")
    table.put_item(Item={"pk": "a", "v": 1})
    fault("add", "--table", table.name, "--error", "slow", "--delay", "50ms")
    assert table.get_item(Key={"pk": "a"})["Item"]["v"] == 1
    [listed] = json.loads(fault("list", "--json"))["faults"]
    assert (listed["delay"], listed["met"]) == ("50ms", 1)


def test_what_is_wrong_with_a_fault_is_said(server):
    def refused(*arguments):
        done = subprocess.run(
            [binary(), "fault", *arguments], env=server.environment(), capture_output=True, text=True, timeout=60
        )
        assert done.returncode != 0
        return done.stderr

    assert "throttle, internal, timeout, conflict, slow" in refused("add", "--error", "explode")
    assert "PutItem" in refused("add", "--error", "slow", "--operation", "putItem")
    assert "10%" in refused("add", "--error", "slow", "--share", "110%")
    assert "no fault 99" in refused("remove", "99")


def test_faults_of_a_file_are_on_from_the_start(tmp_path):
    file = tmp_path / "faults.yaml"
    file.write_text("- operation: ListTables\n  error: internal\n- {table: other, error: throttle, share: 1%}\n")
    running = Lodestone(None, "--faults", str(file))
    try:
        client = connect(running, boto3.client)
        assert error_of(client.list_tables)["Error"]["Code"] == "InternalServerError"
    finally:
        running.end()


def test_a_lagging_index_misses_a_new_item_and_finds_it_later():
    running = Lodestone(None, "--index-delay", "6s")
    try:
        resource = connect(running, boto3.resource)
        definition = {
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "g")],
            "GlobalSecondaryIndexes": [Index("by-g", g="S").definition()],
            "BillingMode": "PAY_PER_REQUEST",
        }
        table = resource.create_table(TableName="orders", **definition)
        table.put_item(Item={"pk": "a", "g": "x"})
        assert table.get_item(Key={"pk": "a"}, ConsistentRead=True)["Item"]["g"] == "x"

        def count():
            return table.query(IndexName="by-g", KeyConditionExpression=Key("g").eq("x"))["Count"]

        assert count() == 0, "it was written less than three seconds ago"
        until(lambda: count() == 1)
    finally:
        running.end()
