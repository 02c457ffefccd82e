"""Primary keys: one item or a sorted partition, the conditions a Query can put on them."""

import pytest
from boto3.dynamodb.conditions import Key


def test_a_simple_key_names_one_item(new_table):
    """B1: a second put of the key replaces the item."""
    table = new_table(id="S")
    for version in (1, 2):
        table.put_item(Item={"id": "a", "version": version})
    assert table.scan()["Items"] == [{"id": "a", "version": 2}]
    assert table.query(KeyConditionExpression=Key("id").eq("a"))["Items"] == [{"id": "a", "version": 2}]


def test_a_composite_key_keeps_a_partition_in_order(new_table):
    """B1: the sort key identifies and sorts the items of one partition key."""
    table = new_table(pk="S", sk="S")
    for sk in ("m", "c", "z", "a"):
        for pk in ("one", "two"):
            table.put_item(Item={"pk": pk, "sk": sk})
    answer = table.query(KeyConditionExpression=Key("pk").eq("two"))
    assert answer["Items"] == [{"pk": "two", "sk": sk} for sk in ("a", "c", "m", "z")]


def test_partition_keys_are_spread_by_their_hash(new_table):
    """B1: neighbouring keys share no place, so each quarter of a table holds about a quarter of them."""
    table = new_table(pk="S")
    with table.batch_writer() as batch:
        for number in range(400):
            batch.put_item(Item={"pk": f"key-{number:04}"})
    quarters = [table.scan(Segment=segment, TotalSegments=4)["Count"] for segment in range(4)]
    assert sum(quarters) == 400
    assert all(50 < quarter < 150 for quarter in quarters), quarters


WORDS = ["a", "ab", "abc", "abd", "b", "ba", "c"]


@pytest.fixture
def words(new_table):
    """The same sort keys in a partition before and one after the one that is asked for."""
    table = new_table(pk="S", sk="S")
    with table.batch_writer() as batch:
        for pk in ("here", "her", "here!"):
            for sk in reversed(WORDS):
                batch.put_item(Item={"pk": pk, "sk": sk})
    return table


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize(
    "condition, holds",
    [
        (Key("sk").eq("abc"), lambda sk: sk == "abc"),
        (Key("sk").lt("abc"), lambda sk: sk < "abc"),
        (Key("sk").lte("abc"), lambda sk: sk <= "abc"),
        (Key("sk").gt("abc"), lambda sk: sk > "abc"),
        (Key("sk").gte("abc"), lambda sk: sk >= "abc"),
        (Key("sk").between("abc", "ba"), lambda sk: "abc" <= sk <= "ba"),
        (Key("sk").begins_with("ab"), lambda sk: sk.startswith("ab")),
    ],
    ids=["=", "<", "<=", ">", ">=", "between", "begins_with"],
)
def test_a_query_stays_in_one_partition_and_within_its_condition(words, condition, holds, forward):
    """B2: every operator on a sort key, in both directions."""
    answer = words.query(KeyConditionExpression=Key("pk").eq("here") & condition, ScanIndexForward=forward)
    expected = [sk for sk in WORDS if holds(sk)]
    assert answer["Items"] == [{"pk": "here", "sk": sk} for sk in (expected if forward else expected[::-1])]
    assert answer["ScannedCount"] == len(expected)


@pytest.mark.parametrize(
    "condition, message",
    [
        ("sk = :a", "Query condition missed key schema element: pk"),
        ("pk > :a", "Query key condition not supported"),
        ("pk = :a AND sk <> :a", "Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: <>"),
        ("pk = :a OR sk = :a", "Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: OR"),
        ("pk = :a AND colour = :a", "Query condition missed key schema element: sk"),
    ],
)
def test_a_query_outside_one_partition_is_refused(words, condition, message):
    """B2: one partition key, and a range of its sort key at most."""
    with pytest.raises(words.meta.client.exceptions.ClientError, match=message):
        words.query(KeyConditionExpression=condition, ExpressionAttributeValues={":a": "a"})


def test_sort_keys_of_text_are_compared_as_text(table):
    """B36: digits are text, so numbers are padded or typed as numbers."""
    for sk in ("9", "10", "1000", "0009", "0010", "1"):
        table.put_item(Item={"pk": "text", "sk": sk})
    answer = table.query(KeyConditionExpression=Key("pk").eq("text"))
    assert [item["sk"] for item in answer["Items"]] == ["0009", "0010", "1", "10", "1000", "9"]


RESERVED = ["result", "status", "total", "ttl", "name", "role", "region", "data"]
FREE = ["version", "price", "inventory", "view_count"]


@pytest.mark.parametrize("word", RESERVED)
def test_a_reserved_word_needs_a_placeholder(table, word):
    """B37: in every kind of expression, whatever its case."""
    key = {"pk": "a", "sk": "b"}
    table.put_item(Item={**key, word: 1})
    expected = f"reserved keyword: {word}"
    client_error = table.meta.client.exceptions.ClientError
    value = {"ExpressionAttributeValues": {":v": 1}}
    with pytest.raises(client_error, match=f"Invalid UpdateExpression: .*{expected}"):
        table.update_item(Key=key, UpdateExpression=f"SET {word} = :v", **value)
    with pytest.raises(client_error, match=f"Invalid ConditionExpression: .*{expected}"):
        table.put_item(Item=key, ConditionExpression=f"{word} = :v", **value)
    with pytest.raises(client_error, match=f"Invalid ProjectionExpression: .*{expected}"):
        table.get_item(Key=key, ProjectionExpression=word)
    with pytest.raises(client_error, match=f"Invalid FilterExpression: .*reserved keyword: {word.upper()}"):
        table.scan(FilterExpression=f"{word.upper()} = :v", **value)
    found = table.get_item(Key=key, ProjectionExpression="#w", ExpressionAttributeNames={"#w": word})
    assert found["Item"] == {word: 1}


@pytest.mark.parametrize("word", FREE)
def test_an_ordinary_word_needs_no_placeholder(table, word):
    """B37: the attributes that the examples name as they are."""
    key = {"pk": "a", "sk": "b"}
    table.update_item(Key=key, UpdateExpression=f"SET {word} = :v", ExpressionAttributeValues={":v": 1})
    assert table.get_item(Key=key, ProjectionExpression=word)["Item"] == {word: 1}
