"""Single writes: seen at once, whole, with any attributes."""

import threading

import pytest


def test_a_put_is_seen_at_once_by_a_strongly_consistent_read(table):
    """B12: fifty times in a row, by Get and by Query."""
    key = {"pk": "a", "sk": "b"}
    for number in range(50):
        table.put_item(Item={**key, "n": number})
        assert table.get_item(Key=key, ConsistentRead=True)["Item"]["n"] == number
    found = table.query(
        KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": "a"}, ConsistentRead=True
    )
    assert [item["n"] for item in found["Items"]] == [49]


def test_a_put_is_never_seen_in_part(table):
    """B12: two writers replace the whole item; a reader sees one or the other."""
    key, stop = {"pk": "a", "sk": "b"}, threading.Event()
    versions = [{**key, **{f"{letter}{n}": letter * 500 for n in range(20)}} for letter in "xy"]

    def write(item):
        while not stop.is_set():
            table.put_item(Item=item)

    table.put_item(Item=versions[0])
    writers = [threading.Thread(target=write, args=(item,)) for item in versions]
    for writer in writers:
        writer.start()
    try:
        seen = [table.get_item(Key=key, ConsistentRead=True)["Item"] for _ in range(100)]
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert all(item in versions for item in seen)


def test_a_put_on_condition_of_absence_is_an_insert(table):
    """B12: the second is refused, and refused inserts change nothing."""
    insert = {"ConditionExpression": "attribute_not_exists(pk)"}
    table.put_item(Item={"pk": "a", "sk": "b", "n": 1}, **insert)
    table.put_item(Item={"pk": "a", "sk": "c", "n": 1}, **insert)
    with pytest.raises(table.meta.client.exceptions.ConditionalCheckFailedException):
        table.put_item(Item={"pk": "a", "sk": "b", "n": 2}, **insert)
    assert sorted((item["sk"], item["n"]) for item in table.scan()["Items"]) == [("b", 1), ("c", 1)]


def test_items_have_the_attributes_that_they_are_given(table):
    """B29: new attributes, and another type for an old one, need no change of the table."""
    items = [
        {"pk": "p", "sk": "1", "colour": "red"},
        {"pk": "p", "sk": "2", "colour": {"r": 255, "g": 0}, "tags": {"a", "b"}},
        {"pk": "p", "sk": "3", "measured": [1, "two", None]},
    ]
    for item in items:
        table.put_item(Item=item)
    table.update_item(
        Key={"pk": "p", "sk": "1"}, UpdateExpression="SET added = :x", ExpressionAttributeValues={":x": 1}
    )
    found = table.query(KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": "p"})["Items"]
    assert found == [{**items[0], "added": 1}, *items[1:]]
