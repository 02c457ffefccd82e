"""Items: every type there and back, returned values, capacity."""

from decimal import Decimal

import boto3
import pytest
from boto3.dynamodb.types import Binary
from conftest import connect

KEY = {"pk": "a", "sk": "b"}


def round_trip(table, value):
    table.put_item(Item={**KEY, "value": value})
    return table.get_item(Key=KEY, ConsistentRead=True)["Item"]["value"]


@pytest.mark.parametrize(
    "value",
    [
        "",
        "plain",
        "ünïcödé 🧲 \u0000 \" \\ \n",
        Decimal("0"),
        Decimal("-1.5"),
        Decimal("12345678901234567890123456789012345678"),
        Decimal("1E-130"),
        True,
        False,
        None,
        {"a", "b", ""},
        {Decimal(1), Decimal("-2.5"), Decimal(100)},
        [],
        [1, "two", [Decimal("3.0")], {"four": None}],
        {},
        {"deep": {"deeper": [{"deepest": True}]}, "with.dot": 1},
    ],
    ids=repr,
)
def test_values_come_back_as_they_went(table, value):
    assert round_trip(table, value) == value


def test_binary_values_come_back_as_they_went(table):
    every_byte = bytes(range(256))
    assert round_trip(table, every_byte) == Binary(every_byte)
    assert round_trip(table, b"") == Binary(b"")
    assert round_trip(table, {b"one", b"two", every_byte}) == {Binary(b"one"), Binary(b"two"), Binary(every_byte)}


def test_numbers_are_kept_by_value(client, table):
    def stored(text):
        item = {"pk": {"S": "a"}, "sk": {"S": "b"}, "value": {"N": text}}
        client.put_item(TableName=table.name, Item=item)
        key = {"pk": {"S": "a"}, "sk": {"S": "b"}}
        return client.get_item(TableName=table.name, Key=key)["Item"]["value"]["N"]

    assert stored("1.0") == "1"
    assert stored("-0") == "0"
    assert stored(".5") == "0.5"
    assert stored("+1e3") == "1000"
    assert stored("1E125") == "1" + "0" * 125
    assert stored("-9." + "9" * 37 + "E+125") == "-" + "9" * 38 + "0" * 88


@pytest.mark.parametrize(
    "value",
    [{"N": "1e126"}, {"N": "1" * 39}, {"N": "one"}, {"SS": []}, {"SS": ["a", "a"]}, {"NULL": False}, {}],
    ids=repr,
)
def test_values_that_dynamodb_cannot_hold_are_refused_and_nothing_is_written(server, table, value):
    unchecked = connect(server, boto3.client, parameter_validation=False)
    with pytest.raises(unchecked.exceptions.ClientError) as refused:
        unchecked.put_item(TableName=table.name, Item={"pk": {"S": "a"}, "sk": {"S": "b"}, "value": value})
    assert refused.value.response["Error"]["Code"] == "ValidationException"
    assert "Item" not in table.get_item(Key=KEY)


def test_a_missing_item_is_an_answer_without_item(table):
    assert "Item" not in table.get_item(Key=KEY)


def test_an_item_of_400_kb_fits_and_one_byte_more_does_not(client, table):
    names = len("pk") + len("sk") + len("value")
    room = 400 * 1024 - names - len("a") - len("b")
    assert round_trip(table, "x" * room) == "x" * room
    with pytest.raises(client.exceptions.ClientError, match="Item size has exceeded"):
        table.put_item(Item={**KEY, "value": "x" * (room + 1)})


def test_put_and_delete_return_the_old_item(table):
    assert "Attributes" not in table.put_item(Item={**KEY, "n": 1}, ReturnValues="ALL_OLD")
    assert table.put_item(Item={**KEY, "n": 2}, ReturnValues="ALL_OLD")["Attributes"] == {**KEY, "n": 1}
    assert table.delete_item(Key=KEY, ReturnValues="ALL_OLD")["Attributes"] == {**KEY, "n": 2}
    assert "Attributes" not in table.delete_item(Key=KEY, ReturnValues="ALL_OLD")


@pytest.mark.parametrize(
    "returns, expected",
    [
        ("NONE", None),
        ("ALL_OLD", {**KEY, "n": 1, "kept": "k"}),
        ("UPDATED_OLD", {"n": 1}),
        ("ALL_NEW", {**KEY, "n": 3, "kept": "k"}),
        ("UPDATED_NEW", {"n": 3}),
    ],
)
def test_update_returns_what_is_asked_for(table, returns, expected):
    table.put_item(Item={**KEY, "n": 1, "kept": "k"})
    answer = table.update_item(
        Key=KEY, UpdateExpression="SET n = n + :two", ExpressionAttributeValues={":two": 2}, ReturnValues=returns
    )
    assert answer.get("Attributes") == expected


def test_an_update_reaches_into_lists_maps_and_sets(table):
    table.put_item(
        Item={**KEY, "list": [1, 2], "map": {"a": 1, "b": 2}, "tags": {"x", "y"}, "gone": True, "count": 1}
    )
    answer = table.update_item(
        Key=KEY,
        UpdateExpression=(
            "SET #list = list_append(#list, :more), #map.a = if_not_exists(#map.z, :nine), fresh = :nine "
            "REMOVE gone, #map.b ADD #count :nine DELETE tags :x"
        ),
        ExpressionAttributeNames={"#list": "list", "#map": "map", "#count": "count"},
        ExpressionAttributeValues={":more": [3], ":nine": 9, ":x": {"x"}},
        ReturnValues="ALL_NEW",
    )
    assert answer["Attributes"] == {
        **KEY, "list": [1, 2, 3], "map": {"a": 9}, "tags": {"y"}, "count": 10, "fresh": 9,
    }


def test_a_projection_returns_only_what_it_names(table):
    table.put_item(Item={**KEY, "map": {"a": 1, "b": 2}, "list": [10, 20, 30], "other": True})
    answer = table.get_item(
        Key=KEY,
        ProjectionExpression="#map.a, #list[2]",
        ExpressionAttributeNames={"#map": "map", "#list": "list"},
    )
    assert answer["Item"] == {"map": {"a": 1}, "list": [30]}


def test_capacity_is_counted_by_size(table):
    def units(call, **arguments):
        return call(**arguments, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]["CapacityUnits"]

    big = {**KEY, "value": "x" * 8000}
    assert units(table.put_item, Item=big) == 8.0
    assert units(table.get_item, Key=KEY) == 1.0
    assert units(table.get_item, Key=KEY, ConsistentRead=True) == 2.0
    assert units(table.get_item, Key={"pk": "no", "sk": "item"}) == 0.5
    assert units(table.put_item, Item=KEY) == 8.0
    assert units(table.delete_item, Key=KEY) == 1.0
