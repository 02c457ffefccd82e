"""Indexes that come and go while the table serves: UpdateTable answers at once, the items follow."""

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import boto3
import pytest
from boto3.dynamodb.conditions import Key
from conftest import connect
from lodestone import Lodestone
from schema import Index, key_schema

ACTIVE_WITHIN_SECONDS = 30
GSI3 = Index("GSI3", ["status", "total"], GSI3PK="S", GSI3SK="S")


def describe(client, table):
    return client.describe_table(TableName=table.name)["Table"]


def index_of(description, name="GSI3"):
    return next((i for i in description.get("GlobalSecondaryIndexes", []) if i["IndexName"] == name), None)


def wait_until(holds, what):
    deadline = time.monotonic() + ACTIVE_WITHIN_SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"{what} within {ACTIVE_WITHIN_SECONDS} s"
        time.sleep(0.02)


def wait_until_active(client, table):
    """Every state on the way is one of those that a client may meet."""
    def active():
        description = describe(client, table)
        index = index_of(description)
        assert description["TableStatus"] in ("ACTIVE", "UPDATING")
        if index["IndexStatus"] == "ACTIVE":
            assert "Backfilling" not in index
            return description["TableStatus"] == "ACTIVE"
        assert index["IndexStatus"] == "CREATING" and isinstance(index["Backfilling"], bool)
        return False

    wait_until(active, "the index is ACTIVE")


@pytest.fixture
def orders(new_table):
    """Sixty orders: a third with both keys of an index that does not exist yet, a third with one."""
    table = new_table(PK="S", SK="S")
    with table.batch_writer() as batch:
        for n in range(60):
            item = {"PK": f"CUST#{n % 7}", "SK": f"ORDER#{n:03}", "status": "OPEN", "total": n, "note": "n"}
            if n % 3 != 0:
                item["GSI3PK"] = f"REGION#{n % 2}"
            if n % 3 == 1:
                item["GSI3SK"] = f"{n:03}"
            batch.put_item(Item=item)
    return table


def test_a_new_index_holds_the_items_that_carry_its_keys(orders, client):
    """B28: only the definitions of its own keys are given; those of the table stay."""
    answer = client.update_table(TableName=orders.name, **GSI3.creation())["TableDescription"]
    assert index_of(answer)["IndexStatus"] in ("CREATING", "ACTIVE")
    wait_until_active(client, orders)

    names = {definition["AttributeName"] for definition in describe(client, orders)["AttributeDefinitions"]}
    assert names == {"PK", "SK", "GSI3PK", "GSI3SK"}
    found = orders.query(IndexName="GSI3", KeyConditionExpression=Key("GSI3PK").eq("REGION#0"))["Items"]
    assert found == [
        {
            "PK": f"CUST#{n % 7}", "SK": f"ORDER#{n:03}", "GSI3PK": "REGION#0", "GSI3SK": f"{n:03}",
            "status": "OPEN", "total": n,
        }
        for n in range(60) if n % 3 == 1 and n % 2 == 0
    ]
    assert orders.scan(IndexName="GSI3", Select="COUNT")["Count"] == 20


def test_a_table_is_read_and_written_while_an_index_is_made(orders, client):
    """B28: no request fails, and the index ends as the table's items are."""
    stop, failures = threading.Event(), []

    def write(writer):
        number = 0
        while not stop.is_set() or number < 20:
            key = {"PK": f"WRITER#{writer}", "SK": f"{number % 40:03}"}
            try:
                if number % 5 == 4:
                    orders.delete_item(Key=key)
                else:
                    keys = {"GSI3PK": "LIVE", "GSI3SK": f"{number:05}"} if number % 2 else {}
                    orders.put_item(Item={**key, **keys, "total": number})
                orders.get_item(Key=key, ConsistentRead=True)
            except Exception as failure:
                failures.append(failure)
                return
            number += 1

    with ThreadPoolExecutor(4) as pool:
        for writer in range(4):
            pool.submit(write, writer)
        try:
            client.update_table(TableName=orders.name, **GSI3.creation())
            wait_until_active(client, orders)
        finally:
            stop.set()
    assert failures == []

    def projected(item):
        return {name: item[name] for name in ("PK", "SK", "GSI3PK", "GSI3SK", "status", "total") if name in item}

    def sorted_by_key(items):
        return sorted(items, key=lambda item: (item["PK"], item["SK"]))

    items = orders.scan(ConsistentRead=True)["Items"]
    expected = [projected(item) for item in items if "GSI3PK" in item and "GSI3SK" in item]
    assert sorted_by_key(orders.scan(IndexName="GSI3")["Items"]) == sorted_by_key(expected)


def test_items_that_an_index_cannot_hold_are_left_out_of_it(orders, client):
    """B28: they were there before it, so they stay in the table."""
    orders.put_item(Item={"PK": "odd", "SK": "1", "GSI3PK": 5, "GSI3SK": "x"})
    orders.put_item(Item={"PK": "odd", "SK": "2", "GSI3PK": "", "GSI3SK": "x"})
    client.update_table(TableName=orders.name, **GSI3.creation())
    wait_until_active(client, orders)
    assert orders.scan(IndexName="GSI3", Select="COUNT")["Count"] == 20
    assert orders.scan(Select="COUNT")["Count"] == 62


