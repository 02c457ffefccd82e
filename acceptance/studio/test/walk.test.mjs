// A table that is longer than what a page should hold: opened, scrolled to its end, jumped through, at constant memory.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { close, open, readBar, rows, serve, until } from "../studio.mjs";

const ITEMS = 12_000;
const server = await serve("--capacity", "off");
await server.call("CreateTable", {
  TableName: "long",
  KeySchema: [{ AttributeName: "k", KeyType: "HASH" }, { AttributeName: "n", KeyType: "RANGE" }],
  AttributeDefinitions: [{ AttributeName: "k", AttributeType: "S" }, { AttributeName: "n", AttributeType: "N" }],
  BillingMode: "PAY_PER_REQUEST",
});
for (let from = 0; from < ITEMS; from += 25) {
  const put = (at) => ({ PutRequest: { Item: { k: { S: `key-${Math.floor(at / 5)}` }, n: { N: String(at) }, text: { S: "x".repeat(120) } } } });
  await server.call("BatchWriteItem", { RequestItems: { long: Array.from({ length: 25 }, (_, at) => put(from + at)) } });
}

const held = (page) => page.locator("footer").innerText();
const seen = (page) => page.locator("#base .row").evaluateAll((all) => all.map((one) => one.dataset.item));

// Where a row stands in the window, for rows that are drawn.
const place = (page, id) => page.locator("#base .row").evaluateAll((all, id) => all.find((one) => one.dataset.item === id)?.getBoundingClientRect().top, id);
const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

test("every item comes by once when the table is scrolled to its end, and few are held", async () => {
  const page = await open("about:blank");
  const came = [];
  page.on("response", async (response) => {
    if (response.url().endsWith("/call/Scan")) came.push(...(await response.json()).Items.map((item) => item.n.N));
  });
  await page.goto(`${server.home}table/long?panes=,`);
  await rows(page).first().waitFor();
  let most = 0;
  while (came.length < ITEMS) {
    const before = came.length;
    await until(page, `nothing came after ${before} items`, async () => {
      await page.locator("#base .scroll").evaluate((element) => (element.scrollTop = element.scrollHeight));
      return came.length > before;
    });
    most = Math.max(most, Number(/([\d,]+) of [\d,]+ items held/.exec(await held(page))?.[1].replace(",", "") ?? 0));
  }
  assert.equal(new Set(came).size, ITEMS);
  assert.equal(came.length, ITEMS);
  assert.ok(most > 1000 && most <= 4000, `${most} items were held`);
  const height = await page.locator("#base .spacer").evaluate((element) => element.clientHeight);
  assert.ok(height < 200_000, `${height} px`);
  await close(page);
});

test("what is in view stays there when rows come in front, and scrolling back finds what lies before", async () => {
  const page = await open(`${server.home}table/long?at=0.5`);
  await rows(page).first().waitFor();
  const [first] = await seen(page);
  const before = await place(page, first);
  await page.locator("#base .scroll").hover();
  await page.mouse.wheel(0, -10);
  await page.waitForFunction(() => document.querySelector("#base .scroll").scrollTop > 0);
  await settled(page);
  assert.ok(Math.abs((await place(page, first)) - before) <= 2 * 28, "the row did not move");
  const back = new Set(await seen(page));
  await until(page, "200 rows before the middle", async () => {
    await page.mouse.wheel(0, -600);
    for (const id of await seen(page)) back.add(id);
    return back.size > 200;
  });
  await close(page);
});

test("any place is one request away, and the strip has keys", async () => {
  const page = await open(`${server.home}table/long`);
  await rows(page).first().waitFor();
  const strip = page.getByRole("slider", { name: "Place in the key space" });
  const before = await seen(page);
  let scans = 0;
  page.on("request", (request) => request.url().endsWith("/call/Scan") && scans++);
  await strip.click({ position: { x: 6, y: (await strip.boundingBox()).height * 0.75 } });
  await page.waitForURL(/at=0\.7/);
  await page.waitForFunction((id) => document.querySelector("#base .row")?.dataset.item !== id, before[0]);
  assert.ok(scans <= 2, `${scans} scans`);
  await strip.focus();
  await page.keyboard.press("Home");
  await page.waitForFunction((id) => document.querySelector("#base .row")?.dataset.item === id, before[0]);
  await close(page);
});

