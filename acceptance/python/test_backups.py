"""On-demand backups: taken while writes go on, kept apart from their table, restored into a new one."""

import pytest
from schema import Index
from wait import until


@pytest.fixture
def back_up(client):
    """Makes backups that can be restored, and that are deleted after the test."""
    arns = []

    def make(table, name="nightly"):
        arn = client.create_backup(TableName=table.name, BackupName=name)["BackupDetails"]["BackupArn"]
        arns.append(arn)
        until(lambda: describe(client, arn)["BackupDetails"]["BackupStatus"] == "AVAILABLE")
        return arn

    yield make
    for arn in arns:
        client.delete_backup(BackupArn=arn)


def describe(client, arn):
    return client.describe_backup(BackupArn=arn)["BackupDescription"]


def test_a_backup_has_the_items_of_its_moment_and_comes_back_with_its_indexes(
    new_table, client, resource, back_up
):
    """B26: what is written afterwards is not in it."""
    table = new_table(indexes=[Index("by_status", status="S")], pk="S")
    table.put_item(Item={"pk": "a", "status": "OPEN"})
    arn = back_up(table)
    table.put_item(Item={"pk": "a", "status": "PAID"})
    table.put_item(Item={"pk": "b", "status": "OPEN"})
    source = describe(client, arn)["SourceTableDetails"]
    assert (source["TableName"], source["ItemCount"]) == (table.name, 1)

    target = f"{table.name}-restored"
    client.restore_table_from_backup(BackupArn=arn, TargetTableName=target)
    until(lambda: client.describe_table(TableName=target)["Table"]["TableStatus"] == "ACTIVE")
    copy = resource.Table(target)
    found = copy.scan(IndexName="by_status")["Items"]
    assert found == copy.scan(ConsistentRead=True)["Items"] == [{"pk": "a", "status": "OPEN"}]
    with pytest.raises(client.exceptions.TableAlreadyExistsException):
        client.restore_table_from_backup(BackupArn=arn, TargetTableName=target)
    copy.delete()


def test_backups_are_made_listed_and_deleted_from_the_shell(aws, new_table):
    """B26: the AWS CLI's commands."""
    table = new_table(pk="S")
    made = aws("dynamodb", "create-backup", "--table-name", table.name, "--backup-name", "before-release")
    arn = made["BackupDetails"]["BackupArn"]
    listed = aws("dynamodb", "list-backups", "--table-name", table.name)["BackupSummaries"]
    assert [(backup["BackupName"], backup["BackupArn"]) for backup in listed] == [("before-release", arn)]

    def is_available():
        shown = aws("dynamodb", "describe-backup", "--backup-arn", arn)["BackupDescription"]
        return shown["BackupDetails"]["BackupStatus"] == "AVAILABLE"

    until(is_available)
    aws("dynamodb", "delete-backup", "--backup-arn", arn)
    aws("dynamodb", "describe-backup", "--backup-arn", arn, fails_with="BackupNotFoundException")


def test_a_deleted_table_with_recovery_leaves_a_last_backup(client, resource, new_table):
    """B26: it is named after the table, and can be restored under the table's old name."""
    name = new_table(pk="S").name + "-deleted"
    table = resource.create_table(
        TableName=name, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
    )
    client.update_continuous_backups(
        TableName=name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    table.put_item(Item={"pk": "last words"})
    table.delete()
    table.wait_until_not_exists()
    backup = until(lambda: system_backups(client, name))[0]
    assert backup["BackupName"] == f"{name}$DeletedTableBackup"
    client.restore_table_from_backup(BackupArn=backup["BackupArn"], TargetTableName=name)
    until(lambda: client.describe_table(TableName=name)["Table"]["TableStatus"] == "ACTIVE")
    assert table.scan(ConsistentRead=True)["Items"] == [{"pk": "last words"}]
    table.delete()


def system_backups(client, table):
    listed = client.list_backups(TableName=table, BackupType="SYSTEM")["BackupSummaries"]
    return [backup for backup in listed if backup["BackupStatus"] == "AVAILABLE"]
