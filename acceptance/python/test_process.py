"""The process: how soon it is ready, how it ends, what survives, and what it says when it cannot start."""

import signal
import socket
import subprocess

import boto3
import pytest
from conftest import connect, key_schema
from lodestone import Lodestone, serve_arguments


@pytest.fixture
def stored(tmp_path):
    running = Lodestone(tmp_path / "data")
    yield running
    if running.process.poll() is None:
        running.end(signal.SIGKILL)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
def test_what_was_acknowledged_survives(stored, how):
    table = connect(stored, boto3.resource).create_table(TableName="Kept", **key_schema(pk="S"))
    table.wait_until_exists()
    for number in range(100):
        table.put_item(Item={"pk": f"item {number}", "number": number})
    table.delete_item(Key={"pk": "item 0"})
    table.update_item(
        Key={"pk": "item 1"}, UpdateExpression="ADD #n :one",
        ExpressionAttributeNames={"#n": "number"}, ExpressionAttributeValues={":one": 1},
    )

    stored.restart(how)

    table = connect(stored, boto3.resource).Table("Kept")
    found = {item["pk"]: int(item["number"]) for item in table.scan(ConsistentRead=True)["Items"]}
    assert found == {f"item {number}": max(number, 2) for number in range(1, 100)}


def test_sigterm_ends_the_process_in_peace(stored):
    assert stored.end(signal.SIGTERM) == 0


def test_memory_is_forgotten():
    running = Lodestone()
    connect(running, boto3.client).create_table(TableName="Forgotten", **key_schema(pk="S"))
    running.restart()
    assert connect(running, boto3.client).list_tables()["TableNames"] == []
    running.end()


def test_the_ready_line_names_the_endpoint_and_something_to_try(stored):
    assert stored.endpoint in stored.ready_line
    assert "aws dynamodb" in stored.ready_line


def refusal(arguments):
    """What the binary says when it cannot start."""
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=10)
    assert done.returncode not in (0, 101), "neither success nor a panic"
    assert "panicked" not in done.stderr
    return done.stderr


def test_a_port_that_is_taken_is_named():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = refusal(serve_arguments(None, port))
    assert f"port {port}" in said and "taken" in said


def test_a_folder_that_is_taken_names_its_holder(stored):
    said = refusal(serve_arguments(stored.data))
    assert str(stored.data) in said
    assert str(stored.process.pid) in said


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "thesis.txt").write_text("do not touch")
    said = refusal(serve_arguments(data))
    assert str(data) in said
    assert [path.name for path in data.iterdir()] == ["thesis.txt"]


def test_start_and_idle_memory_are_reported(tmp_path, capsys):
    """Printed and not asserted by the clock: the machine may be busy with something else."""
    for name, data in [("in memory", None), ("on an empty folder", tmp_path / "new")]:
        running = Lodestone(data)
        # The rest is pages of the program's file: the system reads as many of them as it likes, and can drop them.
        own, all_of_it = running.memory_bytes("RssAnon") / 1e6, running.resident_bytes() / 1e6
        with capsys.disabled():
            ready_ms = running.ready_after_seconds * 1e3
            print(f"\n{name}: ready after {ready_ms:.0f} ms, {own:.1f} MB of {all_of_it:.1f} MB its own", end="")
        running.end()
        assert own < 20
