// Any request: built from parts, or written as JSON; run, and shown as code.

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { Refused, call, post } from "./door";
import { clock, count } from "./format";
import { Code, Copied, Expression, Failure } from "./parts";
import { adjust, place } from "./place";
import { type TableDescription, describe, indexesOf, say, session, tableNames } from "./session";
import { type Item, text, visible } from "./value";
import { FilterPill, KeyPills, Unfinished } from "./table/querybar";
import { type Parts, complete, noParts } from "./table/state";

interface Asked {
  operation: string;
  input: any;
}
interface Past extends Asked {
  at: string;
  units: number | null;
}

const HISTORY_MAX = 200;
const HISTORY = "lodestone-history";
const history = signal<Past[]>(remembered());
function remembered(): Past[] {
  try {
    return JSON.parse(localStorage.getItem(HISTORY) ?? "[]");
  } catch {
    return [];
  }
}
function remember(past: Past) {
  history.value = [past, ...history.value].slice(0, HISTORY_MAX);
  try {
    localStorage.setItem(HISTORY, JSON.stringify(history.value));
  } catch {
    // A full store forgets; the page goes on.
  }
}

const OPERATIONS: Record<string, (table: string) => object> = {
  GetItem: (table) => ({ TableName: table, Key: {} }),
  Query: (table) => ({ TableName: table, KeyConditionExpression: "", ExpressionAttributeValues: {} }),
  Scan: (table) => ({ TableName: table }),
  BatchGetItem: (table) => ({ RequestItems: { [table]: { Keys: [{}] } } }),
  TransactGetItems: (table) => ({ TransactItems: [{ Get: { TableName: table, Key: {} } }] }),
  PutItem: (table) => ({ TableName: table, Item: {} }),
  UpdateItem: (table) => ({ TableName: table, Key: {}, UpdateExpression: "SET ", ExpressionAttributeValues: {} }),
  DeleteItem: (table) => ({ TableName: table, Key: {} }),
  BatchWriteItem: (table) => ({ RequestItems: { [table]: [{ PutRequest: { Item: {} } }] } }),
  TransactWriteItems: (table) => ({ TransactItems: [{ Put: { TableName: table, Item: {} } }] }),
  DescribeTable: (table) => ({ TableName: table }),
  DescribeTimeToLive: (table) => ({ TableName: table }),
  ListTables: () => ({}),
  CreateTable: (table) => ({ TableName: `${table}-2`, KeySchema: [], AttributeDefinitions: [], BillingMode: "PAY_PER_REQUEST" }),
  UpdateTable: (table) => ({ TableName: table }),
};
const WRITES = /^(Put|Update|Delete|Create|BatchWrite|TransactWrite)/;

