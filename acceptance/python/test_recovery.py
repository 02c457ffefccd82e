"""Point-in-time recovery: a table as it was in any second of its window, as a new table."""

import pytest
from schema import Index
from wait import next_second, until


def enable(client, table):
    client.update_continuous_backups(
        TableName=table.name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )


@pytest.fixture
def restored(resource, client):
    """Waits for a restored table, which is deleted after the test."""
    tables = []

    def wait(name):
        table = resource.Table(name)
        tables.append(table)
        until(lambda: client.describe_table(TableName=name)["Table"]["TableStatus"] == "ACTIVE")
        return table

    yield wait
    for table in tables:
        table.delete()


def test_recovery_is_switched_on_from_the_shell(aws, new_table):
    """A15: ENABLED, with the earliest and the latest second that can be restored."""
    table = new_table(pk="S")
    described = aws("dynamodb", "describe-continuous-backups", "--table-name", table.name)
    recovery = described["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    assert recovery["PointInTimeRecoveryStatus"] == "DISABLED"
    updated = aws(
        "dynamodb", "update-continuous-backups", "--table-name", table.name,
        "--point-in-time-recovery-specification", "PointInTimeRecoveryEnabled=true",
    )
    recovery = updated["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    assert recovery["PointInTimeRecoveryStatus"] == "ENABLED"
    assert recovery["RecoveryPeriodInDays"] == 35
    assert recovery["EarliestRestorableDateTime"] <= recovery["LatestRestorableDateTime"]


def test_a_table_comes_back_as_it_was_in_a_second(new_table, client, restored):
    """B25: what was written, changed and deleted after that second is undone; indexes agree."""
    table = new_table(indexes=[Index("by_status", status="S")], pk="S")
    enable(client, table)
    table.put_item(Item={"pk": "changed", "status": "OPEN", "n": 1})
    table.put_item(Item={"pk": "deleted", "status": "OPEN"})
    second = next_second()
    table.put_item(Item={"pk": "changed", "status": "PAID", "n": 2})
    table.delete_item(Key={"pk": "deleted"})
    table.put_item(Item={"pk": "later", "status": "OPEN"})
    target = f"{table.name}-restored"
    client.restore_table_to_point_in_time(
        SourceTableName=table.name, TargetTableName=target, RestoreDateTime=second
    )
    copy = restored(target)
    items = {item["pk"]: item for item in copy.scan(ConsistentRead=True)["Items"]}
    assert items == {
        "changed": {"pk": "changed", "status": "OPEN", "n": 1},
        "deleted": {"pk": "deleted", "status": "OPEN"},
    }
    by_status = copy.query(
        IndexName="by_status", KeyConditionExpression="#s = :open", ExpressionAttributeNames={"#s": "status"},
        ExpressionAttributeValues={":open": "OPEN"},
    )
    assert {item["pk"] for item in by_status["Items"]} == {"changed", "deleted"}
    assert {item["pk"] for item in table.scan(ConsistentRead=True)["Items"]} == {"changed", "later"}


def test_the_latest_second_is_restored_from_the_shell(aws, new_table, client, restored):
    """A15: `--use-latest-restorable-time` copies the table as it is."""
    table = new_table(pk="S")
    enable(client, table)
    table.put_item(Item={"pk": "a", "n": 1})
    target = f"{table.name}-latest"
    aws(
        "dynamodb", "restore-table-to-point-in-time", "--source-table-name", table.name,
        "--target-table-name", target, "--use-latest-restorable-time",
    )
    assert restored(target).scan(ConsistentRead=True)["Items"] == [{"pk": "a", "n": 1}]


def test_a_time_outside_the_window_is_refused(new_table, client):
    """B25: neither before recovery was switched on nor without it."""
    table = new_table(pk="S")

    def restore():
        client.restore_table_to_point_in_time(
            SourceTableName=table.name, TargetTableName="Never", RestoreDateTime=1_700_000_000
        )

    with pytest.raises(client.exceptions.PointInTimeRecoveryUnavailableException):
        restore()
    enable(client, table)
    with pytest.raises(client.exceptions.InvalidRestoreTimeException):
        restore()
