// The command of the package, as `npx lodestone-db` runs it.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";

const COMMAND = "node_modules/.bin/lodestone-db";
const WAIT_MAX_MS = 60_000;

async function readyUrl(child) {
  for await (const line of createInterface({ input: child.stdout })) {
    const ready = /lodestone is ready at (\S+)/.exec(line);
    if (ready) return ready[1];
  }
  throw new Error("the server ended before it was ready");
}

/** Waits until nothing answers there. */
async function untilGone(url) {
  const end = Date.now() + WAIT_MAX_MS;
  while (Date.now() < end) {
    try {
      await fetch(url);
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`${url} still answers`);
}

test("the command serves, and ends in order when it is asked to", async () => {
  const child = spawn(COMMAND, ["serve", "--in-memory", "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  const url = await readyUrl(child);
  assert.match(await (await fetch(url)).text(), /^healthy/);
  assert.equal(spawnSync(COMMAND, ["health", "--endpoint-url", url]).status, 0);
  child.kill("SIGTERM");
  assert.deepEqual((await once(child, "exit"))[0], 0);
  assert.equal(spawnSync(COMMAND, ["health", "--endpoint-url", url]).status, 1);
});

test("nothing stays behind a shell that ends without a word", async () => {
  const shell = spawn("sh", ["-c", `${COMMAND} serve --in-memory --port 0 & wait`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await readyUrl(shell);
  shell.kill("SIGKILL");
  await untilGone(url);
});

test("exit status and output are the program's", () => {
  const version = spawnSync(COMMAND, ["version", "--json"], { encoding: "utf8" });
  assert.ok(JSON.parse(version.stdout).formats.data_folder);
  assert.equal(spawnSync(COMMAND, ["serve", "--no-such-flag"]).status, 2);
});
