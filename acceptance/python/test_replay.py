"""`lodestone replay`: the requests of an audit log, sent to servers again."""

import json
import subprocess

import boto3
import pytest
from botocore.exceptions import ClientError

from conftest import connect
from lodestone import Lodestone, binary

CREATE = {
    "TableName": "shop",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK")],
    "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
}
REQUESTS = 1 + 8 + 5


def application(client):
    """A table, eight items, and five requests on them, of which one fails."""
    client.create_table(**CREATE)
    for number in range(8):
        key = {"PK": {"S": "CUST#ada@x.example"}, "SK": {"S": f"ORDER#2026-01-0{number + 1}"}}
        client.put_item(TableName="shop", Item=key | {"customer": {"S": "ada@x.example"}, "total": {"N": str(number)}})
    values = {":c": {"S": "CUST#ada@x.example"}, ":o": {"S": "ORDER#2026-01"}}
    condition = "PK = :c and begins_with(SK, :o)"
    found = client.query(TableName="shop", KeyConditionExpression=condition, ExpressionAttributeValues=values)
    assert found["Count"] == 8
    values = {":c": {"S": "ada@x.example"}}
    found = client.scan(TableName="shop", FilterExpression="customer = :c", ExpressionAttributeValues=values)
    assert found["Count"] == 8
    client.get_item(TableName="shop", Key=key)
    client.delete_item(TableName="shop", Key=key)
    with pytest.raises(ClientError):
        client.put_item(TableName="shop", Item=key, ConditionExpression="attribute_exists(PK)")


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """The log of a server on which the application ran."""
    path = tmp_path_factory.mktemp("audit") / "audit.jsonl"
    server = Lodestone(None, "--audit", str(path), "--audit-bodies")
    application(connect(server, boto3.client))
    server.end()
    return path


@pytest.fixture
def servers():
    running = [Lodestone(), Lodestone()]
    yield running
    for server in running:
        server.end()


def replay(log, *options, servers=()):
    endpoints = [word for server in servers for word in ("--endpoint-url", server.endpoint)]
    command = [binary(), "replay", str(log), *endpoints, *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def result(log, *options, servers):
    run = replay(log, "--json", *options, servers=servers)
    assert run.returncode in (0, 1), run.stderr
    return json.loads(run.stdout)


def test_two_empty_servers_answer_the_same(log, servers):
    run = replay(log, servers=servers)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"All {REQUESTS} answers are the same." in run.stdout
    assert connect(servers[1], boto3.client).scan(TableName="shop")["Count"] == 7


def test_one_server_is_compared_with_the_log(log, servers):
    found = result(log, servers=servers[:1])
    assert (found["requests"], found["differing"]) == (REQUESTS, 0)
    asked, logged = found["operations"]["Query"]["sides"]
    assert (asked["units"], logged["units"], logged["dollars"]) == (0.5, None, None)


def test_units_have_the_price_of_a_region(log, servers):
    def puts(*region):
        return [side["dollars"] for side in result(log, *region, servers=servers)["operations"]["PutItem"]["sides"]]

    # Eight items; the write that fails consumes a unit, and its error does not say so.
    assert puts() == pytest.approx([8 * 0.625 / 1e6] * 2)
    assert "there are no prices for nowhere-1" in replay(log, "--region", "nowhere-1", servers=servers).stderr


def test_what_differs_is_found_with_its_line(log, servers):
    client = connect(servers[1], boto3.client)
    client.create_table(**CREATE)
    client.put_item(TableName="shop", Item={"PK": {"S": "CUST#ada@x.example"}, "SK": {"S": "ORDER#2026-01-31"}})
    run = replay(log, servers=servers)
    assert run.returncode == 1
    assert "CreateTable: ok and ResourceInUseException" in run.stdout
    assert "Query: Count is 8 and 9" in run.stdout


def test_reads_only_changes_nothing(log, servers):
    client = connect(servers[0], boto3.client)
    client.create_table(**CREATE)
    found = result(log, "--reads-only", servers=servers[:1])
    assert sorted(found["operations"]) == ["GetItem", "Query", "Scan"]
    assert found["leftOut"] == REQUESTS - 3
    assert client.scan(TableName="shop")["Count"] == 0


def test_time_is_kept_if_it_is_asked_for(log, servers):
    # So slow a factor would take hours for the whole log: the limit ends it.
    assert result(log, "--speed", "1", "--limit", "2", servers=servers[:1])["requests"] == 2


def test_pseudonyms_hide_values_and_requests_find_what_they_found(log, servers, tmp_path):
    safe = tmp_path / "safe.jsonl"
    assert replay(log, "--pseudonyms", "--secret", "a secret", "--write", str(safe)).returncode == 0
    text = safe.read_text()
    assert "ada" not in text and "x.example" not in text and "ORDER#2026-01-08" in text
    found = result(safe, servers=servers[:1])
    assert (found["requests"], found["differing"]) == (REQUESTS, 0)


def test_what_can_not_be_replayed_is_said(log, tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    server = Lodestone()
    try:
        assert "the log has none with a body" in replay(empty, servers=[server]).stderr
    finally:
        server.end()
    assert replay(tmp_path / "nowhere", servers=[server]).returncode == 2
    assert "http" in replay(log, "--limit", "1", servers=[server]).stderr
