// DAX, as @amazon-dax-sdk/lib-dax talks to it: what it answers is what the table answers.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { DaxDocument } from "@amazon-dax-sdk/lib-dax";
import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocument } from "@aws-sdk/lib-dynamodb";

const options = ["serve", "--in-memory", "--host", "127.0.0.1", "--port", "0", "--dax", "0", "--dax-query-ttl", "1h"];
const server = spawn(process.env.LODESTONE, options, { stdio: ["ignore", "pipe", "inherit"] });
let endpoint, daxEndpoint;
for await (const line of createInterface({ input: server.stdout })) {
  endpoint ??= line.match(/http:\/\/127\.0\.0\.1:\d+/)?.[0];
  daxEndpoint = line.match(/DAX is at (.*)/)?.[1];
  if (daxEndpoint) break;
}
const settings = { region: "us-east-1", credentials: { accessKeyId: "ACCEPTANCE", secretAccessKey: "secret" } };
const client = new DynamoDBClient({ endpoint, maxAttempts: 1, ...settings });
const direct = DynamoDBDocument.from(client);
const dax = new DaxDocument({ endpoint: daxEndpoint, ...settings });

after(async () => {
  dax.destroy?.();
  client.destroy();
  server.kill("SIGTERM");
  await once(server, "exit");
});

const TableName = "Cached";
await client.send(
  new CreateTableCommand({
    TableName,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [
      { AttributeName: "pk", AttributeType: "S" },
      { AttributeName: "sk", AttributeType: "N" },
    ],
    KeySchema: [
      { AttributeName: "pk", KeyType: "HASH" },
      { AttributeName: "sk", KeyType: "RANGE" },
    ],
  }),
);

test("an item comes back as it was put, from the cache and from the table", async () => {
  const Item = { pk: "types", sk: -1.5, text: "ü", flag: true, nothing: null, list: [1, "a", []], map: { a: { b: 2 } } };
  await dax.put({ TableName, Item });
  const Key = { pk: "types", sk: -1.5 };
  assert.deepEqual((await dax.get({ TableName, Key })).Item, Item);
  assert.deepEqual((await dax.get({ TableName, Key, ConsistentRead: true })).Item, Item);
  assert.deepEqual((await direct.get({ TableName, Key })).Item, Item);
  assert.deepEqual(
    (await dax.get({ TableName, Key, ProjectionExpression: "#m.a, list[1]", ExpressionAttributeNames: { "#m": "map" } })).Item,
    { map: { a: { b: 2 } }, list: ["a"] },
  );
});

test("updates and their conditions are those of the table", async () => {
  const Key = { pk: "update", sk: 1 };
  await dax.put({ TableName, Item: { ...Key, n: 1 } });
  const updated = await dax.update({
    TableName,
    Key,
    UpdateExpression: "SET n = n + :one, made = if_not_exists(made, :one)",
    ConditionExpression: "n BETWEEN :one AND :two OR n IN (:two)",
    ExpressionAttributeValues: { ":one": 1, ":two": 2 },
    ReturnValues: "UPDATED_NEW",
  });
  assert.deepEqual(updated.Attributes, { n: 2, made: 1 });
  assert.deepEqual((await dax.get({ TableName, Key })).Item, { ...Key, n: 2, made: 1 });
  await assert.rejects(
    dax.delete({ TableName, Key, ConditionExpression: "n = :n", ExpressionAttributeValues: { ":n": 7 } }),
    (error) => /ConditionalCheckFailedException/.test(`${error.name} ${error.code} ${error.message}`),
  );
  const old = await dax.delete({ TableName, Key, ReturnValues: "ALL_OLD" });
  assert.deepEqual(old.Attributes, { ...Key, n: 2, made: 1 });
  assert.equal((await direct.get({ TableName, Key })).Item, undefined);
});

test("queries page as on the table and stay as they were", async () => {
  const items = [1, 2, 3, 4, 5].map((sk) => ({ pk: "pages", sk, v: `v${sk}` }));
  await dax.batchWrite({ RequestItems: { [TableName]: items.map((Item) => ({ PutRequest: { Item } })) } });
  const query = {
    TableName,
    KeyConditionExpression: "pk = :pk AND sk >= :low",
    ExpressionAttributeValues: { ":pk": "pages", ":low": 2 },
    Limit: 3,
  };
  const first = await dax.query(query);
  assert.deepEqual(first.Items, items.slice(1, 4));
  assert.deepEqual(first.LastEvaluatedKey, { pk: "pages", sk: 4 });
  const second = await dax.query({ ...query, ExclusiveStartKey: first.LastEvaluatedKey });
  assert.deepEqual(second.Items, items.slice(4));
  await dax.put({ TableName, Item: { pk: "pages", sk: 2, v: "new" } });
  assert.deepEqual((await dax.query(query)).Items, items.slice(1, 4));
  assert.equal((await dax.query({ ...query, ConsistentRead: true })).Items[0].v, "new");
  const scanned = await dax.scan({ TableName, FilterExpression: "pk = :pk", ExpressionAttributeValues: { ":pk": "pages" } });
  assert.equal(scanned.Count, 5);
});

test("batches and transactions", async () => {
  const key = (sk) => ({ pk: "batch", sk });
  await dax.transactWrite({
    TransactItems: [
      { Put: { TableName, Item: { ...key(1), n: 1 } } },
      {
        Update: {
          TableName,
          Key: key(2),
          UpdateExpression: "SET n = :n",
          ConditionExpression: "attribute_not_exists(pk)",
          ExpressionAttributeValues: { ":n": 2 },
        },
      },
    ],
  });
  const read = await dax.batchGet({ RequestItems: { [TableName]: { Keys: [key(1), key(2), key(3)] } } });
  assert.deepEqual(
    read.Responses[TableName].sort((a, b) => a.sk - b.sk),
    [{ ...key(1), n: 1 }, { ...key(2), n: 2 }],
  );
  const got = await dax.transactGet({ TransactItems: [1, 3].map((sk) => ({ Get: { TableName, Key: key(sk) } })) });
  assert.deepEqual(got.Responses[0].Item, { ...key(1), n: 1 });
  assert.equal(got.Responses[1].Item, undefined);
});
