// Three stories without a mouse.

import assert from "node:assert/strict";
import { test } from "node:test";
import { close, inspector, loadExample, open, rows, said, serve, until } from "../studio.mjs";

const server = await serve();
await loadExample(server);

test("from the overview to a customer's orders, by the command bar and the query", async () => {
  const page = await open(server.home);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: /^Find a table/ }).waitFor();
  await page.keyboard.type("app-main");
  await page.keyboard.press("Enter");
  await rows(page).first().waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: /^Find a table/ }).waitFor();
  await page.keyboard.type("CUST#customer-0002");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll("#base .row").length === 5);
  await close(page);
});

test("an attribute is changed and written, then taken back", async () => {
  const page = await open(`${server.home}table/app-main?pk=ORDER%23order-0002`);
  await rows(page).first().waitFor();
  const body = page.locator("#base .scroll");
  await until(page, "Tab reaches the rows", async () => {
    await page.keyboard.press("Tab");
    return body.evaluate((element) => element === document.activeElement);
  });
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("e");
  await page.waitForFunction(() => document.activeElement?.closest(".drawer"));
  await page.keyboard.press("Control+a");
  await page.keyboard.type("7");
  await page.getByRole("button", { name: /^Write for/ }).waitFor();
  await page.keyboard.press("Control+s");
  await said(page).getByText("as predicted").waitFor();
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.activeElement?.closest("#base"));
  await page.keyboard.press("Control+z");
  await said(page).getByText("The opposite change is ready to be written.").waitFor();
  await page.getByRole("button", { name: /^Write for/ }).waitFor();
  await page.keyboard.press("Control+s");
  await said(page).getByText("as predicted").waitFor();
  await close(page);
});

test("rows, partitions and panes are walked, and the row of an index is followed", async () => {
  const page = await open(`${server.home}table/app-main?pk=CUST%23customer-0002`);
  await rows(page).first().waitFor();
  const body = page.locator("#base .scroll");
  await body.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() => document.querySelectorAll("#base .row").length === 0);
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => document.querySelectorAll("#base .row").length === 5);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await inspector(page).getByText("Order", { exact: true }).waitFor();
  await page.keyboard.press("\\");
  await page.locator("#pane-GSI1 .row.link").waitFor();
  await page.keyboard.press("l");
  await page.waitForFunction(() => document.activeElement?.closest("#pane-GSI1"));
  await page.keyboard.press("l");
  await page.waitForFunction(() => document.activeElement?.closest("#base"));
  await page.keyboard.press("]");
  await page.waitForFunction(() => document.activeElement?.closest("#pane-GSI1"));
  await page.keyboard.press("Escape");
  await inspector(page).waitFor({ state: "detached" });
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("q");
  await page.getByRole("heading", { name: "Query", exact: true }).waitFor();
  assert.match(page.url(), /\/studio\/query$/);
  await close(page);
});
