"""Global tables: a table of several Regions behind one endpoint, as the AWS CLI and boto3 make and use it."""

import json
import subprocess
import urllib.request

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from conftest import connect
from lodestone import CREDENTIALS, Lodestone, binary
from wait import until

HOME, AWAY = "us-east-1", "eu-west-1"


@pytest.fixture(scope="module", params=["memory", "folder"])
def server(request, tmp_path_factory):
    running = Lodestone(tmp_path_factory.mktemp("data") if request.param == "folder" else None)
    yield running
    running.end()


def in_region(server, region, service="dynamodb"):
    return boto3.client(
        service,
        endpoint_url=server.endpoint,
        region_name=region,
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        config=Config(retries={"total_max_attempts": 1}),
    )


@pytest.fixture(scope="module")
def client(server):
    return connect(server, boto3.client)


@pytest.fixture(scope="module")
def away(server):
    return in_region(server, AWAY)


def aws(server, *arguments):
    done = subprocess.run(
        ["aws", "dynamodb", *arguments], env=server.environment(), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if done.stdout.strip() else {}


def region(server, *arguments):
    done = subprocess.run(
        [binary(), "region", *arguments], env=server.environment(), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def create(client, name):
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )


def replicas(client, name):
    table = client.describe_table(TableName=name)["Table"]
    return [(replica["RegionName"], replica["ReplicaStatus"]) for replica in table.get("Replicas", [])]


@pytest.fixture
def everywhere(client, away):
    """A table of both Regions, gone after the test."""
    name = "Everywhere"
    create(client, name)
    client.update_table(TableName=name, ReplicaUpdates=[{"Create": {"RegionName": AWAY}}])
    until(lambda: replicas(client, name) == [(AWAY, "ACTIVE")])
    yield name
    if replicas(client, name):
        client.update_table(TableName=name, ReplicaUpdates=[{"Delete": {"RegionName": AWAY}}])
        until(lambda: not replicas(client, name))
    client.delete_table(TableName=name)


def put(client, name, key, value):
    client.put_item(TableName=name, Item={"PK": {"S": key}, "v": {"S": value}})


def value(client, name, key):
    item = client.get_item(TableName=name, Key={"PK": {"S": key}}, ConsistentRead=True).get("Item")
    return item and item["v"]["S"]


def test_the_cli_switches_a_stream_on_and_makes_a_replica(server, client, away):
    """A13 and A14, one straight after the other."""
    create(client, "AppTable")
    put(client, "AppTable", "before", "1")
    switched = aws(
        server, "update-table", "--table-name", "AppTable",
        "--stream-specification", "StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES",
    )
    assert switched["TableDescription"]["LatestStreamArn"]
    made = aws(
        server, "update-table", "--table-name", "AppTable",
        "--replica-updates", json.dumps([{"Create": {"RegionName": AWAY}}]),
    )
    assert made["TableDescription"]["TableStatus"] == "UPDATING"
    shown = [(replica["RegionName"], replica["ReplicaStatus"]) for replica in made["TableDescription"]["Replicas"]]
    assert shown == [(AWAY, "CREATING")]
    until(lambda: replicas(client, "AppTable") == [(AWAY, "ACTIVE")])
    assert replicas(away, "AppTable") == [(HOME, "ACTIVE")]
    assert value(away, "AppTable", "before") == "1"
    put(client, "AppTable", "after", "2")
    until(lambda: value(away, "AppTable", "after") == "2", within_seconds=5)
    with pytest.raises(ClientError, match="already has an enabled stream"):
        client.update_table(
            TableName="AppTable",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )
    aws(
        server, "update-table", "--table-name", "AppTable",
        "--replica-updates", json.dumps([{"Delete": {"RegionName": AWAY}}]),
    )
    until(lambda: not replicas(client, "AppTable"))
    client.delete_table(TableName="AppTable")


def test_both_regions_take_writes_and_the_later_one_wins(server, client, away, everywhere):
    """B27: a Region is cut off and both go on; healed, they are equal."""
    put(client, everywhere, "a", "1")
    until(lambda: value(away, everywhere, "a") == "1")
    region(server, "cut", HOME, AWAY)
    put(client, everywhere, "a", "home")
    put(away, everywhere, "a", "away")
    put(away, everywhere, "b", "only here")
    assert (value(client, everywhere, "a"), value(away, everywhere, "a")) == ("home", "away")
    listed = json.loads(region(server, "list", "--json"))
    assert listed["cut"] == [[AWAY, HOME]]
    pending = {(pair["from"], pair["to"]): pair["pending"] for pair in listed["replicas"]}
    assert pending == {(HOME, AWAY): 1, (AWAY, HOME): 2}
    metrics = urllib.request.urlopen(f"{server.endpoint}/metrics", timeout=10).read().decode()
    assert "lodestone_pending_replication_count{" in metrics
    region(server, "heal", HOME, AWAY)
    until(lambda: value(client, everywhere, "b") == "only here")
    until(lambda: value(client, everywhere, "a") == "away")
    assert value(away, everywhere, "a") == "away"


def test_regions_without_replication_are_separate(client, away):
    for each in (client, away):
        create(each, "Separate")
    put(client, "Separate", "a", "1")
    assert value(away, "Separate", "a") is None
    with pytest.raises(ClientError, match="already existed as tables"):
        client.update_table(TableName="Separate", ReplicaUpdates=[{"Create": {"RegionName": AWAY}}])
    for each in (client, away):
        each.delete_table(TableName="Separate")


def test_a_replica_is_refused_where_there_can_be_none(client, everywhere):
    for updates, message in [
        ([{"Create": {"RegionName": AWAY}}], "already existed as tables"),
        ([{"Create": {"RegionName": HOME}}], "Cannot add or delete the local region"),
        ([{"Create": {"RegionName": "us-fake-1"}}], "Region us-fake-1 is not supported"),
        ([{"Delete": {"RegionName": "us-west-2"}}], "not part of the global table"),
    ]:
        with pytest.raises(ClientError, match=message):
            client.update_table(TableName=everywhere, ReplicaUpdates=updates)


def test_a_provisioned_table_needs_scaled_writes(server, client, away):
    client.create_table(
        TableName="Scaled",
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
        ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
    )
    add = [{"Create": {"RegionName": AWAY}}]
    with pytest.raises(ClientError, match="Table write capacity should either be Pay-Per-Request or AutoScaled."):
        client.update_table(TableName="Scaled", ReplicaUpdates=add)
    scaling = connect(server, boto3.client, "application-autoscaling")
    target = {
        "ServiceNamespace": "dynamodb",
        "ResourceId": "table/Scaled",
        "ScalableDimension": "dynamodb:table:WriteCapacityUnits",
    }
    scaling.register_scalable_target(**target, MinCapacity=5, MaxCapacity=50)
    scaling.put_scaling_policy(
        **target,
        PolicyName="writes",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={
            "TargetValue": 70.0,
            "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBWriteCapacityUtilization"},
        },
    )
    client.update_table(TableName="Scaled", ReplicaUpdates=add)
    until(lambda: replicas(client, "Scaled") == [(AWAY, "ACTIVE")])
    away.delete_table(TableName="Scaled")
    until(lambda: not replicas(client, "Scaled"))
    client.delete_table(TableName="Scaled")


