// A table by form, a key to sign in with, other databases, and what a phone can do.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { accessible, changes, close, field, inspector, loadExample, open, openItem, plainTable, rows, said, serve } from "../studio.mjs";

const folder = mkdtempSync(join(tmpdir(), "lodestone-access-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const access = join(folder, "access.yaml");
writeFileSync(join(folder, "reader.json"), JSON.stringify({ Version: "2012-10-17", Statement: { Effect: "Allow", Action: ["dynamodb:GetItem", "dynamodb:Query", "dynamodb:Scan", "dynamodb:List*", "dynamodb:Describe*"], Resource: "*" } }));
function addUser(name, policy) {
  const { stdout, status } = spawnSync(process.env.LODESTONE, ["access", "--file", access, "add", name, "--policy", policy], { cwd: folder, encoding: "utf8" });
  assert.equal(status, 0, stdout);
  return { lines: stdout, id: /AWS_ACCESS_KEY_ID=(\S+)/.exec(stdout)[1], secret: /AWS_SECRET_ACCESS_KEY=(\S+)/.exec(stdout)[1] };
}

test("a table is made by form from an empty database, with indexes of both kinds, and its code beside it", async () => {
  const server = await serve("--in-memory");
  const page = await open(server.home, { width: 1440, height: 900 });
  await page.getByText("An empty database, ready").waitFor();
  await page.keyboard.press("n");
  await page.getByLabel("Name", { exact: true }).fill("orders");
  await page.getByLabel("Sort key", { exact: true }).fill("SK");
  await page.getByRole("button", { name: "+ Index" }).click();
  await page.getByLabel("Partition key of GSI1", { exact: true }).fill("status");
  await page.getByLabel("What GSI1 projects").selectOption("INCLUDE");
  await page.getByLabel("Attributes that GSI1 projects").fill("total, name");
  await page.getByRole("button", { name: "+ Index" }).click();
  await page.getByLabel("Name of the index").nth(1).fill("byTotal");
  await page.getByLabel("Kind of byTotal").selectOption("LSI");
  await page.getByLabel("Sort key of byTotal", { exact: true }).fill("total");
  await page.getByLabel("Type of sort key of byTotal").selectOption("N");
  await page.getByText("can’t be added or removed later").waitFor();
  await page.getByLabel("Items expire by").fill("expires");
  await page.getByLabel("Stream").selectOption("NEW_AND_OLD_IMAGES");
  await page.getByLabel("Point-in-time recovery").check();
  await page.getByLabel("Tags").fill("team=a");
  await page.locator("pre", { hasText: "update-continuous-backups" }).waitFor();
  await accessible(page, "a new table");
  // A reload keeps the draft.
  await page.reload();
  await page.getByLabel("Tags").waitFor();
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "orders");
  await page.getByRole("button", { name: /^Create table/ }).click();
  await page.getByRole("heading", { name: "orders" }).waitFor();
  await page.getByRole("navigation", { name: "Studio", exact: true }).getByRole("link", { name: "orders" }).first().waitFor();
  const { Table } = await server.call("DescribeTable", { TableName: "orders" });
  assert.deepEqual(Table.KeySchema, [{ AttributeName: "PK", KeyType: "HASH" }, { AttributeName: "SK", KeyType: "RANGE" }]);
  assert.deepEqual(Table.GlobalSecondaryIndexes[0].Projection, { ProjectionType: "INCLUDE", NonKeyAttributes: ["total", "name"] });
  assert.equal(Table.LocalSecondaryIndexes[0].IndexName, "byTotal");
  assert.equal(Table.StreamSpecification.StreamViewType, "NEW_AND_OLD_IMAGES");
  assert.equal((await server.call("DescribeTimeToLive", { TableName: "orders" })).TimeToLiveDescription.AttributeName, "expires");
  assert.deepEqual((await server.call("ListTagsOfResource", { ResourceArn: Table.TableArn })).Tags, [{ Key: "team", Value: "a" }]);
  await close(page);
});

test("a form begins with an example, and a request that is typed changes the form", async () => {
  const server = await serve("--in-memory");
  const page = await open(`${server.home}new-table`);
  await page.getByLabel("From an example").selectOption("order-management");
  await page.getByLabel("Name of the index").nth(1).waitFor();
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "app-main");
  await page.getByRole("button", { name: "JSON" }).click();
  const text = await page.getByLabel("CreateTable as JSON").inputValue();
  await page.getByLabel("CreateTable as JSON").fill(text.replace('"PAY_PER_REQUEST"', '"PROVISIONED"').replaceAll('"IndexName": "GSI2"', '"IndexName": "GSI-two"'));
  assert.equal(await page.getByLabel("Name of the index").nth(1).inputValue(), "GSI-two");
  await page.getByRole("button", { name: "Discard" }).click();
  await page.getByLabel("From an example").selectOption("order-management");
  await page.getByLabel("Load sample items").waitFor();
  await page.keyboard.press("Control+Enter");
  await rows(page).first().waitFor();
  await page.getByText("model: order-management").waitFor();
  await close(page);
});

