// Items that try to break the page: they are shown as text, and nothing else happens.

import assert from "node:assert/strict";
import { test } from "node:test";
import { changes, close, field, inspector, open, openItem, rows, serve } from "../studio.mjs";

const server = await serve();
const text = (S) => ({ S });
const markup = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
const items = {
  markup: { value: text(markup), [markup]: text("a name of markup") },
  long: { value: text("x".repeat(350_000)) },
  digits: { value: { N: "-1.2345678901234567890123456789012345678E-120" } },
  rtl: { value: text("\u202emuq\u202c \u0627\u0644\u0639\u0631\u0628\u064a\u0629 \ud83d\ude00") },
  control: { value: text("a\u0000b\u0007c\u001b[31md\u2028e") },
  many: Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`attribute${at}`, { N: String(at) }])),
  binary: { value: { B: Buffer.from([0, 255, 1, 254]).toString("base64") }, set: { BS: ["AA==", "AQ=="] } },
  deep: { value: Array.from({ length: 30 }).reduce((inner) => ({ M: { "a.b[0]": inner } }), text("end")) },
  prototype: { __proto__x: text("plain"), constructor: text("a constructor"), toString: text("a method"), hasOwnProperty: text("own") },
  formula: { value: text("=HYPERLINK(1)") },
};
await server.call("CreateTable", {
  TableName: "hostile",
  KeySchema: [{ AttributeName: "k", KeyType: "HASH" }],
  AttributeDefinitions: [{ AttributeName: "k", AttributeType: "S" }],
  BillingMode: "PAY_PER_REQUEST",
});
for (const [name, item] of Object.entries(items)) await server.call("PutItem", { TableName: "hostile", Item: { k: text(name), ...item } });
// JSON.parse makes an own attribute of this name, an object literal would not.
const own = JSON.parse('{ "k": { "S": "own" }, "__proto__": { "S": "an attribute" } }');
await server.call("PutItem", { TableName: "hostile", Item: own });
await server.call("PutItem", { TableName: "hostile", Item: { k: text(markup) } });

test("every hostile item is listed, opened and shown as text", async () => {
  const page = await open(`${server.home}table/hostile`);
  await rows(page).first().waitFor();
  await page.waitForFunction((all) => document.querySelectorAll("#base .row").length === all, Object.keys(items).length + 2);
  for (const name of [...Object.keys(items), "own"]) {
    const id = JSON.stringify([text(name)]);
    await page.locator(`#base .row[data-item='${id}'] .sk`).click();
    await page.waitForFunction((name) => document.querySelector(".drawer .fr.key input, .drawer .fr.key textarea")?.value === name, name);
  }
  await page.locator("#base .row .sk").filter({ hasText: "<img" }).last().click();
  await inspector(page).getByText(markup, { exact: false }).first().waitFor();
  assert.equal(await page.locator("img").count(), 0);
  assert.notEqual(await page.title(), "owned");
  await close(page);
});

test("what can't be seen is shown by its number, and no line is turned round", async () => {
  const page = await open(`${server.home}table/hostile`);
  await page.locator("#base").getByText("\\u202emuq\\u202c", { exact: false }).waitFor();
  await page.locator("#base").getByText("a\\u0000b\\u0007c\\u001b[31md\\u2028e", { exact: false }).waitFor();
  await close(page);
});

test("an attribute called __proto__ is one like any other, and can be changed", async () => {
  const page = await open(`${server.home}table/hostile`);
  await page.locator(`#base .row[data-item='${JSON.stringify([text("own")])}'] .sk`).click();
  await field(page, "__proto__").fill("changed");
  // Through JSON and back it is still one.
  await inspector(page).getByRole("button", { name: "JSON", exact: true }).click();
  await page.locator(".cm-content").getByText('"__proto__": "changed"').waitFor();
  await changes(page).getByRole("button", { name: /^Write for/ }).click();
  await page.getByText("as predicted").waitFor();
  const { Item } = await server.call("GetItem", { TableName: "hostile", Key: { k: text("own") } });
  assert.equal(Object.getOwnPropertyDescriptor(Item, "__proto__").value.S, "changed");
  await close(page);
});

test("an item of 1,000 attributes stays short, and an export keeps formulas from running", async () => {
  const page = await open(`${server.home}table/hostile`);
  await openItem(page, "many");
  await inspector(page).getByText("800 more: see JSON.").waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: /^Find a table/ }).waitFor();
  await page.keyboard.type("as CSV");
  await page.locator("#command-0").filter({ hasText: "as CSV" }).waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Enter")]);
  const stream = await download.createReadStream();
  let csv = "";
  for await (const chunk of stream) csv += chunk;
  assert.match(csv, /'=HYPERLINK\(1\)/);
  await close(page);
});
