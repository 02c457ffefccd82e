"""`lodestone model code --language python`: a module with types, key builders and functions with parameters.

Each function of each example model, and of two that are made for it, is called with values of the
example data, on tables that the product makes and fills. It must send exactly the requests that `prove` proves, and return the items that the pattern means.
"""

import dataclasses
import importlib
import json
import re
import subprocess
import sys

import pytest

from test_model_code import MODELS, check_left, filled, load, model, plain, read, sent_examples  # noqa: F401


OWN_MODELS = MODELS.parents[1] / "acceptance" / "models"
# All kinds of attributes and requests.
EVERY_KIND = OWN_MODELS / "every-kind.yaml"
# Entities, attributes and patterns with names that languages have a meaning for.
NAMES = OWN_MODELS / "names.yaml"
EXAMPLES = [*sorted(MODELS.glob("m*.yaml")), EVERY_KIND, NAMES]

# The item may enter an index or be in it: the function writes the whole key, the example only what differs.
MAY_ENTER = ("escalate", "func")


def snake(name):
    """A field's name for an attribute's: `createdAt` -> `created_at`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower().replace("-", "_")


def stored_items(path):
    """The example data by table key."""
    keys = {}
    tables = json.loads(model("export", path, "--to", "create-table"))
    for table in tables if isinstance(tables, list) else [tables]:
        keys[table["TableName"]] = [part["AttributeName"] for part in table["KeySchema"]]
    found = []
    for batch in read(model("export", path, "--to", "sample-data")):
        for table, requests in batch["RequestItems"].items():
            for request in requests:
                item = plain(request["PutRequest"]["Item"])
                found.append(({name: item[name] for name in keys[table]}, item))
    return found


def records_of(answer):
    """All records of a result, of one entity or of several."""
    if answer is None:
        return []
    if hasattr(answer, "next"):
        return records_of(answer.items)
    if isinstance(answer, list):
        return answer
    values = [getattr(answer, field.name) for field in dataclasses.fields(answer)]
    if values and all(isinstance(value, list) for value in values):
        return [record for value in values for record in value]
    return [answer]


def is_read_from(record, item):
    """Whether every field has the value of its attribute."""
    attributes = {snake(name): value for name, value in item.items()}
    fields = dataclasses.fields(record)
    return all(getattr(record, field.name) == attributes.get(field.name.rstrip("_")) for field in fields)


def check_found(example, answer, stored):
    wanted = [plain(key) for key in example["finds"]]
    if isinstance(answer, int):
        assert answer == len(wanted)
        return
    items = [next(item for own, item in stored if own == key) for key in wanted]
    records = records_of(answer)
    assert len(records) == len(items)
    in_order = isinstance(answer, list) or hasattr(answer, "next")
    if in_order and example["operation"] not in ("BatchGetItem", "Scan"):
        for record, item in zip(records, items):
            assert is_read_from(record, item)
    for item in items:
        assert any(is_read_from(record, item) for record in records)


def normal(value):
    """A request as the wire has it, without what the SDK adds, sets in order."""
    if isinstance(value, dict):
        return {name: normal(one) for name, one in value.items() if name != "ClientRequestToken"}
    if isinstance(value, list):
        return sorted((normal(one) for one in value), key=lambda one: json.dumps(one, sort_keys=True, default=repr))
    return value


def record_requests(module):
    """The bodies of all requests that the module sends from now on."""
    sent = []
    events = module.dynamodb.meta.client.meta.events
    events.register("before-call.dynamodb", lambda params, **_: sent.append(read(params["body"])))
    return sent


@pytest.fixture
def imported(tmp_path, monkeypatch):
    """Generates, and imports, the library of a model and the calls of its functions."""
    names = []

    def generate(server, path):
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.syspath_prepend(str(tmp_path))
        name = library_name(path)
        (tmp_path / f"{name}.py").write_text(model("code", path, "--language", "python"))
        (tmp_path / "library_calls.py").write_text(model("code", path, "--language", "python", "--calls"))
        names.extend([name, "library_calls"])
        importlib.invalidate_caches()
        return importlib.import_module(name), importlib.import_module("library_calls").CALLS

    yield generate
    for name in names:
        sys.modules.pop(name, None)


def library_name(path):
    return snake(re.search(r"^model: (\S+)", path.read_text(), re.M)[1])


def test_a_type_checker_finds_nothing_wrong_with_any_of_the_modules(tmp_path):
    for path in EXAMPLES:
        name = library_name(path)
        (tmp_path / f"{name}.py").write_text(model("code", path, "--language", "python"))
        (tmp_path / f"{name}_calls.py").write_text(model("code", path, "--language", "python", "--calls"))
    checked = subprocess.run(
        ["mypy", "--strict", "--ignore-missing-imports", "--cache-dir", str(tmp_path / "cache"), "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert checked.returncode == 0, checked.stdout


def total(client, table, attribute):
    items = client.scan(TableName=table, ConsistentRead=True)["Items"]
    return sum(plain(item).get(attribute, 0) for item in items)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_function_sends_what_was_proven_and_returns_what_is_meant(filled, imported, path):  # noqa: F811
    server, client = filled(path)
    module, calls = imported(server, path)
    stored = stored_items(path)
    sent = record_requests(module)
    examples = sent_examples(path)
    assert sorted(calls) == sorted(example["pattern"] for example in examples)
    for example in examples:
        if example["pattern"] == "view":
            # The writer draws a shard: the counters together have one more.
            before = total(client, "page-views", "viewCount")
            calls["view"]()
            assert total(client, "page-views", "viewCount") == before + 1
            for item in client.scan(TableName="page-views")["Items"]:
                client.delete_item(TableName="page-views", Key={name: item[name] for name in ("PK", "SK")})
            load(client, path)
            continue
        sent.clear()
        answer = calls[example["pattern"]]()
        if example["pattern"] not in MAY_ENTER:
            assert [normal(request) for request in sent] == [normal(request) for request in example["requests"]]
        if "leaves" in example:
            check_left(client, path, example)
        else:
            check_found(example, answer, stored)


def test_a_page_begins_where_the_last_one_ended(filled, imported):  # noqa: F811
    path = MODELS / "m16-comments.yaml"
    server, client = filled(path)
    module, _ = imported(server, path)
    post = module.Post(post_id="p-1", title="t", body="b", created_at="2026-01-01T00:00:00Z")
    module.write_post(post)
    assert module.post("p-1") == post
    for second in range(5):
        at = f"2026-01-01T00:00:0{second}Z"
        module.comment(
            module.Comment(user_id="u-1", post_id="p-1", created_at=at, comment_id=f"c-{second}", text="hello")
        )
    page = module.comments_on_post("p-1", limit=3)
    assert [comment.created_at[-3:] for comment in page.items] == ["04Z", "03Z", "02Z"]
    page = module.comments_on_post("p-1", limit=3, start=page.next)
    assert [comment.created_at[-3:] for comment in page.items] == ["01Z", "00Z"]
    assert page.next is None
