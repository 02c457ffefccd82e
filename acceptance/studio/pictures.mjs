// Pictures of every screen in both themes, for the docs: `node pictures.mjs FOLDER`, or of some: `node pictures.mjs FOLDER regions learn`.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { field, loadExample, open, openItem, plainTable, rows, serve, withHistory } from "./studio.mjs";

const [folder, ...wanted] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
// The clients end before their server does.
let isWorking = true;
let working;
after(async () => {
  isWorking = false;
  await working?.all;
});
const server = await serve();
const empty = await serve();
await loadExample(server);
const leaderboard = await loadExample(server, "leaderboard");
await server.post("file/hot", { text: leaderboard.replace("model: leaderboard", "model: hot").replace("shard(playerId, 4)", "shard(playerId, 1)") });
// The order that is shipped in the picture of the table is open, whatever happens to others.
const { Items: orders } = await server.call("Query", { TableName: "app-main", KeyConditionExpression: "PK = :p", ExpressionAttributeValues: { ":p": { S: "CUST#customer-0002" } } });
const order = orders.find((item) => item.SK.S.endsWith("order-0007"));
// Recovery counts in seconds: what happens next happens in a later one.
const before = Math.ceil(Date.now() / 1000);
while (Date.now() / 1000 < before + 1) await new Promise((done) => setTimeout(done, 50));
await withHistory(server, "app-main");
await server.call("PutItem", { TableName: "app-main", Item: order });
// Something wrote the status of an order without the key that follows from it.
await server.call("PutItem", { TableName: "app-main", Item: { PK: { S: "CUST#customer-0003" }, SK: { S: "ORDER#2026-01-02T03:09:18Z#order-0019" }, customerId: { S: "customer-0003" }, orderId: { S: "order-0019" }, createdAt: { S: "2026-01-02T03:09:18Z" }, status: { S: "OPEN" }, total: { N: "910" }, version: { N: "4" }, GSI1PK: { S: "CUST#customer-0003#SHIPPED" }, GSI1SK: { S: "2026-01-02T03:09:18Z#order-0019" } } });
await server.post("connections/add", { name: "Team staging", kind: "lodestone", address: empty.direct, region: "eu-west-1", readOnly: true });
await server.post("connections/add", { name: "AWS dev", kind: "aws", region: "eu-central-1", keyId: "AKIAIOSFODNN7EXAMPLE", secret: "not-a-secret" });
// A global table of three Regions, one of which is cut off from another.
await plainTable(server, "everywhere");
for (const RegionName of ["eu-west-1", "ap-northeast-1"]) {
  await server.call("UpdateTable", { TableName: "everywhere", ReplicaUpdates: [{ Create: { RegionName } }] });
  const isMade = async () => (await server.call("DescribeTable", { TableName: "everywhere" })).Table.Replicas.every((one) => one.ReplicaStatus === "ACTIVE");
  while (!(await isMade())) await new Promise((done) => setTimeout(done, 50));
}
await server.post("regions", { table: "everywhere", cut: ["us-east-1", "eu-west-1"] });
for (let at = 0; at < 40; at++) await server.call("PutItem", { TableName: "everywhere", Item: { id: { S: `visitor-${at}` } } });
// A server where an hour passes in three minutes, with clients that go on while pictures are taken: players, and a season
// that gets hot.
const busy = await serve("--in-memory", "--time-scale", "20");
working = await new Promise((warm, failed) => {
  const all = work(() => warm({ all }));
  all.catch(failed);
});

