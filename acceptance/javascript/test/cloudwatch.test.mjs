// CloudWatch and Application Auto Scaling with the SDK's own clients for them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PutItemCommand, UpdateTableCommand } from "@aws-sdk/client-dynamodb";
import {
  CloudWatchClient,
  DescribeAlarmsCommand,
  GetMetricDataCommand,
  GetMetricStatisticsCommand,
  InvalidParameterValueException,
  ListMetricsCommand,
} from "@aws-sdk/client-cloudwatch";
import {
  ApplicationAutoScalingClient,
  DeregisterScalableTargetCommand,
  ObjectNotFoundException,
  PutScalingPolicyCommand,
  RegisterScalableTargetCommand,
} from "@aws-sdk/client-application-auto-scaling";
import lodestone, { connect, createTable } from "../lodestone.mjs";

const cloudwatch = connect(CloudWatchClient);
const scaling = connect(ApplicationAutoScalingClient);
const Namespace = "AWS/DynamoDB";
const dimensions = (TableName) => [{ Name: "TableName", Value: TableName }];
const window = () => ({ StartTime: new Date(Date.now() - 3_600_000), EndTime: new Date(Date.now() + 120_000) });

async function tableWithItems(count) {
  const TableName = await createTable({ pk: "S" });
  for (let i = 0; i < count; i++) {
    await lodestone.client.send(new PutItemCommand({ TableName, Item: { pk: { S: String(i) } } }));
  }
  return TableName;
}

test("what was written is what CloudWatch says was consumed", async () => {
  const TableName = await tableWithItems(7);
  const metric = { Namespace, MetricName: "ConsumedWriteCapacityUnits", Dimensions: dimensions(TableName) };
  const answer = await cloudwatch.send(
    new GetMetricStatisticsCommand({ ...metric, Period: 3600, Statistics: ["Sum"], ...window() }),
  );
  assert.equal(answer.Datapoints.reduce((sum, point) => sum + point.Sum, 0), 7);
  assert.ok(answer.Datapoints[0].Timestamp instanceof Date);
  const data = await cloudwatch.send(
    new GetMetricDataCommand({
      MetricDataQueries: [{ Id: "m", MetricStat: { Metric: metric, Period: 3600, Stat: "Sum" } }],
      ...window(),
    }),
  );
  assert.equal(data.MetricDataResults[0].Values.reduce((sum, value) => sum + value, 0), 7);
  const { Metrics } = await cloudwatch.send(new ListMetricsCommand({ Namespace, Dimensions: dimensions(TableName) }));
  assert.ok(Metrics.some(({ MetricName }) => MetricName === "ConsumedWriteCapacityUnits"));
});

test("a wrong period is an error of its own type", async () => {
  const request = { Namespace, MetricName: "ThrottledRequests", Period: 7, Statistics: ["Sum"], ...window() };
  await assert.rejects(cloudwatch.send(new GetMetricStatisticsCommand(request)), InvalidParameterValueException);
});

test("a policy has four alarms, which go with its target", async () => {
  const TableName = await createTable({ pk: "S" });
  const ProvisionedThroughput = { ReadCapacityUnits: 5, WriteCapacityUnits: 5 };
  await lodestone.client.send(
    new UpdateTableCommand({ TableName, BillingMode: "PROVISIONED", ProvisionedThroughput }),
  );
  const target = {
    ServiceNamespace: "dynamodb",
    ResourceId: `table/${TableName}`,
    ScalableDimension: "dynamodb:table:WriteCapacityUnits",
  };
  await scaling.send(new RegisterScalableTargetCommand({ ...target, MinCapacity: 5, MaxCapacity: 1000 }));
  const { Alarms } = await scaling.send(
    new PutScalingPolicyCommand({
      ...target,
      PolicyName: "p",
      PolicyType: "TargetTrackingScaling",
      TargetTrackingScalingPolicyConfiguration: {
        TargetValue: 70,
        PredefinedMetricSpecification: { PredefinedMetricType: "DynamoDBWriteCapacityUtilization" },
      },
    }),
  );
  assert.equal(Alarms.length, 4);
  const AlarmNames = Alarms.map(({ AlarmName }) => AlarmName);
  const { MetricAlarms } = await cloudwatch.send(new DescribeAlarmsCommand({ AlarmNames }));
  assert.deepEqual(MetricAlarms.map(({ Threshold }) => Threshold).sort((a, b) => a - b), [5, 5, 150, 210]);
  await scaling.send(new DeregisterScalableTargetCommand(target));
  assert.deepEqual((await cloudwatch.send(new DescribeAlarmsCommand({ AlarmNames }))).MetricAlarms, []);
  await assert.rejects(scaling.send(new DeregisterScalableTargetCommand(target)), ObjectNotFoundException);
});
