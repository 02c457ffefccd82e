// What a table of many items costs the page: `node figures.mjs [ITEMS]`. Items are imported from a CSV file, then the
// table is opened, scrolled, jumped through and filtered. Heap, times, bytes and requests at rest are printed.

import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { close, loadExample, open, readBar, rows, serveOn } from "./studio.mjs";

const ITEMS = Number(process.argv[2] ?? 10_000_000);
const folder = mkdtempSync(join(tmpdir(), "lodestone-figures-"));
after(() => rmSync(folder, { recursive: true, force: true }));

// Five items under each partition key.
function write(path) {
  const file = openSync(path, "w");
  writeSync(file, "k,n,text\n");
  for (let from = 0; from < ITEMS; from += 100_000) {
    let text = "";
    for (let at = from; at < Math.min(ITEMS, from + 100_000); at++) text += `key-${Math.floor(at / 5)},${at},a line of text in item ${at}\n`;
    writeSync(file, text);
  }
  closeSync(file);
}

mkdirSync(join(folder, "buckets", "items"), { recursive: true });
write(join(folder, "buckets", "items", "all.csv"));
const server = await serveOn(folder, "--s3", join(folder, "buckets"));
const began = Date.now();
const imported = spawnSync(process.env.LODESTONE, ["import", "s3://items/all.csv", "long", "--key", "k:S,n:N", "--format", "csv", "--endpoint-url", server.origin], { stdio: "inherit" });
if (imported.status !== 0) throw new Error("the import has failed");
console.log(`${ITEMS.toLocaleString("en")} items imported in ${Math.round((Date.now() - began) / 1000)} s`);
rmSync(join(folder, "buckets"), { recursive: true });

const megabytes = async (page) => {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return (usedSize / 2 ** 20).toFixed(1);
};
const share = (all, of) => [...all].sort((one, other) => one - other)[Math.min(all.length - 1, Math.floor(all.length * of))];
const median = (all) => [...all].sort((one, other) => one - other)[Math.floor(all.length / 2)];

test("a table of many items", async () => {
  const page = await open(`${server.home}table/long`);
  await rows(page).first().waitFor();
  console.log(`heap when it is open: ${await megabytes(page)} MB`);
  const scroll = page.locator("#base .scroll");
  for (let steps = 0; steps < 400; steps++) {
    await scroll.evaluate((element) => (element.scrollTop = element.scrollHeight));
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }
  console.log(`heap after 400 steps to the end of what is held: ${await megabytes(page)} MB; ${/[\d,]+ of [\d,]+ items held/.exec(await page.locator("footer").innerText())?.[0]}`);
  const strip = page.getByRole("slider", { name: "Place in the key space" });
  const { height } = await strip.boundingBox();
  const times = [];
  for (let jumps = 0; jumps < 100; jumps++) {
    const first = await page.locator("#base .row").first().getAttribute("data-item");
    const from = Date.now();
    await strip.click({ position: { x: 6, y: height * (((jumps * 37) % 97) / 97) + 1 } });
    await page.waitForFunction((id) => document.querySelector("#base .row") && document.querySelector("#base .row").dataset.item !== id, first);
    times.push(Date.now() - from);
  }
  console.log(`heap after 100 jumps: ${await megabytes(page)} MB; a jump takes ${median(times)} ms in the middle, ${Math.max(...times)} ms at most`);
  await close(page);
});

test("first paint and first use", async () => {
  const paints = [];
  const uses = [];
  for (let runs = 0; runs < 9; runs++) {
    const page = await open("about:blank");
    await page.goto(`${server.home}table/long`, { waitUntil: "commit" });
    await rows(page).first().waitFor();
    // Both count from the navigation.
    uses.push(await page.evaluate(() => performance.now()));
    paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN));
    await close(page);
  }
  console.log(`first paint ${Math.round(median(paints))} ms, usable (rows are shown) ${Math.round(median(uses))} ms: the middle of ${uses.length} in a new page`);
});

test("frames while the rows are scrolled", async () => {
  const page = await open(`${server.home}table/long`);
  await rows(page).first().waitFor();
  const frames = await page.locator("#base .scroll").evaluate(async (element) => {
    const times = [];
    let last = performance.now();
    for (let frame = 0; frame < 600; frame++) {
      element.scrollTop += frame % 300 < 150 ? 120 : -120;
      const now = await new Promise(requestAnimationFrame);
      times.push(now - last);
      last = now;
    }
    return times.slice(1);
  });
  console.log(`a frame takes ${share(frames, 0.5).toFixed(1)} ms in the middle, ${share(frames, 0.95).toFixed(1)} ms at p95, ${Math.max(...frames).toFixed(1)} ms at most`);
  await close(page);
});

test("a filter finds the last item", async () => {
  // The last one in the order of the key space is that of the last segment which has any.
  const filters = encodeURIComponent(JSON.stringify([{ path: ["text"], operator: "=", type: "S", values: [{ S: `a line of text in item ${ITEMS - 1}` }] }]));
  const page = await open("about:blank");
  page.setDefaultTimeout(1_800_000);
  let requests = 0;
  page.on("request", (one) => (requests += Number(one.url().includes("/call/Scan"))));
  const from = Date.now();
  await page.goto(`${server.home}table/long?filters=${filters}`);
  await readBar(page).getByText(/^Complete: examined [\d,]+ · 1 found$/).waitFor();
  console.log(`a filter that one item passes: ${((Date.now() - from) / 1000).toFixed(1)} s and ${requests} requests for all items; ${await readBar(page).innerText().then((text) => text.replaceAll("\n", " "))}`);
  await close(page);
});

const REST_SECONDS = 10;
test("bytes to open each screen, and requests at rest", async () => {
  await loadExample(server);
  const paths = ["", "table/long", "table/app-main", "table/app-main/structure", "table/app-main/heat", "table/app-main/capacity", "table/app-main/stream", "table/app-main/backups", "table/app-main/regions", "table/app-main/learn", "query", "partiql", "metrics", "new-table", "connections", "model/order-management", "model/order-management/picture", "model/order-management/patterns", "model/order-management/cost"];
  for (const path of paths) {
    const page = await open("about:blank");
    const session = await page.context().newCDPSession(page);
    await session.send("Network.enable");
    let [bytes, requests] = [0, 0];
    session.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
    page.on("request", () => requests++);
    await page.goto(`${server.home}${path}`);
    // A screen that asks again and again is never without a request for long.
    await page.waitForLoadState("networkidle", { timeout: 5000 }).catch(() => undefined);
    const opened = { bytes, requests };
    await page.waitForTimeout(1000 * REST_SECONDS);
    console.log(`${path || "overview"}: ${Math.round(opened.bytes / 1024)} KB in ${opened.requests} requests; at rest ${((requests - opened.requests) / REST_SECONDS).toFixed(1)} requests and ${((bytes - opened.bytes) / 1024 / REST_SECONDS).toFixed(1)} KB a second`);
    await close(page);
  }
});
