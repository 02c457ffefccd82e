// `preset: "lodestone-db"`: a server for the run, and an account for each test file.
"use strict";

module.exports = {
  globalSetup: require.resolve("./jest.cjs"),
  globalTeardown: require.resolve("./jest-teardown.cjs"),
  setupFiles: [require.resolve("./jest-account.cjs")],
};
