// Any request: built from parts, or written as JSON; run, and shown as code.

import { useEffect, useState } from "preact/hooks";
import { Refused, call, post } from "./door";
import { count, plural } from "./format";
import { record } from "./history";
import { Code, Copied, Expression, Failure } from "./parts";
import { PastRequests } from "./pastrequests";
import { adjust, place } from "./place";
import { type TableDescription, describe, descriptions, indexesOf, keyNames, say, session, tableNames } from "./session";
import { type Item, text, typeSeen, visible } from "./value";
import { FilterPill, KeyPills, Unfinished } from "./table/querybar";
import { type Parts, complete, noParts } from "./table/parts";
import { saveItems } from "./table/transfer";

interface Asked {
  operation: string;
  input: any;
}
// Pages of one request, in the order in which they came.
export interface Answer {
  pages: any[];
  milliseconds: number;
  asked: Asked;
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
// Reads of a link are run when it is opened; nothing else is.
const READS = /^(GetItem|Query|Scan|BatchGetItem|TransactGetItems|Describe\w+|ListTables)$/;

function linked<T>(name: string): T | null {
  try {
    return JSON.parse(place.peek().query.get(name) ?? "null");
  } catch {
    return null;
  }
}

export function QueryScreen() {
  const names = tableNames.value ?? [];
  const chosen = place.value.query.get("table") ?? names[0] ?? "";
  const byHand = place.value.query.has("json");
  const [table, setTable] = useState<TableDescription | null>(null);
  const [parts, setParts] = useState<Parts>(() => ({ ...noParts(), ...linked<Partial<Parts>>("parts") }));
  const [built, setBuilt] = useState<any>(null);
  const [wrong, setWrong] = useState("");
  const [operation, setOperation] = useState(place.value.query.get("op") ?? "Query");
  const [draft, setDraft] = useState(() => JSON.stringify(linked("request") ?? {}, null, 2));
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [tab, setTab] = useState<"result" | "json" | "code" | "history">("result");
  const [language, setLanguage] = useState("cli");
  const [code, setCode] = useState<Record<string, string>>({});

  useEffect(() => {
    if (!chosen) return;
    setTable(null);
    describe(chosen).then(setTable, setError);
    const kept = linked<Partial<Parts>>("parts");
    setParts({ ...noParts(), ...kept });
  }, [chosen]);
  // A link to a read shows what it reads.
  const [toRun, setToRun] = useState(() => place.peek().query.has("run"));
  useEffect(() => {
    if (!toRun || !table || (!byHand && !built)) return;
    setToRun(false);
    const one = asked();
    if (typeof one !== "string" && READS.test(one.operation)) void run();
  }, [toRun, table, built, byHand]);
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
    if (byHand && !linked("request")) setDraft(JSON.stringify(built && built.operation === operation ? built.input : (OPERATIONS[operation]?.(chosen) ?? {}), null, 2));
  }, [byHand, operation, chosen]);

  const asked = (): Asked | string => {
    if (!byHand) return built ? { operation: built.operation, input: built.input } : "There is nothing to ask yet.";
    try {
      return { operation, input: JSON.parse(draft) };
    } catch (failure) {
      return `This is not JSON: ${(failure as Error).message}`;
    }
  };
  // The address holds the request: a copied link asks the same.
  const link = (one: Asked) => {
    const isDefault = JSON.stringify(parts) === JSON.stringify(noParts());
    adjust(byHand ? { request: JSON.stringify(one.input), op: one.operation, parts: undefined, run: "1" } : { parts: isDefault ? undefined : JSON.stringify(parts), request: undefined, op: undefined, run: "1" });
  };
  const run = async (before?: Answer) => {
    const one = before?.asked ?? asked();
    if (typeof one === "string") return setWrong(one);
    setWrong("");
    setError(null);
    const began = performance.now();
    try {
      const more = before?.pages.at(-1)?.LastEvaluatedKey;
      const body = await call(one.operation, { ...one.input, ...(more && { ExclusiveStartKey: more }) });
      const now = { pages: [...(before?.pages ?? []), body], milliseconds: (before?.milliseconds ?? 0) + performance.now() - began, asked: one };
      setAnswer(now);
      record({ ...one, units: unitsOf(now.pages) });
      if (!before) link(one);
      say(`${one.operation}: ${body.Count !== undefined ? plural(body.Count, "item") : body.Item ? "1 item" : "done"}.`);
      setTab("result");
    } catch (failure) {
      setAnswer(before ?? null);
      setError(failure);
      setTab("result");
    }
    void post("request/code", one).then(setCode);
  };

  if (tableNames.value && !names.length)
    return <div class="page"><h1>Query</h1><p class="muted">There are no tables yet: begin at the overview.</p></div>;
  const results = answer?.pages.flatMap((page) => page.Items ?? []) ?? [];
  const remarks: { level: string; message: string }[] = byHand ? [] : (built?.remarks ?? []);
  return (
    <>
      <div class="head" style={{ paddingBottom: "10px" }}><h1>Query</h1><span class="muted">Any operation, with what it reads and costs</span></div>
      <section class="query" aria-label="Query" onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && (event.preventDefault(), void run())}>
        <div class="asking">
        <div class="pills">
          <span class="pill p">
            <select aria-label="Table" value={chosen} onChange={(event) => adjust({ table: event.currentTarget.value, parts: undefined, request: undefined, run: undefined })}>
              {names.map((name) => <option key={name} value={name}>{name}</option>)}
            </select>
          </span>
          <button type="button" class="pill" aria-pressed={byHand} onClick={() => adjust({ json: byHand ? undefined : "1", request: undefined, run: undefined })}>{byHand ? "from parts" : "as JSON"}</button>
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
                  <FilterPill key={at} filter={filter} seen={(path) => typeSeen(results, path) ?? (table.AttributeDefinitions.find((one) => one.AttributeName === path[0])?.AttributeType)} onFilter={(next) => setParts({ ...parts, filters: parts.filters.map((one, other) => (other === at ? next : one)) })} onRemove={() => setParts({ ...parts, filters: parts.filters.filter((_, other) => other !== at) })} />
                ))}
                <button type="button" class="pill add" onClick={() => setParts({ ...parts, filters: [...parts.filters, { path: [], operator: "=", values: [] }] })}>+ filter</button>
              </>
            )
          )}
        </div>
        <button type="button" class="btn pri" onClick={() => void run()}>Run <kbd>Ctrl ↵</kbd></button>
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
        {tab === "result" && (error ? <Failed error={error} asked={asked()} /> : answer ? <Result answer={answer} name={chosen} keys={table ? keyNames(table.KeySchema) : []} onNext={() => void run(answer)} /> : <p class="muted">Run the request to see what it returns.</p>)}
        {tab === "json" && (answer ? <div class="stack"><span><Copied text={JSON.stringify(shownBody(answer), null, 2)} /></span><pre class="code" tabIndex={0}>{JSON.stringify(shownBody(answer), null, 2).slice(0, 500_000)}</pre></div> : <p class="muted">Nothing was run yet.</p>)}
        {tab === "code" && <Code code={code} language={language} onLanguage={setLanguage} />}
        {tab === "history" && (
          <PastRequests
            current={((one) => (typeof one === "string" ? undefined : { ...one, units: answer ? unitsOf(answer.pages) : null }))(asked())}
            onTake={(past) => {
              adjust({ json: "1", op: past.operation, request: JSON.stringify(past.input), parts: undefined, run: undefined });
              setOperation(past.operation);
              setDraft(JSON.stringify(past.input, null, 2));
            }}
          />
        )}
      </div>
    </>
  );
}

