// Items as a daily tool: reads that go to the end, filters with types, new items, nested values, columns, selection,
// files in and out.

import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, changes, close, field, inspector, loadExample, open, openItem, plainTable, readBar, row, rows, said, serve } from "../studio.mjs";

const server = await serve("--capacity", "off");
await loadExample(server);
const ITEMS = 12_000;
await plainTable(server, "people");
for (let from = 0; from < ITEMS; from += 25) {
  const put = (at) => ({ PutRequest: { Item: { id: { S: `person-${at}` }, age: { N: String(at % 1714 === 3 ? 5 : 20 + (at % 60)) }, name: { S: `Name ${at}` }, active: { BOOL: at % 2 === 0 } } } });
  await server.call("BatchWriteItem", { RequestItems: { people: Array.from({ length: 25 }, (_, at) => put(from + at)) } });
}
const FIVES = Array.from({ length: ITEMS }, (_, at) => at).filter((at) => at % 1714 === 3).length;
const people = `${server.home}table/people`;
const toolbar = (page) => page.getByRole("toolbar", { name: "Items" });

async function filter(page, attribute, operator, value) {
  await page.getByRole("button", { name: "+ filter" }).click();
  await page.getByLabel("Attribute", { exact: true }).last().fill(attribute);
  await page.getByLabel("Operator").last().selectOption(operator);
  if (value !== undefined) await page.getByLabel("Value 1").last().fill(value);
}

test("a filter finds everything to the last item, and says how much it examined", async () => {
  const page = await open(people);
  await rows(page).first().waitFor();
  await filter(page, "age", "=", "5");
  // The type comes from the items that were read, and stays when the value is erased.
  assert.equal(await page.getByLabel("Type of the value").inputValue(), "N");
  await page.getByLabel("Value 1").fill("");
  assert.equal(await page.getByLabel("Type of the value").inputValue(), "N");
  await page.getByLabel("Value 1").fill("5");
  await page.locator(".expr .fn, .expr .mono", { hasText: "age = :age" }).first().waitFor();
  await page.keyboard.press("Enter");
  await readBar(page).getByText(`Complete: examined 12,000 · ${FIVES} found`).waitFor();
  assert.equal(await rows(page).count(), FIVES);
  assert.match(page.url(), /%7B%22N%22%3A%225%22%7D/);
  await close(page);
});

test("a read is stopped and continued, and never says that there is nothing before its end", async () => {
  const page = await open(people);
  await rows(page).first().waitFor();
  await filter(page, "age", "=", "4");
  await page.locator(".expr .mono", { hasText: "age = :age" }).first().waitFor();
  // The second request waits until the reader has seen where the read is, and stopped it.
  let release;
  const released = new Promise((done) => (release = done));
  let scans = 0;
  await page.route("**/call/Scan", async (route) => {
    if (++scans === 2) await released;
    await route.continue();
  });
  await page.keyboard.press("Enter");
  await readBar(page).getByRole("button", { name: "Stop" }).click();
  assert.equal(await page.getByText("Nothing was found").count(), 0);
  release();
  await readBar(page).getByText(/^Stopped: examined [\d,]+ of about 12,000 · 0 found$/).waitFor();
  await page.getByText("that is not all of them").waitFor();
  assert.equal(await page.getByText("Nothing was found").count(), 0);
  await readBar(page).getByRole("button", { name: "Continue" }).click();
  await readBar(page).getByText("Complete: examined 12,000 · 0 found").waitFor();
  await page.getByText("Nothing was found.").waitFor();
  await close(page);
});

test("a limit ends a read, and the next page begins where it ended", async () => {
  const page = await open(`${people}?limit=30`);
  await readBar(page).getByText("Your limit ended the read: 30 items").waitFor();
  await readBar(page).getByRole("button", { name: "Next 30" }).click();
  await readBar(page).getByText("Your limit ended the read: 60 items").waitFor();
  await close(page);
});

