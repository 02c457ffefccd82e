"""A shop in one table: users with their orders, orders with their lines, products; one overloaded index
for status, category and e-mail, one sparse index for flagged orders.
"""

import pytest
from boto3.dynamodb.conditions import Attr
from model import Model, keys_of, overloaded_index

PROFILE = {
    "PK": "USER#u123", "SK": "PROFILE", "GSI1PK": "EMAIL#mira@example.com", "GSI1SK": "USER#u123",
    "name": "Mira", "email": "mira@example.com", "createdAt": "2023-11-02",
}
FIRST_ORDER = {
    "PK": "USER#u123", "SK": "ORDER#2024-001", "GSI1PK": "STATUS#PENDING", "GSI1SK": "2024-01-15",
    "total": 58, "status": "PENDING", "orderDate": "2024-01-15",
}
SECOND_ORDER = {
    "PK": "USER#u123", "SK": "ORDER#2024-002", "GSI1PK": "STATUS#SHIPPED", "GSI1SK": "2024-01-19",
    "GSI2PK": "FLAGGED", "GSI2SK": "2024-01-20", "total": 410, "status": "SHIPPED", "orderDate": "2024-01-19",
}
OTHERS_ORDER = {
    "PK": "USER#u456", "SK": "ORDER#2024-003", "GSI1PK": "STATUS#PENDING", "GSI1SK": "2024-01-14",
    "total": 12, "status": "PENDING", "orderDate": "2024-01-14",
}
ORDER_META = {"PK": "ORDER#2024-001", "SK": "META", "shippingAddr": "4 Quay Street", "paymentMethod": "card"}
LAMP_LINE = {
    "PK": "ORDER#2024-001", "SK": "ITEM#prod-a", "quantity": 2, "price": 24, "productName": "Lamp",
}
BULB_LINE = {
    "PK": "ORDER#2024-001", "SK": "ITEM#prod-b", "quantity": 5, "price": 2, "productName": "Bulb",
}
LAMP = {
    "PK": "PRODUCT#prod-a", "SK": "DETAILS", "GSI1PK": "CATEGORY#electronics", "GSI1SK": "PRODUCT#prod-a",
    "name": "Lamp", "price": 24, "category": "electronics", "inventory": 40,
}
BULB = {
    "PK": "PRODUCT#prod-b", "SK": "DETAILS", "GSI1PK": "CATEGORY#electronics", "GSI1SK": "PRODUCT#prod-b",
    "name": "Bulb", "price": 2, "category": "electronics", "inventory": 900,
}
CHAIR = {
    "PK": "PRODUCT#prod-c", "SK": "DETAILS", "GSI1PK": "CATEGORY#furniture", "GSI1SK": "PRODUCT#prod-c",
    "name": "Chair", "price": 75, "category": "furniture", "inventory": 8,
}
STATUS_BOARD = [
    {"PK": "ORDERS_BY_STATUS", "SK": f"STATUS#{status}#{date}"}
    for status, date in [
        ("DELIVERED", "2024-01-10"), ("PENDING", "2024-01-16"), ("PENDING", "2024-02-02"),
        ("SHIPPED", "2023-12-31"), ("SHIPPED", "2024-01-01"), ("SHIPPED", "2024-01-15"),
        ("SHIPPED", "2024-01-31"), ("SHIPPED", "2024-02-01"),
    ]
]
ITEMS = [
    CHAIR, SECOND_ORDER, BULB_LINE, LAMP, PROFILE, ORDER_META, OTHERS_ORDER, FIRST_ORDER, BULB, LAMP_LINE,
    *reversed(STATUS_BOARD),
]
INDEXES = [overloaded_index("GSI1"), overloaded_index("GSI2", "KEYS_ONLY")]


@pytest.fixture
def shop(new_table, sent):
    return Model(new_table(indexes=INDEXES, PK="S", SK="S"), sent).load(ITEMS)


def test_get_a_users_profile(shop):
    assert shop.get(PK="USER#u123", SK="PROFILE") == PROFILE


def test_list_a_users_orders_newest_first(shop):
    found = shop.query(
        "PK = :user AND begins_with(SK, :order)", user="USER#u123", order="ORDER#", newest_first=True, limit=10
    )
    assert found == [SECOND_ORDER, FIRST_ORDER]


