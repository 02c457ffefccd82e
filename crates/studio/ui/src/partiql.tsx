// PartiQL: one statement or several, what each becomes, its parameters, its pages.

import { useEffect, useState } from "preact/hooks";
import { call } from "./door";
import { count, plural } from "./format";
import { type Past, record } from "./history";
import { Editor } from "./editor";
import { Dialog, Failure } from "./parts";
import { PastRequests } from "./pastrequests";
import { adjust, go, href, place } from "./place";
import { type TableDescription, describe, indexesOf, keyNames, partitionNames, say, session, tableNames } from "./session";
import { type Attribute, TYPES, type Type, parse, typed, type } from "./value";
import { Result } from "./query";

const MODES = ["ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"] as const;
type Mode = (typeof MODES)[number];

export function PartiqlScreen() {
  const names = tableNames.value ?? [];
  const chosen = place.value.query.get("table") ?? names[0] ?? "";
  const [table, setTable] = useState<TableDescription | null>(null);
  const [source, setSource] = useState(place.value.query.get("statement") ?? "");
  const [parameters, setParameters] = useState<Attribute[]>([]);
  const [mode, setMode] = useState<Mode>("ExecuteStatement");
  const [answer, setAnswer] = useState<any>(null);
  const [error, setError] = useState<unknown>(null);
  const [remembering, setRemembering] = useState(false);
  useEffect(() => {
    if (chosen) describe(chosen).then(setTable, setError);
  }, [chosen]);
  const statements = split(source);
  const marks = mode === "ExecuteStatement" ? (statements[0]?.replace(/'(?:[^']|'')*'/g, "").match(/\?/g)?.length ?? 0) : 0;
  const filled = Array.from({ length: marks }, (_, at): Attribute => parameters[at] ?? { S: "" });

  const run = async (next?: string) => {
    setError(null);
    const began = performance.now();
    try {
      const one = { Statement: statements[0] ?? "", ...(marks && { Parameters: filled }) };
      const input =
        mode === "ExecuteStatement"
          ? { ...one, ReturnConsumedCapacity: "INDEXES", ...(next && { NextToken: next }) }
          : { [mode === "BatchExecuteStatement" ? "Statements" : "TransactStatements"]: statements.map((Statement) => ({ Statement })), ReturnConsumedCapacity: "INDEXES" };
      const body = await call(mode, input);
      setAnswer({ pages: [...(next ? (answer?.pages ?? []) : []), body], milliseconds: performance.now() - began });
      record({ operation: mode, input, units: [body.ConsumedCapacity ?? []].flat().reduce((sum: number, one: any) => sum + (one.CapacityUnits ?? 0), 0) });
      adjust({ statement: source });
      say(`${mode}: ${plural(body.Items?.length ?? body.Responses?.length ?? 0, "answer")}.`);
    } catch (failure) {
      setAnswer(null);
      setError(failure);
    }
  };
  // Statements come back here, and other requests where they are made.
  const take = ({ operation, input }: Past) => {
    const known = MODES.find((one) => one === operation);
    if (!known) return go(href("query", { table: input.TableName ?? chosen, json: "1", op: operation, request: JSON.stringify(input) }));
    setMode(known);
    setSource(input.Statement ?? (input.Statements ?? input.TransactStatements).map((one: any) => one.Statement).join(";\n"));
    setParameters(input.Parameters ?? []);
    setRemembering(false);
  };
  const becomes = table ? statements.slice(0, 25).map((one) => reading(one, table)) : [];
  return (
    <>
      <div class="head" style={{ paddingBottom: "10px" }}>
        <h1>PartiQL</h1>
        <span class="pill"><span>table</span><select aria-label="Table" value={chosen} onChange={(event) => adjust({ table: event.currentTarget.value })}>{names.map((name) => <option key={name}>{name}</option>)}</select></span>
        <span class="pill"><select aria-label="Operation" value={mode} onChange={(event) => setMode(event.currentTarget.value as Mode)}>{MODES.map((one) => <option key={one}>{one}</option>)}</select></span>
        <button type="button" class="btn right" onClick={() => setRemembering(true)}>History</button>
        <button type="button" class="btn pri" onClick={() => void run()}>Run <kbd>Ctrl ↵</kbd></button>
      </div>
      <section class="query" aria-label="Statement">
        <Editor language="partiql" label="PartiQL statement" value={source} onChange={setSource} onRun={() => void run()} height="130px" />
        <div class="expr" role="status">
          {becomes.map((one, at) => <span key={at} class={`chip${one.scan ? " warn" : ""}`}>{becomes.length > 1 ? `${at + 1}: ` : ""}{one.text}</span>)}
          {filled.map((value, at) => (
            <span class="pill" key={at}>
              <span>? {at + 1}</span>
              <select aria-label={`Type of parameter ${at + 1}`} value={type(value)} onChange={(event) => setParameters(filled.map((one, other) => (other === at ? ({ [event.currentTarget.value]: event.currentTarget.value === "BOOL" ? true : "" } as Attribute) : one)))}>
                {TYPES.slice(0, 5).map((one) => <option key={one}>{one}</option>)}
              </select>
              <input aria-label={`Parameter ${at + 1}`} value={typed(value)} onInput={(event) => { const made = parse(type(value) as Type, event.currentTarget.value); if (typeof made !== "string") setParameters(filled.map((one, other) => (other === at ? made : one))); }} />
            </span>
          ))}
        </div>
      </section>
      {remembering && (
        <Dialog title="Requests" onClose={() => setRemembering(false)} wide>
          <PastRequests current={mode === "ExecuteStatement" && statements[0] ? { operation: mode, input: { Statement: statements[0], ...(marks && { Parameters: filled }) } } : undefined} onTake={take} />
        </Dialog>
      )}
      <div class="page">
        {error ? <Failure error={error} /> : answer ? (
          <div class="stack">
            <Result answer={answer} />
            {answer.pages.at(-1).NextToken && <span><button type="button" class="btn" onClick={() => void run(answer.pages.at(-1).NextToken)}>Next page</button></span>}
          </div>
        ) : table ? <Beginnings table={table} onTake={setSource} /> : null}
      </div>
    </>
  );
}

