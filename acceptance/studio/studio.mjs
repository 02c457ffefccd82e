// The binary under test with its studio, on durable data and a port of its own choice, and a browser that looks at it.
// Whatever the browser's console says, and whatever its security policy blocks, fails the story.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { chromium } from "playwright-core";

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// A server on new data, ended and forgotten with the test file.
export async function serve(...options) {
  const folder = mkdtempSync(join(tmpdir(), "lodestone-studio-"));
  const server = await serveOn(folder, ...options);
  after(() => rmSync(folder, { recursive: true, force: true }));
  return server;
}

// A server on what a folder holds, ended with the test file.
export async function serveOn(folder, ...options) {
  const data = options.includes("--in-memory") ? [] : ["--data", join(folder, "data"), "--models", join(folder, "models"), "--durability", "os"];
  const server = spawn(process.env.LODESTONE, ["serve", "--port", "0", ...data, ...options], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  const { value: line } = await lines.next();
  // With an access file the address that is printed has a token.
  const studio = options.includes("--access") ? (await lines.next()).value.match(/http:\S+/)[0] : "";
  after(async () => {
    server.kill("SIGTERM");
    await once(server, "exit");
  });
  const own = line.match(/http:\/\/[\d.]+:\d+/)[0];
  const origin = process.env.STUDIO_BUNDLE ? await bundled(own) : own;
  const page = await (await fetch(`${origin}/studio/`)).text();
  assert.match(page, /assets\/main-/, "this binary has no studio: LODESTONE_STUDIO=required cargo build says why");
  return { origin, direct: own, home: `${origin}/studio/`, studio: studio.replace(own, origin), post: (path, body) => post(origin, path, body), call: (operation, input) => post(origin, `call/${operation}`, input), send: (operation, input) => send(origin, operation, input) };
}

// The server behind the files of a bundle, for work on the pages without a Rust build: see crates/studio/ui/dev.mjs.
async function bundled(origin) {
  const { front } = await import("../../crates/studio/ui/dev.mjs");
  const server = await front(origin, () => process.env.STUDIO_BUNDLE);
  after(() => server.close());
  return server.origin;
}

// The door, as the studio's own page uses it.
async function post(origin, path, body) {
  const headers = { "content-type": "application/json", "x-lodestone-studio": "1" };
  const response = await fetch(`${origin}/studio/api/${path}`, { method: "POST", headers, body: JSON.stringify(body ?? {}) });
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.message ?? JSON.stringify(answer)), { answer });
  return answer;
}

// The door of DynamoDB, as an application uses it.
async function send(origin, operation, input) {
  const headers = {
    "content-type": "application/x-amz-json-1.0",
    "x-amz-target": `DynamoDB_20120810.${operation}`,
    authorization: "AWS4-HMAC-SHA256 Credential=test/20261118/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
    "x-amz-date": "20261118T000000Z",
  };
  const response = await fetch(`${origin}/`, { method: "POST", headers, body: JSON.stringify(input) });
  assert.equal(response.status, 200, `${operation}: ${await response.clone().text()}`);
  return response.json();
}

// One browser for all stories of a file.
let browser;
after(() => browser?.close());

// How long anything may take on a busy machine. Nothing waits for a time to pass.
export const DEADLINE_MS = 120_000;

// A story that does not care looks at the usual window, and at the two themes in turn.
let opened = 0;
export async function open(address, { theme = opened++ % 2 ? "dark" : "light", width = 1440, height = 900 } = {}) {
  browser ??= await chromium.launch({ executablePath: "/usr/bin/chromium", args: FLAGS });
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.complaints = [];
  // A refused request is a line in the console of its own; stories that want one say so.
  page.refusals = [];
  page.on("console", (message) => {
    const list = /Failed to load resource/.test(message.text()) ? page.refusals : page.complaints;
    list.push(`${message.text()} ${message.location().url}`);
  });
  page.on("pageerror", (error) => page.complaints.push(error.stack));
  page.setDefaultTimeout(DEADLINE_MS);
  await page.goto(address);
  return page;
}

