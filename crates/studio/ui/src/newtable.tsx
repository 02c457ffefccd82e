// A new table by form. The form and the requests are the same thing: change either.

import { useEffect, useMemo, useState } from "preact/hooks";
import { call, connected, post } from "./door";
import { type Example, examples } from "./example";
import { plural } from "./format";
import { keptAs, store } from "./kept";
import { files, loadFiles, modelOf } from "./legend";
import { Copied, Failure, LANGUAGES, here } from "./parts";
import { go, href, place } from "./place";
import { descriptions, loadTables, NEW_TABLE, say, session, tableNames, whyNot } from "./session";
import { EMPTY, type IndexDraft, type Key, type KeyType, type Step, type TableDraft, draftOf, newIndex, problemsOf, stepsOf, typedDraft } from "./table-draft";

const KEPT = keptAs("lodestone-new-table");
const TYPES = [["S", "String"], ["N", "Number"], ["B", "Binary"]] as const;
const STREAMS = [["", "none"], ["NEW_AND_OLD_IMAGES", "new and old images"], ["NEW_IMAGE", "new images"], ["OLD_IMAGE", "old images"], ["KEYS_ONLY", "keys only"]] as const;
const ACTIVE_LOOKS_MAX = 600;

// Where the form began: a model whose samples can be loaded, as long as the table is the model's.
interface Origin {
  text: string;
  // A model to keep under this name.
  save?: string;
  table: string;
}
interface Kept {
  draft: TableDraft;
  origin: Origin | null;
  samples: boolean;
}

function kept(): Kept {
  try {
    return { draft: EMPTY, origin: null, samples: false, ...JSON.parse(store.getItem(KEPT) ?? "{}") };
  } catch {
    return { draft: EMPTY, origin: null, samples: false };
  }
}

