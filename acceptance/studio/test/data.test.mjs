// What somebody does with data: begins with nothing, finds a customer's orders, asks by hand, follows rows to indexes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, changes, close, field, inspector, open, openItem, plainTable, readBar, row, rows, said, serve, until } from "../studio.mjs";

const server = await serve();

test("somebody new loads an example and sees its items under their partitions", async () => {
  const page = await open(server.home);
  await page.getByText("An empty database, ready").waitFor();
  await page.getByRole("button", { name: "order-management" }).click();
  await page.waitForURL("**/studio/table/app-main");
  await rows(page).first().waitFor();
  const groups = page.locator("#base .grp");
  assert.ok((await groups.count()) > 3);
  assert.match(await groups.first().innerText(), /1 Customer|1 OrderHeader/);
  assert.match(await page.locator(".facts").innerText(), /56 items/);
  await close(page);
});

test("a customer's orders are found by the model's pattern, as expected and for what was predicted", async () => {
  const page = await open(`${server.home}table/app-main`);
  await rows(page).first().waitFor();
  await page.getByLabel("Access pattern").selectOption("A2");
  await page.getByLabel("customerId").fill("customer-0002");
  await page.keyboard.press("Enter");
  const verdict = page.locator(".verdict");
  await verdict.getByText("4 of 4 expected items, in order").waitFor();
  await verdict.getByText("0.5 RCU = 0.5 predicted").waitFor();
  // The result is a set of its own, in the pattern's order: newest first.
  const keys = await page.locator("#base .row").evaluateAll((all) => all.map((one) => JSON.parse(one.dataset.item)[1].S));
  assert.equal(keys.length, 4);
  assert.deepEqual(keys, [...keys].sort().reverse());
  const copied = await open(page.url());
  await copied.locator(".verdict").getByText("4 of 4 expected items, in order").waitFor();
  await close(copied);
  await close(page);
});

test("the same by hand is a Query, and the address holds all of it", async () => {
  const page = await open(`${server.home}table/app-main`);
  await rows(page).first().waitFor();
  await page.getByLabel("PK, partition key").fill("CUST#customer-0002");
  await page.getByLabel("SK, condition").selectOption("begins_with");
  await page.getByLabel("SK, sort key").fill("ORDER#");
  await page.locator(".expr .chip", { hasText: /^Query$/ }).waitFor();
  await page.keyboard.press("Control+Enter");
  await page.waitForURL(/pk=CUST/);
  await page.waitForFunction(() => document.querySelectorAll("#base .row").length === 4);
  const copied = await open(page.url());
  await copied.waitForFunction(() => document.querySelectorAll("#base .row").length === 4);
  assert.equal(await copied.getByLabel("SK, sort key").inputValue(), "ORDER#");
  await close(copied);
  await close(page);
});

test("a query without a partition key says that it is a Scan and what it reads", async () => {
  const page = await open(`${server.home}query?table=app-main`);
  await page.getByText("No partition key is given, so this is a Scan: all 56 items are read").waitFor();
  await page.getByRole("button", { name: "+ filter" }).click();
  await page.getByLabel("Attribute").fill("status");
  await page.getByLabel("Value 1").fill("OPEN");
  await page.getByText("A filter drops items after they were read and paid for.").waitFor();
  await page.getByText("#status = status: a reserved word").waitFor();
  await page.getByRole("button", { name: /^Run/ }).click();
  await page.getByText("56 examined").waitFor();
  await page.getByRole("tab", { name: "Code" }).click();
  for (const [language, word] of [["CLI", "aws dynamodb scan"], ["Python", "boto3.client"], ["JavaScript", "ScanCommand"], ["Rust", "aws_sdk_dynamodb"]]) {
    await page.getByRole("button", { name: language, exact: true }).click();
    await page.getByLabel(/^Code in/).filter({ hasText: word }).waitFor();
  }
  await page.getByRole("tab", { name: "History" }).click();
  await page.getByLabel("Find a request").fill("scan app-main");
  assert.match(await page.getByRole("region", { name: "History" }).innerText(), /Scan/);
  await page.getByLabel("Find a request").fill("no such words");
  await page.getByText("No request has these words.").waitFor();
  await page.getByLabel("Name of this request").fill("open orders");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByLabel("Find a request").fill("open orders");
  await page.getByRole("region", { name: "Saved" }).getByRole("button", { name: /^Open/ }).click();
  await page.getByLabel("The request in JSON").waitFor();
  assert.match(await page.getByLabel("The request in JSON").inputValue(), /"FilterExpression": "#status = :status"/);
  await close(page);
});

