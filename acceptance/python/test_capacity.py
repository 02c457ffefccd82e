"""What requests cost and how large items may be, to the byte."""

import pytest
from boto3.dynamodb.conditions import Attr, Key
from schema import Index

KILOBYTE = 1024
ITEM_BYTES_MAX = 400 * KILOBYTE


def item_of(size, pk="k"):
    """An item of exactly that many bytes: names and values."""
    item = {"pk": pk, "v": ""}
    return {**item, "v": "x" * (size - len("pk") - len(pk) - len("v"))}


@pytest.fixture
def simple(new_table):
    return new_table(pk="S")


def consumed(answer):
    return answer["ConsumedCapacity"]["CapacityUnits"]


@pytest.mark.parametrize(
    "size, write, strong",
    [(100, 1, 1), (1024, 1, 1), (1025, 2, 1), (4096, 4, 1), (4097, 5, 2), (10_240, 10, 3), (ITEM_BYTES_MAX, 400, 100)],
)
def test_a_write_is_charged_per_kilobyte_and_a_read_per_four(simple, size, write, strong):
    """B22 and B13: an eventually consistent read is half."""
    total = {"ReturnConsumedCapacity": "TOTAL"}
    assert consumed(simple.put_item(Item=item_of(size), **total)) == write
    assert consumed(simple.get_item(Key={"pk": "k"}, ConsistentRead=True, **total)) == strong
    assert consumed(simple.get_item(Key={"pk": "k"}, **total)) == strong / 2
    condition = {"KeyConditionExpression": Key("pk").eq("k")}
    assert consumed(simple.query(**condition, ConsistentRead=True, **total)) == strong
    assert consumed(simple.put_item(Item={"pk": "k"}, **total)) == write, "the larger of before and after"
    assert consumed(simple.delete_item(Key={"pk": "k"}, **total)) == 1


def test_what_is_not_there_costs_the_least(simple):
    """B22: half a unit to look for, one to look for surely, one to delete."""
    total = {"ReturnConsumedCapacity": "TOTAL"}
    assert consumed(simple.get_item(Key={"pk": "k"}, **total)) == 0.5
    assert consumed(simple.get_item(Key={"pk": "k"}, ConsistentRead=True, **total)) == 1
    assert consumed(simple.delete_item(Key={"pk": "k"}, **total)) == 1


def test_a_batch_rounds_each_item_by_itself(client, resource, simple):
    """B22: two halves of a unit are two units in a batch."""
    total = {"ReturnConsumedCapacity": "TOTAL"}
    puts = [{"PutRequest": {"Item": item_of(1500, pk)}} for pk in "ab"]
    [written] = resource.batch_write_item(RequestItems={simple.name: puts}, **total)["ConsumedCapacity"]
    assert written == {"TableName": simple.name, "CapacityUnits": 4.0}
    keys = {"Keys": [{"pk": "a"}, {"pk": "b"}, {"pk": "missing"}], "ConsistentRead": True}
    [read] = resource.batch_get_item(RequestItems={simple.name: keys}, **total)["ConsumedCapacity"]
    assert read == {"TableName": simple.name, "CapacityUnits": 3.0}


def test_an_item_of_400_kilobytes_is_the_largest(simple):
    """B13: names count, and one byte more is refused with nothing written."""
    simple.put_item(Item=item_of(ITEM_BYTES_MAX))
    too_large = "Item size has exceeded the maximum allowed size"
    with pytest.raises(simple.meta.client.exceptions.ClientError, match=too_large):
        simple.put_item(Item=item_of(ITEM_BYTES_MAX + 1, pk="more"))
    with pytest.raises(simple.meta.client.exceptions.ClientError, match="size to update has exceeded"):
        simple.update_item(
            Key={"pk": "k"}, UpdateExpression="SET w = :w", ExpressionAttributeValues={":w": "x"}
        )
    assert simple.scan(Select="COUNT")["Count"] == 1


def test_five_indexes_make_six_writes_of_one(new_table):
    """B9: each index is charged beside the table, and only when its entry changes."""
    indexes = [Index(f"index-{n}", "KEYS_ONLY", **{f"k{n}": "S"}) for n in range(5)]
    table = new_table(indexes=indexes, pk="S")
    item = {"pk": "a", **{f"k{n}": "x" for n in range(5)}}

    def cost(**arguments):
        answer = table.put_item(ReturnConsumedCapacity="INDEXES", **arguments)["ConsumedCapacity"]
        parts = answer.get("GlobalSecondaryIndexes", {})
        indexed = {name: part["CapacityUnits"] for name, part in parts.items()}
        assert answer["CapacityUnits"] == answer["Table"]["CapacityUnits"] + sum(indexed.values())
        return answer["CapacityUnits"], indexed

    assert cost(Item=item) == (6, {index.name: 1 for index in indexes})
    assert cost(Item={**item, "note": "not projected"}) == (1, {})
    assert cost(Item={**item, "k3": "moved"}) == (3, {"index-3": 2})
    assert cost(Item={"pk": "a"}) == (6, {index.name: 1 for index in indexes})


def test_a_transaction_costs_twice_as_much(client, simple, new_table):
    """B11 and B22: writes, reads, checks and the missing, by table."""
    other = new_table(pk="S")

    def put(table, size):
        item = {name: {"S": value} for name, value in item_of(size).items()}
        return {"Put": {"TableName": table.name, "Item": item}}

    def units_of(answer):
        return {part["TableName"]: part["CapacityUnits"] for part in answer["ConsumedCapacity"]}

    total = {"ReturnConsumedCapacity": "TOTAL"}
    written = client.transact_write_items(TransactItems=[put(simple, 1025), put(other, 100)], **total)
    assert units_of(written) == {simple.name: 4.0, other.name: 2.0}
    assert all(part["WriteCapacityUnits"] == part["CapacityUnits"] for part in written["ConsumedCapacity"])

    check = {"ConditionCheck": {
        "TableName": simple.name, "Key": {"pk": {"S": "k"}}, "ConditionExpression": "attribute_exists(pk)",
    }}
    assert units_of(client.transact_write_items(TransactItems=[check], **total)) == {simple.name: 4.0}

    gets = [{"Get": {"TableName": simple.name, "Key": {"pk": {"S": pk}}}} for pk in ("k", "missing")]
    read = client.transact_get_items(TransactItems=gets, **total)
    assert units_of(read) == {simple.name: 4.0}
    assert all(part["ReadCapacityUnits"] == part["CapacityUnits"] for part in read["ConsumedCapacity"])


def test_a_filter_saves_payload_and_nothing_else(table):
    """B23: what is examined and charged is the same with a filter, without one, and when counting."""
    with table.batch_writer() as batch:
        for number in range(20):
            batch.put_item(Item={"pk": "p", "sk": f"{number:02}", "even": number % 2 == 0, "v": "x" * 1000})
    query = {"KeyConditionExpression": Key("pk").eq("p"), "ReturnConsumedCapacity": "TOTAL"}
    plain = table.query(**query)
    filtered = table.query(**query, FilterExpression=Attr("even").eq(True))
    nothing = table.query(**query, FilterExpression=Attr("even").eq("never"))
    counted = table.query(**query, Select="COUNT")
    assert [answer["Count"] for answer in (plain, filtered, nothing, counted)] == [20, 10, 0, 20]
    assert all(answer["ScannedCount"] == 20 for answer in (plain, filtered, nothing, counted))
    assert {consumed(answer) for answer in (plain, filtered, nothing, counted)} == {2.5}
    assert "Items" not in counted and nothing["Items"] == []
