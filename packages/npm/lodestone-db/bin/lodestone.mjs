#!/usr/bin/env node
// Runs the program of this platform. A shell that npm starts does not forward signals, so this process also ends, and
// the server with it, when its own parent has ended.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { binaryPath } from "../lib/server.cjs";

const PARENT_LOOK_MS = 300;

function commandLine(words) {
  return words[0] === "serve" ? ["serve", "--end-with-parent", ...words.slice(1)] : words;
}

function run() {
  const child = spawn(binaryPath(), commandLine(process.argv.slice(2)), { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => child.kill(signal));
  }
  const parent = process.ppid;
  const look = setInterval(() => process.ppid === parent || child.kill("SIGTERM"), PARENT_LOOK_MS);
  child.on("error", (error) => fail(error.message));
  child.on("exit", (code, signal) => {
    clearInterval(look);
    process.exit(code ?? 128 + constants.signals[signal]);
  });
}

function fail(why) {
  console.error(`lodestone-db: ${why}`);
  process.exit(1);
}

try {
  run();
} catch (error) {
  fail(error.message);
}
