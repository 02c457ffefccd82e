"""HTTP itself: compression, checksums, limits, what a browser or a load balancer asks."""

import gzip
import http.client
import json
import zlib
from datetime import datetime, timezone

import pytest

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
    answer = connection.getresponse()
    return answer, answer.read()


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


def test_a_browser_may_ask_from_anywhere(connection):
    connection.request(
        "OPTIONS",
        "/",
        headers={
            "Origin": "http://studio.example",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "x-amz-target",
        },
    )
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Access-Control-Max-Age"] == "172800"
