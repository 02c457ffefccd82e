"""Exports, imports and bulk puts: a table as files in a bucket, and files as a new table or as items of one."""

import gzip
import json
import time
from pathlib import Path

import boto3
import pytest
from boto3.dynamodb.types import TypeDeserializer
from botocore.exceptions import ClientError
from conftest import connect
from lodestone import FAKETIME, Lodestone
from schema import key_schema, units
from wait import until

BUCKET = "warehouse"


@pytest.fixture(scope="module")
def buckets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("buckets")
    (folder / BUCKET).mkdir()
    return folder


@pytest.fixture(scope="module")
def server(buckets):
    running = Lodestone(None, "--s3", str(buckets))
    yield running
    running.end()


@pytest.fixture(scope="module")
def client(server):
    return connect(server, boto3.client)


@pytest.fixture(scope="module")
def resource(server):
    return connect(server, boto3.resource)


@pytest.fixture
def export(client, buckets):
    """Exports a table; the answer is its description and the folder of its files."""

    def run(table, prefix, **request):
        client.update_continuous_backups(
            TableName=table.name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
        begun = client.export_table_to_point_in_time(
            TableArn=table.table_arn, S3Bucket=BUCKET, S3Prefix=prefix, **request
        )
        arn = begun["ExportDescription"]["ExportArn"]

        def completed():
            shown = client.describe_export(ExportArn=arn)["ExportDescription"]
            return shown if shown["ExportStatus"] != "IN_PROGRESS" else None

        shown = until(completed)
        assert shown["ExportStatus"] == "COMPLETED", shown
        return shown, (buckets / BUCKET / shown["ExportManifest"]).parent

    return run


def lines(path: Path):
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in text.splitlines()]


def exported_items(buckets, folder):
    """The items of an export, found through its manifests."""
    summary = json.loads((folder / "manifest-summary.json").read_text())
    files = lines(buckets / BUCKET / summary["manifestFilesS3Key"])
    found = [line["Item"] for file in files for line in lines(buckets / BUCKET / file["dataFileS3Key"])]
    assert len(found) == summary["itemCount"] == sum(file["itemCount"] for file in files)
    return found


def test_an_export_is_read_transformed_and_written_back(new_table, export, buckets, aws):
    """A28: files that any program reads; after the way back the counts agree."""
    table, target = new_table(pk="S"), new_table(pk="S")
    with table.batch_writer() as batch:
        for number in range(60):
            batch.put_item(Item={"pk": f"{number:03}", "n": number})
    shown, folder = export(table, "daily")
    assert shown["ItemCount"] == 60 and (folder / "manifest-summary.md5").exists()
    plain = TypeDeserializer().deserialize
    with target.batch_writer() as batch:
        for item in exported_items(buckets, folder):
            item = {name: plain(value) for name, value in item.items()}
            batch.put_item(Item={**item, "shard": item["n"] % 10})
    for name in [table.name, target.name]:
        assert aws("dynamodb", "scan", "--table-name", name, "--select", "COUNT")["Count"] == 60
    assert target.get_item(Key={"pk": "042"})["Item"]["shard"] == 2


def test_an_export_consumes_no_read_capacity(new_table, export):
    """A28: one read unit a second saves 300. The export reads what would cost 250; 200 can be read afterwards."""
    table = new_table(throughput=units(1, 10), pk="S")
    for number in range(5):
        table.put_item(Item={"pk": f"{number}", "v": "v" * 400_000})
    export(table, "free")
    for number in range(2):
        table.get_item(Key={"pk": f"{number}"}, ConsistentRead=True)


