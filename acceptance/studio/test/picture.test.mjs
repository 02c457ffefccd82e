// A model as a picture beside its text: chosen in one and shown in the other, edited by form, kept, and compared.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { accessible, close, loadExample, open, serve } from "../studio.mjs";

const server = await serve("--in-memory");
const text = await loadExample(server);
await loadExample(server, "leaderboard");
const address = `${server.home}model/order-management/picture`;
const picture = (page) => page.getByRole("application", { name: /^Picture of/ });
const chip = (page, id) => picture(page).locator(".choosable", { hasText: new RegExp(`^${id}:`) });
const saved = async (page, name) => {
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("group", { name: "Save" }).getByRole("button", { name }).click()]);
  return readFileSync(await download.path(), "utf8");
};

test("what is chosen in the picture is shown in the file, and the other way round", async () => {
  const page = await open(address, { width: 1440, height: 900 });
  await chip(page, "A4").click();
  await page.getByRole("region", { name: "A4" }).getByText("A customer's orders in one status").waitFor();
  const line = page.locator(".cm-activeLine");
  assert.match(await line.innerText(), /^\s*A4:/);
  await picture(page).focus();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("region", { name: "Order", exact: true }).or(page.getByRole("region", { name: "A5" })).first().waitFor();
  await line.click();
  await page.keyboard.press("Control+Home");
  for (let lines = 0; lines < 40; lines++) await page.keyboard.press("ArrowDown");
  await page.getByRole("region", { name: "OrderHeader" }).or(page.getByRole("region", { name: "Order", exact: true })).first().waitFor();
  await page.getByText("if the file’s rates held all month").waitFor();
  await accessible(page, "a picture");
  await close(page);
});

