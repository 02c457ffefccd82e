"""The AWS CLI on tables with indexes: made from JSON, left by an update, counted, added online."""

import json
import time
from pathlib import Path

import pytest
from schema import Index, key_schema

INDEXES = [Index("GSI1", GSI1PK="S", GSI1SK="S"), Index("GSI2", "KEYS_ONLY", GSI2PK="S", GSI2SK="S")]
CUSTOMER = {"S": "CUST#k8"}
OPEN_ORDERS = (
    "--index-name", "GSI2", "--key-condition-expression", "GSI2PK = :open",
    "--expression-attribute-values", json.dumps({":open": {"S": "OPEN"}}),
)


def order(number):
    return {"PK": CUSTOMER["S"], "SK": f"ORDER#2026-07-0{number}#o-{number}"}


@pytest.fixture
def app_main(new_table):
    """Four orders, three of them open."""
    table = new_table(indexes=INDEXES, PK="S", SK="S")
    for number in range(1, 5):
        is_open = {"GSI2PK": "OPEN", "GSI2SK": f"2026-07-0{number}"} if number != 2 else {}
        table.put_item(Item={**order(number), "status": "OPEN" if is_open else "PAID", "total": number, **is_open})
    return table


def input_file(folder: Path, request):
    path = folder / "request.json"
    path.write_text(json.dumps(request))
    return "--cli-input-json", f"file://{path}"


def test_a_table_with_two_indexes_is_made_from_a_file(aws, tmp_path):
    """A1: six definitions, an index with everything, an index with keys only."""
    request = {"TableName": "ShopFromFile", **key_schema(INDEXES, PK="S", SK="S")}
    aws("dynamodb", "create-table", *input_file(tmp_path, request))
    aws("dynamodb", "wait", "table-exists", "--table-name", "ShopFromFile")
    shown = aws("dynamodb", "describe-table", "--table-name", "ShopFromFile")["Table"]
    assert shown["TableStatus"] == "ACTIVE"
    assert shown["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert len(shown["AttributeDefinitions"]) == 6
    indexes = {i["IndexName"]: (i["IndexStatus"], i["Projection"]) for i in shown["GlobalSecondaryIndexes"]}
    assert indexes == {
        "GSI1": ("ACTIVE", {"ProjectionType": "ALL"}),
        "GSI2": ("ACTIVE", {"ProjectionType": "KEYS_ONLY"}),
    }
    aws("dynamodb", "delete-table", "--table-name", "ShopFromFile")


def test_a_shipped_order_leaves_the_sparse_index(aws, app_main):
    """A18 and A23: the item stays in the table; COUNT answers with no items."""
    assert aws("dynamodb", "query", "--table-name", app_main.name, *OPEN_ORDERS, "--select", "COUNT")["Count"] == 3
    aws(
        "dynamodb", "update-item", "--table-name", app_main.name,
        "--key", json.dumps({"PK": CUSTOMER, "SK": {"S": order(1)["SK"]}}),
        "--update-expression", "SET #s = :shipped REMOVE GSI2PK, GSI2SK",
        "--expression-attribute-names", json.dumps({"#s": "status"}),
        "--expression-attribute-values", json.dumps({":shipped": {"S": "SHIPPED"}}),
    )
    counted = aws("dynamodb", "query", "--table-name", app_main.name, *OPEN_ORDERS, "--select", "COUNT")
    assert (counted["Count"], counted["ScannedCount"]) == (2, 2)
    assert not counted.get("Items")
    assert app_main.get_item(Key=order(1))["Item"] == {**order(1), "status": "SHIPPED", "total": 1}


def test_an_order_and_its_line_are_written_together(aws, app_main, tmp_path):
    """A20: both, and the second time neither."""
    def transaction(sku):
        new = {"PK": CUSTOMER, "SK": {"S": "ORDER#2026-07-08#o-9"}, "status": {"S": "OPEN"}}
        line = {"PK": {"S": "ORDER#o-9"}, "SK": {"S": "ITEM#001"}, "sku": {"S": sku}}
        condition = {"ConditionExpression": "attribute_not_exists(PK)"}
        return {
            "TransactItems": [
                {"Put": {"TableName": app_main.name, "Item": new, **condition}},
                {"Put": {"TableName": app_main.name, "Item": line}},
            ]
        }

    write = ("dynamodb", "transact-write-items")
    aws(*write, *input_file(tmp_path, transaction("ABC")))
    line = {"PK": "ORDER#o-9", "SK": "ITEM#001"}
    assert app_main.get_item(Key=line)["Item"]["sku"] == "ABC"
    refused = aws(*write, *input_file(tmp_path, transaction("XYZ")), fails_with="TransactionCanceledException")
    assert refused is None
    assert app_main.get_item(Key=line)["Item"]["sku"] == "ABC"


def test_an_index_is_added_to_a_table_in_use(aws, app_main):
    """A21: it names its own attributes alone, becomes ACTIVE, and holds what carries both keys."""
    app_main.put_item(Item={**order(7), "GSI3PK": "WEEK#27", "GSI3SK": "7", "status": "OPEN", "total": 7, "x": 1})
    app_main.put_item(Item={**order(8), "GSI3PK": "WEEK#27"})
    aws(
        "dynamodb", "update-table", "--table-name", app_main.name, "--attribute-definitions",
        "AttributeName=GSI3PK,AttributeType=S", "AttributeName=GSI3SK,AttributeType=S",
        "--global-secondary-index-updates", json.dumps([{
            "Create": Index("GSI3", ["status", "total"], GSI3PK="S", GSI3SK="S").definition()
        }]),
    )
    deadline = time.monotonic() + 30
    while True:
        shown = aws("dynamodb", "describe-table", "--table-name", app_main.name)["Table"]
        [index] = [i for i in shown["GlobalSecondaryIndexes"] if i["IndexName"] == "GSI3"]
        if (shown["TableStatus"], index["IndexStatus"]) == ("ACTIVE", "ACTIVE"):
            break
        assert time.monotonic() < deadline
    assert len(shown["AttributeDefinitions"]) == 8
    assert app_main.scan(IndexName="GSI3")["Items"] == [
        {**order(7), "GSI3PK": "WEEK#27", "GSI3SK": "7", "status": "OPEN", "total": 7}
    ]
