"""DAX, as amazon-dax-client talks to it: what it answers is what the table answers, and what it keeps is as documented.

Each write and read of a test goes to one server twice: through the cache, and directly with boto3.
"""

import json
import re
import urllib.request
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import boto3
import pytest
from amazondax import AmazonDaxClient
from botocore.exceptions import ClientError

from conftest import connect
from lodestone import CREDENTIALS, Lodestone
from schema import key_schema
from wait import until


def dax_url(server) -> str:
    """Where the cluster is, as tools find it out."""
    clusters = connect(server, boto3.client, "dax").describe_clusters()["Clusters"]
    assert clusters[0]["Status"] == "available"
    return clusters[0]["ClusterDiscoveryEndpoint"]["URL"]


def dax_client(server, key=CREDENTIALS["AWS_ACCESS_KEY_ID"], secret=CREDENTIALS["AWS_SECRET_ACCESS_KEY"]):
    return AmazonDaxClient(
        endpoint_url=dax_url(server),
        region_name=CREDENTIALS["AWS_DEFAULT_REGION"],
        aws_access_key_id=key,
        aws_secret_access_key=secret,
    )


def metrics(server) -> dict[str, int]:
    text = urllib.request.urlopen(f"{server.endpoint}/metrics").read().decode()
    return {name: int(value) for name, value in re.findall(r"^lodestone_dax_(\w+) (\d+)$", text, re.MULTILINE)}


@pytest.fixture(scope="module")
def cached():
    """A server whose cache keeps everything for as long as the tests run."""
    running = Lodestone(None, "--dax", "0", "--dax-item-ttl", "1h", "--dax-query-ttl", "1h")
    yield running
    running.end()


@pytest.fixture(scope="module")
def direct(cached):
    return connect(cached, boto3.client)


@pytest.fixture(scope="module")
def dax(cached):
    with dax_client(cached) as client:
        yield client


