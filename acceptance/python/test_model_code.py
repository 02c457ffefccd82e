"""`lodestone model code`: what it prints runs as it is, and finds and leaves what the pattern means.

The tables are made and filled by what the product exports. All example models run as Python; two of them also
as a shell script, since every call of the AWS CLI takes its time. JavaScript has a test of its own.
"""

import base64
import json
import subprocess
from pathlib import Path

import boto3
import pytest
from boto3.dynamodb.types import TypeDeserializer

from conftest import connect
from lodestone import Lodestone, binary

MODELS = Path(__file__).parents[2] / "examples" / "models"
FILLER = "_filler"

to_python = TypeDeserializer().deserialize


def model(command, path, *options):
    done = subprocess.run(
        [binary(), "model", command, str(path), *options], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def read(text):
    """DynamoDB's JSON: binary values are bytes, as the SDK has them."""

    def decoded(value):
        match value:
            case {"B": str(text)}:
                return {"B": base64.b64decode(text)}
            case {"BS": list(texts)}:
                return {"BS": [base64.b64decode(text) for text in texts]}
        return value

    return json.loads(text, object_hook=decoded)


def load(client, path):
    for batch in read(model("export", path, "--to", "sample-data")):
        assert not client.batch_write_item(**batch)["UnprocessedItems"]


@pytest.fixture
def filled():
    """A server with the tables of a model and its example data."""
    servers = []

    def fill(path):
        server = Lodestone()
        servers.append(server)
        client = connect(server, boto3.client)
        tables = json.loads(model("export", path, "--to", "create-table"))
        for table in tables if isinstance(tables, list) else [tables]:
            client.create_table(**table)
        load(client, path)
        return server, client

    yield fill
    for server in servers:
        server.end()


def plain(item):
    return {name: to_python(value) for name, value in item.items()}


def keys_of(example, items):
    """The parts of the found items that the expected keys have."""
    return [{name: item.get(name) for name in key} for key, item in zip(example["finds"], items, strict=True)]


def check_found(example, items, in_order=True):
    expected = [plain(key) for key in example["finds"]]
    found = keys_of(example, items)
    if not in_order:
        expected, found = (sorted(keys, key=str) for keys in (expected, found))
    assert found == expected


def check_left(client, path, example):
    """What is stored now; then everything is as it was, for the next pattern starts from the example data too."""
    for left in example["leaves"]:
        answer = client.get_item(TableName=left["table"], Key=left["key"], ConsistentRead=True)
        stored = answer.get("Item")
        if stored is not None:
            stored.pop(FILLER, None)
            stored = plain(stored)
        assert stored == (left["item"] and plain(left["item"])), left["key"]
        client.delete_item(TableName=left["table"], Key=left["key"])
    load(client, path)


def sent_examples(path):
    examples = [one for one in read(model("code", path, "--json"))["patterns"] if "requests" in one]
    assert examples
    return examples


def read_count(example):
    return any(request.get("Select") == "COUNT" for request in example["requests"])


@pytest.mark.parametrize("path", sorted(MODELS.glob("m*.yaml")), ids=lambda path: path.stem[:3])
def test_python_runs_as_it_is(filled, monkeypatch, path):
    server, client = filled(path)
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    module = {}
    exec(compile(model("code", path, "--language", "boto3"), f"{path.stem}.py", "exec"), module)
    for example in sent_examples(path):
        answer = module[example["function"]]()
        if "leaves" in example:
            check_left(client, path, example)
        elif read_count(example):
            assert answer == len(example["finds"])
        else:
            items = answer if isinstance(answer, list) else [answer] if answer else []
            check_found(example, items, in_order=example["operation"] != "BatchGetItem")


@pytest.mark.parametrize("name", ["m03-order-management", "m05-leaderboard"])
def test_a_shell_runs_it_as_it_is(filled, name):
    path = MODELS / f"{name}.yaml"
    server, client = filled(path)
    for example in sent_examples(path):
        script = model("code", path, "--pattern", example["pattern"], "--language", "cli")
        done = subprocess.run(
            ["sh", "-e"], input=script, env=server.environment(), capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        if "leaves" in example:
            check_left(client, path, example)
        else:
            answers = list(documents(done.stdout))
            items = [plain(item) for answer in answers for item in found_in(answer)]
            check_found(example, items, in_order=len(answers) == 1)


def documents(text):
    """The JSON documents that stand one behind the other."""
    decoder = json.JSONDecoder()
    while text := text.lstrip():
        document, end = decoder.raw_decode(text)
        yield document
        text = text[end:]


def found_in(answer):
    return answer["Items"] if "Items" in answer else [answer["Item"]] if "Item" in answer else []