test("a new table begins from a model, or like another table", async () => {
  const server = await serve("--in-memory");
  const { examples } = await server.post("examples");
  await server.post("file/orders", { text: examples.find((one) => one.name === "order-management").text });
  const page = await open(`${server.home}new-table`);
  const make = async (name) => {
    await page.getByRole("button", { name: /^Create table/ }).click();
    await page.getByRole("heading", { name, exact: true }).waitFor();
    return (await server.call("DescribeTable", { TableName: name })).Table;
  };
  await page.getByLabel("From a model").selectOption("orders");
  await page.getByLabel("Name of the index").nth(1).waitFor();
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "app-main");
  assert.equal(await page.getByLabel("Load sample items").isChecked(), false, "the user's own model has no samples to begin with");
  const first = await make("app-main");
  await page.getByText("model: orders").waitFor();
  await page.goto(`${server.home}new-table`);
  await page.getByLabel("Like a table").selectOption("app-main");
  await page.waitForFunction(() => document.querySelector("input[aria-label='Name']").value === "app-main-2");
  const second = await make("app-main-2");
  const indexes = (table) => table.GlobalSecondaryIndexes.map(({ IndexName, KeySchema, Projection }) => ({ IndexName, KeySchema, Projection })).sort((one, other) => one.IndexName.localeCompare(other.IndexName));
  assert.deepEqual(second.KeySchema, first.KeySchema);
  assert.deepEqual(indexes(second), indexes(first));
  assert.deepEqual(second.StreamSpecification, first.StreamSpecification);
  const recovery = async (TableName) => (await server.call("DescribeContinuousBackups", { TableName })).ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus;
  assert.equal(await recovery("app-main-2"), await recovery("app-main"));
  assert.equal(second.ItemCount, 0);
  await close(page);
});

test("the theme is the system's until one is chosen, and then stays", async () => {
  const server = await serve("--in-memory");
  const page = await open(server.home, { theme: "dark" });
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const choose = (name) => page.getByRole("contentinfo").getByRole("button", { name: `theme: ${name}` });
  await choose("system").waitFor();
  const dark = await paper();
  await choose("system").click();
  await choose("light").waitFor();
  const light = await paper();
  assert.notEqual(light, dark);
  await page.reload();
  await choose("light").waitFor();
  assert.equal(await paper(), light);
  await choose("light").click();
  await choose("dark").waitFor();
  assert.equal(await paper(), dark);
  await close(page);
});