function Failed({ error, asked }: { error: unknown; asked: Asked | string }) {
  return (
    <div class="stack">
      <Failure error={error} />
      {error instanceof Refused && typeof asked !== "string" && <pre class="code" role="group" tabIndex={0} aria-label="The request">{JSON.stringify(asked.input, null, 2)}</pre>}
    </div>
  );
}

const unitsOf = (pages: any[]): number => pages.flatMap((page) => [page.ConsumedCapacity ?? []].flat()).reduce((sum: number, one: any) => sum + (one.CapacityUnits ?? 0), 0);
const shownBody = ({ pages }: Answer) => (pages.length === 1 ? pages[0] : pages);

function itemsOf(body: any): Item[] {
  if (body.Items) return body.Items;
  if (body.Item) return [body.Item];
  return Array.isArray(body.Responses) ? body.Responses.map((one: any) => one.Item).filter(Boolean) : Object.values(body.Responses ?? {}).flat() as Item[];
}

// A result is a set of its own, in the order in which it came, page after page.
export function Result({ answer, onNext, name = "result", keys = [] }: { answer: { pages: any[]; milliseconds: number }; onNext?: () => void; name?: string; keys?: string[] }) {
  const { pages } = answer;
  const items = pages.flatMap(itemsOf);
  const consumed = pages.some((page) => page.ConsumedCapacity);
  const examined = pages.reduce((sum, page) => sum + (page.ScannedCount ?? 0), 0);
  const last = pages.at(-1);
  const isOpen = Boolean(last?.LastEvaluatedKey);
  const isList = pages.some((page) => page.Items);
  return (
    <div class="stack">
      <div class="rowline num">
        <span class="chip">{plural(items.length, "item")}</span>
        {isList && <span class={`chip${isOpen ? " warn" : " good"}`}>{isOpen ? "not finished" : "complete"}, {plural(pages.length, "page")}</span>}
        {examined > 0 && examined !== items.length && <span class="chip warn">{count(examined)} examined</span>}
        {consumed && <span class="chip">{plural(unitsOf(pages), "unit")}</span>}
        <span class="chip">{answer.milliseconds.toFixed(0)} ms</span>
        {isOpen && onNext && <button type="button" class="btn small" onClick={onNext}>Next page</button>}
        {items.length > 0 && <button type="button" class="btn small" onClick={() => saveItems(name, items, "json", keys)}>Export as JSON</button>}
        {items.length > 0 && <button type="button" class="btn small" onClick={() => saveItems(name, items, "csv", keys)}>Export as CSV</button>}
      </div>
      {items.length ? <ItemTable items={items} keys={keys} /> : <pre class="code" role="group" tabIndex={0} aria-label="The answer">{JSON.stringify(last, null, 2).slice(0, 200_000)}</pre>}
    </div>
  );
}

