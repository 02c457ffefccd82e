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
      const page = await open(address(), { theme });
      await ready(page);
      await accessible(page, name);
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
    // By path: the second server has the same files.
    const { pathname } = new URL(response.url());
    if (pathname.includes("/assets/")) sizes.set(pathname, Number(response.headers()["content-length"]));
  });
  const sum = () => [...sizes].filter(([path]) => !path.endsWith(".woff2")).reduce((total, [, size]) => total + size, 0);
  await page.goto(empty.home);
  await page.getByRole("button", { name: "order-management" }).waitFor();
  assert.ok(sum() > 5_000 && sum() <= 60 * 1024, `the first view takes ${sum()} bytes`);
  for (const [address, ready] of Object.values(screens)) {
    await page.goto(address());
    await ready(page);
  }
  await page.keyboard.press("Control+k");
  await page.locator("#commands li").first().waitFor();
  assert.ok(sum() <= 250 * 1024, `all code takes ${sum()} bytes`);
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
