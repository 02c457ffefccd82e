// The whole of what a read finds, as a file.

import { useRef, useState } from "preact/hooks";
import { bytes, count, plural } from "../format";
import { Dialog, saveBlob } from "../parts";
import { ReadLimit } from "./readbar";
import { costsMoney, unitsMax } from "./readlimit";
import type { TableState } from "./state";
import { EXTENSIONS, type Exported, type Format, estimatedUnits, exportAll } from "./transfer";

export function Export({ state, onClose }: { state: TableState; onClose(): void }) {
  const [format, setFormat] = useState<Format>("json");
  const [now, setNow] = useState<{ items: number; examined: number; units: number } | null>(null);
  const [done, setDone] = useState<Exported | null>(null);
  const [wrong, setWrong] = useState("");
  // What the export waits for at the read limit.
  const [answer, setAnswer] = useState<((goesOn: boolean) => void) | null>(null);
  const abort = useRef<AbortController | null>(null);
  const built = state.built.value;
  const isAll = state.isBrowsing.value || built?.operation === "GetItem";
  const asked = isAll ? { operation: "Scan" as const, input: { TableName: state.name, ...(state.parts.value.index && { IndexName: state.parts.value.index }) } } : { operation: built.operation, input: built.input };
  const total = state.total.value ?? state.description.value?.ItemCount ?? 0;
  const source: any = state.source.value;
  const estimate = estimatedUnits(asked.operation, asked.input, source?.IndexSizeBytes ?? source?.TableSizeBytes ?? 0);
  const goOn = () =>
    new Promise<boolean>((done, failed) => {
      abort.current!.signal.addEventListener("abort", () => failed(new DOMException("stopped", "AbortError")));
      setAnswer(() => done);
    }).finally(() => setAnswer(null));
  const run = async () => {
    setWrong("");
    setDone(null);
    abort.current = new AbortController();
    setNow({ items: 0, examined: 0, units: 0 });
    try {
      const made = await exportAll(asked.operation, asked.input, format, state.primary.value, { onProgress: (items, examined, units) => setNow({ items, examined, units }), unitsMax, goOn, abort: abort.current.signal });
      setDone(made);
      saveBlob(`${state.name}.${EXTENSIONS[format]}`, made.blob);
    } catch (error) {
      if (!abort.current.signal.aborted) setWrong((error as Error).message);
    }
    setNow(null);
  };
  const close = () => (abort.current?.abort(), onClose());
  return (
    <Dialog title={isAll ? `Export ${state.parts.value.index || state.name}` : "Export what this read finds"} onClose={close}>
      <p>{isAll ? `The whole of it is read, page after page: about ${plural(total, "item")}.` : "The read runs to its end, page after page."} {estimate === null ? "What a Query takes is known when it has run." : `That takes about ${count(estimate)} RCU.`} The file is made in this browser.</p>
      {costsMoney() && <p class="rowline"><span class="muted">Reads of AWS cost money.</span> <ReadLimit /></p>}
      <div class="rowline" role="radiogroup" aria-label="Format">
        <label class="pill check"><input type="radio" name="format" checked={format === "json"} onChange={() => setFormat("json")} /> DynamoDB JSON, a line for each item</label>
        <label class="pill check"><input type="radio" name="format" checked={format === "csv"} onChange={() => setFormat("csv")} /> CSV</label>
      </div>
      {now && <Progress value={asked.operation === "Scan" ? now.examined / Math.max(1, total) : null} text={`${plural(now.items, "item")} of ${count(now.examined)} examined, ${count(now.units)} RCU`} />}
      {answer && now && (
        <div class="notice warn" role="alert">
          <span><b>Stopped at {count(now.units)} RCU, because reads of AWS cost money.</b> {plural(now.examined, "item")} of about {count(total)} were examined.</span>
          <span class="rowline"><button type="button" class="btn small" onClick={() => answer(true)}>Continue</button><button type="button" class="btn small" onClick={() => answer(false)}>Save what was read</button></span>
        </div>
      )}
      {done && <p role="status">{plural(done.items, "item")}, {bytes(done.blob.size)}, for {count(done.units)} RCU.{!done.isWhole && " That is not all of them."}</p>}
      {wrong && <p class="notice bad" role="alert">{wrong}</p>}
      <div class="rowline">
        {now ? <button type="button" class="btn" onClick={() => abort.current?.abort()}>Stop</button> : <button type="button" class="btn pri" onClick={() => void run()}>{done ? "Export again" : "Export"}{estimate !== null && ` for about ${count(estimate)} RCU`}</button>}
      </div>
    </Dialog>
  );
}

export function Progress({ value, text }: { value: number | null; text: string }) {
  return (
    <div class="stack" role="status">
      {value !== null && <progress max={1} value={Math.min(1, value)} aria-label="Progress" />}
      <span class="num">{text}</span>
    </div>
  );
}