test("the heap stays small", async () => {
  const page = await open(`${server.home}table/long`);
  await rows(page).first().waitFor();
  const session = await page.context().newCDPSession(page);
  const strip = page.getByRole("slider", { name: "Place in the key space" });
  const { height } = await strip.boundingBox();
  for (const at of [0.1, 0.9, 0.3, 0.7, 0.5]) {
    const [before] = await seen(page);
    await strip.click({ position: { x: 6, y: height * at } });
    await page.waitForFunction((id) => document.querySelector("#base .row") && document.querySelector("#base .row").dataset.item !== id, before);
  }
  // One collection may leave what was only just let go.
  await until(page, "a heap below 60 MB", async () => {
    await session.send("HeapProfiler.collectGarbage");
    return (await session.send("Runtime.getHeapUsage")).usedSize < 60 * 2 ** 20;
  });
  await close(page);
});

// This server, as if it was AWS, with a read limit of 25 RCU.
async function asAws(page) {
  await page.route("**/studio/api/session", async (route) => {
    const response = await route.fetch();
    const connection = { id: "aws", name: "AWS dev", kind: "aws", address: server.origin, region: "us-east-1", account: "000000000000", profile: null, keyId: "AKIAEXAMPLE", readOnly: true, writesFor: null, word: "account", production: false };
    await route.fulfill({ response, json: { ...(await response.json()), connection, readOnly: true } });
  });
  await page.addInitScript(() => sessionStorage.setItem("lodestone-read-limit", "25"));
}

test("where reads cost money, one ends at its limit, and goes on when it is told to", async () => {
  const page = await open("about:blank");
  await asAws(page);
  const filters = encodeURIComponent(JSON.stringify([{ path: ["nowhere"], operator: "exists", values: [] }]));
  await page.goto(`${server.home}table/long?filters=${filters}`);
  await readBar(page).getByText(/^Stopped at 25 RCU, because reads of AWS cost money: examined [\d,]+ of about/).waitFor();
  await page.getByText("that is not all of them").waitFor();
  await page.getByLabel("Read limit").selectOption({ label: "no limit" });
  await readBar(page).getByRole("button", { name: "Continue" }).click();
  await readBar(page).getByText(/^Complete: examined/).waitFor();
  await page.getByText("Nothing was found.").waitFor();
  await close(page);
});

test("an export says what it takes, and stops at the read limit until it is told to go on", async () => {
  const page = await open("about:blank");
  await asAws(page);
  await page.goto(`${server.home}table/long`);
  await rows(page).first().waitFor();
  const { Table } = await server.call("DescribeTable", { TableName: "long" });
  const estimate = Math.ceil(Table.TableSizeBytes / 4096) / 2;
  await page.getByRole("button", { name: "Export", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Export long" });
  await dialog.getByText(`That takes about ${estimate.toLocaleString("en")} RCU.`).waitFor();
  await dialog.getByRole("button", { name: `Export for about ${estimate.toLocaleString("en")} RCU` }).click();
  await dialog.getByRole("alert").getByText(/^Stopped at [\d.]+ RCU, because reads of AWS cost money\./).waitFor();
  const [part] = await Promise.all([page.waitForEvent("download"), dialog.getByRole("button", { name: "Save what was read" }).click()]);
  await dialog.getByText("That is not all of them.").waitFor();
  const lines = async (download) => readFileSync(await download.path(), "utf8").trim().split("\n").length;
  const some = await lines(part);
  assert.ok(some > 0 && some < ITEMS, `${some} items`);
  await dialog.getByRole("button", { name: /^Export again/ }).click();
  await dialog.getByRole("button", { name: "Continue" }).waitFor();
  await dialog.getByLabel("Read limit").selectOption({ label: "no limit" });
  const [whole] = await Promise.all([page.waitForEvent("download"), dialog.getByRole("button", { name: "Continue" }).click()]);
  assert.equal(await lines(whole), ITEMS);
  await close(page);
});