test("a request that is refused shows DynamoDB's own words", async () => {
  const page = await open(`${server.home}query?table=app-main&json=1&op=GetItem`);
  const request = page.getByLabel("The request in JSON");
  await request.fill('{ "TableName": "app-main", "Key": { "PK": { "S": "x" } } }');
  await page.getByRole("button", { name: /^Run/ }).click();
  await page.getByRole("alert").getByText("The provided key element does not match the schema").waitFor();
  await close(page, { refusals: 1 });
});

test("a chosen item is lit in its indexes, and one that is in none says why", async () => {
  const page = await open(`${server.home}table/app-main?pk=CUST%23customer-0002`);
  await rows(page).first().waitFor();
  assert.equal(await page.locator(".idx").count(), 0, "indexes are opened when they are wanted");
  await page.getByRole("toolbar", { name: "Beside the rows" }).getByRole("button", { name: "GSI1" }).click();
  await page.getByRole("toolbar", { name: "Beside the rows" }).getByRole("button", { name: "GSI2" }).click();
  await (await row(page, "order-0006")).click();
  await page.locator("#pane-GSI1 .row.link").waitFor();
  await page.locator("svg.links path.on").first().waitFor({ state: "attached" });
  await openItem(page, "order-0006");
  await inspector(page).getByText("Order", { exact: true }).waitFor();
  await openItem(page, "PROFILE");
  await page.getByText("No row: GSI1PK and GSI1SK are missing.").waitFor();
  // From the index to the item: what the index does not hold is read from the table.
  await openItem(page, "order-0007");
  await page.locator("#pane-GSI2 .row").first().waitFor();
  await page.locator("#pane-GSI2 .row").first().click();
  await field(page, "total").waitFor();
  await close(page);
});

test("facets show one kind of item, sorting says what it sorts", async () => {
  const page = await open(`${server.home}table/app-main`);
  await rows(page).first().waitFor();
  await page.getByRole("button", { name: /^Customer/ }).click();
  await page.waitForFunction(() => [...document.querySelectorAll("#base .row")].every((one) => one.textContent.includes("PROFILE")));
  await page.getByRole("button", { name: /^Customer/ }).click();
  await page.locator("#base").getByRole("button", { name: "size" }).click();
  await said(page).getByText("Sorted by size, of the 56 items that were read.").waitFor();
  const sizes = await page.locator("#base .row").evaluateAll((all) => all.map((one) => one.lastElementChild.textContent));
  assert.equal(sizes[0], "200 B");
  await close(page);
});

test("PartiQL says what a statement becomes, runs it, and takes parameters", async () => {
  const page = await open(`${server.home}partiql?table=app-main`);
  await page.getByRole("button", { name: 'SELECT * FROM "app-main"', exact: true }).click();
  await page.getByText("becomes Scan: reads all 56 items").waitFor();
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.type(`SELECT * FROM "app-main" WHERE "PK" = ?`);
  await page.getByText("becomes Query").waitFor();
  await page.getByLabel("Parameter 1", { exact: true }).fill("CUST#customer-0002");
  await page.getByRole("button", { name: /^Run/ }).click();
  await page.getByText("5 items", { exact: true }).waitFor();
  // It is saved under a name, and comes back with its parameter.
  await page.getByRole("button", { name: "History" }).click();
  const requests = page.getByRole("dialog", { name: "Requests" });
  await requests.getByLabel("Name of this request").fill("of a customer");
  await requests.getByRole("button", { name: "Save" }).click();
  await requests.getByRole("button", { name: "Close" }).click();
  await page.reload();
  await page.getByRole("button", { name: "History" }).click();
  await requests.getByLabel("Find a request").fill("customer");
  await requests.getByRole("button", { name: "Open of a customer" }).click();
  assert.equal(await page.getByLabel("Parameter 1", { exact: true }).inputValue(), "CUST#customer-0002");
  await close(page);
});

