// Learn from traffic: the forms of requests with their counts, never their values; and a model of the table's items to
// begin with.

import { useEffect, useState } from "preact/hooks";
import { post } from "../door";
import { count, figure } from "../format";
import { loadFiles } from "../legend";
import { Failure, Loading, Saving, useRepeat } from "../parts";
import { go, href } from "../place";
import { indexesOf, say, session, statusLine } from "../session";
import { NotCounted, type TrafficPart } from "./heat";
import type { TableState } from "./state";

const SHAPES_SHOWN = 200;
const SHAPES_NOTED = 30;

export function Learn({ state }: { state: TableState }) {
  const [answer, setAnswer] = useState<any>(null);
  const [error, setError] = useState<unknown>(null);
  const ask = async (abort?: AbortSignal) => {
    try {
      setAnswer(await post("traffic", { table: state.name }, abort));
      setError(null);
    } catch (failure) {
      if (!abort?.aborted) setError(failure);
    }
  };
  useRepeat(ask, 1000, [state.name]);
  useEffect(() => () => void (statusLine.value = ""), []);
  if (error) return <div class="page"><Failure error={error} /></div>;
  if (!answer) return <Loading what="Looking at the traffic" />;
  if (!answer.counts) return <NotCounted />;
  const parts: TrafficPart[] = answer.parts;
  const shapes = parts.flatMap((part) => part.shapes.map((one) => ({ ...one, on: part.index }))).sort((one, other) => other.requests - one.requests);
  const unread = indexesOf(state.description.value!).filter((index) => !shapes.some((one) => one.on === index.IndexName && /^(Query|Scan|Execute)/.test(one.operation)));
  return (
    <>
      <section class="query" aria-label="What is learnt">
        <div class="pills">
          <button type="button" class={`btn${answer.learning ? "" : " pri"}`} aria-pressed={answer.learning} onClick={() => void post("learn", { on: !answer.learning }).then(() => ask())}>{answer.learning ? "Stop learning" : "Learn from traffic"}</button>
          <span class="muted">Forms and counts are kept, never values, and only while it is on.</span>
          {answer.learning && <span class="chip good right">● learning</span>}
        </div>
      </section>
      <div class="page">
        <div class="columns wideside">
          <section class="panel" aria-label="Shapes of requests">
            <h2>Shapes of requests <Saving name={`${state.name}-shapes`} rows={() => ({ head: ["operation", "on", "key", "requests", "units"], rows: shapes.map((one) => [one.operation, one.on, one.key, one.requests, one.units]) })} /></h2>
            {shapes.length === 0 ? (
              <p class="muted padded">{answer.learning ? "Send requests; this list fills." : "Start learning, let clients work for a while, and the forms of their requests are listed here."}</p>
            ) : (
              <table class="plain num">
                <thead><tr><th scope="col">Operation</th><th scope="col">On</th><th scope="col">Key</th><th scope="col" class="r">Requests</th><th scope="col" class="r">Units each</th></tr></thead>
                <tbody>{shapes.slice(0, SHAPES_SHOWN).map((one) => <tr key={`${one.on}/${one.operation}/${one.key}`}><th scope="row">{one.operation}</th><td>{one.on ?? "table"}</td><td class="mono">{one.key} {one.operation === "Scan" && <span class="chip warn">reads everything: give it an index</span>}</td><td class="r">{count(one.requests)}</td><td class="r">{figure(one.units / one.requests)}</td></tr>)}</tbody>
              </table>
            )}
          </section>
          <div class="stack">
            {shapes.length > 0 && unread.length > 0 && (
              <section class="panel" aria-label="Indexes that nobody reads">
                <h2>Not read while learning</h2>
                <p class="padded">{unread.map((one) => one.IndexName).join(", ")}. <span class="muted">Every write pays for an index, read or not.</span></p>
              </section>
            )}
            <Survey state={state} shapes={shapes} />
          </div>
        </div>
      </div>
    </>
  );
}

// Keys, entities and attributes as the items have them.
interface SeenShape {
  operation: string;
  on: string | null;
  key: string;
  requests: number;
  units: number;
}

// The requests that were seen stand above the model as comments: patterns to write.
function Survey({ state, shapes }: { state: TableState; shapes: SeenShape[] }) {
  const [found, setFound] = useState<any>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [name, setName] = useState(state.name);
  const survey = async () => {
    setBusy(true);
    setError(null);
    try {
      const answer = await post("survey", { table: state.name });
      const seen = shapes.slice(0, SHAPES_NOTED).map((one) => `#   ${one.operation} on ${one.on ?? "the table"}, ${one.key}: ${one.requests} requests, ${figure(one.units / one.requests)} units each\n`);
      setFound({ ...answer, text: (seen.length ? `# Requests that were seen; each is a pattern to write:\n${seen.join("")}\n` : "") + answer.text });
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const save = async (event: Event) => {
    event.preventDefault();
    try {
      await post(`file/${name}`, { text: found.text });
      await loadFiles();
      say(`${name} is saved.`);
      go(href(`model/${name}`));
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <section class="panel" aria-label="A model of the items">
      <h2>A model to begin with</h2>
      <div class="padded stack">
        <p class="muted">Reads some hundred items from all parts of the table and writes their keys, entities and attributes as a model, with the requests of the list as comments.</p>
        {!found && <span><button type="button" class="btn" disabled={busy} onClick={() => void survey()}>{busy ? "Reading…" : "Write a model of the items"}</button></span>}
        {found && (
          <>
            <pre class="code" tabIndex={0} aria-label="The model">{found.text}</pre>
            {found.notes.map((note: string) => <p key={note} class="muted">{note}</p>)}
            {!session.value?.readOnly && (
              <form class="rowline" onSubmit={save}>
                <input class="field" aria-label="Name of the model" value={name} onInput={(event) => setName(event.currentTarget.value)} />
                <button type="submit" class="btn pri">Save and open it</button>
              </form>
            )}
          </>
        )}
        {error ? <Failure error={error} /> : null}
      </div>
    </section>
  );
}
