"""Query and Scan: order, bounds, pages in both directions, filters, parallel segments."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from boto3.dynamodb.conditions import Attr, Key

COUNT = 57


@pytest.fixture
def numbered(new_table):
    """One partition of numbered items among others."""
    table = new_table(pk="S", sk="N")
    for pk, count in [("before", 3), ("here", COUNT), ("later", 3)]:
        for number in range(count):
            table.put_item(Item={"pk": pk, "sk": number, "even": number % 2 == 0, "text": f"item {number}"})
    return table


def pages_of(call, **arguments):
    while True:
        page = call(**arguments)
        yield page
        if "LastEvaluatedKey" not in page:
            return
        arguments["ExclusiveStartKey"] = page["LastEvaluatedKey"]


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("limit", [1, 7, COUNT, COUNT + 1])
def test_pages_of_a_query_lose_and_repeat_nothing(numbered, forward, limit):
    pages = list(
        pages_of(
            numbered.query,
            KeyConditionExpression=Key("pk").eq("here"),
            ScanIndexForward=forward,
            Limit=limit,
        )
    )
    found = [int(item["sk"]) for page in pages for item in page["Items"]]
    assert found == (list(range(COUNT)) if forward else list(reversed(range(COUNT))))
    assert all(page["Count"] == page["ScannedCount"] == len(page["Items"]) <= limit for page in pages)


@pytest.mark.parametrize(
    "condition, expected",
    [
        (Key("sk").eq(5), [5]),
        (Key("sk").lt(3), [0, 1, 2]),
        (Key("sk").lte(2), [0, 1, 2]),
        (Key("sk").gt(54), [55, 56]),
        (Key("sk").gte(55), [55, 56]),
        (Key("sk").between(9, 11), [9, 10, 11]),
    ],
    ids=["=", "<", "<=", ">", ">=", "between"],
)
def test_sort_key_conditions_bound_a_query(numbered, condition, expected):
    answer = numbered.query(KeyConditionExpression=Key("pk").eq("here") & condition)
    assert [int(item["sk"]) for item in answer["Items"]] == expected


def test_a_filter_hides_items_and_not_work(numbered):
    answer = numbered.query(
        KeyConditionExpression=Key("pk").eq("here"), FilterExpression=Attr("even").eq(True), Limit=10
    )
    assert (answer["Count"], answer["ScannedCount"]) == (5, 10)
    assert answer["LastEvaluatedKey"] == {"pk": "here", "sk": 9}


def test_counting_returns_no_items(numbered):
    answer = numbered.query(KeyConditionExpression=Key("pk").eq("here"), Select="COUNT")
    assert answer["Count"] == COUNT
    assert "Items" not in answer


def test_the_paginator_of_boto3_walks_a_scan(client, numbered):
    pages = client.get_paginator("scan").paginate(TableName=numbered.name, PaginationConfig={"PageSize": 10})
    found = [(item["pk"]["S"], int(item["sk"]["N"])) for page in pages for item in page["Items"]]
    assert len(found) == len(set(found)) == COUNT + 6


def test_a_page_ends_at_one_megabyte(table):
    for number in range(11):
        table.put_item(Item={"pk": "big", "sk": f"{number:02}", "value": "x" * 200_000})
    pages = list(pages_of(table.query, KeyConditionExpression=Key("pk").eq("big")))
    assert [page["Count"] for page in pages] == [6, 5], "the item that crosses the line is the page's last"
    assert pages[0]["LastEvaluatedKey"] == {"pk": "big", "sk": "05"}


@pytest.mark.parametrize("segments", [1, 4, 13])
def test_parallel_segments_are_disjoint_and_complete(new_table, segments):
    table = new_table(pk="S")
    for number in range(200):
        table.put_item(Item={"pk": f"key {number}"})

    def scan(segment):
        pages = pages_of(table.scan, Segment=segment, TotalSegments=segments, Limit=11)
        return [item["pk"] for page in pages for item in page["Items"]]

    with ThreadPoolExecutor(8) as pool:
        found = sum(pool.map(scan, range(segments)), [])
    assert sorted(found) == sorted(f"key {number}" for number in range(200))


def test_strings_are_ordered_by_their_bytes(table):
    keys = ["A", "Z", "a", "a\u0000", "aa", "b", "é", "\uffff", "𐀀"]
    for sk in reversed(keys):
        table.put_item(Item={"pk": "order", "sk": sk})
    answer = table.query(KeyConditionExpression=Key("pk").eq("order"))
    assert [item["sk"] for item in answer["Items"]] == sorted(keys, key=str.encode)


def test_binary_and_number_keys_are_ordered_by_value(new_table):
    numbers = [-100, -9, -1, 0, 1, 9, 10, 100]
    table = new_table(pk="N", sk="N")
    for sk in sorted(numbers, key=str):
        table.put_item(Item={"pk": 1, "sk": sk})
    answer = table.query(KeyConditionExpression=Key("pk").eq(1))
    assert [item["sk"] for item in answer["Items"]] == numbers

    blobs = [b"\x00", b"\x00\x00", b"\x00\xff", b"\x01", b"\xff", b"\xff\x00"]
    table = new_table(pk="B", sk="B")
    for sk in reversed(blobs):
        table.put_item(Item={"pk": b"p", "sk": sk})
    answer = table.query(KeyConditionExpression=Key("pk").eq(b"p"))
    assert [bytes(item["sk"]) for item in answer["Items"]] == blobs


def test_the_word_result_needs_a_placeholder(client, table):
    table.put_item(Item={"pk": "a", "sk": "b", "result": 1})
    with pytest.raises(client.exceptions.ClientError, match="reserved keyword: result"):
        table.query(KeyConditionExpression=Key("pk").eq("a"), ProjectionExpression="result")
    answer = table.query(
        KeyConditionExpression=Key("pk").eq("a"),
        ProjectionExpression="#r",
        ExpressionAttributeNames={"#r": "result"},
    )
    assert answer["Items"] == [{"result": 1}]
