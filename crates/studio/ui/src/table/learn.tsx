// Learn from traffic: what clients ask of the table becomes the patterns of a model, as `lodestone model learn` writes
// them. Forms and counts are kept, never values.

import { useEffect, useState } from "preact/hooks";
import { post } from "../door";
import { figure, plural } from "../format";
import { loadFiles, type Pattern } from "../legend";
import { Failure, Loading, Saving, useRepeat } from "../parts";
import { go, href } from "../place";
import { indexesOf, say, session, statusLine } from "../session";
import type { TableState } from "./state";

const PATTERNS_SHOWN = 200;
const ASK_AGAIN_MS = 2000;

// A pattern, and the requests that it was learned from.
interface LearnedPattern extends Pattern {
  seen: { requests: number; units: number | null; rate: string; returns: number | null; skew: string | null; orderGuessed: boolean; unserved: boolean };
}

interface Answer {
  learning: boolean;
  // Learning is on for another account or Region.
  elsewhere: boolean;
  seconds?: number;
  requests: number;
  patterns: LearnedPattern[];
  text?: string;
  notes?: string[];
}

export function Learn({ state }: { state: TableState }) {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [error, setError] = useState<unknown>(null);
  const ask = async (abort?: AbortSignal, on?: boolean) => {
    try {
      setAnswer(await post("learn", { table: state.name, on }, abort));
      setError(null);
    } catch (failure) {
      if (!abort?.aborted) setError(failure);
    }
  };
  useRepeat(ask, ASK_AGAIN_MS, [state.name]);
  useEffect(() => () => void (statusLine.value = ""), []);
  if (error && !answer) return <div class="page"><Failure error={error} /></div>;
  if (!answer) return <Loading what="Looking at what was asked" />;
  const unread = indexesOf(state.description.value!).filter((index) => !answer.patterns.some((one) => one.index === index.IndexName));
  return (
    <>
      <section class="query" aria-label="What is learned">
        <div class="pills">
          <button type="button" class={`btn${answer.learning ? "" : " pri"}`} aria-pressed={answer.learning} disabled={answer.elsewhere} onClick={() => void ask(undefined, !answer.learning)}>{answer.learning ? "Stop learning" : "Learn from traffic"}</button>
          <span class="muted">{answer.elsewhere ? "Another page or command learns from another account or Region at the moment." : "Forms and counts are kept, never values, and only while it is on. What you do in the studio is not counted."}</span>
          {answer.seconds !== undefined && <span class={`chip right${answer.learning ? " good" : ""}`}>{answer.learning && "● "}{plural(answer.requests, "request")} in {duration(answer.seconds)}</span>}
        </div>
      </section>
      <div class="page">
        {error ? <Failure error={error} /> : null}
        <div class="columns wideside">
          <Patterns state={state} answer={answer} />
          <div class="stack">
            {answer.patterns.length > 0 && <Remarks answer={answer} unread={unread.map((one) => one.IndexName)} />}
            <ModelFile state={state} learned={answer.text ? { text: answer.text, notes: [] } : null} />
          </div>
        </div>
      </div>
    </>
  );
}

function duration(seconds: number): string {
  return seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}

function Patterns({ state, answer }: { state: TableState; answer: Answer }) {
  const rows = () => ({
    head: ["pattern", "operation", "on", "requests", "rate", "returns", "skew", "units"],
    rows: answer.patterns.map((one) => [one.id, one.operation, one.source, one.seen.requests, one.seen.rate, one.seen.returns, one.seen.skew, one.seen.units]),
  });
  return (
    <section class="panel" aria-label="Learned patterns">
      <h2>Patterns <Saving name={`${state.name}-patterns`} rows={rows} /></h2>
      {answer.patterns.length === 0 ? (
        <p class="muted padded">{answer.learning ? "Send requests; what they ask for is listed here." : "Start learning, let clients work for a while, and what they ask for is listed here: named patterns with their rates, the number of items they return, and the share of their busiest key."}</p>
      ) : (
        <table class="plain num">
          <thead><tr><th scope="col">Pattern</th><th scope="col">Request</th><th scope="col" class="r">Rate</th><th scope="col" class="r">Returns</th><th scope="col" class="r">Busiest key</th><th scope="col" class="r">Units each</th></tr></thead>
          <tbody>{answer.patterns.slice(0, PATTERNS_SHOWN).map((one) => <PatternRow key={one.id} pattern={one} />)}</tbody>
        </table>
      )}
    </section>
  );
}

