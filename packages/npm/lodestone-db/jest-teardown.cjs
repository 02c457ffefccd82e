// Jest's globalTeardown.
"use strict";

module.exports = async function teardown() {
  await globalThis.__LODESTONE__?.stop();
};