export function NewTable() {
  const [{ draft, origin, samples }, setKept] = useState(kept);
  const [done, setDone] = useState<{ operation: string; state: "sent" | "done" }[]>([]);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const change = (part: Partial<TableDraft>) => setKept((all) => ({ ...all, draft: { ...all.draft, ...part } }));
  const isEmpty = JSON.stringify(draft) === JSON.stringify(EMPTY);
  useEffect(() => (isEmpty ? store.removeItem(KEPT) : store.setItem(KEPT, JSON.stringify({ draft, origin, samples }))), [draft, origin, samples]);
  const steps = useMemo(() => stepsOf(draft), [draft]);
  const isMade = done.some((one) => one.operation === "CreateTable" && one.state === "done");
  const problems = problemsOf(draft, isMade ? [] : (tableNames.value ?? []));
  const withSamples = origin !== null && origin.table === draft.name;
  const all = [...steps.map((one) => one.operation), ...(withSamples && samples ? ["Sample items"] : [])];
  const isDone = (operation: string) => done.some((one) => one.operation === operation && one.state === "done");
  const note = (operation: string, state: "sent" | "done") => setDone((known) => [...known.filter((one) => one.operation !== operation), { operation, state }]);

  const create = async () => {
    if (Object.keys(problems).length || busy) return;
    setBusy(true);
    setError(null);
    try {
      for (const step of steps) {
        if (isDone(step.operation)) continue;
        note(step.operation, "sent");
        await call(step.operation, step.input);
        if (step.operation === "CreateTable") await untilActive(draft.name);
        note(step.operation, "done");
      }
      if (withSamples && samples) {
        note("Sample items", "sent");
        await post("model/apply", { text: origin.text, samples: true });
        note("Sample items", "done");
      }
      if (withSamples && origin.save) await post(`file/${origin.save}`, { text: origin.text }).catch(() => undefined);
      store.removeItem(KEPT);
      await Promise.all([loadTables(), loadFiles()]);
      say(`${draft.name} is made.`);
      go(href(`table/${draft.name}`));
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const takeBack = async () => {
    try {
      if (draft.protection) await call("UpdateTable", { TableName: draft.name, DeletionProtectionEnabled: false });
      await call("DeleteTable", { TableName: draft.name });
      setDone([]);
      setError(null);
      say(`${draft.name} is deleted again.`);
      await loadTables();
    } catch (failure) {
      setError(failure);
    }
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => (event.ctrlKey || event.metaKey) && event.key === "Enter" && (event.preventDefault(), void create());
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  const mayNot = whyNot(NEW_TABLE, "CreateTable");
  if (mayNot) return <div class="page"><h1>New table</h1><p class="notice warn">Nothing can be made here: {mayNot}</p></div>;
  return (
    <>
      <div class="head bordered"><h1>New table</h1><span class="right muted">The form and the request are the same thing: change either.</span></div>
      <div class="twoside">
        <form class="page flush" aria-label="The table" onSubmit={(event) => (event.preventDefault(), void create())}>
          <Origins onChoose={(next, from, draftSamples) => (setKept({ draft: next, origin: from, samples: draftSamples }), setDone([]), setError(null))} origin={origin} isEmpty={isEmpty} />
          <Field label="Name" problem={draft.name ? problems.name : undefined}>
            <input class="field mono grow" aria-label="Name" spellcheck={false} value={draft.name} disabled={isMade} onInput={(event) => change({ name: event.currentTarget.value })} />
            {draft.name && !problems.name && <span class="fine">✓ free in {session.value?.region} / {session.value?.account}</span>}
          </Field>
          <Field label="Keys" problem={problems.partition ?? problems.sort}>
            <KeyField label="Partition" one={draft.partition} onChange={(partition) => change({ partition })} />
            <KeyField label="Sort" one={draft.sort} optional onChange={(sort) => change({ sort })} />
          </Field>
          <Field label="Indexes" note={`GSI ${draft.indexes.filter((one) => one.kind === "GSI").length} of 20, LSI ${draft.indexes.filter((one) => one.kind === "LSI").length} of 5`} problem={problems.indexes}>
            {draft.indexes.map((one, at) => (
              <Index key={at} one={one} draft={draft} problem={problems[`index${at}`]} onChange={(next) => change({ indexes: draft.indexes.map((each, place) => (place === at ? next : each)) })} onRemove={() => change({ indexes: draft.indexes.filter((_, place) => place !== at) })} />
            ))}
            <span class="rowline"><button type="button" class="btn" onClick={() => change({ indexes: [...draft.indexes, newIndex(draft)] })}>+ Index</button>{draft.indexes.some((one) => one.kind === "LSI") && <span class="warned">A local index can’t be added or removed later, and it holds a partition to 10 GB.</span>}</span>
          </Field>
          <Field label="Throughput" problem={problems.throughput}>
            <label class="rowline"><input type="radio" name="billing" checked={draft.onDemand} onChange={() => change({ onDemand: true })} /> On demand <span class="muted">each request is paid for</span></label>
            <span class="rowline"><label class="rowline"><input type="radio" name="billing" checked={!draft.onDemand} onChange={() => change({ onDemand: false })} /> Provisioned</label><input class="field num short" aria-label="Read units" type="number" min={1} disabled={draft.onDemand} value={draft.read} onInput={(event) => change({ read: Number(event.currentTarget.value) })} /> RCU <input class="field num short" aria-label="Write units" type="number" min={1} disabled={draft.onDemand} value={draft.write} onInput={(event) => change({ write: Number(event.currentTarget.value) })} /> WCU, for the table and each GSI</span>
          </Field>
          <Field label="Expiry"><label class="rowline">Items expire by <input class="field mono" placeholder="no attribute" value={draft.ttl} onInput={(event) => change({ ttl: event.currentTarget.value })} /></label><span class="muted">a time in seconds since 1970</span></Field>
          <Field label="Stream"><select class="field" aria-label="Stream" value={draft.stream} onChange={(event) => change({ stream: event.currentTarget.value as TableDraft["stream"] })}>{STREAMS.map(([id, label]) => <option key={id} value={id}>{label}</option>)}</select><span class="muted">24 hours of every change</span></Field>
          <Field label="Safety">
            <label class="rowline"><input type="checkbox" checked={draft.recovery} onChange={(event) => change({ recovery: event.currentTarget.checked })} /> Point-in-time recovery</label>
            <label class="rowline"><input type="checkbox" checked={draft.protection} onChange={(event) => change({ protection: event.currentTarget.checked })} /> Deletion protection</label>
            {origin && <label class="rowline" title={withSamples ? undefined : `The samples belong to the table ${origin.table}.`}><input type="checkbox" disabled={!withSamples} checked={samples && withSamples} onChange={(event) => setKept((known) => ({ ...known, samples: event.currentTarget.checked }))} /> Load sample items</label>}
          </Field>
          <Field label="Tags"><textarea class="field" aria-label="Tags" rows={2} placeholder="team=a" value={draft.tags} onInput={(event) => change({ tags: event.currentTarget.value })} /></Field>
        </form>
        <aside class="insp" aria-label="The request">
          <Request draft={draft} steps={steps} onTyped={(text) => setKept((known) => ({ ...known, draft: typedDraft(text, known.draft) }))} />
          <div class="sec">
            <h3>What “Create” sends, in this order</h3>
            <ol class="order">{all.map((one) => <li key={one}><b class="mono">{one}</b> <span class="muted">{isDone(one) ? "✓ done" : done.some((each) => each.operation === one) ? (error ? "failed" : "…") : ABOUT[one]}</span></li>)}</ol>
            <p class="muted">If one fails, those before it stay, and this page offers to go on or to take them back.</p>
          </div>
        </aside>
      </div>
      <div class="changebar">
        <span><b>New table {draft.name}</b><br /><span class="muted">{isEmpty ? "nothing yet" : `this draft is kept in this ${connected.value ? "tab" : "browser"}`}</span></span>
        <span class="rule" />
        <span class="grow">{error ? <Failure error={error} /> : <><b>{plural(all.length, "request")}</b><br /><span class="muted">{draft.onDemand ? "an empty table on demand costs nothing" : `${draft.read} RCU and ${draft.write} WCU are paid for all the time`}</span></>}</span>
        {error && isMade ? <button type="button" class="btn bad" onClick={() => void takeBack()}>Take it back</button> : <button type="button" class="btn" disabled={isEmpty || busy} onClick={() => (setKept({ draft: EMPTY, origin: null, samples: false }), setDone([]), setError(null))}>Discard</button>}
        <button type="button" class="btn pri" disabled={busy || Object.keys(problems).length > 0} title={Object.values(problems)[0]} onClick={() => void create()}>{busy ? `${done.at(-1)?.operation ?? "Creating"}…` : error && done.length ? "Go on" : "Create table"} <kbd>Ctrl ↵</kbd></button>
      </div>
    </>
  );
}

const ABOUT: Record<string, string> = { CreateTable: "the request above", UpdateTimeToLive: "items expire", UpdateContinuousBackups: "recovery on", "Sample items": "of the model, written in batches" };

async function untilActive(table: string) {
  for (let looks = 0; looks < ACTIVE_LOOKS_MAX; looks++) {
    const { Table } = await call("DescribeTable", { TableName: table });
    if (Table.TableStatus === "ACTIVE") return;
    await new Promise((done) => setTimeout(done, 500));
  }
  throw new Error(`${table} is not active after five minutes.`);
}

function Field({ label, note, problem, children }: { label: string; note?: string; problem?: string; children: any }) {
  return (
    <fieldset class="formrow">
      <legend><b>{label}</b>{note && <span class="muted">{note}</span>}</legend>
      <div class="stack tight">{children}{problem && <span class="wrongly" role="alert">{problem}</span>}</div>
    </fieldset>
  );
}

const Types = ({ label, value, onChange }: { label: string; value: KeyType; onChange(type: KeyType): void }) => (
  <select class="field" aria-label={label} value={value} onChange={(event) => onChange(event.currentTarget.value as KeyType)}>{TYPES.map(([id, name]) => <option key={id} value={id}>{name}</option>)}</select>
);

function KeyField({ label, one, optional, onChange }: { label: string; one: Key; optional?: boolean; onChange(key: Key): void }) {
  return (
    <span class="rowline">
      <label class="rowline"><span class="keylabel muted">{label}</span><input class="field mono" aria-label={`${label} key`} spellcheck={false} placeholder={optional ? "none" : ""} value={one.name} onInput={(event) => onChange({ ...one, name: event.currentTarget.value })} /></label>
      <Types label={`Type of the ${label.toLowerCase()} key`} value={one.type} onChange={(type) => onChange({ ...one, type })} />
      {optional && one.name && <button type="button" class="bare" onClick={() => onChange({ ...one, name: "" })}>Without a sort key</button>}
    </span>
  );
}

function Index({ one, draft, problem, onChange, onRemove }: { one: IndexDraft; draft: TableDraft; problem?: string; onChange(one: IndexDraft): void; onRemove(): void }) {
  const key = (label: string, at: "partition" | "sort") => (
    <span class="joined">
      <input class="field mono" aria-label={`${label} of ${one.name}`} spellcheck={false} placeholder={at === "sort" ? "no sort key" : ""} value={at === "partition" && one.kind === "LSI" ? draft.partition.name : one[at].name} disabled={at === "partition" && one.kind === "LSI"} onInput={(event) => onChange({ ...one, [at]: { ...one[at], name: event.currentTarget.value } })} />
      <select class="field" aria-label={`Type of ${label.toLowerCase()} of ${one.name}`} value={at === "partition" && one.kind === "LSI" ? draft.partition.type : one[at].type} disabled={at === "partition" && one.kind === "LSI"} onChange={(event) => onChange({ ...one, [at]: { ...one[at], type: event.currentTarget.value as KeyType } })}>{TYPES.map(([id]) => <option key={id}>{id}</option>)}</select>
    </span>
  );
  return (
    <div class="stack tight">
      <div class="indexrow">
        <input class="field mono" aria-label="Name of the index" spellcheck={false} value={one.name} onInput={(event) => onChange({ ...one, name: event.currentTarget.value })} />
        <select class="field" aria-label={`Kind of ${one.name}`} value={one.kind} onChange={(event) => onChange({ ...one, kind: event.currentTarget.value as IndexDraft["kind"] })}><option>GSI</option><option>LSI</option></select>
        {key("Partition key", "partition")}
        {key("Sort key", "sort")}
        <select class="field" aria-label={`What ${one.name} projects`} value={one.projection} onChange={(event) => onChange({ ...one, projection: event.currentTarget.value as IndexDraft["projection"] })}><option value="ALL">all attributes</option><option value="KEYS_ONLY">keys only</option><option value="INCLUDE">some attributes</option></select>
        <button type="button" class="bare" aria-label={`Remove ${one.name}`} onClick={onRemove}>✕</button>
      </div>
      {one.projection === "INCLUDE" && <input class="field mono" aria-label={`Attributes that ${one.name} projects`} placeholder="status, total" value={one.include} onInput={(event) => onChange({ ...one, include: event.currentTarget.value })} />}
      {problem && <span class="wrongly" role="alert">{problem}</span>}
    </div>
  );
}

// Blank, or as something that there is.
function Origins({ origin, isEmpty, onChoose }: { origin: Origin | null; isEmpty: boolean; onChoose(draft: TableDraft, origin: Origin | null, samples: boolean): void }) {
  const [known, setKnown] = useState<Example[]>([]);
  const [chosen, setChosen] = useState("");
  const [error, setError] = useState<unknown>(null);
  useEffect(() => void examples().then(setKnown, setError), []);
  const from = async (text: string, save?: string) => {
    const { tables } = await post("model/tables", { text });
    const [first, ...beside] = tables[0] as Step[];
    onChoose(draftOf(first.input, beside), { text, save, table: first.input.TableName }, Boolean(save));
  };
  const like = async (table: string) => {
    const { Table } = await call("DescribeTable", { TableName: table });
    const [ttl, recovery] = await Promise.all([call("DescribeTimeToLive", { TableName: table }).catch(() => ({})), call("DescribeContinuousBackups", { TableName: table }).catch(() => ({}))]);
    const beside: Step[] = [];
    const expiry = ttl.TimeToLiveDescription;
    if (expiry?.AttributeName) beside.push({ operation: "UpdateTimeToLive", input: { TimeToLiveSpecification: { Enabled: true, AttributeName: expiry.AttributeName } } });
    if (recovery.ContinuousBackupsDescription?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus === "ENABLED") beside.push({ operation: "UpdateContinuousBackups", input: {} });
    onChoose({ ...draftOf(Table, beside), name: `${table}-2` }, null, false);
  };
  const run = (name: string, act: () => Promise<void>) => (setChosen(name), setError(null), act().catch(setError));
  const asked = place.value.query.get("like");
  useEffect(() => void (asked && isEmpty && run("table", () => like(asked))), [asked]);
  const models = files.value.filter((file) => file.legend);
  const choice = (id: string, title: string, what: string, options: [string, string][], act: (value: string) => Promise<void>) => (
    <label class={`choice-card${chosen === id ? " chosen" : ""}`}>
      <b>{title}</b>
      <select aria-label={title} disabled={!options.length} value="" onChange={(event) => event.currentTarget.value && run(id, () => act(event.currentTarget.value))}><option value="">{options.length ? what : "there is none"}</option>{options.map(([value, name]) => <option key={value} value={value}>{name}</option>)}</select>
    </label>
  );
  return (
    <div class="origins" role="group" aria-label="Begin with">
      <button type="button" class={`choice-card${!origin && chosen === "" ? " chosen" : ""}`} onClick={() => (setChosen(""), onChoose(EMPTY, null, false))}><b>Blank</b><span class="muted">Only keys</span></button>
      {choice("model", "From a model", `${models.length} here`, models.map((file) => [file.name, file.name]), (name) => from(models.find((file) => file.name === name)!.text))}
      {choice("example", "From an example", `${known.length} with data`, known.map((one) => [one.name, one.name]), (name) => from(known.find((one) => one.name === name)!.text, name))}
      {choice("table", "Like a table", "its keys and indexes", (tableNames.value ?? []).slice(0, 500).map((name) => [name, `${name}${modelOf(name) ? `, ${modelOf(name)!.name}` : ""}${descriptions.value[name] ? "" : ""}`]), like)}
      {error ? <Failure error={error} /> : null}
    </div>
  );
}

function Request({ draft, steps, onTyped }: { draft: TableDraft; steps: Step[]; onTyped(text: string): void }) {
  const [language, setLanguage] = useState("cli");
  const [code, setCode] = useState<Record<string, string>[]>([]);
  const [typed, setTyped] = useState<string | null>(null);
  const [problem, setProblem] = useState("");
  const text = JSON.stringify(steps[0].input, null, 2);
  useEffect(() => {
    const control = new AbortController();
    const timer = setTimeout(() => Promise.all(steps.map((one) => post("request/code", one, control.signal))).then(setCode, () => undefined), 120);
    return () => (control.abort(), clearTimeout(timer));
  }, [draft]);
  const shown = language === "json" ? text : code.map((one) => here(language, one[language])).join("\n\n");
  return (
    <>
      <div class="tabs" role="group" aria-label="Language">
        {[...LANGUAGES, ["json", "JSON"] as const].map(([id, name]) => <button key={id} type="button" aria-pressed={id === language} aria-current={id === language ? "true" : undefined} onClick={() => (setLanguage(id), setTyped(null), setProblem(""))}>{name}</button>)}
        <span class="right"><Copied text={shown} /></span>
      </div>
      {language === "json" ? (
        <div class="padded stack">
          <textarea class="field" aria-label="CreateTable as JSON" rows={22} spellcheck={false} value={typed ?? text} onInput={(event) => {
            setTyped(event.currentTarget.value);
            try {
              onTyped(event.currentTarget.value);
              setProblem("");
            } catch (error) {
              setProblem((error as Error).message);
            }
          }} onBlur={() => !problem && setTyped(null)} />
          {problem && <span class="wrongly" role="alert">{problem}</span>}
        </div>
      ) : (
        <pre class="code flat" role="group" tabIndex={0} aria-label={`Code in ${language}`}>{shown}</pre>
      )}
    </>
  );
}