def test_a_dropped_index_is_gone_and_can_be_made_again(orders, client):
    """B28: with another projection, which is how a projection is changed."""
    client.update_table(TableName=orders.name, **GSI3.creation())
    wait_until_active(client, orders)
    drop = [{"Delete": {"IndexName": "GSI3"}}]
    client.update_table(TableName=orders.name, GlobalSecondaryIndexUpdates=drop)

    def settled():
        description = describe(client, orders)
        assert index_of(description) is None or index_of(description)["IndexStatus"] == "DELETING"
        return index_of(description) is None and description["TableStatus"] == "ACTIVE"

    wait_until(settled, "the index is gone")
    with pytest.raises(client.exceptions.ClientError, match="does not have the specified index: GSI3"):
        orders.scan(IndexName="GSI3")

    keys_only = Index("GSI3", "KEYS_ONLY", GSI3PK="S", GSI3SK="S")
    client.update_table(TableName=orders.name, **keys_only.creation())
    wait_until_active(client, orders)
    assert set(orders.scan(IndexName="GSI3")["Items"][0]) == {"PK", "SK", "GSI3PK", "GSI3SK"}


def test_a_backfill_job_completes_an_index_and_can_be_run_again(orders, client):
    """A27: parallel segments write the missing keys on condition; a second run finds nothing to do."""
    client.update_table(TableName=orders.name, **GSI3.creation())
    wait_until_active(client, orders)

    def backfill(segment):
        """Returns the keys that were seen, and how many items were written."""
        seen, written, start = [], 0, {}
        while True:
            page = orders.scan(Segment=segment, TotalSegments=4, Limit=7, **start)
            for item in page["Items"]:
                key = {"PK": item["PK"], "SK": item["SK"]}
                seen.append((item["PK"], item["SK"]))
                try:
                    orders.update_item(
                        Key=key,
                        UpdateExpression="SET GSI3PK = :pk, GSI3SK = :sk",
                        ConditionExpression="attribute_not_exists(GSI3PK)",
                        ExpressionAttributeValues={":pk": "BACKFILLED", ":sk": item["SK"]},
                    )
                    written += 1
                except client.exceptions.ConditionalCheckFailedException:
                    pass
            if "LastEvaluatedKey" not in page:
                return seen, written
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def run():
        with ThreadPoolExecutor(4) as pool:
            segments = list(pool.map(backfill, range(4)))
        seen = sum((seen for seen, _ in segments), [])
        assert len(seen) == len(set(seen)) == 60, "segments are disjoint and complete"
        return sum(written for _, written in segments)

    def count(key):
        condition = Key("GSI3PK").eq(key)
        return orders.query(IndexName="GSI3", KeyConditionExpression=condition, Select="COUNT")["Count"]

    assert run() == 20
    assert count("BACKFILLED") == 20
    assert run() == 0
    assert count("BACKFILLED") == 20


@pytest.fixture
def slow():
    """A client of a server whose tables take as long to change as a program can notice."""
    running = Lodestone(None, "--state-delay", "400")
    yield connect(running, boto3.client)
    running.end()


def test_a_second_change_waits_for_the_first(slow):
    """B7 and B28: while an index is made the table serves, and takes no other change."""
    name = "Slow"
    created = slow.create_table(TableName=name, **key_schema(pk="S"))["TableDescription"]
    assert created["TableStatus"] == "CREATING"

    def status():
        return slow.describe_table(TableName=name)["Table"]["TableStatus"]

    wait_until(lambda: status() == "ACTIVE", "the table is ACTIVE")
    answer = slow.update_table(TableName=name, **Index("one", a="S").creation())["TableDescription"]
    assert answer["TableStatus"] == "UPDATING"
    assert index_of(answer, "one")["IndexStatus"] == "CREATING"
    with pytest.raises((slow.exceptions.ResourceInUseException, slow.exceptions.LimitExceededException)):
        slow.update_table(TableName=name, **Index("two", b="S").creation())
    with pytest.raises(slow.exceptions.ResourceInUseException):
        slow.delete_table(TableName=name)
    slow.put_item(TableName=name, Item={"pk": {"S": "k"}, "a": {"S": "x"}})
    assert "Item" in slow.get_item(TableName=name, Key={"pk": {"S": "k"}})

    def index_status(index):
        return index_of(slow.describe_table(TableName=name)["Table"], index)["IndexStatus"]

    wait_until(lambda: index_status("one") == "ACTIVE" and status() == "ACTIVE", "the first index is ACTIVE")
    assert slow.scan(TableName=name, IndexName="one")["Count"] == 1
    slow.update_table(TableName=name, **Index("two", b="S").creation())
    wait_until(lambda: index_status("two") == "ACTIVE", "the second index is ACTIVE")


def test_an_index_is_finished_by_the_next_process(tmp_path):
    """B28: a server that is killed while it fills an index goes on with it when it comes back."""
    server = Lodestone(tmp_path / "data")
    try:
        resource = connect(server, boto3.resource)
        table = resource.create_table(TableName="Killed", **key_schema(pk="S"))
        with table.batch_writer() as batch:
            for number in range(1500):
                batch.put_item(Item={"pk": f"{number}", "g": f"{number % 3}", "v": "x" * 500})
        client = resource.meta.client
        client.update_table(TableName="Killed", **Index("by-g", "KEYS_ONLY", g="S").creation())
        server.restart(signal.SIGKILL)

        client = connect(server, boto3.client)

        def active():
            return index_of(client.describe_table(TableName="Killed")["Table"], "by-g")["IndexStatus"] == "ACTIVE"

        wait_until(active, "the index is ACTIVE")
        pages = client.get_paginator("scan").paginate(TableName="Killed", IndexName="by-g")
        found = [item["pk"]["S"] for page in pages for item in page["Items"]]
        assert sorted(found) == sorted(str(number) for number in range(1500))
    finally:
        server.end()
