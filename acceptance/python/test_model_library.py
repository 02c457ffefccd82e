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
from decimal import Decimal

import boto3
import pydantic
import pytest

from test_model_code import MODELS, check_left, filled, load, model, plain, read, sent_examples  # noqa: F401


OWN_MODELS = MODELS.parents[1] / "acceptance" / "models"
# All kinds of attributes and requests.
EVERY_KIND = OWN_MODELS / "every-kind.yaml"
# Entities, attributes and patterns with names that languages have a meaning for.
NAMES = OWN_MODELS / "names.yaml"
# A transaction that counts, and counters.
LIKES = OWN_MODELS / "photo-likes.yaml"
EXAMPLES = [*sorted(MODELS.glob("m*.yaml")), EVERY_KIND, NAMES, LIKES]

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


def record_requests(library):
    """The bodies of all requests that the library sends from now on."""
    sent = []
    events = library.dynamodb.meta.client.meta.events
    events.register("before-call.dynamodb", lambda params, **_: sent.append(read(params["body"])))
    return sent


@pytest.fixture
def imported(tmp_path, monkeypatch):
    """Generates, and imports, the library of a model and the calls of its functions."""
    names = []

    def generate(server, path, *options):
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.syspath_prepend(str(tmp_path))
        name = library_name(path)
        (tmp_path / f"{name}.py").write_text(model("code", path, "--language", "python", *options))
        (tmp_path / "library_calls.py").write_text(model("code", path, "--language", "python", "--calls"))
        names.extend([name, "library_calls"])
        importlib.invalidate_caches()
        return importlib.import_module(name), importlib.import_module("library_calls").CALLS

    yield generate
    for name in names:
        sys.modules.pop(name, None)


def library_name(path):
    return snake(re.search(r"^model: (\S+)", path.read_text(), re.M)[1])


def class_of(module):
    """A library on the model's tables: its class is the last of the module."""
    classes = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__]
    return classes[-1]


def test_a_type_checker_finds_nothing_wrong_with_any_of_the_modules(tmp_path):
    for path in EXAMPLES:
        name = library_name(path)
        (tmp_path / f"{name}.py").write_text(model("code", path, "--language", "python"))
        (tmp_path / f"{name}_calls.py").write_text(model("code", path, "--language", "python", "--calls"))
        pydantic = model("code", path, "--language", "python", "--pydantic")
        (tmp_path / f"{name}_pydantic.py").write_text(pydantic)
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
    library = class_of(module)()
    sent = record_requests(library)
    examples = sent_examples(path)
    assert sorted(calls) == sorted(example["pattern"] for example in examples)
    for example in examples:
        if example["pattern"] == "view":
            # The writer draws a shard: the counters together have one more.
            before = total(client, "page-views", "viewCount")
            calls["view"](library)
            assert total(client, "page-views", "viewCount") == before + 1
            for item in client.scan(TableName="page-views")["Items"]:
                client.delete_item(TableName="page-views", Key={name: item[name] for name in ("PK", "SK")})
            load(client, path)
            continue
        sent.clear()
        answer = calls[example["pattern"]](library)
        if example["pattern"] not in MAY_ENTER:
            assert [normal(request) for request in sent] == [normal(request) for request in example["requests"]]
        if "leaves" in example:
            check_left(client, path, example)
        else:
            check_found(example, answer, stored)


def with_comments(module, library):
    post = module.Post(post_id="p-1", title="t", body="b", created_at="2026-01-01T00:00:00Z")
    library.write_post(post)
    for second in range(5):
        at = f"2026-01-01T00:00:0{second}Z"
        library.comment(
            module.Comment(user_id="u-1", post_id="p-1", created_at=at, comment_id=f"c-{second}", text="hello")
        )
    return post


def seconds(comments):
    return [comment.created_at[-3:] for comment in comments]


def test_a_page_begins_where_the_last_one_ended(filled, imported):  # noqa: F811
    path = MODELS / "m16-comments.yaml"
    server, client = filled(path)
    module, _ = imported(server, path)
    library = module.Comments()
    post = with_comments(module, library)
    assert library.post("p-1") == post
    page = library.comments_on_post("p-1", limit=3)
    assert seconds(page.items) == ["04Z", "03Z", "02Z"]
    page = library.comments_on_post("p-1", limit=3, start=page.next)
    assert seconds(page.items) == ["01Z", "00Z"]
    assert page.next is None
    pages = [seconds(items) for items in library.comments_on_post_pages("p-1", limit=2)]
    assert pages == [["04Z", "03Z"], ["02Z", "01Z"], ["00Z"]]


def test_the_client_and_the_name_of_the_table_are_arguments(filled, imported):  # noqa: F811
    path = MODELS / "m16-comments.yaml"
    server, client = filled(path)
    module, _ = imported(server, path)
    own = boto3.resource("dynamodb")
    schema = client.describe_table(TableName="comments")["Table"]
    own.create_table(
        TableName="elsewhere",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=schema["KeySchema"],
        AttributeDefinitions=[
            one for one in schema["AttributeDefinitions"] if one["AttributeName"] in ("PK", "SK")
        ],
    )
    library = module.Comments(own, "elsewhere")
    post = module.Post(post_id="p-9", title="t", body="b", created_at="2026-01-01T00:00:00Z")
    library.write_post(post)
    assert library.dynamodb is own and library.post("p-9") == post
    assert module.Comments().post("p-9") is None


def test_a_condition_that_fails_has_an_error_of_its_own(filled, imported):  # noqa: F811
    server, client = filled(LIKES)
    module, _ = imported(server, LIKES)
    library = module.PhotoLikes()
    [photo, *_] = [item for _, item in stored_items(LIKES) if item["SK"] == "PHOTO"]
    like = module.Like(photo_id=photo["photoId"], user_id="u-new", liked_at="2026-01-01T00:00:00Z")
    library.like_photo(like)
    assert library.photo(like.photo_id).likes == photo["likes"] + 1
    with pytest.raises(module.ConditionFailed) as again:
        library.like_photo(like)
    assert again.value.pattern == "like-photo" and again.value.writes == [0]
    with pytest.raises(module.ConditionFailed) as of_nothing:
        library.like_photo(dataclasses.replace(like, photo_id="none"))
    assert of_nothing.value.writes == [1]


def test_a_counter_counts_by_one_unless_the_caller_says_otherwise(filled, imported):  # noqa: F811
    server, client = filled(LIKES)
    module, _ = imported(server, LIKES)
    library = module.PhotoLikes()
    [photo, *_] = [item for _, item in stored_items(LIKES) if item["SK"] == "PHOTO"]
    library.see_photo(photo["photoId"])
    library.see_photo(photo["photoId"], Decimal(5))
    assert library.photo(photo["photoId"]).views == photo["views"] + 6


def test_pydantic_checks_what_a_record_is_made_from(filled, imported):  # noqa: F811
    path = MODELS / "m16-comments.yaml"
    server, client = filled(path)
    module, _ = imported(server, path, "--pydantic")
    library = module.Comments()
    post = with_comments(module, library)
    assert library.post("p-1") == post and post.model_dump()["title"] == "t"
    with pytest.raises(pydantic.ValidationError):
        module.Post(post_id="p-1", title=7, body="b", created_at="2026-01-01T00:00:00Z")
