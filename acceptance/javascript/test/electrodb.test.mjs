// ElectroDB: two entities and their collection in one table with an index.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { Entity, Service } from "electrodb";
import lodestone, { createTable } from "../lodestone.mjs";

let company;

const task = {
  model: { entity: "task", version: "1", service: "company" },
  attributes: {
    team: { type: "string", required: true },
    number: { type: "number", required: true, padding: { length: 4, char: "0" } },
    title: { type: "string", required: true },
    state: { type: ["open", "doing", "done"], required: true, default: () => "open" },
    assignee: { type: "string" },
    points: { type: "number", default: 0 },
    labels: { type: "set", items: "string" },
    comments: { type: "list", items: { type: "map", properties: { by: { type: "string" }, text: { type: "string" } } } },
  },
  indexes: {
    byTeam: { collection: "work", pk: { field: "pk", composite: ["team"] }, sk: { field: "sk", composite: ["number"] } },
    byAssignee: {
      index: "gsi1",
      pk: { field: "gsi1pk", composite: ["assignee"] },
      sk: { field: "gsi1sk", composite: ["state", "number"] },
    },
  },
};

const member = {
  model: { entity: "member", version: "1", service: "company" },
  attributes: {
    team: { type: "string", required: true },
    login: { type: "string", required: true },
    email: { type: "string" },
  },
  indexes: {
    byTeam: { collection: "work", pk: { field: "pk", composite: ["team"] }, sk: { field: "sk", composite: ["login"] } },
  },
};

before(async () => {
  const table = await createTable({ pk: "S", sk: "S" }, { gsi1: { gsi1pk: "S", gsi1sk: "S" } });
  const configuration = { table, client: lodestone.client };
  company = new Service({ task: new Entity(task, configuration), member: new Entity(member, configuration) });
});

const tasks = () => company.entities.task;
const members = () => company.entities.member;
const numbers = ({ data }) => data.map((task) => task.number);

// Each test has a team of its own.
const createTasks = (team, count, more = {}) =>
  Promise.all(
    Array.from({ length: count }, (_, number) =>
      tasks().create({ team, number, title: `task ${number}`, ...more }).go(),
    ),
  );

test("an entity is created once, read, and deleted", async () => {
  const created = { team: "life", number: 7, title: "write tests", labels: ["b", "a"] };
  await tasks().create(created).go();
  const { data } = await tasks().get({ team: "life", number: 7 }).go();
  assert.deepEqual({ ...data, labels: data.labels.sort() }, { ...created, labels: ["a", "b"], state: "open", points: 0 });

  await assert.rejects(tasks().create({ ...created, title: "again" }).go(), (error) => {
    assert.match(error.message, /The conditional request failed/);
    return true;
  });
  const removed = await tasks().delete({ team: "life", number: 7 }).go({ response: "all_old" });
  assert.equal(removed.data.title, "write tests");
  assert.equal((await tasks().get({ team: "life", number: 7 }).go()).data, null);
});

test("a patch changes what exists, on its condition", async () => {
  await createTasks("patch", 1, { comments: [], labels: ["new"] });
  const key = { team: "patch", number: 0 };
  const { data } = await tasks()
    .patch(key)
    .set({ title: "renamed" })
    .add({ points: 5, labels: ["urgent"] })
    .append({ comments: [{ by: "mo", text: "half done" }] })
    .where(({ state }, { eq }) => eq(state, "open"))
    .go({ response: "all_new" });
  assert.deepEqual([data.title, data.points, data.labels.sort()], ["renamed", 5, ["new", "urgent"]]);
  assert.deepEqual(data.comments, [{ by: "mo", text: "half done" }]);

  const refused = tasks().patch(key).set({ title: "never" }).where(({ points }, { gt }) => gt(points, 100)).go();
  await assert.rejects(refused, /The conditional request failed/);
  await assert.rejects(tasks().patch({ team: "patch", number: 99 }).set({ title: "x" }).go(), /conditional request/);
  assert.equal((await tasks().get(key).go()).data.title, "renamed");
});

test("an upsert creates and then changes", async () => {
  const key = { team: "upsert", number: 1 };
  await tasks().upsert({ ...key, title: "first", points: 1 }).go();
  await tasks().upsert({ ...key, title: "second", points: 2 }).go();
  const { data } = await tasks().get(key).go();
  assert.deepEqual([data.title, data.points, data.state], ["second", 2, "open"]);
});