@pytest.fixture(scope="module")
def table(direct):
    attributes = {"pk": "S", "sk": "N", "kind": "S"}
    direct.create_table(
        TableName="Cached",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": kind} for name, kind in attributes.items()],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "ByKind",
                "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    )
    return "Cached"


def key(pk, sk=1):
    return {"pk": {"S": pk}, "sk": {"N": str(sk)}}


EVERY_TYPE = {
    "S": {"S": "text ü"},
    "N": {"N": "-12.5"},
    "large": {"N": "12345678901234567890123456789012345678"},
    "B": {"B": b"\x00\xff"},
    "BOOL": {"BOOL": True},
    "NULL": {"NULL": True},
    "L": {"L": [{"S": "a"}, {"N": "1"}, {"L": []}]},
    "M": {"M": {"inner": {"M": {"deep": {"N": "0"}}}}},
    "SS": {"SS": ["a", "b"]},
    "NS": {"NS": ["1", "2.5"]},
    "BS": {"BS": [b"\x01", b"\x02"]},
}


def sets_sorted(value):
    """Sets have no order."""
    if isinstance(value, dict):
        return {
            name: sorted(map(str, inner)) if name in ("SS", "NS", "BS") else sets_sorted(inner)
            for name, inner in value.items()
        }
    return [sets_sorted(inner) for inner in value] if isinstance(value, list) else value


def test_every_type_comes_back_as_it_was_put_from_the_cache_and_from_the_table(dax, direct, table):
    item = {**key("types"), **EVERY_TYPE}
    dax.put_item(TableName=table, Item=item)
    expected = sets_sorted(item)
    assert sets_sorted(dax.get_item(TableName=table, Key=key("types"))["Item"]) == expected
    assert sets_sorted(dax.get_item(TableName=table, Key=key("types"), ConsistentRead=True)["Item"]) == expected
    assert sets_sorted(direct.get_item(TableName=table, Key=key("types"))["Item"]) == expected


@pytest.mark.parametrize("sk", ["0", "1", "-1", "10", "1000", "0.001", "-1.5", "123456789", "12345678901234567890"])
def test_numbers_in_keys_name_the_same_item_on_both_sides(dax, direct, table, sk):
    direct.put_item(TableName=table, Item={**key("numbers", sk), "v": {"S": sk}})
    assert dax.get_item(TableName=table, Key=key("numbers", sk))["Item"]["v"] == {"S": sk}
    found = dax.query(
        TableName=table,
        KeyConditionExpression="pk = :pk AND sk = :sk",
        ExpressionAttributeValues={":pk": {"S": "numbers"}, ":sk": {"N": sk}},
    )["Items"]
    assert [Decimal(item["sk"]["N"]) for item in found] == [Decimal(sk)]


def test_updates_conditions_and_returned_values_are_those_of_the_table(dax, direct, table):
    for client, pk in ((dax, "update-dax"), (direct, "update-direct")):
        client.put_item(TableName=table, Item={**key(pk), "n": {"N": "1"}, "list": {"L": [{"S": "a"}]}})

    def both(**request):
        answers = []
        for client, pk in ((dax, "update-dax"), (direct, "update-direct")):
            try:
                answer = client.update_item(TableName=table, Key=key(pk), **request).get("Attributes", {})
                answers.append({name: value for name, value in answer.items() if name != "pk"})
            except ClientError as error:
                answers.append((error.response["Error"]["Code"], error.response["Error"]["Message"]))
        assert answers[0] == answers[1], request
        return answers[0]

    values = {":one": {"N": "1"}, ":more": {"L": [{"S": "b"}]}}
    returned = both(
        UpdateExpression="SET n = n + :one, #l = list_append(#l, :more), made = if_not_exists(made, :one)",
        ExpressionAttributeNames={"#l": "list"},
        ExpressionAttributeValues=values,
        ReturnValues="UPDATED_NEW",
    )
    assert returned == {"n": {"N": "2"}, "list": {"L": [{"S": "a"}, {"S": "b"}]}, "made": {"N": "1"}}
    for asked in ("ALL_OLD", "UPDATED_OLD", "ALL_NEW", "NONE"):
        both(UpdateExpression="ADD n :one", ExpressionAttributeValues={":one": {"N": "1"}}, ReturnValues=asked)
    both(UpdateExpression="REMOVE made", ReturnValues="ALL_NEW")
    refused = both(
        UpdateExpression="SET n = :one",
        ConditionExpression="(n > :high OR attribute_not_exists(n)) AND NOT begins_with(pk, :x)",
        ExpressionAttributeValues={":one": {"N": "1"}, ":high": {"N": "100"}, ":x": {"S": "x"}},
    )
    assert refused == ("ConditionalCheckFailedException", "The conditional request failed")
    refused = both(UpdateExpression="SET n = nowhere + :one", ExpressionAttributeValues={":one": {"N": "1"}})
    assert refused[0] == "ValidationException"
    # What the cache holds after all this is what the table holds.
    in_cache = dax.get_item(TableName=table, Key=key("update-dax"))["Item"]
    assert in_cache == direct.get_item(TableName=table, Key=key("update-dax"))["Item"]


def test_projections_choose_from_the_cached_item(dax, direct, table):
    item = {**key("projection"), "a": {"M": {"b": {"L": [{"S": "0"}, {"S": "1"}]}}}, "size": {"N": "3"}, "c": {"S": "c"}}
    dax.put_item(TableName=table, Item=item)
    request = dict(
        TableName=table,
        Key=key("projection"),
        ProjectionExpression="a.b[1], #size, nowhere, sk",
        ExpressionAttributeNames={"#size": "size"},
    )
    expected = direct.get_item(**request)["Item"]
    assert expected == {"a": {"M": {"b": {"L": [{"S": "1"}]}}}, "size": {"N": "3"}, "sk": {"N": "1"}}
    assert dax.get_item(**request)["Item"] == expected
    assert dax.get_item(**request, ConsistentRead=True)["Item"] == expected


def test_queries_and_scans_page_as_on_the_table(dax, direct, table):
    for number in range(7):
        dax.put_item(
            TableName=table,
            Item={**key("pages", number), "kind": {"S": "page"}, "even": {"BOOL": number % 2 == 0}},
        )

    def pages(client, operation, **request):
        items, start = [], {}
        while True:
            page = getattr(client, operation)(TableName=table, Limit=2, **request, **start)
            items.append((page["Items"], page["Count"], page["ScannedCount"], page.get("LastEvaluatedKey")))
            if "LastEvaluatedKey" not in page:
                return items
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    by_key = dict(KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": {"S": "pages"}})
    by_kind = dict(
        IndexName="ByKind", KeyConditionExpression="kind = :k", ExpressionAttributeValues={":k": {"S": "page"}}
    )
    filtered = dict(
        KeyConditionExpression="pk = :pk AND sk BETWEEN :low AND :high",
        FilterExpression="even = :yes OR attribute_not_exists(kind) AND :high > :low",
        ProjectionExpression="sk, even",
        ScanIndexForward=False,
        ExpressionAttributeValues={
            ":pk": {"S": "pages"}, ":low": {"N": "1"}, ":high": {"N": "5"}, ":yes": {"BOOL": True}
        },
    )
    for request in (by_key, by_kind, filtered, {**by_key, "ConsistentRead": True}):
        assert pages(dax, "query", **request) == pages(direct, "query", **request)
    scan = dict(FilterExpression="pk = :pk", ExpressionAttributeValues={":pk": {"S": "pages"}})
    assert pages(dax, "scan", **scan) == pages(direct, "scan", **scan)
    assert pages(dax, "scan", IndexName="ByKind") == pages(direct, "scan", IndexName="ByKind")
    count = dax.query(TableName=table, Select="COUNT", **by_key)
    assert (count["Count"], "Items" in count) == (7, False)


def test_batches_read_from_both_and_write_through(dax, direct, table):
    items = [{**key("batch", number), "v": {"N": str(number)}} for number in range(5)]
    dax.batch_write_item(RequestItems={table: [{"PutRequest": {"Item": item}} for item in items]})
    direct.put_item(TableName=table, Item={**key("batch", 5), "v": {"N": "5"}})
    keys = [key("batch", number) for number in range(7)]

    def read(client, **more):
        answer = client.batch_get_item(RequestItems={table: {"Keys": keys, **more}})
        assert not answer["UnprocessedKeys"]
        return sorted(answer["Responses"][table], key=lambda item: int(item["v"]["N"]))

    assert read(dax) == read(direct) == items + [{**key("batch", 5), "v": {"N": "5"}}]
    assert read(dax, ProjectionExpression="v") == [{"v": {"N": str(number)}} for number in range(6)]
    dax.batch_write_item(RequestItems={table: [{"DeleteRequest": {"Key": key("batch", 0)}}]})
    assert "Item" not in dax.get_item(TableName=table, Key=key("batch", 0))


def test_transactions_pass_through(dax, direct, table):
    dax.put_item(TableName=table, Item={**key("transaction"), "n": {"N": "1"}})
    dax.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": table, "Item": {**key("transaction", 2), "n": {"N": "2"}}}},
            {
                "Update": {
                    "TableName": table,
                    "Key": key("transaction"),
                    "UpdateExpression": "ADD n :ten",
                    "ConditionExpression": "n = :one",
                    "ExpressionAttributeValues": {":ten": {"N": "10"}, ":one": {"N": "1"}},
                }
            },
            {
                "ConditionCheck": {
                    "TableName": table,
                    "Key": key("transaction", 3),
                    "ConditionExpression": "attribute_not_exists(pk)",
                }
            },
        ]
    )
    assert dax.get_item(TableName=table, Key=key("transaction"))["Item"]["n"] == {"N": "11"}
    gets = [{"Get": {"TableName": table, "Key": key("transaction", number)}} for number in (1, 2, 3)]
    expected = direct.transact_get_items(TransactItems=gets)["Responses"]
    assert dax.transact_get_items(TransactItems=gets)["Responses"] == expected
    with pytest.raises(ClientError) as refused:
        dax.transact_write_items(
            TransactItems=[
                {"Delete": {"TableName": table, "Key": key("transaction", 2)}},
                {
                    "ConditionCheck": {
                        "TableName": table,
                        "Key": key("transaction"),
                        "ConditionExpression": "n = :one",
                        "ExpressionAttributeValues": {":one": {"N": "1"}},
                    }
                },
            ]
        )
    assert refused.value.response["Error"]["Code"] == "TransactionCanceledException"
    assert refused.value.cancellation_reasons[0::3] == ["None", "ConditionalCheckFailed"]
    assert dax.get_item(TableName=table, Key=key("transaction", 2))["Item"]["n"] == {"N": "2"}


