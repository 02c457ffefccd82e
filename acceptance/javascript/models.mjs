// Example models on the server of the test file: tables made and filled by what the product exports.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import {
  BatchWriteItemCommand,
  CreateTableCommand,
  DeleteItemCommand,
  DeleteTableCommand,
  GetItemCommand,
} from "@aws-sdk/client-dynamodb";
import lodestone from "./lodestone.mjs";

export const models = fileURLToPath(new URL("../../examples/models/", import.meta.url));
const FILLER = "_filler";

// What generated modules find the server by.
process.env.AWS_ENDPOINT_URL = lodestone.endpoint;
process.env.AWS_REGION = "us-east-1";
process.env.AWS_ACCESS_KEY_ID = "ACCEPTANCE";
process.env.AWS_SECRET_ACCESS_KEY = "secret";

export const send = (command) => lodestone.client.send(command);
export const model = (command, path, ...options) =>
  execFileSync(process.env.LODESTONE, ["model", command, path, ...options], {
    encoding: "utf8",
    maxBuffer: 1 << 26,
    stdio: ["ignore", "pipe", "ignore"],
  });

// DynamoDB's JSON: binary values are bytes, as the SDK has them.
const bytes = (text) => new Uint8Array(Buffer.from(text, "base64"));
const decoded = (name, value) =>
  name === "B" && typeof value === "string" ? bytes(value) : name === "BS" ? value.map(bytes) : value;

export async function load(path) {
  for (const batch of JSON.parse(model("export", path, "--to", "sample-data"), decoded)) {
    await send(new BatchWriteItemCommand(batch));
  }
}

// The tables of a model with its example data, for as long as `use` takes.
export async function withTables(path, use) {
  const tables = [JSON.parse(model("export", path, "--to", "create-table"))].flat();
  for (const table of tables) await send(new CreateTableCommand({ ...table, DeletionProtectionEnabled: false }));
  await load(path);
  await use(tables.map(({ TableName }) => TableName));
  for (const { TableName } of tables) await send(new DeleteTableCommand({ TableName }));
}

// A stored value as it goes over the wire, sets in order.
function wire(value) {
  const [[type, inner]] = Object.entries(value);
  if (type === "B") return { B: Buffer.from(inner, "base64").toString("base64") };
  if (type === "BS") return { BS: inner.map((one) => Buffer.from(one, "base64").toString("base64")).sort() };
  if (type === "SS" || type === "NS") return { [type]: [...inner].sort() };
  if (type === "L") return { L: inner.map(wire) };
  if (type === "M") return { M: wireItem(inner) };
  return value;
}
const wireItem = (item) => Object.fromEntries(Object.entries(item).map(([name, value]) => [name, wire(value)]));

// What is stored now; then everything is as it was, for the next pattern starts from the example data too.
export async function checkLeft(path, { leaves }) {
  for (const { table, key, item } of leaves) {
    const { Item } = await send(new GetItemCommand({ TableName: table, Key: key, ConsistentRead: true }));
    if (Item) delete Item[FILLER];
    assert.deepEqual(Item && wireItem(Item), item ? wireItem(item) : undefined);
    await send(new DeleteItemCommand({ TableName: table, Key: key }));
  }
  await load(path);
}
