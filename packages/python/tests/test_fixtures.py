"""The fixtures of lodestone-db, tried as a project uses them that has installed the package."""

import os
import signal
import subprocess
import sys

import boto3
import pytest
from lodestone_db import Server, binary_path

SONGS = {
    "TableName": "Songs",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "Artist", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "Artist", "KeyType": "HASH"}],
}


@pytest.mark.parametrize("time", ["first", "second"])
def test_each_test_has_an_account_of_its_own(dynamodb, time):
    assert dynamodb.list_tables()["TableNames"] == []
    dynamodb.create_table(**SONGS)
    dynamodb.put_item(TableName="Songs", Item={"Artist": {"S": time}})
    assert dynamodb.scan(TableName="Songs")["Items"] == [{"Artist": {"S": time}}]


def test_client_and_resource_have_the_same_account(dynamodb, dynamodb_resource):
    dynamodb.create_table(**SONGS)
    dynamodb_resource.Table("Songs").put_item(Item={"Artist": "Nina Simone"})
    assert dynamodb.scan(TableName="Songs")["Count"] == 1


def test_code_with_its_own_client_finds_the_server(lodestone_environment, dynamodb):
    boto3.client("dynamodb").create_table(**SONGS)
    assert dynamodb.list_tables()["TableNames"] == ["Songs"]


def test_the_command_is_the_program(lodestone_endpoint):
    command = os.path.join(os.path.dirname(sys.executable), "lodestone")
    assert subprocess.run([command, "health", "--endpoint-url", lodestone_endpoint]).returncode == 0
    assert subprocess.run([command, "serve", "--no-such-flag"], stderr=subprocess.DEVNULL).returncode == 2
    assert subprocess.run([sys.executable, "-m", "lodestone_db", "version"]).returncode == 0


def test_a_server_that_can_not_start_says_why():
    with pytest.raises(RuntimeError, match="--no-such-flag"):
        Server(["--no-such-flag"])


def test_the_server_ends_with_a_test_run_that_is_killed(tmp_path):
    script = "import lodestone_db, time; print(lodestone_db.Server().url, flush=True); time.sleep(600)"
    run = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    url = run.stdout.readline().strip()
    run.send_signal(signal.SIGKILL)
    run.wait()
    health = [binary_path(), "health", "--endpoint-url", url, "--timeout", "1"]
    for _ in range(600):
        if subprocess.run(health, capture_output=True).returncode != 0:
            return
    pytest.fail(f"{url} still answers")
