// Modules that `lodestone model export` writes for OneTable and ElectroDB, in the hands of the libraries. The
// model's own sample items are written through the library; the keys in the database are those of the model, and
// its access patterns find them.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { CreateTableCommand, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import lodestone from "../lodestone.mjs";

const models = fileURLToPath(new URL("../../../examples/models/", import.meta.url));
// Inside of node_modules, so that the modules find the libraries.
const folder = mkdtempSync(fileURLToPath(new URL("../node_modules/.exported-", import.meta.url)));
after(() => rmSync(folder, { recursive: true }));

const exported = (format, model) =>
  execFileSync(process.env.LODESTONE, ["model", "export", "--to", format, join(models, model)], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });

async function load(format, model) {
  const path = join(folder, `${format}-${model}.mjs`);
  writeFileSync(path, exported(format, model));
  return import(path);
}

// A table by the model's own export, under a name of its own.
async function createTable(model, TableName) {
  const shape = { ...JSON.parse(exported("create-table", model)), TableName, DeletionProtectionEnabled: false };
  await lodestone.client.send(new CreateTableCommand(shape));
  await waitUntilTableExists({ client: lodestone.client, maxWaitTime: 10, minDelay: 1 }, { TableName });
}

const plain = ([name, { S, N }]) => [name, S ?? Number(N)];

// The items of the model; what only fills them up is left out.
function samples(model) {
  const puts = JSON.parse(exported("sample-data", model)).flatMap(({ RequestItems }) => Object.values(RequestItems).flat());
  return puts.map(({ PutRequest: { Item } }) => {
    const { _filler, ...item } = Object.fromEntries(Object.entries(Item).map(plain));
    return item;
  });
}

const without = (item, names) => Object.fromEntries(Object.entries(item).filter(([name]) => !names.includes(name)));
const by = (name) => (one, other) => (one[name] < other[name] ? -1 : one[name] > other[name] ? 1 : 0);
const newest = (name) => (one, other) => by(name)(other, one);

