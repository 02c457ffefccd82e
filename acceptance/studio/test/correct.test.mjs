// What the grid shows at its end is what boto3 returns, for random tables, filters and orders.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { close, open, readBar, serve } from "../studio.mjs";

const CASES = 50;
const server = await serve("--in-memory", "--capacity", "off");

// The same cases every time.
let state = 20261118;
const random = (below) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};
const one = (list) => list[random(list.length)];

const WORDS = ["red", "green", "blue", "re", "grey", "", "größe", "a b"];
const value = (type) => (type === "N" ? { N: String(random(12) - 4) } : type === "BOOL" ? { BOOL: random(2) === 0 } : { S: one(WORDS) });
const keyValue = (type, at) => (type === "N" ? { N: String(at - 20) } : { S: `k-${at}` });

function makeCase(number) {
  const sort = one([null, "S", "N"]);
  const name = `random-${number}`;
  // Some tables are longer than what a page holds at once.
  const count = number % 10 === 9 ? 900 : 20 + random(120);
  const partitions = sort ? 1 + random(8) : count;
  const items = Array.from({ length: count }, (_, at) => ({
    p: keyValue("S", at % partitions),
    ...(sort && { s: keyValue(sort, Math.floor(at / partitions)) }),
    ...Object.fromEntries(["n", "t", "b"].flatMap((attribute) => (random(5) ? [[attribute, value(random(8) ? { n: "N", t: "S", b: "BOOL" }[attribute] : one(["N", "S"]))]] : []))),
  }));
  const filters = Array.from({ length: random(3) }, () => {
    const path = one(["n", "t", "b"]);
    const type = { n: "N", t: "S", b: "BOOL" }[path];
    const operator = one(path === "b" ? ["=", "<>", "exists"] : path === "t" ? ["=", "<>", "<", ">=", "begins_with", "contains", "not_exists", "in"] : ["=", "<>", "<", "<=", ">", ">=", "between", "exists", "in"]);
    const [low, high] = [random(6) - 4, random(6) + 1];
    const values = operator.endsWith("exists") ? [] : operator === "between" ? [{ N: String(low) }, { N: String(high) }] : operator === "in" ? [value(type), value(type)] : operator === "begins_with" || operator === "contains" ? [{ S: one(WORDS.filter(Boolean)) }] : [value(type)];
    return { path: [path], operator, values };
  });
  const isQuery = Boolean(sort) && random(2) === 0;
  return { name, sort, items, filters, partition: isQuery ? `k-${random(partitions)}` : null, descending: isQuery && random(2) === 0 };
}

const PYTHON = `
import json, sys, boto3
from boto3.dynamodb.conditions import Attr, Key
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
origin, cases = sys.argv[1], json.load(sys.stdin)
resource = boto3.resource("dynamodb", endpoint_url=origin, region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test")
read, write = TypeDeserializer().deserialize, TypeSerializer().serialize
def condition(one):
    attribute, values = Attr(one["path"][0]), [read(value) for value in one["values"]]
    act = {"=": attribute.eq, "<>": attribute.ne, "<": attribute.lt, "<=": attribute.lte, ">": attribute.gt, ">=": attribute.gte, "between": attribute.between, "in": lambda *all: attribute.is_in(list(all)), "begins_with": attribute.begins_with, "contains": attribute.contains, "exists": attribute.exists, "not_exists": attribute.not_exists}
    return act[one["operator"]](*values)
def found(case):
    table, asked = resource.Table(case["name"]), {}
    for one in case["filters"]:
        asked["FilterExpression"] = asked["FilterExpression"] & condition(one) if "FilterExpression" in asked else condition(one)
    ask = table.scan
    if case["partition"] is not None:
        ask = table.query
        asked["KeyConditionExpression"] = Key("p").eq(case["partition"])
        asked["ScanIndexForward"] = not case["descending"]
    items = []
    while True:
        answer = ask(**asked)
        items += answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return [[write(item[name]) for name in (["p", "s"] if case["sort"] else ["p"])] for item in items]
        asked["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
print(json.dumps([found(case) for case in cases]))
`;

// Every row, from the first to the last, while the grid is scrolled to its end.
async function shown(page) {
  return page.evaluate(async () => {
    const scroll = document.querySelector("#base .scroll");
    const seen = new Map();
    const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    for (let steps = 0; scroll && steps < 200; steps++) {
      for (const row of scroll.querySelectorAll(".row")) seen.set(Number(/-(\d+)$/.exec(row.id)[1]), row.dataset.item);
      if (scroll.scrollTop + scroll.clientHeight >= scroll.scrollHeight - 1) break;
      scroll.scrollTop += scroll.clientHeight / 2;
      await frame();
    }
    return [...seen].sort(([one], [other]) => one - other).map(([, key]) => JSON.parse(key));
  });
}

test(`${CASES} random tables, filters and orders: the grid ends with what boto3 returns`, async () => {
  const cases = Array.from({ length: CASES }, (_, number) => makeCase(number));
  for (const { name, sort, items } of cases) {
    const keys = [["p", "S"], ...(sort ? [["s", sort]] : [])];
    await server.call("CreateTable", { TableName: name, KeySchema: keys.map(([AttributeName], at) => ({ AttributeName, KeyType: at ? "RANGE" : "HASH" })), AttributeDefinitions: keys.map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })), BillingMode: "PAY_PER_REQUEST" });
    for (let from = 0; from < items.length; from += 25) await server.call("BatchWriteItem", { RequestItems: { [name]: items.slice(from, from + 25).map((Item) => ({ PutRequest: { Item } })) } });
  }
  const expected = JSON.parse(execFileSync(process.env.PYTHON ?? "python3", ["-c", PYTHON, server.direct], { input: JSON.stringify(cases), maxBuffer: 2 ** 26 }));
  const page = await open(server.home, { width: 1440, height: 3000 });
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  let compared = 0;
  for (const [at, one] of cases.entries()) {
    const query = new URLSearchParams();
    if (one.partition) query.set("pk", one.partition);
    if (one.descending) query.set("desc", "1");
    if (one.filters.length) query.set("filters", JSON.stringify(one.filters));
    // As a link within the page: what is loaded stays.
    await page.evaluate((to) => (history.pushState(null, "", to), dispatchEvent(new PopStateEvent("popstate"))), `${server.home}table/${one.name}?${query}`);
    await page.getByRole("heading", { name: one.name, exact: true }).waitFor();
    // Without a filter the rows come as far as they are scrolled to.
    const bar = readBar(page);
    const ended = bar.getByRole("status").filter({ hasText: /^(Complete|Read|Not finished):/ });
    await ended.waitFor();
    for (let more = 0; more < 20 && (await bar.getByRole("button", { name: /^(Read more|Continue)$/ }).count()); more++) {
      await bar.getByRole("button", { name: /^(Read more|Continue)$/ }).click();
      await ended.waitFor();
    }
    await bar.getByText(/^Complete/).waitFor();
    const got = await shown(page);
    const about = `${one.name} ${query}`;
    if (one.partition) assert.deepEqual(got, expected[at], about);
    else assert.deepEqual(got.map((key) => JSON.stringify(key)).sort(), expected[at].map((key) => JSON.stringify(key)).sort(), about);
    compared += got.length;
  }
  assert.ok(compared > 1000, `${compared} items were compared`);
  await close(page);
});
