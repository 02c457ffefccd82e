// Keys and indexes for the patterns of a file: the proposal with a reason for each choice, and price against indexes.

import { useState } from "preact/hooks";
import { post } from "../door";
import { money, plural } from "../format";
import { Failure, Loading, save } from "../parts";
import { go, href } from "../place";
import { session } from "../session";
import type { ModelState } from "./state";

export function Design({ state }: { state: ModelState }) {
  const [designed, setDesigned] = useState<any>(null);
  const [error, setError] = useState<any>(null);
  const [busy, setBusy] = useState(false);
  const [indexes, setIndexes] = useState("overloaded");
  const [headroom, setHeadroom] = useState(70);
  const run = async () => {
    setBusy(true);
    setError(null);
    try {
      setDesigned(await post("model/design", { text: state.text.value, indexes, headroom: headroom / 100 }));
    } catch (failure) {
      setDesigned(null);
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const take = () => {
    state.text.value = designed.model;
    go(href(`model/${state.name}`));
  };
  return (
    <div class="page">
      <div class="stack">
        <div class="rowline">
          <span class="pill"><span>indexes</span><select aria-label="Indexes" value={indexes} onChange={(event) => setIndexes(event.currentTarget.value)}><option value="overloaded">shared where they fit</option><option value="named">one for each purpose</option></select></span>
          <span class="pill"><span>headroom</span><input aria-label="Headroom in percent" inputMode="numeric" style={{ width: "5ch" }} value={headroom} onInput={(event) => setHeadroom(Math.min(100, Math.max(1, Number(event.currentTarget.value) || 70)))} /><span style={{ paddingRight: "8px" }}>%</span></span>
          <button type="button" class="btn pri" disabled={busy} onClick={() => void run()}>Design</button>
          <span class="muted">Finds keys, indexes, projections and shards for the file’s patterns. Keys that it has are only compared with.</span>
        </div>
        {!designed && !busy && !error && (
          <section class="panel teach" aria-label="What Design does">
            <h2>Which keys would serve these patterns?</h2>
            <p>Design searches keys, indexes, projections and shards for the {plural(state.legend.value?.patterns.length ?? 0, "pattern")} of the file. Here will be each choice with its reason, the price of a month, and how the price falls or rises with the number of indexes. Nothing is changed before you take it into the editor.</p>
            <button type="button" class="btn" onClick={() => void run()}>Search now</button>
          </section>
        )}
        {busy && <Loading what="Searching" />}
        {error && <Unserved error={error} />}
        {designed && (
          <div class="columns" style={{ gridTemplateColumns: "minmax(0, 1fr) minmax(320px, 420px)" }}>
            <div class="stack">
              <section class="panel" aria-label="Choices">
                <h2>Proposed</h2>
                <table class="plain">
                  <thead><tr><th scope="col">For</th><th scope="col">Chosen</th><th scope="col">Because</th></tr></thead>
                  <tbody>{designed.choices.map((one: any, at: number) => <tr key={at}><th scope="row">{one.about}</th><td class="mono">{one.choice}</td><td>{one.reason}</td></tr>)}</tbody>
                </table>
              </section>
              <section class="panel" aria-label="The proposed file">
                <h2>The file <span class="right"><button type="button" class="btn small" onClick={() => save(`${state.name}-design.yaml`, "text/yaml", designed.model)}>Export</button></span></h2>
                <pre class="code" style={{ border: 0, borderRadius: 0 }} tabIndex={0}>{designed.model}</pre>
              </section>
            </div>
            <div class="stack">
              <section class="panel" aria-label="Price">
                <h2>A month, on demand</h2>
                <div class="stack num" style={{ padding: "12px 14px" }}>
                  <p style={{ font: "650 22px/28px var(--sans)" }}>{money(designed.total)}</p>
                  <p class="muted">reads {money(designed.price.reads)}, writes {money(designed.price.writes)}, storage {money(designed.price.storage)}</p>
                  {designed.givenTotal !== null && <p>The keys it came with: {money(designed.givenTotal)}</p>}
                  {designed.next_best && (
                    <div>
                      <p>The next best design costs {money(designed.next_best.more)} more:</p>
                      <ul>{designed.next_best.differences.map((one: string) => <li key={one} class="muted">{one}</li>)}</ul>
                    </div>
                  )}
                  {!designed.complete && <p class="muted">The search ended at its bound: a better design may exist.</p>}
                  {!session.value?.readOnly && <span><button type="button" class="btn pri" onClick={take}>Take it into the editor</button></span>}
                </div>
              </section>
              <section class="panel" aria-label="Price against indexes">
                <h2>Price against indexes <span class="right"><button type="button" class="btn small" onClick={() => save("front.svg", "image/svg+xml", document.getElementById("front")!.outerHTML)}>SVG</button></span></h2>
                <Front points={designed.front} total={designed.total} />
              </section>
              {designed.notes.map((one: string) => <p key={one} class="notice">{one}</p>)}
            </div>
          </div>
        )}
      </div>
    </div>
  );
}

function Unserved({ error }: { error: any }) {
  const findings: any[] = error.body?.findings ?? [];
  if (!findings.length) return <Failure error={error} />;
  return (
    <div class="stack">
      {findings.map((one, at) => (
        <div key={at} class="notice bad" role="alert">
          <b>line {one.at.line}: {one.message}</b>
          {one.why && <span>{one.why}</span>}
          {one.help && <span>Help: {one.help}</span>}
        </div>
      ))}
    </div>
  );
}

// The cheapest design for each number of indexes.
function Front({ points, total }: { points: { indexes: number; price: any }[]; total: number }) {
  const sum = (price: any) => price.reads + price.writes + price.storage;
  const prices = points.map((one) => sum(one.price));
  const most = Math.max(...prices, total) * 1.1 || 1;
  const last = Math.max(1, ...points.map((one) => one.indexes));
  const x = (indexes: number) => 60 + (indexes / last) * 280;
  const y = (price: number) => 170 - (price / most) * 150;
  const best = points.findIndex((one) => Math.abs(sum(one.price) - total) < 0.01);
  return (
    <>
      <svg id="front" viewBox="0 0 380 200" role="img" aria-label={points.map((one) => `${one.indexes} indexes: ${money(sum(one.price))}`).join(", ")} style={{ width: "100%", display: "block" }} xmlns="http://www.w3.org/2000/svg">
        <line x1="60" y1="170" x2="350" y2="170" stroke="var(--line)" />
        <line x1="60" y1="20" x2="60" y2="170" stroke="var(--line)" />
        <polyline points={points.map((one) => `${x(one.indexes)},${y(sum(one.price))}`).join(" ")} fill="none" stroke="var(--blue)" stroke-width="1.5" />
        {points.map((one, at) => (
          <g key={one.indexes}>
            <circle cx={x(one.indexes)} cy={y(sum(one.price))} r={at === best ? 6 : 4} fill={at === best ? "var(--north)" : "var(--blue)"} />
            <text x={x(one.indexes)} y={y(sum(one.price)) - 10} text-anchor="middle" font-size="11" fill="var(--text)">{money(sum(one.price))}</text>
            <text x={x(one.indexes)} y="186" text-anchor="middle" font-size="11" fill="var(--muted)">{one.indexes}</text>
          </g>
        ))}
        <text x="350" y="198" text-anchor="end" font-size="11" fill="var(--muted)">indexes</text>
      </svg>
      <table class="plain num"><thead><tr><th scope="col">Indexes</th><th scope="col" class="r">A month</th></tr></thead><tbody>{points.map((one) => <tr key={one.indexes}><td>{one.indexes}</td><td class="r">{money(sum(one.price))}</td></tr>)}</tbody></table>
    </>
  );
}
