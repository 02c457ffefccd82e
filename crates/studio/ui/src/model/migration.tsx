// What would change: the running tables compared with the file, and the file as saved compared with the file as edited.

import { useEffect, useState } from "preact/hooks";
import { post } from "../door";
import { count, money } from "../format";
import { Failure, Loading } from "../parts";
import { href } from "../place";
import { loadTables, say, session } from "../session";
import type { ModelState } from "./state";

export function Migration({ state }: { state: ModelState }) {
  return (
    <div class="page">
      <div class="stack">
        <Running state={state} />
        <Versions state={state} />
      </div>
    </div>
  );
}

function Running({ state }: { state: ModelState }) {
  const [report, setReport] = useState<any>(null);
  const [done, setDone] = useState<any>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [samples, setSamples] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const text = state.text.value;
  const look = () => post("model/apply", { text, plan: true, deleteIndexes: deleting }).then((next) => (setReport(next), setError(null)), setError);
  useEffect(() => void look(), [text, deleting]);
  const apply = async () => {
    setBusy(true);
    try {
      setDone(await post("model/apply", { text, samples, deleteIndexes: deleting }));
      // The tables know their model by its file.
      if (state.changed.value) await state.save();
      await loadTables();
      say("The tables are as the model says.");
      await look();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const changes = report?.tables.flatMap((one: any) => one.changes) ?? [];
  const impossible = report?.tables.flatMap((one: any) => one.impossible) ?? [];
  return (
    <section class="panel" aria-label="The running tables">
      <h2>The running tables</h2>
      <div class="stack" style={{ padding: "12px 14px" }}>
        {error ? <Failure error={error} /> : null}
        {!report && !error && <Loading what="Looking at the tables" />}
        {report?.tables.map((table: any) => (
          <div key={table.table}>
            <h3 style={{ font: "600 13px/20px var(--sans)" }}><a href={href(`table/${table.table}`)}>{table.table}</a></h3>
            {!table.changes.length && !table.impossible.length && <p>Is what the model says.</p>}
            <ol style={{ margin: 0, paddingLeft: "20px" }}>
              {table.changes.map((one: any) => <li key={one.what}><details><summary>{one.what}</summary><pre class="code" tabIndex={0}>{`${one.operation} ${JSON.stringify(one.input, null, 2)}`}</pre></details></li>)}
            </ol>
            {table.left.map((one: string) => <p key={one} class="muted">Left alone: {one}</p>)}
            {table.impossible.map((one: string) => <p key={one}><span class="chip bad">impossible</span> {one}</p>)}
          </div>
        ))}
        {done?.samples && <p role="status">{count(done.samples.written)} items were written, {count(done.samples.present)} were there.</p>}
        {!session.value?.readOnly && report && (
          <div class="rowline">
            <label class="pill check"><input type="checkbox" checked={samples} onChange={(event) => setSamples(event.currentTarget.checked)} /> load sample data</label>
            <label class="pill check"><input type="checkbox" checked={deleting} onChange={(event) => setDeleting(event.currentTarget.checked)} /> delete indexes that the model lacks</label>
            <button type="button" class="btn pri" disabled={busy || impossible.length > 0 || (!changes.length && !samples)} onClick={() => void apply()}>{busy ? "Applying" : changes.length ? `Apply ${changes.length === 1 ? "1 change" : `${changes.length} changes`}` : "Load sample data"}</button>
          </div>
        )}
      </div>
    </section>
  );
}

function Versions({ state }: { state: ModelState }) {
  const [plan, setPlan] = useState<any>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const changed = state.changed.value;
  const compare = async (rehearse: boolean) => {
    setBusy(true);
    setError(null);
    try {
      setPlan(await post("model/diff", { old: state.saved.value, new: state.text.value, rehearse }));
    } catch (failure) {
      setPlan(null);
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  useEffect(() => {
    setPlan(null);
    if (changed && state.saved.value) void compare(false);
  }, [state.text.value]);
  return (
    <section class="panel" aria-label="The saved file and the edited one">
      <h2>The saved file and the edited one</h2>
      <div class="stack" style={{ padding: "12px 14px" }}>
        {!changed && <p class="muted">The editor holds what is saved. Change the model, and here is the way from one to the other while the application runs.</p>}
        {error ? <Failure error={error} /> : null}
        {busy && <Loading what="Planning" />}
        {plan && (
          <>
            {plan.obstacles.map((one: any, at: number) => <p key={at} class="notice bad">{typeof one === "string" ? one : JSON.stringify(one)}</p>)}
            {plan.cautions.map((one: string) => <p key={one} class="notice warn">{one}</p>)}
            <p class="num">{plan.steps.length === 0 ? "Nothing that is stored has to change." : `${plan.steps.length} steps, ${money(plan.cost)}, about ${count(Math.ceil(plan.seconds / 60))} minutes of jobs.`}</p>
            <pre class="code" role="group" tabIndex={0} style={{ whiteSpace: "pre-wrap" }} aria-label="The steps">{plan.text}</pre>
            {plan.steps.length > 0 && !plan.obstacles.length && (
              <div class="rowline">
                <button type="button" class="btn pri" disabled={busy} onClick={() => void compare(true)}>Rehearse it in memory</button>
                {plan.rehearsed !== undefined && <span class={`chip ${plan.rehearsed ? "good" : "bad"}`}>{plan.rehearsed ? "✓ every step and every way back works" : "✗ the rehearsal failed"}</span>}
              </div>
            )}
            {plan.rehearsal && plan.rehearsed === false && <pre class="code" tabIndex={0}>{JSON.stringify(plan.rehearsal, null, 2).slice(0, 20_000)}</pre>}
          </>
        )}
      </div>
    </section>
  );
}
