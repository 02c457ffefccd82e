// A server with an access file, as the JavaScript SDK meets it.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { DynamoDBClient, ListTablesCommand } from "@aws-sdk/client-dynamodb";

const folder = mkdtempSync(join(tmpdir(), "lodestone-access-"));
const file = join(folder, "access.yaml");
const add = (user, ...options) => {
  const text = execFileSync(process.env.LODESTONE, ["access", "--file", file, "add", user, ...options], { encoding: "utf8" });
  return {
    accessKeyId: text.match(/AWS_ACCESS_KEY_ID=(.*)/)[1],
    secretAccessKey: text.match(/AWS_SECRET_ACCESS_KEY=(.*)/)[1],
  };
};
const admin = add("admin", "--policy", "arn:aws:iam::aws:policy/AdministratorAccess");
const nobody = add("nobody");

const options = ["serve", "--in-memory", "--host", "127.0.0.1", "--port", "0", "--access", file];
const server = spawn(process.env.LODESTONE, options, { stdio: ["ignore", "pipe", "inherit"] });
const [line] = await once(createInterface({ input: server.stdout }), "line");
const endpoint = line.match(/http:\/\/127\.0\.0\.1:\d+/)[0];

after(async () => {
  server.kill("SIGTERM");
  await once(server, "exit");
  rmSync(folder, { recursive: true });
});

const connect = (credentials, more = {}) =>
  new DynamoDBClient({ endpoint, region: "us-east-1", credentials, maxAttempts: 1, ...more });
const list = (credentials, more) => connect(credentials, more).send(new ListTablesCommand({}));

test("the right secret lets in, a wrong one does not", async () => {
  assert.deepEqual((await list(admin)).TableNames, []);
  await assert.rejects(list({ ...admin, secretAccessKey: "wrong" }), { name: "InvalidSignatureException" });
  await assert.rejects(list({ ...admin, accessKeyId: "AKIANOBODY" }), { name: "UnrecognizedClientException" });
});

test("a user without a policy may do nothing", async () => {
  await assert.rejects(list(nobody), {
    name: "AccessDeniedException",
    message:
      "User: arn:aws:iam::000000000000:user/nobody is not authorized to perform: dynamodb:ListTables on resource: * " +
      "because no identity-based policy allows the dynamodb:ListTables action",
  });
});

test("a clock that is an hour off is corrected by the SDK", async () => {
  const skewed = { systemClockOffset: -3_600_000 };
  await assert.rejects(list(admin, skewed), { name: "InvalidSignatureException" });
  assert.deepEqual((await list(admin, { ...skewed, maxAttempts: 2 })).TableNames, []);
});

// Signed requests pass here on their way to the network.
const onTheWay = (client, middleware) => client.middlewareStack.add(middleware, { step: "deserialize", priority: "low" });

test("a request that is altered on its way is refused", async () => {
  for (const alter of [
    (request) => (request.body = request.body.replace("1", "2")),
    (request) => (request.headers["x-amz-target"] = "DynamoDB_20120810.DescribeLimits"),
    (request) => (request.headers["x-amz-date"] = request.headers["x-amz-date"].replace(/.Z$/, (end) => (end === "0Z" ? "1Z" : "0Z"))),
  ]) {
    const client = connect(admin);
    onTheWay(client, (next) => (step) => (alter(step.request), next(step)));
    await assert.rejects(client.send(new ListTablesCommand({ Limit: 1 })), { name: "InvalidSignatureException" });
  }
});

test("a request that is sent again within its time is served again", async () => {
  const client = connect(admin);
  let again;
  onTheWay(client, (next) => async (step) => {
    const first = await next(step);
    again = await next(step);
    return first;
  });
  await client.send(new ListTablesCommand({}));
  assert.equal(again.response.statusCode, 200);
});
