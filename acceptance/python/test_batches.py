"""BatchWriteItem and BatchGetItem: their limits, several tables at once, nothing written when refused."""

import pytest


def key(number):
    return {"pk": "batch", "sk": f"{number:03}"}


def puts(count):
    return [{"PutRequest": {"Item": {**key(n), "n": n}}} for n in range(count)]


def test_a_batch_writes_up_to_25_items(resource, table):
    """B14: puts and deletes, all processed."""
    answer = resource.batch_write_item(RequestItems={table.name: puts(25)})
    assert answer["UnprocessedItems"] == {}
    assert table.scan()["Count"] == 25
    deletes = [{"DeleteRequest": {"Key": key(n)}} for n in range(10)]
    resource.batch_write_item(RequestItems={table.name: deletes})
    assert [item["n"] for item in table.query(
        KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": "batch"}
    )["Items"]] == list(range(10, 25))


def test_a_batch_of_26_writes_is_refused_whole(client, resource, table, new_table):
    """B14: in one table or over two."""
    other = new_table()
    for request in ({table.name: puts(26)}, {table.name: puts(25), other.name: puts(1)}):
        with pytest.raises(client.exceptions.ClientError) as refused:
            resource.batch_write_item(RequestItems=request)
        assert refused.value.response["Error"]["Code"] == "ValidationException"
    assert table.scan()["Count"] == other.scan()["Count"] == 0


def test_a_batch_reads_up_to_100_items(client, resource, table):
    """B14: missing ones are just absent; 101 are refused."""
    with table.batch_writer() as batch:
        for number in range(98):
            batch.put_item(Item={**key(number), "n": number})
    answer = resource.batch_get_item(RequestItems={table.name: {"Keys": [key(n) for n in range(100)]}})
    assert sorted(item["n"] for item in answer["Responses"][table.name]) == list(range(98))
    assert answer["UnprocessedKeys"] == {}
    with pytest.raises(client.exceptions.ClientError) as refused:
        resource.batch_get_item(RequestItems={table.name: {"Keys": [key(n) for n in range(101)]}})
    assert refused.value.response["Error"]["Code"] == "ValidationException"


def test_a_batch_reads_from_several_tables_each_in_its_own_way(resource, table, new_table):
    other = new_table(id="N")
    table.put_item(Item={**key(1), "name": "first", "more": 1})
    other.put_item(Item={"id": 7, "colour": "blue"})
    answer = resource.batch_get_item(
        RequestItems={
            table.name: {
                "Keys": [key(1)], "ProjectionExpression": "#n", "ExpressionAttributeNames": {"#n": "name"},
                "ConsistentRead": True,
            },
            other.name: {"Keys": [{"id": 7}]},
        }
    )
    assert answer["Responses"] == {table.name: [{"name": "first"}], other.name: [{"id": 7, "colour": "blue"}]}


def test_a_key_twice_in_a_batch_is_refused(client, resource, table):
    for request in ([*puts(2), *puts(1)], [*puts(1), {"DeleteRequest": {"Key": key(0)}}]):
        with pytest.raises(client.exceptions.ClientError, match="contains duplicates"):
            resource.batch_write_item(RequestItems={table.name: request})
    with pytest.raises(client.exceptions.ClientError, match="contains duplicates"):
        resource.batch_get_item(RequestItems={table.name: {"Keys": [key(0), key(0)]}})
    assert table.scan()["Count"] == 0


def test_one_bad_request_refuses_the_batch(client, resource, table):
    """B14: no item of the batch is written."""
    bad = {"PutRequest": {"Item": {"pk": "batch", "sk": 5}}}
    with pytest.raises(client.exceptions.ClientError) as refused:
        resource.batch_write_item(RequestItems={table.name: [*puts(3), bad]})
    assert refused.value.response["Error"]["Code"] == "ValidationException"
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        resource.batch_write_item(RequestItems={table.name: puts(3), "Nowhere": puts(1)})
    assert table.scan()["Count"] == 0


def test_an_answer_beyond_16_megabytes_names_the_keys_that_are_left(client, resource, table):
    """B14: asked again, they are all there."""
    for number in range(45):
        table.put_item(Item={**key(number), "value": "x" * 390_000})
    request, found = {table.name: {"Keys": [key(n) for n in range(45)]}}, []
    calls = 0
    while request:
        answer = resource.batch_get_item(RequestItems=request)
        calls += 1
        assert calls <= 3 and answer["Responses"].get(table.name)
        found += [item["sk"] for item in answer["Responses"][table.name]]
        request = answer["UnprocessedKeys"]
    assert calls == 2
    assert sorted(found) == [key(n)["sk"] for n in range(45)]
