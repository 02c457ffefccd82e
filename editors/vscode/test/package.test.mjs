// What is in the packed extension, and that all it declares is there.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

const folder = mkdtempSync(join(tmpdir(), "lodestone-vsix-"));
execFileSync("python3", ["-m", "zipfile", "-e", "dist/lodestone.vsix", folder]);
after(() => rmSync(folder, { recursive: true }));

const extension = join(folder, "extension");
const read = (name) => readFileSync(join(extension, name), "utf8");
const manifest = JSON.parse(read("package.json"));

test("the package has its script, its schema and its page, and nothing that it does not need", () => {
  for (const file of [manifest.main, manifest.contributes.yamlValidation[0].url, "readme.md"]) {
    assert.ok(existsSync(join(extension, file)), file);
  }
  assert.ok(!existsSync(join(extension, "node_modules")) && !existsSync(join(extension, "src")));
});

test("the schema is the one that the program prints", () => {
  const printed = execFileSync(process.env.LODESTONE, ["model", "schema"], { encoding: "utf8" });
  assert.equal(read("dist/schema.json"), printed);
});

test("the script needs only what VS Code and Node have", () => {
  const needed = [...read(manifest.main).matchAll(/\brequire\("([^"]+)"\)/g)].map(([, name]) => name);
  const others = needed.filter((name) => name !== "vscode" && !builtinModules.includes(name));
  assert.deepEqual(others, []);
  assert.ok(needed.includes("vscode"));
});

test("each command that the package declares is one that the script has", () => {
  const script = read(manifest.main);
  for (const { command } of manifest.contributes.commands) {
    assert.ok(script.includes(`"${command}"`), command);
  }
});
