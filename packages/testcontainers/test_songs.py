"""Lodestone's image under Testcontainers for Python: one server for the run, and an account of its own for each test."""

import os
import random

import boto3
import pytest
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import HttpWaitStrategy

IMAGE = os.environ.get("LODESTONE_IMAGE", "lodestone:0.1.0")


@pytest.fixture(scope="session")
def lodestone():
    container = DockerContainer(IMAGE).with_command("serve --in-memory").with_exposed_ports(8000)
    with container.waiting_for(HttpWaitStrategy(8000).for_status_code(200)):
        yield f"http://{container.get_container_host_ip()}:{container.get_exposed_port(8000)}"


@pytest.fixture
def dynamodb(lodestone):
    account = "".join(random.choices("0123456789", k=12))
    return boto3.client(
        "dynamodb",
        endpoint_url=lodestone,
        region_name="us-east-1",
        aws_access_key_id=account,
        aws_secret_access_key="local",
    )


@pytest.mark.parametrize("artist", ["Nina Simone", "Miles Davis"])
def test_a_song_is_kept_and_each_test_begins_without_tables(dynamodb, artist):
    dynamodb.create_table(
        TableName="Songs",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "Artist", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "Artist", "KeyType": "HASH"}],
    )
    dynamodb.put_item(TableName="Songs", Item={"Artist": {"S": artist}})
    assert dynamodb.scan(TableName="Songs")["Items"] == [{"Artist": {"S": artist}}]


def test_the_flags_of_dynamodb_local_start_it_as_well():
    local = DockerContainer(IMAGE).with_command("-jar DynamoDBLocal.jar -sharedDb -inMemory").with_exposed_ports(8000)
    with local.waiting_for(HttpWaitStrategy(8000).for_status_code(400)):
        assert b"Initializing DynamoDB Local" in local.get_logs()[0]