test("a key of the access file signs in, and its policies hold", async () => {
  const admin = addUser("alice", "arn:aws:iam::aws:policy/AdministratorAccess");
  const reader = addUser("reader", "reader.json");
  const server = await serve("--in-memory", "--access", access);
  const page = await open(`${server.home}`);
  await page.getByRole("heading", { name: "Sign in to this database" }).waitFor();
  await accessible(page, "the way in");
  await page.getByLabel("Access key id").fill(reader.id);
  await page.getByLabel("Secret access key").fill(`${reader.secret.slice(0, -1)}`);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText(`The secret does not fit ${reader.id}.`).waitFor();
  // Both lines that the command prints, in either field.
  await page.getByLabel("Secret access key").fill(admin.lines);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("An empty database, ready").waitFor();
  await page.getByRole("button", { name: "order-management" }).click();
  await rows(page).first().waitFor();
  assert.equal(await page.getByRole("link", { name: "Connections" }).count(), 0, "the server's network is not a user's");
  await page.getByRole("button", { name: "sign out" }).click();
  await page.getByLabel("Access key id").fill(reader.id);
  await page.getByLabel("Secret access key").fill(reader.secret);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Signed in as reader").waitFor();
  const badge = page.getByText("read only", { exact: true });
  await badge.waitFor();
  assert.match(await badge.getAttribute("title"), /not authorized to perform: dynamodb:PutItem/);
  await page.locator("nav.side .withheld", { hasText: "Heat" }).waitFor();
  await accessible(page, "a user's studio");
  // The server refuses what the page does not offer.
  const session = await page.evaluate(() => sessionStorage.getItem("lodestone-token"));
  const ask = async (path, body) => {
    const answer = await fetch(`${server.origin}/studio/api/${path}`, { method: "POST", headers: { "content-type": "application/json", "x-lodestone-studio": session }, body: JSON.stringify(body) });
    return [answer.status, await answer.text()];
  };
  const [status, refusal] = await ask("call/DeleteTable", { TableName: "app-main" });
  assert.equal(status, 400);
  assert.match(refusal, /reader is not authorized to perform: dynamodb:DeleteTable/);
  for (const path of ["traffic", "capacity", "metrics", "learn", "faults", "regions", "file/stolen"]) assert.match((await ask(path, { table: "app-main", text: "model: x" }))[1], /not authorized/, path);
  assert.equal((await ask("connections", {}))[0], 403);
  assert.ok(!page.url().includes(reader.secret) && !JSON.stringify(await page.evaluate(() => ({ ...localStorage, ...sessionStorage }))).includes(reader.secret), "the secret is not in the browser");
  await close(page, { refusals: page.refusals.length });
});

test("what a policy denies on one table is grey there, with its reason, and works on another", async () => {
  const own = ["dynamodb:*"];
  writeFileSync(join(folder, "editor.json"), JSON.stringify({ Version: "2012-10-17", Statement: [{ Effect: "Allow", Action: ["dynamodb:List*", "dynamodb:Describe*", "dynamodb:Scan", "dynamodb:Query"], Resource: "*" }, { Effect: "Allow", Action: own, Resource: "arn:aws:dynamodb:*:*:table/drafts" }, { Effect: "Deny", Action: "dynamodb:DeleteTable", Resource: "*" }] }));
  const root = addUser("root", "arn:aws:iam::aws:policy/AdministratorAccess");
  const editor = addUser("editor", "editor.json");
  const server = await serve("--in-memory", "--access", access);
  const sign = async (page, key) => {
    await page.getByLabel("Access key id").fill(key.id);
    await page.getByLabel("Secret access key").fill(key.secret);
    await page.getByRole("button", { name: "Sign in" }).click();
  };
  const page = await open(server.home, { width: 1440, height: 900 });
  await sign(page, root);
  for (const name of ["archive", "drafts"]) {
    await page.goto(`${server.home}new-table`);
    await page.getByLabel("Name", { exact: true }).fill(name);
    await page.getByRole("button", { name: /^Create table/ }).click();
    await page.getByRole("heading", { name, exact: true }).waitFor();
  }
  await page.getByRole("button", { name: "sign out" }).click();
  await sign(page, editor);
  await page.getByText("Signed in as editor").waitFor();
  await page.goto(`${server.home}table/archive`);
  const begin = page.getByRole("button", { name: "+ New item" }).first();
  await page.waitForFunction(() => [...document.querySelectorAll("button")].some((one) => one.textContent === "+ New item" && one.disabled));
  assert.match(await begin.getAttribute("title"), /not authorized to perform: dynamodb:PutItem/);
  await page.goto(`${server.home}table/drafts`);
  await page.getByText("No items yet.").waitFor();
  assert.ok(await begin.isEnabled());
  await page.getByRole("navigation", { name: "Table" }).getByRole("link", { name: "Structure" }).click();
  const deletion = page.getByRole("button", { name: "Delete the table" });
  await deletion.waitFor();
  assert.ok(await deletion.isDisabled());
  assert.match(await deletion.getAttribute("title"), /dynamodb:DeleteTable.*explicit deny/);
  assert.equal(await page.getByRole("link", { name: "New table" }).count(), 0);
  await close(page, { refusals: page.refusals.length });
});

