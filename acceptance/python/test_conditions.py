"""Conditions: typed failures, the item that stood in the way, writers in a race."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from boto3.dynamodb.conditions import Attr

KEY = {"pk": "a", "sk": "b"}


def test_an_insert_succeeds_once(client, table):
    table.put_item(Item={**KEY, "n": 1}, ConditionExpression="attribute_not_exists(pk)")
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as refused:
        table.put_item(Item={**KEY, "n": 2}, ConditionExpression="attribute_not_exists(pk)")
    assert refused.value.response["Error"]["Message"] == "The conditional request failed"
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert table.get_item(Key=KEY)["Item"]["n"] == 1


@pytest.mark.parametrize("operation", ["put", "update", "delete"])
def test_a_failure_shows_the_item_when_asked(client, table, operation):
    table.put_item(Item={**KEY, "n": 1})
    common = {
        "ConditionExpression": "n > :n",
        "ExpressionAttributeValues": {":n": 5},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    calls = {
        "put": lambda: table.put_item(Item=KEY, **common),
        "update": lambda: table.update_item(Key=KEY, UpdateExpression="SET n = :n", **common),
        "delete": lambda: table.delete_item(Key=KEY, **common),
    }
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as refused:
        calls[operation]()
    assert refused.value.response["Item"] == {"pk": {"S": "a"}, "sk": {"S": "b"}, "n": {"N": "1"}}
    assert table.get_item(Key=KEY)["Item"]["n"] == 1


def test_the_conditions_that_boto3_builds_are_understood(client, table):
    table.put_item(Item={**KEY, "n": 5, "name": "magnet", "tags": {"x"}, "list": [1, 2], "nothing": None})
    holds = [
        Attr("n").eq(5) & Attr("n").ne(6),
        Attr("n").lt(6) | Attr("n").gt(100),
        ~Attr("n").gte(6),
        Attr("n").lte(5),
        Attr("n").between(5, 5),
        Attr("n").is_in([1, 5]),
        Attr("name").begins_with("mag"),
        Attr("name").contains("gne") & Attr("tags").contains("x"),
        Attr("list").size().eq(2),
        Attr("missing").not_exists() & Attr("n").exists(),
        Attr("nothing").attribute_type("NULL"),
        Attr("list[0]").eq(1),
    ]
    for condition in holds:
        table.put_item(Item={**KEY, **table.get_item(Key=KEY)["Item"]}, ConditionExpression=condition)
        with pytest.raises(client.exceptions.ConditionalCheckFailedException):
            table.delete_item(Key=KEY, ConditionExpression=~condition)


def test_of_many_concurrent_inserts_one_wins(client, table):
    def insert(writer):
        try:
            table.put_item(Item={**KEY, "writer": writer}, ConditionExpression="attribute_not_exists(pk)")
            return [writer]
        except client.exceptions.ConditionalCheckFailedException:
            return []

    with ThreadPoolExecutor(16) as pool:
        winners = sum(pool.map(insert, range(64)), [])
    assert len(winners) == 1
    assert table.get_item(Key=KEY, ConsistentRead=True)["Item"]["writer"] == winners[0]


def test_concurrent_increments_lose_nothing(table):
    def increment(_):
        table.update_item(Key=KEY, UpdateExpression="ADD visits :one", ExpressionAttributeValues={":one": 1})

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(increment, range(200)))
    assert table.get_item(Key=KEY, ConsistentRead=True)["Item"]["visits"] == 200