@pytest.mark.parametrize("format_", ["DYNAMODB_JSON", "ION"])
def test_an_export_is_imported_again_as_the_same_table(new_table, export, client, resource, buckets, format_):
    """A28: what ExportTableToPointInTime wrote, ImportTable reads."""
    table = new_table(pk="S")
    items = [
        {"pk": "a", "list": [1, "two", None], "map": {"deep": {"er": True}}, "tags": {"x", "y"}},
        {"pk": "b", "text": "é\n\"quoted\"", "bytes": boto3.dynamodb.types.Binary(b"\x00\xff")},
    ]
    for item in items:
        table.put_item(Item=item)
    _, folder = export(table, f"round-{format_}", ExportFormat=format_)
    target = f"{table.name}-imported"
    prefix = str((folder / "data").relative_to(buckets / BUCKET)) + "/"
    shown = run_import(client, target, prefix, InputFormat=format_, InputCompressionType="GZIP")
    assert (shown["ImportStatus"], shown["ImportedItemCount"], shown["ErrorCount"]) == ("COMPLETED", 2, 0)
    found = resource.Table(target).scan(ConsistentRead=True)["Items"]
    assert sorted(found, key=lambda item: item["pk"]) == items
    resource.Table(target).delete()


def run_import(client, table, prefix, **request):
    schema = key_schema(pk="S")
    begun = client.import_table(
        S3BucketSource={"S3Bucket": BUCKET, "S3KeyPrefix": prefix},
        TableCreationParameters={"TableName": table, **schema},
        **request,
    )
    arn = begun["ImportTableDescription"]["ImportArn"]

    def ended():
        shown = client.describe_import(ImportArn=arn)["ImportTableDescription"]
        return shown if shown["ImportStatus"] != "IN_PROGRESS" else None

    return until(ended)


def test_items_that_cannot_be_imported_are_counted(client, resource, buckets):
    """A28: the others are in the table, and the import says what it left out."""
    (buckets / BUCKET / "list.csv").write_text("pk,n\na,1\n,2\nc,3\n")
    shown = run_import(client, "FromCsv", "list.csv", InputFormat="CSV")
    assert (shown["ProcessedItemCount"], shown["ImportedItemCount"], shown["ErrorCount"]) == (3, 2, 1)
    found = resource.Table("FromCsv").scan(ConsistentRead=True)["Items"]
    assert sorted(item["pk"] for item in found) == ["a", "c"]
    resource.Table("FromCsv").delete()