test("without a token the page says what to do, and with one a new tab keeps it", async () => {
  const server = await serve("--in-memory", "--access", access);
  const page = await open(server.studio);
  await page.getByText("An empty database, ready").waitFor();
  assert.ok(!page.url().includes("token"));
  const tab = await page.context().newPage();
  await tab.goto(server.home);
  await tab.getByText("An empty database, ready").waitFor({ timeout: 120_000 });
  await tab.close();
  await close(page);
  const stranger = await open(server.home);
  await stranger.getByLabel("The server’s token").fill("something");
  await stranger.getByRole("button", { name: "Open" }).click();
  await stranger.getByText("This is not the server’s token.").waitFor();
  await stranger.getByLabel("The server’s token").fill(server.studio);
  await stranger.getByRole("button", { name: "Open" }).click();
  await stranger.getByText("An empty database, ready").waitFor();
  await close(stranger, { refusals: stranger.refusals.length });
});

test("another Lodestone is opened read-only beside this one, and its secret stays with the server", async () => {
  const carol = addUser("carol", "arn:aws:iam::aws:policy/AdministratorAccess");
  const far = await serve("--in-memory", "--access", access);
  const near = await serve("--in-memory");
  await loadExample(near);
  // What is drafted here belongs to this server's tables.
  const page = await open(`${near.home}table/app-main`, { width: 1440, height: 900 });
  await rows(page).first().waitFor();
  await page.getByRole("button", { name: "+ New item" }).click();
  await changes(page).waitFor();
  const side = page.getByRole("navigation", { name: "Studio", exact: true });
  await side.getByText("● 1").waitFor();
  await page.goto(`${near.home}new-table`);
  await page.getByLabel("Name", { exact: true }).fill("half-made");
  await page.getByText("this draft is kept in this browser").waitFor();
  await page.goto(`${near.home}connections`);
  const form = page.getByRole("region", { name: "Add a connection" });
  await form.getByLabel("Address").fill(far.origin);
  await form.getByLabel("Access key id").fill(carol.id);
  await form.getByLabel("Secret", { exact: true }).fill("wrong");
  await form.getByRole("button", { name: "Test" }).click();
  await form.getByRole("alert").waitFor();
  await form.getByLabel("Secret", { exact: true }).fill(carol.secret);
  await form.getByRole("button", { name: "Test" }).click();
  await form.getByText("✓ Reached: 0 tables").waitFor();
  await form.getByLabel("Name").fill("Team staging");
  await form.getByLabel("Production").check();
  await form.getByRole("button", { name: "Add", exact: true }).click();
  const line = page.getByRole("row", { name: /Team staging/ });
  await line.getByText("production").waitFor();
  await accessible(page, "connections");
  await line.getByRole("link", { name: "Open" }).click();
  await page.getByText("Team staging has no table").waitFor();
  await page.getByText("PRODUCTION").waitFor();
  await page.getByRole("button", { name: "order-management" }).click();
  await rows(page).first().waitFor();
  assert.equal(await side.getByRole("link", { name: "Heat" }).count(), 0, "only a Lodestone can tell of its own tables");
  await side.getByRole("link", { name: "Stream" }).waitFor();
  assert.equal(await page.getByRole("navigation", { name: "Table" }).getByRole("link", { name: /^(Heat|Capacity|Learn)$/ }).count(), 0);
  // A table of the same name has no draft, and neither has the form of a new table.
  assert.equal(await side.getByText("● 1").count(), 0);
  assert.equal(await changes(page).count(), 0);
  // The price of a write is not known before, and nothing says that it is zero.
  await openItem(page, "PROFILE");
  await field(page, "name").fill("Ada of the far table");
  await changes(page).getByText("price not known here").waitFor();
  await changes(page).getByRole("button", { name: /^Write(?! for)/ }).click();
  await said(page).getByText(/^Written: name .* → Ada of the far table\. 1 WCU\.$/).waitFor();
  await changes(page).getByText("Written for 1 WCU").waitFor();
  await field(page, "name").fill("another draft");
  await side.getByText("● 1").waitFor();
  await page.reload();
  await changes(page).getByText("price not known here").waitFor();
  const kept = await page.evaluate(() => JSON.stringify({ ...localStorage }));
  assert.ok(!kept.includes("far table") && !kept.includes("another draft"), "what is done on a connection ends with the tab");
  await changes(page).getByRole("button", { name: "Discard" }).click();
  await page.goto(`${near.home}new-table?connection=team-staging`);
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "");
  await page.goto(`${near.home}table/app-main`);
  await changes(page).waitFor();
  await side.getByText("● 1").waitFor();
  await page.goto(`${near.home}new-table`);
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "half-made");
  const names = async (server) => (await server.call("Scan", { TableName: "app-main" })).Items.map((item) => item.name?.S);
  assert.ok(!(await names(near)).includes("Ada of the far table"));
  await page.goto(`${near.home}?connection=team-staging`);
  await page.getByText("PRODUCTION").waitFor();
  // What is read-only is refused by the server.
  const readOnly = await near.post("connections/add", { name: "Look only", kind: "lodestone", address: far.origin, region: "us-east-1", keyId: carol.id, secret: carol.secret, readOnly: true });
  const refused = await fetch(`${near.origin}/studio/api/call/DeleteTable`, { method: "POST", headers: { "content-type": "application/json", "x-lodestone-studio": "1", "x-lodestone-connection": readOnly.id }, body: JSON.stringify({ TableName: "app-main" }) });
  assert.equal(refused.status, 403);
  assert.match(await refused.text(), /read-only/);
  const told = JSON.stringify(await near.post("connections", {}));
  assert.ok(!told.includes(carol.secret) && told.includes(carol.id), "a secret goes in and never comes out");
  await page.getByRole("button", { name: /^Team staging/ }).click();
  await page.getByRole("dialog").getByRole("link", { name: /^This server/ }).click();
  await page.waitForURL((url) => !url.searchParams.has("connection"));
  await side.getByText("● 1").waitFor();
  await close(page, { refusals: page.refusals.length });
});

