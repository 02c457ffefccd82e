// One of Vitest's setupFiles: each test file is an account of its own, so files see no tables of each other. With a
// guard, the requests of each test are the test's.
import { afterEach, beforeEach, inject } from "vitest";
import { openGuard } from "./lib/guard.cjs";
import { environment, newAccount } from "./lib/server.cjs";

/** The names of the file, of the suites and of the test. */
function titleOf(task) {
  const suites = [];
  for (let suite = task.suite; suite; suite = suite.suite) suites.unshift(suite.name);
  return [task.file.name, ...suites, task.name].join(" > ");
}

const [url, account] = [inject("lodestone"), newAccount()];
Object.assign(process.env, environment(url, account));
const guard = openGuard(url, account, inject("lodestoneGuardMode"));
if (guard) {
  beforeEach(({ task }) => guard.begin(titleOf(task)));
  afterEach(({ task }) => guard.end(titleOf(task)));
}
