// Where the model's traffic meets one partition: each form of key over the hours of a day, and what would cool it.

import { useEffect, useRef, useState } from "preact/hooks";
import { post } from "../door";
import { bytes, count, percent } from "../format";
import { type KeyHeat, LIMITS, SCALE, type SourceHeat, colour } from "../heat";
import { Failure, Loading, Saving, useWidth } from "../parts";
import { adjust, href, place } from "../place";
import type { ModelState } from "./state";

export function Heat({ state }: { state: ModelState }) {
  const [answer, setAnswer] = useState<any>(null);
  const [error, setError] = useState<unknown>(null);
  const text = state.text.value;
  useEffect(() => {
    const control = new AbortController();
    post("model/heat", { text }, control.signal).then(setAnswer, (failure) => !control.signal.aborted && setError(failure));
    return () => control.abort();
  }, [text]);
  if (error) return <div class="page"><Failure error={error} /></div>;
  if (!answer) return <Loading what="Calculating" />;
  const sources: SourceHeat[] = answer.heat;
  const name = (one: SourceHeat) => (one.index ? `${one.table} / ${one.index}` : one.table);
  const query = place.value.query;
  const asked = query.get("on");
  const hottest = [...sources].sort((one, other) => (other.keys[0]?.load ?? 0) - (one.keys[0]?.load ?? 0))[0];
  const source = sources.find((one) => name(one) === asked) ?? hottest;
  const unit = query.get("unit") === "read" || query.get("unit") === "write" ? (query.get("unit") as "read" | "write") : busier(source);
  if (!source) return <div class="page"><p class="muted">The model has no table yet.</p></div>;
  return (
    <>
      <section class="query" aria-label="What is shown">
        <div class="pills">
          <span class="pill"><span>on</span><select aria-label="Table or index" value={name(source)} onChange={(event) => adjust({ on: event.currentTarget.value })}>{sources.map((one) => <option key={name(one)}>{name(one)}</option>)}</select></span>
          <span class="segments" role="group" aria-label="Units">
            {(["read", "write"] as const).map((one) => <button key={one} type="button" class="btn" aria-pressed={unit === one} onClick={() => adjust({ unit: one })}>{one === "read" ? "Reads" : "Writes"}</button>)}
          </span>
          <span class="chip blue right">forecast by the model, over a day</span>
        </div>
      </section>
      <div class="panes" style={{ gridTemplateColumns: "minmax(0, 1fr) 340px" }}>
        <div class="page">
          <div class="stack">
            <Matrix source={source} unit={unit} file={`${state.name}-heat`} />
            <Growth forecasts={answer.forecasts} />
            {source.assumed.length > 0 && <p class="muted">The file does not say how many values {source.assumed.join(", ")} {source.assumed.length > 1 ? "have" : "has"}: give `values` or `count` for a better forecast.</p>}
          </div>
        </div>
        <aside class="insp" aria-label="Busiest keys">
          <div class="ph"><b>Busiest keys</b><span class="muted right">of what one partition sustains</span></div>
          {source.keys.slice(0, 12).map((one) => <Busy key={one.key} state={state} one={one} />)}
          {source.keys.length === 0 && <div class="sec muted">No pattern with a rate reaches this.</div>}
        </aside>
      </div>
    </>
  );
}

const busier = (source?: SourceHeat): "read" | "write" => {
  const share = (unit: "read" | "write") => Math.max(0, ...(source?.keys ?? []).map((one) => Math.max(...one[unit]) / LIMITS[unit]));
  return share("write") >= share("read") ? "write" : "read";
};

const [LEFT, TOP, ROW, BOTTOM] = [230, 8, 26, 26];

