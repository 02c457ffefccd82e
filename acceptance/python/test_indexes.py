"""Secondary indexes: who is in them, what they hold, how they are read, how many there may be."""

import pytest
from boto3.dynamodb.conditions import Attr, Key
from schema import Index, key_schema

GSI = Index("GSI1", GSI1PK="S", GSI1SK="S")


def put_all(table, items):
    with table.batch_writer() as batch:
        for item in items:
            batch.put_item(Item=item)


def in_index(table, name="GSI1"):
    return sorted(item["SK"] for item in table.scan(IndexName=name)["Items"])


def test_an_item_is_in_an_index_only_with_both_of_its_keys(new_table):
    """B3: one of the two is not enough."""
    table = new_table(indexes=[GSI], PK="S", SK="S")
    both = {"GSI1PK": "g", "GSI1SK": "h"}
    put_all(table, [
        {"PK": "a", "SK": "both", **both},
        {"PK": "a", "SK": "partition key", "GSI1PK": "g"},
        {"PK": "a", "SK": "sort key", "GSI1SK": "h"},
        {"PK": "a", "SK": "neither"},
    ])
    assert in_index(table) == ["both"]
    assert table.scan()["Count"] == 4


def test_an_update_brings_an_item_into_an_index_and_takes_it_out(new_table):
    """B3: membership follows the attributes, and a deleted item leaves too."""
    table = new_table(indexes=[GSI], PK="S", SK="S")
    key = {"PK": "a", "SK": "b"}

    def update(expression, **values):
        values = {f":{name}": value for name, value in values.items()}
        more = {"ExpressionAttributeValues": values} if values else {}
        table.update_item(Key=key, UpdateExpression=expression, **more)

    update("SET GSI1PK = :g", g="open")
    assert in_index(table) == []
    update("SET GSI1SK = :h", h="2026")
    assert in_index(table) == ["b"]
    update("REMOVE GSI1PK")
    assert in_index(table) == []
    update("SET GSI1PK = :g", g="again")
    assert in_index(table) == ["b"]
    table.delete_item(Key=key)
    assert in_index(table) == []


def test_one_index_serves_many_kinds_of_items(new_table):
    """B4: the same index keys hold a status, a category or an address."""
    table = new_table(indexes=[GSI], PK="S", SK="S")
    put_all(table, [
        {"PK": "USER#1", "SK": "ORDER#2", "GSI1PK": "STATUS#OPEN", "GSI1SK": "2026-02-01"},
        {"PK": "USER#2", "SK": "ORDER#1", "GSI1PK": "STATUS#OPEN", "GSI1SK": "2026-01-01"},
        {"PK": "PRODUCT#9", "SK": "DETAILS", "GSI1PK": "CATEGORY#tools", "GSI1SK": "PRODUCT#9"},
        {"PK": "USER#1", "SK": "PROFILE", "GSI1PK": "EMAIL#a@example.com", "GSI1SK": "USER#1"},
    ])

    def found(key):
        answer = table.query(IndexName="GSI1", KeyConditionExpression=Key("GSI1PK").eq(key))
        return [(item["PK"], item["SK"]) for item in answer["Items"]]

    assert found("STATUS#OPEN") == [("USER#2", "ORDER#1"), ("USER#1", "ORDER#2")]
    assert found("CATEGORY#tools") == [("PRODUCT#9", "DETAILS")]
    assert found("EMAIL#a@example.com") == [("USER#1", "PROFILE")]


def test_items_that_share_an_index_key_are_paged_without_loss(new_table):
    """B4: an index key is not unique; the page key carries the table's key beside it."""
    table = new_table(indexes=[GSI], PK="S", SK="S")
    put_all(table, [{"PK": f"p{n % 3}", "SK": f"{n:02}", "GSI1PK": "g", "GSI1SK": "same"} for n in range(20)])
    found, start = [], {}
    while True:
        page = table.query(IndexName="GSI1", KeyConditionExpression=Key("GSI1PK").eq("g"), Limit=3, **start)
        found += [item["SK"] for item in page["Items"]]
        if "LastEvaluatedKey" not in page:
            break
        assert set(page["LastEvaluatedKey"]) == {"PK", "SK", "GSI1PK", "GSI1SK"}
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    assert sorted(found) == [f"{n:02}" for n in range(20)]


@pytest.fixture
def both_kinds(new_table):
    """A table with a global and a local index."""
    return new_table(indexes=[GSI, Index("LSI1", local=True, PK="S", L="N")], PK="S", SK="S")


