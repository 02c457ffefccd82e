// Items out of a table and into it: files of JSON lines and CSV, request by request, with progress and a way to stop.

import { call } from "../door";
import { itemOf, read } from "../json";
import { csvCell, save } from "../parts";
import { type Attribute, type Item, TYPES, type Type, get, parse, plain, type } from "../value";

export type Format = "json" | "csv";
export const EXTENSIONS: Record<Format, string> = { json: "jsonl", csv: "csv" };
const MIME: Record<Format, string> = { json: "application/jsonl", csv: "text/csv" };
// Writes that are under way at the same time.
const WIDTH = 8;
const BATCH = 25;
const RETRIES_MAX = 8;

// --- out

// One line in DynamoDB JSON, as ImportTable and the exports of DynamoDB have it.
const jsonLine = (item: Item) => JSON.stringify({ Item: item });

export function csvLine(item: Item, names: string[]): string {
  return names
    .map((name) => {
      const value = get(item, name);
      if (!value) return "";
      const shown = plain(value);
      return csvCell("N" in value ? value.N : shown !== null && typeof shown === "object" ? JSON.stringify(shown) : String(shown ?? ""), "N" in value);
    })
    .join(",");
}
export const csvHead = (names: string[]): string => names.map((name) => csvCell(name)).join(",");

const namesOf = (items: Item[], keys: string[]): string[] => [...new Set([...keys, ...items.flatMap((item) => Object.keys(item))])];

export function saveItems(name: string, items: Item[], format: Format, keys: string[]) {
  const names = namesOf(items, keys);
  const lines = format === "json" ? items.map(jsonLine) : [csvHead(names), ...items.map((item) => csvLine(item, names))];
  const end = format === "json" ? "\n" : "\r\n";
  save(`${name}.${EXTENSIONS[format]}`, MIME[format], lines.join(end) + end);
}

export interface Exported {
  blob: Blob;
  items: number;
  units: number;
  // Every item that the read finds is in the file.
  isWhole: boolean;
}

// What a Scan of these bytes takes. What a Query takes is not known before.
export function estimatedUnits(operation: "Query" | "Scan", input: any, bytes: number): number | null {
  if (operation !== "Scan") return null;
  return (Math.max(1, Math.ceil(bytes / 4096)) / 2) * (input.ConsistentRead ? 2 : 1);
}

export interface ExportHooks {
  onProgress(items: number, examined: number, units: number): void;
  // The read limit in units, as it is now.
  unitsMax(): number;
  // The limit is reached: whether the read goes on to the next one, or ends with what it has.
  goOn(): Promise<boolean>;
  abort: AbortSignal;
}

// Every item that a read finds. The columns of CSV are known at the end, so the lines are written from what was kept.
export async function exportAll(operation: "Query" | "Scan", input: any, format: Format, keys: string[], { onProgress, unitsMax, goOn, abort }: ExportHooks): Promise<Exported> {
  const kept: Blob[] = [];
  let spent = 0;
  const names = new Set(keys);
  let [items, examined, units] = [0, 0, 0];
  let from: Item | undefined;
  do {
    const page = await call(operation, { ...input, Limit: undefined, ReturnConsumedCapacity: "TOTAL", ...(from && { ExclusiveStartKey: from }) }, abort);
    if (page.Items.length) kept.push(new Blob([page.Items.map((item: Item) => `${jsonLine(item)}\n`).join("")]));
    for (const item of format === "csv" ? (page.Items as Item[]) : []) for (const name of Object.keys(item)) names.add(name);
    items += page.Items.length;
    examined += page.ScannedCount;
    const consumed = page.ConsumedCapacity?.CapacityUnits ?? 0;
    units += consumed;
    spent += consumed;
    from = page.LastEvaluatedKey;
    onProgress(items, examined, units);
    if (from && spent >= unitsMax()) {
      if (!(await goOn())) break;
      spent = 0;
    }
  } while (from);
  const isWhole = !from;
  if (format === "json") return { blob: new Blob(kept, { type: MIME.json }), items, units, isWhole };
  const columns = [...names];
  const lines: Blob[] = [new Blob([`${csvHead(columns)}\r\n`])];
  for (const one of kept) {
    const page = (await one.text()).split("\n").filter(Boolean).map((line) => JSON.parse(line).Item as Item);
    lines.push(new Blob([page.map((item) => `${csvLine(item, columns)}\r\n`).join("")]));
  }
  return { blob: new Blob(lines, { type: MIME.csv }), items, units, isWhole };
}

// --- in

export interface Problem {
  line: number;
  message: string;
}
export interface Parsed {
  items: Item[];
  problems: Problem[];
  // The columns of CSV, with the types that their cells are read as.
  columns: { name: string; type: Type | "" }[] | null;
}

export type TypeOf = (name: string) => Type | undefined;

// JSON: one item, a list of them, or one in each line; plain or DynamoDB's. Everything else is CSV with a head.
export async function parseItems(source: string, typeOf: TypeOf, chosen: Record<string, Type> = {}): Promise<Parsed> {
  const text = source.replace(/^\ufeff/, "").trim();
  if (!text) return { items: [], problems: [], columns: null };
  if (text.startsWith("[") || text.startsWith("{")) return json(text);
  const { csvParseRows } = await import("d3-dsv");
  return csv(csvParseRows(text), typeOf, chosen);
}

