"""Customers, orders and their lines: five access patterns with GetItem, Query, PutItem and
TransactWriteItems, and Scan for nothing but an export (B38).
"""

import pytest
from model import Model, keys_of, overloaded_index


def order(date, number, status):
    return {
        "PK": "CUSTOMER#42", "SK": f"ORDER#{date}#{number}",
        "GSI1PK": f"STATUS#{status}", "GSI1SK": f"ORDER#{date}#{number}",
    }


PROFILE = {"PK": "CUSTOMER#42", "SK": "PROFILE", "name": "Ines"}
JUNE = order("2026-06-01", "A1", "SHIPPED")
MAY = order("2026-05-20", "B7", "SHIPPED")
APRIL = order("2026-04-11", "C3", "OPEN")
OTHERS = {
    "PK": "CUSTOMER#43", "SK": "ORDER#2026-05-25#D4", "GSI1PK": "STATUS#SHIPPED", "GSI1SK": "ORDER#2026-05-25#D4",
}
SMALL_LINE = {"PK": "ORDER#A1", "SK": "ITEM#sku-10", "quantity": 3}
LARGE_LINE = {"PK": "ORDER#A1", "SK": "ITEM#sku-9", "quantity": 1}
NOTE = {"PK": "ORDER#A1", "SK": "NOTE#1", "text": "leave at the door"}
ITEMS = [OTHERS, LARGE_LINE, JUNE, NOTE, PROFILE, APRIL, SMALL_LINE, MAY]


@pytest.fixture
def customers(new_table, sent):
    return Model(new_table(indexes=[overloaded_index("GSI1")], PK="S", SK="S"), sent).load(ITEMS)


def test_get_a_customer(customers):
    assert customers.get(PK="CUSTOMER#42", SK="PROFILE") == PROFILE


def test_list_the_orders_of_a_customer_newest_first(customers):
    found = customers.query(
        "PK = :customer AND begins_with(SK, :order)", customer="CUSTOMER#42", order="ORDER#", newest_first=True
    )
    assert found == [JUNE, MAY, APRIL]


def test_get_the_lines_of_an_order(customers):
    found = customers.query("PK = :order AND begins_with(SK, :line)", order="ORDER#A1", line="ITEM#")
    assert found == [SMALL_LINE, LARGE_LINE]


def test_list_the_orders_of_a_status_by_date(customers):
    assert customers.query("GSI1PK = :status", index="GSI1", status="STATUS#SHIPPED") == [MAY, OTHERS, JUNE]


def test_write_an_order_alone_or_with_its_lines(customers, client):
    customers.table.put_item(Item=order("2026-06-09", "E5", "OPEN"))
    client.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": customers.table.name, "Item": {"PK": {"S": pk}, "SK": {"S": sk}}}}
            for pk, sk in [("CUSTOMER#42", "ORDER#2026-06-10#F6"), ("ORDER#F6", "ITEM#sku-1")]
        ]
    )
    found = customers.query(
        "PK = :customer AND SK > :since", customer="CUSTOMER#42", since="ORDER#2026-06-02", newest_first=True
    )
    assert keys_of(found, "SK") == ["PROFILE", "ORDER#2026-06-10#F6", "ORDER#2026-06-09#E5"]
    assert customers.get(PK="ORDER#F6", SK="ITEM#sku-1") is not None


def test_five_operations_serve_the_whole_model(customers, sent):
    """B38: what the patterns use, and a Scan that finds every item once."""
    customers.get(PK="CUSTOMER#42", SK="PROFILE")
    customers.query("PK = :order", order="ORDER#A1")
    customers.table.put_item(Item=NOTE)
    put = {"TableName": customers.table.name, "Item": NOTE}
    customers.table.meta.client.transact_write_items(TransactItems=[{"Put": put}])
    found = customers.table.scan()["Items"]
    assert sorted(keys_of(found, "PK", "SK")) == sorted(keys_of(ITEMS, "PK", "SK"))
    assert set(sent[-5:]) == {"GetItem", "Query", "PutItem", "TransactWriteItems", "Scan"}
