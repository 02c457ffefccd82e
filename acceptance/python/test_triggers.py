"""Triggers: functions get the changes of a table, as Lambda delivers them."""

import json
import shlex
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import boto3
import pytest
from conftest import connect
from lodestone import Lodestone
from schema import key_schema
from wait import until

FUNCTION = Path(__file__).parent / "functions" / "order_changes.py"


class Shop:
    """A server with a function, a table with a stream, and what the function has seen."""

    def __init__(self, folder):
        self.seen_file = folder / "seen"
        command = f"SEEN={shlex.quote(str(self.seen_file))} {shlex.quote(sys.executable)} {shlex.quote(str(FUNCTION))}"
        (folder / "s3").mkdir()
        options = ["--function", f"order-changes={command}", "--s3", str(folder / "s3")]
        self.server = Lodestone(folder / "data", *options)
        self.connect()
        self.table = self.resource.create_table(
            TableName="Orders",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
            **key_schema(pk="S"),
        )

    def connect(self):
        self.resource = connect(self.server, boto3.resource)
        self.functions = connect(self.server, boto3.client, "lambda")

    def restart(self):
        self.server.restart()
        self.connect()
        self.table = self.resource.Table("Orders")

    def map(self, **settings):
        return self.functions.create_event_source_mapping(
            EventSourceArn=self.table.latest_stream_arn,
            FunctionName="order-changes",
            StartingPosition="TRIM_HORIZON",
            **settings,
        )

    def seen(self):
        lines = self.seen_file.read_text().splitlines() if self.seen_file.exists() else []
        return [json.loads(line) for line in lines]

    def until_seen(self, count):
        return until(lambda: len(self.seen()) >= count and self.seen())


@pytest.fixture
def shop(tmp_path):
    shop = Shop(tmp_path)
    yield shop
    shop.server.end()


def test_a_function_gets_inserts_changes_and_deletions(shop):
    """A16: a handler that is written with Powertools sees INSERT, MODIFY and REMOVE with their images."""
    created = shop.map()
    assert created["State"] == "Creating" and created["BatchSize"] == 100
    shop.table.put_item(Item={"pk": "order-1", "total": 10})
    shop.table.update_item(
        Key={"pk": "order-1"}, UpdateExpression="SET #t = :t",
        ExpressionAttributeNames={"#t": "total"}, ExpressionAttributeValues={":t": 12},
    )
    shop.table.delete_item(Key={"pk": "order-1"})
    assert shop.until_seen(3) == [
        {"event": "created", "pk": "order-1", "total": "10"},
        {"event": "changed", "pk": "order-1", "total": "12"},
        {"event": "deleted", "pk": "order-1", "total": "12"},
    ]
    mapping = shop.functions.get_event_source_mapping(UUID=created["UUID"])
    assert (mapping["State"], mapping["FunctionArn"].split(":")[-1]) == ("Enabled", "order-changes")


def test_a_trigger_goes_on_after_a_restart_where_it_was(shop):
    """A16: what was delivered is not delivered again, and nothing is left out."""
    shop.map()
    shop.table.put_item(Item={"pk": "before", "total": 1})
    shop.until_seen(1)
    shop.restart()
    shop.table.put_item(Item={"pk": "after", "total": 2})
    assert [line["pk"] for line in shop.until_seen(2)] == ["before", "after"]


def test_a_filter_keeps_records_from_the_function(shop):
    """A16: only the changes that a filter pattern names are delivered."""
    pattern = {"eventName": ["INSERT"], "dynamodb": {"NewImage": {"kind": {"S": ["paid"]}}}}
    shop.map(FilterCriteria={"Filters": [{"Pattern": json.dumps(pattern)}]})
    shop.table.put_item(Item={"pk": "a", "kind": "open"})
    shop.table.put_item(Item={"pk": "b", "kind": "paid"})
    assert [line["pk"] for line in shop.until_seen(1)] == ["b"]


def test_a_record_that_a_function_cannot_handle_is_reported_and_left_behind(shop, tmp_path):
    """A16: after its retries a record is reported, and the records behind it are delivered."""
    shop.map(
        BatchSize=1,
        MaximumRetryAttempts=0,
        FunctionResponseTypes=["ReportBatchItemFailures"],
        DestinationConfig={"OnFailure": {"Destination": "arn:aws:sqs:us-east-1:000000000000:failed"}},
    )
    shop.table.put_item(Item={"pk": "same", "total": 1, "poison": True})
    shop.table.put_item(Item={"pk": "same", "total": 2})
    assert [line["total"] for line in shop.until_seen(1)] == ["2"]
    (report,) = until(lambda: list((tmp_path / "s3").rglob("failed*")))
    assert json.loads(report.read_text().splitlines()[0])["requestContext"]["condition"] == "RetryAttemptsExhausted"


CERTIFICATE = """
[req]
distinguished_name = name
x509_extensions = extensions
prompt = no
[name]
CN = localhost
[extensions]
basicConstraints = CA:FALSE
subjectAltName = DNS:localhost
"""


def test_a_function_behind_https_gets_records(tmp_path, monkeypatch):
    """A16: the certificate must be trusted; a certificate of one's own is named by SSL_CERT_FILE."""
    (tmp_path / "cnf").write_text(CERTIFICATE)
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-config", tmp_path / "cnf"]
    subprocess.run([*request, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    seen = []

    class Function(BaseHTTPRequestHandler):
        def do_POST(self):
            event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.extend(record["dynamodb"]["Keys"]["pk"]["S"] for record in event["Records"])
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Function)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener.socket = context.wrap_socket(listener.socket, server_side=True)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    server = Lodestone(None, "--function", f"secure=https://localhost:{listener.server_port}")
    try:
        table = connect(server, boto3.resource).create_table(
            TableName="Secure",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
            **key_schema(pk="S"),
        )
        connect(server, boto3.client, "lambda").create_event_source_mapping(
            EventSourceArn=table.latest_stream_arn, FunctionName="secure", StartingPosition="TRIM_HORIZON"
        )
        table.put_item(Item={"pk": "a"})
        until(lambda: seen == ["a"])
    finally:
        server.end()
        listener.shutdown()
