"""Reads a stream as programs do: shard by shard, each from an iterator to its end."""

PAGES_MAX = 100


def switch_on(table, view="NEW_AND_OLD_IMAGES"):
    """Gives a table a stream; the answer is its ARN."""
    specification = {"StreamEnabled": True, "StreamViewType": view}
    updated = table.meta.client.update_table(TableName=table.name, StreamSpecification=specification)
    return updated["TableDescription"]["LatestStreamArn"]


def shards(streams, arn):
    found, page = [], {}
    for _ in range(PAGES_MAX):
        description = streams.describe_stream(StreamArn=arn, **page)["StreamDescription"]
        found += description["Shards"]
        if "LastEvaluatedShardId" not in description:
            return found
        page = {"ExclusiveStartShardId": description["LastEvaluatedShardId"]}
    raise AssertionError("the list of shards does not end")


def iterator(streams, arn, shard, kind="TRIM_HORIZON", **position):
    answer = streams.get_shard_iterator(
        StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType=kind, **position
    )
    return answer["ShardIterator"]


def read(streams, position):
    """The records from an iterator on, up to an empty page, and the iterator to go on with."""
    found = []
    for _ in range(PAGES_MAX):
        page = streams.get_records(ShardIterator=position)
        found += page["Records"]
        position = page.get("NextShardIterator")
        if not page["Records"] or position is None:
            return found, position
    raise AssertionError("the records do not end")


def records(streams, arn):
    """Every record of the stream, in the order of time."""
    found = []
    for shard in shards(streams, arn):
        found += read(streams, iterator(streams, arn, shard))[0]
    return sorted(found, key=lambda record: int(record["dynamodb"]["SequenceNumber"]))
