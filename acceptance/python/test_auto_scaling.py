"""Application Auto Scaling on the same port: the calls of the CLI and of Terraform's provider, and a table that scales."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import boto3
import pytest
from botocore.exceptions import ClientError
from conftest import connect
from lodestone import Lodestone
from schema import key_schema, units
from wait import until

DIMENSION = "dynamodb:table:WriteCapacityUnits"
TRACKING = {
    "TargetValue": 70.0,
    "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBWriteCapacityUtilization"},
}


def target(table, dimension=DIMENSION):
    return {"ServiceNamespace": "dynamodb", "ResourceId": f"table/{table}", "ScalableDimension": dimension}


@pytest.fixture
def scaling(server):
    return connect(server, boto3.client, "application-autoscaling")


def test_the_cli_registers_a_target_and_puts_a_policy(aws, new_table):
    """A11"""
    table = new_table(throughput=units(5, 5)).name
    names = ["--service-namespace", "dynamodb", "--resource-id", f"table/{table}", "--scalable-dimension", DIMENSION]
    aws("application-autoscaling", "register-scalable-target", *names, "--min-capacity", "5", "--max-capacity", "1000")
    put = aws(
        "application-autoscaling", "put-scaling-policy", *names, "--policy-name", "orders-scaling",
        "--policy-type", "TargetTrackingScaling", "--target-tracking-scaling-policy-configuration", json.dumps(TRACKING),
    )
    assert ":policyName/orders-scaling" in put["PolicyARN"]
    alarms = {alarm["AlarmName"] for alarm in put["Alarms"]}
    assert len(alarms) == 4
    shown = aws("cloudwatch", "describe-alarms", "--alarm-name-prefix", f"TargetTracking-table/{table}-")
    thresholds = {alarm["AlarmName"].split("-")[-6]: alarm["Threshold"] for alarm in shown["MetricAlarms"]}
    assert thresholds["AlarmHigh"] == 210.0 and thresholds["AlarmLow"] == 150.0
    aws("application-autoscaling", "deregister-scalable-target", *names)
    shown = aws("cloudwatch", "describe-alarms", "--alarm-name-prefix", f"TargetTracking-table/{table}-")
    assert shown["MetricAlarms"] == []


def test_terraforms_calls_apply_plan_and_destroy(client, scaling):
    """A25: each call of the provider, in its order; a second plan finds nothing to change."""
    name = "app-main"
    client.create_table(TableName=name, **key_schema(throughput=units(50, 50), PK="S", SK="S"))
    identity = target(name)
    registered = scaling.register_scalable_target(MinCapacity=50, MaxCapacity=2000, **identity)
    policy = {**TRACKING, "ScaleInCooldown": 0, "ScaleOutCooldown": 0, "DisableScaleIn": False}
    put = scaling.put_scaling_policy(
        PolicyName="write-utilization",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration=policy,
        **identity,
    )

    def read():
        """What a plan compares with the configuration."""
        table = client.describe_table(TableName=name)["Table"]
        client.describe_continuous_backups(TableName=name)
        client.describe_time_to_live(TableName=name)
        client.list_tags_of_resource(ResourceArn=table["TableArn"])
        (found,) = scaling.describe_scalable_targets(
            ServiceNamespace="dynamodb", ResourceIds=[identity["ResourceId"]], ScalableDimension=DIMENSION
        )["ScalableTargets"]
        tags = scaling.list_tags_for_resource(ResourceARN=found["ScalableTargetARN"])["Tags"]
        (shown,) = scaling.describe_scaling_policies(
            ServiceNamespace="dynamodb",
            PolicyNames=["write-utilization"],
            ResourceId=identity["ResourceId"],
            ScalableDimension=DIMENSION,
        )["ScalingPolicies"]
        provisioned = table["ProvisionedThroughput"]
        return {
            "capacity": (provisioned["ReadCapacityUnits"], provisioned["WriteCapacityUnits"]),
            "target": (found["MinCapacity"], found["MaxCapacity"], found["RoleARN"], found["ScalableTargetARN"], tags),
            "policy": (shown["TargetTrackingScalingPolicyConfiguration"], shown["Alarms"], shown["PolicyARN"]),
        }

    first = read()
    assert first["capacity"] == (50, 50)
    assert first["target"][:2] == (50, 2000) and first["target"][3] == registered["ScalableTargetARN"]
    assert first["policy"] == (policy, put["Alarms"], put["PolicyARN"])
    assert read() == first
    scaling.delete_scaling_policy(PolicyName="write-utilization", **identity)
    scaling.deregister_scalable_target(**identity)
    assert scaling.describe_scalable_targets(
        ServiceNamespace="dynamodb", ResourceIds=[identity["ResourceId"]], ScalableDimension=DIMENSION
    )["ScalableTargets"] == []
    client.delete_table(TableName=name)


def test_errors_have_the_names_and_texts_that_tools_look_for(scaling, new_table):
    with pytest.raises(scaling.exceptions.ValidationException) as refused:
        scaling.register_scalable_target(MinCapacity=1, MaxCapacity=5, **target("no-such-table"))
    assert "DynamoDB table does not exist: table/no-such-table" in str(refused.value)
    with pytest.raises(scaling.exceptions.ObjectNotFoundException) as refused:
        scaling.put_scaling_policy(
            PolicyName="p",
            PolicyType="TargetTrackingScaling",
            TargetTrackingScalingPolicyConfiguration=TRACKING,
            **target(new_table(throughput=units(5, 5)).name),
        )
    assert "No scalable target registered" in str(refused.value)
    with pytest.raises(scaling.exceptions.ObjectNotFoundException):
        scaling.deregister_scalable_target(**target("no-such-table"))


def test_a_busy_table_grows_towards_its_target_and_an_idle_one_shrinks(tmp_path):
    """A11, B19: an hour in a minute."""
    server = Lodestone(tmp_path / "data", "--time-scale", "60")
    try:
        client = connect(server, boto3.client)
        client.create_table(TableName="Orders", **key_schema(throughput=units(5, 5), pk="S"))
        scaling = connect(server, boto3.client, "application-autoscaling")
        scaling.register_scalable_target(MinCapacity=5, MaxCapacity=40, **target("Orders"))
        scaling.put_scaling_policy(
            PolicyName="p",
            PolicyType="TargetTrackingScaling",
            TargetTrackingScalingPolicyConfiguration=TRACKING,
            **target("Orders"),
        )

        def write_units():
            return client.describe_table(TableName="Orders")["Table"]["ProvisionedThroughput"]["WriteCapacityUnits"]

        # A second is a minute: a few writes of 200 units in each are more than 40 units allow, also on a slow machine.
        busy = threading.Event()

        def write(number):
            while not busy.is_set():
                client.put_item(TableName="Orders", Item={"pk": {"S": str(number)}, "text": {"S": "x" * 200_000}})

        with ThreadPoolExecutor(4) as pool:
            for number in range(4):
                pool.submit(write, number)
            try:
                until(lambda: write_units() == 40)
            finally:
                busy.set()
        activities = scaling.describe_scaling_activities(ServiceNamespace="dynamodb")["ScalingActivities"]
        assert all(activity["StatusCode"] == "Successful" for activity in activities)
        assert "AlarmHigh" in activities[0]["Cause"]
        server.restart()
        client = connect(server, boto3.client)
        until(lambda: write_units() == 5, within_seconds=60)
    finally:
        server.end()


def test_a_target_with_a_bad_name_is_refused(scaling):
    with pytest.raises(ClientError) as refused:
        scaling.register_scalable_target(
            ServiceNamespace="dynamodb", ResourceId="Orders", ScalableDimension=DIMENSION, MinCapacity=1, MaxCapacity=2
        )
    assert "Unsupported service namespace, resource type or scalable dimension" in str(refused.value)
