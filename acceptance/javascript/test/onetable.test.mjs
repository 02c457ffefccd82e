// OneTable: it makes its own table; accounts and users with templates for keys, unique addresses, an index.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { Table } from "dynamodb-onetable";
import lodestone from "../lodestone.mjs";

const schema = {
  format: "onetable:1.1.0",
  version: "0.0.1",
  indexes: {
    primary: { hash: "pk", sort: "sk" },
    gs1: { hash: "gs1pk", sort: "gs1sk", project: "all" },
    ls1: { type: "local", sort: "joined", project: "all" },
  },
  models: {
    Account: {
      pk: { type: String, value: "account#${id}" },
      sk: { type: String, value: "account#" },
      id: { type: String, required: true },
      name: { type: String, required: true },
      balance: { type: Number, default: 0 },
      settings: { type: Object, default: {} },
    },
    User: {
      pk: { type: String, value: "account#${account}" },
      sk: { type: String, value: "user#${name}" },
      account: { type: String, required: true },
      name: { type: String, required: true },
      email: { type: String, unique: true },
      role: { type: String, enum: ["user", "admin"], default: "user" },
      joined: { type: String },
      tags: { type: Set },
      gs1pk: { type: String, value: "role#${role}" },
      gs1sk: { type: String, value: "user#${account}#${name}" },
    },
  },
  params: { isoDates: true, timestamps: false },
};

let table, Account, User;

before(async () => {
  table = new Table({ name: "OneTable", client: lodestone.client, schema, partial: true });
  await table.createTable();
  Account = table.getModel("Account");
  User = table.getModel("User");
});

test("the table that the library makes is there with its indexes", async () => {
  assert.equal(await table.exists(), true);
  const { Table: described } = await table.describeTable();
  assert.equal(described.TableStatus, "ACTIVE");
  assert.deepEqual(described.GlobalSecondaryIndexes.map((index) => [index.IndexName, index.IndexStatus]), [["gs1", "ACTIVE"]]);
  assert.deepEqual(described.LocalSecondaryIndexes.map((index) => index.IndexName), ["ls1"]);
});

test("an item is created once, read, changed and removed", async () => {
  const created = await Account.create({ id: "a1", name: "Acme", settings: { theme: { dark: true } } });
  assert.deepEqual(await Account.get({ id: "a1" }), created);
  assert.equal(created.balance, 0);
  await assert.rejects(Account.create({ id: "a1", name: "Other" }), (error) => {
    assert.match(error.message, /Conditional create failed/);
    return true;
  });
  await Account.update({ id: "a1" }, { add: { balance: 10 } });
  await Account.update({ id: "a1" }, { set: { "settings.theme.dark": false } });
  const changed = await Account.update({ id: "a1", name: "Acme Ltd" });
  assert.deepEqual([changed.name, changed.balance, changed.settings], ["Acme Ltd", 10, { theme: { dark: false } }]);
  await Account.remove({ id: "a1" });
  assert.equal(await Account.get({ id: "a1" }), undefined);
});

test("an update of what is not there, or on a condition that fails, is refused", async () => {
  await assert.rejects(Account.update({ id: "nobody", name: "x" }), { code: "ConditionalCheckFailedException" });
  await Account.create({ id: "poor", name: "Poor", balance: 5 });
  const withdraw = (amount) =>
    Account.update({ id: "poor" }, { add: { balance: -amount }, where: `\${balance} >= {${amount}}` });
  assert.equal((await withdraw(3)).balance, 2);
  await assert.rejects(withdraw(3), { code: "ConditionalCheckFailedException" });
  assert.equal((await Account.get({ id: "poor" })).balance, 2);
  assert.equal((await Account.upsert({ id: "made", name: "Made" })).name, "Made");
});

const createUsers = async (account, count, more = {}) => {
  for (let number = 0; number < count; number++) {
    const name = `u${String(number).padStart(2, "0")}`;
    await User.create({ account, name, email: `${name}@${account}.example`, ...more });
  }
};
const names = (users) => users.map((user) => user.name);

