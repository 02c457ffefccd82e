// The guard of the fixtures: test runs of which one test asks what the model does not know.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";
import { startServer } from "lodestone-db";
import { openGuard } from "./node_modules/lodestone-db/lib/guard.cjs";

const RUNNERS = {
  vitest: ["vitest", "run", "--reporter=json", "--outputFile=vitest.json"],
  jest: ["jest", "--ci", "--json", "--outputFile=jest.json"],
};
const SCAN = "a scan is not, also if the application catches the error";

// Runs the guarded tests, and returns the status and what failed, by name.
function run(runner, environment = {}, options = []) {
  const [name, ...words] = RUNNERS[runner];
  const program = resolve("../node_modules/.bin", name);
  const env = { ...process.env, ...environment };
  delete env.NODE_TEST_CONTEXT;
  const ran = spawnSync(program, [...words, ...options], { cwd: "guarded", encoding: "utf8", env });
  return { ...ran, said: ran.stdout + ran.stderr };
}

function failures(runner, said) {
  const { testResults } = JSON.parse(readFileSync(`guarded/${runner}.json`, "utf8"));
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  assert.ok(tests.length >= 4, said);
  return tests.filter(({ status }) => status !== "passed");
}

for (const runner of Object.keys(RUNNERS)) {
  test(`${runner}: the test that asks what the model does not know fails, and no other`, () => {
    const { status, said } = run(runner);
    const failed = failures(runner, said);
    assert.equal(status, 1, said);
    assert.deepEqual(
      failed.map(({ title }) => title),
      [SCAN],
      said,
    );
    assert.match(failed[0].failureMessages.join(), /the model does not know.*\[scan, 1 times\] Scan of table `Songs`/s);
    const { results } = JSON.parse(readFileSync(`guarded/${runner}.sarif`, "utf8")).runs[0];
    assert.deepEqual(
      results.map(({ ruleId }) => ruleId),
      ["scan", "scan"],
    );
  });

  test(`${runner}: a guard of the environment that reports lets every test pass`, () => {
    const environment = { LODESTONE_GUARD: "model.yaml", LODESTONE_GUARD_MODE: "report" };
    const { status, said } = run(runner, environment, ["-t", SCAN]);
    assert.equal(status, 0, said);
    assert.match(said, /1 findings in 1 requests of 1 tests/);
    assert.match(said, new RegExp(`songs.${runner}.*${SCAN}`));
  });

  test(`${runner}: a setting that is misspelt is named`, () => {
    const { status, said } = run(runner, { MISSPELT: "model" });
    assert.notEqual(status, 0);
    assert.match(said, /lodestoneGuard has no setting model: it takes models, mode, reports/);
  });
}

test("tests that begin and end at the same moment are one for the server", async () => {
  const server = await startServer({ flags: ["--in-memory", "--guard=model.yaml"], folder: "guarded" });
  try {
    const guard = openGuard(server.url, "111122223333", "fail");
    for (let round = 0; round < 3; round++) {
      await Promise.all(["one", "two"].map((name) => guard.begin(name)));
      await Promise.all(["two", "one"].map((name) => guard.end(name)));
    }
    await assert.rejects(guard.findings(), /No test is running/);
  } finally {
    await server.stop();
  }
});