def test_a_table_that_is_not_there_is_not_found(dax):
    with pytest.raises(ClientError) as refused:
        dax.get_item(TableName="Nowhere", Key=key("x"))
    assert refused.value.response["Error"]["Code"] == "ResourceNotFoundException"


def test_an_item_is_read_once_and_then_kept(cached, dax, direct, table):
    direct.put_item(TableName=table, Item={**key("kept"), "v": {"S": "first"}})
    read = lambda **more: dax.get_item(TableName=table, Key=key("kept"), **more).get("Item", {}).get("v")  # noqa: E731
    before = metrics(cached)
    assert [read(), read(), read()] == [{"S": "first"}] * 3
    after = metrics(cached)
    assert after["item_cache_misses_total"] - before["item_cache_misses_total"] == 1
    assert after["item_cache_hits_total"] - before["item_cache_hits_total"] == 2
    # A write that passes the cache by is not seen, except by a consistent read, which leaves the cache as it is.
    direct.put_item(TableName=table, Item={**key("kept"), "v": {"S": "second"}})
    assert [read(), read(ConsistentRead=True), read()] == [{"S": "first"}, {"S": "second"}, {"S": "first"}]
    # A write through the cache is.
    dax.update_item(
        TableName=table,
        Key=key("kept"),
        UpdateExpression="SET v = :v",
        ExpressionAttributeValues={":v": {"S": "third"}},
    )
    before = metrics(cached)
    assert read() == {"S": "third"}
    assert metrics(cached)["item_cache_hits_total"] - before["item_cache_hits_total"] == 1