test("a new item asks for what the model needs, and its keys follow", async () => {
  const page = await open(`${server.home}table/app-main`);
  await rows(page).first().waitFor();
  await toolbar(page).getByRole("button", { name: "+ New item" }).click();
  await field(page, "tier").waitFor();
  await inspector(page).getByRole("button", { name: "Order", exact: true }).click();
  await field(page, "orderId").waitFor();
  assert.equal(await field(page, "tier").count(), 0, "what the model gave to a customer is not an order's");
  await field(page, "customerId").fill("customer-0099");
  await field(page, "orderId").fill("order-9001");
  await field(page, "createdAt").fill("2026-11-18T14:12:09Z");
  await field(page, "total").fill("12O");
  await changes(page).getByText("This is no number.").waitFor();
  assert.ok(await changes(page).getByRole("button", { name: /^Write/ }).isDisabled());
  await field(page, "total").fill("120");
  await inspector(page).getByText("CUST#customer-0099#OPEN").waitFor();
  await page.locator("#base .row", { hasText: "new" }).first().waitFor();
  await accessible(page, "a new item");
  await changes(page).getByRole("button", { name: /^Write for/ }).click();
  await said(page).getByText("CUST#customer-0099 added").waitFor();
  const { Items } = await server.call("Query", { TableName: "app-main", KeyConditionExpression: "PK = :p", ExpressionAttributeValues: { ":p": { S: "CUST#customer-0099" } } });
  assert.equal(Items[0].SK.S, "ORDER#2026-11-18T14:12:09Z#order-9001");
  assert.equal(Items[0].total.N, "120");
  await close(page);
});

test("values six deep are made and changed in the form, without DynamoDB JSON", async () => {
  await plainTable(server, "deep");
  const page = await open(`${server.home}table/deep`);
  await page.getByText("No items yet.").waitFor();
  await page.getByRole("button", { name: "+ New item" }).first().click();
  await field(page, "id").fill("nested");
  const adding = inspector(page).getByRole("group", { name: "New attribute" });
  await adding.getByLabel("Name").fill("a");
  await adding.getByLabel("Type").selectOption("M");
  await adding.getByRole("button", { name: "Add the attribute" }).click();
  let path = "a";
  const opened = async (name) => {
    const closed = inspector(page).getByRole("button", { name: `Open ${name}`, exact: true });
    await inspector(page).getByRole("button", { name: new RegExp(`^(Open|Close) ${name.replaceAll(/[.[\]]/g, "\\$&")}$`) }).waitFor();
    if (await closed.count()) await closed.click();
  };
  for (const name of ["b", "c", "d", "e"]) {
    await opened(path);
    await inspector(page).getByRole("button", { name: `+ entry of ${path}`, exact: true }).click();
    await inspector(page).getByLabel(`Name of the new entry of ${path}`).fill(name);
    await page.keyboard.press("Enter");
    path += `.${name}`;
    await inspector(page).getByLabel(`Type of ${path}`, { exact: true }).selectOption("M");
  }
  await opened(path);
  await inspector(page).getByRole("button", { name: `+ entry of ${path}`, exact: true }).click();
  await inspector(page).getByLabel(`Name of the new entry of ${path}`).fill("f");
  await page.keyboard.press("Enter");
  await inspector(page).getByLabel(`Type of ${path}.f`, { exact: true }).selectOption("L");
  await inspector(page).getByRole("button", { name: `+ entry of ${path}.f`, exact: true }).click();
  await field(page, `${path}.f[0]`).fill("at the bottom");
  await changes(page).getByRole("button", { name: /^Write for/ }).click();
  await said(page).getByText("nested added").waitFor();
  const stored = { id: { S: "nested" }, a: { M: { b: { M: { c: { M: { d: { M: { e: { M: { f: { L: [{ S: "at the bottom" }] } } } } } } } } } } } };
  assert.deepEqual((await server.call("GetItem", { TableName: "deep", Key: { id: { S: "nested" } } })).Item, stored);
  // The whole item as plain JSON: sets and binaries are marked, and the form shows the same draft.
  await inspector(page).getByRole("button", { name: "JSON", exact: true }).click();
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText('{ "id": "nested", "tags": {"$set": ["x", "y"]}, "big": 12345678901234567890.123456789012345678 }');
  await inspector(page).getByRole("button", { name: "Form", exact: true }).click();
  assert.equal(await field(page, "big").inputValue(), "12345678901234567890.123456789012345678");
  await changes(page).getByRole("button", { name: /^Write for/ }).click();
  // The words of the write before this one stand there until then.
  await said(page).getByText(/big none → .* as predicted/).waitFor();
  const now = (await server.call("GetItem", { TableName: "deep", Key: { id: { S: "nested" } } })).Item;
  assert.deepEqual(Object.keys(now).sort(), ["big", "id", "tags"]);
  assert.deepEqual([...now.tags.SS].sort(), ["x", "y"]);
  await close(page);
});

