"""Transactions: all or nothing over items and tables, reasons in order, writers in a race."""

import signal
from concurrent.futures import ThreadPoolExecutor

import boto3
import pytest
from boto3.dynamodb.conditions import Key
from conftest import connect
from lodestone import Lodestone
from schema import Index, key_schema

INDEXES = [Index("GSI1", GSI1PK="S", GSI1SK="S")]
PRODUCT = {"PK": "PRODUCT#kettle", "SK": "DETAILS"}


@pytest.fixture
def shop(new_table):
    table = new_table(indexes=INDEXES, PK="S", SK="S")
    table.put_item(Item={**PRODUCT, "price": 30, "inventory": 5})
    return table


def place_order(shop, order, quantity, user="u5", **more):
    """An order, its line, and the stock that it takes: all of it or nothing."""
    return shop.meta.client.transact_write_items(
        TransactItems=[
            {"Put": {
                "TableName": shop.name,
                "Item": {
                    "PK": f"USER#{user}", "SK": f"ORDER#{order}", "total": 30 * quantity, "status": "PENDING",
                    "GSI1PK": "STATUS#PENDING", "GSI1SK": f"2026-03-03#{order}",
                },
                "ConditionExpression": "attribute_not_exists(PK)",
            }},
            {"Put": {
                "TableName": shop.name,
                "Item": {"PK": f"ORDER#{order}", "SK": "ITEM#kettle", "quantity": quantity, "price": 30},
            }},
            {"Update": {
                "TableName": shop.name,
                "Key": PRODUCT,
                "UpdateExpression": "SET inventory = inventory - :quantity",
                "ConditionExpression": "inventory >= :quantity",
                "ExpressionAttributeValues": {":quantity": quantity},
            }},
        ],
        **more,
    )


def codes(refused):
    return [reason["Code"] for reason in refused.value.response["CancellationReasons"]]


def state(shop):
    return sorted(shop.scan(ConsistentRead=True)["Items"], key=lambda item: (item["PK"], item["SK"]))


def inventory(shop):
    return shop.get_item(Key=PRODUCT, ConsistentRead=True)["Item"]["inventory"]


def test_an_order_takes_its_stock_in_one_step(shop):
    """A6: the order, its line, the stock and the index change together."""
    place_order(shop, "1", 2)
    assert inventory(shop) == 3
    assert shop.get_item(Key={"PK": "ORDER#1", "SK": "ITEM#kettle"})["Item"]["quantity"] == 2
    pending = shop.query(IndexName="GSI1", KeyConditionExpression=Key("GSI1PK").eq("STATUS#PENDING"))["Items"]
    assert [(item["PK"], item["SK"], item["total"]) for item in pending] == [("USER#u5", "ORDER#1", 60)]


def test_an_order_beyond_the_stock_changes_nothing(shop):
    """A6 and B31: the third action is the reason."""
    before = state(shop)
    with pytest.raises(shop.meta.client.exceptions.TransactionCanceledException) as refused:
        place_order(shop, "1", 6)
    assert codes(refused) == ["None", "None", "ConditionalCheckFailed"]
    reasons = refused.value.response["CancellationReasons"]
    assert reasons[2]["Message"] == "The conditional request failed"
    assert refused.value.response["Error"]["Message"] == (
        "Transaction cancelled, please refer cancellation reasons for specific reasons "
        "[None, None, ConditionalCheckFailed]"
    )
    assert state(shop) == before


def test_an_order_that_exists_is_not_placed_again(shop):
    """A6: a new token each time, so the condition and not the token refuses it."""
    place_order(shop, "1", 1)
    before = state(shop)
    with pytest.raises(shop.meta.client.exceptions.TransactionCanceledException) as refused:
        place_order(shop, "1", 1)
    assert codes(refused) == ["ConditionalCheckFailed", "None", "None"]
    with pytest.raises(shop.meta.client.exceptions.TransactionCanceledException) as refused:
        place_order(shop, "1", 99)
    assert codes(refused) == ["ConditionalCheckFailed", "None", "ConditionalCheckFailed"], "every failure is named"
    assert state(shop) == before