test("a table that is not there says so in DynamoDB's words", async () => {
  const page = await open(`${server.home}table/nothing`);
  await page.getByRole("alert").getByText("ResourceNotFoundException").waitFor();
  await close(page, { refusals: 1 });
});

test("the sizes that the page shows are those that the database counts", async () => {
  const { Table } = await server.call("DescribeTable", { TableName: "app-main" });
  const page = await open(`${server.home}table/app-main`);
  await rows(page).first().waitFor();
  await page.getByRole("button", { name: "by partition" }).click();
  await page.locator("#base").getByRole("button", { name: "size" }).click();
  const held = new Map();
  await until(page, `${Table.ItemCount} rows`, async () => {
    for (const [id, bytes] of await page.locator("#base .row").evaluateAll((all) => all.map((one) => [one.dataset.item, Number(one.querySelector("[data-bytes]").dataset.bytes)]))) held.set(id, bytes);
    await page.locator("#base .scroll").evaluate((element) => (element.scrollTop += 500));
    return held.size === Table.ItemCount;
  });
  assert.equal([...held.values()].reduce((sum, bytes) => sum + bytes, 0), Table.TableSizeBytes);
  await close(page);
});

test("an item that a pattern misses is shown with the keys that hide it, and its repair is a draft", async () => {
  const PK = { S: "CUST#customer-0003" };
  const order = { PK, SK: { S: "ORDER#2027-01-01T00:00:00Z#order-lost" }, customerId: { S: "customer-0003" }, orderId: { S: "order-lost" }, createdAt: { S: "2027-01-01T00:00:00Z" }, status: { S: "OPEN" }, total: { N: "7" }, version: { N: "1" }, GSI1PK: { S: "CUST#customer-0003#SHIPPED" }, GSI1SK: { S: "2027-01-01T00:00:00Z#order-lost" } };
  await server.call("PutItem", { TableName: "app-main", Item: order });
  const page = await open(`${server.home}model/order-management/patterns/A4`, { width: 1440, height: 900 });
  await page.getByLabel("customerId", { exact: true }).fill("customer-0003");
  await page.getByLabel("status", { exact: true }).fill("OPEN");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  // The board has it in its place, newest first.
  const board = page.getByRole("region", { name: "Expected and got" });
  await board.getByRole("row", { name: /order-lost/ }).getByText("expected, not returned").waitFor();
  assert.match(await board.getByRole("row").nth(1).innerText(), /order-lost/);
  await board.getByRole("link", { name: "See why, and repair" }).click();
  const why = page.getByRole("region", { name: "Expected, not returned" });
  await why.getByRole("row", { name: /GSI1PK/ }).getByText("CUST#customer-0003#OPEN").waitFor();
  await why.getByRole("row", { name: /GSI1PK/ }).getByText("CUST#customer-0003#SHIPPED").waitFor();
  await accessible(page, "a result that lacks an item");
  await why.getByRole("button", { name: "Draft the repair" }).click();
  await page.getByRole("region", { name: "Changes" }).getByRole("button", { name: /^Write for/ }).click();
  // The pattern runs again, and finds it.
  await page.getByText(/✓ \d+ of \d+ expected items?, in order/).waitFor();
  await why.waitFor({ state: "detached" });
  const { Item } = await server.call("GetItem", { TableName: "app-main", Key: { PK, SK: order.SK } });
  assert.deepEqual([Item.GSI1PK, Item.status, Boolean(Item.GSI2PK)], [{ S: "CUST#customer-0003#OPEN" }, { S: "OPEN" }, true]);
  await close(page);
});

test("one item is one item", async () => {
  await plainTable(server, "single");
  await server.call("PutItem", { TableName: "single", Item: { id: { S: "only" } } });
  const page = await open(`${server.home}table/single`);
  await said(page).getByText(/^1 item held, /).waitFor();
  await page.getByRole("button", { name: "+ New item" }).first().click();
  await page.getByTitle("1 change is not written yet").waitFor();
  await changes(page).getByRole("button", { name: "Discard" }).click();
  await page.goto(`${server.home}partiql?table=single`);
  await page.getByRole("button", { name: 'SELECT * FROM "single"', exact: true }).click();
  await page.getByText("becomes Scan: reads its one item, 0.5 RCU").waitFor();
  await page.goto(`${server.home}query?table=single`);
  await page.getByText("so this is a Scan: its one item is read").waitFor();
  await close(page);
});
