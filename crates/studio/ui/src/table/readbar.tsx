// How much was read: every read ends in a word, complete, not finished, stopped or failed. Nothing is left out in silence.

import { count, plural } from "../format";
import { loadExample } from "../example";
import { endpoint, partitionNames, sortNames } from "../session";
import { newItem } from "./itemacts";
import { LIMITS, costsMoney, readLimit } from "./readlimit";
import type { TableState } from "./state";

export function ReadBar({ state }: { state: TableState }) {
  const walk = state.walk.value!;
  const end = walk.end.value;
  const total = state.total.value;
  const isFiltered = walk.isFiltered;
  const of = total === null || end === "complete" ? "" : ` of about ${count(total)}`;
  const read = isFiltered
    ? `examined ${count(walk.examined.value)}${of} · ${count(walk.found.value)} found`
    : `${plural(walk.found.value, "item")}${walk.isScan && total !== null && end !== "complete" ? ` of about ${count(total)}` : ""}`;
  const words = { reading: "Reading", full: isFiltered ? "Not finished" : "Read", limit: "Your limit ended the read", spent: `Stopped at ${count(readLimit.value)} RCU, because reads of AWS cost money`, stopped: "Stopped", failed: "Failed", complete: "Complete" };
  const isPart = end === "spent" || (isFiltered && (end === "full" || end === "stopped" || end === "failed"));
  const from = walk.isWhole ? "" : ", from the middle of the key space";
  return (
    <div class={`read${isPart ? " part" : ""}`} role="group" aria-label="What was read">
      {walk.isReading.value && walk.isScan && <span class="prog"><i style={{ width: `${100 * (walk.progress.value ?? 0)}%` }} /></span>}
      <span role="status"><b>{words[end]}{end === "complete" ? from : ""}:</b> {read}</span>
      <span class="muted num cost">{count(Math.round(1000 * walk.units.value) / 1000)} RCU · {count(Math.round(walk.milliseconds.value || state.patternResult.value?.milliseconds || 0))} ms</span>
      {end === "failed" && walk.error.value ? <span class="warned" role="alert">{(walk.error.value as Error).message}</span> : null}
      <span class="right rowline">
        {costsMoney() && <ReadLimit />}
        {walk.isReading.value && isFiltered && <button type="button" class="btn small" onClick={() => walk.stop()}>Stop</button>}
        {!walk.isReading.value && walk.hasNext && <button type="button" class="btn small" onClick={() => void walk.proceed()}>{end === "limit" ? `Next ${count(state.parts.value.limit ?? 0)}` : isFiltered ? "Continue" : "Read more"}</button>}
        {end === "complete" && !walk.isWhole && <button type="button" class="btn small" onClick={() => void state.run()}>Read from the start</button>}
        {state.isResult.value && <button type="button" class="btn small" onClick={() => void showInTable(state)}>Show in the table</button>}
      </span>
    </div>
  );
}

export const ReadLimit = () => (
  <label class="rowline">Read at most <select class="field small" aria-label="Read limit" value={readLimit.value} onChange={(event) => (readLimit.value = Number(event.currentTarget.value))}>{LIMITS.map((units) => <option key={units} value={units}>{units ? `${count(units)} RCU` : "no limit"}</option>)}</select></label>
);

// The first row of a result where it is stored, with the rows around it.
export async function showInTable(state: TableState) {
  const row = state.rows.value[state.cursor.value];
  const item = row?.type === "item" ? row.item : state.items.value[0];
  if (item) await state.openAt(partitionNames(state.description.value!.KeySchema).map((name) => item[name]));
}

export function Empty({ state }: { state: TableState }) {
  const walk = state.walk.value!;
  const table = state.description.value!;
  if (state.held.value)
    return <div class="empty"><p>None of the {count(state.held.value)} items that were read is a {state.facet.value}.</p><button class="btn" type="button" onClick={() => (state.facet.value = null)}>Show all of them</button></div>;
  if (!state.isBrowsing.value || walk.request.operation !== "Scan" || state.isResult.value) {
    const isSure = walk.end.value === "complete" && walk.isWhole;
    return (
      <div class="empty">
        {isSure ? (
          <p><b>Nothing was found.</b> {walk.examined.value === 1 ? "1 item was" : `${count(walk.examined.value)} items were`} examined for {count(walk.units.value)} RCU, to the end.</p>
        ) : (
          <p><b>None yet.</b> {plural(walk.examined.value, "item was", "items were")} examined, and that is not all of them.</p>
        )}
        {!state.isResult.value && <pre class="code" role="group" tabIndex={0} aria-label="The request">{JSON.stringify(walk.request.input, null, 2)}</pre>}
        {state.parts.value.partition.length > 0 && !state.parts.value.index && (
          <button class="btn" type="button" onClick={() => void state.openAt(state.parts.value.partition)}>Show the keys that come next</button>
        )}
      </div>
    );
  }
  const model = state.model.value;
  const key = Object.fromEntries([...partitionNames(table.KeySchema), ...sortNames(table.KeySchema)].map((name) => [name, { S: "…" }]));
  return (
    <div class="empty">
      <p><b>No items yet.</b> Items appear here as they are written, each under its partition.</p>
      {!state.readOnly && <button class="btn" type="button" onClick={() => newItem(state)}>+ New item</button>}
      {model && !state.readOnly && (
        <button class="btn pri" type="button" onClick={() => void loadExample(model.name, model.text).then(() => state.reload())}>Load samples of {model.name}</button>
      )}
      <pre class="code" role="group" tabIndex={0} aria-label="A command to copy">{`aws dynamodb put-item --endpoint-url ${endpoint()} \\\n    --table-name ${table.TableName} --item '${JSON.stringify(key)}'`}</pre>
    </div>
  );
}