def test_the_same_request_with_the_same_token_happens_once(shop):
    """A6: a repeated request is answered as the first was."""
    for _ in range(3):
        place_order(shop, "1", 2, ClientRequestToken="once-and-only-once")
    assert inventory(shop) == 3
    with pytest.raises(shop.meta.client.exceptions.IdempotentParameterMismatchException):
        place_order(shop, "2", 2, ClientRequestToken="once-and-only-once")
    assert inventory(shop) == 3


def test_a_failed_check_shows_the_item_when_asked(shop):
    """B10: in the place of its action."""
    check = {"TableName": shop.name, "Key": PRODUCT, "ConditionExpression": "attribute_not_exists(PK)"}
    put = {"TableName": shop.name, "Item": {"PK": "x", "SK": "y"}}
    with pytest.raises(shop.meta.client.exceptions.TransactionCanceledException) as refused:
        shop.meta.client.transact_write_items(
            TransactItems=[
                {"Put": put},
                {"ConditionCheck": {**check, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}},
            ]
        )
    reasons = refused.value.response["CancellationReasons"]
    assert "Item" not in reasons[0]
    assert reasons[1]["Item"] == {
        "PK": {"S": PRODUCT["PK"]}, "SK": {"S": PRODUCT["SK"]}, "price": {"N": "30"}, "inventory": {"N": "5"},
    }


def test_a_transaction_has_up_to_100_items_of_several_tables(shop, new_table):
    """B10: one hundred are written and read as one, one more is refused."""
    other = new_table(pk="S")
    client = shop.meta.client
    puts = [{"Put": {"TableName": shop.name, "Item": {"PK": "many", "SK": f"{n:03}"}}} for n in range(60)]
    puts += [{"Put": {"TableName": other.name, "Item": {"pk": f"{n:03}"}}} for n in range(41)]
    with pytest.raises(client.exceptions.ClientError) as refused:
        client.transact_write_items(TransactItems=puts)
    assert refused.value.response["Error"]["Code"] == "ValidationException"
    assert other.scan()["Count"] == 0

    client.transact_write_items(TransactItems=puts[:100])
    assert (shop.scan()["Count"], other.scan()["Count"]) == (61, 40)
    gets = [{"Get": {"TableName": other.name, "Key": {"pk": f"{n:03}"}}} for n in reversed(range(40))]
    gets.append({"Get": {"TableName": other.name, "Key": {"pk": "missing"}}})
    found = client.transact_get_items(TransactItems=gets)["Responses"]
    assert [answer.get("Item", {}).get("pk") for answer in found] == [f"{n:03}" for n in reversed(range(40))] + [None]


def test_an_item_is_named_once_in_a_transaction(shop):
    """B10: nothing is written."""
    client = shop.meta.client
    with pytest.raises(client.exceptions.ClientError, match="multiple operations on one item"):
        client.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": shop.name, "Item": {"PK": "a", "SK": "b"}}},
                {"Delete": {"TableName": shop.name, "Key": {"PK": "a", "SK": "b"}}},
            ]
        )
    assert shop.scan()["Count"] == 1


def test_the_errors_have_their_names(shop):
    """B31: a condition alone, and a condition in a transaction."""
    exceptions = shop.meta.client.exceptions
    put = {"Item": PRODUCT, "ConditionExpression": "attribute_not_exists(PK)"}
    with pytest.raises(exceptions.ConditionalCheckFailedException) as alone:
        shop.put_item(**put)
    assert alone.value.response["Error"]["Code"] == "ConditionalCheckFailedException"
    with pytest.raises(exceptions.TransactionCanceledException) as together:
        shop.meta.client.transact_write_items(TransactItems=[{"Put": {"TableName": shop.name, **put}}])
    assert together.value.response["Error"]["Code"] == "TransactionCanceledException"
    assert codes(together) == ["ConditionalCheckFailed"]


ACCOUNTS, EACH = 4, 100


@pytest.fixture
def bank(new_table):
    table = new_table(pk="S")
    for account in range(ACCOUNTS):
        table.put_item(Item={"pk": str(account), "balance": EACH})
    return table