def test_get_an_order_with_all_its_lines(shop):
    assert shop.query("PK = :order", order="ORDER#2024-001") == [LAMP_LINE, BULB_LINE, ORDER_META]


def test_get_a_user_with_recent_orders(shop):
    assert shop.query("PK = :user", user="USER#u123") == [FIRST_ORDER, SECOND_ORDER, PROFILE]


def test_get_one_order_of_a_user(shop):
    assert shop.get(PK="USER#u123", SK="ORDER#2024-001") == FIRST_ORDER
    assert shop.get(PK="USER#u456", SK="ORDER#2024-001") is None


def test_list_pending_orders_by_date(shop):
    assert shop.query("GSI1PK = :status", index="GSI1", status="STATUS#PENDING") == [OTHERS_ORDER, FIRST_ORDER]


def test_list_the_products_of_a_category(shop):
    assert shop.query("GSI1PK = :category", index="GSI1", category="CATEGORY#electronics") == [LAMP, BULB]


def test_find_a_user_by_email(shop):
    assert shop.query("GSI1PK = :email", index="GSI1", email="EMAIL#mira@example.com") == [PROFILE]


def test_list_flagged_orders_and_nothing_else(shop):
    """The sparse index projects keys only: enough to get the order."""
    keys = {name: SECOND_ORDER[name] for name in ("PK", "SK", "GSI2PK", "GSI2SK")}
    assert shop.query("GSI2PK = :flag", index="GSI2", flag="FLAGGED") == [keys]
    assert shop.table.scan(IndexName="GSI2")["Items"] == [keys]


def test_list_the_orders_shipped_in_a_month(shop):
    found = shop.query(
        "PK = :board AND SK BETWEEN :first AND :last",
        board="ORDERS_BY_STATUS", first="STATUS#SHIPPED#2024-01-01", last="STATUS#SHIPPED#2024-01-31",
    )
    assert keys_of(found, "SK") == [f"STATUS#SHIPPED#2024-01-{day}" for day in ("01", "15", "31")]


def test_list_all_pending_orders_whatever_the_date(shop):
    found = shop.query(
        "PK = :board AND begins_with(SK, :status)", board="ORDERS_BY_STATUS", status="STATUS#PENDING#"
    )
    assert keys_of(found, "SK") == ["STATUS#PENDING#2024-01-16", "STATUS#PENDING#2024-02-02"]


def test_place_an_order_that_takes_stock(shop, client):
    name = shop.table.name
    client.transact_write_items(
        TransactItems=[
            {"Put": {
                "TableName": name,
                "Item": {"PK": {"S": "USER#u123"}, "SK": {"S": "ORDER#2024-009"}, "total": {"N": "150"}},
                "ConditionExpression": "attribute_not_exists(PK)",
            }},
            {"Put": {
                "TableName": name,
                "Item": {"PK": {"S": "ORDER#2024-009"}, "SK": {"S": "ITEM#prod-c"}, "quantity": {"N": "2"}},
            }},
            {"Update": {
                "TableName": name,
                "Key": {"PK": {"S": "PRODUCT#prod-c"}, "SK": {"S": "DETAILS"}},
                "UpdateExpression": "SET inventory = inventory - :quantity",
                "ConditionExpression": "inventory >= :quantity",
                "ExpressionAttributeValues": {":quantity": {"N": "2"}},
            }},
        ]
    )
    assert shop.get(PK="USER#u123", SK="ORDER#2024-009")["total"] == 150
    assert keys_of(shop.query("PK = :order", order="ORDER#2024-009"), "SK") == ["ITEM#prod-c"]
    assert shop.get(PK="PRODUCT#prod-c", SK="DETAILS")["inventory"] == 6


def test_change_a_price_from_the_version_that_was_seen(shop):
    def change(price, seen):
        return shop.table.update_item(
            Key={"PK": "PRODUCT#prod-a", "SK": "DETAILS"},
            UpdateExpression="SET price = :price, version = :next",
            ConditionExpression=Attr("version").not_exists() if seen is None else Attr("version").eq(seen),
            ExpressionAttributeValues={":price": price, ":next": (seen or 0) + 1},
        )

    change(25, seen=None)
    change(26, seen=1)
    with pytest.raises(shop.table.meta.client.exceptions.ConditionalCheckFailedException):
        change(99, seen=1)
    assert shop.get(PK="PRODUCT#prod-a", SK="DETAILS")["price"] == 26