test("a query goes by prefix, by bounds, by filter, and counts", async () => {
  await createUsers("query", 6);
  await User.update({ account: "query", name: "u03", role: "admin" });
  assert.deepEqual(names(await User.find({ account: "query" })), ["u00", "u01", "u02", "u03", "u04", "u05"]);
  assert.deepEqual(names(await User.find({ account: "query", sk: { begins: "user#u00" } })), ["u00"]);
  assert.deepEqual(names(await User.find({ account: "query", sk: { between: ["user#u01", "user#u03"] } })), ["u01", "u02", "u03"]);
  assert.deepEqual(names(await User.find({ account: "query" }, { reverse: true, limit: 2 })), ["u05", "u04"]);
  assert.deepEqual(names(await User.find({ account: "query", role: "admin" })), ["u03"]);
  assert.deepEqual(names(await User.find({ account: "query" }, { where: "${name} > {u04}" })), ["u05"]);
  assert.equal((await User.find({ account: "query" }, { count: true })).count, 6);
});

test("pages follow each other forwards and back", async () => {
  await createUsers("pages", 7);
  const pages = [];
  let next;
  do {
    const page = await User.find({ account: "pages" }, { limit: 3, next });
    pages.push(names(page));
    next = page.next;
    assert.ok(pages.length <= 4);
  } while (next);
  assert.deepEqual(pages.flat(), ["u00", "u01", "u02", "u03", "u04", "u05", "u06"]);
  const first = await User.find({ account: "pages" }, { limit: 3 });
  const second = await User.find({ account: "pages" }, { limit: 3, next: first.next });
  const back = await User.find({ account: "pages" }, { limit: 3, prev: second.prev });
  assert.deepEqual(names(back), names(first));
});

test("indexes find users by role and by the day they joined", async () => {
  await createUsers("index", 4);
  for (const [name, joined] of [["u00", "2026-01-02"], ["u01", "2026-01-01"], ["u02", "2026-01-03"]]) {
    await User.update({ account: "index", name, joined });
  }
  await User.update({ account: "index", name: "u01", role: "admin" });
  const admins = await User.find({ role: "admin", gs1sk: { begins: "user#index#" } }, { index: "gs1" });
  assert.deepEqual(names(admins), ["u01"]);
  const joined = await User.find({ account: "index" }, { index: "ls1" });
  assert.deepEqual(names(joined), ["u01", "u00", "u02"]);
});

test("an address is unique, and free again after its user is gone", async () => {
  await User.create({ account: "unique", name: "one", email: "same@unique.example" });
  const second = { account: "unique", name: "two", email: "same@unique.example" };
  await assert.rejects(User.create(second), { code: "UniqueError" });
  assert.deepEqual(names(await User.find({ account: "unique" })), ["one"]);
  await User.remove({ account: "unique", name: "one" });
  assert.equal((await User.create(second)).name, "two");
});

test("a transaction over two models happens whole or not at all", async () => {
  const both = async (balance) => {
    const transaction = {};
    await Account.create({ id: `tx`, name: "Tx", balance }, { transaction });
    await User.upsert({ account: "tx", name: "ada", role: "admin", tags: new Set([String(balance)]) }, { transaction });
    await table.transact("write", transaction);
  };
  await both(1);
  await assert.rejects(both(2), { code: "TransactionCanceledException" });
  assert.deepEqual((await User.get({ account: "tx", name: "ada" })).tags, new Set(["1"]));

  const transaction = {};
  await Account.get({ id: "tx" }, { transaction });
  await User.get({ account: "tx", name: "ada" }, { transaction });
  const found = await table.transact("get", transaction, { parse: true, hidden: false });
  assert.deepEqual(found.map((item) => item.name), ["Tx", "ada"]);
});

test("batches write and read", async () => {
  const writes = {};
  for (let number = 0; number < 20; number++) {
    await Account.create({ id: `batch-${number}`, name: `Batch ${number}` }, { batch: writes });
  }
  await table.batchWrite(writes);
  const reads = {};
  for (let number = 0; number < 20; number++) await Account.get({ id: `batch-${number}` }, { batch: reads });
  const found = await table.batchGet(reads, { parse: true, hidden: false });
  assert.deepEqual(found.map((account) => account.id).sort(), Array.from({ length: 20 }, (_, n) => `batch-${n}`).sort());
});

test("a partition is fetched as the kinds that it holds", async () => {
  await Account.create({ id: "kinds", name: "Kinds" });
  await createUsers("kinds", 2);
  const found = await table.fetch(["Account", "User"], { pk: "account#kinds" });
  assert.deepEqual(found.Account.map((account) => account.name), ["Kinds"]);
  assert.deepEqual(names(found.User), ["u00", "u01"]);
  const everything = await User.scan({ account: "kinds" });
  assert.deepEqual(names(everything).sort(), ["u00", "u01"]);
});

test("the table is deleted as the library does it", async () => {
  await table.deleteTable("DeleteTableForever");
  assert.equal(await table.exists(), false);
});