def test_auto_scaling_of_all_regions_is_set_at_once(server, client, away):
    """What boto3 sets for the global table, Application Auto Scaling has in each Region."""
    client.create_table(
        TableName="Together",
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
        ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
    )
    with pytest.raises(ClientError, match="Global table with name: Together does not exist."):
        client.describe_table_replica_auto_scaling(TableName="Together")
    target = {
        "ServiceNamespace": "dynamodb",
        "ResourceId": "table/Together",
        "ScalableDimension": "dynamodb:table:WriteCapacityUnits",
    }
    metric = {"PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBWriteCapacityUtilization"}}
    scaling = {name: in_region(server, name, "application-autoscaling") for name in (HOME, AWAY)}
    scaling[HOME].register_scalable_target(**target, MinCapacity=5, MaxCapacity=50)
    scaling[HOME].put_scaling_policy(
        **target,
        PolicyName="writes",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={"TargetValue": 70.0, **metric},
    )
    client.update_table(TableName="Together", ReplicaUpdates=[{"Create": {"RegionName": AWAY}}])
    until(lambda: replicas(client, "Together") == [(AWAY, "ACTIVE")])

    def described(asked=client):
        answer = asked.describe_table_replica_auto_scaling(TableName="Together")["TableAutoScalingDescription"]
        return {replica["RegionName"]: replica for replica in answer["Replicas"]}

    def policies(name):
        found = scaling[name].describe_scaling_policies(ServiceNamespace="dynamodb", ResourceId="table/Together")
        return [policy["PolicyName"] for policy in found["ScalingPolicies"]]

    # The replica got the write target of its source, and has reads of its own.
    writes = "ReplicaProvisionedWriteCapacityAutoScalingSettings"
    reads = "ReplicaProvisionedReadCapacityAutoScalingSettings"
    assert list(described()) == [HOME, AWAY] and list(described(away)) == [AWAY, HOME]
    for replica in described().values():
        assert (replica[writes]["MinimumUnits"], replica[writes]["MaximumUnits"]) == (5, 50)
        assert "AWSServiceRoleForApplicationAutoScaling_DynamoDBTable" in replica[writes]["AutoScalingRoleArn"]
        assert replica[reads] == {"AutoScalingDisabled": True, "ScalingPolicies": []}
    assert (policies(HOME), policies(AWAY)) == (["writes"], ["writes"])

    def settings(target_value, **more):
        configuration = {"TargetValue": target_value, "ScaleInCooldown": 60}
        policy = {"TargetTrackingScalingPolicyConfiguration": configuration, **more}
        return {"MinimumUnits": 6, "MaximumUnits": 60, "ScalingPolicyUpdate": policy}

    answer = away.update_table_replica_auto_scaling(
        TableName="Together",
        ProvisionedWriteCapacityAutoScalingUpdate=settings(50.0),
        ReplicaUpdates=[
            {"RegionName": HOME, "ReplicaProvisionedReadCapacityAutoScalingUpdate": settings(40.0, PolicyName="reads")}
        ],
    )["TableAutoScalingDescription"]
    assert answer["TableStatus"] == "ACTIVE"
    # A policy of another name replaces the one that was there.
    name = "DynamoDBWriteCapacityUtilization:table/Together"
    assert (sorted(policies(HOME)), policies(AWAY)) == ([name, "reads"], [name])
    assert described()[HOME][reads]["ScalingPolicies"][0] == {
        "PolicyName": "reads",
        "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 40.0, "ScaleInCooldown": 60},
    }
    with pytest.raises(ClientError, match="'MaximumUnits', 'MinimumUnits' must be left blank when disabling"):
        client.update_table_replica_auto_scaling(
            TableName="Together",
            ProvisionedWriteCapacityAutoScalingUpdate={
                "AutoScalingDisabled": True, "MinimumUnits": 1, "MaximumUnits": 2,
            },
        )
    client.update_table_replica_auto_scaling(
        TableName="Together", ProvisionedWriteCapacityAutoScalingUpdate={"AutoScalingDisabled": True}
    )
    assert (policies(HOME), policies(AWAY)) == (["reads"], [])
    away.delete_table(TableName="Together")
    until(lambda: not replicas(client, "Together"))
    scaling[HOME].deregister_scalable_target(
        **{**target, "ScalableDimension": "dynamodb:table:ReadCapacityUnits"}
    )
    client.delete_table(TableName="Together")


