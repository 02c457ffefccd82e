// `lodestone model code --language javascript`: what it prints is a module whose functions run as they are, and
// find and leave what the pattern means. The tables are made and filled by what the product exports.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { checkLeft, model, models, withTables } from "../models.mjs";

// Beside the packages, so that the module finds them.
const packages = fileURLToPath(new URL("../node_modules/", import.meta.url));
const folder = mkdtempSync(`${packages}.model-code-`);
after(() => rmSync(folder, { recursive: true }));

// A key as text; keys are texts and numbers.
const keyText = (names, value) => names.map((name) => `${name}=${value(name)}`).join(" ");

function checkFound({ finds, operation }, answer) {
  const items = [answer ?? []].flat();
  const names = Object.keys(finds[0] ?? {});
  const expected = finds.map((key) => keyText(names, (name) => key[name].S ?? key[name].N));
  const found = items.map((item) => keyText(names, (name) => item[name]));
  if (operation === "BatchGetItem") for (const keys of [found, expected]) keys.sort();
  assert.deepEqual(found, expected);
}

for (const name of readdirSync(models).filter((name) => name.endsWith(".yaml"))) {
  test(`the module of ${name} runs as it is`, async () => {
    const path = `${models}${name}`;
    const file = `${folder}/${name}.mjs`;
    writeFileSync(file, model("code", path, "--language", "javascript"));
    const module = await import(file);
    await withTables(path, async () => {
      const examples = JSON.parse(model("code", path, "--json")).patterns.filter((one) => one.requests);
      assert.ok(examples.length > 0);
      for (const example of examples) {
        const answer = await module[example.function]();
        if (example.leaves) await checkLeft(path, example);
        else if (example.requests[0].Select === "COUNT") assert.equal(answer, example.finds.length);
        else checkFound(example, answer);
      }
    });
  });
}
