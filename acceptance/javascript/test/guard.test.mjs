// `lodestone serve --guard`: an application on ElectroDB, held to the model that was learned from it.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { promisify } from "node:util";
import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Entity } from "electrodb";
import lodestone, { createTable } from "../lodestone.mjs";

const INDEXES = { gsi1: { gsi1pk: "S", gsi1sk: "S" } };

function entities(client, table) {
  const options = { client, table };
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
        coworkers: { index: "gsi1", ...key("gsi1", ["office"], ["team", "employee"]) },
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
        assigned: { index: "gsi1", ...key("gsi1", ["employee"], ["project", "task"]) },
      },
    },
    options,
  );
  return { Employee, Task };
}

// All that the application does, once.
async function application({ Employee, Task }, turn) {
  const at = turn % 12;
  await Employee.put({ employee: `e${at}`, office: ["berlin", "paris"][at % 2], team: "tools" }).go();
  await Task.put({ task: `t${turn}`, project: `p${at % 3}`, employee: `e${at % 4}`, points: at }).go();
  await Employee.get({ employee: `e${at}` }).go();
  await Employee.query.coworkers({ office: "berlin" }).go();
  await Task.query.project({ project: `p${at % 3}` }).go();
  await Task.query.assigned({ employee: `e${at % 4}` }).go({ limit: 20 });
  await Task.query.assigned({ employee: `e${at % 4}` }).gte({ project: "p1" }).go({ order: "desc" });
  await Task.patch({ task: `t${turn}`, project: `p${at % 3}` }).set({ status: "closed" }).go();
}

async function learn(application) {
  const options = ["model", "learn", "--from", lodestone.endpoint, "--minutes", "0.1"];
  const watching = promisify(execFile)(process.env.LODESTONE, options, { timeout: 60_000 });
  let isOver = false;
  const ended = watching.finally(() => (isOver = true));
  for (let turn = 0; !isOver; turn++) await application(turn);
  return (await ended).stdout;
}

// A server with the guard of a model, and a client of it.
async function guarded(model, context) {
  const folder = await mkdtemp(join(tmpdir(), "guard-"));
  const [file, report] = [join(folder, "model.yaml"), join(folder, "guard.sarif")];
  await writeFile(file, model);
  const flags = ["serve", "--in-memory", "--port", "0", "--guard", file, "--guard-report", report];
  const server = spawn(process.env.LODESTONE, flags, { stdio: ["ignore", "pipe", "inherit"] });
  const end = async () => {
    server.kill("SIGTERM");
    if (server.exitCode === null) await once(server, "exit");
  };
  context.after(end);
  const [line] = await once(createInterface({ input: server.stdout }), "line");
  const endpoint = line.match(/http:\/\/127\.0\.0\.1:\d+/)[0];
  const credentials = { accessKeyId: "ACCEPTANCE", secretAccessKey: "secret" };
  const client = new DynamoDBClient({ endpoint, region: "us-east-1", credentials, maxAttempts: 1 });
  context.after(() => client.destroy());
  const call = async (body) => {
    const answer = await fetch(`${endpoint}/lodestone/guard`, { method: "POST", body: JSON.stringify(body) });
    return answer.json();
  };
  return { client, call, end, report };
}

async function sameTable(client, TableName) {
  const names = ["pk", "sk", "gsi1pk", "gsi1sk"];
  const schema = (hash, range) => [
    { AttributeName: hash, KeyType: "HASH" },
    { AttributeName: range, KeyType: "RANGE" },
  ];
  await client.send(
    new CreateTableCommand({
      TableName,
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: names.map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
      KeySchema: schema("pk", "sk"),
      GlobalSecondaryIndexes: [
        { IndexName: "gsi1", KeySchema: schema("gsi1pk", "gsi1sk"), Projection: { ProjectionType: "ALL" } },
      ],
    }),
  );
}

test("an application on ElectroDB passes the guard of its own model, and its red flags do not", async (context) => {
  const table = await createTable({ pk: "S", sk: "S" }, INDEXES);
  const own = entities(lodestone.documents, table);
  const model = await learn((turn) => application(own, turn));
  const { client, call, end, report } = await guarded(model, context);
  await sameTable(client, table);
  const { Employee, Task } = entities(client, table);

  await call({ begin: "as it is" });
  for (let turn = 0; turn < 24; turn++) await application({ Employee, Task }, turn);
  const asItIs = await call({ end: true });
  assert.deepEqual(asItIs.findings, []);
  assert.equal(asItIs.requests, 24 * 8);

  await call({ begin: "red flags" });
  const refused = (work, words) => assert.rejects(work, (error) => assert.match(error.message, words) ?? true);
  await refused(() => Task.scan.go(), /lodestone guard \(scan\)/);
  const filtered = Task.query.project({ project: "p1" }).where(({ points }, { gt }) => gt(points, 100));
  await refused(() => filtered.go(), /it filters by `points`/);
  await refused(() => Employee.query.coworkers({ office: "berlin" }).begins({ team: "t" }).go(), /is no pattern of/);
  const [first, ...others] = [1, 2, 3, 4].map((at) => ({ employee: `e${at}` }));
  for (const one of [first, ...others]) await Employee.get(one).go();
  await refused(() => Employee.get({ employee: "e5" }).go(), /5 requests in a row ask/);
  const { findings } = await call({ end: true });
  const rules = findings.map((finding) => finding.rule);
  assert.deepEqual(rules.sort(), ["repeated-request", "scan", "unknown-pattern", "unknown-pattern"]);

  await end();
  const sarif = JSON.parse(await readFile(report, "utf8"));
  assert.equal(sarif.runs[0].results.length, 4);
});