export function QueryScreen() {
  const names = tableNames.value ?? [];
  const chosen = place.value.query.get("table") ?? names[0] ?? "";
  const byHand = place.value.query.has("json");
  const [table, setTable] = useState<TableDescription | null>(null);
  const [parts, setParts] = useState<Parts>(noParts());
  const [built, setBuilt] = useState<any>(null);
  const [wrong, setWrong] = useState("");
  const [operation, setOperation] = useState(place.value.query.get("op") ?? "Query");
  const [draft, setDraft] = useState("{}");
  const [answer, setAnswer] = useState<{ body: any; milliseconds: number; asked: Asked } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [tab, setTab] = useState<"result" | "json" | "code" | "history">("result");
  const [language, setLanguage] = useState("cli");
  const [code, setCode] = useState<Record<string, string>>({});

  useEffect(() => {
    if (!chosen) return;
    setTable(null);
    describe(chosen).then(setTable, setError);
    setParts(noParts());
  }, [chosen]);
  useEffect(() => {
    if (!table || byHand) return;
    const wait = setTimeout(() => {
      post("request/build", { table: chosen, parts: complete(parts).parts }).then(
        (next) => (setBuilt(next), setWrong(""), setCode(next.code)),
        (failure) => setWrong(failure.message),
      );
    }, 100);
    return () => clearTimeout(wait);
  }, [table, parts, byHand]);
  useEffect(() => {
    if (byHand) setDraft(JSON.stringify(built && built.operation === operation ? built.input : (OPERATIONS[operation]?.(chosen) ?? {}), null, 2));
  }, [byHand, operation, chosen]);

  const asked = (): Asked | string => {
    if (!byHand) return built ? { operation: built.operation, input: built.input } : "There is nothing to ask yet.";
    try {
      return { operation, input: JSON.parse(draft) };
    } catch (failure) {
      return `This is not JSON: ${(failure as Error).message}`;
    }
  };
  const run = async (more?: Item) => {
    const one = asked();
    if (typeof one === "string") return setWrong(one);
    setWrong("");
    setError(null);
    const began = performance.now();
    try {
      const input = { ...one.input, ...(more && { ExclusiveStartKey: more }) };
      const body = await call(one.operation, input);
      setAnswer({ body, milliseconds: performance.now() - began, asked: one });
      const units = [body.ConsumedCapacity ?? []].flat().reduce((sum: number, part: any) => sum + (part.CapacityUnits ?? 0), 0);
      remember({ ...one, at: clock(new Date()), units });
      say(`${one.operation}: ${body.Count ?? (body.Item ? 1 : "done")}${body.Count === undefined ? "" : " items"}.`);
      setTab("result");
    } catch (failure) {
      setAnswer(null);
      setError(failure);
      setTab("result");
    }
    void post("request/code", one).then(setCode);
  };

  if (tableNames.value && !names.length)
    return <div class="page"><h1>Query</h1><p class="muted">There are no tables yet: begin at the overview.</p></div>;
  const remarks: { level: string; message: string }[] = byHand ? [] : (built?.remarks ?? []);
  return (
    <>
      <div class="head" style={{ paddingBottom: "10px" }}><h1>Query</h1><span class="muted">Any operation, with what it reads and costs</span></div>
      <section class="query" aria-label="Query" onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && (event.preventDefault(), void run())}>
        <div class="pills">
          <span class="pill p">
            <select aria-label="Table" value={chosen} onChange={(event) => adjust({ table: event.currentTarget.value })}>
              {names.map((name) => <option key={name} value={name}>{name}</option>)}
            </select>
          </span>
          <button type="button" class="pill" aria-pressed={byHand} onClick={() => adjust({ json: byHand ? undefined : "1" })}>{byHand ? "from parts" : "as JSON"}</button>
          {byHand ? (
            <span class="pill">
              <select aria-label="Operation" value={operation} onChange={(event) => (setOperation(event.currentTarget.value), adjust({ op: event.currentTarget.value }))}>
                {Object.keys(OPERATIONS).filter((one) => !session.value?.readOnly || !WRITES.test(one)).map((one) => <option key={one} value={one}>{one}</option>)}
              </select>
            </span>
          ) : (
            table && (
              <>
                <span class="pill">
                  <span>on</span>
                  <select aria-label="Table or index" value={parts.index} onChange={(event) => setParts({ ...noParts(), index: event.currentTarget.value })}>
                    <option value="">table</option>
                    {indexesOf(table).map((one) => <option key={one.IndexName} value={one.IndexName}>{one.IndexName}</option>)}
                  </select>
                </span>
                <KeyPills table={table} parts={parts} onParts={setParts} />
                <label class="pill check"><input type="checkbox" checked={parts.descending} onChange={(event) => setParts({ ...parts, descending: event.currentTarget.checked })} /> descending</label>
                <label class="pill check"><input type="checkbox" checked={parts.consistent} onChange={(event) => setParts({ ...parts, consistent: event.currentTarget.checked })} /> strong</label>
                <span class="pill"><span>limit</span><input aria-label="Limit" inputMode="numeric" placeholder="none" style={{ width: "6ch" }} value={parts.limit ?? ""} onInput={(event) => setParts({ ...parts, limit: Number(event.currentTarget.value.replace(/\D/g, "")) || null })} /></span>
                {parts.filters.map((filter, at) => (
                  <FilterPill key={at} filter={filter} onFilter={(next) => setParts({ ...parts, filters: parts.filters.map((one, other) => (other === at ? next : one)) })} onRemove={() => setParts({ ...parts, filters: parts.filters.filter((_, other) => other !== at) })} />
                ))}
                <button type="button" class="pill add" onClick={() => setParts({ ...parts, filters: [...parts.filters, { path: [], operator: "=", values: [] }] })}>+ filter</button>
              </>
            )
          )}
          <button type="button" class="btn pri right" onClick={() => void run()}>Run <kbd>Ctrl ↵</kbd></button>
        </div>
        {byHand ? (
          <textarea class="field" aria-label="The request in JSON" rows={10} value={draft} spellcheck={false} onInput={(event) => setDraft(event.currentTarget.value)} />
        ) : (
          <div class="expr">
            <Unfinished parts={parts} />
            {built && <span class={`chip${built.operation === "Scan" ? " warn" : ""}`}>{built.operation}</span>}
            {built?.input.KeyConditionExpression && <Expression text={built.input.KeyConditionExpression} />}
            {built?.input.FilterExpression && <><span>filter</span><Expression text={built.input.FilterExpression} /></>}
            {built?.aliases.map((one: any) => <span key={one.alias} class="chip" title={one.why}>{one.alias} = {visible(one.name)}: {one.why}</span>)}
            {built?.predicted && <span class="chip num" title={built.predicted.basis}>{count(built.predicted.units)} RCU predicted</span>}
          </div>
        )}
        {remarks.map((one) => <p key={one.message} class={one.level === "warning" ? "chip warn" : "muted"} style={{ justifySelf: "start" }}>{one.message}</p>)}
        {wrong && <p class="chip bad" role="alert" style={{ justifySelf: "start" }}>{wrong}</p>}
      </section>
      <div class="tabs" role="tablist" aria-label="Answer">
        {(["result", "json", "code", "history"] as const).map((one) => (
          <button key={one} type="button" role="tab" aria-selected={tab === one} onClick={() => setTab(one)}>{{ result: "Result", json: "JSON", code: "Code", history: "History" }[one]}</button>
        ))}
      </div>
      <div class="page" role="tabpanel" aria-label={tab} tabIndex={0}>
        {tab === "result" && (error ? <Failed error={error} asked={asked()} /> : answer ? <Result answer={answer} onNext={(key) => void run(key)} /> : <p class="muted">Run the request to see what it returns.</p>)}
        {tab === "json" && (answer ? <div class="stack"><span><Copied text={JSON.stringify(answer.body, null, 2)} /></span><pre class="code" tabIndex={0}>{JSON.stringify(answer.body, null, 2).slice(0, 500_000)}</pre></div> : <p class="muted">Nothing was run yet.</p>)}
        {tab === "code" && <Code code={code} language={language} onLanguage={setLanguage} />}
        {tab === "history" && <History onTake={(past) => (adjust({ json: "1", op: past.operation }), setOperation(past.operation), setTimeout(() => setDraft(JSON.stringify(past.input, null, 2)), 0))} />}
      </div>
    </>
  );
}

