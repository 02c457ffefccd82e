// Jest's globalTeardown.
"use strict";

const { showReport } = require("./lib/guard.cjs");

module.exports = async function teardown() {
  const server = globalThis.__LODESTONE__;
  if (!server) return;
  await showReport(server.url, server.mode);
  await server.stop();
};
