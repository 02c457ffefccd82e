"""A shop in one table: a customer's profile and orders, order lines, prices, page views."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from boto3.dynamodb.conditions import Attr, Key

USER = "USER#u77"
ORDERS = [f"ORDER#2025-{month:02}-{day:02}#{month * 100 + day}" for month in (1, 2, 3) for day in (3, 9, 12, 25)]


@pytest.fixture
def shop(new_table):
    table = new_table(PK="S", SK="S")
    table.put_item(Item={"PK": USER, "SK": "PROFILE", "email": "wren@example.com"})
    for number, order in enumerate(random.Random(1).sample(ORDERS, len(ORDERS))):
        table.put_item(Item={"PK": USER, "SK": order, "total": number * 10})
    table.put_item(Item={"PK": "ORDER#501", "SK": "META", "placed": "2025-03-12"})
    for line in ("ITEM#002", "ITEM#001", "ITEM#010"):
        table.put_item(Item={"PK": "ORDER#501", "SK": line, "quantity": 1})
    table.put_item(Item={"PK": "PRODUCT#p1", "SK": "DETAILS", "price": 20, "version": 4})
    return table


def orders_of(user):
    return Key("PK").eq(user) & Key("SK").begins_with("ORDER#")


def test_a_profile_is_one_get(shop):
    assert shop.get_item(Key={"PK": USER, "SK": "PROFILE"})["Item"]["email"] == "wren@example.com"
    with pytest.raises(KeyError):
        shop.get_item(Key={"PK": "USER#nobody", "SK": "PROFILE"})["Item"]


def test_the_latest_orders_come_newest_first(shop):
    found = shop.query(KeyConditionExpression=orders_of(USER), ScanIndexForward=False, Limit=10)["Items"]
    assert [item["SK"] for item in found] == sorted(ORDERS, reverse=True)[:10]


def test_a_parent_and_its_children_come_together_in_order(shop):
    order = shop.query(KeyConditionExpression=Key("PK").eq("ORDER#501"))["Items"]
    assert [item["SK"] for item in order] == ["ITEM#001", "ITEM#002", "ITEM#010", "META"]
    user = shop.query(KeyConditionExpression=Key("PK").eq(USER))["Items"]
    assert [item["SK"] for item in user] == [*sorted(ORDERS), "PROFILE"]


def test_two_pages_meet_without_gap_or_repeat(shop):
    first = shop.query(KeyConditionExpression=orders_of(USER), Limit=5)
    assert first["LastEvaluatedKey"] == {"PK": USER, "SK": sorted(ORDERS)[4]}
    second = shop.query(
        KeyConditionExpression=orders_of(USER), Limit=5, ExclusiveStartKey=first["LastEvaluatedKey"]
    )
    assert [item["SK"] for item in first["Items"] + second["Items"]] == sorted(ORDERS)[:10]


def test_a_price_changes_only_from_the_version_that_was_seen(shop):
    def set_price(price, seen):
        return shop.update_item(
            Key={"PK": "PRODUCT#p1", "SK": "DETAILS"},
            UpdateExpression="SET price = :price, version = :next",
            ConditionExpression=Attr("version").eq(seen),
            ExpressionAttributeValues={":price": price, ":next": seen + 1},
            ReturnValues="ALL_NEW",
        )["Attributes"]

    changed = set_price(25, seen=4)
    assert (changed["price"], changed["version"]) == (25, 5)
    with pytest.raises(shop.meta.client.exceptions.ConditionalCheckFailedException):
        set_price(30, seen=4)
    assert shop.get_item(Key={"PK": "PRODUCT#p1", "SK": "DETAILS"})["Item"]["price"] == 25


def test_a_composite_sort_key_answers_ranges_and_prefixes(shop):
    for state, day in [("SHIPPED", d) for d in ("01-01", "01-15", "01-31", "02-01")] + [("PENDING", "01-20")]:
        shop.put_item(Item={"PK": "BOARD", "SK": f"{state}#2025-{day}"})

    def found(condition):
        items = shop.query(KeyConditionExpression=Key("PK").eq("BOARD") & condition)["Items"]
        return [item["SK"] for item in items]

    january = Key("SK").between("SHIPPED#2025-01-01", "SHIPPED#2025-01-31")
    assert found(january) == [f"SHIPPED#2025-{day}" for day in ("01-01", "01-15", "01-31")]
    assert found(Key("SK").begins_with("PENDING#")) == ["PENDING#2025-01-20"]


def test_a_sharded_counter_sums_exactly(shop):
    def view(number):
        shop.update_item(
            Key={"PK": "VIEWS#home", "SK": f"SHARD#{number % 10}"},
            UpdateExpression="ADD view_count :one",
            ExpressionAttributeValues={":one": 1},
        )

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(view, range(150)))
    shards = shop.query(
        KeyConditionExpression=Key("PK").eq("VIEWS#home") & Key("SK").begins_with("SHARD#"), ConsistentRead=True
    )["Items"]
    assert len(shards) == 10
    assert sum(item["view_count"] for item in shards) == 150