test("sort keys bound a query in both directions", async () => {
  await createTasks("bounds", 12);
  const query = () => tasks().query.byTeam({ team: "bounds" });
  assert.deepEqual(numbers(await query().go()), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  assert.deepEqual(numbers(await query().gte({ number: 9 }).go()), [9, 10, 11]);
  assert.deepEqual(numbers(await query().between({ number: 3 }, { number: 5 }).go()), [3, 4, 5]);
  assert.deepEqual(numbers(await query().go({ order: "desc", limit: 2 })), [11, 10]);
  const filtered = await query().where(({ title }, { contains }) => contains(title, "1")).go();
  assert.deepEqual(numbers(filtered), [1, 10, 11]);
});

test("cursors walk a partition without gap or repeat", async () => {
  await createTasks("pages", 11);
  const found = [];
  let cursor = null;
  let pages = 0;
  do {
    const page = await tasks().query.byTeam({ team: "pages" }).go({ cursor, limit: 4 });
    found.push(...numbers(page));
    cursor = page.cursor;
    assert.ok(++pages <= 4);
  } while (cursor);
  assert.deepEqual(found, Array.from({ length: 11 }, (_, number) => number));
});

test("an index finds tasks by assignee and state, and only the assigned ones", async () => {
  await createTasks("index", 4);
  for (const [number, state] of [[2, "doing"], [0, "open"], [1, "doing"]]) {
    await tasks().patch({ team: "index", number }).set({ assignee: "ada", state }).composite({ number }).go();
  }
  assert.deepEqual(numbers(await tasks().query.byAssignee({ assignee: "ada" }).go()), [1, 2, 0]);
  assert.deepEqual(numbers(await tasks().query.byAssignee({ assignee: "ada", state: "doing" }).go()), [1, 2]);
  await tasks().delete({ team: "index", number: 1 }).go();
  assert.deepEqual(numbers(await tasks().query.byAssignee({ assignee: "ada", state: "doing" }).go()), [2]);
});

test("a collection returns both entities of a partition", async () => {
  await createTasks("both", 2);
  await members().put([{ team: "both", login: "kim" }, { team: "both", login: "ada" }]).go();
  const { data } = await company.collections.work({ team: "both" }).go();
  assert.deepEqual(data.task.map((task) => task.number), [0, 1]);
  assert.deepEqual(data.member.map((member) => member.login), ["ada", "kim"]);
});

test("batches put, get and delete beyond the limits of one request", async () => {
  const logins = Array.from({ length: 120 }, (_, number) => ({ team: "batch", login: `user-${number}` }));
  const put = await members().put(logins).go();
  assert.deepEqual(put.unprocessed, []);
  const found = await members().get([...logins, { team: "batch", login: "nobody" }]).go();
  assert.equal(found.data.length, 120);
  assert.deepEqual(found.unprocessed, []);
  await members().delete(logins.slice(20)).go();
  assert.equal((await members().query.byTeam({ team: "batch" }).go({ pages: "all" })).data.length, 20);
});

test("a transaction writes all or nothing and says what stood in its way", async () => {
  const write = (title) =>
    company.transaction
      .write(({ task, member }) => [
        task.create({ team: "tx", number: 1, title }).commit({ response: "all_old" }),
        member.upsert({ team: "tx", login: "ada", email: title }).commit(),
        task.check({ team: "tx", number: 2 }).where(({ title }, { notExists }) => notExists(title)).commit(),
      ])
      .go();
  const first = await write("one");
  assert.equal(first.canceled, false);
  const second = await write("two");
  assert.equal(second.canceled, true);
  assert.deepEqual(second.data.map((result) => result.code), ["ConditionalCheckFailed", "None", "None"]);
  assert.equal(second.data[0].item.title, "one");
  assert.equal((await members().get({ team: "tx", login: "ada" }).go()).data.email, "one");

  const read = await company.transaction
    .get(({ task, member }) => [
      task.get({ team: "tx", number: 1 }).commit(),
      member.get({ team: "tx", login: "nobody" }).commit(),
    ])
    .go();
  assert.equal(read.canceled, false);
  assert.deepEqual(read.data.map((result) => result.item?.title ?? null), ["one", null]);
});

test("a scan finds the entities of its kind alone", async () => {
  await createTasks("scan", 2);
  await members().put({ team: "scan", login: "ada" }).go();
  const { data } = await members().scan.where(({ team }, { eq }) => eq(team, "scan")).go({ pages: "all" });
  assert.deepEqual(data, [{ team: "scan", login: "ada" }]);
});