test("an entity, an attribute and a pattern are added by form, comments stay, and a reload keeps the draft", async () => {
  const page = await open(address, { width: 1440, height: 900, theme: "dark" });
  await page.getByRole("button", { name: "+ Entity" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Invoice");
  await page.getByLabel("Template of PK").fill("CUST#{customerId}");
  await page.getByLabel("Template of SK").fill("INVOICE#{invoiceId}");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await picture(page).getByText("INVOICE#{invoiceId}").waitFor();
  await page.getByRole("button", { name: "+ Attribute" }).click();
  await page.getByLabel("Of", { exact: true }).selectOption("Invoice");
  await page.getByLabel("Name", { exact: true }).fill("dueAt");
  await page.getByLabel("Type").selectOption("timestamp");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("button", { name: "+ Pattern" }).click();
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "A8");
  await page.getByLabel("What it is for").fill("A customer's invoices");
  await page.getByLabel("With").selectOption("Invoice");
  await page.getByLabel("By these attributes").fill("customerId");
  await page.getByLabel("Requests each second").fill("10");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await chip(page, "A8").waitFor();
  await page.getByText("not saved").waitFor();
  await accessible(page, "a picture that was edited");
  await page.reload();
  await chip(page, "A8").waitFor();
  await page.getByText("not saved").waitFor();
  await page.getByRole("button", { name: /^Save/ }).click();
  await page.getByText("not saved").waitFor({ state: "detached" });
  const { text: file } = await server.post("file/order-management", {});
  assert.match(file, /  Invoice:\n    key: \{ PK: "CUST#\{customerId\}", SK: "INVOICE#\{invoiceId\}" \}\n    count: 1K\n    size: 500 B\n    attributes:\n      dueAt: timestamp\n/);
  for (const line of text.split("\n")) assert.ok(file.split("\n").includes(line), `a line is lost: ${line}`);
  const { findings } = await server.post("model/check", { text: file });
  assert.deepEqual(findings.filter((one) => one.level === "error"), []);
  await server.post("file/order-management", { text, hash: (await server.post("file/order-management", {})).hash });
  await close(page);
});

test("an index is added by form: a new one, and one that other items are in", async () => {
  const page = await open(address);
  const form = page.getByRole("dialog", { name: "New index" });
  await page.getByRole("button", { name: "+ Index" }).click();
  assert.equal(await form.getByLabel("Name", { exact: true }).inputValue(), "GSI3");
  await form.getByLabel("For the items of").selectOption("Customer");
  await form.getByLabel("Template of GSI3PK").fill("EMAIL#{email}");
  await form.getByLabel("What it holds").selectOption("keys");
  await accessible(page, "a new index");
  await form.getByRole("button", { name: "Add", exact: true }).click();
  await picture(page).getByText("EMAIL#{email}").first().waitFor({ state: "attached" });
  await page.getByRole("button", { name: "+ Index" }).click();
  await form.getByLabel("Name", { exact: true }).fill("GSI1");
  await form.getByText("GSI1 is there already: these items join it.").waitFor();
  // What is there twice is refused, and the file stays as it is.
  await form.getByLabel("For the items of").selectOption("Order");
  await form.getByLabel("Template of GSI1PK").fill("ORDER#{orderId}");
  await form.getByRole("button", { name: "Add", exact: true }).click();
  await form.getByText("GSI1 is there already.", { exact: true }).waitFor();
  await form.getByLabel("For the items of").selectOption("OrderHeader");
  await form.getByLabel("Template of GSI1SK").fill("META");
  await form.getByLabel("Only items of which this is true").fill("status = OPEN");
  await form.getByRole("button", { name: "Add", exact: true }).click();
  await form.waitFor({ state: "detached" });
  await page.getByRole("button", { name: /^Save/ }).click();
  await page.getByText("not saved").waitFor({ state: "detached" });
  const { text: file, hash } = await server.post("file/order-management", {});
  for (const line of ['    indexes:\n      GSI3: { GSI3PK: "EMAIL#{email}" }', '    indexes:\n      GSI1: { when: "status = OPEN", GSI1PK: "ORDER#{orderId}", GSI1SK: META }', "  GSI2: { project: keys }\n  GSI3: { project: keys }"]) assert.ok(file.includes(line), `${line} is missing from ${file}`);
  for (const line of text.split("\n")) assert.ok(file.split("\n").includes(line), `a line is lost: ${line}`);
  const { findings } = await server.post("model/check", { text: file });
  assert.deepEqual(findings.filter((one) => one.level === "error"), []);
  await server.post("file/order-management", { text, hash });
  await close(page);
});

test("a picture is kept as SVG that opens alone, and a document has it with every pattern", async () => {
  const page = await open(address, { width: 1440, height: 900 });
  await chip(page, "A1").waitFor();
  await page.getByText("7 of 7 proven").waitFor();
  const svg = await saved(page, "SVG");
  assert.match(svg, /^<svg[^>]+xmlns="http:\/\/www.w3.org\/2000\/svg"/);
  assert.ok(!svg.includes("var(--"), "no colour of the page is missing elsewhere");
  const document = await saved(page, "Markdown");
  for (const part of ["# order-management", "data:image/svg+xml;base64,", "## Table app-main", "### LineItem", "| A7 | Ship an order |", "proven"]) assert.ok(document.includes(part), part);
  await close(page);
});

test("a file that is broken leaves the last picture, with what is wrong", async () => {
  const page = await open(address, { width: 1440, height: 900 });
  await chip(page, "A1").waitFor();
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("entities: [\n");
  await page.getByText("The file is no model at the moment").waitFor();
  await chip(page, "A1").waitFor();
  await page.getByRole("button", { name: "Discard" }).click();
  await page.getByText("The file is no model at the moment").waitFor({ state: "detached" });
  await close(page);
});

test("every example is drawn without one box over another", async () => {
  const folder = new URL("../../../examples/models/", import.meta.url);
  const page = await open(`${server.home}`, { width: 1440, height: 900 });
  for (const file of readdirSync(folder).filter((one) => /^m\d\d.*yaml$/.test(one))) {
    const name = file.replace(".yaml", "");
    await server.post(`file/${name}`, { text: readFileSync(new URL(file, folder), "utf8") });
    await page.goto(`${server.home}model/${name}/picture?view=picture`);
    await picture(page).waitFor();
    const overlaps = await picture(page).evaluate((svg) => {
      const boxes = [...svg.querySelectorAll(".choosable")].map((one) => {
        const rects = [...one.querySelectorAll(":scope > rect")];
        const [x, y] = [Math.min(...rects.map((rect) => rect.x.baseVal.value)), Math.min(...rects.map((rect) => rect.y.baseVal.value))];
        return [x, y, Math.max(...rects.map((rect) => rect.x.baseVal.value + rect.width.baseVal.value)), Math.max(...rects.map((rect) => rect.y.baseVal.value + rect.height.baseVal.value)), one.textContent.slice(0, 30)];
      });
      const meets = (one, other) => one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
      return boxes.flatMap((one, at) => boxes.slice(at + 1).filter((other) => meets(one, other)).map((other) => `${one[4]} / ${other[4]}`));
    });
    assert.deepEqual(overlaps, [], name);
  }
  await close(page);
});

test("a new model is made with a button, applied, and its table knows it", async () => {
  // Without the examples, of which one has the same table.
  const fresh = await serve("--in-memory");
  const page = await open(fresh.home, { width: 1440, height: 900 });
  await page.getByRole("link", { name: "New model" }).first().click();
  await page.getByLabel("Name").fill("mine");
  await page.getByLabel("Begin with").selectOption("device-readings");
  await accessible(page, "a new model");
  await page.getByRole("button", { name: "Make the model" }).click();
  await picture(page).waitFor();
  await page.getByRole("navigation", { name: "Model" }).getByRole("link", { name: "Migration" }).click();
  await page.getByRole("button", { name: /^Apply/ }).click();
  await page.getByRole("contentinfo").getByText("mine is saved.").or(page.getByText("Is what the model says.")).first().waitFor();
  await page.getByText("Is what the model says.").waitFor();
  const { tables } = await fresh.post("model/plan", { text: (await fresh.post("file/mine", {})).text });
  await page.goto(`${fresh.home}table/${tables[0].name}`);
  await page.getByText("model: mine").waitFor();
  await close(page);
});

test("two models are seen side by side, with what differs", async () => {
  const page = await open(`${server.home}compare?one=order-management&other=leaderboard`, { width: 1440, height: 900 });
  await page.getByRole("application").nth(1).waitFor();
  await page.getByRole("row", { name: /A month at the files’ rates \$/ }).waitFor();
  await accessible(page, "two models");
  await close(page);
});
