"""`lodestone model code --language go`: a package with types, key builders and functions with parameters.

The packages of all example models, and of one with all kinds of attributes and requests, are built into the program of
`acceptance/go`. Each function is called with values of the example data: it must send exactly the requests that `prove`
proves, and return and leave what the pattern means.
"""

import base64
import json
import os
import re
import shutil
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest

from test_model_code import MODELS, check_left, filled, model, read, sent_examples  # noqa: F401
from test_model_library import EXAMPLES, MAY_ENTER, library_name, normal, total

PROGRAM = Path(__file__).parents[1] / "go"
# Entities, attributes and patterns with names that Go has a meaning for.
NAMES = MODELS.parents[1] / "acceptance" / "models" / "names.yaml"
# Where Debian's packages have the SDK.
SDK = "/usr/share/gocode"


def package_name(path):
    return library_name(path).replace("_", "")


def go(folder, *arguments):
    """Go without the network: `cargo xtask acceptance` installs it, and says where it caches what it builds."""
    settings = {
        "GO111MODULE": "off",
        "GOPATH": f"{folder}:{SDK}",
        "GOFLAGS": "",
        "CGO_ENABLED": "0",
    }
    done = subprocess.run(
        arguments, cwd=folder, env={**os.environ, **settings}, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The packages of all models, and the program that has them."""
    folder = tmp_path_factory.mktemp("go")
    for path in [*EXAMPLES, NAMES]:
        package = folder / "src" / "models" / package_name(path)
        package.mkdir(parents=True)
        (package / "library.go").write_text(model("code", path, "--language", "go"))
        (package / "calls.go").write_text(model("code", path, "--language", "go", "--calls"))
    names = sorted(package_name(path) for path in EXAMPLES)
    imports = "".join(f'\t"models/{name}"\n' for name in names)
    entries = "".join(f'\t"{name}": {name}.Calls,\n' for name in names)
    program = folder / "src" / "caller"
    shutil.copytree(PROGRAM, program)
    (program / "models.go").write_text(
        'package main\n\nimport (\n\t"context"\n\n\t"github.com/aws/aws-sdk-go-v2/service/dynamodb"\n'
        f"\n{imports})\n\n"
        "var models = map[string]map[string]func(ctx context.Context, client *dynamodb.Client) (any, error){\n"
        f"{entries}}}\n"
    )
    return folder


@pytest.fixture(scope="module")
def program(sources):
    go(sources, "go", "build", "-o", "caller", "caller")
    return sources / "caller"


@pytest.fixture
def caller(program):
    """A function that starts the program for a model, and one that calls the function of a pattern."""
    processes = []

    def start(server, name):
        process = subprocess.Popen(
            [program, name], env=server.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        processes.append(process)
        patterns = json.loads(process.stdout.readline())

        def call(pattern):
            process.stdin.write(f"{pattern}\n")
            process.stdin.flush()
            answer = read(process.stdout.readline())
            assert answer["Error"] == "", f"{pattern}: {answer['Error']}"
            return answer["Found"], answer["Requests"] or []

        return patterns, call

    yield start
    for process in processes:
        process.stdin.close()
        process.wait(timeout=60)
        process.stdout.close()


def test_gofmt_and_vet_find_nothing_wrong_with_any_of_the_packages(sources):
    assert go(sources, "gofmt", "-l", "src/models", str(PROGRAM)) == ""
    go(sources, "go", "vet", "models/...")


def field_name(attribute):
    return re.sub("[^a-z0-9]", "", attribute.lower())


def is_value(found, stored):
    """Whether JSON of a Go value says what DynamoDB's JSON says."""
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
    assert len(records) == len(items)
    if in_order:
        for record, item in zip(records, items):
            assert is_read_from(record, item), (record, item)
    for item in items:
        assert any(is_read_from(record, item) for record in records), (records, item)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_function_sends_what_was_proven_and_returns_what_is_meant(filled, caller, path):  # noqa: F811
    server, client = filled(path)
    patterns, call = caller(server, package_name(path))
    examples = sent_examples(path)
    assert patterns == sorted(example["pattern"] for example in examples)
    stored = stored_items(client, client.list_tables()["TableNames"])
    # A writer that draws a shard is tried at last.
    for example in sorted(examples, key=lambda example: example["pattern"] == "view"):
        if example["pattern"] == "view":
            before = total(client, "page-views", "viewCount")
            call("view")
            assert total(client, "page-views", "viewCount") == before + 1
            continue
        found, sent = call(example["pattern"])
        if example["pattern"] != MAY_ENTER:
            assert [normal(request) for request in sent] == [normal(request) for request in example["requests"]]
        if "leaves" in example:
            check_left(client, path, example)
        else:
            check_found(example, found, stored)


def test_a_page_begins_where_the_last_one_ended(filled, caller):  # noqa: F811
    server, _ = filled(MODELS / "m16-comments.yaml")
    _, call = caller(server, "application")
    found, _ = call("pages")
    assert [[time[-3:] for time in page] for page in found] == [["04Z", "03Z", "02Z"], ["01Z", "00Z"]]


def test_no_item_is_nil_and_a_condition_that_fails_is_an_error_of_the_sdk(filled, caller):  # noqa: F811
    server, _ = filled(MODELS / "m16-comments.yaml")
    _, call = caller(server, "application")
    assert call("missing")[0] is True


def test_batches_are_cut_and_numbers_keep_all_their_digits(filled, caller):  # noqa: F811
    server, _ = filled(EXAMPLES[-1])
    _, call = caller(server, "application")
    found, sent = call("digits")
    assert found == 60
    assert [len(request["RequestItems"]["measured"]) for request in sent[:3]] == [25, 25, 10]
