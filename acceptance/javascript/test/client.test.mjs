// The low-level client: tables, typed errors, values on the wire.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ConditionalCheckFailedException,
  DeleteTableCommand,
  DescribeTableCommand,
  GetItemCommand,
  ListTablesCommand,
  PutItemCommand,
  ResourceNotFoundException,
  paginateListTables,
  waitUntilTableNotExists,
} from "@aws-sdk/client-dynamodb";
import lodestone, { createTable } from "../lodestone.mjs";

const send = (command) => lodestone.client.send(command);

test("a table is described, listed and deleted", async () => {
  const TableName = await createTable({ pk: "S", sk: "N" });
  const { Table } = await send(new DescribeTableCommand({ TableName }));
  assert.equal(Table.TableStatus, "ACTIVE");
  assert.ok(Table.CreationDateTime instanceof Date);
  assert.deepEqual(Table.KeySchema[1], { AttributeName: "sk", KeyType: "RANGE" });
  assert.ok((await send(new ListTablesCommand({}))).TableNames.includes(TableName));

  await send(new DeleteTableCommand({ TableName }));
  await waitUntilTableNotExists({ client: lodestone.client, maxWaitTime: 10, minDelay: 1 }, { TableName });
  await assert.rejects(send(new DescribeTableCommand({ TableName })), ResourceNotFoundException);
});

test("the paginator walks the list of tables", async () => {
  const created = [];
  for (let number = 0; number < 3; number++) created.push(await createTable());
  const listed = [];
  for await (const page of paginateListTables({ client: lodestone.client, pageSize: 1 }, {})) {
    listed.push(...page.TableNames);
  }
  assert.equal(new Set(listed).size, listed.length);
  for (const name of created) assert.ok(listed.includes(name));
});

test("every type comes back as it went", async () => {
  const TableName = await createTable({ pk: "S" });
  const Item = {
    pk: { S: "types" },
    s: { S: "ünïcödé 🧲" },
    n: { N: "-12345678901234567890.123456789012345678" },
    b: { B: new Uint8Array([0, 1, 254, 255]) },
    bool: { BOOL: false },
    nothing: { NULL: true },
    ss: { SS: ["a", "b"] },
    ns: { NS: ["1", "2.5"] },
    bs: { BS: [new Uint8Array([1]), new Uint8Array([2, 3])] },
    l: { L: [{ S: "x" }, { L: [] }] },
    m: { M: { deep: { M: { deeper: { N: "1" } } } } },
  };
  await send(new PutItemCommand({ TableName, Item }));
  const found = await send(new GetItemCommand({ TableName, Key: { pk: Item.pk }, ConsistentRead: true }));
  assert.deepEqual(found.Item, Item);
});

test("errors have their own classes", async () => {
  const TableName = await createTable({ pk: "S" });
  const Item = { pk: { S: "once" }, n: { N: "1" } };
  const insert = {
    TableName,
    Item,
    ConditionExpression: "attribute_not_exists(pk)",
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  };
  await send(new PutItemCommand(insert));
  await assert.rejects(send(new PutItemCommand(insert)), (error) => {
    assert.ok(error instanceof ConditionalCheckFailedException);
    assert.equal(error.message, "The conditional request failed");
    assert.deepEqual(error.Item, Item);
    assert.equal(error.$metadata.httpStatusCode, 400);
    assert.ok(error.$metadata.requestId);
    return true;
  });
  const nowhere = new GetItemCommand({ TableName: "Nowhere", Key: { pk: { S: "a" } } });
  await assert.rejects(send(nowhere), ResourceNotFoundException);
  await assert.rejects(send(new GetItemCommand({ TableName, Key: {} })), { name: "ValidationException" });
});
