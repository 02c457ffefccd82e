// `preset: "lodestone-db"`: a server for the run, an account for each test file, and a guard if there are models.
"use strict";

module.exports = {
  globalSetup: require.resolve("./jest.cjs"),
  globalTeardown: require.resolve("./jest-teardown.cjs"),
  setupFiles: [require.resolve("./jest-account.cjs")],
  setupFilesAfterEnv: [require.resolve("./jest-guard.cjs")],
};