function PatternRow({ pattern: { id, operation, source, condition, gaps, seen } }: { pattern: LearnedPattern }) {
  return (
    <tr>
      <th scope="row">{id}{seen.unserved && <div><span class="chip warn">no key serves it</span></div>}</th>
      <td>
        {operation} <span class="muted">{source}</span>
        {condition && condition.length > 0 && <div class="mono">{condition.map((one) => `${one.attribute} ${one.condition}`).join(", ")}</div>}
        {gaps.length > 0 && <div class="muted">{gaps.join("; ")}</div>}
        {seen.orderGuessed && <div class="muted">its order is a guess</div>}
      </td>
      <td class="r" title={plural(seen.requests, "request")}>{seen.rate}</td>
      <td class="r">{seen.returns ?? "–"}</td>
      <td class="r">{seen.skew?.replace("top ", "") ?? "–"}</td>
      <td class="r" title="as measured, with all indexes">{seen.units === null ? "–" : figure(seen.units)}</td>
    </tr>
  );
}

// What was guessed, what became no pattern, and what costs without being read.
function Remarks({ answer, unread }: { answer: Answer; unread: string[] }) {
  return (
    <section class="panel" aria-label="What to know">
      <h2>What to know</h2>
      <div class="padded stack">
        {answer.patterns.some((one) => one.seen.unserved) && <p>A pattern that no key serves reads everything: <em>Design</em> in its model says what would serve it.</p>}
        {unread.length > 0 && <p>No pattern reads {unread.join(", ")}. <span class="muted">Every write pays for an index, read or not.</span></p>}
        {(answer.notes ?? []).map((note) => <p key={note}>{note}</p>)}
        <p class="muted">Rates, items, units and skew are measured. Names are guesses, and so is the order where a request asks for none.</p>
      </div>
    </section>
  );
}

// The patterns and the entities of the items as a file to go on with; without requests, the entities alone.
function ModelFile({ state, learned }: { state: TableState; learned: { text: string; notes: string[] } | null }) {
  const [found, setFound] = useState<{ text: string; notes: string[] } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [name, setName] = useState(state.name);
  const write = async () => {
    setBusy(true);
    setError(null);
    try {
      setFound(learned ?? (await post("survey", { table: state.name })));
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const save = async (event: Event) => {
    event.preventDefault();
    try {
      await post(`file/${name}`, { text: found!.text });
      await loadFiles();
      say(`${name} is saved.`);
      go(href(`model/${name}`));
    } catch (failure) {
      setError(failure);
    }
  };
  const what = learned ? "Write as a model file" : "Write a model of the items";
  return (
    <section class="panel" aria-label="A model file">
      <h2>A model to begin with</h2>
      <div class="padded stack">
        <p class="muted">{learned ? "The patterns, and the keys, entities and attributes of some hundred items, as a model." : "Reads some hundred items from all parts of the table and writes their keys, entities and attributes as a model. After learning, it has the patterns too."}</p>
        <span><button type="button" class="btn" disabled={busy} onClick={() => void write()}>{busy ? "Reading…" : what}</button></span>
        {found && (
          <>
            <pre class="code" role="group" tabIndex={0} aria-label="The model">{found.text}</pre>
            {found.notes.map((note) => <p key={note} class="muted">{note}</p>)}
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
