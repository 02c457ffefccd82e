"""Access patterns of three models, each one GetItem or Query on the base table; what others would ask of an
index, a leaderboard and handles, are partitions of their own here.
"""

import hashlib
from concurrent.futures import ThreadPoolExecutor

from boto3.dynamodb.conditions import Key


def sort_keys(table, condition, name="SK", **more):
    return [item[name] for item in table.query(KeyConditionExpression=condition, **more)["Items"]]


def test_a_customer_with_orders_and_their_lines(new_table):
    table = new_table(PK="S", SK="S")
    for pk, sk in [
        ("CUSTOMER#7", "PROFILE"),
        ("CUSTOMER#7", "ORDER#2026-02-02"),
        ("CUSTOMER#7", "ORDER#2026-01-01"),
        ("CUSTOMER#70", "ORDER#2026-03-03"),
        ("ORDER#B2", "ITEM#2"),
        ("ORDER#B2", "ITEM#1"),
        ("ORDER#B2", "PAYMENT"),
    ]:
        table.put_item(Item={"PK": pk, "SK": sk})

    assert "Item" in table.get_item(Key={"PK": "CUSTOMER#7", "SK": "PROFILE"})
    orders = Key("PK").eq("CUSTOMER#7") & Key("SK").begins_with("ORDER#")
    assert sort_keys(table, orders, ScanIndexForward=False) == ["ORDER#2026-02-02", "ORDER#2026-01-01"]
    lines = Key("PK").eq("ORDER#B2") & Key("SK").begins_with("ITEM#")
    assert sort_keys(table, lines) == ["ITEM#1", "ITEM#2"]


def test_a_player_with_matches_and_a_leaderboard(new_table):
    table = new_table(partitionId="S", rangeId="S")

    def put(partition, sort, **more):
        table.put_item(Item={"partitionId": partition, "rangeId": sort, **more})

    put("PLAYER#5", "PROFILE", handle="kestrel")
    for day in ("2026-05-01", "2026-05-03", "2026-05-02"):
        put("PLAYER#5", f"MATCH#{day}")
    for rating in (9, 1000, 250):
        put("SEASON#plain", f"RATING#{rating}")
        put("SEASON#padded", f"RATING#{rating:06}")
    put("HANDLE#kestrel", "PLAYER#5")

    def found(condition, **more):
        return sort_keys(table, condition, name="rangeId", **more)

    matches = Key("partitionId").eq("PLAYER#5") & Key("rangeId").begins_with("MATCH#")
    assert found(matches, ScanIndexForward=False) == [f"MATCH#2026-05-0{day}" for day in (3, 2, 1)]
    plain = found(Key("partitionId").eq("SEASON#plain"), ScanIndexForward=False)
    assert plain == ["RATING#9", "RATING#250", "RATING#1000"], "text is ordered as text"
    padded = found(Key("partitionId").eq("SEASON#padded"), ScanIndexForward=False)
    assert padded == ["RATING#001000", "RATING#000250", "RATING#000009"]
    assert found(Key("partitionId").eq("HANDLE#kestrel")) == ["PLAYER#5"]


SHARDS = 10


def shard_of(event):
    """The same event always goes to the same shard, and any reader can tell to which."""
    return int(hashlib.md5(event.encode()).hexdigest(), 16) % SHARDS


def event_partition(day, shard):
    return f"EVENTS#{day}#{shard:02}"


def test_events_over_ten_shards_are_gathered_whole(new_table):
    table = new_table(PK="S", SK="S")
    events = [f"event-{number:04}" for number in range(120)]

    def write(event):
        table.put_item(Item={"PK": event_partition("2026-06-01", shard_of(event)), "SK": event})

    def read(shard):
        return sort_keys(table, Key("PK").eq(event_partition("2026-06-01", shard)))

    with ThreadPoolExecutor(SHARDS) as pool:
        list(pool.map(write, events))
        shards = list(pool.map(read, range(SHARDS)))
    assert all(shards), "every shard is used"
    assert sorted(sum(shards, [])) == events