test("an item is duplicated under another key, and one that is there is not overwritten", async () => {
  const page = await open(`${server.home}table/deep`);
  await openItem(page, "nested");
  await inspector(page).getByRole("button", { name: "Duplicate" }).click();
  await inspector(page).getByText("New item").waitFor();
  await changes(page).getByText("This item is not what you read.").waitFor();
  await field(page, "id").fill("copy");
  await changes(page).getByRole("button", { name: /^Write for/ }).click();
  await said(page).getByText("copy added").waitFor();
  assert.ok((await server.call("GetItem", { TableName: "deep", Key: { id: { S: "copy" } } })).Item);
  await close(page);
});

test("several items are pasted as CSV or JSON, with types, a report for lines that can't be read, and drafts", async () => {
  await plainTable(server, "pasted");
  const page = await open(`${server.home}table/pasted`);
  await page.getByText("No items yet.").waitFor();
  await toolbar(page).getByRole("button", { name: "Import" }).click();
  const dialog = page.getByRole("dialog", { name: "Items into pasted" });
  const source = dialog.getByLabel("Items as JSON or CSV");
  await source.fill('id,total,zip\na,12,01234\nb,13.5,"x, y"\n');
  await dialog.getByText("2 items", { exact: false }).first().waitFor();
  assert.equal(await dialog.getByLabel("Type of total").inputValue(), "N");
  assert.equal(await dialog.getByLabel("Type of zip").inputValue(), "S");
  await accessible(page, "an import");
  await dialog.getByRole("button", { name: "Write 2 items" }).click();
  await dialog.getByText("2 items written", { exact: false }).waitFor();
  // What is there is kept.
  await source.fill('{"id": "a", "total": 99}\n{"id": "c", "list": [1, {"deep": true}]}\n{"id": }\n');
  await dialog.getByText("1 line can’t be read", { exact: false }).waitFor();
  await dialog.getByText(/^Line 3: /).waitFor();
  await dialog.getByRole("button", { name: "Write 2 items" }).click();
  await dialog.getByText("1 item written", { exact: false }).waitFor();
  await dialog.getByText("1 kept as they were", { exact: false }).waitFor();
  // DynamoDB JSON, as a draft.
  await source.fill('[{"id": {"S": "d"}, "tags": {"SS": ["x"]}}, {"id": {"S": "e"}}]');
  await dialog.getByRole("button", { name: "As a draft" }).click();
  await changes(page).getByText("2 changes in 2 items").waitFor();
  await changes(page).getByRole("button", { name: /^Write for/ }).click();
  await said(page).getByText("Written: 2 items").waitFor();
  const { Items } = await server.call("Scan", { TableName: "pasted" });
  const by = Object.fromEntries(Items.map((item) => [item.id.S, item]));
  assert.deepEqual(by.a, { id: { S: "a" }, total: { N: "12" }, zip: { S: "01234" } });
  assert.deepEqual(by.b.zip, { S: "x, y" });
  assert.deepEqual(by.c.list, { L: [{ N: "1" }, { M: { deep: { BOOL: true } } }] });
  assert.deepEqual(by.d.tags, { SS: ["x"] });
  await close(page, { refusals: 1 });
});

