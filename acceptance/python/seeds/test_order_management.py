"""Order management for many customers, with the seven access patterns of its list:
orders under customers, lines under orders, orders by customer and status, a sparse index of open orders.
"""

import pytest
from model import Model, keys_of, overloaded_index


def order(customer, date, number, status, total):
    """An order finds itself by status, and among all open ones while it is open."""
    is_open = {"GSI2PK": "OPEN", "GSI2SK": f"{date}#{number}"} if status == "OPEN" else {}
    return {
        "PK": f"CUST#{customer}", "SK": f"ORDER#{date}#{number}", "status": status, "total": total,
        "GSI1PK": f"CUST#{customer}#{status}", "GSI1SK": f"{date}#{number}", **is_open,
    }


CUSTOMER = {
    "PK": "CUST#a1b2", "SK": "PROFILE", "name": "Odile", "email": "odile@example.com", "tier": "gold",
    "createdAt": "2025-12-24",
}
FIRST = order("a1b2", "2026-06-01", "o-9001", "OPEN", 149)
SECOND = order("a1b2", "2026-06-03", "o-9044", "SHIPPED", 72)
THIRD = order("a1b2", "2026-06-05", "o-9060", "SHIPPED", 15)
NEIGHBOURS = order("c3d4", "2026-05-30", "o-8990", "OPEN", 33)
META = {"PK": "ORDER#o-9001", "SK": "META", "version": 7, "status": "OPEN"}
LINES = [
    {"PK": "ORDER#o-9001", "SK": "ITEM#001", "sku": "ABC", "qty": 2, "price": 49},
    {"PK": "ORDER#o-9001", "SK": "ITEM#002", "sku": "XYZ", "qty": 1, "price": 50},
]
ITEMS = [THIRD, *reversed(LINES), NEIGHBOURS, SECOND, META, CUSTOMER, FIRST]


@pytest.fixture
def orders(new_table, sent):
    table = new_table(indexes=[overloaded_index("GSI1"), overloaded_index("GSI2")], PK="S", SK="S")
    return Model(table, sent).load(ITEMS)


def open_orders(orders):
    return keys_of(orders.query("GSI2PK = :open", index="GSI2", open="OPEN"), "GSI2SK")


def test_get_a_customer_by_id(orders):
    """Pattern 1 of the model's list."""
    assert orders.get(PK="CUST#a1b2", SK="PROFILE") == CUSTOMER


def test_get_all_orders_of_a_customer_newest_first(orders):
    """Pattern 2 of the model's list."""
    found = orders.query(
        "PK = :customer AND begins_with(SK, :order)", customer="CUST#a1b2", order="ORDER#", newest_first=True
    )
    assert found == [THIRD, SECOND, FIRST]


def test_get_the_orders_of_a_customer_in_a_range_of_dates(orders):
    found = orders.query(
        "PK = :customer AND SK BETWEEN :first AND :last",
        customer="CUST#a1b2", first="ORDER#2026-06-02", last="ORDER#2026-06-04",
    )
    assert found == [SECOND]


def test_get_an_order_with_its_lines(orders):
    """Pattern 3 of the model's list."""
    assert orders.query("PK = :order", order="ORDER#o-9001") == [*LINES, META]


def test_list_the_orders_of_a_customer_in_a_status(orders):
    """Pattern 4 of the model's list."""
    assert orders.query("GSI1PK = :key", index="GSI1", key="CUST#a1b2#SHIPPED") == [SECOND, THIRD]


def test_list_the_open_orders_of_all_customers(orders):
    """Pattern 5 of the model's list; the index holds the working set and nothing else."""
    assert orders.query("GSI2PK = :open", index="GSI2", open="OPEN") == [NEIGHBOURS, FIRST]
    assert orders.table.scan(IndexName="GSI2", Select="COUNT")["Count"] == 2


def test_create_an_order_with_its_lines_at_once(orders, client):
    """Pattern 6 of the model's list: a second attempt changes nothing."""
    def create(total):
        new = order("a1b2", "2026-06-08", "o-9100", "OPEN", total)
        items = [new, {"PK": "ORDER#o-9100", "SK": "ITEM#001", "sku": "ABC", "qty": total}]
        puts = [{"Put": {"TableName": orders.table.name, "Item": item}} for item in items]
        puts[0]["Put"]["ConditionExpression"] = "attribute_not_exists(PK)"
        orders.table.meta.client.transact_write_items(TransactItems=puts)
        return items

    created = create(1)
    with pytest.raises(client.exceptions.ClientError, match=r"\[ConditionalCheckFailed, None\]"):
        create(2)
    assert orders.get(PK="CUST#a1b2", SK="ORDER#2026-06-08#o-9100") == created[0]
    assert orders.query("PK = :order", order="ORDER#o-9100") == [created[1]]
    assert open_orders(orders)[-1] == "2026-06-08#o-9100"


def test_a_shipped_order_leaves_the_open_ones(orders):
    """Pattern 7 of the model's list."""
    orders.table.update_item(
        Key={"PK": FIRST["PK"], "SK": FIRST["SK"]},
        UpdateExpression="SET #s = :shipped, GSI1PK = :key REMOVE GSI2PK, GSI2SK",
        ExpressionAttributeNames={"#s": "status"},
        ExpressionAttributeValues={":shipped": "SHIPPED", ":key": "CUST#a1b2#SHIPPED"},
    )
    assert open_orders(orders) == ["2026-05-30#o-8990"]
    shipped = orders.query("GSI1PK = :key", index="GSI1", key="CUST#a1b2#SHIPPED")
    assert keys_of(shipped, "GSI1SK") == ["2026-06-01#o-9001", "2026-06-03#o-9044", "2026-06-05#o-9060"]
    assert orders.get(PK=FIRST["PK"], SK=FIRST["SK"])["total"] == FIRST["total"]
