// Changing data: the change, its condition and its price come first; a conflict shows both sides; undo is a write too.

import assert from "node:assert/strict";
import { test } from "node:test";
import { changes, close, field, inspector, loadExample, open, openItem, rows, said, serve } from "../studio.mjs";

const server = await serve();
await loadExample(server);
const collection = `${server.home}table/app-main?pk=CUST%23customer-0002`;
const profile = { PK: { S: "CUST#customer-0002" }, SK: { S: "PROFILE" } };
const read = async (key) => (await server.call("GetItem", { TableName: "app-main", Key: key })).Item;

async function change(page, attribute, value) {
  await field(page, attribute).fill(value);
}

test("an order is shipped: the way through the indexes and the units are shown, then charged", async () => {
  const page = await open(collection);
  await openItem(page, "order-0007");
  await change(page, "status", "SHIPPED");
  await inspector(page).getByText("→ 43, as the model’s writers do").waitFor();
  await inspector(page).getByText("when its attributes are there").or(inspector(page).getByText("removed")).first().waitFor();
  await changes(page).getByRole("button", { name: "Review" }).click();
  const review = page.getByRole("dialog", { name: "What will be written" });
  await review.getByText("GSI1 moves the item, GSI2 loses the item.").waitFor();
  await review.getByText("version is raised, as the model's writers do.").waitFor();
  await review.getByRole("button", { name: "Close" }).click();
  await changes(page).getByRole("button", { name: "Write for 4 WCU" }).click();
  await said(page).getByText("4 WCU, as predicted").waitFor();
  await changes(page).getByText("Written for 4 WCU").waitFor();
  const [item] = (await server.call("Query", { TableName: "app-main", KeyConditionExpression: "PK = :p AND begins_with(SK, :s)", FilterExpression: "orderId = :o", ExpressionAttributeValues: { ":p": profile.PK, ":s": { S: "ORDER#" }, ":o": { S: "order-0007" } } })).Items;
  assert.equal(item.status.S, "SHIPPED");
  assert.equal(item.GSI2PK, undefined);

  // Back to what was there, on the condition that what was written is still there.
  await changes(page).getByRole("button", { name: "Undo" }).click();
  await said(page).getByText("The opposite change is ready to be written.").waitFor();
  await changes(page).getByText("UpdateItem, only if").waitFor();
  await changes(page).getByRole("button", { name: "Write for 4 WCU" }).click();
  await said(page).getByText("4 WCU, as predicted").waitFor();
  await changes(page).getByText("Written for 4 WCU").waitFor();
  await close(page);
});

const settling = (page) => page.getByRole("dialog", { name: "Somebody changed this item" });

test("a rename that somebody else was faster with shows what was, what is and what the draft wants", async () => {
  const page = await open(collection);
  await openItem(page, "PROFILE");
  await change(page, "name", "Ada");
  await changes(page).getByRole("button", { name: /^Write for/ }).waitFor();
  const before = await read(profile);
  await server.call("PutItem", { TableName: "app-main", Item: { ...before, name: { S: "Grace" }, email: { S: "grace@example.org" } } });
  await changes(page).getByRole("button", { name: /^Write for/ }).click();
  const dialog = settling(page);
  const box = await dialog.boundingBox();
  assert.ok(box.width > 1000, `${box.width} px`);
  await dialog.getByRole("row", { name: /^name/ }).getByText("Grace").waitFor();
  await dialog.getByRole("row", { name: /^name/ }).getByText("Ada").waitFor();
  assert.equal((await read(profile)).name.S, "Grace");
  // What both changed needs a choice; what only they changed is settled, and stays theirs.
  await dialog.getByText("1 left: name.", { exact: false }).waitFor();
  assert.ok(await dialog.getByRole("button", { name: "Settle", exact: true }).isDisabled());
  await dialog.getByRole("row", { name: /^name/ }).getByRole("radio").last().check();
  await dialog.getByRole("button", { name: "Settle", exact: true }).click();
  await changes(page).getByRole("button", { name: /^Write for/ }).click();
  await said(page).getByText("Grace → Ada").waitFor();
  const after = await read(profile);
  assert.equal(after.name.S, "Ada");
  assert.equal(after.email.S, "grace@example.org");
  await close(page, { refusals: 1 });
});

test("a change of what somebody else has changed already shows the conflict instead of a price", async () => {
  const page = await open(collection);
  await openItem(page, "PROFILE");
  const before = await read(profile);
  await server.call("PutItem", { TableName: "app-main", Item: { ...before, name: { S: "Edsger" } } });
  await change(page, "name", "Barbara");
  await changes(page).getByText("This item is not what you read.").waitFor();
  await changes(page).getByRole("button", { name: "Compare and settle" }).click();
  await settling(page).getByRole("button", { name: "Take all of mine" }).click();
  await settling(page).getByRole("button", { name: "Settle", exact: true }).click();
  await changes(page).getByRole("button", { name: /^Write for/ }).click();
  await said(page).getByText("Edsger → Barbara").waitFor();
  await close(page);
});

test("an item that somebody deleted is put again, or left deleted", async () => {
  const key = { PK: { S: "CUST#customer-0009" }, SK: { S: "PROFILE" } };
  await server.call("PutItem", { TableName: "app-main", Item: { ...key, name: { S: "Alan" } } });
  const page = await open(`${server.home}table/app-main?pk=CUST%23customer-0009`);
  await openItem(page, "PROFILE");
  await server.call("DeleteItem", { TableName: "app-main", Key: key });
  await change(page, "name", "Konrad");
  await changes(page).getByRole("button", { name: "Compare and settle" }).click();
  await page.getByText("Somebody deleted this item after you read it").waitFor();
  await settling(page).getByRole("button", { name: "Put it again" }).click();
  await changes(page).getByRole("button", { name: /^Write for/ }).click();
  await said(page).getByText("added").waitFor();
  assert.equal((await read(key)).name.S, "Konrad");
  await server.call("DeleteItem", { TableName: "app-main", Key: key });
  await close(page);
});

