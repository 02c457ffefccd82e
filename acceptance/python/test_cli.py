"""The AWS CLI, with nothing set but the endpoint and any credentials."""

import base64
import json

import pytest

CUSTOMER = "CUST#c9"
ORDERS = [f"ORDER#2026-0{month}-01#o-{month}" for month in range(1, 8)]


@pytest.fixture
def app_main(new_table):
    table = new_table(PK="S", SK="S")
    for number, order in enumerate(ORDERS):
        table.put_item(
            Item={"PK": CUSTOMER, "SK": order, "status": "OPEN" if number % 2 else "PAID", "note": "n" * 3000}
        )
    table.put_item(Item={"PK": "ORDER#o-7", "SK": "META", "version": 7})
    return table.name


ORDERS_OF_CUSTOMER = (
    "--key-condition-expression", "PK = :pk AND begins_with(SK, :prefix)",
)


def values(**more):
    return "--expression-attribute-values", json.dumps(
        {":pk": {"S": CUSTOMER}, ":prefix": {"S": "ORDER#"}, **{f":{name}": value for name, value in more.items()}}
    )


def test_create_describe_list_and_delete(aws):
    aws(
        "dynamodb", "create-table", "--table-name", "FromTheShell",
        "--attribute-definitions", "AttributeName=PK,AttributeType=S", "AttributeName=SK,AttributeType=S",
        "--key-schema", "AttributeName=PK,KeyType=HASH", "AttributeName=SK,KeyType=RANGE",
        "--billing-mode", "PAY_PER_REQUEST",
    )
    aws("dynamodb", "wait", "table-exists", "--table-name", "FromTheShell")
    shown = aws(
        "dynamodb", "describe-table", "--table-name", "FromTheShell", "--query",
        "Table.{Status: TableStatus, ItemCount: ItemCount, Size: TableSizeBytes, "
        "BillingMode: BillingModeSummary.BillingMode, ReadCapacity: ProvisionedThroughput.ReadCapacityUnits, "
        "WriteCapacity: ProvisionedThroughput.WriteCapacityUnits}",
    )
    assert shown == {
        "Status": "ACTIVE", "ItemCount": 0, "Size": 0, "BillingMode": "PAY_PER_REQUEST",
        "ReadCapacity": 0, "WriteCapacity": 0,
    }
    assert "FromTheShell" in aws("dynamodb", "list-tables")["TableNames"]
    aws("dynamodb", "delete-table", "--table-name", "FromTheShell")
    aws(
        "dynamodb", "describe-table", "--table-name", "FromTheShell", fails_with="ResourceNotFoundException"
    )


def test_a_query_pages_by_itself_newest_first(aws, app_main):
    found = aws(
        "dynamodb", "query", "--table-name", app_main, *ORDERS_OF_CUSTOMER, *values(),
        "--no-scan-index-forward", "--page-size", "2",
    )
    assert [item["SK"]["S"] for item in found["Items"]] == ORDERS[::-1]


def test_a_stale_version_is_refused(aws, app_main):
    update = (
        "dynamodb", "update-item", "--table-name", app_main,
        "--key", json.dumps({"PK": {"S": "ORDER#o-7"}, "SK": {"S": "META"}}),
        "--update-expression", "SET #st = :new, version = :nextv",
        "--condition-expression", "version = :curv",
        "--expression-attribute-names", json.dumps({"#st": "status"}),
        "--expression-attribute-values",
        json.dumps({":new": {"S": "PAID"}, ":curv": {"N": "7"}, ":nextv": {"N": "8"}}),
        "--return-values", "ALL_NEW",
    )
    changed = aws(*update)["Attributes"]
    assert (changed["status"]["S"], changed["version"]["N"]) == ("PAID", "8")
    aws(*update, fails_with="ConditionalCheckFailedException")


def test_capacity_is_what_was_read_whatever_the_filter_hides(aws, app_main):
    """Seven items of 3.0 KB are 21.4 KB: six units of 4 KB, halved for an eventually consistent read."""
    plain = aws(
        "dynamodb", "query", "--table-name", app_main, *ORDERS_OF_CUSTOMER, *values(),
        "--return-consumed-capacity", "TOTAL",
    )
    filtered = aws(
        "dynamodb", "query", "--table-name", app_main, *ORDERS_OF_CUSTOMER, *values(open={"S": "OPEN"}),
        "--filter-expression", "#s = :open", "--expression-attribute-names", json.dumps({"#s": "status"}),
        "--return-consumed-capacity", "TOTAL",
    )
    assert (plain["Count"], filtered["Count"]) == (7, 3)
    assert plain["ConsumedCapacity"]["CapacityUnits"] == 3.0
    assert filtered["ConsumedCapacity"]["CapacityUnits"] == 3.0


def test_items_go_in_and_out(aws, app_main):
    item = {
        "PK": {"S": "TYPES"}, "SK": {"S": "1"}, "n": {"N": "3.14"}, "b": {"B": "AAH/"}, "ns": {"NS": ["1", "2"]},
        "m": {"M": {"l": {"L": [{"BOOL": True}, {"NULL": True}]}}},
    }
    aws("dynamodb", "put-item", "--table-name", app_main, "--item", json.dumps(item))
    key = json.dumps({"PK": {"S": "TYPES"}, "SK": {"S": "1"}})
    # The CLI takes a B in its arguments for the bytes themselves, and prints base64.
    item["b"]["B"] = base64.b64encode(b"AAH/").decode()
    assert aws("dynamodb", "get-item", "--table-name", app_main, "--key", key)["Item"] == item
    aws("dynamodb", "delete-item", "--table-name", app_main, "--key", key)
    assert aws("dynamodb", "get-item", "--table-name", app_main, "--key", key) is None
    assert aws("dynamodb", "scan", "--table-name", app_main, "--select", "COUNT")["Count"] == 8