def test_a_bucket_that_is_not_there_fails_the_export(new_table, client):
    """A28: the description names the bucket."""
    table = new_table(pk="S")
    client.update_continuous_backups(
        TableName=table.name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    begun = client.export_table_to_point_in_time(TableArn=table.table_arn, S3Bucket="nowhere")
    arn = begun["ExportDescription"]["ExportArn"]

    def failed():
        shown = client.describe_export(ExportArn=arn)["ExportDescription"]
        return shown if shown["ExportStatus"] == "FAILED" else None

    shown = until(failed)
    assert shown["FailureCode"] == "S3NoSuchBucket" and "nowhere" in shown["FailureMessage"]


def test_an_incremental_export_has_what_a_period_changed(tmp_path, monkeypatch):
    """A28: one line for each item that changed within the period, with its first old and its last new image."""
    (tmp_path / BUCKET).mkdir()
    monkeypatch.setenv("LD_PRELOAD", FAKETIME)
    monkeypatch.setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1")
    monkeypatch.setenv("FAKETIME", "+0")
    server = Lodestone(tmp_path / "data", "--s3", str(tmp_path))
    began = int(time.time())

    def at(hours):
        """The server's clock is set ahead, and the table is there."""
        monkeypatch.setenv("FAKETIME", f"+{hours * 3600}s")
        server.restart()
        return connect(server, boto3.resource).Table("Daily")

    try:
        resource = connect(server, boto3.resource)
        table = resource.create_table(TableName="Daily", **key_schema(pk="S"))
        table.meta.client.update_continuous_backups(
            TableName="Daily", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
        for name in ["kept", "changed", "deleted"]:
            table.put_item(Item={"pk": name, "n": 1})
        table = at(hours=2)
        for n in [2, 3]:
            table.put_item(Item={"pk": "changed", "n": n})
        table.delete_item(Key={"pk": "deleted"})
        table.put_item(Item={"pk": "new", "n": 1})
        table.put_item(Item={"pk": "passing", "n": 1})
        table.delete_item(Key={"pk": "passing"})
        table = at(hours=4)
        table.put_item(Item={"pk": "changed", "n": 4})
        client = table.meta.client
        begun = client.export_table_to_point_in_time(
            TableArn=table.table_arn,
            S3Bucket=BUCKET,
            ExportType="INCREMENTAL_EXPORT",
            IncrementalExportSpecification={"ExportFromTime": began + 3600, "ExportToTime": began + 3 * 3600},
        )
        arn = begun["ExportDescription"]["ExportArn"]

        def ended():
            shown = client.describe_export(ExportArn=arn)["ExportDescription"]
            return shown if shown["ExportStatus"] != "IN_PROGRESS" else None

        shown = until(ended)
        assert (shown["ExportStatus"], shown["ItemCount"]) == ("COMPLETED", 3), shown
        summary = json.loads((tmp_path / BUCKET / shown["ExportManifest"]).read_text())
        assert (summary["exportType"], summary["outputView"]) == ("INCREMENTAL_EXPORT", "NEW_AND_OLD_IMAGES")
        files = lines(tmp_path / BUCKET / summary["manifestFilesS3Key"])
        found = [line for file in files for line in lines(tmp_path / BUCKET / file["dataFileS3Key"])]
        images = {
            line["Keys"]["pk"]["S"]: [line.get(name, {}).get("n", {}).get("N") for name in ["OldImage", "NewImage"]]
            for line in found
        }
        assert images == {"changed": ["1", "3"], "deleted": ["1", None], "new": [None, "1"]}
    finally:
        server.end()


def test_a_bulk_put_adds_items_to_a_table_and_reports_those_that_it_could_not(new_table, client, buckets):
    """A28: items from files into a table that is there, each perhaps under a condition."""
    table = new_table(pk="S")
    table.put_item(Item={"pk": "taken", "n": 1})
    new = {"ConditionExpression": "attribute_not_exists(pk)"}
    records = [
        {"Item": {"pk": {"S": "free"}, "n": {"N": "2"}}, **new},
        {"Item": {"pk": {"S": "taken"}, "n": {"N": "3"}}, **new},
        {"Item": {"n": {"N": "4"}}},
    ]
    (buckets / BUCKET / "bulk").mkdir()
    (buckets / BUCKET / "bulk" / "1.json.gz").write_bytes(
        gzip.compress("\n".join(json.dumps(record) for record in records).encode())
    )
    begun = client.start_bulk_put_items(
        TableName=table.name,
        InputS3Configuration={
            "S3Bucket": BUCKET,
            "S3KeyPrefix": "bulk/",
            "InputFormat": "DYNAMODB_JSON",
            "InputCompressionType": "GZIP",
        },
        OutputS3Configuration={
            "S3Bucket": BUCKET,
            "S3KeyPrefix": "bulk-report",
            "OutputType": ["ERROR", "CONDITION_CHECK_FAILURE"],
        },
        MaxWriteRequestUnits=5000,
    )["BulkOperationDescription"]
    assert begun["BulkOperationStatus"] == "IN_PROGRESS"
    arn = begun["BulkOperationArn"]
    client.get_waiter("bulk_operation_completed").wait(
        BulkOperationArn=arn, WaiterConfig={"Delay": 1, "MaxAttempts": 30}
    )
    shown = client.describe_bulk_operation(BulkOperationArn=arn)["BulkOperationDescription"]
    assert (shown["BulkOperationStatus"], shown["ProcessedItemCount"], shown["FailedItemCount"]) == (
        "COMPLETED_WITH_ERRORS",
        3,
        1,
    )
    found = table.scan(ConsistentRead=True)["Items"]
    assert {item["pk"]: item["n"] for item in found} == {"free": 2, "taken": 1}
    report = buckets / BUCKET / "bulk-report" / arn.rsplit("/", 1)[1]
    manifest = json.loads((report / "manifest.json").read_text())
    assert (manifest["failedItemCount"], manifest["conditionCheckFailureCount"]) == (1, 1)
    [failure] = lines(next((report / "condition-check-failures").iterdir()))
    assert failure["Item"]["n"] == {"N": "3"} and failure["ExistingItem"]["n"] == {"N": "1"}
    listed = client.list_bulk_operations()["BulkOperationsSummaryList"]
    assert listed[0]["BulkOperationArn"] == arn
    with pytest.raises(ClientError, match="can't be cancelled"):
        client.cancel_bulk_operation(BulkOperationArn=arn)
