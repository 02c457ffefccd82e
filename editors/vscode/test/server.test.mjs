// What the extension shows comes from the language server: lenses, proofs and pictures, in a real session.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Session } from "./session.mjs";

const URI = "file:///shop/shop.model.yaml";
const MODEL = `model: shop
table: { name: app, partition: PK, sort: SK, pitr: true, deletion-protection: true }
entities:
  Customer:
    key: { PK: "CUST#{customerId}", SK: PROFILE }
    attributes: { name: string }
    count: 1M
    size: 600 B
patterns:
  A1: { get: Customer, by: customerId, rate: 800/s }
  A2: { get: Customer, by: name, rate: 1/s }
`;

let session;
before(async () => {
  session = await Session.open();
});
after(async () => {
  assert.equal(await session.close(), 0);
});

const titles = (lenses) => lenses.map((lens) => lens.command.title);

test("the server offers lenses and the command that proves", () => {
  assert.ok(session.server.capabilities.codeLensProvider);
  assert.deepEqual(session.server.capabilities.executeCommandProvider.commands, ["lodestone.prove"]);
});

test("a file shows its price and a pattern its request, units and price", async () => {
  session.write(URI, 1, MODEL);
  const [price, picture, all, plan, prove] = await session.lenses(URI);
  assert.match(price.command.title, /^\$[\d,.]+ a month as declared$/);
  assert.equal(picture.command.command, "lodestone.showPicture");
  assert.deepEqual(all.command.arguments, [URI]);
  assert.match(plan.command.title, /^GetItem on app · 0\.5 read units · \$[\d,.]+ a month$/);
  assert.equal(prove.range.start.line, 9);
  assert.deepEqual(prove.command, {
    title: "prove this pattern",
    command: "lodestone.prove",
    arguments: [URI, "A1"],
  });
});

test("a pattern is proven alone, and its lens says so until the text changes", async () => {
  const proven = await session.request("workspace/executeCommand", {
    command: "lodestone.prove",
    arguments: [URI, "A1"],
  });
  assert.deepEqual(proven.patterns.map((pattern) => [pattern.pattern, pattern.verdict]), [["A1", "proven"]]);
  await session.until(() => session.refreshes === 1, "the refresh of the lenses");
  assert.ok(titles(await session.lenses(URI)).includes("✓ proven"));
  assert.match(session.messages.at(-1).message, /^shop: proven; 1 of 1 pattern/);
  session.write(URI, 2, `${MODEL}# changed\n`);
  assert.ok(!titles(await session.lenses(URI)).includes("✓ proven"));
});

test("what is not proven is a finding at its pattern", async () => {
  const all = { command: "lodestone.prove", arguments: [URI] };
  const proven = await session.request("workspace/executeCommand", all);
  assert.equal(proven.proven, false);
  const found = () => session.findings.at(-1).diagnostics.find((one) => one.source === "lodestone prove");
  await session.until(() => session.findings.length > 0 && found(), "the finding");
  assert.match(found().message, /^not proven: /);
  assert.equal(found().range.start.line, 10);
  assert.ok(titles(await session.lenses(URI)).includes("✗ not proven"));
});

test("a proof of what is no model, of an unknown pattern or of a closed file is refused", async () => {
  session.write("file:///shop/broken.model.yaml", 1, "model: x\nentitties: {}\n");
  const refused = (...given) =>
    session.request("workspace/executeCommand", { command: "lodestone.prove", arguments: given });
  await assert.rejects(refused("file:///shop/broken.model.yaml"), /no model yet/);
  await assert.rejects(refused(URI, "A9"), /no pattern A9/);
  await assert.rejects(refused("file:///nowhere.model.yaml"), /is not open/);
  assert.deepEqual(await session.lenses("file:///shop/broken.model.yaml"), []);
});

test("a picture has the tables, the keys and the patterns of the model", async () => {
  const { svg } = await session.request("lodestone/picture", { textDocument: { uri: URI } });
  for (const text of ["table app", "CUST#{customerId}", "PROFILE", "GetItem A1"]) {
    assert.ok(svg.includes(text), text);
  }
  const broken = { uri: "file:///shop/broken.model.yaml" };
  assert.equal(await session.request("lodestone/picture", { textDocument: broken }), null);
});
