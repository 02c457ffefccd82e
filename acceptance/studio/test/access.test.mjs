// Every screen, in both themes: nothing that axe finds. A read-only studio offers no writes. Sizes of what is loaded.

import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, close, field, loadExample, open, openItem, plainTable, rows, serve, withHistory } from "../studio.mjs";

const server = await serve();
const empty = await serve();
await loadExample(server);
await loadExample(server, "leaderboard");
await withHistory(server, "app-main");
await plainTable(server, "plain");

const screens = {
  "an empty overview": [() => empty.home, (page) => page.getByRole("button", { name: "order-management" }).waitFor()],
  "the overview": [() => server.home, (page) => page.getByRole("link", { name: "app-main" }).first().waitFor()],
  "a table": [() => `${server.home}table/app-main`, (page) => rows(page).first().waitFor()],
  "a table with an edit": [
    () => `${server.home}table/app-main?pk=CUST%23customer-0002`,
    async (page) => {
      await openItem(page, "order-0006");
      // A status that no order has, whatever was done to it before: only a change can be written.
      await field(page, "status").fill("RETURNED");
      await page.getByRole("button", { name: /^Write for/ }).waitFor();
    },
  ],
  "a new item": [
    () => `${server.home}table/app-main`,
    async (page) => {
      await rows(page).first().waitFor();
      await page.getByRole("button", { name: "+ New item" }).click();
      await page.getByText("Customer needs customerId for its key.").waitFor();
      await page.getByRole("button", { name: /^Columns/ }).click();
      await page.getByRole("heading", { name: "Columns" }).waitFor();
    },
  ],
  "indexes beside the rows": [() => `${server.home}table/app-main?panes=GSI1,GSI2`, (page) => page.getByRole("button", { name: "Close GSI2" }).waitFor()],
  "a pattern's result": [() => `${server.home}table/app-main?pattern=A2&values=${encodeURIComponent('{"customerId":{"S":"customer-0002"}}')}`, (page) => page.getByText(/RCU = [\d.]+ predicted/).waitFor()],
  "a new table": [() => `${server.home}new-table`, (page) => page.getByLabel("Tags").waitFor()],
  connections: [() => `${server.home}connections`, (page) => page.getByRole("region", { name: "Add a connection" }).waitFor()],
  "a table's structure": [() => `${server.home}table/app-main/structure`, (page) => page.getByText("DescribeTable").first().waitFor()],
  "a table without traffic": [() => `${server.home}table/plain/heat`, (page) => page.getByText("Nothing was asked yet").waitFor()],
  "a table's heat": [
    () => `${server.home}table/app-main/heat`,
    async (page) => {
      await page.getByText("forecast from the model").waitFor();
      await page.getByRole("slider", { name: "Heat, cursor" }).focus();
      await page.keyboard.press("ArrowDown");
    },
  ],
  "a table's capacity": [() => `${server.home}table/app-main/capacity`, (page) => page.getByRole("figure", { name: "Table" }).waitFor()],
  "what is learned from traffic": [() => `${server.home}table/app-main/learn`, (page) => page.getByRole("button", { name: "Learn from traffic" }).waitFor()],
  metrics: [() => `${server.home}metrics`, (page) => page.getByRole("row", { name: /^UpdateItem/ }).waitFor()],
  "a stream that is off": [() => `${server.home}table/plain/stream`, (page) => page.getByText("The stream is off").waitFor()],
  "a stream": [
    () => `${server.home}table/app-main/stream`,
    async (page) => {
      await page.locator(".record").first().click();
      await page.getByText("Before and after").waitFor();
    },
  ],
  "recovery that is off": [() => `${server.home}table/plain/backups`, (page) => page.getByText("Recovery is off.").waitFor()],
  "recovery and backups": [() => `${server.home}table/app-main/backups`, (page) => page.getByText("items then").waitFor()],
  "the query": [() => `${server.home}query?table=app-main`, (page) => page.getByText("so this is a Scan").waitFor()],
  PartiQL: [() => `${server.home}partiql?table=app-main`, (page) => page.getByText("To begin with").waitFor()],
  "a model": [() => `${server.home}model/order-management`, (page) => page.getByText("proven").first().waitFor()],
  "a picture": [() => `${server.home}model/order-management/picture`, (page) => page.getByText("if the file’s rates held all month").waitFor()],
  "two models": [() => `${server.home}compare?one=order-management&other=leaderboard`, (page) => page.getByRole("region", { name: "What differs" }).waitFor()],
  "a new model": [() => `${server.home}new-model`, (page) => page.getByRole("button", { name: "Make the model" }).waitFor()],
  Regions: [() => `${server.home}table/app-main/regions`, (page) => page.getByRole("button", { name: "Add a replica" }).waitFor()],
  "the board of patterns": [
    () => `${server.home}model/order-management/patterns/A2`,
    async (page) => {
      await page.getByRole("button", { name: "Run all reads" }).click();
      await page.getByText("reads are as expected").waitFor();
    },
  ],
  "a design": [
    () => `${server.home}model/order-management/design`,
    async (page) => {
      await page.getByRole("button", { name: "Design", exact: true }).click();
      await page.getByRole("heading", { name: "Proposed" }).waitFor();
    },
  ],
  "a model's heat": [() => `${server.home}model/leaderboard/heat`, (page) => page.getByText("57 %").first().waitFor()],
  "a model's cost": [() => `${server.home}model/leaderboard/cost`, (page) => page.getByText("Ways to pay").waitFor()],
  "a migration": [() => `${server.home}model/order-management/migration`, (page) => page.getByText("Is what the model says.").waitFor()],
};