function json(text: string): Parsed {
  const lines = text.split("\n");
  const isLines = text.startsWith("{") && lines.length > 1 && lines[0].trim().endsWith("}");
  const found: Parsed = { items: [], problems: [], columns: null };
  const take = (value: unknown, line: number) => {
    try {
      found.items.push(itemOf(value));
    } catch (error) {
      found.problems.push({ line, message: (error as Error).message });
    }
  };
  if (isLines) {
    lines.forEach((line, at) => {
      if (!line.trim()) return;
      try {
        take(read(line), at + 1);
      } catch (error) {
        found.problems.push({ line: at + 1, message: (error as Error).message.replace(/^Line 1: /, "") });
      }
    });
    return found;
  }
  try {
    const value = read(text) as any;
    // What a Scan or Query of the AWS CLI prints.
    const list = Array.isArray(value) ? value : Array.isArray(value.Items) && Object.keys(value).every((name) => /^(Items|Count|ScannedCount|ConsumedCapacity|LastEvaluatedKey|NextToken)$/.test(name)) ? value.Items : [value];
    list.forEach((one: unknown, at: number) => take(one, at + 1));
  } catch (error) {
    found.problems.push({ line: Number(/^Line (\d+)/.exec((error as Error).message)?.[1] ?? 1), message: (error as Error).message });
  }
  return found;
}

function csv([head = [], ...lines]: string[][], typeOf: TypeOf, chosen: Record<string, Type>): Parsed {
  const columns = head.map((name, at) => ({ name: name.trim(), type: chosen[name.trim()] ?? typeOf(name.trim()) ?? guessed(lines.slice(0, 200).map((line) => line[at] ?? "")) }));
  const found: Parsed = { items: [], problems: [], columns };
  lines.forEach((line, at) => {
    const values = columns.map(({ type: kind }, column) => cell(line[column] ?? "", kind));
    const wrong = values.findIndex((value) => typeof value === "string");
    if (wrong >= 0) found.problems.push({ line: at + 2, message: `${columns[wrong].name}: ${values[wrong]}` });
    else if (line.some(Boolean)) found.items.push(Object.fromEntries(values.flatMap((value, column) => (value ? [[columns[column].name, value as Attribute]] : []))));
  });
  return found;
}

// A number that begins with a zero is a name, such as a postal code.
function guessed(cells: string[]): Type {
  const filled = cells.filter(Boolean);
  if (filled.length && filled.every((one) => /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(one))) return "N";
  if (filled.length && filled.every((one) => one === "true" || one === "false")) return "BOOL";
  if (filled.length && filled.every((one) => /^\{[^]*\}$/.test(one))) return "M";
  return filled.length && filled.every((one) => /^\[[^]*\]$/.test(one)) ? "L" : "S";
}

// A cell as a value; nothing if it is empty, a sentence if it is none of the type.
function cell(text: string, kind: Type): Attribute | string | undefined {
  if (text === "") return undefined;
  if (["S", "N", "B", "BOOL", "NULL"].includes(kind)) return parse(kind, kind === "S" && /^'[=+\-@\t\r]/.test(text) ? text.slice(1) : text);
  try {
    const value = itemOf({ value: read(text) } as never).value;
    const set = kind === "SS" || kind === "NS" || kind === "BS";
    if (set && "L" in value) return { [kind]: value.L.map((one) => String(Object.values(one)[0])) } as unknown as Attribute;
    return type(value) === kind ? value : `this is no ${kind}`;
  } catch (error) {
    return (error as Error).message;
  }
}

export const CELL_TYPES = TYPES.filter((one) => one !== "NULL");

export interface ImportProgress {
  written: number;
  kept: number;
  units: number;
  problems: Problem[];
}

// Writes items, several requests at a time. Items with the key of another are kept as they are, unless they are to be
// overwritten.
export async function importAll(table: string, items: Item[], primary: string[], overwrite: boolean, onProgress: (now: ImportProgress) => void, abort: AbortSignal): Promise<ImportProgress> {
  const now: ImportProgress = { written: 0, kept: 0, units: 0, problems: [] };
  const units = (answer: any) => [answer.ConsumedCapacity ?? []].flat().reduce((sum: number, one: any) => sum + (one.CapacityUnits ?? 0), 0);
  const put = async (at: number) => {
    try {
      const answer = await call("PutItem", { TableName: table, Item: items[at], ReturnConsumedCapacity: "TOTAL", ...(!overwrite && { ConditionExpression: "attribute_not_exists(#key)", ExpressionAttributeNames: { "#key": primary[0] } }) }, abort);
      now.written++;
      now.units += units(answer);
    } catch (error) {
      if (abort.aborted) throw error;
      if ((error as { type?: string }).type === "ConditionalCheckFailedException") now.kept++;
      else now.problems.push({ line: at + 1, message: (error as Error).message });
    }
  };
  const batch = async (from: number) => {
    const places = Array.from({ length: Math.min(BATCH, items.length - from) }, (_, at) => from + at);
    let left: any[] = places.map((at) => ({ PutRequest: { Item: items[at] } }));
    try {
      for (let tries = 0; left.length && tries < RETRIES_MAX; tries++) {
        const answer = await call("BatchWriteItem", { RequestItems: { [table]: left }, ReturnConsumedCapacity: "TOTAL" }, abort);
        const rest: any[] = answer.UnprocessedItems?.[table] ?? [];
        now.written += left.length - rest.length;
        now.units += units(answer);
        left = rest;
      }
      if (left.length) now.problems.push({ line: from + 1, message: `${left.length} items were not taken after ${RETRIES_MAX} tries.` });
    } catch (error) {
      if (abort.aborted) throw error;
      // One item that is refused refuses all of them: each is written by itself, and says what is wrong.
      for (const at of places) await put(at);
    }
  };
  const step = overwrite ? BATCH : 1;
  let next = 0;
  const work = async () => {
    while (next < items.length && !abort.aborted) {
      const at = next;
      next += step;
      await (overwrite ? batch(at) : put(at));
      onProgress({ ...now });
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, work));
  return now;
}