async function work(warm) {
  const text = leaderboard.replace("shard(playerId, 4)", "shard(playerId, 1)").replace("project: [handle, rating]", "project: all").replaceAll(/^  (pitr|stream):.*\n/gm, "");
  await busy.post("model/apply", { text, samples: true });
  await busy.post("file/leaderboard", { text });
  await loadExample(busy);
  // A request on a large item uses as many units as many requests on small ones.
  const large = "x".repeat(380_000);
  const standing = (season, shard) => ({ partitionId: { S: `PLAYER#large-${season}` }, rangeId: { S: `SEASON#${season}` }, gsiPartition: { S: `SEASON#${season}#${shard}` }, gsiSort: { S: "RATING#00001" }, text: { S: large }, rating: { N: "1" } });
  for (const season of ["2026-Q1", "2026-Q2"]) await busy.call("PutItem", { TableName: "game", Item: standing(season, 0) });
  const change = (season, at) => busy.send("UpdateItem", { TableName: "game", Key: { partitionId: { S: `PLAYER#large-${season}` }, rangeId: { S: `SEASON#${season}` } }, UpdateExpression: "SET rating = :r", ExpressionAttributeValues: { ":r": { N: String(at) } } });
  const player = (at) => ({ partitionId: { S: `PLAYER#player-${at}` }, rangeId: { S: "PROFILE" }, handle: { S: `nighthawk-${at}` }, gsiPartition: { S: `HANDLE#nighthawk-${at}` }, gsiSort: { S: `PLAYER#player-${at}` }, text: { S: "x".repeat(100_000) } });
  for (let at = 0; at < 30; at++) await busy.call("PutItem", { TableName: "game", Item: player(at) });
  const touch = (at) => busy.send("UpdateItem", { TableName: "game", Key: { partitionId: { S: `PLAYER#player-${at}` }, rangeId: { S: "PROFILE" } }, UpdateExpression: "SET seen = :r", ExpressionAttributeValues: { ":r": { S: String(Math.random()) } } });
  await busy.post("learn", { on: true });
  const began = Date.now();
  for (let second = 0; isWorking && second < 900; second++) {
    if (second === 45) warm();
    const rate = Math.min(1, 0.1 + second / 60);
    const requests = [];
    for (let at = 0; at < 90 * rate; at++) requests.push(change("2026-Q2", at));
    for (let at = 0; at < 5; at++) requests.push(change("2026-Q1", at));
    // Some players are there all the time, others come and go.
    for (let at = 0; at < 30; at++) for (let times = 0; times < (at % 7 === 0 ? 4 : (second + at) % 5 === 0 ? 3 : 0); times++) requests.push(touch(at));
    for (let at = 0; at < 20; at++) requests.push(busy.send("Query", { TableName: "game", KeyConditionExpression: "partitionId = :p", ExpressionAttributeValues: { ":p": { S: `PLAYER#player-${(second + at) % 30}` } } }));
    // A shop, for what is learned: customers, their orders, and a report that reads everything.
    const customer = (at) => ({ S: `CUST#customer-000${1 + ((second + at) % 5)}` });
    for (let at = 0; at < 6; at++) requests.push(busy.send("GetItem", { TableName: "app-main", Key: { PK: customer(at), SK: { S: "PROFILE" } } }));
    for (let at = 0; at < 4; at++) requests.push(busy.send("Query", { TableName: "app-main", KeyConditionExpression: "PK = :p AND begins_with(SK, :s)", ScanIndexForward: false, ExpressionAttributeValues: { ":p": at < 2 ? customer(0) : { S: "CUST#customer-0002" }, ":s": { S: "ORDER#" } } }));
    if (second % 10 === 0) requests.push(busy.send("Scan", { TableName: "app-main" }));
    await Promise.all(requests);
    while (Date.now() < began + 1000 * (second + 1)) await new Promise((done) => setTimeout(done, 10));
  }
}

