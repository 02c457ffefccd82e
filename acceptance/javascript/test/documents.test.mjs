// The document client: plain JavaScript values, pages, conditions, parallel scans.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ConditionalCheckFailedException } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocument, NumberValue, paginateQuery, paginateScan } from "@aws-sdk/lib-dynamodb";
import lodestone, { connect, createTable } from "../lodestone.mjs";

test("plain values come back as they went", async () => {
  const TableName = await createTable({ pk: "S" });
  const Item = {
    pk: "plain",
    text: "",
    number: -1.5,
    yes: true,
    nothing: null,
    bytes: new Uint8Array([0, 128, 255]),
    strings: new Set(["x", "y"]),
    numbers: new Set([1, 2]),
    list: [1, "two", [], {}],
    map: { "with.dot": { deep: [true] } },
  };
  await lodestone.documents.put({ TableName, Item });
  const found = await lodestone.documents.get({ TableName, Key: { pk: "plain" } });
  assert.deepEqual(found.Item, Item);
});

test("a number of 38 digits is kept exactly", async () => {
  const TableName = await createTable({ pk: "S" });
  const exact = "1234567890123456789012345678.9012345678";
  await lodestone.documents.put({ TableName, Item: { pk: "a", exact: NumberValue.from(exact) } });
  const client = connect();
  const careful = DynamoDBDocument.from(client, {
    unmarshallOptions: { wrapNumbers: (text) => NumberValue.from(text) },
  });
  const found = await careful.get({ TableName, Key: { pk: "a" } });
  assert.equal(found.Item.exact.toString(), exact);
  client.destroy();
});

for (const ScanIndexForward of [true, false]) {
  test(`a query is walked in pages ${ScanIndexForward ? "forwards" : "backwards"}`, async () => {
    const TableName = await createTable({ pk: "S", sk: "N" });
    const numbers = Array.from({ length: 25 }, (_, number) => number);
    await Promise.all(numbers.map((sk) => lodestone.documents.put({ TableName, Item: { pk: "p", sk } })));
    const query = {
      TableName,
      KeyConditionExpression: "pk = :pk",
      ExpressionAttributeValues: { ":pk": "p" },
      ScanIndexForward,
    };
    const found = [];
    for await (const page of paginateQuery({ client: lodestone.documents, pageSize: 4 }, query)) {
      assert.ok(page.Items.length <= 4);
      found.push(...page.Items.map((item) => item.sk));
    }
    assert.deepEqual(found, ScanIndexForward ? numbers : numbers.reverse());
  });
}

test("an update on condition succeeds once", async () => {
  const TableName = await createTable({ pk: "S" });
  await lodestone.documents.put({ TableName, Item: { pk: "a", version: 1, tags: new Set(["old"]) } });
  const update = {
    TableName,
    Key: { pk: "a" },
    UpdateExpression: "SET version = version + :one ADD tags :tags",
    ConditionExpression: "version = :seen",
    ExpressionAttributeValues: { ":one": 1, ":seen": 1, ":tags": new Set(["new"]) },
    ReturnValues: "ALL_NEW",
  };
  const { Attributes } = await lodestone.documents.update(update);
  assert.deepEqual(Attributes, { pk: "a", version: 2, tags: new Set(["new", "old"]) });
  await assert.rejects(lodestone.documents.update(update), ConditionalCheckFailedException);
});

test("parallel segments are disjoint and complete", async () => {
  const TableName = await createTable({ pk: "S" });
  const keys = Array.from({ length: 60 }, (_, number) => `key ${number}`);
  await Promise.all(keys.map((pk) => lodestone.documents.put({ TableName, Item: { pk } })));
  const segments = [0, 1, 2, 3].map(async (Segment) => {
    const found = [];
    const scan = { TableName, Segment, TotalSegments: 4 };
    for await (const page of paginateScan({ client: lodestone.documents, pageSize: 7 }, scan)) {
      found.push(...page.Items.map((item) => item.pk));
    }
    return found;
  });
  const found = (await Promise.all(segments)).flat();
  assert.deepEqual(found.sort(), keys.sort());
});

test("a deleted item is gone and returned once", async () => {
  const TableName = await createTable({ pk: "S" });
  const Item = { pk: "a", n: 1 };
  await lodestone.documents.put({ TableName, Item });
  const gone = await lodestone.documents.delete({ TableName, Key: { pk: "a" }, ReturnValues: "ALL_OLD" });
  assert.deepEqual(gone.Attributes, Item);
  assert.equal((await lodestone.documents.get({ TableName, Key: { pk: "a" } })).Item, undefined);
});