STRONG_REGIONS = ("us-east-1", "us-east-2", "us-west-2")


def make_strong(client, name, witness=None):
    replicas = [region for region in STRONG_REGIONS[1:] if region != witness]
    more = {"GlobalTableWitnessUpdates": [{"Create": {"RegionName": witness}}]} if witness else {}
    return client.update_table(
        TableName=name,
        MultiRegionConsistency="STRONG",
        ReplicaUpdates=[{"Create": {"RegionName": region}} for region in replicas],
        **more,
    )


def test_a_strong_table_shows_a_write_in_every_region_when_it_is_acknowledged(server, client):
    create(client, "Accounts")
    make_strong(client, "Accounts")
    regions = [in_region(server, name) for name in STRONG_REGIONS]
    for there in regions:
        there.get_waiter("table_exists").wait(TableName="Accounts")
    for number in range(200):
        item = {"PK": {"S": "a"}, "n": {"N": str(number)}}
        regions[number % 3].put_item(TableName="Accounts", Item=item)
        reader = regions[(number + 1) % 3]
        assert reader.get_item(TableName="Accounts", Key={"PK": {"S": "a"}}, ConsistentRead=True)["Item"] == item
    listed = json.loads(region(server, "list", "--json"))
    assert {"table": "Accounts", "regions": list(STRONG_REGIONS), "witness": None}.items() <= listed["strong"][0].items()
    assert "Accounts is strongly consistent in us-east-1 and us-east-2 and us-west-2." in region(server, "list")

    with pytest.raises(ClientError, match="Transactions are not supported") as refused:
        regions[1].transact_write_items(TransactItems=[{"Put": {"TableName": "Accounts", "Item": {"PK": {"S": "b"}}}}])
    assert refused.value.response["Error"]["Code"] == "ValidationException"
    with pytest.raises(ClientError, match="Time to Live is not supported"):
        specification = {"Enabled": True, "AttributeName": "until"}
        client.update_time_to_live(TableName="Accounts", TimeToLiveSpecification=specification)
    with pytest.raises(ClientError, match="Deletion of only one table replica is not supported"):
        regions[2].delete_table(TableName="Accounts")

    deletes = [{"Delete": {"RegionName": name}} for name in STRONG_REGIONS[1:]]
    client.update_table(TableName="Accounts", ReplicaUpdates=deletes)
    regions[2].get_waiter("table_not_exists").wait(TableName="Accounts")
    assert client.scan(TableName="Accounts")["Count"] == 1
    client.delete_table(TableName="Accounts")