test("an emulator says less than a Lodestone: what is stored is read, and what it can't tell is not asked", async () => {
  const [near, far] = [await serve("--in-memory"), await serve("--in-memory")];
  await plainTable(far, "things");
  const put = (id, n) => far.call("PutItem", { TableName: "things", Item: { id: { S: id }, n: { N: n } } });
  await put("first", "1");
  await put("second", "2");
  await near.post("connections/add", { name: "Emulator", kind: "local", address: far.direct, region: "us-east-1", keyId: "" });
  const page = await open(`${near.home}table/things?connection=emulator`);
  await openItem(page, "first");
  await field(page, "n").fill("10");
  const write = changes(page).getByRole("button", { name: /^Write/ });
  await changes(page).getByText("price not known here").waitFor();
  await put("first", "5");
  await write.click();
  const dialog = page.getByRole("dialog", { name: "Somebody changed this item" });
  // Whoever settles it sees what is stored, though the error did not have it.
  await dialog.getByText("Somebody changed this item after you read it").waitFor();
  await dialog.getByRole("row", { name: /^n / }).getByText("5", { exact: true }).waitFor();
  await dialog.getByRole("button", { name: "Take all of mine" }).click();
  await dialog.getByRole("button", { name: "Settle", exact: true }).click();
  // So in a transaction, of which only the message says which item it was; and no units are not zero units.
  await openItem(page, "second");
  await field(page, "n").fill("20");
  await changes(page).getByText("2 changes in 2 items").waitFor();
  await put("second", "7");
  await write.click();
  await dialog.getByRole("row", { name: /^n / }).getByText("7", { exact: true }).waitFor();
  await dialog.getByRole("button", { name: "Take all of mine" }).click();
  await dialog.getByRole("button", { name: "Settle", exact: true }).click();
  await page.route("**/call/TransactWriteItems", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), ConsumedCapacity: [] } });
  });
  await changes(page).getByText("2 changes in 2 items").waitFor();
  await write.click();
  await said(page).getByText("Written: 2 items.", { exact: true }).waitFor();
  assert.doesNotMatch(await changes(page).innerText(), /WCU/);
  const { Items } = await far.call("Scan", { TableName: "things" });
  assert.deepEqual(Items.map((item) => item.n.N).sort(), ["10", "20"]);
  const refusals = page.refusals.length;
  assert.equal(refusals, 2, "the two conflicts");

  for (const path of ["table/things/heat", "table/things/regions", "metrics"]) {
    await page.goto(`${near.home}${path}?connection=emulator`);
    await page.getByRole("heading", { name: "Not known of this database" }).waitFor();
  }
  await accessible(page, "what another database can't tell");
  await page.goto(`${near.home}table/things/backups?connection=emulator`);
  await page.getByRole("button", { name: "Turn recovery on" }).click();
  await page.getByText("What a restore would change is not known of this database.").waitFor();
  await page.getByRole("button", { name: /^Restore to/ }).waitFor();
  await page.goto(`${near.home}?connection=emulator`);
  await page.getByText("What clients ask of it is not known here.").waitFor();
  assert.equal(await page.getByText("Nothing wants attention.").count(), 0);
  assert.equal(await page.getByRole("columnheader", { name: "RCU/s" }).count(), 0);
  await page.keyboard.press("Control+k");
  const found = page.getByRole("dialog", { name: "Commands" }).getByRole("option");
  await found.filter({ hasText: "things stream" }).waitFor();
  assert.equal(await found.filter({ hasText: /things (heat|capacity|learn)|Metrics/ }).count(), 0);
  await page.keyboard.press("Escape");
  await page.goto(`${near.home}connections`);
  await page.getByRole("row", { name: /Emulator/ }).getByText("any key").waitFor();
  await close(page, { refusals });
});

