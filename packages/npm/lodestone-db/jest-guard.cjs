// One of Jest's setupFilesAfterEnv: with a guard, the requests of each test are the test's.
"use strict";

const { relative } = require("node:path");
const { guardOfFile } = require("./lib/guard.cjs");

/** The names of the file and of the running test. */
function title() {
  const { testPath, currentTestName } = expect.getState();
  return `${relative(process.cwd(), testPath)} > ${currentTestName}`;
}

const guard = guardOfFile();
if (guard) {
  if (typeof beforeEach !== "function") {
    throw new Error("the guard of lodestone-db needs Jest's globals: leave injectGlobals on");
  }
  beforeEach(() => guard.begin(title()));
  afterEach(() => guard.end(title()));
}
