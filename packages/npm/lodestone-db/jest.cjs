// Jest's globalSetup: one server in memory for the run, with a guard if the configuration or the environment has one.
// Its workers get address and mode by their environment.
"use strict";

const { guardOfRun } = require("./lib/guard.cjs");
const { startServer } = require("./lib/server.cjs");

module.exports = async function setup(_, project) {
  const { mode, flags, folder } = guardOfRun(project?.globals?.lodestoneGuard, project?.rootDir);
  const server = await startServer({ flags: ["--in-memory", ...flags], folder });
  globalThis.__LODESTONE__ = { ...server, mode };
  process.env.LODESTONE_URL = server.url;
  process.env.LODESTONE_GUARDED = mode;
};
