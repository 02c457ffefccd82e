"""Page views counted on ten shards of one page: writes spread, one Query gathers (B41)."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from model import Model, keys_of

SHARDS = 10


@pytest.fixture
def views(new_table, sent):
    return Model(new_table(PK="S", SK="S"), sent)


def view(views, page, shard):
    views.table.update_item(
        Key={"PK": f"PAGEVIEW#{page}", "SK": f"SHARD#{shard}"},
        UpdateExpression="ADD view_count :one",
        ExpressionAttributeValues={":one": 1},
    )


def count(views, page):
    shards = views.query(
        "PK = :page AND begins_with(SK, :shard)", page=f"PAGEVIEW#{page}", shard="SHARD#"
    )
    assert keys_of(shards, "SK") == sorted(keys_of(shards, "SK"))
    return sum(keys_of(shards, "view_count"))


def test_a_page_nobody_saw_has_no_views(views):
    assert count(views, "about") == 0


def test_views_from_many_readers_are_all_counted(views):
    """B41: 120 increments from 16 threads, and the neighbouring page's stay its own."""
    shards = random.Random(41).choices(range(SHARDS), k=120)
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda shard: view(views, "home", shard), shards))
    view(views, "home2", 0)
    assert count(views, "home") == 120
    assert count(views, "home2") == 1
