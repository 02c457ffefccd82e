// Changing data: the change, its condition and its price come first; a conflict shows both sides; undo is a write too.

import assert from "node:assert/strict";
import { test } from "node:test";
import { close, inspector, loadExample, open, row, rows, said, serve } from "../studio.mjs";

const server = await serve();
await loadExample(server);
const collection = `${server.home}table/app-main?pk=CUST%23customer-0002`;
const profile = { PK: { S: "CUST#customer-0002" }, SK: { S: "PROFILE" } };
const read = async (key) => (await server.call("GetItem", { TableName: "app-main", Key: key })).Item;

async function change(page, attribute, value) {
  await inspector(page).getByRole("button", { name: new RegExp(`^${attribute}: `) }).click();
  const field = inspector(page).getByLabel("Value", { exact: true });
  await field.fill(value);
  await field.press("Enter");
}

test("an order is shipped: the way through the indexes and the units are shown, then charged", async () => {
  const page = await open(collection);
  await (await row(page, "order-0007")).click();
  await change(page, "status", "SHIPPED");
  const tray = page.getByRole("region", { name: "This change" });
  await tray.getByText("GSI1 moves the item, GSI2 loses the item.").waitFor();
  await tray.getByText("version is raised, as the model's writers do.").waitFor();
  await tray.getByRole("button", { name: "Write for 4 WCU" }).click();
  await said(page).getByText("4 WCU, as predicted").waitFor();
  const [item] = (await server.call("Query", { TableName: "app-main", KeyConditionExpression: "PK = :p AND begins_with(SK, :s)", FilterExpression: "orderId = :o", ExpressionAttributeValues: { ":p": profile.PK, ":s": { S: "ORDER#" }, ":o": { S: "order-0007" } } })).Items;
  assert.equal(item.status.S, "SHIPPED");
  assert.equal(item.GSI2PK, undefined);

  await page.keyboard.press("Control+z");
  await page.getByRole("region", { name: "This change" }).getByText("GSI2 gains the item", { exact: false }).waitFor();
  await page.getByRole("button", { name: "Write for 4 WCU" }).click();
  await said(page).getByText("as predicted").waitFor();
  await close(page);
});

test("a rename that somebody else was faster with shows mine, theirs and before", async () => {
  const page = await open(collection);
  await (await row(page, "PROFILE")).click();
  await change(page, "name", "Ada");
  await page.getByRole("button", { name: /^Write for/ }).waitFor();
  const before = await read(profile);
  await server.call("PutItem", { TableName: "app-main", Item: { ...before, name: { S: "Grace" } } });
  await page.getByRole("button", { name: /^Write for/ }).click();
  const conflict = page.getByRole("alert").filter({ hasText: "The item is not what you read." });
  await conflict.getByRole("cell", { name: "Grace" }).waitFor();
  await conflict.getByRole("cell", { name: "Ada" }).waitFor();
  assert.equal((await read(profile)).name.S, "Grace");
  await conflict.getByRole("button", { name: "Mine on top of theirs" }).click();
  await page.getByRole("button", { name: /^Write for/ }).click();
  await said(page).getByText("Grace → Ada").waitFor();
  assert.equal((await read(profile)).name.S, "Ada");
  await close(page, { refusals: 1 });
});

test("a change of what somebody else has changed already shows the conflict instead of a price", async () => {
  const page = await open(collection);
  await (await row(page, "PROFILE")).click();
  const before = await read(profile);
  await server.call("PutItem", { TableName: "app-main", Item: { ...before, name: { S: "Edsger" } } });
  await change(page, "name", "Barbara");
  const conflict = page.getByRole("alert").filter({ hasText: "The item is not what you read." });
  await conflict.getByRole("cell", { name: "Edsger" }).waitFor();
  assert.ok(await page.getByRole("button", { name: "Write", exact: true }).isDisabled());
  await conflict.getByRole("button", { name: "Mine on top of theirs" }).click();
  await page.getByRole("button", { name: /^Write for/ }).click();
  await said(page).getByText("Edsger → Barbara").waitFor();
  await close(page);
});

test("what the table can't take is shown with the reason, and can't be written", async () => {
  const page = await open(collection);
  await (await row(page, "PROFILE")).click();
  await inspector(page).getByRole("button", { name: "+ attribute" }).click();
  await inspector(page).getByLabel("Name", { exact: true }).fill("GSI1PK");
  await inspector(page).getByLabel("Type").selectOption("N");
  await inspector(page).getByLabel("Value", { exact: true }).fill("1");
  await inspector(page).getByRole("button", { name: "Set" }).click();
  await page.getByRole("alert").filter({ hasText: "Type mismatch for Index Key GSI1PK" }).waitFor();
  assert.ok(await page.getByRole("button", { name: "Write", exact: true }).isDisabled());
  await page.getByRole("button", { name: "Discard" }).click();
  await close(page);
});

test("attributes are added, retyped and removed; numbers keep 38 digits", async () => {
  const page = await open(collection);
  await (await row(page, "PROFILE")).click();
  await inspector(page).getByRole("button", { name: "+ attribute" }).click();
  await inspector(page).getByLabel("Name", { exact: true }).fill("balance");
  await inspector(page).getByLabel("Type").selectOption("N");
  await inspector(page).getByLabel("Value", { exact: true }).fill("12 pounds");
  await inspector(page).getByRole("button", { name: "Set" }).click();
  await inspector(page).getByRole("alert").getByText("This is no number.").waitFor();
  const digits = "12345678901234567890.123456789012345678";
  await inspector(page).getByLabel("Value", { exact: true }).fill(digits);
  await inspector(page).getByRole("button", { name: "Set" }).click();
  await page.getByRole("button", { name: /^Write for/ }).click();
  await said(page).getByText("as predicted").waitFor();
  assert.equal((await read(profile)).balance.N, digits);
  await inspector(page).getByRole("button", { name: /^balance: / }).click();
  await inspector(page).getByRole("button", { name: "Remove" }).click();
  await page.getByRole("button", { name: /^Write for/ }).click();
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
  await page.keyboard.press("Delete");
  const tray = page.getByRole("region", { name: "This change" });
  await tray.getByText("all 2 items are as they were read").waitFor();
  await tray.getByRole("button", { name: /^Write for/ }).click();
  await said(page).getByText("Written: 2 items").waitFor();
  await page.waitForFunction((left) => document.querySelectorAll("#base .row").length === left, count - 2);
  await page.keyboard.press("Control+z");
  await page.getByRole("button", { name: /^Write for/ }).click();
  await page.waitForFunction((all) => document.querySelectorAll("#base .row").length === all, count);
  await close(page);
});

test("what was typed and not written is gone with Discard", async () => {
  const page = await open(collection);
  await (await row(page, "PROFILE")).click();
  await change(page, "email", "nobody@example.org");
  await page.getByRole("button", { name: "Discard" }).click();
  await page.getByRole("region", { name: "This change" }).waitFor({ state: "detached" });
  assert.notEqual((await read(profile)).email.S, "nobody@example.org");
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