const orders = {
  model: "m03-order-management.yaml",
  keys: ["PK", "SK", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK"],
  entity: ({ SK }) => ({ PROFILE: "Customer", ORDER: "Order", META: "OrderHeader", ITEM: "LineItem" })[SK.split("#")[0]],
};
const leaderboard = {
  model: "m05-leaderboard.yaml",
  keys: ["partitionId", "rangeId", "gsiPartition", "gsiSort"],
  entity: ({ rangeId }) => ({ PROFILE: "Player", SEASON: "Standing", MATCH: "Match" })[rangeId.split("#")[0]],
};

// Writes the samples through `create(entity, attributes)` and compares what is then in the table.
async function written({ model, keys, entity }, TableName, own, create) {
  const items = samples(model);
  for (const item of items) {
    await create(entity(item), without(item, keys));
  }
  const { Items } = await lodestone.documents.scan({ TableName });
  const order = by(keys[1]);
  const sorted = (all) => all.sort((one, other) => by(keys[0])(one, other) || order(one, other));
  assert.deepEqual(sorted(Items.map((item) => without(item, own))), sorted([...items]));
  return grouped(items, entity);
}

const grouped = (items, entity) =>
  items.reduce((groups, item) => ({ ...groups, [entity(item)]: [...(groups[entity(item)] ?? []), item] }), {});

const raw = async (TableName, Key) => (await lodestone.documents.get({ TableName, Key })).Item;

const placed = { customerId: "customer-0001", createdAt: "2027-01-01T00:00:00Z", orderId: "placed", status: "OPEN", total: 5, version: 1 };
const placedKey = { PK: "CUST#customer-0001", SK: "ORDER#2027-01-01T00:00:00Z#placed" };
const lines = [1, 2].map((line) => ({ orderId: "placed", line, sku: `sku-${line}`, quantity: 1, price: 2 }));
const header = { orderId: "placed", customerId: "customer-0001", status: "OPEN", total: 5 };

test("every example is a schema that the libraries accept", async () => {
  for (const model of readdirSync(models).filter((name) => name.endsWith(".yaml"))) {
    const onetable = await load("onetable", model);
    for (const table of Object.keys(onetable.schemas)) {
      assert.equal(onetable.open(lodestone.client, table).name, table, model);
    }
    const electrodb = await load("electrodb", model);
    const { entities } = electrodb.connect(lodestone.client);
    assert.deepEqual(Object.keys(entities), Object.keys(electrodb.entities), model);
  }
});

describe("order management in OneTable", () => {
  const name = "OneTable-orders";
  let table, of, items;

  before(async () => {
    await createTable(orders.model, name);
    table = (await load("onetable", orders.model)).open(lodestone.client, "app-main", name);
    of = Object.fromEntries(["Customer", "Order", "OrderHeader", "LineItem"].map((name) => [name, table.getModel(name)]));
    items = await written(orders, name, ["_type"], (entity, item) => of[entity].create(item));
  });

  test("a customer, and its orders, newest first", async () => {
    const { customerId } = items.Customer[0];
    assert.deepEqual(await of.Customer.get({ customerId }), without(items.Customer[0], orders.keys));
    const found = await of.Order.find({ customerId }, { reverse: true, limit: 20 });
    const expected = items.Order.filter((order) => order.customerId === customerId).sort(newest("SK"));
    assert.deepEqual(found, expected.map((order) => without(order, orders.keys)));
  });

  test("an order with its lines", async () => {
    const { PK, orderId } = items.OrderHeader[0];
    const found = await table.fetch(["OrderHeader", "LineItem"], { PK });
    const expected = items.LineItem.filter((line) => line.orderId === orderId).sort(by("SK"));
    assert.deepEqual(found.LineItem.map(({ line }) => line), expected.map(({ line }) => line));
    assert.equal(found.OrderHeader.length, 1);
  });

  test("orders by status, and all open ones", async () => {
    const { customerId, status } = items.Order[0];
    const found = await of.Order.find({ customerId, status }, { index: "GSI1", hidden: true });
    const expected = items.Order.filter((order) => order.customerId === customerId && order.status === status);
    assert.deepEqual(found.map(({ SK }) => SK), expected.map(({ SK }) => SK).sort());
    const shards = [0, 1, 2].map((shard) => of.Order.find({ GSI2PK: `OPEN#${shard}` }, { index: "GSI2", hidden: true }));
    const open = (await Promise.all(shards)).flat().map(({ SK }) => SK);
    assert.deepEqual(open.sort(), items.Order.filter(({ status }) => status === "OPEN").map(({ SK }) => SK).sort());
  });

  test("an order is placed at once, and leaves the open ones when it ships", async () => {
    const transaction = {};
    await of.Order.create({ ...placed }, { transaction });
    await of.OrderHeader.create({ ...header }, { transaction });
    for (const line of lines) await of.LineItem.create({ ...line }, { transaction });
    await table.transact("write", transaction);
    assert.match((await raw(name, placedKey)).GSI2PK, /^OPEN#[0-2]$/);

    const { customerId, createdAt, orderId } = placed;
    await of.Order.update({ customerId, createdAt, orderId, status: "SHIPPED" });
    const shipped = await raw(name, placedKey);
    assert.equal(shipped.GSI1PK, "CUST#customer-0001#SHIPPED");
    assert.equal("GSI2PK" in shipped || "GSI2SK" in shipped, false);
  });

  test("what the model does not allow is refused", async () => {
    const other = { ...placed, orderId: "other" };
    await assert.rejects(of.Order.create({ ...other, status: "LOST" }), /Validation Error/);
    await assert.rejects(of.Order.create({ ...other, createdAt: "yesterday" }), /Validation Error/);
    await assert.rejects(of.Order.create(without(other, ["total"])), /Validation Error/);
  });
});

describe("order management in ElectroDB", () => {
  const name = "ElectroDB-orders";
  const own = ["__edb_e__", "__edb_v__", "orderIdShard"];
  let service, of, items, shardOf;

  before(async () => {
    await createTable(orders.model, name);
    const { connect, entities } = await load("electrodb", orders.model);
    shardOf = (order) => entities.Order.attributes.orderIdShard.set(undefined, order);
    service = connect(lodestone.client, { table: name });
    of = service.entities;
    items = await written(orders, name, own, (entity, item) => of[entity].create(item).go());
  });

  test("a customer, and its orders, newest first", async () => {
    const { customerId } = items.Customer[0];
    const { data } = await of.Customer.get({ customerId }).go();
    assert.deepEqual(data, without(items.Customer[0], orders.keys));
    const found = await of.Order.query.primary({ customerId }).go({ order: "desc", limit: 20 });
    const expected = items.Order.filter((order) => order.customerId === customerId).sort(newest("SK"));
    assert.deepEqual(found.data, expected.map((order) => without(order, orders.keys)));
  });

  test("an order with its lines is a collection", async () => {
    const { orderId } = items.OrderHeader[0];
    const { data } = await service.collections.A3({ orderId }).go();
    const expected = items.LineItem.filter((line) => line.orderId === orderId).sort(by("SK"));
    assert.deepEqual(data.LineItem.map(({ line }) => line), expected.map(({ line }) => line));
    assert.equal(data.OrderHeader.length, 1);
  });

  test("orders by status, and all open ones", async () => {
    const sorts = ({ data }) => data.Items.map(({ SK }) => SK).sort();
    const { customerId, status } = items.Order[0];
    const found = await of.Order.query.GSI1({ customerId, status }).go({ data: "raw" });
    const expected = items.Order.filter((order) => order.customerId === customerId && order.status === status);
    assert.deepEqual(sorts(found), expected.map(({ SK }) => SK).sort());
    const shards = ["0", "1", "2"].map((orderIdShard) => of.Order.query.GSI2({ orderIdShard }).go({ data: "raw" }));
    const open = (await Promise.all(shards)).flatMap(sorts);
    assert.deepEqual(open.sort(), items.Order.filter(({ status }) => status === "OPEN").map(({ SK }) => SK).sort());
  });

  test("an order is placed at once, and leaves the open ones when it ships", async () => {
    const placing = service.transaction.write(({ Order, OrderHeader, LineItem }) => [
      Order.create(placed).commit(),
      OrderHeader.create(header).commit(),
      ...lines.map((line) => LineItem.create(line).commit()),
    ]);
    assert.equal((await placing.go()).canceled, false);
    assert.equal((await raw(name, placedKey)).GSI2PK, `OPEN#${shardOf(placed)}`);

    const { customerId, createdAt, orderId } = placed;
    const shipping = of.Order.patch({ customerId, createdAt, orderId }).set({ status: "SHIPPED" });
    await shipping.composite({ orderIdShard: shardOf(placed) }).go();
    const shipped = await raw(name, placedKey);
    assert.equal(shipped.GSI1PK, "CUST#customer-0001#SHIPPED");
    assert.equal("GSI2PK" in shipped || "GSI2SK" in shipped, false);
  });

  test("what the model does not allow is refused", async () => {
    const other = { ...placed, orderId: "other" };
    await assert.rejects(of.Order.create({ ...other, status: "LOST" }).go(), /Value not found in set/);
    await assert.rejects(of.Order.create({ ...other, createdAt: "yesterday" }).go(), /Invalid value/);
    await assert.rejects(of.Order.create(without(other, ["total"])).go(), /required/);
  });
});

describe("the leaderboard", () => {
  // The same four questions, asked of both libraries.
  async function answers(items, ask) {
    const [player] = items.Player;
    assert.deepEqual(await ask.profile(player), without(player, leaderboard.keys));
    assert.equal((await ask.byHandle(player.handle.toUpperCase())).partitionId, player.partitionId);

    const played = items.Match.filter(({ playerId }) => playerId === player.playerId).sort(newest("rangeId"));
    assert.deepEqual(await ask.matches(player), played.map((match) => without(match, leaderboard.keys)));

    const { season } = items.Standing[0];
    const ranked = items.Standing.filter((standing) => standing.season === season).sort(newest("gsiSort"));
    const shards = await Promise.all([0, 1, 2, 3].map((shard) => ask.ranking(season, shard)));
    assert.deepEqual(shards.flat().sort(newest("gsiSort")).map(({ gsiSort }) => gsiSort), ranked.map(({ gsiSort }) => gsiSort));

    const [standing] = ranked;
    await ask.rate({ playerId: standing.playerId, season, rating: 7 });
    const { partitionId, rangeId } = standing;
    const { gsiPartition, gsiSort } = await raw(ask.table, { partitionId, rangeId });
    assert.deepEqual([gsiPartition, gsiSort], [standing.gsiPartition, `RATING#00007#${standing.playerId}`]);
  }

  test("in OneTable", async () => {
    const name = "OneTable-leaderboard";
    await createTable(leaderboard.model, name);
    const table = (await load("onetable", leaderboard.model)).open(lodestone.client, "game", name);
    const [Player, Standing, Match] = ["Player", "Standing", "Match"].map((name) => table.getModel(name));
    const items = await written(leaderboard, name, ["_type"], (entity, item) => table.getModel(entity).create(item));
    const hidden = { index: "lookup", hidden: true };
    await answers(items, {
      table: name,
      profile: ({ playerId }) => Player.get({ playerId }),
      byHandle: async (handle) => (await Player.find({ gsiPartition: `HANDLE#${handle.toLowerCase()}` }, hidden))[0],
      matches: ({ playerId }) => Match.find({ playerId }, { reverse: true, limit: 20 }),
      ranking: (season, shard) => Standing.find({ gsiPartition: `SEASON#${season}#${shard}` }, { ...hidden, reverse: true }),
      rate: (standing) => Standing.update(standing),
    });
  });

  test("in ElectroDB", async () => {
    const table = "ElectroDB-leaderboard";
    const own = ["__edb_e__", "__edb_v__", "handleLower", "playerIdShard"];
    await createTable(leaderboard.model, table);
    const { entities } = (await load("electrodb", leaderboard.model)).connect(lodestone.client, { table });
    const { Player, Standing, Match } = entities;
    const items = await written(leaderboard, table, own, (entity, item) => entities[entity].create(item).go());
    const rows = async (query, options = {}) => (await query.go({ data: "raw", ...options })).data.Items;
    await answers(items, {
      table,
      profile: async ({ playerId }) => (await Player.get({ playerId }).go()).data,
      byHandle: async (handle) => (await rows(Player.query.lookup({ handleLower: handle.toLowerCase() })))[0],
      matches: async ({ playerId }) => (await Match.query.primary({ playerId }).go({ order: "desc", limit: 20 })).data,
      ranking: (season, shard) => rows(Standing.query.lookup({ season, playerIdShard: String(shard) }), { order: "desc" }),
      rate: ({ playerId, season, rating }) => Standing.patch({ playerId, season }).set({ rating }).go(),
    });
  });
});