def test_a_strongly_consistent_read_sees_the_last_write(both_kinds):
    """B5: on the table and on a local index, by every operation that reads."""
    for number in range(20):
        both_kinds.put_item(Item={"PK": "p", "SK": "s", "L": number, "GSI1PK": "g", "GSI1SK": "h"})
        condition = {"KeyConditionExpression": Key("PK").eq("p"), "ConsistentRead": True}
        expected = [number]
        assert both_kinds.get_item(Key={"PK": "p", "SK": "s"}, ConsistentRead=True)["Item"]["L"] == number
        for answer in (
            both_kinds.query(**condition),
            both_kinds.query(IndexName="LSI1", **condition),
            both_kinds.scan(ConsistentRead=True),
            both_kinds.scan(IndexName="LSI1", ConsistentRead=True),
        ):
            assert [item["L"] for item in answer["Items"]] == expected


def test_a_global_index_refuses_strongly_consistent_reads(both_kinds):
    """B5: Query and Scan alike; eventually consistent ones pass."""
    query = {"IndexName": "GSI1", "KeyConditionExpression": Key("GSI1PK").eq("g")}
    message = "Consistent reads are not supported on global secondary indexes"
    with pytest.raises(both_kinds.meta.client.exceptions.ClientError, match=message):
        both_kinds.query(**query, ConsistentRead=True)
    with pytest.raises(both_kinds.meta.client.exceptions.ClientError, match=message):
        both_kinds.scan(IndexName="GSI1", ConsistentRead=True)
    assert both_kinds.query(**query, ConsistentRead=False)["Items"] == []


PROJECTED = {"PK": "p", "SK": "s", "G": "g"}


@pytest.mark.parametrize(
    "projection, expected",
    [
        ("KEYS_ONLY", PROJECTED),
        (["colour"], {**PROJECTED, "colour": "red"}),
        ("ALL", {**PROJECTED, "colour": "red", "weight": 3}),
    ],
    ids=["KEYS_ONLY", "INCLUDE", "ALL"],
)
def test_an_index_holds_what_it_projects(new_table, projection, expected):
    """B6: a copy of the item, with keys only, some attributes or all."""
    table = new_table(indexes=[Index("by-g", projection, G="S")], PK="S", SK="S")
    table.put_item(Item={**PROJECTED, "colour": "red", "weight": 3})
    assert table.query(IndexName="by-g", KeyConditionExpression=Key("G").eq("g"))["Items"] == [expected]
    assert table.scan(IndexName="by-g")["Items"] == [expected]


def test_a_local_index_fetches_what_it_does_not_project(new_table):
    """B6: a global one cannot, and says so."""
    indexes = [Index("local", "KEYS_ONLY", local=True, PK="S", G="S"), Index("global", "KEYS_ONLY", G="S")]
    table = new_table(indexes=indexes, PK="S", SK="S")
    item = {**PROJECTED, "colour": "red"}
    table.put_item(Item=item)
    condition = Key("PK").eq("p") & Key("G").eq("g")
    found = table.query(IndexName="local", KeyConditionExpression=condition, Select="ALL_ATTRIBUTES")
    assert found["Items"] == [item]
    with pytest.raises(table.meta.client.exceptions.ClientError, match="its projection type is not ALL"):
        table.query(IndexName="global", KeyConditionExpression=Key("G").eq("g"), Select="ALL_ATTRIBUTES")


def test_the_projection_of_an_index_stays_as_it_was_made(new_table, client):
    """B6: no UpdateTable makes it smaller; the name is free again only after a delete."""
    table = new_table(indexes=[Index("by-g", G="S")], PK="S", SK="S")
    smaller = Index("by-g", "KEYS_ONLY", G="S")
    with pytest.raises(client.exceptions.ClientError, match="already exists"):
        client.update_table(TableName=table.name, **smaller.creation())
    [index] = client.describe_table(TableName=table.name)["Table"]["GlobalSecondaryIndexes"]
    assert index["Projection"] == {"ProjectionType": "ALL"}


def test_a_table_has_at_most_twenty_global_indexes(new_table, client):
    """B7: at creation and afterwards; all twenty work."""
    indexes = [Index(f"index-{n:02}", "KEYS_ONLY", **{f"k{n}": "S"}) for n in range(21)]
    with pytest.raises(client.exceptions.ClientError, match="count exceeds the per-table limit of 20"):
        new_table(indexes=indexes, PK="S", SK="S")
    table = new_table(indexes=indexes[:20], PK="S", SK="S")
    table.put_item(Item={"PK": "a", "SK": "b", **{f"k{n}": "x" for n in range(20)}})
    assert all(in_index(table, index.name) == ["b"] for index in indexes[:20])
    with pytest.raises(client.exceptions.ClientError, match="limit of 20"):
        client.update_table(TableName=table.name, **indexes[20].creation())