test("writes to AWS need its account's number, and then last for a time", async () => {
  const server = await serve("--in-memory");
  const added = await server.post("connections/add", { name: "AWS dev", kind: "aws", region: "eu-central-1", keyId: "AKIAEXAMPLE", secret: "secret" });
  assert.equal(added.readOnly, true);
  assert.equal(added.address, "https://dynamodb.eu-central-1.amazonaws.com");
  await assert.rejects(server.post("connections/writes", { id: added.id, minutes: 60, typed: "yes" }), /typing the name of the connection/);
  const page = await open(`${server.home}connections`);
  await page.getByRole("button", { name: "AWS dev" }).click();
  assert.match(await page.getByRole("region", { name: "AWS dev" }).getByRole("heading").innerText(), /AWS dev/, "a name is written as it was given");
  await page.getByLabel("Type the connection’s name").fill("AWS dev");
  await page.getByRole("button", { name: "Allow writes" }).click();
  await page.getByText("writes for 60 more minutes").waitFor();
  await page.getByRole("button", { name: "End them now" }).click();
  await page.getByRole("button", { name: "Allow writes" }).waitFor();
  await close(page);
});

test("a table that another client makes appears in the navigation", async () => {
  const server = await serve("--in-memory");
  const page = await open(server.home);
  await page.getByText("An empty database, ready").waitFor();
  await plainTable(server, "made-elsewhere");
  await page.getByRole("navigation", { name: "Studio", exact: true }).getByRole("link", { name: "made-elsewhere" }).waitFor();
  await close(page);
});