def test_cloudwatch_has_the_metrics_of_the_cluster_and_its_node(cached, dax, direct, table):
    direct.put_item(TableName=table, Item=key("counted"))
    cloudwatch = connect(cached, boto3.client, "cloudwatch")

    def hits(*dimensions):
        now = datetime.now(timezone.utc)
        answer = cloudwatch.get_metric_statistics(
            Namespace="AWS/DAX",
            MetricName="ItemCacheHits",
            Dimensions=[{"Name": name, "Value": value} for name, value in dimensions],
            StartTime=now - timedelta(hours=1),
            EndTime=now + timedelta(hours=1),
            Period=7200,
            Statistics=["Sum"],
        )
        return sum(point["Sum"] for point in answer["Datapoints"])

    cluster = ("ClusterId", "lodestone")
    before = hits(cluster)
    for _ in range(3):
        dax.get_item(TableName=table, Key=key("counted"))
    assert hits(cluster) - before == 2
    assert hits(cluster, ("NodeId", "lodestone-a")) == hits(cluster)
    assert hits(("TableName", table)) == 0
    listed = cloudwatch.list_metrics(Namespace="AWS/DAX", Dimensions=[{"Name": "NodeId"}])["Metrics"]
    assert {"ItemCacheMisses", "TotalRequestCount", "ClientConnections"} <= {one["MetricName"] for one in listed}


def test_that_there_is_no_item_is_kept_too_until_it_is_put_through_the_cache(dax, direct, table):
    assert "Item" not in dax.get_item(TableName=table, Key=key("absent"))
    direct.put_item(TableName=table, Item=key("absent"))
    assert "Item" not in dax.get_item(TableName=table, Key=key("absent"))
    dax.put_item(TableName=table, Item=key("absent"))
    assert dax.get_item(TableName=table, Key=key("absent"))["Item"] == key("absent")


def test_a_hit_consumes_nothing(dax, direct, table):
    direct.put_item(TableName=table, Item=key("capacity"))
    request = dict(TableName=table, Key=key("capacity"), ReturnConsumedCapacity="TOTAL")
    assert dax.get_item(**request)["ConsumedCapacity"]["CapacityUnits"] == 0.5
    assert dax.get_item(**request).get("ConsumedCapacity", {}).get("CapacityUnits", 0) == 0


def test_a_cached_query_stays_as_it_was_when_its_items_change(dax, table):
    dax.put_item(TableName=table, Item={**key("stale"), "v": {"S": "old"}})
    query = dict(
        TableName=table, KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": {"S": "stale"}}
    )
    assert dax.query(**query)["Items"][0]["v"] == {"S": "old"}
    dax.put_item(TableName=table, Item={**key("stale"), "v": {"S": "new"}})
    assert dax.get_item(TableName=table, Key=key("stale"))["Item"]["v"] == {"S": "new"}
    assert dax.query(**query)["Items"][0]["v"] == {"S": "old"}
    assert dax.query(**query, ConsistentRead=True)["Items"][0]["v"] == {"S": "new"}


