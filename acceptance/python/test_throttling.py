"""What happens when throughput runs out, on a server that enforces what AWS does: of an index, of one key of a
table. And what a server says that only counts it."""

import json
import subprocess
import urllib.request

import boto3
import pytest
from conftest import connect
from lodestone import Lodestone, binary
from schema import Index, units


@pytest.fixture(scope="module")
def enforcing():
    running = Lodestone(None, "--capacity", "aws")
    yield running
    running.end()


@pytest.fixture(scope="module")
def client(enforcing):
    return connect(enforcing, boto3.client)


@pytest.fixture(scope="module")
def resource(enforcing):
    return connect(enforcing, boto3.resource)


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
    """B40: a key takes 1,000 write units a second; an item of 400 units for each of ten keys passes."""
    table = new_table(throughput=units(4000, 40_000), PK="S", SK="S")

    def write(number, pk):
        table.put_item(Item={"PK": pk, "SK": f"EVENT#{number}", "v": "v" * 400_000})

    for number in range(10):
        write(number, f"SHIPMENT#mega#{number}")
    with pytest.raises(client.exceptions.ProvisionedThroughputExceededException) as refused:
        for number in range(40):
            write(number, "SHIPMENT#mega")
    reasons = {reason["reason"] for reason in refused.value.response["ThrottlingReasons"]}
    assert reasons == {"TableWriteKeyRangeThroughputExceeded"}


def test_a_cold_on_demand_table_throttles_a_sudden_load_of_one_key(new_table, client):
    """B16, B18: on demand the exception is another, the reason is the same."""
    table = new_table(PK="S", SK="S")
    with pytest.raises(client.exceptions.ClientError) as refused:
        for number in range(60):
            table.put_item(Item={"PK": "hot", "SK": f"{number}", "v": "v" * 400_000})
    assert refused.value.response["Error"]["Code"] == "ThrottlingException"
    assert refused.value.response["throttlingReasons"][0]["reason"] == "TableWriteKeyRangeThroughputExceeded"


def test_units_are_decreased_four_times_and_then_once_an_hour(new_table, client):
    table = new_table(throughput=units(10, 10), pk="S")
    for number in (9, 8, 7, 6):
        client.update_table(TableName=table.name, ProvisionedThroughput=units(number, number))
    with pytest.raises(client.exceptions.LimitExceededException, match="Number of decreases today: 4"):
        client.update_table(TableName=table.name, ProvisionedThroughput=units(5, 5))
    described = client.describe_table(TableName=table.name)["Table"]["ProvisionedThroughput"]
    assert described["NumberOfDecreasesToday"] == 4
    client.update_table(TableName=table.name, ProvisionedThroughput=units(20, 20))


def test_heat_shows_which_keys_were_used_when():
    server = Lodestone(None)
    try:
        table = connect(server, boto3.resource).create_table(
            TableName="orders",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        for number in range(20):
            table.put_item(Item={"pk": "hot", "v": "v" * 10_000})
            table.get_item(Key={"pk": f"{number}"})
        command = [binary(), "heat", "orders", "--endpoint-url", server.endpoint]
        shown = subprocess.run([*command, "--json"], env=server.environment(), capture_output=True, check=True)
        [of_table] = json.loads(shown.stdout)["resources"]
        squares = [square for column in of_table["columns"] for square in column["squares"]]
        assert sum(write for _, write, _ in squares) == 200
        assert sum(read for read, _, _ in squares) == 10
        hot = {at for column in of_table["columns"] for at, square in enumerate(column["squares"]) if square[1]}
        assert len(hot) == 1, "one key is in one range"
        text = subprocess.run(command, env=server.environment(), capture_output=True, check=True, text=True).stdout
        assert "table: 10 read units, 200 write units, 0 requests met a limit" in text
        assert "█" in text
    finally:
        server.end()


def test_by_default_all_is_served_and_the_server_says_what_aws_would_have_refused():
    server = Lodestone(None)
    try:
        table = connect(server, boto3.resource).create_table(
            TableName="orders",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            ProvisionedThroughput=units(1, 1),
        )
        consumed = 0
        for number in range(10):
            item = {"pk": f"{number % 2}", "v": "v" * 100_000}
            answer = table.put_item(Item=item, ReturnConsumedCapacity="TOTAL")
            consumed += answer["ConsumedCapacity"]["CapacityUnits"]
        command = [binary(), "capacity", "orders", "--endpoint-url", server.endpoint]
        shown = subprocess.run([*command, "--json"], env=server.environment(), capture_output=True, check=True)
        write = json.loads(shown.stdout)["resources"][0]["write"]
        assert (write["declared"], write["consumed"], write["throttled"]) == (1, consumed, {})
        # 300 units were saved up: the first four requests.
        assert write["would_throttle"] == {"ProvisionedThroughputExceeded": 6}
        text = subprocess.run(command, env=server.environment(), capture_output=True, check=True, text=True).stdout
        assert "6 ProvisionedThroughputExceeded" in text and '{"pk":{"S":"0"}}' in text
        metrics = urllib.request.urlopen(f"{server.endpoint}/metrics").read().decode()
        labels = '{account="000000000000",region="us-east-1",table="orders"}'
        assert f"lodestone_consumed_write_capacity_units_total{labels} {consumed:g}\n" in metrics
        assert f"lodestone_shadow_write_throttle_events_total{labels} 6\n" in metrics
    finally:
        server.end()
