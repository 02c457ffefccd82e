"""What the tests of compiled libraries share: a program calls the functions, and what it prints is compared.

The program is given the name of a model. It prints a list of the model's patterns. Then, for each pattern that it reads, it
calls the function and prints a line of JSON: the requests that were sent, and what the function returned.
"""

import base64
import json
import re
import subprocess
from decimal import Decimal

from test_model_code import check_left, read, sent_examples
from test_model_library import MAY_ENTER, normal, total


class Caller:
    """A program that runs until `end`."""

    def __init__(self, command, server):
        self.process = subprocess.Popen(
            command, env=server.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.patterns = json.loads(self.process.stdout.readline())

    def call(self, pattern):
        """What the function of the pattern returned, and the requests that it sent."""
        self.process.stdin.write(f"{pattern}\n")
        self.process.stdin.flush()
        answer = read(self.process.stdout.readline())
        assert answer["Error"] == "", f"{pattern}: {answer['Error']}"
        return answer["Found"], answer["Requests"] or []

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


def field_name(attribute):
    return re.sub("[^a-z0-9]", "", attribute.lower())


def is_value(found, stored):
    """Whether the program's JSON of a value says what DynamoDB's JSON says."""
    (kind, value), = stored.items()
    match kind:
        case "N":
            return Decimal(found) == Decimal(value)
        case "B":
            return base64.b64decode(found) == value
        case "NS":
            return {Decimal(one) for one in found} == {Decimal(one) for one in value}
        case "BS":
            return {base64.b64decode(one) for one in found} == set(value)
        case "SS":
            return set(found) == set(value)
        case "L":
            return len(found) == len(value) and all(map(is_value, (one["Value"] for one in found), value))
        case "M":
            return found.keys() == value.keys() and all(is_value(found[name]["Value"], value[name]) for name in value)
    return found == value


def is_read_from(record, item):
    """Whether every field has the value of its attribute."""
    attributes = {field_name(name): value for name, value in item.items()}
    for name, found in record.items():
        stored = attributes.get(field_name(name))
        if found is None or stored is None:
            if found is not stored:
                return False
        elif not is_value(found, stored):
            return False
    return True


def stored_items(client, tables):
    return [item for table in tables for item in client.scan(TableName=table, ConsistentRead=True)["Items"]]


def check_found(example, found, stored):
    if isinstance(found, int):
        assert found == len(example["finds"])
        return
    items = [next(item for item in stored if key.items() <= item.items()) for key in example["finds"]]
    in_order = isinstance(found, list) and example["operation"] not in ("BatchGetItem", "Scan")
    if isinstance(found, dict) and all(value is None or isinstance(value, list) for value in found.values()):
        found = [record for value in found.values() for record in value or []]
    records = found if isinstance(found, list) else [found] if found else []
    assert len(records) == len(items), (example["pattern"], records, items)
    if in_order:
        for record, item in zip(records, items):
            assert is_read_from(record, item), (record, item)
    for item in items:
        assert any(is_read_from(record, item) for record in records), (records, item)


def check_every_function(path, client, caller):
    """Each function sends what was proven, and returns and leaves what the pattern means."""
    examples = sent_examples(path)
    assert sorted(caller.patterns) == sorted(example["pattern"] for example in examples)
    stored = stored_items(client, client.list_tables()["TableNames"])
    # A writer that draws a shard is tried at last.
    for example in sorted(examples, key=lambda example: example["pattern"] == "view"):
        if example["pattern"] == "view":
            before = total(client, "page-views", "viewCount")
            caller.call("view")
            assert total(client, "page-views", "viewCount") == before + 1
            continue
        found, sent = caller.call(example["pattern"])
        if example["pattern"] not in MAY_ENTER:
            proven = [normal(request) for request in example["requests"]]
            assert [normal(request) for request in sent] == proven, example["pattern"]
        if "leaves" in example:
            check_left(client, path, example)
        else:
            check_found(example, found, stored)