def test_one_index_is_made_or_dropped_at_a_time(new_table, client):
    """B7: two changes in one call are refused, and neither is begun."""
    table = new_table(indexes=[GSI], PK="S", SK="S")
    one, two = Index("one", A="S").creation(), Index("two", B="S").creation()
    changes = [*one["GlobalSecondaryIndexUpdates"], *two["GlobalSecondaryIndexUpdates"]]
    drop = {"Delete": {"IndexName": "GSI1"}}
    for updates in (changes, [changes[0], drop]):
        with pytest.raises(client.exceptions.LimitExceededException, match="Only 1 online index"):
            client.update_table(
                TableName=table.name,
                AttributeDefinitions=one["AttributeDefinitions"] + two["AttributeDefinitions"],
                GlobalSecondaryIndexUpdates=updates,
            )
    indexes = client.describe_table(TableName=table.name)["Table"]["GlobalSecondaryIndexes"]
    assert [(index["IndexName"], index["IndexStatus"]) for index in indexes] == [("GSI1", "ACTIVE")]


@pytest.mark.parametrize(
    "value, message",
    [
        (7, "Type mismatch for Index Key GSI1PK Expected: S Actual: N IndexName: GSI1"),
        ("", "cannot contain an empty string value"),
        ("x" * 2049, "2048 bytes"),
    ],
    ids=["type", "empty", "size"],
)
def test_a_value_that_an_index_cannot_hold_is_refused(new_table, value, message):
    """B3: the item is left out when the key is missing, refused when the key is wrong."""
    table = new_table(indexes=[GSI], PK="S", SK="S")
    with pytest.raises(table.meta.client.exceptions.ClientError, match=message):
        table.put_item(Item={"PK": "a", "SK": "b", "GSI1PK": value, "GSI1SK": "h"})
    assert table.scan()["Count"] == 0


def test_a_table_made_from_json_has_its_indexes_at_once(new_table, client):
    """A1, through boto3: both indexes are ACTIVE with the table."""
    indexes = [GSI, Index("GSI2", "KEYS_ONLY", GSI2PK="S", GSI2SK="S")]
    table = new_table(indexes=indexes, PK="S", SK="S")
    described = client.describe_table(TableName=table.name)["Table"]
    assert described["TableStatus"] == "ACTIVE"
    assert len(described["AttributeDefinitions"]) == 6
    assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    shown = {index["IndexName"]: index for index in described["GlobalSecondaryIndexes"]}
    wanted = key_schema(indexes, PK="S", SK="S")["GlobalSecondaryIndexes"]
    for index in wanted:
        found = shown[index["IndexName"]]
        assert found["IndexStatus"] == "ACTIVE"
        assert (found["KeySchema"], found["Projection"]) == (index["KeySchema"], index["Projection"])
        assert found["IndexArn"] == f"{described['TableArn']}/index/{index['IndexName']}"


def test_a_filter_over_an_index_may_name_the_keys_of_the_table(new_table):
    """B23: the filter hides items; the index's own keys belong into the condition."""
    table = new_table(indexes=[GSI], PK="S", SK="S")
    put_all(table, [{"PK": f"p{n}", "SK": "s", "GSI1PK": "g", "GSI1SK": f"{n}"} for n in range(6)])
    query = {"IndexName": "GSI1", "KeyConditionExpression": Key("GSI1PK").eq("g")}
    answer = table.query(**query, FilterExpression=Attr("PK").is_in(["p1", "p4"]))
    assert (answer["Count"], answer["ScannedCount"]) == (2, 6)
    with pytest.raises(table.meta.client.exceptions.ClientError, match="non-primary key attributes"):
        table.query(**query, FilterExpression=Attr("GSI1SK").eq("1"))


def test_an_index_may_have_keys_of_several_attributes(new_table):
    """B4: all partition attributes by equality, sort attributes from the left, the last by range."""
    index = Index("matches", hashes=2, cup="S", region="S", round="N", board="S")
    table = new_table(indexes=[index], pk="S")
    north = {"cup": "2026", "region": "north"}
    put_all(table, [
        *({"pk": f"{n}{letter}", **north, "round": n, "board": letter} for n in (10, 2, 9) for letter in "ba"),
        {"pk": "elsewhere", "cup": "2026", "region": "south", "round": 2, "board": "a"},
        {"pk": "incomplete", **north, "round": 2},
    ])

    def found(condition):
        return [item["pk"] for item in table.query(IndexName="matches", KeyConditionExpression=condition)["Items"]]

    partition = Key("cup").eq("2026") & Key("region").eq("north")
    assert found(partition) == ["2a", "2b", "9a", "9b", "10a", "10b"]
    assert found(partition & Key("round").gte(9)) == ["9a", "9b", "10a", "10b"]
    assert found(partition & Key("round").eq(2) & Key("board").gt("a")) == ["2b"]
    for condition in (Key("cup").eq("2026"), partition & Key("round").gt(2) & Key("board").eq("a")):
        with pytest.raises(table.meta.client.exceptions.ClientError, match="must have equality conditions"):
            found(condition)
