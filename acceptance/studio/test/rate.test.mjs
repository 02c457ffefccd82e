// Sums of minutes as rates: the minute that is not over is filled up from the one before.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

const ui = new URL("../../../crates/studio/ui/", import.meta.url);
const { transformSync } = createRequire(new URL("package.json", ui))("esbuild");
const { code } = transformSync(readFileSync(new URL("src/rate.ts", ui), "utf8"), { loader: "ts", format: "esm" });
const { rate, rolling } = await import(`data:text/javascript,${encodeURIComponent(code)}`);

// Time, count, sum: a steady 10 a second.
const point = (time, sum) => [time, 1, sum, sum, sum];
const metrics = (now, end = 300) => ({ now, start: 0, end, period: 60 });

test("a steady rate stays the same at any time of a minute", () => {
  for (const passed of [0, 1, 15, 30, 59, 60]) assert.equal(rolling(10 * passed, 600, passed, 60), 10, `${passed} s`);
});

test("after the minute is over nothing of the one before is left", () => {
  assert.equal(rolling(300, 6000, 60, 60), 5);
  assert.equal(rolling(300, 6000, 90, 60), 5);
});

test("whole minutes are as they were, the open one is rolled on, and what is to come is not there", () => {
  const series = [{ points: [point(0, 60), point(60, 120), point(120, 30)] }];
  assert.deepEqual(rate(metrics(150), series), [[0, 1], [60, 2], [120, 1.5]]);
});

test("a minute without values is a zero, and the open one falls from the one before", () => {
  const series = [{ points: [point(0, 600), point(120, 600)] }];
  assert.deepEqual(rate(metrics(195), series), [[0, 10], [60, 0], [120, 10], [180, 7.5]]);
});

test("several series are one sum, of units or of requests", () => {
  const series = [{ points: [point(0, 60)] }, { points: [point(0, 540)] }];
  assert.deepEqual(rate(metrics(60, 60), series), [[0, 10]]);
  assert.deepEqual(rate(metrics(60, 60), series, 1), [[0, 2 / 60]]);
});
