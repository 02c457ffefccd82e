// The workbench in the studio: findings as you type, proofs, patterns on real data, designs, the way to the next version.

import assert from "node:assert/strict";
import { test } from "node:test";
import { close, loadExample, open, said, serve } from "../studio.mjs";

const server = await serve();
const orders = await loadExample(server);
const home = `${server.home}model/order-management`;

// Puts another text into the editor, as somebody who pastes it.
async function write(page, text) {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

test("a model that breaks a rule is mended until it is proven", async () => {
  const page = await open(`${server.home}model/mended`);
  await page.getByText("There is no model of this name yet.").waitFor();
  await page.getByRole("button", { name: "order-management" }).click();
  await page.getByText("7 of 7 proven").waitFor();
  // A pattern that no key serves.
  await write(page, orders.replace("    by: customerId\n    order: createdAt desc", "    by: email\n    order: createdAt desc"));
  const findings = page.getByRole("region", { name: "Findings" });
  await findings.getByText("email", { exact: false }).first().waitFor();
  await page.locator(".cm-lintRange-error, .cm-lintRange-warning").first().waitFor();
  await write(page, orders);
  await page.getByText("7 of 7 proven").waitFor();
  await page.getByRole("region", { name: "Patterns" }).getByRole("row", { name: /^A2 Query app-main/ }).getByText("✓ proven").waitFor();
  await close(page);
});

test("a rule is explained, a finding leads to its line, F8 to the next one", async () => {
  const page = await open(`${server.home}model/explained`);
  await page.getByRole("button", { name: "starter" }).click();
  await page.getByText("nothing found").waitFor();
  await write(page, orders.replace("rate: 1/s", "rate: 100000/s"));
  const findings = page.getByRole("region", { name: "Findings" });
  await findings.getByRole("button", { name: /^R\d+$/ }).first().click();
  await page.getByRole("dialog").getByRole("heading").first().waitFor();
  await page.keyboard.press("Escape");
  await findings.getByRole("button", { name: /^line \d+$/ }).first().click();
  await page.locator(".cm-editor.cm-focused").waitFor();
  await page.keyboard.press("F8");
  await page.locator(".cm-tooltip, .cm-panel").first().waitFor();
  await close(page);
});

test("a file that somebody else has changed is not overwritten", async () => {
  const page = await open(home);
  await page.locator(".cm-content").waitFor();
  const { hash } = await server.post("file/order-management", {});
  await server.post("file/order-management", { text: `${orders}\n# theirs\n`, hash });
  await write(page, `${orders}\n# mine\n`);
  await page.keyboard.press("Control+s");
  const dialog = page.getByRole("dialog", { name: "The file has changed on disk" });
  await dialog.getByText("# theirs").waitFor();
  await dialog.getByRole("button", { name: "Save mine over it" }).click();
  await said(page).getByText("order-management is saved.").waitFor();
  assert.match((await server.post("file/order-management", {})).text, /# mine/);
  await close(page, { refusals: 1 });
});

test("all reads are run on the real table and come back as expected, and the certificate can be kept", async () => {
  const page = await open(`${home}/patterns/A2`);
  await page.getByRole("button", { name: "Run all reads" }).click();
  await said(page).getByText("5 of 5 reads are as expected.").waitFor();
  const comparison = page.getByRole("region", { name: "Expected and got" });
  await comparison.getByText("✓ as expected").waitFor();
  assert.ok((await comparison.getByRole("row").count()) > 1);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Certificate" }).click()]);
  assert.equal(download.suggestedFilename(), "order-management-certificate.json");
  // What the board has run is among the requests, to be found and run again.
  await page.goto(`${server.home}query?table=app-main`);
  await page.getByRole("tab", { name: "History" }).click();
  const history = page.getByRole("region", { name: "History" });
  for (const [words, requests] of [["GetItem PROFILE", 1], ["Query GSI1", 1], ["Query GSI2", 3]]) {
    await page.getByLabel("Find a request").fill(words);
    await page.waitForFunction((count) => document.querySelectorAll("[aria-label=History] tbody tr").length === count, requests);
  }
  await history.waitFor();
  await page.goto(`${home}/patterns/A2`);
  await page.getByRole("link", { name: "A6", exact: true }).click();
  await page.getByText("writes: in memory only").first().waitFor();
  await close(page);
});

test("patterns get their keys from a design, with reasons and a price", async () => {
  const page = await open(`${home}/design`);
  await page.getByRole("button", { name: "Design", exact: true }).click();
  await page.getByRole("heading", { name: "Proposed" }).waitFor();
  assert.ok((await page.getByRole("region", { name: "Choices" }).getByRole("row").count()) > 2);
  await page.locator("#front circle").first().waitFor();
  await page.getByRole("button", { name: "Take it into the editor" }).click();
  await page.getByText("not saved").waitFor();
  await close(page);
});

test("an index is added to the model, planned against the running table, and applied", async () => {
  const page = await open(home);
  await page.locator(".cm-content").waitFor();
  const next = orders.replace("GSI2: { project: keys }", "GSI2: { project: keys }\n  GSI3: { partition: email, project: keys }").replace("      email: { size: 40 B }", "      email: { size: 40 B }");
  await write(page, next);
  await page.getByRole("link", { name: "Migration" }).click();
  const running = page.getByRole("region", { name: "The running tables" });
  await running.getByText("create index GSI3", { exact: false }).waitFor();
  await running.getByRole("button", { name: /^Apply/ }).click();
  await said(page).getByText("The tables are as the model says.").waitFor();
  const { Table } = await server.call("DescribeTable", { TableName: "app-main" });
  assert.ok(Table.GlobalSecondaryIndexes.some((one) => one.IndexName === "GSI3"));
  await close(page);
});

test("the way from one version to the next is planned and rehearsed", async () => {
  const page = await open(home);
  await page.locator(".cm-content").waitFor();
  await write(page, orders.replace("GSI2: { project: keys }", "GSI2: { project: [status] }"));
  await page.getByRole("link", { name: "Migration" }).click();
  const versions = page.getByRole("region", { name: "The saved file and the edited one" });
  await versions.getByRole("button", { name: "Rehearse it in memory" }).click();
  await versions.getByText("✓ every step and every way back works").waitFor();
  await close(page);
});

test("a hot key is seen, sharded in the model, and its forecast falls", async () => {
  const leaderboard = await loadExample(server, "leaderboard");
  await server.post("file/hot", { text: leaderboard.replace("model: leaderboard", "model: hot").replace("shard(playerId, 4)", "shard(playerId, 1)") });
  const page = await open(`${server.home}model/hot/heat`);
  const busiest = page.getByRole("complementary", { name: "Busiest keys" });
  await busiest.getByText("228 %").waitFor();
  await busiest.getByText("throttled").waitFor();
  await busiest.getByText("4 shards").waitFor();
  await busiest.getByRole("link", { name: "Try in the model" }).click();
  await page.locator(".cm-content").waitFor();
  await write(page, leaderboard.replace("model: leaderboard", "model: hot"));
  await page.getByRole("link", { name: "Heat", exact: true }).last().click();
  await busiest.getByText("57 %").waitFor();
  assert.equal(await busiest.getByText("throttled").count(), 0);
  // The same by keyboard: a cell says its key, hour and units.
  await page.getByRole("slider", { name: "Heat, cursor" }).focus();
  await page.keyboard.press("ArrowRight");
  assert.match(await page.getByRole("slider", { name: "Heat, cursor" }).getAttribute("aria-valuetext"), /SEASON#.* units each second/);
  await close(page);
});

test("a price follows its sliders, opens to its arithmetic, and is kept as SVG and CSV", async () => {
  const page = await open(`${server.home}model/order-management/cost`);
  const ways = page.getByRole("region", { name: "Ways to pay" });
  await ways.getByText("as the file declares").waitFor();
  const declared = await ways.innerText();
  await page.getByLabel(/^Requests/).focus();
  for (let steps = 0; steps < 8; steps++) await page.keyboard.press("ArrowRight");
  await page.waitForURL(/rate=10/);
  await page.waitForFunction((before) => document.querySelector('[aria-label="Ways to pay"]').innerText !== before, declared);
  await page.getByRole("region", { name: "Sums" }).getByRole("button").first().click();
  await page.getByText(/ × .* = \$/).first().waitFor();
  const chart = page.getByRole("figure", { name: /^A month/ });
  for (const [label, kind] of [["SVG", /^<svg[^]*<\/svg>$/], ["CSV", /^x,/], ["JSON", /^\[/]]) {
    const [download] = await Promise.all([page.waitForEvent("download"), chart.getByRole("button", { name: label }).click()]);
    const stream = await download.createReadStream();
    let text = "";
    for await (const piece of stream) text += piece;
    assert.match(text, kind);
    assert.doesNotMatch(text, /var\(--/, "what is saved needs no style sheet");
  }
  await close(page);
});
