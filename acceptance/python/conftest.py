"""Fixtures: a server, clients that point at it, tables that are gone after the test.

Each test that asks for `server` runs twice: in memory and on a folder.
"""

import itertools
import json
import subprocess

import boto3
import pytest
from botocore.config import Config

from lodestone import CREDENTIALS, Lodestone
from schema import key_schema

names = (f"Acceptance-{number}" for number in itertools.count(1))


@pytest.fixture(scope="session", params=["memory", "folder"])
def server(request, tmp_path_factory):
    running = Lodestone(tmp_path_factory.mktemp("data") if request.param == "folder" else None)
    yield running
    running.end()


def connect(server, kind, service="dynamodb", **config):
    """A boto3 client or resource. It tries once, so that a failure is seen and not repeated."""
    return kind(
        service,
        endpoint_url=server.endpoint,
        region_name=CREDENTIALS["AWS_DEFAULT_REGION"],
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        config=Config(retries={"total_max_attempts": 1}, max_pool_connections=32, **config),
    )


@pytest.fixture(scope="session")
def client(server):
    return connect(server, boto3.client)


@pytest.fixture(scope="session")
def resource(server):
    return connect(server, boto3.resource)


@pytest.fixture(scope="session")
def streams(server):
    return connect(server, boto3.client, "dynamodbstreams")


@pytest.fixture
def new_table(resource):
    """Creates tables that are deleted after the test."""
    created = []

    def create(name=None, indexes=(), throughput=None, **keys):
        keys = keys or {"pk": "S", "sk": "S"}
        schema = key_schema(indexes, throughput, **keys)
        table = resource.create_table(TableName=name or next(names), **schema)
        created.append(table)
        table.wait_until_exists()
        return table

    yield create
    for table in created:
        table.delete()


@pytest.fixture
def table(new_table):
    return new_table()


@pytest.fixture
def sent(resource):
    """The operations that the resource's client has put on the wire since the test began, retries too."""
    operations = []

    def note(event_name, **_):
        operations.append(event_name.rpartition(".")[2])

    events = resource.meta.client.meta.events
    events.register("before-send.dynamodb", note)
    yield operations
    events.unregister("before-send.dynamodb", note)


@pytest.fixture
def aws(server):
    """Runs the AWS CLI as a user would; the answer is what it prints, read as JSON."""

    def run(*arguments, fails_with=None):
        done = subprocess.run(
            ["aws", *arguments], env=server.environment(), capture_output=True, text=True, timeout=60
        )
        if fails_with:
            assert done.returncode != 0 and fails_with in done.stderr, done.stderr
            return None
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None

    return run