// Statements end with a semicolon, but not inside of quotes.
export function split(source: string): string[] {
  const pieces = source.match(/(?:'(?:[^']|'')*'|"(?:[^"]|"")*"|[^;'"])+/g) ?? [];
  return pieces.map((one) => one.trim()).filter(Boolean);
}

// What a SELECT becomes: a lookup, a Query, or a Scan, by which key attributes are compared with =.
export function reading(statement: string, table: TableDescription): { text: string; scan: boolean } {
  const word = /^\w+/.exec(statement)?.[0].toUpperCase() ?? "";
  if (word !== "SELECT") return { text: { INSERT: "PutItem", UPDATE: "UpdateItem", DELETE: "DeleteItem", EXISTS: "a condition" }[word] ?? "no statement", scan: false };
  const from = /\bFROM\s+"?([\w.-]+)"?(?:\."?([\w.-]+)"?)?/i.exec(statement);
  if (from && from[1] !== table.TableName) return { text: `reads ${from[1]}`, scan: false };
  const index = indexesOf(table).find((one) => one.IndexName === from?.[2]);
  const where = statement.split(/\bWHERE\b/i)[1] ?? "";
  const equal = (name: string) => new RegExp(`(^|[^\\w.])"?${name}"?\\s*(=|\\bIN\\b)`, "i").test(where) && !/\bOR\b/i.test(where);
  const schema = index?.KeySchema ?? table.KeySchema;
  const on = index ? ` on ${index.IndexName}` : "";
  if (!index && keyNames(schema).every(equal)) return { text: "becomes GetItem", scan: false };
  if (partitionNames(schema).every(equal)) return { text: `becomes Query${on}`, scan: false };
  const size = index ? (index.IndexSizeBytes ?? 0) : table.TableSizeBytes;
  const items = index?.ItemCount ?? table.ItemCount;
  return { text: `becomes Scan${on}: reads ${items === 1 ? "its one item" : `all ${count(items)} items`}, ${count(Math.max(1, Math.ceil(size / 4096)) / 2)} RCU`, scan: true };
}

function Beginnings({ table, onTake }: { table: TableDescription; onTake(statement: string): void }) {
  const [partition, sort] = keyNames(table.KeySchema);
  const name = `"${table.TableName}"`;
  const [index] = indexesOf(table);
  const statements = [
    `SELECT * FROM ${name} WHERE "${partition}" = ?`,
    ...(sort ? [`SELECT * FROM ${name} WHERE "${partition}" = ? AND begins_with("${sort}", ?)`] : []),
    ...(index ? [`SELECT * FROM ${name}."${index.IndexName}" WHERE "${partitionNames(index.KeySchema)[0]}" = ?`] : []),
    `SELECT * FROM ${name}`,
    ...(session.value?.readOnly ? [] : [`UPDATE ${name} SET "note" = ? WHERE "${partition}" = ?${sort ? ` AND "${sort}" = ?` : ""}`]),
  ];
  return (
    <section class="panel" aria-label="Statements to begin with">
      <h2>To begin with</h2>
      <ul>{statements.map((one) => <li key={one} style={{ padding: "4px 10px" }}><button type="button" class="bare mono" onClick={() => onTake(one)}>{one}</button></li>)}</ul>
    </section>
  );
}
