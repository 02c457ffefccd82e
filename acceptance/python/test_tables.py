"""Tables, as boto3 creates, describes, lists, changes and deletes them."""

import boto3
import pytest
from conftest import key_schema
from lodestone import CREDENTIALS


def test_a_table_lives_from_create_to_delete_with_waiters(client):
    name = "Lifecycle"
    created = client.create_table(TableName=name, **key_schema(pk="S", sk="N"))["TableDescription"]
    assert created["TableStatus"] in ("CREATING", "ACTIVE")
    client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 10})

    table = client.describe_table(TableName=name)["Table"]
    assert table["TableName"] == name
    assert table["TableStatus"] == "ACTIVE"
    assert table["KeySchema"] == [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ]
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert table["ItemCount"] == 0
    assert table["TableArn"].startswith("arn:aws:dynamodb:us-east-1:")
    assert table["TableArn"].endswith(f":table/{name}")
    assert table["CreationDateTime"].year >= 2024

    client.delete_table(TableName=name)
    client.get_waiter("table_not_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 10})
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.describe_table(TableName=name)


def test_a_table_is_also_found_by_its_arn(client, table):
    arn = client.describe_table(TableName=table.name)["Table"]["TableArn"]
    assert client.describe_table(TableName=arn)["Table"]["TableName"] == table.name


def test_a_name_is_taken_once(client, table):
    with pytest.raises(client.exceptions.ResourceInUseException):
        client.create_table(TableName=table.name, **key_schema(pk="S"))


def test_a_table_that_is_not_there_is_a_typed_error(client):
    for call in (
        lambda: client.describe_table(TableName="Nowhere"),
        lambda: client.delete_table(TableName="Nowhere"),
        lambda: client.get_item(TableName="Nowhere", Key={"pk": {"S": "a"}}),
        lambda: client.put_item(TableName="Nowhere", Item={"pk": {"S": "a"}}),
        lambda: client.scan(TableName="Nowhere"),
    ):
        with pytest.raises(client.exceptions.ResourceNotFoundException):
            call()


def test_tables_are_listed_in_pages(client, new_table):
    created = sorted(new_table(f"Listed-{number:02}").name for number in range(7))
    pages = client.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 3})
    listed = [name for page in pages for name in page["TableNames"]]
    assert listed == sorted(listed)
    assert [name for name in listed if name.startswith("Listed-")] == created


def test_deletion_protection_holds_until_it_is_lifted(client):
    name = "Protected"
    client.create_table(TableName=name, DeletionProtectionEnabled=True, **key_schema(pk="S"))
    client.get_waiter("table_exists").wait(TableName=name)
    with pytest.raises(client.exceptions.ClientError) as refused:
        client.delete_table(TableName=name)
    assert refused.value.response["Error"]["Code"] == "ValidationException"
    client.update_table(TableName=name, DeletionProtectionEnabled=False)
    client.get_waiter("table_exists").wait(TableName=name)
    client.delete_table(TableName=name)


def test_throughput_and_billing_mode_change(client):
    name = "Provisioned"
    schema = key_schema(pk="S") | {
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
    }
    client.create_table(TableName=name, **schema)
    client.get_waiter("table_exists").wait(TableName=name)
    described = client.describe_table(TableName=name)["Table"]
    assert described["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
    assert described["ProvisionedThroughput"]["WriteCapacityUnits"] == 6

    client.update_table(
        TableName=name, ProvisionedThroughput={"ReadCapacityUnits": 7, "WriteCapacityUnits": 8}
    )
    client.get_waiter("table_exists").wait(TableName=name)
    described = client.describe_table(TableName=name)["Table"]
    assert described["ProvisionedThroughput"]["ReadCapacityUnits"] == 7

    client.update_table(TableName=name, BillingMode="PAY_PER_REQUEST")
    client.get_waiter("table_exists").wait(TableName=name)
    described = client.describe_table(TableName=name)["Table"]
    assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert described["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    client.delete_table(TableName=name)


def test_a_region_is_a_namespace_of_its_own(server, client, table):
    elsewhere = boto3.client(
        "dynamodb",
        endpoint_url=server.endpoint,
        region_name="eu-west-1",
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
    )
    assert table.name in client.list_tables()["TableNames"]
    assert table.name not in elsewhere.list_tables()["TableNames"]
