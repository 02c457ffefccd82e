// One test asks what the model does not know. `guard.test.mjs` runs this file.
import { DynamoDB } from "@aws-sdk/client-dynamodb";
import { guardFindings, unguarded } from "lodestone-db";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";

const TableName = "Songs";
const key = { Artist: { S: "Nina Simone" } };
const client = new DynamoDB();
const scan = () => client.scan({ TableName });

beforeAll(() => client.createTable({
  TableName,
  BillingMode: "PAY_PER_REQUEST",
  AttributeDefinitions: [{ AttributeName: "Artist", AttributeType: "S" }],
  KeySchema: [{ AttributeName: "Artist", KeyType: "HASH" }],
}));

beforeEach(() => unguarded(() => client.putItem({ TableName, Item: key })));

test("a key is known", async () => {
  expect((await client.getItem({ TableName, Key: key })).Item).toEqual(key);
});

test("a scan is not, also if the application catches the error", async () => {
  await scan().catch(() => {});
});

test("a scan passes unguarded", async () => {
  const both = await unguarded(() => Promise.all([scan(), unguarded(scan)]));
  expect(both.map(({ Count }) => Count)).toEqual([1, 1]);
});

test("a test may expect what is found", async () => {
  await expect(scan()).rejects.toThrow(/lodestone guard \(scan\)/);
  expect((await guardFindings()).map(({ rule }) => rule)).toEqual(["scan"]);
});

describe.concurrent("side by side", () => {
  test("a key is known", async () => {
    expect((await client.getItem({ TableName, Key: key })).Item).toEqual(key);
  });
  test("so it is beside it", async () => {
    expect((await client.getItem({ TableName, Key: key })).Item).toEqual(key);
  });
});