test("after 100 deleted tables the next one has its figures, its heat and its busiest keys", async () => {
  const server = await serve("--in-memory");
  const use = async (TableName) => {
    await plainTable(server, TableName);
    await server.send("PutItem", { TableName, Item: { id: { S: `of-${TableName}` } } });
  };
  for (let at = 0; at < 100; at++) {
    await use(`suite-${at}`);
    await server.call("DeleteTable", { TableName: `suite-${at}` });
  }
  await use("kept");
  const { parts } = await server.post("traffic", { table: "kept" });
  assert.equal(parts[0].keys[0].key.id, "of-kept");
  const { series, tablesCut } = await server.post("metrics", { minutes: 30 });
  const own = series.filter((one) => one.table === "kept" && one.metric === "ConsumedWriteCapacityUnits");
  assert.ok(own.length > 0 && own[0].points.at(-1)[2] >= 1, "its units are counted");
  assert.deepEqual([...new Set(series.map((one) => one.table).filter(Boolean))], ["kept"], "deleted tables are forgotten");
  assert.equal(tablesCut, 0);
  for (let at = 0; at < 70; at++) await use(`busy-${at}`);
  const cut = await server.post("metrics", { minutes: 30 });
  assert.equal(cut.tablesCut, 7, "71 tables, of which 64 are shown");
});

test("the units of a learned pattern are those that its requests used", async () => {
  const server = await serve("--in-memory");
  await loadExample(server);
  await server.post("learn", { on: true });
  for (let at = 0; at < 20; at++) await server.send("GetItem", { TableName: "app-main", Key: { PK: { S: `CUST#customer-000${1 + (at % 5)}` }, SK: { S: "PROFILE" } } });
  for (let at = 0; at < 4; at++) await server.send("PutItem", { TableName: "app-main", Item: { PK: { S: `CUST#customer-000${1 + at}` }, SK: { S: "PROFILE" }, name: { S: "x".repeat(3000) } } });
  const { patterns } = await server.post("learn", { table: "app-main" });
  const units = Object.fromEntries(patterns.map((one) => [one.operation, one.seen.units]));
  assert.equal(units.GetItem, 0.5);
  assert.equal(units.PutItem, 3);
});

test("a request for another host is told that it came to the wrong server", async () => {
  const server = await serve("--in-memory");
  const { hostname, port } = new URL(server.origin);
  const status = await new Promise((done, failed) => request({ hostname, port, path: "/studio/", headers: { host: "evil.example" } }, (answer) => (answer.resume(), done(answer.statusCode))).on("error", failed).end());
  assert.equal(status, 421);
});

test("a phone can navigate, open a table and read it", async () => {
  const server = await serve("--in-memory");
  await loadExample(server);
  const page = await open(server.home, { width: 390, height: 844 });
  const bar = page.getByRole("navigation", { name: "Parts of the studio" });
  await bar.getByRole("button", { name: "Data" }).click();
  await page.getByRole("navigation", { name: "Studio", exact: true }).getByRole("link", { name: "app-main" }).first().click();
  await rows(page).first().waitFor();
  assert.equal(await page.getByRole("navigation", { name: "Studio", exact: true }).isVisible(), false, "the sheet closes");
  await bar.getByRole("button", { name: "Model" }).click();
  await page.getByRole("navigation", { name: "Studio", exact: true }).getByRole("link", { name: "order-management" }).click();
  await page.getByRole("heading", { name: "order-management" }).waitFor();
  await bar.getByRole("button", { name: "Operate" }).click();
  await page.getByRole("navigation", { name: "Studio", exact: true }).getByRole("link", { name: "Metrics" }).click();
  await page.getByRole("heading", { name: "Metrics" }).waitFor();
  for (const path of ["", "new-table", "connections", "model/order-management/picture", "table/app-main/heat", "table/app-main/structure"]) {
    await page.goto(server.home + path);
    await page.locator("main h1, main h2, main .pill").first().waitFor();
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${path} scrolls sideways`);
  }
  // What an act has done is said where it was done, and above the navigation for a while.
  const panel = page.getByRole("region", { name: "Time to live" });
  await panel.getByLabel("Attribute with the time").fill("expiresAt");
  await panel.getByRole("button", { name: "Turn it on" }).click();
  await panel.getByText("Items are deleted after their expiresAt.").waitFor();
  const strip = page.locator(".strip-said");
  await strip.getByText("Items are deleted after their expiresAt.").waitFor();
  const [above, below] = [await strip.boundingBox(), await bar.boundingBox()];
  assert.ok(above.y + above.height <= below.y + 1, "the strip hides nothing of the navigation");
  await accessible(page, "a phone");
  await strip.waitFor({ state: "detached" });
  await close(page);
});