function Failed({ error, asked }: { error: unknown; asked: Asked | string }) {
  return (
    <div class="stack">
      <Failure error={error} />
      {error instanceof Refused && typeof asked !== "string" && <pre class="code" tabIndex={0} aria-label="The request">{JSON.stringify(asked.input, null, 2)}</pre>}
    </div>
  );
}

export function Result({ answer, onNext }: { answer: { body: any; milliseconds: number }; onNext?: (key: Item) => void }) {
  const { body } = answer;
  const items: Item[] = body.Items ?? (body.Item ? [body.Item] : (body.Responses && Array.isArray(body.Responses) ? body.Responses.map((one: any) => one.Item).filter(Boolean) : []));
  const consumed = [body.ConsumedCapacity ?? []].flat();
  const units = consumed.reduce((sum: number, one: any) => sum + (one.CapacityUnits ?? 0), 0);
  return (
    <div class="stack">
      <div class="rowline num">
        <span class="chip">{items.length === 1 ? "1 item" : `${count(items.length)} items`}</span>
        {body.ScannedCount !== undefined && body.ScannedCount !== items.length && <span class="chip warn">{count(body.ScannedCount)} examined</span>}
        {consumed.length > 0 && <span class="chip">{count(units)} units</span>}
        <span class="chip">{answer.milliseconds.toFixed(0)} ms</span>
        {body.LastEvaluatedKey && onNext && <button type="button" class="btn small" onClick={() => onNext(body.LastEvaluatedKey)}>Next page</button>}
      </div>
      {items.length ? <ItemTable items={items} /> : <pre class="code" tabIndex={0} aria-label="The answer">{JSON.stringify(body, null, 2).slice(0, 200_000)}</pre>}
    </div>
  );
}

const COLUMNS_MAX = 30;
const ROWS_MAX = 1000;
export function ItemTable({ items }: { items: Item[] }) {
  const names = [...new Set(items.slice(0, ROWS_MAX).flatMap((item) => Object.keys(item)))];
  return (
    <div class="panel" style={{ overflow: "auto" }} tabIndex={0} role="region" aria-label="Items">
      <table class="plain">
        <thead><tr>{names.slice(0, COLUMNS_MAX).map((name) => <th scope="col" key={name}>{visible(name)}</th>)}</tr></thead>
        <tbody>
          {items.slice(0, ROWS_MAX).map((item, at) => (
            <tr key={at}>{names.slice(0, COLUMNS_MAX).map((name) => <td key={name} class="mono" style={{ maxWidth: "320px", overflow: "hidden", textOverflow: "ellipsis", whiteSpace: "nowrap" }}>{text(Object.hasOwn(item, name) ? item[name] : undefined, 120)}</td>)}</tr>
          ))}
        </tbody>
      </table>
      {(names.length > COLUMNS_MAX || items.length > ROWS_MAX) && <p class="muted" style={{ padding: "8px 14px" }}>The first {count(Math.min(items.length, ROWS_MAX))} items and {COLUMNS_MAX} attributes are shown; JSON has the rest.</p>}
    </div>
  );
}

function History({ onTake }: { onTake(past: Past): void }) {
  if (!history.value.length) return <p class="muted">Requests that you run are kept here, in this browser only.</p>;
  return (
    <table class="plain num panel">
      <thead><tr><th scope="col">When</th><th scope="col">Operation</th><th scope="col">Request</th><th scope="col" class="r">Units</th><th scope="col"><span class="gone">Take</span></th></tr></thead>
      <tbody>
        {history.value.map((past, at) => (
          <tr key={at}>
            <td>{past.at}</td><td>{past.operation}</td>
            <td class="mono" style={{ maxWidth: "560px", overflow: "hidden", textOverflow: "ellipsis", whiteSpace: "nowrap" }}>{visible(JSON.stringify(past.input).slice(0, 300))}</td>
            <td class="r">{past.units ?? ""}</td>
            <td><button type="button" class="bare" onClick={() => onTake(past)}>Take</button></td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