async function textOf(download) {
  let text = "";
  for await (const chunk of await download.createReadStream()) text += chunk;
  return text;
}

test("a file that is dropped on the rows is looked at before it is imported", async () => {
  await plainTable(server, "dropped-on");
  const page = await open(`${server.home}table/dropped-on`);
  await page.getByText("No items yet.").waitFor();
  await page.evaluate(() => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(['{"id": "a", "n": 1}\n{"id": "b", "n": 2}\n'], "two.jsonl"));
    document.querySelector(".work").dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer }));
  });
  const dialog = page.getByRole("dialog", { name: "Items into dropped-on" });
  await dialog.getByText("two.jsonl").waitFor();
  await accessible(page, "an import");
  await dialog.getByRole("button", { name: "Write 2 items" }).click();
  await dialog.getByText(/^2 items written for 2 WCU/).waitFor();
  await close(page);
});

test("a whole table is exported as DynamoDB JSON and as CSV, and a file comes back in", async () => {
  const page = await open(people);
  await rows(page).first().waitFor();
  await toolbar(page).getByRole("button", { name: "Export", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Export people" });
  const [json] = await Promise.all([page.waitForEvent("download"), dialog.getByRole("button", { name: /^Export for about [\d.]+ RCU$/ }).click()]);
  const lines = (await textOf(json)).trim().split("\n");
  assert.equal(lines.length, ITEMS);
  assert.ok(JSON.parse(lines[0]).Item.id.S);
  await dialog.getByText("12,000 items,", { exact: false }).waitFor();
  await dialog.getByLabel("CSV").check();
  const [csv] = await Promise.all([page.waitForEvent("download"), dialog.getByRole("button", { name: /^Export again/ }).click()]);
  const table = (await textOf(csv)).trim().split("\r\n");
  assert.equal(table.length, ITEMS + 1);
  assert.deepEqual(table[0].split(",").sort(), ["active", "age", "id", "name"]);
  await close(page);

  await plainTable(server, "again");
  const other = await open(`${server.home}table/again`);
  await other.getByText("No items yet.").waitFor();
  await toolbar(other).getByRole("button", { name: "Import" }).click();
  const into = other.getByRole("dialog", { name: "Items into again" });
  await into.locator('input[type="file"]').setInputFiles({ name: "people.jsonl", mimeType: "application/jsonl", buffer: Buffer.from(`${lines.slice(0, 2000).join("\n")}\n`) });
  await into.getByLabel("They are overwritten").check();
  await into.getByRole("button", { name: "Write 2,000 items" }).click();
  await into.getByText("2,000 items written for", { exact: false }).waitFor();
  const { Count } = await server.call("Scan", { TableName: "again", Select: "COUNT" });
  assert.equal(Count, 2000);
  await close(other);
});

const columnNames = (page) => page.locator("#base .cols > span").evaluateAll((all) => all.map((one) => one.textContent.replace(/[ ↑↓]+$/, "")).filter(Boolean));

test("columns are chosen, moved and made wider, and stay so", async () => {
  const page = await open(`${server.home}table/app-main`, { width: 1440, height: 900 });
  // Until all of the first read is there, more columns come with its items.
  await said(page).getByText(/ items held, /).waitFor();
  const shown = (await columnNames(page)).filter((name) => !["Entity", "SK", "size"].includes(name));
  assert.ok(shown.length >= 6, shown.join(", "));
  const header = (name) => page.locator("#base .cols > span", { has: page.getByRole("button", { name, exact: true }) });
  // Six columns of attributes are whole within the window.
  const last = await header(shown[5]).boundingBox();
  assert.ok(last.x + last.width < 1440, `${last.x} px`);
  await page.getByRole("button", { name: /^Columns/ }).click();
  const choice = page.getByRole("dialog", { name: "Columns" });
  await choice.getByRole("listitem").filter({ hasText: /^⠿\s*total/ }).getByRole("checkbox").uncheck();
  await choice.getByRole("listitem").filter({ hasText: /status/ }).getByRole("checkbox").focus();
  await page.keyboard.press("Alt+ArrowDown");
  await accessible(page, "the choice of columns");
  await page.keyboard.press("Escape");
  const names = await columnNames(page);
  assert.ok(!names.includes("total"));
  assert.equal(names.indexOf("status"), names.indexOf(shown.find((name) => !["status", "total"].includes(name))) + 1);
  const grip = await page.locator('#base .grip[data-column="status"]').boundingBox();
  const before = (await header("status").boundingBox()).width;
  await page.mouse.move(grip.x + 4, grip.y + 8);
  await page.mouse.down();
  await page.mouse.move(grip.x + 84, grip.y + 8, { steps: 4 });
  await page.mouse.up();
  const after = (await header("status").boundingBox()).width;
  assert.ok(Math.abs(after - before - 80) < 3, `${before} → ${after}`);
  await page.reload();
  await rows(page).first().waitFor();
  assert.deepEqual(await columnNames(page), names);
  assert.equal((await header("status").boundingBox()).width, after);
  await close(page);
});

test("rows are selected with the mouse, a range with Shift, all with Ctrl A", async () => {
  const page = await open(`${server.home}table/app-main?pk=ORDER%23order-0001`);
  await rows(page).first().waitFor();
  const count = await rows(page).count();
  await rows(page).nth(0).getByRole("checkbox").click();
  await rows(page).nth(2).click({ modifiers: ["Shift"], position: { x: 500, y: 10 } });
  await toolbar(page).getByText("3 items selected").waitFor();
  await rows(page).nth(1).click({ modifiers: ["ControlOrMeta"], position: { x: 500, y: 10 } });
  await toolbar(page).getByText("2 items selected").waitFor();
  await page.locator("#base .scroll").focus();
  await page.keyboard.press("Control+a");
  await toolbar(page).getByText(`${count} items selected`).waitFor();
  await accessible(page, "a selection");
  const [download] = await Promise.all([page.waitForEvent("download"), toolbar(page).getByRole("button", { name: "Export as JSON" }).click()]);
  assert.equal((await textOf(download)).trim().split("\n").length, count);
  await page.keyboard.press("Escape");
  await toolbar(page).getByRole("button", { name: "+ New item" }).waitFor();
  await close(page);
});

test("a scalar is changed in its cell, and the focus goes back to the rows", async () => {
  const page = await open(`${server.home}table/app-main?pk=CUST%23customer-0003`);
  const line = await row(page, "PROFILE");
  const before = await server.call("GetItem", { TableName: "app-main", Key: { PK: { S: "CUST#customer-0003" }, SK: { S: "PROFILE" } } });
  await line.getByText(before.Item.email.S).dblclick();
  await page.getByLabel("email, S").fill("new@example.org");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.closest("#base .scroll"));
  await line.getByText("new@example.org").waitFor();
  await changes(page).getByRole("button", { name: /^Write for/ }).waitFor();
  await page.keyboard.press("Control+s");
  await said(page).getByText("as predicted").waitFor();
  const { Item } = await server.call("GetItem", { TableName: "app-main", Key: { PK: { S: "CUST#customer-0003" }, SK: { S: "PROFILE" } } });
  assert.equal(Item.email.S, "new@example.org");
  await close(page);
});

test("sorted rows keep their partition key in view, and one item is one item", async () => {
  const page = await open(`${server.home}table/app-main`);
  await rows(page).first().waitFor();
  await page.locator("#base").getByRole("button", { name: "status", exact: true }).click();
  await page.locator("#base .cols").getByText("PK", { exact: true }).waitFor();
  assert.match(await rows(page).first().innerText(), /(CUST|ORDER)#/);
  await page.goto(`${people}?pk=person-1`);
  await readBar(page).getByText("Complete: 1 item", { exact: false }).waitFor();
  await close(page);
});

test("splitters move with the mouse and the arrows, and stay where they were put", async () => {
  const page = await open(`${server.home}table/app-main`, { width: 1440, height: 900 });
  await rows(page).first().waitFor();
  await page.getByRole("toolbar", { name: "Beside the rows" }).getByRole("button", { name: "GSI1" }).click();
  const splitter = page.getByRole("separator", { name: "Between the table and its indexes" });
  const before = await splitter.boundingBox();
  await page.mouse.move(before.x + 4, before.y + 200);
  await page.mouse.down();
  await page.mouse.move(before.x - 146, before.y + 200, { steps: 4 });
  await page.mouse.up();
  const dragged = (await splitter.boundingBox()).x;
  assert.ok(Math.abs(dragged - before.x + 150) < 6, `${before.x} → ${dragged}`);
  await splitter.focus();
  await page.keyboard.press("ArrowRight");
  const moved = (await splitter.boundingBox()).x;
  assert.ok(moved > dragged + 10);
  await page.reload();
  await page.locator("#pane-GSI1").waitFor();
  assert.ok(Math.abs((await splitter.boundingBox()).x - moved) < 2);
  await accessible(page, "an index beside the table");
  await close(page);
});

test("a query has pages and a link that shows the same, and its code goes to this server", async () => {
  const page = await open(`${server.home}query?table=people`);
  await page.getByText("so this is a Scan").waitFor();
  await page.getByLabel("Limit").fill("100");
  await page.getByRole("button", { name: "+ filter" }).click();
  await page.getByLabel("Attribute", { exact: true }).fill("active");
  await page.getByLabel("Type of the value").selectOption("BOOL");
  await page.getByLabel("Value 1").selectOption("true");
  await page.locator(".expr .mono", { hasText: "active = :active" }).first().waitFor();
  await page.getByRole("button", { name: /^Run/ }).click();
  await page.getByText("not finished, 1 page", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Next page" }).click();
  await page.getByText("not finished, 2 pages").waitFor();
  await page.getByText("200 examined").waitFor();
  const copied = await open(page.url());
  await copied.getByText("not finished, 1 page", { exact: true }).waitFor();
  assert.equal(await copied.getByLabel("Limit").inputValue(), "100");
  await close(copied);
  await page.getByRole("tab", { name: "Code" }).click();
  await page.getByRole("button", { name: "CLI", exact: true }).click();
  await page.getByLabel("Code in cli").filter({ hasText: `--endpoint-url ${server.origin}` }).waitFor();
  await close(page);
});

test("all reads of the board run on a table that is larger than a sample", async () => {
  for (let from = 0; from < 5000; from += 25)
    await server.call("BatchWriteItem", { RequestItems: { "app-main": Array.from({ length: 25 }, (_, at) => ({ PutRequest: { Item: { PK: { S: `CUST#many-${from + at}` }, SK: { S: "PROFILE" }, customerId: { S: `many-${from + at}` }, name: { S: "Many" }, tier: { S: "FREE" }, email: { S: "many@example.org" }, createdAt: { S: "2026-01-01T00:00:00Z" } } } })) } });
  const page = await open(`${server.home}model/order-management/patterns/A2`);
  await page.getByRole("button", { name: "Run all reads" }).click();
  await said(page).getByText("5 of 5 reads are as expected.").waitFor();
  await close(page);
});

for (const [width, height] of [[1200, 800], [2560, 1300], [390, 844]])
  test(`at ${width} pixels the change can be written, and nothing scrolls sideways but the rows`, async () => {
    const page = await open(`${server.home}table/app-main?pk=CUST%23customer-0004`, { width, height });
    await openItem(page, "PROFILE");
    await field(page, "name").fill(`Ada ${width}`);
    const write = changes(page).getByRole("button", { name: /^Write for/ });
    await write.waitFor();
    const box = await write.boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= width && box.y + box.height <= height, JSON.stringify(box));
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
    await accessible(page, `an item at ${width} pixels`);
    await write.click();
    await changes(page).getByText(/^Written for/).waitFor();
    await said(page).getByText("as predicted").waitFor();
    await close(page);
  });
