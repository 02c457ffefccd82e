"""What happens when throughput runs out: of an index, of one key of a table."""

import pytest
from schema import Index, units


def test_an_index_without_throughput_left_refuses_writes_to_its_table(new_table, client):
    """B8: the index has one unit a second and what it saved, 300 at most; the table has plenty."""
    indexes = [Index("starved", throughput=units(1, 1), g="S")]
    table = new_table(indexes=indexes, throughput=units(1000, 1000), pk="S")
    with pytest.raises(client.exceptions.ProvisionedThroughputExceededException) as refused:
        for number in range(50):
            table.put_item(Item={"pk": f"{number}", "g": "x", "v": "v" * 20_000})
    reasons = refused.value.response["ThrottlingReasons"]
    arn = client.describe_table(TableName=table.name)["Table"]["GlobalSecondaryIndexes"][0]["IndexArn"]
    assert reasons == [{"reason": "IndexWriteProvisionedThroughputExceeded", "resource": arn}]
    table.put_item(Item={"pk": "outside the index", "v": "v" * 20_000})


def test_a_hot_key_is_throttled_while_its_table_has_room(new_table, client):
    """B40: a key takes 1,000 write units a second; two items of 400 units for each of ten keys pass."""
    table = new_table(throughput=units(4000, 40_000), PK="S", SK="S")

    def write(number, pk):
        table.put_item(Item={"PK": pk, "SK": f"EVENT#{number}", "v": "v" * 400_000})

    for number in range(20):
        write(number, f"SHIPMENT#mega#{number % 10}")
    with pytest.raises(client.exceptions.ProvisionedThroughputExceededException) as refused:
        for number in range(40):
            write(number, "SHIPMENT#mega")
    reasons = {reason["reason"] for reason in refused.value.response["ThrottlingReasons"]}
    assert reasons == {"TableWriteKeyRangeThroughputExceeded"}