def test_what_is_kept_is_read_again_when_its_time_is_over():
    # Long enough for the reads before it is over, also on a busy machine.
    server = Lodestone(None, "--dax", "0", "--dax-item-ttl", "20s", "--dax-query-ttl", "20s")
    try:
        direct = connect(server, boto3.client)
        direct.create_table(
            TableName="Short",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        )
        item = lambda value: {"pk": {"S": "k"}, "v": {"S": value}}  # noqa: E731
        direct.put_item(TableName="Short", Item=item("old"))
        with dax_client(server) as dax:
            query = dict(
                TableName="Short", KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": {"S": "k"}}
            )
            get = dict(TableName="Short", Key={"pk": {"S": "k"}})
            assert dax.query(**query)["Items"] == [item("old")]
            assert dax.get_item(**get)["Item"] == item("old")
            direct.put_item(TableName="Short", Item=item("new"))
            assert dax.query(**query)["Items"] == [item("old")]
            until(lambda: dax.query(**query)["Items"] == [item("new")], within_seconds=60)
            until(lambda: dax.get_item(**get)["Item"] == item("new"), within_seconds=60)
    finally:
        server.end()


def test_with_an_access_file_signatures_are_verified_and_policies_asked(tmp_path):
    import subprocess

    from lodestone import binary

    file = tmp_path / "access.yaml"

    def add(user, *options):
        text = subprocess.run(
            [binary(), "access", "--file", str(file), "add", user, *options], capture_output=True, text=True, check=True
        ).stdout
        return (
            re.search(r"AWS_ACCESS_KEY_ID=(.*)", text)[1],
            re.search(r"AWS_SECRET_ACCESS_KEY=(.*)", text)[1],
        )

    admin = add("admin", "--policy", "arn:aws:iam::aws:policy/AdministratorAccess")
    nobody = add("nobody")
    server = Lodestone(None, "--dax", "0", "--access", str(file))
    try:
        session = dict(region_name="us-east-1", aws_access_key_id=admin[0], aws_secret_access_key=admin[1])
        boto3.client("dynamodb", endpoint_url=server.endpoint, **session).create_table(
            TableName="Guarded",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        )
        clusters = boto3.client("dax", endpoint_url=server.endpoint, **session).describe_clusters()["Clusters"]
        url = clusters[0]["ClusterDiscoveryEndpoint"]["URL"]

        def client(key, secret):
            return AmazonDaxClient(
                endpoint_url=url, region_name="us-east-1", aws_access_key_id=key, aws_secret_access_key=secret
            )

        item = {"pk": {"S": "k"}}
        with client(*admin) as dax:
            dax.put_item(TableName="Guarded", Item=item)
            assert dax.get_item(TableName="Guarded", Key=item)["Item"] == item
        with client(*nobody) as dax, pytest.raises(ClientError) as refused:
            # The item is in the cache, and is not shown.
            dax.get_item(TableName="Guarded", Key=item)
        assert refused.value.response["Error"]["Code"] == "AccessDeniedException"
        assert "dax:GetItem" in refused.value.response["Error"]["Message"]
        with pytest.raises(Exception), client(admin[0], "wrong") as dax:
            dax.get_item(TableName="Guarded", Key=item)
    finally:
        server.end()


def test_requests_of_clients_of_dax_are_in_the_audit_log(tmp_path):
    log = tmp_path / "audit.jsonl"
    server = Lodestone(None, "--dax", "0", "--audit", str(log))
    try:
        connect(server, boto3.client).create_table(TableName="Audited", **key_schema(pk="S"))
        with dax_client(server) as dax:
            dax.put_item(TableName="Audited", Item={"pk": {"S": "x"}})
            with pytest.raises(ClientError):
                dax.get_item(TableName="Nowhere", Key={"pk": {"S": "x"}})

        def lines():
            entries = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
            return [(one["operation"], one["tables"], one["outcome"]) for one in entries if one["service"] == "dax"]

        until(lambda: ("PutItem", ["Audited"], "ok") in lines())
    finally:
        server.end()
