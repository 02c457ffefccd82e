// Streams with the SDK's own client for them: shards, iterators, records; those of time to live too.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DeleteItemCommand,
  PutItemCommand,
  UpdateTableCommand,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import {
  DescribeStreamCommand,
  DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
  ListStreamsCommand,
  ResourceNotFoundException,
} from "@aws-sdk/client-dynamodb-streams";
import lodestone, { connect, createTable, until } from "../lodestone.mjs";

const streams = connect(DynamoDBStreamsClient);
const send = (command) => lodestone.client.send(command);
const PAGES_MAX = 100;

// A table with a stream.
async function tableWithStream() {
  const TableName = await createTable({ pk: "S" });
  const StreamSpecification = { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" };
  const { TableDescription } = await send(new UpdateTableCommand({ TableName, StreamSpecification }));
  return { TableName, StreamArn: TableDescription.LatestStreamArn };
}

async function shardsOf(StreamArn) {
  const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn }));
  assert.equal(StreamDescription.StreamStatus, "ENABLED");
  return StreamDescription.Shards;
}

// The records of a shard up to an empty page.
async function read(StreamArn, ShardId, ShardIteratorType = "TRIM_HORIZON") {
  const start = await streams.send(new GetShardIteratorCommand({ StreamArn, ShardId, ShardIteratorType }));
  let ShardIterator = start.ShardIterator;
  const found = [];
  for (let page = 0; page < PAGES_MAX && ShardIterator; page++) {
    const { Records, NextShardIterator } = await streams.send(new GetRecordsCommand({ ShardIterator }));
    if (Records.length === 0) break;
    found.push(...Records);
    ShardIterator = NextShardIterator;
  }
  return found;
}

async function records(StreamArn) {
  const shards = await shardsOf(StreamArn);
  return (await Promise.all(shards.map(({ ShardId }) => read(StreamArn, ShardId)))).flat();
}

test("changes of an item are records of one shard, in their order", async () => {
  const { TableName, StreamArn } = await tableWithStream();
  const Key = { pk: { S: "a" } };
  await send(new PutItemCommand({ TableName, Item: { ...Key, n: { N: "1" } } }));
  await send(new PutItemCommand({ TableName, Item: { ...Key, n: { N: "2" } } }));
  await send(new DeleteItemCommand({ TableName, Key }));
  const found = await records(StreamArn);
  assert.deepEqual(found.map(({ eventName }) => eventName), ["INSERT", "MODIFY", "REMOVE"]);
  assert.deepEqual(found[1].dynamodb.OldImage, { ...Key, n: { N: "1" } });
  assert.deepEqual(found[1].dynamodb.NewImage, { ...Key, n: { N: "2" } });
  assert.ok(found[0].dynamodb.ApproximateCreationDateTime instanceof Date);
});

test("streams are listed, and the newest record is where LATEST begins", async () => {
  const { TableName, StreamArn } = await tableWithStream();
  const listed = await streams.send(new ListStreamsCommand({ TableName }));
  assert.deepEqual(listed.Streams.map((stream) => stream.StreamArn), [StreamArn]);
  await send(new PutItemCommand({ TableName, Item: { pk: { S: "before" } } }));
  for (const { ShardId } of await shardsOf(StreamArn)) {
    assert.deepEqual(await read(StreamArn, ShardId, "LATEST"), []);
  }
  const StreamArnOfNone = StreamArn.replace(TableName, "Nowhere");
  const nowhere = new DescribeStreamCommand({ StreamArn: StreamArnOfNone });
  await assert.rejects(streams.send(nowhere), ResourceNotFoundException);
});

test("an item that expires is removed by the service", async () => {
  const { TableName, StreamArn } = await tableWithStream();
  const TimeToLiveSpecification = { Enabled: true, AttributeName: "ttl" };
  await send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
  const past = Math.floor(Date.now() / 1000) - 1;
  await send(new PutItemCommand({ TableName, Item: { pk: { S: "session" }, ttl: { N: `${past}` } } }));
  const removed = await until(async () =>
    (await records(StreamArn)).find(({ eventName }) => eventName === "REMOVE"),
  );
  assert.deepEqual(removed.userIdentity, { Type: "Service", PrincipalId: "dynamodb.amazonaws.com" });
});
