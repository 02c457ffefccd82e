// One click from nothing to a table that shows something.

import { post } from "./door";
import { plural } from "./format";
import { loadFiles } from "./legend";
import { loadTables, say } from "./session";

export interface Example {
  name: string;
  text: string;
}

export const examples = async (): Promise<Example[]> => (await post("examples", {})).examples;

// Makes the model's tables, loads its sample data and keeps the model beside them.
export async function loadExample(name: string, text: string): Promise<string[]> {
  const report = await post("model/apply", { text, samples: true });
  await post(`file/${name}`, { text }).catch(() => undefined);
  await Promise.all([loadTables(), loadFiles()]);
  say(`${name}: ${plural(report.samples?.written ?? 0, "item")} written.`);
  return report.tables.map((one: any) => one.table);
}
