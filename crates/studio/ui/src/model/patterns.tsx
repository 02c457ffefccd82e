// The board of patterns: each run on the real table, what is expected beside what came.

import { useEffect, useState } from "preact/hooks";
import { call, post } from "../door";
import { count, plural } from "../format";
import { record } from "../history";
import { type Pattern, TableLegend } from "../legend";
import { Copied, Failure, save } from "../parts";
import { href } from "../place";
import { keyNames, say } from "../session";
import { merged } from "../table/order";
import { keyText } from "../table/rows";
import { type Attribute, type Item, type Type, get, only, parse, text, typed } from "../value";
import { Verdict } from "./screen";
import type { ModelState } from "./state";

interface Run {
  result?: any;
  error?: unknown;
  milliseconds?: number;
}
// A sample has items of every kind, if they are found within this many requests.
const SAMPLE_ITEMS = 1000;
const SAMPLE_REQUESTS = 20;
const SAMPLE_PER_KIND = 60;

async function sampled(table: string, legend: TableLegend): Promise<Item[]> {
  const kept = new Map<string, Item[]>(legend.kinds.map((kind) => [kind.name, []]));
  let from: Item | undefined;
  for (let requests = 0; requests < SAMPLE_REQUESTS; requests++) {
    const page = await call("Scan", { TableName: table, Limit: SAMPLE_ITEMS, ...(from && { ExclusiveStartKey: from }) });
    for (const item of page.Items as Item[]) {
      const of = kept.get(legend.kind(item)?.name ?? "");
      if (of && of.length < SAMPLE_PER_KIND) of.push(item);
    }
    from = page.LastEvaluatedKey;
    if (!from || [...kept.values()].every((items) => items.length)) break;
  }
  return [...kept.values()].flat();
}