// Keys first; what only fills or repeats, such as keys of indexes, last.
function namesOf(items: Item[], keys: string[]): string[] {
  const all = [...new Set(items.slice(0, ROWS_MAX).flatMap((item) => Object.keys(item)))];
  const indexed = new Set(Object.values(descriptions.value).flatMap((table) => indexesOf(table)).flatMap((index) => keyNames(index.KeySchema)));
  const rank = (name: string) => (keys.includes(name) ? keys.indexOf(name) - keys.length : name.startsWith("_") ? 2 : indexed.has(name) ? 1 : 0);
  return all.sort((one, other) => rank(one) - rank(other));
}

const COLUMNS_MAX = 30;
const ROWS_MAX = 1000;
export function ItemTable({ items, keys = [] }: { items: Item[]; keys?: string[] }) {
  const names = namesOf(items, keys);
  return (
    <div class="panel" style={{ overflow: "auto" }} tabIndex={0} role="region" aria-label="Items">
      <table class="plain">
        <thead><tr><th scope="col" class="r">#</th>{names.slice(0, COLUMNS_MAX).map((name) => <th scope="col" key={name}>{visible(name)}</th>)}</tr></thead>
        <tbody>
          {items.slice(0, ROWS_MAX).map((item, at) => (
            <tr key={at}><td class="r muted">{at + 1}</td>{names.slice(0, COLUMNS_MAX).map((name) => <td key={name} class="mono" style={{ maxWidth: "320px", overflow: "hidden", textOverflow: "ellipsis", whiteSpace: "nowrap" }}>{text(Object.hasOwn(item, name) ? item[name] : undefined, 120)}</td>)}</tr>
          ))}
        </tbody>
      </table>
      {(names.length > COLUMNS_MAX || items.length > ROWS_MAX) && <p class="muted" style={{ padding: "8px 14px" }}>The first {count(Math.min(items.length, ROWS_MAX))} items and {COLUMNS_MAX} attributes are shown; JSON has the rest.</p>}
    </div>
  );
}
