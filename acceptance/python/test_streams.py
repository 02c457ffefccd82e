"""Streams: the changes of items, in their order, in shards that are read from iterators."""

import datetime

import pytest
from stream_reader import iterator, read, records, shards, switch_on

KEY = {"pk": {"S": "a"}}


@pytest.fixture
def table(new_table):
    return new_table(pk="S")


def events(found):
    return [record["eventName"] for record in found]


def test_update_table_shows_the_arn_of_the_new_stream(aws, table):
    """A13: the answer to the switch has the ARN, and so has the table from then on."""
    updated = aws(
        "dynamodb", "update-table", "--table-name", table.name,
        "--stream-specification", "StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES",
    )["TableDescription"]
    assert updated["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert updated["LatestStreamArn"].endswith(f"table/{table.name}/stream/{updated['LatestStreamLabel']}")
    listed = aws("dynamodbstreams", "list-streams", "--table-name", table.name)["Streams"]
    assert [stream["StreamArn"] for stream in listed] == [updated["LatestStreamArn"]]
    described = aws("dynamodbstreams", "describe-stream", "--stream-arn", updated["LatestStreamArn"])
    assert described["StreamDescription"]["StreamStatus"] == "ENABLED"


def test_changes_of_an_item_are_records_in_their_order(table, streams):
    """B24: INSERT, MODIFY and REMOVE, each with the item before and after."""
    arn = switch_on(table)
    table.put_item(Item={"pk": "a", "n": 1})
    table.update_item(Key={"pk": "a"}, UpdateExpression="SET n = n + :one", ExpressionAttributeValues={":one": 1})
    table.delete_item(Key={"pk": "a"})
    first, second = {**KEY, "n": {"N": "1"}}, {**KEY, "n": {"N": "2"}}
    found = records(streams, arn)
    assert events(found) == ["INSERT", "MODIFY", "REMOVE"]
    images = [(change.get("OldImage"), change.get("NewImage")) for change in (r["dynamodb"] for r in found)]
    assert images == [(None, first), (first, second), (second, None)]
    for record in found:
        assert (record["eventSource"], record["awsRegion"]) == ("aws:dynamodb", "us-east-1")
        assert record["dynamodb"]["Keys"] == KEY and "userIdentity" not in record
    assert len({record["eventID"] for record in found}) == 3


def test_a_write_that_changes_nothing_leaves_no_record(table, streams):
    """B24: the same item put again, and a delete of what is not there."""
    arn = switch_on(table)
    table.put_item(Item={"pk": "a", "n": 1})
    table.put_item(Item={"pk": "a", "n": 1})
    table.delete_item(Key={"pk": "b"})
    assert events(records(streams, arn)) == ["INSERT"]


def test_transactions_batches_and_statements_leave_records_too(table, streams, client):
    """B24: whatever writes an item is in the stream."""
    arn = switch_on(table)
    with table.batch_writer() as batch:
        batch.put_item(Item={"pk": "batch"})
    put = {"TableName": table.name, "Item": {"pk": {"S": "transaction"}}}
    client.transact_write_items(TransactItems=[{"Put": put}])
    client.execute_statement(Statement=f"INSERT INTO \"{table.name}\" VALUE {{'pk': 'statement'}}")
    found = records(streams, arn)
    assert [record["dynamodb"]["Keys"]["pk"]["S"] for record in found] == ["batch", "transaction", "statement"]


@pytest.mark.parametrize(
    "view, images",
    [
        ("KEYS_ONLY", set()),
        ("NEW_IMAGE", {"NewImage"}),
        ("OLD_IMAGE", {"OldImage"}),
        ("NEW_AND_OLD_IMAGES", {"NewImage", "OldImage"}),
    ],
)
def test_the_view_says_which_images_records_have(table, streams, view, images):
    """B24: four views of a change."""
    arn = switch_on(table, view)
    table.put_item(Item={"pk": "a", "n": 1})
    table.put_item(Item={"pk": "a", "n": 2})
    change = records(streams, arn)[-1]["dynamodb"]
    assert change["StreamViewType"] == view
    assert {"NewImage", "OldImage"} & set(change) == images


def test_iterators_begin_at_the_oldest_the_newest_a_record_or_a_time(table, streams):
    """B24: each kind of iterator reads on from its place, in the shard of the item."""
    arn = switch_on(table)
    for number in range(3):
        table.put_item(Item={"pk": "a", "n": number})
    shard = next(shard for shard in shards(streams, arn) if read(streams, iterator(streams, arn, shard))[0])

    def from_(kind, **position):
        return read(streams, iterator(streams, arn, shard, kind, **position))[0]

    everything = from_("TRIM_HORIZON")
    assert len(everything) == 3
    middle = everything[1]["dynamodb"]["SequenceNumber"]
    assert from_("AT_SEQUENCE_NUMBER", SequenceNumber=middle) == everything[1:]
    assert from_("AFTER_SEQUENCE_NUMBER", SequenceNumber=middle) == everything[2:]
    hour = datetime.timedelta(hours=1)
    now = datetime.datetime.now(datetime.timezone.utc)
    assert from_("AT_TIMESTAMP", Timestamp=now - hour) == everything
    newest = iterator(streams, arn, shard, "LATEST")
    table.put_item(Item={"pk": "a", "n": "later"})
    assert [record["dynamodb"]["NewImage"]["n"] for record in read(streams, newest)[0]] == [{"S": "later"}]


def test_a_stream_that_is_switched_off_can_be_read_to_its_end(table, streams, client):
    """B24: its shards are closed, their last page has no next iterator, and a new stream is another one."""
    old = switch_on(table)
    table.put_item(Item={"pk": "a"})
    client.update_table(TableName=table.name, StreamSpecification={"StreamEnabled": False})
    assert events(records(streams, old)) == ["INSERT"]
    for shard in shards(streams, old):
        assert "EndingSequenceNumber" in shard["SequenceNumberRange"]
        assert read(streams, iterator(streams, old, shard))[1] is None
    new = switch_on(table)
    listed = streams.list_streams(TableName=table.name)["Streams"]
    assert {stream["StreamArn"] for stream in listed} == {old, new} and old != new
    assert records(streams, new) == []


def test_errors_have_the_names_that_programs_catch(streams):
    """B31: a stream that is not there, an iterator that is none."""
    arn = "arn:aws:dynamodb:us-east-1:000000000000:table/Nowhere/stream/2026-01-01T00:00:00.000"
    with pytest.raises(streams.exceptions.ResourceNotFoundException):
        streams.describe_stream(StreamArn=arn)
    with pytest.raises(streams.exceptions.ClientError) as refused:
        streams.get_records(ShardIterator="no iterator")
    assert refused.value.response["Error"]["Code"] == "ValidationException"
