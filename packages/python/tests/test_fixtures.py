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


GUARDED = """
model: songs
table: { name: Songs, partition: Artist }
entities:
  Song: { key: { Artist: "{artist}" }, attributes: { artist: string } }
patterns:
  get-song: { get: Song, by: artist, rate: 1/s, consistency: eventual }
"""
GUARDED_TESTS = """
from test_fixtures import SONGS


def test_a_key_is_known(dynamodb):
    dynamodb.create_table(**SONGS)
    assert "Item" not in dynamodb.get_item(TableName="Songs", Key={"Artist": {"S": "Nina Simone"}})


def test_a_scan_is_not(lodestone_environment):
    import boto3

    client = boto3.client("dynamodb")
    client.create_table(**SONGS)
    try:
        client.scan(TableName="Songs")
    except client.exceptions.ClientError:
        pass


def test_a_pause_lets_a_scan_pass(dynamodb, lodestone_guard):
    dynamodb.create_table(**SONGS)
    with lodestone_guard.paused():
        assert dynamodb.scan(TableName="Songs")["Count"] == 0
"""


def test_a_guard_fails_the_test_that_asks_what_the_model_does_not_know(tmp_path):
    (tmp_path / "model.yaml").write_text(GUARDED)
    (tmp_path / "test_songs.py").write_text(GUARDED_TESTS)
    command = [sys.executable, "-m", "pytest", "-rA", "--lodestone-guard=model.yaml", "test_songs.py"]
    environment = os.environ | {"PYTHONPATH": os.path.dirname(__file__)}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "1 failed, 2 passed" in run.stdout, run.stdout
    assert "FAILED test_songs.py::test_a_scan_is_not" in run.stdout
    assert "[scan, 1 times]" in run.stdout
