// The guard of a test run: its settings, and which test the requests of a test file belong to. The server judges them
// (`lodestone serve --guard`); the fixtures begin and end each test by calls to it.
"use strict";

const http = require("node:http");
const { delimiter } = require("node:path");

const MODES = ["fail", "report"];
const SETTINGS = ["models", "mode", "reports"];
/** How long the server may take to answer a call. */
const ANSWER_WITHIN_MS = 30_000;
/** Where a test file keeps its guard: modules may be loaded twice, the global object is one. */
const PLACE = Symbol.for("lodestone-db.guard");

/**
 * What the server is started with: the settings of the runner's configuration, with paths below its folder, or else
 * those of the environment. The mode is `off` where no model is named.
 */
function guardOfRun(configured, folder) {
  const settings = configured ?? environmentSettings(process.env);
  if (settings === undefined) return { mode: "off", flags: [], folder: undefined };
  const { models, mode = "fail", reports = [] } = checked(settings);
  const each = (flag, values) => [values].flat().map((value) => `--${flag}=${value}`);
  const flags = [...each("guard", models), ...each("guard-mode", mode), ...each("guard-report", reports)];
  return { mode, flags, folder: configured ? folder : undefined };
}

function environmentSettings({ LODESTONE_GUARD, LODESTONE_GUARD_MODE, LODESTONE_GUARD_REPORT }) {
  if (!LODESTONE_GUARD) return undefined;
  const list = (text) => (text ? text.split(delimiter) : []);
  return { models: list(LODESTONE_GUARD), mode: LODESTONE_GUARD_MODE || "fail", reports: list(LODESTONE_GUARD_REPORT) };
}

/** The settings, unless something in them is misspelt. */
function checked(settings) {
  const unknown = Object.keys(settings).find((name) => !SETTINGS.includes(name));
  if (unknown) throw new Error(`lodestoneGuard has no setting ${unknown}: it takes ${SETTINGS.join(", ")}`);
  if (![settings.models ?? []].flat().length) throw new Error('lodestoneGuard names no model: models: "model.yaml"');
  if (!MODES.includes(settings.mode ?? "fail")) throw new Error(`the guard's mode is one of ${MODES.join(", ")}`);
  return settings;
}

/** A test file's view of the guard. Its tests may run one after the other or side by side. */
class Guard {
  #url;
  #account;
  #fails;
  /** Tests that run. The server has one test for an account at a time: the first of these. */
  #running = [];
  #pauses = 0;
  /** What was begun last: the next thing waits for its end, so that tests side by side see each other's calls as one. */
  #turn = Promise.resolve();

  constructor(url, account, mode) {
    this.#url = url;
    this.#account = account;
    this.#fails = mode === "fail";
  }

  /** From here on, the file's requests are this test's. */
  begin(test) {
    return this.#inTurn(async () => {
      this.#running.push(test);
      if (this.#running.length === 1) await this.#call({ begin: test });
    });
  }

  /** Ends a test. It fails for what was found in it, also if the application caught the error. */
  async end(test) {
    const found = await this.#inTurn(() => {
      this.#running.splice(this.#running.indexOf(test), 1);
      return this.#take();
    });
    if (this.#fails && found.length) throw new Error(described(found));
  }

  /** What was found since the test began, or since this was last asked. It does not fail the test any more. */
  findings() {
    return this.#inTurn(() => this.#take());
  }

  /** Runs work whose requests all pass. */
  async unguarded(work) {
    await this.#inTurn(async () => {
      this.#pauses += 1;
      if (this.#pauses === 1) await this.#call({ pause: true });
    });
    try {
      return await work();
    } finally {
      await this.#inTurn(async () => {
        this.#pauses -= 1;
        if (this.#pauses === 0) await this.#call({ pause: false });
      });
    }
  }

  /** Takes what was found so far; tests that still run go on. */
  async #take() {
    const { findings } = await this.#call({ end: true });
    if (this.#running.length) await this.#call({ begin: this.#running[0] });
    if (this.#pauses) await this.#call({ pause: true });
    return findings;
  }

  #inTurn(work) {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  async #call(call) {
    return JSON.parse(await ask(this.#url, { account: this.#account, ...call }));
  }
}

/** Sends a call to the guard of a server. This is not `fetch`, which tests replace. */
function ask(url, call) {
  return new Promise((resolve, reject) => {
    const options = { method: "POST", agent: false, timeout: ANSWER_WITHIN_MS };
    const request = http.request(`${url}/lodestone/guard`, options, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (data) => (text += data));
      response.on("error", reject);
      response.on("end", () => {
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`lodestone's guard answered ${response.statusCode}: ${text}`));
      });
    });
    request.on("timeout", () => request.destroy(new Error(`the guard did not answer within ${ANSWER_WITHIN_MS} ms`)));
    request.on("error", reject);
    request.end(JSON.stringify(call));
  });
}

/** The findings, for the failure of a test. */
function described(findings) {
  const lines = findings.map(({ place, rule, times, message, help }) => {
    const where = place ? `${place.file}:${place.line}: ` : "";
    return `- ${where}[${rule}, ${times} times] ${message} Do this: ${help}.`;
  });
  return [`the model does not know what this test asks (${findings.length} findings)`, ...lines].join("\n");
}

/** Opens the guard of this test file; absent if the run has none. */
function openGuard(url, account, mode) {
  globalThis[PLACE] = MODES.includes(mode) ? new Guard(url, account, mode) : undefined;
  return globalThis[PLACE];
}

/** The guard of this test file; absent if the run has none. */
function guardOfFile() {
  return globalThis[PLACE];
}

/** Runs work whose requests all pass the guard: for what prepares or examines data. Without a guard, it only runs it. */
async function unguarded(work) {
  const guard = guardOfFile();
  return guard ? guard.unguarded(work) : work();
}

/** What the guard has found in the running test so far, for tests that expect it: it does not fail them any more. */
async function guardFindings() {
  return (await guardOfFile()?.findings()) ?? [];
}

/** Shows what was found in the run. */
async function showReport(url, mode) {
  if (mode !== "off") console.log(await ask(url, { report: "markdown" }));
}

module.exports = { guardFindings, guardOfFile, guardOfRun, openGuard, showReport, unguarded };
