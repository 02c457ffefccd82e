// Items from a file or from what is pasted: JSON or CSV, looked at before anything is written.

import { useEffect, useRef, useState } from "preact/hooks";
import { bytes, count, plural } from "../format";
import { Dialog } from "../parts";
import { say, typeOf } from "../session";
import { type Type, get, itemSize, text, typeSeen } from "../value";
import { freshId } from "./drafts";
import type { TableState } from "./state";
import { Progress } from "./export";
import { CELL_TYPES, type ImportProgress, type Parsed, importAll, parseItems } from "./transfer";

// More goes through ImportTable, which reads it on the server.
const FILE_BYTES_MAX = 50 * 2 ** 20;
const DRAFTS_MAX = 100;
const SHOWN = 5;
const EXAMPLE = '{"id": "person-1", "age": 41}\n{"id": "person-2", "tags": {"$set": ["a", "b"]}}';
const PROBLEMS_SHOWN = 20;

export function Import({ state, file: dropped, onClose }: { state: TableState; file?: File; onClose(): void }) {
  const [source, setSource] = useState("");
  const [file, setFile] = useState("");
  const [types, setTypes] = useState<Record<string, Type>>({});
  const [parsed, setParsed] = useState<Parsed | null>(null);
  const [overwrite, setOverwrite] = useState(false);
  const [now, setNow] = useState<ImportProgress | null>(null);
  const [done, setDone] = useState<ImportProgress | null>(null);
  const [wrong, setWrong] = useState("");
  const abort = useRef<AbortController | null>(null);
  const table = state.description.value!;
  const seen = (name: string) => (state.primary.value.includes(name) ? typeOf(table, name) : typeSeen(state.items.value, [name]));
  useEffect(() => {
    let here = true;
    void parseItems(source, seen, types).then((next) => here && setParsed(next));
    return () => void (here = false);
  }, [source, types]);
  const take = async (chosen: File | undefined) => {
    if (!chosen) return;
    setWrong("");
    if (chosen.size > FILE_BYTES_MAX) return setWrong(`${chosen.name} has ${bytes(chosen.size)}, and this page takes ${bytes(FILE_BYTES_MAX)}: use lodestone import, or ImportTable, for more.`);
    setFile(chosen.name);
    setSource(await chosen.text());
  };
  useEffect(() => void take(dropped), []);
  const items = parsed?.items ?? [];
  const keyless = items.findIndex((item) => state.primary.value.some((name) => !get(item, name)));
  const run = async () => {
    abort.current = new AbortController();
    setDone(null);
    const began: ImportProgress = { written: 0, kept: 0, units: 0, problems: [] };
    setNow(began);
    let last = began;
    try {
      last = await importAll(state.name, items, state.primary.value, overwrite, (next) => setNow((last = next)), abort.current.signal);
    } catch (error) {
      if (!abort.current.signal.aborted) setWrong((error as Error).message);
    }
    setNow(null);
    setDone(last);
    say(`${plural(last.written, "item")} written.`);
    void state.reload();
  };
  const draft = () => {
    const ids: [string, any][] = [];
    const taken = new Map(state.tray.value);
    for (const item of items) {
      const id = freshId(taken);
      taken.set(id, { old: null, new: item });
      ids.push([id, { old: null, new: item }]);
    }
    if (state.changeAll(ids)) onClose();
  };
  const close = () => (abort.current?.abort(), onClose());
  return (
    <Dialog title={`Items into ${state.name}`} onClose={close} wide>
      <div class="rowline" onDragOver={(event) => event.preventDefault()} onDrop={(event) => (event.preventDefault(), void take(event.dataTransfer?.files[0]))}>
        <label class="btn">Choose a file<input type="file" class="gone" accept=".json,.jsonl,.ndjson,.csv,.txt" onChange={(event) => void take(event.currentTarget.files?.[0])} /></label>
        <span class="muted">{file || "or paste below: JSON, plain or DynamoDB’s, one item, a list or one a line; or CSV with a head"}</span>
      </div>
      <textarea class="field" aria-label="Items as JSON or CSV" rows={8} placeholder={EXAMPLE} value={source.length > 200_000 ? source.slice(0, 200_000) : source} readOnly={source.length > 200_000} spellcheck={false} onInput={(event) => (setFile(""), setDone(null), setSource(event.currentTarget.value))} />
      {parsed?.columns && (
        <div class="rowline" role="group" aria-label="Types of the columns">
          {parsed.columns.map((column) => (
            <span class="pill" key={column.name}>
              <span class="mono">{column.name}</span>
              <select aria-label={`Type of ${column.name}`} value={column.type} disabled={state.primary.value.includes(column.name)} onChange={(event) => setTypes({ ...types, [column.name]: event.currentTarget.value as Type })}>
                {CELL_TYPES.map((one) => <option key={one}>{one}</option>)}
              </select>
            </span>
          ))}
        </div>
      )}
      {parsed && (items.length > 0 || parsed.problems.length > 0) && (
        <div class={parsed.problems.length || keyless >= 0 ? "notice warn" : "notice"} role="status">
          <b>{plural(items.length, "item")}, {bytes(items.reduce((sum, item) => sum + itemSize(item), 0))}{parsed.problems.length ? `; ${plural(parsed.problems.length, "line")} can’t be read` : ""}</b>
          {keyless >= 0 && <span>Item {keyless + 1} has no {state.primary.value.filter((name) => !get(items[keyless], name)).join(" and ")}, which is the key.</span>}
          <Problems of={parsed.problems} />
          {items.slice(0, SHOWN).map((item, at) => <span key={at} class="mono oneline">{Object.entries(item).slice(0, 6).map(([name, value]) => `${name} ${text(value, 24)}`).join(", ")}</span>)}
        </div>
      )}
      <div class="rowline" role="radiogroup" aria-label="Items that are there already">
        <label class="pill check"><input type="radio" name="overwrite" checked={!overwrite} onChange={() => setOverwrite(false)} /> Items that are there are kept</label>
        <label class="pill check"><input type="radio" name="overwrite" checked={overwrite} onChange={() => setOverwrite(true)} /> They are overwritten</label>
      </div>
      {now && <Progress value={(now.written + now.kept + now.problems.length) / Math.max(1, items.length)} text={`${count(now.written)} of ${plural(items.length, "item")} written${now.kept ? `, ${count(now.kept)} kept` : ""}, ${count(now.units)} WCU`} />}
      {done && (
        <div class={done.problems.length ? "notice warn" : "notice"} role="status">
          <b>{plural(done.written, "item")} written for {count(done.units)} WCU{done.kept ? `, ${count(done.kept)} kept as they were` : ""}{done.problems.length ? `, ${count(done.problems.length)} refused` : ""}.</b>
          <Problems of={done.problems} />
        </div>
      )}
      {wrong && <p class="notice bad" role="alert">{wrong}</p>}
      <div class="rowline">
        {now ? (
          <button type="button" class="btn" onClick={() => abort.current?.abort()}>Stop</button>
        ) : (
          <>
            <button type="button" class="btn pri" disabled={!items.length || keyless >= 0} onClick={() => void run()}>Write {plural(items.length, "item")}</button>
            <button type="button" class="btn" disabled={!items.length || items.length > DRAFTS_MAX} title={`Up to ${DRAFTS_MAX} items, to look at in the change bar first`} onClick={draft}>As a draft</button>
          </>
        )}
      </div>
    </Dialog>
  );
}

function Problems({ of: problems }: { of: ImportProgress["problems"] }) {
  return (
    <>
      {problems.slice(0, PROBLEMS_SHOWN).map((one) => <span key={`${one.line} ${one.message}`}>Line {one.line}: {one.message.replace(/^Line \d+: /, "")}</span>)}
      {problems.length > PROBLEMS_SHOWN && <span>and {count(problems.length - PROBLEMS_SHOWN)} more.</span>}
    </>
  );
}
