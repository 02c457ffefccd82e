"""Time to live: items are deleted some time after the second that they name."""

import time

import pytest
from schema import units
from stream_reader import records, switch_on
from wait import until

HOUR, WEEK = 3600, 7 * 24 * 3600


def enable(table, attribute="ttl"):
    table.meta.client.update_time_to_live(
        TableName=table.name, TimeToLiveSpecification={"Enabled": True, "AttributeName": attribute}
    )


def gone(table, key):
    return lambda: "Item" not in table.get_item(Key=key, ConsistentRead=True)


def test_a_session_stays_until_it_expires_and_leaves_a_record_of_the_service(new_table, streams):
    """A10: items that live on are there; those that expired are removed, by DynamoDB itself."""
    table = new_table(PK="S", SK="S")
    arn = switch_on(table)
    enable(table)
    now = int(time.time())
    session, invite = {"PK": "SESSION#s1", "SK": "META"}, {"PK": "TEAM#t1", "SK": "INVITE#i1"}
    over = {"PK": "SESSION#s0", "SK": "META"}
    table.put_item(Item={**session, "ttl": now + HOUR})
    table.put_item(Item={**invite, "ttl": now + WEEK})
    table.put_item(Item={**over, "ttl": now - 1})
    until(gone(table, over))
    removed = [record for record in records(streams, arn) if record["eventName"] == "REMOVE"]
    assert [record["dynamodb"]["Keys"]["PK"]["S"] for record in removed] == ["SESSION#s0"]
    assert removed[0]["userIdentity"] == {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
    assert removed[0]["dynamodb"]["OldImage"]["ttl"] == {"N": str(now - 1)}
    assert table.scan(Select="COUNT", ConsistentRead=True)["Count"] == 2


def test_items_from_before_the_switch_expire_as_well(new_table):
    """B15: whatever was stored before time to live was switched on."""
    table = new_table(pk="S")
    table.put_item(Item={"pk": "a", "expires": int(time.time()) - 1})
    enable(table, "expires")
    until(gone(table, {"pk": "a"}))


@pytest.mark.parametrize("value", ["1700000000", -1, 0], ids=["text", "negative", "older than five years"])
def test_what_is_no_recent_time_never_expires(new_table, value):
    """B15: only numbers of the last five years are times."""
    table = new_table(pk="S")
    enable(table)
    table.put_item(Item={"pk": "stays", "ttl": value})
    table.put_item(Item={"pk": "goes", "ttl": int(time.time()) - 1})
    until(gone(table, {"pk": "goes"}))
    assert not gone(table, {"pk": "stays"})()


def test_deletions_by_time_to_live_are_free(new_table):
    """A10: five units a second save 1,500. Three items take 1,200 of them; their deletion takes none."""
    table = new_table(throughput=units(100, 5), pk="S")
    enable(table)
    soon = int(time.time()) - 1
    for number in range(3):
        table.put_item(Item={"pk": f"{number}", "v": "v" * 400_000, "ttl": soon})
    for number in range(3):
        until(gone(table, {"pk": f"{number}"}))
    table.put_item(Item={"pk": "paid from what is left", "v": "v" * 250_000})
