// The binary under test: started in memory on a port of its own choice, ended with the test file.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { setTimeout } from "node:timers/promises";
import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocument } from "@aws-sdk/lib-dynamodb";

const lodestone = {};

// A client that tries once, so that a failure is seen and not repeated.
export function connect(Client = DynamoDBClient) {
  return new Client({
    endpoint: lodestone.endpoint,
    region: "us-east-1",
    credentials: { accessKeyId: "ACCEPTANCE", secretAccessKey: "secret" },
    maxAttempts: 1,
  });
}

// Before anything else of the test file runs, its own hooks included.
const options = ["serve", "--in-memory", "--host", "127.0.0.1", "--port", "0"];
const server = spawn(process.env.LODESTONE, options, { stdio: ["ignore", "pipe", "inherit"] });
const [line] = await once(createInterface({ input: server.stdout }), "line");
lodestone.endpoint = line.match(/http:\/\/127\.0\.0\.1:\d+/)[0];
lodestone.client = connect();
lodestone.documents = DynamoDBDocument.from(lodestone.client);

after(async () => {
  lodestone.client.destroy();
  server.kill("SIGTERM");
  await once(server, "exit");
});

// The first true answer of `look`, within a bound.
export async function until(look, withinMs = 30_000) {
  const end = Date.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    assert.ok(Date.now() < end, `not done within ${withinMs} ms`);
    await setTimeout(50);
  }
}

let tables = 0;

const keySchema = (keys) =>
  Object.keys(keys).map((AttributeName, i) => ({ AttributeName, KeyType: ["HASH", "RANGE"][i] }));

// A new table; `keys` are names and types, the partition key first. `indexes` are the keys of global
// secondary indexes by name.
export async function createTable(keys = { pk: "S", sk: "S" }, indexes = {}) {
  const TableName = `JavaScript-${++tables}`;
  const { client } = lodestone;
  const types = Object.assign({}, keys, ...Object.values(indexes));
  const global = Object.entries(indexes).map(([IndexName, keys]) => ({
    IndexName,
    KeySchema: keySchema(keys),
    Projection: { ProjectionType: "ALL" },
  }));
  await client.send(
    new CreateTableCommand({
      TableName,
      KeySchema: keySchema(keys),
      AttributeDefinitions: Object.entries(types).map(([AttributeName, AttributeType]) => ({
        AttributeName,
        AttributeType,
      })),
      ...(global.length && { GlobalSecondaryIndexes: global }),
      BillingMode: "PAY_PER_REQUEST",
    }),
  );
  await waitUntilTableExists({ client, maxWaitTime: 10, minDelay: 1 }, { TableName });
  return TableName;
}

export default lodestone;