export async function close(page, { refusals = 0 } = {}) {
  assert.deepEqual(page.complaints, [], "the console is empty");
  assert.equal(page.refusals.length, refusals, page.refusals.join("\n"));
  await page.context().close();
}

// WCAG 2.0 to 2.2, A and AA.
export async function accessible(page, what) {
  // The page's policy takes no scripts from elsewhere: the checker comes in below it.
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axe });
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
  const { result } = await session.send("Runtime.evaluate", {
    expression: `axe.run(document, { runOnly: ${JSON.stringify(tags)} }).then(({ violations }) => violations.map((one) =>
      one.id + ": " + one.help + "\\n" + one.nodes.map((node) => "  " + node.target + " " + node.failureSummary).join("\\n")))`,
    awaitPromise: true,
    returnByValue: true,
  });
  assert.deepEqual(result.value, [], what);
}

// Loads an example of the studio's own and returns its model.
export async function loadExample(server, name = "order-management") {
  const { examples } = await server.post("examples");
  const { text } = examples.find((one) => one.name === name);
  await server.post("model/apply", { text, samples: true });
  await server.post(`file/${name}`, { text });
  return text;
}

// A backup of a table of the example, which has a stream and recovery, and changes since.
export async function withHistory(server, TableName) {
  await server.call("CreateBackup", { TableName, BackupName: "before-the-sale" });
  const { Items } = await server.call("Scan", { TableName, Limit: 30 });
  for (const [at, item] of Items.entries()) {
    const { PK, SK, status } = item;
    if (at % 5 === 4) await server.call("DeleteItem", { TableName, Key: { PK, SK } });
    else if (!status) await server.call("PutItem", { TableName, Item: { ...item, note: { S: "checked" } } });
    else
      await server.call("UpdateItem", {
        TableName,
        Key: { PK, SK },
        UpdateExpression: "SET #status = :new",
        ExpressionAttributeNames: { "#status": "status" },
        ExpressionAttributeValues: { ":new": { S: status.S === "SHIPPED" ? "DELIVERED" : "SHIPPED" } },
      });
  }
}

// A table without anything: no items, no stream, no recovery.
export const plainTable = (server, TableName) =>
  server.call("CreateTable", {
    TableName,
    KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
    AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
    BillingMode: "PAY_PER_REQUEST",
  });

export const rows = (page, grid = "#base") => page.locator(`${grid} .row`);
export const inspector = (page) => page.getByRole("complementary", { name: "Item" });
export const said = (page) => page.getByRole("contentinfo").getByRole("status");

// Opens an item in the drawer, by a click on its key.
export const openItem = async (page, text) => {
  await (await row(page, text)).locator(".sk").last().click();
  await inspector(page).locator("h2").waitFor();
};
export const field = (page, attribute) => inspector(page).getByLabel(attribute, { exact: true });
export const changes = (page) => page.getByRole("region", { name: "Changes" });
export const readBar = (page) => page.getByRole("group", { name: "What was read" });

export const frame = (page) => page.evaluate(() => new Promise(requestAnimationFrame));

// Asks again with every frame, until the answer is one.
export async function until(page, what, ask) {
  for (const end = Date.now() + DEADLINE_MS; ; await frame(page)) {
    const answer = await ask();
    if (answer) return answer;
    assert.ok(Date.now() < end, what);
  }
}

// Scrolls until a row is drawn that fits.
export async function row(page, text, grid = "#base") {
  const found = rows(page, grid).filter({ hasText: text }).first();
  const scroll = page.locator(`${grid} .scroll`);
  await rows(page, grid).first().waitFor();
  await until(page, `a row with ${text}`, async () => {
    if (await found.isVisible()) return true;
    // From the end to the start again: rows may have come in the meantime.
    return scroll.evaluate((element) => void (element.scrollTop = element.scrollTop + element.clientHeight >= element.scrollHeight - 1 ? 0 : element.scrollTop + 400));
  });
  await found.scrollIntoViewIfNeeded();
  return found;
}
