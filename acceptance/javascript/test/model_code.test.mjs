// `lodestone model code --language javascript`: what it prints is a module whose functions run as they are, and
// find and leave what the pattern means. The tables are made and filled by what the product exports.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  BatchWriteItemCommand,
  CreateTableCommand,
  DeleteItemCommand,
  DeleteTableCommand,
  GetItemCommand,
} from "@aws-sdk/client-dynamodb";
import lodestone from "../lodestone.mjs";

const models = fileURLToPath(new URL("../../../examples/models/", import.meta.url));
const FILLER = "_filler";

// Beside the packages, so that the module finds them.
const packages = fileURLToPath(new URL("../node_modules/", import.meta.url));
const folder = mkdtempSync(`${packages}.model-code-`);
after(() => rmSync(folder, { recursive: true }));

process.env.AWS_ENDPOINT_URL = lodestone.endpoint;
process.env.AWS_REGION = "us-east-1";
process.env.AWS_ACCESS_KEY_ID = "ACCEPTANCE";
process.env.AWS_SECRET_ACCESS_KEY = "secret";

const send = (command) => lodestone.client.send(command);
const model = (command, path, ...options) =>
  execFileSync(process.env.LODESTONE, ["model", command, path, ...options], {
    encoding: "utf8",
    maxBuffer: 1 << 26,
    stdio: ["ignore", "pipe", "ignore"],
  });

async function load(path) {
  for (const batch of JSON.parse(model("export", path, "--to", "sample-data"))) {
    await send(new BatchWriteItemCommand(batch));
  }
}

// The tables of a model with its example data, for as long as `use` takes.
async function withTables(path, use) {
  const tables = [JSON.parse(model("export", path, "--to", "create-table"))].flat();
  for (const table of tables) await send(new CreateTableCommand({ ...table, DeletionProtectionEnabled: false }));
  await load(path);
  await use();
  for (const { TableName } of tables) await send(new DeleteTableCommand({ TableName }));
}

// A key as text; keys are texts and numbers.
const keyText = (names, value) => names.map((name) => `${name}=${value(name)}`).join(" ");

function checkFound({ finds, operation }, answer) {
  const items = [answer ?? []].flat();
  const names = Object.keys(finds[0] ?? {});
  const expected = finds.map((key) => keyText(names, (name) => key[name].S ?? key[name].N));
  const found = items.map((item) => keyText(names, (name) => item[name]));
  if (operation === "BatchGetItem") for (const keys of [found, expected]) keys.sort();
  assert.deepEqual(found, expected);
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
async function checkLeft(path, { leaves }) {
  for (const { table, key, item } of leaves) {
    const { Item } = await send(new GetItemCommand({ TableName: table, Key: key, ConsistentRead: true }));
    if (Item) delete Item[FILLER];
    assert.deepEqual(Item && wireItem(Item), item ? wireItem(item) : undefined);
    await send(new DeleteItemCommand({ TableName: table, Key: key }));
  }
  await load(path);
}

for (const name of readdirSync(models).filter((name) => name.endsWith(".yaml"))) {
  test(`the module of ${name} runs as it is`, async () => {
    const path = `${models}${name}`;
    const file = `${folder}/${name}.mjs`;
    writeFileSync(file, model("code", path, "--language", "javascript"));
    const module = await import(file);
    await withTables(path, async () => {
      const examples = JSON.parse(model("code", path, "--json")).patterns.filter((one) => one.requests);
      assert.ok(examples.length > 0);
      for (const example of examples) {
        const answer = await module[example.function]();
        if (example.leaves) await checkLeft(path, example);
        else if (example.requests[0].Select === "COUNT") assert.equal(answer, example.finds.length);
        else checkFound(example, answer);
      }
    });
  });
}
