// Starts the server that the platform's package has. CommonJS, because Jest loads its set-up that way.
"use strict";

const { spawn } = require("node:child_process");
const { randomInt } = require("node:crypto");

/** How long a server may take until it is ready. */
const READY_WITHIN_MS = 30_000;
/** How long a server may take to finish its requests when it is stopped. */
const STOPPED_WITHIN_MS = 15_000;

/** Where there are packages with the program. */
const PLATFORMS = ["linux-x64", "linux-arm64"];

/** The program's path: LODESTONE_BINARY, or the one of the package for this platform. */
function binaryPath() {
  const named = process.env.LODESTONE_BINARY;
  if (named) return named;
  const platform = `${process.platform}-${process.arch}`;
  if (!PLATFORMS.includes(platform)) {
    throw new Error(
      `lodestone-db has no program for ${platform}, only for ${PLATFORMS.join(" and ")}. Run the container image ` +
        "instead, or set LODESTONE_BINARY to a program that you have built yourself.",
    );
  }
  const name = `lodestone-db-${platform}`;
  try {
    return require.resolve(`${name}/bin/lodestone`);
  } catch {
    throw new Error(
      `lodestone-db has no program for this machine: the package ${name} is not installed. Install it without ` +
        "--omit=optional, or set LODESTONE_BINARY to a program that you have built yourself.",
    );
  }
}

/** An access key that is an account of its own: tables of other keys are not seen with it. */
function newAccount() {
  return Array.from({ length: 12 }, () => randomInt(10)).join("");
}

/** What the environment of an AWS SDK needs to use the server as this account. */
function environment(url, account = newAccount()) {
  return {
    AWS_ENDPOINT_URL_DYNAMODB: url,
    AWS_ENDPOINT_URL_DYNAMODB_STREAMS: url,
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: account,
    AWS_SECRET_ACCESS_KEY: "local",
  };
}

/** Starts a server with its data in memory on a free port, unless the flags say otherwise. */
async function startServer({ flags = ["--in-memory"], folder, readyWithinMs = READY_WITHIN_MS } = {}) {
  const child = spawn(binaryPath(), ["serve", "--port", "0", "--end-with-parent", ...flags], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const url = await readyUrl(child, readyWithinMs);
  // The server must not keep a test runner alive that has nothing else to do.
  child.unref();
  child.stdout.unref();
  child.stderr.unref();
  return { url, account: newAccount, stop: () => stop(child) };
}

/** The address in the ready line. */
function readyUrl(child, withinMs) {
  return new Promise((resolve, reject) => {
    let output = "";
    const fail = (why) => {
      clearTimeout(timer);
      child.kill("SIGKILL");
      reject(new Error(`lodestone ${why}: ${output.trim() || "it said nothing"}`));
    };
    const timer = setTimeout(() => fail(`was not ready within ${withinMs} ms`), withinMs);
    child.once("error", (error) => fail(`could not be started (${error.message})`));
    child.once("exit", (code, signal) => fail(`ended with ${signal ?? code}`));
    child.stderr.on("data", (data) => (output += data));
    child.stdout.on("data", (data) => {
      output += data;
      const ready = /^lodestone is ready at (\S+) /m.exec(output);
      if (!ready) return;
      clearTimeout(timer);
      child.removeAllListeners("exit");
      child.stdout.removeAllListeners("data");
      child.stderr.removeAllListeners("data");
      child.stdout.resume();
      child.stderr.resume();
      resolve(ready[1]);
    });
  });
}

function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), STOPPED_WITHIN_MS);
    child.ref();
    child.once("exit", () => {
      clearTimeout(timer);
      resolve();
    });
    child.kill("SIGTERM");
  });
}

module.exports = { binaryPath, environment, newAccount, startServer };