def test_a_witness_is_shown_and_leaves_with_the_replica(server, client):
    create(client, "Witnessed")
    make_strong(client, "Witnessed", witness="us-west-2")
    until(lambda: replicas(client, "Witnessed") == [("us-east-2", "ACTIVE")])
    table = client.describe_table(TableName="Witnessed")["Table"]
    assert table["MultiRegionConsistency"] == "STRONG"
    assert table["GlobalTableWitnesses"] == [{"RegionName": "us-west-2", "WitnessStatus": "ACTIVE"}]
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        in_region(server, "us-west-2").describe_table(TableName="Witnessed")
    client.update_table(
        TableName="Witnessed",
        ReplicaUpdates=[{"Delete": {"RegionName": "us-east-2"}}],
        GlobalTableWitnessUpdates=[{"Delete": {"RegionName": "us-west-2"}}],
    )
    until(lambda: not replicas(client, "Witnessed"))
    client.delete_table(TableName="Witnessed")


def test_a_region_at_a_peer_can_not_be_strong(tmp_path):
    east = Lodestone(tmp_path / "east", "--region", "us-east-1", "--peer", "us-east-2=http://127.0.0.1:9")
    try:
        client = connect(east, boto3.client)
        create(client, "Apart")
        with pytest.raises(ClientError, match="its server is a peer with a database of its own"):
            make_strong(client, "Apart")
    finally:
        east.end()
