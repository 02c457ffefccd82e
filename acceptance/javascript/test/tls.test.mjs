// Encrypted connections: the SDK trusts the authority that the server writes, and HTTP/2 is spoken.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { promisify } from "node:util";

const folder = mkdtempSync(join(tmpdir(), "lodestone-tls-"));
const authority = join(folder, "ca.pem");
const options = ["serve", "--in-memory", "--port", "0", "--tls-self-signed", authority];
const server = spawn(process.env.LODESTONE, options, { stdio: ["ignore", "pipe", "inherit"] });
const [line] = await once(createInterface({ input: server.stdout }), "line");
const endpoint = line.match(/https:\/\/127\.0\.0\.1:\d+/)[0];

after(async () => {
  server.kill("SIGTERM");
  await once(server, "exit");
  rmSync(folder, { recursive: true });
});

const program = `
  import { DynamoDBClient, ListTablesCommand } from "@aws-sdk/client-dynamodb";
  const client = new DynamoDBClient({
    endpoint: "${endpoint}", region: "us-east-1", maxAttempts: 1,
    credentials: { accessKeyId: "ACCEPTANCE", secretAccessKey: "secret" },
  });
  console.log(JSON.stringify((await client.send(new ListTablesCommand({}))).TableNames));
`;
// Node reads the variable when it starts.
const run = (environment) =>
  promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: join(import.meta.dirname ?? ".", ".."),
    env: { ...process.env, ...environment },
  });

test("the SDK trusts the server through NODE_EXTRA_CA_CERTS, and not without it", async () => {
  const { stdout } = await run({ NODE_EXTRA_CA_CERTS: authority });
  assert.equal(stdout.trim(), "[]");
  await assert.rejects(run({}), /certificate/);
});

test("HTTP/2: a hundred requests at once over one connection", async () => {
  const session = connect(endpoint, { ca: readFileSync(authority) });
  const ask = () =>
    new Promise((resolve, reject) => {
      const request = session.request({ ":path": "/", ":method": "GET" });
      let body = "";
      let status;
      request.on("response", (headers) => (status = headers[":status"]));
      request.on("data", (piece) => (body += piece));
      request.on("end", () => resolve({ status, body }));
      request.on("error", reject);
      request.end();
    });
  const answers = await Promise.all(Array.from({ length: 100 }, ask));
  for (const { status, body } of answers) {
    assert.equal(status, 200);
    assert.match(body, /^healthy: /);
  }
  assert.equal(session.alpnProtocol, "h2");
  session.close();
});