function Matrix({ source, unit, file }: { source: SourceHeat; unit: "read" | "write"; file: string }) {
  const [element, width] = useWidth<HTMLDivElement>();
  const svg = useRef<SVGSVGElement>(null);
  const [cursor, setCursor] = useState<[number, number] | null>(null);
  const [asTable, setAsTable] = useState(false);
  const keys = source.keys.slice(0, 24);
  const cell = Math.max(6, (width - LEFT - 12) / 24);
  const height = TOP + Math.max(1, keys.length) * ROW + BOTTOM;
  const share = (one: KeyHeat, hour: number) => one[unit][hour] / LIMITS[unit];
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (event.key === "t") setAsTable(!asTable);
    else if (event.key === "Escape") setCursor(null);
    else if (!step) return;
    else {
      const [row, hour] = cursor ?? [0, -1];
      setCursor([Math.min(keys.length - 1, Math.max(0, row + step[0])), Math.min(23, Math.max(0, hour + step[1]))]);
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const at = cursor && keys[cursor[0]];
  const spoken = at ? `${at.key}, ${cursor[1]}:00, ${count(Math.round(at[unit][cursor[1]]))} units each second, ${percent(share(at, cursor[1]))} of a partition` : "no cell is chosen";
  const unitName = unit === "read" ? "RCU" : "WCU";
  return (
    <figure class="chart" aria-label="Heat over a day">
      <figcaption>
        <h3 class="small">Keys and hours</h3>
        <span class="num">{at ? <><b class="mono">{at.key}</b> {String(cursor[1]).padStart(2, "0")}:00 <b>{count(Math.round(at[unit][cursor[1]]))} {unitName}/s</b>, {percent(share(at, cursor[1]))} of a partition</> : "Point at a cell, or use the arrows."}</span>
        <Saving name={file} svg={() => svg.current} rows={() => ({ head: ["key", ...Array.from({ length: 24 }, (_, hour) => `${hour}:00`)], rows: keys.map((one) => [one.key, ...one[unit]]) })}>
          <button type="button" class="btn small" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>Table</button>
        </Saving>
      </figcaption>
      <div ref={element} class="plot" role="slider" tabIndex={0} aria-label="Heat, cursor" aria-valuemin={0} aria-valuemax={23} aria-valuenow={cursor?.[1] ?? 0} aria-valuetext={spoken} onKeyDown={onKey} onPointerLeave={() => setCursor(null)}>
        <svg ref={svg} width={width} height={height} viewBox={`0 0 ${width} ${height}`} xmlns="http://www.w3.org/2000/svg" font-family="var(--sans)" font-size="11">
          <defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="6" stroke="#fff" stroke-opacity="0.13" stroke-width="2" /></pattern></defs>
          {keys.map((one, row) => (
            <g key={one.key}>
              <text x={LEFT - 10} y={TOP + row * ROW + 17} text-anchor="end" fill={one.load >= 1 ? "var(--north)" : "var(--muted)"} font-family="var(--mono)">{one.key.length > 30 ? `${one.key.slice(0, 29)}…` : one.key}</text>
              {one[unit].map((_, hour) => (
                <rect key={hour} x={LEFT + hour * cell} y={TOP + row * ROW} width={cell + 0.5} height={ROW - 1} fill={colour(share(one, hour))} onPointerEnter={() => setCursor([row, hour])} stroke={cursor?.[0] === row && cursor[1] === hour ? "var(--text)" : "none"} stroke-width="2" />
              ))}
            </g>
          ))}
          <rect x={LEFT} y={TOP} width={cell * 24} height={keys.length * ROW} fill="url(#hatch)" pointer-events="none" />
          {[0, 3, 6, 9, 12, 15, 18, 21].map((hour) => <text key={hour} x={LEFT + hour * cell} y={height - 9} fill="var(--muted)">{String(hour).padStart(2, "0")}:00</text>)}
        </svg>
      </div>
      <div class="rowline legendline">
        <span class="scale" aria-hidden="true">{SCALE.map((one) => <i key={one} style={{ background: one }} />)}</span>
        <span class="muted">0 to 160 % of the {count(LIMITS[unit])} {unitName} that one partition sustains</span>
      </div>
      {asTable && (
        <div class="datatable" role="region" tabIndex={0} aria-label="Heat as a table">
          <table class="plain num">
            <thead><tr><th scope="col">Key</th>{Array.from({ length: 24 }, (_, hour) => <th key={hour} scope="col" class="r">{hour}</th>)}</tr></thead>
            <tbody>{keys.map((one) => <tr key={one.key}><th scope="row" class="mono">{one.key}</th>{one[unit].map((value, hour) => <td key={hour} class="r">{count(Math.round(value))}</td>)}</tr>)}</tbody>
          </table>
        </div>
      )}
    </figure>
  );
}

function Busy({ state, one }: { state: ModelState; one: KeyHeat }) {
  const pattern = (id: string) => state.legend.value?.patterns.find((pattern) => pattern.id === id)?.description;
  const [write, read] = [Math.max(...one.write), Math.max(...one.read)];
  const isHot = one.load > 1;
  return (
    <div class="sec busy">
      <div class="rowline"><b class="mono">{one.key}</b>{isHot && <span class="chip north">throttled</span>}<span class={`right num ${isHot ? "hot" : ""}`}>{percent(one.load)}</span></div>
      <div class="meter"><i style={{ width: `${Math.min(100, (100 * one.load) / 1.6)}%` }} class={isHot ? "hot" : ""} /><u /></div>
      <p class="muted num">{count(Math.round(write))} WCU/s and {count(Math.round(read))} RCU/s in the busiest hour</p>
      <p class="muted">{one.from.slice(0, 3).map((from) => <span key={from.pattern} title={pattern(from.pattern)}>{from.pattern} {pattern(from.pattern) ?? ""} </span>)}</p>
      {one.shards_needed > one.shards && (
        <div class="notice">
          <span><b>{one.shards_needed} shards</b> bring it to {percent((one.load * one.shards) / one.shards_needed)}.</span>
          <span><a class="btn small" href={href(`model/${state.name}`)}>Try in the model</a></span>
        </div>
      )}
    </div>
  );
}

function Growth({ forecasts }: { forecasts: any[] }) {
  if (!forecasts.length) return null;
  return (
    <section class="panel" aria-label="What grows towards a limit">
      <h2>What grows towards a limit</h2>
      <table class="plain num">
        <thead><tr><th scope="col">What</th><th scope="col" class="r">Now</th><th scope="col" class="r">Each day</th><th scope="col" class="r">Limit</th><th scope="col">Reached</th></tr></thead>
        <tbody>
          {forecasts.map((one, at) => (
            <tr key={at}>
              <th scope="row"><span class="mono">{one.of}</span> <span class="muted">{one.table}</span></th>
              <td class="r">{bytes(Math.round(one.bytes))}</td>
              <td class="r">{bytes(Math.round(one.bytes_per_day))}</td>
              <td class="r">{bytes(one.limit_bytes)}</td>
              <td>{one.days_left === null ? <span class="muted">never</span> : <span class={`chip ${one.enforced && one.days_left < 365 ? "bad" : ""}`}>in {count(Math.ceil(one.days_left))} days</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
