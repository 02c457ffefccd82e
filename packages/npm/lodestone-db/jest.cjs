// Jest's globalSetup: one server in memory for the run. Its workers get the address by their environment.
"use strict";

const { startServer } = require("./lib/server.cjs");

module.exports = async function setup() {
  globalThis.__LODESTONE__ = await startServer();
  process.env.LODESTONE_URL = globalThis.__LODESTONE__.url;
};