for (const theme of ["light", "dark"])
  for (const [name, [address, ready]] of Object.entries(screens))
    test(`axe finds nothing on ${name}, ${theme}`, async () => {
      const page = await open(address(), { theme, width: 1440, height: 900 });
      await ready(page);
      await accessible(page, name);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} scrolls sideways`);
      await close(page);
    });

test("axe finds nothing in the command bar and the list of keys", async () => {
  const page = await open(server.home);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.locator("#commands li").first().waitFor();
  await accessible(page, "the command bar");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await accessible(page, "the list of keys");
  await close(page);
});

test("a read-only studio shows everything and offers no write", async () => {
  const readOnly = await serve("--studio", "read-only");
  const page = await open(readOnly.home);
  await page.getByText("read only").waitFor();
  assert.equal(await page.getByRole("button", { name: "order-management" }).count(), 0);
  await close(page);
});

test("the first view takes 60 KB and all of the code 250 KB, packed", async () => {
  const page = await open("about:blank");
  const sizes = new Map();
  page.on("response", async (response) => {
    const { pathname } = new URL(response.url());
    if (pathname.includes("/assets/")) sizes.set(pathname, Number(response.headers()["content-length"]));
  });
  const sum = () => [...sizes].filter(([path]) => !path.endsWith(".woff2")).reduce((total, [, size]) => total + size, 0);
  await page.goto(empty.home);
  await page.getByRole("button", { name: "order-management" }).waitFor();
  assert.ok(sum() > 5_000 && sum() <= 60 * 1024, `the first view takes ${sum()} bytes`);
  // All that any screen would load, whether a story opens it or not.
  const found = await page.evaluate(async () => {
    const entry = document.querySelector("script[src*='assets/main-']").src;
    const seen = new Set([entry]);
    for (const url of seen) {
      const text = await (await fetch(url)).text();
      for (const [, name] of text.matchAll(/["']\.\/([\w-]+\.js)["']/g)) seen.add(new URL(name, entry).href);
    }
    return seen.size;
  });
  assert.ok(found > 8, `${found} files`);
  assert.ok(sum() > 150 * 1024 && sum() <= 250 * 1024, `all code takes ${sum()} bytes`);
  const fonts = [...sizes].filter(([path]) => path.endsWith(".woff2")).reduce((total, [, size]) => total + size, 0);
  assert.ok(fonts <= 92_160, `the fonts take ${fonts} bytes`);
  await page.context().close();
});

test("at 320 pixels there is one pane and no sideways scrolling", async () => {
  const page = await open(`${server.home}table/app-main`, { width: 320, height: 640 });
  await rows(page).first().waitFor();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 320, `${wide} px`);
  await close(page);
});