const screens = {
  measured: [
    () => `${busy.home}table/game/heat?of=lookup&unit=write&last=15%20min`,
    async (page) => {
      await page.getByText("forecast from the model").waitFor();
      await page.getByRole("link", { name: "SEASON#2026-Q2#0" }).waitFor();
      await page.getByRole("slider", { name: "Heat, cursor" }).focus();
      await page.keyboard.press("m");
      await page.evaluate(() => document.activeElement.blur());
    },
  ],
  capacity: [() => `${busy.home}table/game/capacity`, (page) => page.getByRole("region", { name: "Keys that AWS would have throttled" }).waitFor()],
  metrics: [() => `${busy.home}metrics`, (page) => page.getByRole("row", { name: /^UpdateItem/ }).waitFor()],
  learn: [() => `${busy.home}table/app-main/learn`, (page) => page.getByRole("region", { name: "Learned patterns" }).getByRole("row", { name: /^query-/ }).first().waitFor()],
  beginning: [() => empty.home, (page) => page.getByRole("button", { name: "order-management" }).waitFor()],
  overview: [() => busy.home, (page) => page.getByRole("row", { name: /^order-management .*\$\d/ }).waitFor()],
  table: [
    () => `${server.home}table/app-main`,
    async (page) => {
      await rows(page).first().waitFor();
      await openItem(page, "order-0007");
      await field(page, "status").fill("SHIPPED");
      await page.getByRole("button", { name: /^Write for/ }).waitFor();
    },
  ],
  "new-item": [
    () => `${server.home}table/app-main`,
    async (page) => {
      await rows(page).first().waitFor();
      await page.getByRole("button", { name: "+ New item" }).click();
      await page.getByRole("button", { name: "Order", exact: true }).click();
      for (const [name, value] of [["customerId", "customer-0004"], ["orderId", "order-0020"], ["createdAt", "2026-11-18T14:12:09Z"], ["total", "120"]]) await field(page, name).fill(value);
      await page.getByRole("button", { name: /^Write for/ }).waitFor();
    },
  ],
  result: [
    () => `${server.home}table/app-main?pattern=A4&values=${encodeURIComponent('{"customerId":{"S":"customer-0003"},"status":{"S":"OPEN"}}')}`,
    (page) => page.getByRole("region", { name: "Expected, not returned" }).waitFor(),
  ],
  "new-table": [
    () => `${empty.home}new-table`,
    async (page) => {
      await page.getByLabel("From an example").selectOption("order-management");
      await page.locator("pre", { hasText: "update-continuous-backups" }).waitFor();
    },
  ],
  picture: [
    () => `${server.home}model/order-management/picture`,
    async (page) => {
      await page.locator("svg.picture .choosable", { hasText: "A4" }).first().click();
      await page.getByText("7 of 7 proven").waitFor();
    },
  ],
  connections: [
    () => `${server.home}connections`,
    async (page) => {
      await page.getByRole("row", { name: /^Team staging/ }).waitFor();
    },
  ],
  phone: [
    () => `${server.home}table/app-main?pk=CUST%23customer-0002`,
    async (page) => {
      await openItem(page, "order-0007");
      await field(page, "status").fill("SHIPPED");
      await page.getByRole("button", { name: /^Write for/ }).waitFor();
    },
    { width: 390, height: 844 },
  ],
  structure: [() => `${server.home}table/app-main/structure`, (page) => page.getByText("GSI1PK").first().waitFor()],
  stream: [
    () => `${server.home}table/app-main/stream`,
    async (page) => {
      await page.locator(".record", { hasText: "MODIFY" }).nth(2).click();
      await page.getByText("up to date").waitFor();
    },
  ],
  backups: [() => `${server.home}table/app-main/backups?time=${before}`, (page) => page.locator(".differences tbody tr").first().waitFor()],
  regions: [
    () => `${server.home}table/everywhere/regions`,
    async (page) => {
      await page.getByText("✂ cut").waitFor();
      // What waits grows while one looks.
      for (let at = 0; at < 60; at++) {
        if (at % 20 < 14) await server.call("PutItem", { TableName: "everywhere", Item: { id: { S: `visitor-${Date.now()}` } } });
        await page.waitForTimeout(250);
      }
    },
  ],
  query: [
    () => `${server.home}query?table=app-main`,
    async (page) => {
      await page.getByLabel("PK, partition key").fill("CUST#customer-0002");
      await page.locator(".expr .chip", { hasText: /^Query$/ }).waitFor();
      await page.getByRole("button", { name: /^Run/ }).click();
      await page.getByText(/^\d+ items/).first().waitFor();
      await page.getByRole("tab", { name: "Code" }).click();
      await page.getByRole("button", { name: "Python", exact: true }).click();
    },
  ],
  partiql: [
    () => `${server.home}partiql?table=app-main&statement=${encodeURIComponent(`SELECT * FROM "app-main" WHERE "PK" = 'CUST#customer-0002'`)}`,
    async (page) => {
      await page.getByText("becomes Query").waitFor();
      await page.getByRole("button", { name: /^Run/ }).click();
      await page.getByText(/^\d+ items/).first().waitFor();
    },
  ],
  model: [() => `${server.home}model/order-management`, (page) => page.getByText("7 of 7 proven").waitFor()],
  patterns: [
    () => `${server.home}model/order-management/patterns/A2`,
    async (page) => {
      await page.getByRole("button", { name: "Run all reads" }).click();
      await page.getByText("reads are as expected").waitFor();
    },
  ],
  design: [
    () => `${server.home}model/leaderboard/design`,
    async (page) => {
      await page.getByRole("button", { name: "Design", exact: true }).click();
      await page.getByRole("heading", { name: "Proposed" }).waitFor();
    },
  ],
  heat: [() => `${server.home}model/hot/heat`, (page) => page.getByText("228 %").first().waitFor()],
  cost: [() => `${server.home}model/order-management/cost`, (page) => page.getByText("Ways to pay").waitFor()],
  migration: [() => `${server.home}model/order-management/migration`, (page) => page.getByText("Is what the model says.").waitFor()],
  commands: [
    () => server.home,
    async (page) => {
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      await page.keyboard.press("Control+k");
      await page.locator("#commands li").first().waitFor();
    },
  ],
};

for (const theme of ["light", "dark"])
  for (const [name, [address, ready, size]] of Object.entries(screens).filter(([name]) => wanted.length === 0 || wanted.includes(name)))
    test(`${name}, ${theme}`, async () => {
      const page = await open(address(), { theme, width: 1440, height: 900, ...size });
      await ready(page);
      // Fonts and transitions: a picture is looked at, nothing depends on it.
      await page.waitForTimeout(300);
      await page.screenshot({ path: join(folder, `${name}-${theme}.png`) });
      await page.context().close();
    });
after(() => console.log(`pictures are in ${folder}`));
