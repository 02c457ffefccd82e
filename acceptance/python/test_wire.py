"""HTTP itself: compression, checksums, limits, what a browser or a load balancer asks."""

import gzip
import http.client
import json
import time
import zlib
from datetime import datetime, timezone
from types import SimpleNamespace

import boto3
import pytest
from botocore.exceptions import ClientError
from conftest import connect, key_schema
from lodestone import Lodestone

AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=ACCEPTANCE/{date}/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date;x-amz-target, Signature=" + "0" * 64
)


@pytest.fixture
def connection(server):
    opened = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    yield opened
    opened.close()


def ask(connection, operation, body, **headers):
    send(connection, operation, body, **headers)
    answer = connection.getresponse()
    return answer, answer.read()


def send(connection, operation, body, **headers):
    now = datetime.now(timezone.utc)
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(
        "POST",
        "/",
        body=body,
        headers={
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
            "X-Amz-Date": now.strftime("%Y%m%dT%H%M%SZ"),
            "Authorization": AUTHORIZATION.format(date=now.strftime("%Y%m%d")),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        },
    )


def test_many_calls_share_a_connection_and_each_has_its_own_id(connection):
    seen = set()
    for _ in range(5):
        answer, body = ask(connection, "ListTables", {})
        assert answer.status == 200
        assert answer.headers["Content-Type"] == "application/x-amz-json-1.0"
        assert int(answer.headers["x-amz-crc32"]) == zlib.crc32(body)
        seen.add(answer.headers["x-amzn-RequestId"])
    assert len(seen) == 5


@pytest.mark.parametrize(
    "encoding, compress", [("gzip", gzip.compress), ("deflate", zlib.compress)], ids=["gzip", "deflate"]
)
def test_requests_may_be_compressed(connection, table, encoding, compress):
    item = {"pk": {"S": "a"}, "sk": {"S": encoding}, "value": {"S": "x" * 5000}}
    body = compress(json.dumps({"TableName": table.name, "Item": item}).encode())
    answer, reply = ask(connection, "PutItem", body, Content_Encoding=encoding)
    assert answer.status == 200, reply
    assert table.get_item(Key={"pk": "a", "sk": encoding})["Item"]["value"] == "x" * 5000


@pytest.mark.parametrize(
    "encoding, expand", [("gzip", gzip.decompress), ("deflate", zlib.decompress)], ids=["gzip", "deflate"]
)
def test_large_replies_are_compressed_on_request(connection, table, encoding, expand):
    table.put_item(Item={"pk": "a", "sk": "b", "value": "x" * 5000})
    request = {"TableName": table.name, "Key": {"pk": {"S": "a"}, "sk": {"S": "b"}}}
    answer, body = ask(connection, "GetItem", request, Accept_Encoding=encoding)
    assert answer.headers["Content-Encoding"] == encoding
    assert json.loads(expand(body))["Item"]["value"]["S"] == "x" * 5000

    answer, body = ask(connection, "GetItem", request)
    assert answer.headers["Content-Encoding"] is None
    assert json.loads(body)["Item"]["value"]["S"] == "x" * 5000


@pytest.mark.parametrize(
    "body, kind",
    [(b"{", "SerializationException"), (b"[]", "SerializationException"), (b"{}", "ValidationException")],
)
def test_bad_bodies_are_client_errors_and_the_connection_lives_on(connection, body, kind):
    answer, reply = ask(connection, "GetItem", body)
    assert answer.status == 400
    assert json.loads(reply)["__type"].endswith(f"#{kind}")
    assert ask(connection, "ListTables", {})[0].status == 200


def test_an_unknown_operation_is_named_so(connection):
    answer, reply = ask(connection, "MakeCoffee", {})
    assert answer.status == 400
    assert json.loads(reply)["__type"].endswith("#UnknownOperationException")


def test_a_request_without_a_signature_is_refused(connection):
    answer, reply = ask(connection, "ListTables", {}, Authorization="")
    assert answer.status == 400
    assert json.loads(reply)["__type"].endswith("#MissingAuthenticationTokenException")


def test_health_is_a_plain_get(connection):
    connection.request("GET", "/")
    answer = connection.getresponse()
    assert answer.status == 200
    assert answer.read().startswith(b"healthy: ")


def preflight(connection, origin):
    connection.request(
        "OPTIONS",
        "/",
        headers={
            "Origin": origin,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "x-amz-target",
        },
    )
    answer = connection.getresponse()
    answer.read()
    return answer


def test_a_page_of_this_machine_may_ask(connection):
    answer = preflight(connection, "http://localhost:3000")
    assert answer.status == 200
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Access-Control-Max-Age"] == "172800"
    answer, _ = ask(connection, "ListTables", {}, Origin="http://localhost:3000")
    assert answer.status == 200


@pytest.mark.parametrize("origin", ["http://studio.example", "null"])
def test_a_page_from_elsewhere_may_not_ask(connection, origin):
    answer = preflight(connection, origin)
    assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (403, None)
    answer, body = ask(connection, "DeleteTable", {"TableName": "Songs"}, Origin=origin)
    assert answer.status == 403
    assert f"--cors {origin}" in json.loads(body)["Message"]


def test_a_name_that_is_not_ours_is_refused_with_the_flag_that_allows_it(server):
    """What an SDK shows when it is given a name of Docker's, or a page points its own name to this machine."""
    named = SimpleNamespace(endpoint=f"http://host.docker.internal:{server.port}")
    client = connect(named, boto3.client, proxies={"http": server.endpoint})
    with pytest.raises(ClientError, match="--allow-host host.docker.internal"):
        client.list_tables()


def test_clients_that_never_read_do_not_take_all_memory():
    """200 sockets ask for 16 MB each and read nothing. Unbounded that is 3.4 GB."""
    running = Lodestone()
    client = connect(running, boto3.client)
    client.create_table(TableName="Large", **key_schema(pk="S"))
    keys = [{"pk": {"S": str(number)}} for number in range(41)]
    for key in keys:
        client.put_item(TableName="Large", Item={**key, "value": {"S": "x" * 390_000}})
    before = running.resident_bytes()
    body = json.dumps({"RequestItems": {"Large": {"Keys": keys}}}).encode()
    connections = [http.client.HTTPConnection("127.0.0.1", running.port) for _ in range(200)]
    for opened in connections:
        send(opened, "BatchGetItem", body)
    most = 0
    for _ in range(30):
        time.sleep(0.1)
        most = max(most, running.resident_bytes() - before)
        assert client.get_item(TableName="Large", Key=keys[0], ProjectionExpression="pk")["Item"] == keys[0]
    for opened in connections:
        opened.close()
    running.end()
    assert most < 600e6, f"{most / 1e6:.0f} MB"
