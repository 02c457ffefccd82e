// Pictures of every screen in both themes, for the docs: `node pictures.mjs FOLDER`.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { loadExample, open, row, rows, serve } from "./studio.mjs";

const folder = process.argv[2];
mkdirSync(folder, { recursive: true });
const server = await serve();
const empty = await serve();
await loadExample(server);
await loadExample(server, "leaderboard");

export const screens = {
  beginning: [() => empty.home, (page) => page.getByRole("button", { name: "order-management" }).waitFor()],
  overview: [() => server.home, (page) => page.getByText("nothing found").first().waitFor()],
  table: [
    () => `${server.home}table/app-main`,
    async (page) => {
      await rows(page).first().waitFor();
      await page.getByLabel("Access pattern").selectOption("A2");
      await page.getByLabel("customerId").fill("customer-0002");
      await page.keyboard.press("Enter");
      await page.getByText("expected items, in order").waitFor();
      await (await row(page, "order-0007")).click();
      await page.getByRole("button", { name: /^status: / }).click();
      await page.getByLabel("Value", { exact: true }).fill("SHIPPED");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: /^Write for/ }).waitFor();
      await page.locator("#pane-GSI2 .row.link").waitFor();
    },
  ],
  structure: [() => `${server.home}table/app-main/structure`, (page) => page.getByText("GSI1PK").first().waitFor()],
  query: [
    () => `${server.home}query?table=app-main`,
    async (page) => {
      await page.getByLabel("PK, partition key").fill("CUST#customer-0002");
      await page.locator(".expr .chip", { hasText: /^Query$/ }).waitFor();
      await page.getByRole("button", { name: /^Run/ }).click();
      await page.getByText("5 items").waitFor();
      await page.getByRole("tab", { name: "Code" }).click();
      await page.getByRole("button", { name: "Python", exact: true }).click();
    },
  ],
  partiql: [
    () => `${server.home}partiql?table=app-main&statement=${encodeURIComponent(`SELECT * FROM "app-main" WHERE "PK" = 'CUST#customer-0002'`)}`,
    async (page) => {
      await page.getByText("becomes Query").waitFor();
      await page.getByRole("button", { name: /^Run/ }).click();
      await page.getByText("5 items").waitFor();
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
  for (const [name, [address, ready]] of Object.entries(screens))
    test(`${name}, ${theme}`, async () => {
      const page = await open(address(), { theme, width: 1440, height: 900 });
      await ready(page);
      await page.waitForTimeout(300);
      await page.screenshot({ path: join(folder, `${name}-${theme}.png`) });
      await page.context().close();
    });
after(() => console.log(`pictures are in ${folder}`));
