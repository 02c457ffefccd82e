// What somebody does who runs a table: follows its stream, restores it to an earlier time, backs it up, adds an index,
// lets items expire.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { accessible, close, loadExample, open, frame, plainTable, serve, until } from "../studio.mjs";

const server = await serve();
await loadExample(server);
const TABLE = "app-main";
// As a table is that somebody made by hand.
await server.call("UpdateTable", { TableName: TABLE, StreamSpecification: { StreamEnabled: false } });
await server.call("UpdateContinuousBackups", { TableName: TABLE, PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: false } });
const order = async () => (await server.call("Scan", { TableName: TABLE })).Items.find((item) => item.SK.S.startsWith("ORDER#") && item.status.S === "OPEN");
const ship = ({ PK, SK }) =>
  server.call("UpdateItem", {
    TableName: TABLE,
    Key: { PK, SK },
    UpdateExpression: "SET #status = :new",
    ExpressionAttributeNames: { "#status": "status" },
    ExpressionAttributeValues: { ":new": { S: "SHIPPED" } },
  });

// Local time, as the page has it.
function written(seconds) {
  const date = new Date(1000 * seconds);
  const pad = (number) => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(pad).join(":")}`;
}

test("a stream that is off teaches what it is for; turned on, changes appear in their lanes as they are made", async () => {
  const page = await open(`${server.home}table/${TABLE}/stream`);
  await page.getByText("The stream is off").waitFor();
  await page.getByRole("button", { name: "Turn the stream on" }).click();
  await page.getByText("No change yet.").waitFor();
  assert.ok((await page.locator(".lanes .chip").count()) > 1, "a table has several shards");
  const changed = await order();
  await ship(changed);
  const record = page.locator(".record", { hasText: changed.SK.S.slice(0, 20) }).first();
  await record.getByText("MODIFY").waitFor();
  assert.match(await record.innerText(), /status OPEN → SHIPPED/);
  await record.click();
  const panel = page.getByRole("complementary", { name: "Record" });
  await panel.getByText("→ SHIPPED").waitFor();
  await panel.getByRole("button", { name: "Read it: GetItem" }).click();
  await panel.getByText("It is as this record left it.").waitFor();
  await close(page);
});

test("with the keyboard alone: a stream is paused, stepped through and filtered", async () => {
  const page = await open(`${server.home}table/${TABLE}/stream`);
  const list = page.getByRole("listbox", { name: /^Records/ });
  await list.focus();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("complementary", { name: "Record" }).getByText("→ SHIPPED").waitFor();
  await page.keyboard.press("Space");
  await page.getByText("paused", { exact: true }).waitFor();
  const before = await page.locator(".record").count();
  const { PK, SK } = await order();
  await server.call("DeleteItem", { TableName: TABLE, Key: { PK, SK } });
  await page.getByRole("button", { name: "Step" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction((count) => document.querySelectorAll(".record").length === count + 1, before);
  await page.getByRole("button", { name: "REMOVE", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction((count) => document.querySelectorAll(".record").length === count, before);
  assert.match(page.url(), /hide=REMOVE/);
  await close(page);
});

test("a table is restored to the time before a mistake, and the difference is shown first", async () => {
  const page = await open(`${server.home}table/${TABLE}/backups`);
  await page.getByText("Recovery is off.").waitFor();
  await page.getByRole("button", { name: "Turn recovery on" }).click();
  await page.getByText("Nothing has changed since").waitFor();
  const { ItemCount } = (await server.call("DescribeTable", { TableName: TABLE })).Table;
  // The slider counts in seconds: the mistake is made in a later one.
  const begun = Math.floor(Date.now() / 1000) + 1;
  while (Date.now() / 1000 < begun + 1) await page.waitForTimeout(100);
  const { Items } = await server.call("Scan", { TableName: TABLE });
  const customer = Items.filter((item) => item.PK.S === "CUST#customer-0002");
  for (const { PK, SK } of customer) await server.call("DeleteItem", { TableName: TABLE, Key: { PK, SK } });
  const slider = page.getByRole("slider", { name: "Time to restore to" });
  const shown = async (name) => Number(await slider.getAttribute(name));
  await slider.focus();
  await page.keyboard.press("Home");
  await until(page, "the first second", async () => (await shown("aria-valuenow")) === (await shown("aria-valuemin")));
  const tallies = page.getByRole("status", { name: "What a restore would change" });
  // The end of what can be restored follows the clock.
  await until(page, "the time that is typed", async () => {
    await page.getByLabel("The time, as").fill(written(begun));
    await page.keyboard.press("Enter");
    await frame(page);
    return (await shown("aria-valuenow")) === begun;
  });
  await tallies.getByText(`− ${customer.length} since`).waitFor();
  await tallies.getByText(`${ItemCount} items then`).waitFor();
  await page.locator(".differences").getByText("CUST#customer-0002").first().waitFor();
  await page.getByRole("button", { name: /^Restore to/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name of the new table").fill("before-the-mistake");
  await page.keyboard.press("Enter");
  await dialog.getByText("✓ restored").waitFor();
  await dialog.getByText(`has ${ItemCount} items`).waitFor();
  const { Count } = await server.call("Query", { TableName: "before-the-mistake", KeyConditionExpression: "PK = :pk", ExpressionAttributeValues: { ":pk": { S: "CUST#customer-0002" } } });
  assert.equal(Count, customer.length);
  await close(page);
});

test("a backup is made, restored under another name and deleted", async () => {
  const page = await open(`${server.home}table/${TABLE}/backups`);
  const list = page.getByRole("region", { name: "Backups" });
  await list.getByLabel("Name of the backup").fill("before-the-sale");
  await list.getByRole("button", { name: "Back up now" }).click();
  await list.getByText("The backup is being made.").waitFor();
  await list.getByText("complete").waitFor();
  await list.getByRole("button", { name: "Restore" }).click();
  await page.getByRole("dialog").getByLabel("Name of the new table").fill("from-the-backup");
  await page.getByRole("button", { name: "Make the table" }).click();
  await page.getByRole("dialog").getByText("✓ restored").waitFor();
  await page.keyboard.press("Escape");
  await list.getByRole("button", { name: "Delete before-the-sale" }).click();
  await page.getByRole("button", { name: "Delete the backup" }).click();
  await list.getByText("complete").waitFor({ state: "detached" });
  await close(page);
});

test("an export without a place to go says what to do", async () => {
  const page = await open(`${server.home}table/${TABLE}/backups`);
  const list = page.getByRole("region", { name: "Exports" });
  await list.getByLabel("Bucket").fill("my-bucket");
  await list.getByRole("button", { name: "Export" }).click();
  await list.getByText(/--s3/).nth(1).waitFor();
  await page.context().close();
});

test("an index is added and watched while it fills, then queried", async () => {
  const page = await open(`${server.home}table/${TABLE}/structure`);
  await page.getByRole("button", { name: "Add an index" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("byStatus");
  await dialog.getByLabel("Partition key", { exact: true }).fill("status");
  await dialog.getByLabel("Sort key", { exact: true }).fill("createdAt");
  await accessible(page, "adding an index");
  await dialog.getByRole("button", { name: "Make the index" }).click();
  await page.getByRole("region", { name: "Indexes" }).getByText("byStatus is being filled.").waitFor();
  const line = page.getByRole("row", { name: /byStatus/ });
  await line.getByText("ACTIVE").waitFor();
  const { Count } = await server.call("Query", { TableName: TABLE, IndexName: "byStatus", KeyConditionExpression: "#s = :s", ExpressionAttributeNames: { "#s": "status" }, ExpressionAttributeValues: { ":s": { S: "SHIPPED" } } });
  assert.ok(Count > 0);
  await page.goto(`${server.home}table/${TABLE}?on=byStatus&pk=SHIPPED`);
  await page.waitForFunction((count) => document.querySelectorAll("#base .row").length === count, Count);
  await close(page);
});

test("time to live is turned on and off", async () => {
  const page = await open(`${server.home}table/${TABLE}/structure`);
  const panel = page.getByRole("region", { name: "Time to live" });
  await panel.getByLabel("Attribute with the time").fill("expiresAt");
  await panel.getByRole("button", { name: "Turn it on" }).click();
  await panel.getByText("Items are deleted when the time in expiresAt is over.").waitFor();
  await panel.getByText("Items are deleted after their expiresAt.").waitFor();
  const { TimeToLiveDescription } = await server.call("DescribeTimeToLive", { TableName: TABLE });
  assert.equal(TimeToLiveDescription.AttributeName, "expiresAt");
  await panel.getByRole("button", { name: "Turn it off" }).click();
  await panel.getByLabel("Attribute with the time").waitFor();
  await close(page);
});

// Requests that take units, and some that are refused.
async function work(times) {
  const hot = { PK: { S: "CUST#customer-0001" }, SK: { S: "PROFILE" } };
  for (let at = 0; at < times; at++) {
    await server.call("UpdateItem", { TableName: TABLE, Key: hot, UpdateExpression: "SET seen = :at", ExpressionAttributeValues: { ":at": { N: String(at) } } });
    await server.call("GetItem", { TableName: TABLE, Key: hot });
  }
}

test("heat is seen by range and by key, measured before forecast, by mouse and by keyboard", async () => {
  await work(40);
  const page = await open(`${server.home}table/${TABLE}/heat?unit=write`);
  const busiest = page.getByRole("complementary", { name: "Busiest keys" });
  await busiest.getByRole("link", { name: "CUST#customer-0001" }).waitFor();
  await busiest.getByText(/ · forecast /).first().waitFor();
  await page.getByText("measured, then forecast by model: order-management").waitFor();
  await busiest.getByRole("heading", { name: /^Model and traffic/ }).waitFor();
  const map = page.getByRole("slider", { name: "Heat, cursor" });
  const says = (pattern) => until(page, String(pattern), async () => pattern.test(await map.getAttribute("aria-valuetext")));
  await map.focus();
  await page.keyboard.press("ArrowDown");
  await says(/Range 2 of 64.*: .* WCU\/s/);
  // The forecast follows what was measured.
  await page.keyboard.press("ArrowRight");
  await says(/: forecast .* WCU\/s/);
  await page.getByRole("button", { name: "By key" }).click();
  await page.waitForURL(/by=key/);
  await map.focus();
  await page.keyboard.press("m");
  await says(/WCU\/s, .* of a partition/);
  await page.keyboard.press("t");
  await page.getByRole("region", { name: "Heat as a table" }).getByText("CUST#customer-0001").first().waitFor();
  await page.getByRole("button", { name: "24 h" }).click();
  await page.getByText("One column is a quarter of an hour").waitFor();
  await close(page);
});

test("a table with too little throughput says what AWS would throttle, why, and what to do", async () => {
  await server.call("CreateTable", { TableName: "narrow", KeySchema: [{ AttributeName: "id", KeyType: "HASH" }], AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }], BillingMode: "PROVISIONED", ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 } });
  // The burst is 300 units; more than that, at once, is too much.
  const item = (at) => ({ PutRequest: { Item: { id: { S: `item-${at}` }, text: { S: "x".repeat(20_000) } } } });
  const write = () => server.call("BatchWriteItem", { RequestItems: { narrow: Array.from({ length: 25 }, (_, at) => item(at)) } });
  for (let batches = 0; batches < 3; batches++) await write();
  const page = await open(`${server.home}table/narrow/capacity`);
  const reasons = page.getByRole("region", { name: "Throttling and its reasons" });
  await reasons.getByRole("row", { name: /^table, writes provisioned throughput 0 \d/ }).waitFor();
  await reasons.getByText("Raise the throughput").waitFor();
  await page.getByRole("region", { name: "Keys that AWS would have throttled" }).getByRole("link", { name: /^item-/ }).first().waitFor();
  // Clients go on: a metric is listed some seconds after it had its first value.
  const chip = page.getByRole("figure", { name: "Table" }).getByText(/AWS would have throttled/);
  await until(page, "the chart says what AWS would throttle", async () => {
    await write();
    await page.waitForResponse(/api\/metrics$/);
    return chip.isVisible();
  });
  await page.getByRole("slider", { name: "Burst left, cursor" }).focus();
  await page.keyboard.press("t");
  await page.getByRole("region", { name: "Burst left as a table" }).getByText("0 s", { exact: true }).first().waitFor();
  await close(page);
  const overview = await open(server.home);
  await overview.getByRole("region", { name: "Now" }).getByText(/AWS would have throttled/).waitFor();
  await close(overview);
});

test("heat marks where a limit was met, on a scale of its own or a partition's, and says how many shards would do", async () => {
  await server.call("CreateTable", { TableName: "hotspot", KeySchema: [{ AttributeName: "id", KeyType: "HASH" }], AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }], BillingMode: "PROVISIONED", ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 } });
  // One key, most of what a partition sustains: writes of a large item, wherever a minute ends.
  const Key = { id: { S: "everybody" } };
  await server.send("PutItem", { TableName: "hotspot", Item: { ...Key, text: { S: "x".repeat(390_000) } } });
  for (let at = 0; at < 220; at++) await server.send("UpdateItem", { TableName: "hotspot", Key, UpdateExpression: "SET seen = :at", ExpressionAttributeValues: { ":at": { N: String(at) } } });
  const page = await open(`${server.home}table/hotspot/heat?unit=write`);
  const busiest = page.getByRole("complementary", { name: "Busiest keys" });
  await busiest.getByRole("link", { name: "everybody" }).waitFor();
  await busiest.getByText("too hot").waitFor();
  await busiest.getByText(/^\d+ shards would bring it to \d+ %/).waitFor();
  await busiest.getByText(/It asked for more: [\d,]+ were served that AWS would refuse/).waitFor();
  await page.locator(".heatmap .met").first().waitFor({ state: "attached" });
  const figure = page.getByRole("figure", { name: "Heat" });
  await figure.getByText("a limit was met").waitFor();
  await figure.getByText(/the most that was measured: [\d,]+ % of what one partition sustains/).waitFor();
  await figure.getByRole("button", { name: "Of a partition" }).click();
  await page.waitForURL(/scale=partition/);
  await figure.getByText("0 to 160 % of the 1,000 WCU that one partition sustains").waitFor();
  await accessible(page, "heat with marks");
  await close(page);
});

test("metrics show operations, tables and indexes over a range, all of them or one", async () => {
  await work(5);
  const page = await open(`${server.home}metrics`);
  const operations = page.getByRole("region", { name: "Operations" });
  await operations.getByRole("row", { name: /^UpdateItem \d/ }).waitFor();
  await page.getByRole("region", { name: "Tables and indexes" }).getByRole("row", { name: new RegExp(`^${TABLE} GSI1`) }).waitFor();
  await page.getByRole("figure", { name: "Requests" }).getByText("UpdateItem").waitFor();
  await page.getByLabel("Table", { exact: true }).selectOption(TABLE);
  await page.waitForURL(/table=app-main/);
  await operations.getByRole("columnheader", { name: "p99" }).waitFor();
  await page.getByRole("button", { name: "24 h" }).click();
  await page.waitForURL(/last=24/);
  await page.getByRole("figure", { name: "Write units" }).getByText(TABLE, { exact: false }).first().waitFor();
  await close(page);
});

test("faults that are on are shown wherever one is, and can be removed there", async () => {
  const fault = (...options) => execFileSync(process.env.LODESTONE, ["fault", "add", "--endpoint", server.direct, ...options]);
  fault("--table", TABLE, "--operation", "DeleteItem", "--error", "throttle", "--share", "50%");
  fault("--table", "no-such-table", "--error", "slow", "--for", "10m");
  const page = await open(`${server.home}metrics`);
  const banner = page.getByRole("region", { name: "Faults that are on" });
  await banner.getByText("2 faults are on.").waitFor();
  await banner.getByText(`50 % of DeleteItem on ${TABLE}: throttle`).waitFor();
  await banner.getByText(/all operations on no-such-table: slow, 1 s · met 0 times · ends in \d+ s/).waitFor();
  await accessible(page, "faults that are on");
  await banner.getByRole("button", { name: "Remove fault" }).first().click();
  await banner.getByText("A fault is on.").waitFor();
  await banner.getByRole("button", { name: "Remove fault" }).click();
  await banner.waitFor({ state: "hidden" });
  assert.deepEqual((await server.post("faults")).faults, []);
  await close(page);
});

// What an application asks: a customer, the orders of a customer, and everything.
async function ask(times) {
  const PK = { S: "CUST#customer-0001" };
  for (let at = 0; at < times; at++) {
    await server.send("GetItem", { TableName: TABLE, Key: { PK, SK: { S: "PROFILE" } } });
    await server.send("Query", { TableName: TABLE, KeyConditionExpression: "PK = :p AND begins_with(SK, :s)", ScanIndexForward: false, ExpressionAttributeValues: { ":p": PK, ":s": { S: "ORDER#" } } });
  }
  await server.send("Scan", { TableName: TABLE });
}

test("the shapes of requests are learned, and the items become a model", async () => {
  const page = await open(`${server.home}table/${TABLE}/learn`);
  const file = page.getByRole("region", { name: "A model file" });
  await file.getByRole("button", { name: "Write a model of the items" }).waitFor();
  await page.getByRole("button", { name: "Learn from traffic" }).click();
  await page.getByRole("button", { name: "Stop learning" }).waitFor();
  await page.getByText("Send requests; what they ask for is listed here.").waitFor();
  // What the studio asks itself is not learned.
  await work(5);
  await ask(60);
  await page.getByText("121 requests in", { exact: false }).waitFor();
  const patterns = page.getByRole("region", { name: "Learned patterns" });
  const get = patterns.getByRole("row", { name: /^get-/ });
  await get.getByText("GetItem").waitFor();
  await get.getByText(/^\d[\d.]*\/(s|min|h)$/).waitFor();
  const query = patterns.getByRole("row", { name: /^query-/ });
  await query.getByText("PK = CUST#", { exact: false }).waitFor();
  await patterns.getByRole("row", { name: /^scan-/ }).getByText("no key serves it").waitFor();
  const remarks = page.getByRole("region", { name: "What to know" });
  await remarks.getByText(/No pattern reads .*GSI1, GSI2/).waitFor();
  await accessible(page, "what was learned");
  await page.getByRole("button", { name: "Stop learning" }).click();
  await page.getByRole("button", { name: "Learn from traffic" }).waitFor();
  await get.waitFor();
  await file.getByRole("button", { name: "Write as a model file" }).click();
  await file.getByLabel("The model").getByText("CUST#", { exact: false }).waitFor();
  await file.getByLabel("The model").getByText("Learned from 121 requests", { exact: false }).waitFor();
  await file.getByLabel("Name of the model").fill("learned");
  await file.getByRole("button", { name: "Save and open it" }).click();
  await page.waitForURL(/model\/learned/);
  await page.locator(".cm-content").getByText("CUST#", { exact: false }).first().waitFor();
  await page.getByRole("region", { name: "Patterns" }).getByRole("row", { name: /^query-/ }).first().waitFor();
  await close(page);
});

test("a replica is added, its link cut and healed, and the other Region looked at", async () => {
  await plainTable(server, "everywhere");
  const page = await open(`${server.home}table/everywhere/regions`);
  await page.getByText("This table is in us-east-1 alone").waitFor();
  await page.getByLabel("Region", { exact: true }).fill("eu-west-1");
  await page.getByRole("button", { name: "Add a replica" }).click();
  const members = page.getByRole("region", { name: "Members" });
  await members.getByRole("row", { name: /eu-west-1/ }).getByText("ACTIVE").waitFor();
  await members.getByRole("row", { name: /eu-west-1/ }).getByText("up to date").first().waitFor();
  await page.getByRole("button", { name: "Cut us-east-1 – eu-west-1" }).click();
  const links = page.getByRole("region", { name: "Links" });
  await links.getByText("✂ cut").waitFor();
  await links.getByText("us-east-1 and eu-west-1 are cut off from each other.").waitFor();
  await server.call("PutItem", { TableName: "everywhere", Item: { id: { S: "one" } } });
  await links.getByText("1 to eu-west-1").waitFor();
  await accessible(page, "Regions");
  await page.getByRole("button", { name: "Heal us-east-1 – eu-west-1" }).click();
  await links.getByText("nothing").waitFor();
  await members.getByRole("link", { name: "eu-west-1" }).click();
  await page.waitForURL(/as=000000000000\.eu-west-1/);
  await members.getByRole("row", { name: /us-east-1/ }).getByText("ACTIVE").waitFor();
  await page.getByRole("link", { name: "Items", exact: true }).click();
  await page.locator("#base .row").getByText("one").first().waitFor();
  await close(page);
});