async function add(page, name, type, value) {
  const adding = inspector(page).getByRole("group", { name: "New attribute" });
  await adding.getByLabel("Name").fill(name);
  await adding.getByLabel("Type").selectOption(type);
  if (value !== undefined) await adding.getByLabel("Value").fill(value);
  await adding.getByRole("button", { name: "Add the attribute" }).click();
}

test("what the table can't take is shown with the reason, and can't be written", async () => {
  const page = await open(collection);
  await openItem(page, "PROFILE");
  await add(page, "GSI1PK", "N", "1");
  await changes(page).getByText("Type mismatch for Index Key GSI1PK", { exact: false }).waitFor();
  assert.ok(await changes(page).getByRole("button", { name: /^Write/ }).isDisabled());
  await changes(page).getByRole("button", { name: "Discard" }).click();
  await close(page);
});

test("attributes are added, retyped and removed; numbers keep 38 digits", async () => {
  const page = await open(collection);
  await openItem(page, "PROFILE");
  await add(page, "balance", "N", "12 pounds");
  await inspector(page).getByText("This is no number.").waitFor();
  const digits = "12345678901234567890.123456789012345678";
  await inspector(page).getByRole("group", { name: "New attribute" }).getByLabel("Value").fill(digits);
  await inspector(page).getByRole("button", { name: "Add the attribute" }).click();
  // Both views show one draft, with all digits.
  await inspector(page).getByRole("button", { name: "JSON", exact: true }).click();
  await page.locator(".cm-content").getByText(digits).waitFor();
  await inspector(page).getByRole("button", { name: "Form", exact: true }).click();
  await changes(page).getByRole("button", { name: /^Write for/ }).click();
  await said(page).getByText("as predicted").waitFor();
  assert.equal((await read(profile)).balance.N, digits);
  await field(page, "balance").fill("12 pounds");
  await changes(page).getByText("This is no number.").waitFor();
  assert.ok(await changes(page).getByRole("button", { name: /^Write/ }).isDisabled());
  await inspector(page).getByRole("button", { name: "Remove balance" }).click();
  await changes(page).getByRole("button", { name: /^Write for/ }).click();
  await said(page).getByText("removed").waitFor();
  assert.equal((await read(profile)).balance, undefined);
  await close(page);
});

test("several rows are deleted as one transaction, and come back with undo", async () => {
  const page = await open(`${server.home}table/app-main?pk=ORDER%23order-0001`);
  await rows(page).first().waitFor();
  const count = await rows(page).count();
  await rows(page).first().click();
  await page.locator("#base .scroll").focus();
  await page.keyboard.press("Space");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Space");
  await page.getByRole("toolbar", { name: "Items" }).getByText("2 items selected").waitFor();
  await page.keyboard.press("Delete");
  await changes(page).getByText("all 2 items are as they were read").waitFor();
  await changes(page).getByRole("button", { name: /^Write for/ }).click();
  await said(page).getByText("Written: 2 items").waitFor();
  await page.waitForFunction((left) => document.querySelectorAll("#base .row").length === left, count - 2);
  await page.keyboard.press("Control+z");
  await changes(page).getByRole("button", { name: /^Write for/ }).click();
  await page.waitForFunction((all) => document.querySelectorAll("#base .row").length === all, count);
  await close(page);
});

test("a draft stays when another table is opened and over a reload, and is gone with Discard", async () => {
  const page = await open(collection);
  await openItem(page, "PROFILE");
  await change(page, "email", "elsewhere@example.org");
  await changes(page).getByRole("button", { name: /^Write for/ }).waitFor();
  await page.getByRole("navigation", { name: "Studio" }).getByText("● 1").waitFor();
  await page.getByRole("link", { name: "PartiQL" }).click();
  await page.getByRole("heading", { name: "PartiQL" }).waitFor();
  await page.goBack();
  await changes(page).getByRole("button", { name: /^Write for/ }).waitFor();
  await page.reload();
  await changes(page).getByText("Customer customer-0002: email").waitFor();
  await page.getByRole("navigation", { name: "Table" }).getByRole("link", { name: "Structure" }).click();
  await changes(page).getByRole("button", { name: "Discard" }).click();
  await changes(page).waitFor({ state: "detached" });
  assert.notEqual((await read(profile)).email.S, "elsewhere@example.org");
  await close(page);
});

test("a table is deleted by somebody who writes its name", async () => {
  await server.call("CreateTable", { TableName: "throwaway", KeySchema: [{ AttributeName: "k", KeyType: "HASH" }], AttributeDefinitions: [{ AttributeName: "k", AttributeType: "S" }], BillingMode: "PAY_PER_REQUEST" });
  const page = await open(`${server.home}table/throwaway/structure`);
  await page.getByRole("button", { name: "Delete the table" }).click();
  const act = page.getByRole("button", { name: "Delete throwaway" });
  assert.ok(await act.isDisabled());
  await page.getByLabel("The table's name").fill("throwaway");
  await act.click();
  await said(page).getByText("throwaway is deleted.").waitFor();
  await close(page);
});
