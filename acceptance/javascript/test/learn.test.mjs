// `lodestone model learn` on applications that are written with libraries: their keys, and what they ask, become a model.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { Table } from "dynamodb-onetable";
import { Entity } from "electrodb";
import lodestone, { createTable } from "../lodestone.mjs";

// What is learned while the application goes on, as a model file.
async function learn(application) {
  const watching = promisify(execFile)(
    process.env.LODESTONE,
    ["model", "learn", "--from", lodestone.endpoint, "--minutes", "0.1"],
    { timeout: 60_000 },
  );
  let isOver = false;
  const ended = watching.finally(() => (isOver = true));
  for (let turn = 0; !isOver; turn++) await application(turn);
  return (await ended).stdout;
}

function has(model, ...parts) {
  for (const part of parts) assert.ok(model.includes(part), `${part}\nis not in\n${model}`);
}

test("the keys and the questions of an application on ElectroDB are learned", async () => {
  const indexes = { gsi1: { gsi1pk: "S", gsi1sk: "S" }, gsi2: { gsi2pk: "S", gsi2sk: "S" } };
  const table = await createTable({ pk: "S", sk: "S" }, indexes);
  const options = { client: lodestone.documents, table };
  const key = (prefix, pk, sk) => ({
    pk: { field: `${prefix}pk`, composite: pk },
    sk: { field: `${prefix}sk`, composite: sk },
  });
  const Employee = new Entity(
    {
      model: { entity: "employee", version: "1", service: "taskapp" },
      attributes: { employee: { type: "string" }, office: { type: "string" }, team: { type: "string" } },
      indexes: {
        employee: key("", ["employee"], []),
        coworkers: { index: "gsi1", collection: "workplaces", ...key("gsi1", ["office"], ["team", "employee"]) },
      },
    },
    options,
  );
  const Task = new Entity(
    {
      model: { entity: "task", version: "1", service: "taskapp" },
      attributes: {
        task: { type: "string" },
        project: { type: "string" },
        employee: { type: "string" },
        status: { type: ["open", "closed"], default: "open" },
        points: { type: "number" },
      },
      indexes: {
        project: key("", ["project"], ["task"]),
        assigned: { index: "gsi1", collection: "assignments", ...key("gsi1", ["employee"], ["project", "task"]) },
        statuses: { index: "gsi2", ...key("gsi2", ["status"], ["project", "task"]) },
      },
    },
    options,
  );
  const offices = ["berlin", "paris"];
  for (let at = 0; at < 12; at++) {
    await Employee.put({ employee: `e${at}`, office: offices[at % 2], team: ["sales", "tools"][at % 2] }).go();
    await Task.create({ task: `t${at}`, project: `p${at % 3}`, employee: `e${at % 4}`, points: at }).go();
    await Task.create({ task: `u${at}`, project: `p${at % 3}`, employee: `e${at % 4}`, points: at }).go();
  }
  const model = await learn(async (turn) => {
    await Employee.get({ employee: `e${turn % 12}` }).go();
    await Employee.query.coworkers({ office: offices[turn % 2] }).go();
    await Task.query.project({ project: `p${turn % 3}` }).go();
    await Task.query.assigned({ employee: `e${turn % 4}` }).go({ limit: 20 });
    await Task.query.statuses({ status: "open" }).go({ limit: 5, order: "desc" });
    // Only the first time it is open.
    const close = Task.patch({ task: "t0", project: "p0" }).set({ status: "closed" });
    await close.where(({ status }, { eq }) => eq(status, "open")).go().catch(() => {});
  });
  has(
    model,
    'key: { pk: "$taskapp#employee_{employee}", sk: "$employee_1" }',
    'key: { pk: "$taskapp#project_{project}", sk: "$task_1#task_{task}" }',
    "$workplaces#employee_1#team_{team}#employee_{employee}",
    "$assignments#task_1#project_{project}#task_{task}",
    "get-Employee-by-employee:",
    "query-Employee-by-office:",
    "query-Task-by-project:",
    "query-Task-by-employee:",
    "query-Task-by-status:",
    "    by: [project, task]\n    set: status\n",
  );
  assert.match(model, /update-Task:(?:\n {4}.*)*\n {4}fails: \d+%/);
  assert.ok(!model.includes("scan:"), model);
});

test("the keys and the questions of an application on OneTable are learned", async () => {
  const name = await createTable({ pk: "S", sk: "S" }, { gs1: { gs1pk: "S", gs1sk: "S" } });
  const schema = {
    format: "onetable:1.1.0",
    version: "0.0.1",
    indexes: { primary: { hash: "pk", sort: "sk" }, gs1: { hash: "gs1pk", sort: "gs1sk", project: "all" } },
    models: {
      Account: {
        pk: { type: String, value: "account#${id}" },
        sk: { type: String, value: "account#" },
        id: { type: String, required: true },
        name: { type: String },
      },
      User: {
        pk: { type: String, value: "account#${account}" },
        sk: { type: String, value: "user#${email}" },
        account: { type: String, required: true },
        email: { type: String, required: true },
        role: { type: String, enum: ["user", "admin"], default: "user" },
        gs1pk: { type: String, value: "role#${role}" },
        gs1sk: { type: String, value: "user#${email}" },
      },
    },
    params: { isoDates: true, timestamps: false },
  };
  const table = new Table({ client: lodestone.client, name, schema, partial: true });
  const [Account, User] = [table.getModel("Account"), table.getModel("User")];
  for (let at = 0; at < 6; at++) {
    await Account.create({ id: `a${at}`, name: `Account ${at}` });
    for (let user = 0; user < 3; user++) {
      await User.create({ account: `a${at}`, email: `u${user}@a${at}`, role: user ? "user" : "admin" });
    }
  }
  const model = await learn(async (turn) => {
    await Account.get({ id: `a${turn % 6}` });
    await User.find({ account: `a${turn % 6}` });
    await User.find({ role: "admin" }, { index: "gs1" });
  });
  has(
    model,
    'key: { pk: "account#{id}", sk: account# }',
    'key: { pk: "account#{account}", sk: "user#{email}" }',
    "get: Account",
    "by: account",
    "index: gs1",
  );
  assert.ok(!model.includes("scan:"), model);
});