def test_transfers_in_a_race_keep_the_sum(bank):
    """B10: a transfer happens or is cancelled whole; a reader sees the sum at every moment."""
    client = bank.meta.client

    def change(account, amount):
        return {"Update": {
            "TableName": bank.name, "Key": {"pk": str(account)},
            "UpdateExpression": "SET balance = balance + :amount",
            "ConditionExpression": "balance >= :least",
            "ExpressionAttributeValues": {":amount": amount, ":least": max(0, -amount)},
        }}

    def transfer(number):
        giver, taker, amount = number % ACCOUNTS, (number * 7 + 1) % ACCOUNTS, number % 60
        if giver == taker:
            taker = (taker + 1) % ACCOUNTS
        try:
            client.transact_write_items(TransactItems=[change(giver, -amount), change(taker, amount)])
            return giver, taker, amount
        except client.exceptions.TransactionCanceledException as cancelled:
            reasons = {reason["Code"] for reason in cancelled.response["CancellationReasons"]}
            assert reasons <= {"None", "ConditionalCheckFailed", "TransactionConflict"}
            return giver, taker, 0

    def read(_):
        gets = [{"Get": {"TableName": bank.name, "Key": {"pk": str(account)}}} for account in range(ACCOUNTS)]
        try:
            found = client.transact_get_items(TransactItems=gets)["Responses"]
            return sum(answer["Item"]["balance"] for answer in found)
        except client.exceptions.TransactionCanceledException as cancelled:
            reasons = {reason["Code"] for reason in cancelled.response["CancellationReasons"]}
            assert reasons <= {"None", "TransactionConflict"}
            return ACCOUNTS * EACH

    with ThreadPoolExecutor(8) as pool:
        sums = pool.map(read, range(60))
        transfers = list(pool.map(transfer, range(240)))
        assert set(sums) == {ACCOUNTS * EACH}

    expected = [EACH] * ACCOUNTS
    for giver, taker, amount in transfers:
        expected[giver] -= amount
        expected[taker] += amount
    found = [bank.get_item(Key={"pk": str(a)}, ConsistentRead=True)["Item"]["balance"] for a in range(ACCOUNTS)]
    assert found == expected
    assert any(amount for _, _, amount in transfers), "some transfers happened"


def test_of_transactions_on_one_item_each_takes_effect_or_is_refused(bank):
    """B10: conflicts fail by name, and none is lost or doubled."""
    client = bank.meta.client

    def add(_):
        update = {
            "TableName": bank.name, "Key": {"pk": "0"}, "UpdateExpression": "ADD balance :one",
            "ExpressionAttributeValues": {":one": 1},
        }
        try:
            client.transact_write_items(TransactItems=[{"Update": update}])
            return 1
        except client.exceptions.TransactionCanceledException as cancelled:
            assert [r["Code"] for r in cancelled.response["CancellationReasons"]] == ["TransactionConflict"]
            return 0

    def add_alone(_):
        try:
            bank.update_item(
                Key={"pk": "0"}, UpdateExpression="ADD balance :one", ExpressionAttributeValues={":one": 1}
            )
            return 1
        except client.exceptions.TransactionConflictException:
            return 0

    with ThreadPoolExecutor(12) as pool:
        alone = pool.map(add_alone, range(100))
        added = sum(pool.map(add, range(100))) + sum(alone)
    assert bank.get_item(Key={"pk": "0"}, ConsistentRead=True)["Item"]["balance"] == EACH + added
    assert added > 0


def test_a_token_is_remembered_by_the_next_process(tmp_path):
    """A6: a client that lost the answer may ask again after the server was killed."""
    server = Lodestone(tmp_path / "data")
    try:
        client = connect(server, boto3.client)
        client.create_table(TableName="Tokens", **key_schema(pk="S"))
        add = {"Update": {
            "TableName": "Tokens", "Key": {"pk": {"S": "counter"}}, "UpdateExpression": "ADD n :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }}
        request = {"TransactItems": [add], "ClientRequestToken": "asked-twice"}
        client.transact_write_items(**request)
        server.restart(signal.SIGKILL)
        client = connect(server, boto3.client)
        client.transact_write_items(**request)
        found = client.get_item(TableName="Tokens", Key={"pk": {"S": "counter"}}, ConsistentRead=True)
        assert found["Item"]["n"] == {"N": "1"}
    finally:
        server.end()
