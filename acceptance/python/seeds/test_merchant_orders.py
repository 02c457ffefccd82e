"""Orders of users and of merchants: an index finds an order by its id, another, sparse, holds each
merchant's pending orders.
"""

import pytest
from model import Model, overloaded_index


def order(number, created, merchant=None):
    """An order under its user; it waits for a merchant while it is pending."""
    pending = {"GSI2PK": f"MERCHANT#{merchant}#STATUS#PENDING", "GSI2SK": f"{created}#{number}"}
    return {
        "PK": "USER#123", "SK": f"ORDER#{created}#{number}",
        "GSI1PK": f"ORDER#{number}", "GSI1SK": f"ORDER#{number}",
        **(pending if merchant else {}),
    }


PROFILE = {"PK": "USER#123", "SK": "PROFILE#123", "name": "Ravi"}
MARCH = order(8850, "2026-03-02T08:00:00Z")
MORNING = order(9001, "2026-04-21T10:15:00Z", merchant="m7")
EVENING = order(9002, "2026-04-21T18:40:00Z", merchant="m7")
ELSEWHERE = order(9003, "2026-04-20T12:00:00Z", merchant="m70")
LINE = {"PK": "ORDER#9001", "SK": "ITEM#1", "sku": "ROPE-10"}
PAYMENT = {"PK": "ORDER#9001", "SK": "PAYMENT#1", "method": "invoice"}


@pytest.fixture
def orders(new_table, sent):
    table = new_table(indexes=[overloaded_index("GSI1"), overloaded_index("GSI2")], PK="S", SK="S")
    return Model(table, sent).load([EVENING, PAYMENT, MARCH, PROFILE, ELSEWHERE, LINE, MORNING])


def test_get_a_users_profile_by_id(orders):
    assert orders.get(PK="USER#123", SK="PROFILE#123") == PROFILE


def test_list_a_users_orders_newest_first(orders):
    found = orders.query(
        "PK = :user AND begins_with(SK, :order)", user="USER#123", order="ORDER#", newest_first=True
    )
    assert found == [EVENING, MORNING, ELSEWHERE, MARCH]


def test_get_an_order_by_its_id(orders):
    assert orders.query("GSI1PK = :order AND GSI1SK = :order", index="GSI1", order="ORDER#9001") == [MORNING]


def test_get_the_parts_of_an_order_in_one_request(orders):
    assert orders.query("PK = :order", order="ORDER#9001") == [LINE, PAYMENT]


def test_list_the_pending_orders_of_a_merchant(orders):
    found = orders.query(
        "GSI2PK = :pending", index="GSI2", pending="MERCHANT#m7#STATUS#PENDING"
    )
    assert found == [MORNING, EVENING]
