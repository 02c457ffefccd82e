"""Settings that each table and index has for itself, and the limit of one item."""

import pytest
from schema import Index, units


def test_an_index_has_throughput_of_its_own(new_table, client):
    """B8: given at creation, changed alone, and required when an index is added later."""
    indexes = [Index("by-g", throughput=units(3, 4), g="S")]
    table = new_table(indexes=indexes, throughput=units(5, 6), pk="S")

    def throughput(description):
        return {name: description["ProvisionedThroughput"][name] for name in units(0, 0)}

    client.update_table(
        TableName=table.name,
        GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": "by-g", "ProvisionedThroughput": units(7, 8)}}],
    )
    client.get_waiter("table_exists").wait(TableName=table.name, WaiterConfig={"Delay": 1, "MaxAttempts": 10})
    described = client.describe_table(TableName=table.name)["Table"]
    assert throughput(described) == units(5, 6)
    assert throughput(described["GlobalSecondaryIndexes"][0]) == units(7, 8)
    with pytest.raises(client.exceptions.ClientError, match="specified for index: other"):
        client.update_table(TableName=table.name, **Index("other", h="S").creation())


def test_tables_have_settings_of_their_own(new_table, client):
    """B39: throughput, billing, time to live, protection and tags of one table leave the other's alone."""
    busy = new_table(throughput=units(50, 20), pk="S")
    quiet = new_table(pk="S")
    expiry = {"Enabled": True, "AttributeName": "ends"}
    client.update_time_to_live(TableName=busy.name, TimeToLiveSpecification=expiry)
    arn = client.describe_table(TableName=busy.name)["Table"]["TableArn"]
    client.tag_resource(ResourceArn=arn, Tags=[{"Key": "team", "Value": "orders"}])
    client.update_table(TableName=quiet.name, TableClass="STANDARD_INFREQUENT_ACCESS")

    def settings(table):
        described = client.describe_table(TableName=table.name)["Table"]
        expiry = client.describe_time_to_live(TableName=table.name)["TimeToLiveDescription"]
        tags = client.list_tags_of_resource(ResourceArn=described["TableArn"])["Tags"]
        return {
            "units": described["ProvisionedThroughput"]["WriteCapacityUnits"],
            "billing": described.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED"),
            "expiry": expiry.get("AttributeName"),
            "class": described.get("TableClassSummary", {}).get("TableClass", "STANDARD"),
            "tags": {tag["Key"]: tag["Value"] for tag in tags},
        }

    assert settings(busy) == {
        "units": 20, "billing": "PROVISIONED", "expiry": "ends", "class": "STANDARD", "tags": {"team": "orders"},
    }
    assert settings(quiet) == {
        "units": 0, "billing": "PAY_PER_REQUEST", "expiry": None, "class": "STANDARD_INFREQUENT_ACCESS", "tags": {},
    }


def test_a_summary_in_one_item_ends_at_its_limit_and_in_many_does_not(new_table, client):
    """B40: a list that grows by ten kilobytes reaches 400; an item for each increment goes on."""
    table = new_table(throughput=units(4000, 4000), PK="S", SK="S")
    key = {"PK": "SHIPMENT#mega", "SK": "ROLLUP"}
    table.put_item(Item={**key, "events": []})
    increment, grown = "x" * 10_000, 0
    with pytest.raises(client.exceptions.ClientError, match="size to update has exceeded the maximum allowed size"):
        for grown in range(60):
            table.update_item(
                Key=key, UpdateExpression="SET events = list_append(events, :more)",
                ExpressionAttributeValues={":more": [increment]},
            )
    assert grown == 40
    assert len(table.get_item(Key=key)["Item"]["events"]) == 40, "the refused increment left no trace"
    with table.batch_writer() as batch:
        for number in range(60):
            batch.put_item(Item={"PK": "SHIPMENT#mega", "SK": f"ROLLUP#{number:03}", "event": increment})
    assert table.query(
        KeyConditionExpression="PK = :pk AND begins_with(SK, :rollup)",
        ExpressionAttributeValues={":pk": "SHIPMENT#mega", ":rollup": "ROLLUP#"}, Select="COUNT",
    )["Count"] == 60
