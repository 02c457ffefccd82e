"""Events of shipments: small shipments are one partition, large ones are spread over ten (B41), and a
summary that would outgrow an item is kept as an item for each increment (B40).
"""

import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest
from model import Model, keys_of

SHARDS = 10
EVENTS = [f"e-{number:03}" for number in range(80)]


def shard_of(event):
    return int(hashlib.md5(event.encode()).hexdigest(), 16) % SHARDS


def partition(shipment, event, large):
    return f"SHIPMENT#{shipment}#{shard_of(event)}" if large else f"SHIPMENT#{shipment}"


def scan_event(shipment, event, large=False):
    minute = EVENTS.index(event)
    return {
        "PK": partition(shipment, event, large), "SK": f"EVENT#2026-11-27T{minute // 60:02}:{minute % 60:02}:00Z",
        "event": event,
    }


SMALL = [scan_event("s1", event) for event in EVENTS[:6]]
LARGE = [scan_event("mega", event, large=True) for event in EVENTS]
LATEST = {"PK": "SHIPMENT#mega", "SK": "LATEST", "state": "IN_TRANSIT", "event": EVENTS[-1]}
ROLLUP = [{"PK": "SHIPMENT#mega", "SK": f"ROLLUP#{number:04}", "parcels": 100 + number} for number in range(12)]


@pytest.fixture
def shipments(new_table, sent):
    return Model(new_table(PK="S", SK="S"), sent).load([*LARGE, *reversed(ROLLUP), LATEST, *reversed(SMALL)])


def test_the_history_of_a_small_shipment_is_one_request(shipments):
    assert shipments.query("PK = :shipment", shipment="SHIPMENT#s1") == SMALL


def test_the_history_of_a_large_shipment_is_one_request_a_shard(shipments, sent):
    """B41: ten requests side by side, merged by time."""
    def history(shard):
        answer = shipments.table.query(
            KeyConditionExpression="PK = :pk",
            ExpressionAttributeValues={":pk": f"SHIPMENT#mega#{shard}"},
        )
        assert answer["Count"] == answer["ScannedCount"] > 0
        return answer["Items"]

    before = len(sent)
    with ThreadPoolExecutor(SHARDS) as pool:
        shards = list(pool.map(history, range(SHARDS)))
    assert sent[before:] == ["Query"] * SHARDS
    assert sorted(sum(shards, []), key=lambda item: item["SK"]) == LARGE


def test_an_event_of_a_known_id_is_one_get(shipments):
    wanted = LARGE[17]
    found = shipments.get(PK=partition("mega", wanted["event"], large=True), SK=wanted["SK"])
    assert found == wanted


def test_the_latest_status_is_one_get(shipments):
    assert shipments.get(PK="SHIPMENT#mega", SK="LATEST") == LATEST


def test_the_summary_is_one_request_over_its_increments(shipments):
    found = shipments.query(
        "PK = :shipment AND begins_with(SK, :rollup)", shipment="SHIPMENT#mega", rollup="ROLLUP#"
    )
    assert found == ROLLUP
    assert sum(keys_of(found, "parcels")) == sum(item["parcels"] for item in ROLLUP)