export function Patterns({ state, chosen }: { state: ModelState; chosen: string }) {
  const legend = state.legend.value;
  // None until they are read: a pattern that is run before has no values.
  const [read, setRead] = useState<Record<string, { items: Item[]; legend: TableLegend }> | null>(null);
  const samples = read ?? {};
  const [values, setValues] = useState<Record<string, Record<string, Attribute>>>({});
  const [runs, setRuns] = useState<Record<string, Run>>({});
  const [missing, setMissing] = useState<string[]>([]);
  const names = legend?.tables.map((one) => one.name).join(",") ?? "";

  // Values to try come from real items.
  useEffect(() => {
    if (!legend) return;
    const look = async (table: string) => {
      const { Table } = await call("DescribeTable", { TableName: table });
      const own = new TableLegend(table, keyNames(Table.KeySchema), legend);
      return [table, { items: await sampled(table, own), legend: own }] as const;
    };
    void Promise.allSettled(legend.tables.map((one) => look(one.name))).then((all) => {
      setRead(Object.fromEntries(all.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []))));
      setMissing(legend.tables.filter((_, at) => all[at].status === "rejected").map((one) => one.name));
    });
  }, [names, state.hash.value]);

  if (!legend) return <div class="page"><p class="muted">The file is no model yet: its findings say why.</p></div>;
  const pattern = legend.patterns.find((one) => one.id === chosen) ?? legend.patterns[0];
  const given = (one: Pattern) => values[one.id] ?? choices(one, samples)[0] ?? {};
  const runnable = (one: Pattern) => Boolean(one.read) && one.reads && !one.elsewhere && one.operation !== "BatchGetItem" && one.operation !== "TransactGetItems";
  const run = async (one: Pattern) => {
    const began = performance.now();
    try {
      const result = await post("run", { text: state.text.value, pattern: one.id, values: given(one) });
      setRuns((all) => ({ ...all, [one.id]: { result, milliseconds: performance.now() - began } }));
      for (const each of result.requests) record({ ...each, units: result.units.consumed / result.requests.length });
      return result.right as boolean;
    } catch (error) {
      setRuns((all) => ({ ...all, [one.id]: { error } }));
      return false;
    }
  };
  const runAll = async () => {
    let right = 0;
    const reads = legend.patterns.filter(runnable);
    for (const one of reads) right += Number(await run(one));
    say(`${right} of ${reads.length} reads are as expected.`);
  };
  return (
    <div class="panes" style={{ gridTemplateColumns: "minmax(0, 1fr) minmax(0, 1.2fr)" }}>
      <section class="pane" aria-label="Patterns">
        <div class="ph">
          <h2>Patterns</h2>
          <span class="right" />
          {state.certificate.value && <button type="button" class="btn small" onClick={() => save(`${state.name}-certificate.json`, "application/json", JSON.stringify(state.certificate.value, null, 2))}>Certificate</button>}
          <button type="button" class="btn small pri" disabled={!read || missing.length > 0} onClick={() => void runAll()}>Run all reads</button>
        </div>
        {missing.length > 0 && (
          <div class="notice warn" style={{ margin: "10px" }}>
            <span>The tables {missing.join(", ")} do not exist yet.</span>
            <a href={href(`model/${state.name}/migration`)}>Create them</a>
          </div>
        )}
        <div style={{ overflow: "auto" }} tabIndex={0} role="region" aria-label="List of patterns">
          <table class="plain num">
            <thead><tr><th scope="col">Pattern</th><th scope="col">On real data</th><th scope="col" class="nowrap">In memory</th></tr></thead>
            <tbody>
              {legend.patterns.map((one) => (
                <tr key={one.id} class={one === pattern ? "chosen" : ""}>
                  <th scope="row"><a class="under" href={href(`model/${state.name}/patterns/${one.id}`)} aria-current={one === pattern ? "true" : undefined}>{one.id}</a>{one.description && <> {one.description}</>}<div class="muted">{one.operation} {one.source}</div></th>
                  <td><Outcome pattern={one} run={runs[one.id]} runnable={runnable(one)} /></td>
                  <td><Verdict verdict={state.proofOf(one.id)?.verdict} proving={state.proving.value} gaps={one.gaps.length} /></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </section>
      <section class="pane" aria-label={`Pattern ${pattern?.id}`} style={{ borderLeft: "1px solid var(--line)" }}>
        {pattern && (
          <div style={{ overflow: "auto" }} tabIndex={0} role="region" aria-label="The pattern">
            <Detail
              state={state}
              pattern={pattern}
              given={given(pattern)}
              choices={choices(pattern, samples)}
              run={runs[pattern.id]}
              runnable={runnable(pattern) && read !== null && !missing.length}
              onGiven={(next) => setValues({ ...values, [pattern.id]: next })}
              onRun={() => void run(pattern)}
              samples={samples}
            />
          </div>
        )}
      </section>
    </div>
  );
}

function Outcome({ pattern, run, runnable }: { pattern: Pattern; run?: Run; runnable: boolean }) {
  if (pattern.elsewhere) return <span class="muted">served by {pattern.elsewhere}</span>;
  if (!runnable) return <span class="muted">{pattern.reads ? "as a group: in memory" : "writes: in memory only"}</span>;
  if (!run) return <span class="muted">not run</span>;
  if (run.error) return <span class="chip bad">{(run.error as Error).message.slice(0, 60)}</span>;
  const { result } = run;
  return (
    <span class={`chip ${result.right ? "good" : "bad"}`}>
      {result.right ? "✓" : "✗"} {result.exact ? `${result.items.length - result.unexpected.length} of ${result.expected.length}` : `${result.items.length}, sampled`} · {result.units.consumed} {result.units.consumed === result.units.predicted ? "=" : "≠"} {result.units.predicted}
    </span>
  );
}

// What a reader could know: each set of values that some real item has.
function choices(pattern: Pattern, samples: Record<string, { items: Item[]; legend: TableLegend }>): Record<string, Attribute>[] {
  const found = new Map<string, Record<string, Attribute>>();
  for (const table of pattern.tables) {
    const sample = samples[table];
    if (!sample || !pattern.read) continue;
    for (const item of sample.items) {
      const kind = sample.legend.kind(item);
      if (!kind || !pattern.entities.includes(kind.name)) continue;
      const known = pattern.read.values.map((value) => [value.name, attributeOf(sample.legend, kind, item, value.attribute)] as const);
      if (known.some(([, value]) => !value)) continue;
      const values = Object.fromEntries(known) as Record<string, Attribute>;
      found.set(JSON.stringify(values), values);
      if (found.size >= 50) return [...found.values()];
    }
  }
  return [...found.values()];
}

// An attribute of the item, or the part of its key that holds it.
function attributeOf(legend: TableLegend, kind: ReturnType<TableLegend["kind"]>, item: Item, attribute: string): Attribute | undefined {
  if (Object.hasOwn(item, attribute)) return item[attribute];
  for (const key of kind?.entity?.key ?? []) {
    const at = key.parts.findIndex((part) => part.attribute === attribute && part.whole);
    const pieces = at >= 0 ? legend.pieces(kind, key.attribute, text(item[key.attribute], 2000)) : [];
    if (pieces.length === key.parts.length) return { S: pieces[at].text };
  }
  return undefined;
}

interface DetailProps {
  state: ModelState;
  pattern: Pattern;
  given: Record<string, Attribute>;
  choices: Record<string, Attribute>[];
  run?: Run;
  runnable: boolean;
  onGiven(values: Record<string, Attribute>): void;
  onRun(): void;
  samples: Record<string, { items: Item[]; legend: TableLegend }>;
}

function Detail({ state, pattern, given, choices, run, runnable, onGiven, onRun, samples }: DetailProps) {
  const proof = state.proofOf(pattern.id);
  return (
    <div class="stack" style={{ padding: "14px" }}>
      <div>
        <h2 style={{ font: "650 15px/22px var(--sans)" }}>{pattern.id} {pattern.description}</h2>
        <p class="mono muted">{pattern.operation} {pattern.condition?.map((one) => `${one.attribute} ${one.condition}`).join(", ")}</p>
        {pattern.gaps.map((gap) => <p key={gap}><span class="chip warn">{gap}</span></p>)}
      </div>
      {runnable && (
        <div class="rowline" onKeyDown={(event) => event.key === "Enter" && onRun()}>
          {pattern.read!.values.map((value) => (
            <span class="pill" key={value.name}>
              <span>{value.name} =</span>
              <input
                aria-label={value.name}
                list={`choices-${value.name.replace(/\W/g, "")}`}
                value={given[value.name] ? typed(given[value.name]) : ""}
                onInput={(event) => {
                  const made = parse(value.stored as Type, event.currentTarget.value);
                  if (typeof made !== "string") onGiven({ ...given, [value.name]: made });
                }}
              />
              <datalist id={`choices-${value.name.replace(/\W/g, "")}`}>
                {[...new Set(choices.map((one) => text(one[value.name])))].map((one) => <option key={one} value={one} />)}
              </datalist>
            </span>
          ))}
          <button type="button" class="btn pri" onClick={onRun}>Run</button>
          {pattern.read!.values.length > 0 && !choices.length && <span class="muted">No item to take values from: load samples.</span>}
        </div>
      )}
      {run?.error ? <Failure error={run.error} /> : run?.result && <Comparison pattern={pattern} run={run} samples={samples} given={given} />}
      {proof && proof.findings.length > 0 && (
        <section class="panel" aria-label="Why it is not proven">
          <h2>In memory: {proof.verdict}</h2>
          <div class="stack" style={{ padding: "12px 14px" }}>
            {proof.findings.map((one, at) => (
              <div key={at} class="notice bad">
                <b>{one.message}</b>
                {one.data.length > 0 && <pre class="code" role="group" tabIndex={0} aria-label="The smallest data that shows it">{one.data.map((row) => `${row.table} ${JSON.stringify(row.item)}`).join("\n")}</pre>}
              </div>
            ))}
          </div>
        </section>
      )}
      {proof && proof.findings.length === 0 && <p class="muted num">In memory: {proof.verdict}, {count(proof.tries)} tries, {count(proof.capacity.consumed)} {proof.capacity.consumed === 1 ? "unit" : "units"} as predicted.</p>}
    </div>
  );
}

// One list, in the pattern's order: what came, and in its place what should have come.
interface Line {
  key: Item;
  item: Item | null;
  number: number | null;
  verdict: "expected" | "missing" | "unexpected" | "";
}

function linesOf(result: any, pattern: Pattern, keys: string[]): Line[] {
  const id = (item: Item) => keyText(item, keys);
  const expected: string[] = result.expected.map(id);
  const known = new Set(expected);
  const lines: Line[] = merged(result.items, pattern, result.requests.length).map((item, at) => ({
    key: only(item, keys), item, number: at + 1, verdict: !result.exact ? "" : known.has(id(item)) ? "expected" : "unexpected",
  }));
  for (const key of result.missing as Item[]) {
    // Behind the last one that comes before it.
    const before = new Set(expected.slice(0, expected.indexOf(id(key))));
    const at = lines.findLastIndex((line) => before.has(id(line.key))) + 1;
    lines.splice(at, 0, { key, item: result.hidden?.find((one: any) => id(one.item) === id(key))?.item ?? null, number: null, verdict: "missing" });
  }
  return lines;
}

const VERDICTS = { expected: ["good", "✓ expected"], missing: ["bad", "✗ expected, not returned"], unexpected: ["bad", "✗ not expected"], "": ["", "sampled"] } as const;
const LINES_MAX = 200;

function Comparison({ pattern, run, samples, given }: { pattern: Pattern; run: Run; samples: DetailProps["samples"]; given: DetailProps["given"] }) {
  const { result, milliseconds } = run;
  const [table] = pattern.tables;
  const legend = samples[table]?.legend;
  const keys = legend?.keys ?? Object.keys(result.got[0] ?? result.expected[0] ?? {});
  const lines = linesOf(result, pattern, keys);
  const shown = (pattern.read?.order ?? []).map((one) => one.attribute).filter((name) => lines.some((line) => line.item && get(line.item, name)));
  const same = result.units.consumed === result.units.predicted;
  return (
    <section class="panel wide" aria-label="Expected and got">
      <h2>
        <span class={`chip ${result.right ? "good" : "bad"}`}>{result.right ? "✓ as expected" : "✗ not as expected"}</span>
        <span class="chip num">{result.exact ? `${result.items.length - result.unexpected.length} of ${plural(result.expected.length, "expected item")}` : plural(result.items.length, "item")}</span>
        <span class={`chip ${result.inOrder ? "good" : "bad"}`}>{result.inOrder ? "in order" : "not in order"}</span>
        <span class="chip num">{plural(result.requests.length, "request")}, {plural(result.pages, "page")}</span>
        <span class={`chip num ${same ? "good" : "warn"}`}>{result.units.consumed} RCU, {result.units.predicted} predicted</span>
        <span class="chip num">{milliseconds?.toFixed(0)} ms</span>
      </h2>
      <p class="muted formline rowline">
        {result.exact ? `Expected by attributes alone, from all ${plural(result.looked, "item")} of the table.` : `The table is large: ${count(result.looked)} of its items were looked at, so only order and type are judged.`}
        <a class="btn small right" href={href(`table/${table}`, { pattern: pattern.id, values: JSON.stringify(given) })}>{result.right ? "Show in the table" : "See why, and repair"}</a>
      </p>
      <table class="plain">
        <thead><tr><th scope="col" class="r">#</th><th scope="col" />{shown.map((name) => <th scope="col" key={name}>{name}</th>)}<th scope="col">Key</th><th scope="col" class="r">Proof</th></tr></thead>
        <tbody>
          {lines.slice(0, LINES_MAX).map((line) => {
            const kind = line.item ? legend?.kind(line.item) : undefined;
            const [colour, word] = VERDICTS[line.verdict];
            return (
              <tr key={keyText(line.key, keys)} class={line.verdict === "missing" || line.verdict === "unexpected" ? "differing" : ""}>
                <td class="r muted num">{line.number ?? "–"}</td>
                <td>{kind && <span class={`et k${kind.colour}`} title={kind.name}>{kind.letter}</span>}</td>
                {shown.map((name) => <td key={name} class="mono nowrap">{line.item ? text(get(line.item, name), 60) : ""}</td>)}
                <td class="mono wrapped"><a href={href(`table/${table}`, { pk: text(line.key[keys[0]], 2000) })} title={keys.map((name) => text(line.key[name], 400)).join(" / ")}>{keys.map((name) => text(line.key[name], 80)).join(" / ")}</a></td>
                <td class="r"><span class={`chip ${colour}`}>{word}</span></td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {lines.length > LINES_MAX && <p class="muted formline">The first {LINES_MAX} of {count(lines.length)} are shown.</p>}
      <details class="formline">
        <summary>The {result.requests.length === 1 ? "request" : "requests"}</summary>
        <span><Copied text={JSON.stringify(result.requests, null, 2)} /></span>
        <pre class="code" tabIndex={0}>{JSON.stringify(result.requests, null, 2)}</pre>
      </details>
    </section>
  );
}
