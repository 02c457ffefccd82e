// Heat: the key space over time, measured up to now, then what the model expects, on one pair of axes. Beside it the
// busiest keys, measured above forecast, and where model and traffic differ.

import { useEffect, useRef, useState } from "preact/hooks";
import { Chart, type Series, time, timeAxis } from "../chart";
import { post } from "../door";
import { figure, percent } from "../format";
import { type KeyHeat, LIMITS, SCALE, SHORT, type SourceHeat, type Unit, colour, template } from "../heat";
import { Failure, Loading, Saving, useRepeat } from "../parts";
import { adjust, go, href, place } from "../place";
import { indexesOf, isOnDemand, partitionNames, statusLine } from "../session";
import type { TableState } from "./state";

export interface TrafficPart {
  index: string | null;
  ranges: number;
  // Of each minute or quarter of an hour: range, read units, write units, throttled.
  columns: { minute: number; minutes: number; squares: [number, number, number, number][] }[];
  // Of each minute: read units, write units, requests that were refused, and those that would be on AWS.
  keys: { key: Record<string, string>; range: number; minutes: [number, number, number, number, number][] }[];
  // Requests stand for others that were not looked at: figures of keys are about right.
  sampled: boolean;
  // Keys of this table are not kept: 64 others are used more.
  keysCut: boolean;
}

// How long is shown, and how long a column is, in minutes.
const SPANS = { "15 min": [15, 1], "1 h": [60, 1], "6 h": [360, 15], "24 h": [1440, 15] } as const;
type Span = keyof typeof SPANS;

// One line of the map: a range of hashes, or a key.
interface Line {
  name: string;
  // Partition key values to look at.
  keys: string[];
  // Units each second of each column; the forecast follows what was measured.
  units: number[];
  throttled: number[];
  from: string[];
}
interface HeatLines {
  lines: Line[];
  // When each column begins, in minutes; and how many of them were measured.
  starts: number[];
  measured: number;
  total: number[];
  minutes: number;
}

export function Heat({ state }: { state: TableState }) {
  const [answer, setAnswer] = useState<any>(null);
  const [error, setError] = useState<unknown>(null);
  const [forecasts, setForecasts] = useState<SourceHeat[]>([]);
  useRepeat(
    async (abort) => {
      try {
        setAnswer(await post("traffic", { table: state.name }, abort));
        setError(null);
      } catch (failure) {
        if (!abort.aborted) setError(failure);
      }
    },
    1000,
    [state.name],
  );
  const model = state.model.value;
  useEffect(() => {
    setForecasts([]);
    if (model) post("model/heat", { text: model.text }).then((found) => setForecasts(found.heat), () => undefined);
  }, [model?.hash]);
  useEffect(() => () => void (statusLine.value = ""), []);
  if (error) return <div class="page"><Failure error={error} /></div>;
  if (!answer) return <Loading what="Looking at the traffic" />;
  if (!answer.counts) return <NotCounted />;
  const table = state.description.value!;
  const query = place.value.query;
  const on = query.get("of") ?? "";
  const unit: Unit = query.get("unit") === "read" ? "read" : "write";
  const span = (Object.keys(SPANS) as Span[]).find((one) => one === query.get("last")) ?? "1 h";
  const part: TrafficPart | undefined = answer.parts.find((one: TrafficPart) => (one.index ?? "") === on);
  const forecast = forecasts.find((one) => one.table === state.name && (one.index ?? "") === on);
  const by = query.get("by") === "key" || (!part && forecast) ? "key" : "hash";
  const source: any = indexesOf(table).find((one) => one.IndexName === on) ?? table;
  const partition = partitionNames(source.KeySchema);
  const busy = busiest(part, forecast, partition);
  const map = mapOf(part, forecast, busy, { unit, by, span, now: answer.now });
  return (
    <>
      <section class="query" aria-label="What is shown">
        <div class="pills">
          <span class="pill"><span>of</span><select aria-label="Table or index" value={on} onChange={(event) => adjust({ of: event.currentTarget.value })}><option value="">the table</option>{indexesOf(table).map((one) => <option key={one.IndexName}>{one.IndexName}</option>)}</select></span>
          <Choice label="Units" options={["read", "write"]} names={["Reads", "Writes"]} value={unit} onChoose={(one) => adjust({ unit: one })} />
          <Choice label="Lines" options={["hash", "key"]} names={["By hash", "By key"]} value={by} onChoose={(one) => adjust({ by: one })} />
          <Choice label="Time" options={Object.keys(SPANS)} value={span} onChoose={(one) => adjust({ last: one })} />
          <span class={`chip right${part || forecast ? " blue" : ""}`}>{part ? (forecast ? `measured, then forecast by model: ${model!.name}` : "measured; no model says what to expect") : forecast ? `forecast by model: ${model!.name}` : "nothing yet"}</span>
        </div>
      </section>
      {!part && !forecast ? (
        <Nothing name={state.name} on={on} />
      ) : (
        <div class="panes" style={{ gridTemplateColumns: "minmax(0, 1fr) 340px" }}>
          <div class="page">
            <div class="stack">
              <HeatMap map={map} unit={unit} by={by} name={state.name} on={on} />
              <Totals map={map} unit={unit} table={table} source={source} name={state.name} now={answer.now} hasForecast={Boolean(forecast)} />
            </div>
          </div>
          <aside class="insp" aria-label="Busiest keys">
            <div class="ph"><b>Busiest keys</b><span class="right bothkeys"><i />measured <i class="out" />forecast</span></div>
            {busy.length === 0 && <div class="sec muted">{part?.keysCut ? "Keys are kept of the 64 tables and indexes that are used most; this is not one of them." : "Requests that name a key are counted here."}</div>}
            {part?.sampled && <div class="sec muted">There are many requests: one in several is looked at, chosen at random, so figures of keys are about right.</div>}
            {busy.slice(0, 12).map((one) => <BusyKey key={one.text} one={one} unit={unit} state={state} on={on} hasModel={Boolean(forecast)} about={part?.sampled ?? false} />)}
            {part && forecast && <Differences map={map} part={part} forecast={forecast} now={answer.now} model={model!.name} />}
          </aside>
        </div>
      )}
    </>
  );
}

export const NotCounted = () => (
  <div class="page"><div class="teach"><h2>Traffic is not counted</h2><p>The server runs with <code>--capacity off</code>. Start it with <code>--capacity shadow</code>, the default: everything is served, and what AWS would throttle is counted.</p></div></div>
);

export function Choice({ label, options, names, value, onChoose }: { label: string; options: readonly string[]; names?: string[]; value: string; onChoose(one: string): void }) {
  return (
    <span class="segments" role="group" aria-label={label}>
      {options.map((one, at) => <button key={one} type="button" class="btn" aria-pressed={value === one} onClick={() => onChoose(one)}>{names?.[at] ?? one}</button>)}
    </span>
  );
}

const Nothing = ({ name, on }: { name: string; on: string }) => (
  <div class="page">
    <div class="teach">
      <h2>Nothing was asked yet</h2>
      <p>Send requests to the {on ? `index ${on}` : "table"}, with any client: heat and busiest keys appear here within a second. A day is kept, the last hour of it by the minute. With a model, this page also shows what to expect.</p>
      <pre class="code" role="group" tabIndex={0} aria-label="A command to copy">{`aws dynamodb scan --endpoint-url ${location.origin} --table-name ${name}${on ? ` --index-name ${on}` : ""}`}</pre>
    </div>
  </div>
);

// A key that was used, or that the model expects.
interface Busy {
  text: string;
  range: number | null;
  minutes: [number, number, number, number, number][];
  // In its busiest minute, units each second.
  read: number;
  write: number;
  // Requests in all minutes that are kept.
  refused: number;
  above: number;
  expected: KeyHeat | null;
  // The model's template that the key follows.
  form: string | null;
}
const load = (one: Busy) => Math.max(one.read / LIMITS.read, one.write / LIMITS.write);
// A key that met a limit asked for more than it got. One that uses little met a limit that it shares with others.
const ALONE = 0.5;
const isHot = (one: Busy) => load(one) > 1 || (one.refused + one.above > 0 && load(one) >= ALONE);
// Room that is left when traffic grows.
const HEADROOM = 0.7;

function busiest(part: TrafficPart | undefined, forecast: SourceHeat | undefined, partition: string[]): Busy[] {
  const forms = (forecast?.keys ?? []).map((form) => ({ form, test: template(form.key), left: Math.max(1, form.shards) }));
  const used = (part?.keys ?? []).map((one): Busy => {
    const text = partition.map((name) => one.key[name]).filter((value) => value !== undefined).join(" · ");
    // The forecast of a form is that of its busiest keys: the first ones that were seen.
    const follows = forms.find((form) => form.test.test(text));
    const form = follows && follows.left > 0 ? follows : undefined;
    if (form) form.left--;
    const most = (at: 1 | 2) => Math.max(0, ...one.minutes.map((minute) => minute[at] / 60));
    const sum = (at: 3 | 4) => one.minutes.reduce((all, minute) => all + minute[at], 0);
    return { text, range: one.range, minutes: one.minutes, read: most(1), write: most(2), refused: sum(3), above: sum(4), expected: form?.form ?? null, form: follows?.form.key ?? null };
  });
  const unseen = forms.filter((form) => !used.some((one) => one.expected === form.form));
  const expected = unseen.map(({ form }): Busy => ({ text: form.key, range: null, minutes: [], read: 0, write: 0, refused: 0, above: 0, expected: form, form: form.key }));
  const weight = (one: Busy) => Math.max(load(one), one.expected?.load ?? 0);
  return [...used, ...expected].sort((one, other) => weight(other) - weight(one));
}

const hourOf = (minute: number) => new Date(minute * 60_000).getHours();

function mapOf(part: TrafficPart | undefined, forecast: SourceHeat | undefined, busy: Busy[], { unit, by, span, now }: { unit: Unit; by: string; span: Span; now: number }): HeatLines {
  const [whole, minutes] = SPANS[span];
  const last = Math.floor(now / 60 / minutes) * minutes;
  const measured = whole / minutes;
  const ahead = forecast ? Math.round(measured / 2.5) : 0;
  const starts = Array.from({ length: measured + ahead }, (_, at) => last + (at - measured + 1) * minutes);
  const columnOf = (minute: number) => Math.floor((minute - starts[0]) / minutes);
  const period = minutes * 60;
  // Of the column that is not over, the part that is to come is as in the column before.
  const goOn = (line: Line) => measured > 1 && (line.units[measured - 1] += line.units[measured - 2] * Math.max(0, 1 - (now - last * 60) / period));
  const at = unit === "read" ? 1 : 2;
  const empty = (name: string): Line => ({ name, keys: [], units: starts.map(() => 0), throttled: starts.map(() => 0), from: [] });
  const ranges = part?.ranges ?? 64;
  const byRange = Array.from({ length: ranges }, (_, range) => empty(`Range ${range + 1} of ${ranges}`));
  for (const column of part?.columns ?? []) {
    // A quarter of an hour fits no column of a minute.
    if (column.minutes > minutes) continue;
    const to = columnOf(column.minute);
    if (to < 0 || to >= measured) continue;
    for (const square of column.squares) {
      byRange[square[0]].units[to] += square[at] / period;
      byRange[square[0]].throttled[to] += square[3];
    }
  }
  byRange.forEach(goOn);
  for (const one of busy) if (one.range !== null) byRange[one.range].keys.push(one.text);
  const total = starts.map((_, column) => byRange.reduce((sum, line) => sum + line.units[column], 0));
  const from = (form: KeyHeat) => form.from.filter((one) => one[unit] > 0).map((one) => `${one.pattern} ${figure(one[unit])}`);
  if (forecast)
    for (let column = measured; column < starts.length; column++) {
      const hour = hourOf(starts[column]);
      total[column] = forecast.demand[unit][hour];
      const placed = busy.filter((one) => one.range !== null && one.expected);
      const rest = Math.max(0, total[column] - placed.reduce((sum, one) => sum + one.expected![unit][hour], 0));
      for (const line of byRange) line.units[column] = rest / ranges;
      for (const one of placed) byRange[one.range!].units[column] += one.expected![unit][hour];
    }
  for (const one of busy) if (one.range !== null && one.expected) byRange[one.range].from = from(one.expected);
  if (by === "hash") return { lines: byRange, starts, measured, total, minutes };
  const byKey = busy.slice(0, 24).map((one) => {
    const line = empty(one.text);
    line.keys = one.range === null ? [] : [one.text];
    for (const minute of one.minutes) {
      const to = columnOf(minute[0]);
      if (to < 0 || to >= measured) continue;
      line.units[to] += minute[at] / period;
      line.throttled[to] += minute[3] + minute[4];
    }
    goOn(line);
    for (let column = measured; column < starts.length; column++) line.units[column] = one.expected?.[unit][hourOf(starts[column])] ?? 0;
    if (one.expected) line.from = from(one.expected);
    return line;
  });
  return { lines: byKey, starts, measured, total, minutes };
}

// How many cells in which a limit was met have a mark, at most.
const MARKS_MAX = 400;
const when = (minute: number) => time(minute * 60).slice(0, 5);

function HeatMap({ map, unit, by, name, on }: { map: HeatLines; unit: Unit; by: string; name: string; on: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [cursor, setCursor] = useState<[number, number] | null>(null);
  const [asTable, setAsTable] = useState(false);
  const { lines, starts, measured } = map;
  const row = by === "hash" ? 6 : 20;
  const height = Math.max(1, lines.length) * row;
  const share = (line: Line, column: number) => line.units[column] / LIMITS[unit];
  const isAbsolute = place.value.query.get("scale") === "partition";
  // What was measured, if anything was: a forecast of much more would leave it dark.
  const used = Math.max(0, ...lines.flatMap((line) => line.units.slice(0, measured)));
  const most = Math.max(1e-9, used || Math.max(...lines.flatMap((line) => line.units))) / LIMITS[unit];
  // The whole scale is the window's own, or 160 % of what a partition sustains.
  const whole = isAbsolute ? 1.6 : most;
  const met = lines.flatMap((line, at) => line.throttled.flatMap((throttled, column) => (throttled > 0 ? [[column, at] as const] : []))).slice(0, MARKS_MAX);
  useEffect(() => {
    const element = canvas.current!;
    element.width = starts.length;
    element.height = Math.max(1, lines.length);
    const context = element.getContext("2d")!;
    lines.forEach((line, at) =>
      starts.forEach((_, column) => {
        context.fillStyle = colour((share(line, column) / whole) * 1.6);
        context.fillRect(column, at, 1, 1);
      }),
    );
  });
  const chosen: [number, number] | null = cursor && cursor[1] < lines.length && cursor[0] < starts.length ? cursor : null;
  const line = chosen && lines[chosen[1]];
  const isForecast = chosen !== null && chosen[0] >= measured;
  const value = chosen ? line!.units[chosen[0]] : 0;
  const title = line ? (by === "hash" && line.keys.length ? line.keys.slice(0, 2).join(", ") + (line.keys.length > 2 ? " …" : "") : line.name) : "";
  const spoken = line ? `${when(starts[chosen![0]])}, ${line.name}${by === "hash" && line.keys.length ? `, ${line.keys[0]}` : ""}: ${isForecast ? "forecast " : ""}${figure(value)} ${SHORT[unit]}/s, ${percent(value / LIMITS[unit])} of a partition${line.throttled[chosen![0]] ? `, ${figure(line.throttled[chosen![0]])} throttled` : ""}` : "Point at a cell, or use the arrows.";
  const open = () => line?.keys[0] && go(href(`table/${name}`, { on, pk: line.keys[0] }));
  // The next cell at or above what a partition sustains; else the hottest of all.
  const hottest = () => {
    let best: [number, number] = [0, 0];
    const after = chosen ? chosen[1] : -1;
    let most = -1;
    lines.forEach((one, at) =>
      one.units.forEach((units, column) => {
        const score = units / LIMITS[unit] + (at > after && units >= LIMITS[unit] ? 1000 - at : 0);
        if (score > most) [most, best] = [score, [column, at]];
      }),
    );
    setCursor(best);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === "t") setAsTable(!asTable);
    else if (event.key === "m") hottest();
    else if (event.key === "Enter") open();
    else if (event.key === "Escape") setCursor(null);
    else if (!step) return;
    else {
      const [column, at] = chosen ?? [measured - 1, 0];
      setCursor([Math.min(starts.length - 1, Math.max(0, column + step[0])), Math.min(lines.length - 1, Math.max(0, at + step[1]))]);
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const labels = labelsOf(map, unit, by, row);
  const cells = () => lines.flatMap((line) => line.units.flatMap((units, column) => (units > 0 || line.throttled[column] ? [[new Date(starts[column] * 60_000).toISOString(), line.name, line.keys.join(" "), column < measured ? "measured" : "forecast", Math.round(units * 1000) / 1000, line.throttled[column]] as const] : [])));
  const left = (column: number) => `${(100 * column) / starts.length}%`;
  const ticks = starts.flatMap((start, column) => (start % (map.minutes === 1 ? (measured > 15 ? 10 : 5) : measured > 24 ? 240 : 60) === 0 ? [[column, start] as const] : []));
  return (
    <figure class="chart" aria-label="Heat">
      <figcaption>
        <h3 class="small">{by === "hash" ? `Key space, ${lines.length} ranges of hashes` : "Busiest keys"}</h3>
        <span>One column is {map.minutes === 1 ? "a minute" : "a quarter of an hour"}{by === "key" ? "; of keys the last quarter of an hour is kept" : ""}. Point at a cell, or use the arrows.</span>
        <Saving name={`${name}-heat`} rows={() => ({ head: ["from", "line", "keys", "kind", `${SHORT[unit]} each second`, "throttled"], rows: cells() })}>
          <button type="button" class="btn small" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>Table</button>
        </Saving>
      </figcaption>
      <div
        class="plot heatmap"
        role="slider"
        tabIndex={0}
        aria-label="Heat, cursor"
        aria-valuemin={0}
        aria-valuemax={starts.length - 1}
        aria-valuenow={chosen?.[0] ?? measured - 1}
        aria-valuetext={spoken}
        onKeyDown={onKey}
        onDblClick={open}
        onPointerMove={(event) => {
          const box = canvas.current!.getBoundingClientRect();
          const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
          setCursor(x >= 0 && x < 1 && y >= 0 && y < 1 ? [Math.floor(x * starts.length), Math.floor(y * lines.length)] : null);
        }}
        onPointerLeave={() => setCursor(null)}
      >
        <div class="sides"><b style={{ width: left(measured) }}>measured</b>{measured < starts.length && <span>forecast from the model</span>}</div>
        <div class="map" style={{ height: `${height}px` }}>
          {labels.map(([at, text, hot]) => <span key={at} class={`label${hot ? " hot" : ""}`} style={{ top: `${(at + 0.5) * row}px` }} title={text}>{text}</span>)}
          <canvas ref={canvas} />
          {met.map(([column, at]) => <i key={`${column}/${at}`} class="met" style={{ left: left(column + 0.5), top: `${(at + 0.5) * row}px` }} />)}
          {measured < starts.length && <div class="ahead" style={{ left: left(measured) }} />}
          {chosen && <i class="line" style={{ left: left(chosen[0] + 0.5) }} />}
          {chosen && <i class="at" style={{ left: left(chosen[0] + 0.5), top: `${(chosen[1] + 0.5) * row}px` }} />}
          {line && (
            <div class={`card${chosen![0] > starts.length / 2 ? " before" : ""}${chosen![1] > lines.length / 2 ? " above" : ""}`} style={{ left: left(chosen![0] + 0.5), top: `${(chosen![1] + 0.5) * row}px` }}>
              <p><b class="mono">{title}</b><span>{when(starts[chosen![0]])}</span></p>
              <p class={value >= LIMITS[unit] ? "hot" : ""}>{isForecast ? "forecast " : ""}{figure(value)} {SHORT[unit]}/s, {percent(value / LIMITS[unit])} of a partition</p>
              {line.throttled[chosen![0]] > 0 && <p class="muted">{figure(line.throttled[chosen![0]])} requests met a limit: refused here, or on AWS</p>}
              {line.from.length > 0 && <p class="muted">the model: {line.from.slice(0, 3).join(" · ")}</p>}
            </div>
          )}
        </div>
        <div class="hours num">{ticks.map(([column, start]) => <span key={start} style={{ left: left(column) }}>{when(start)}</span>)}</div>
      </div>
      <div class="rowline legendline near">
        <span class="scale" aria-hidden="true">{SCALE.map((one) => <i key={one} style={{ background: one }} />)}</span>
        <span class="muted">{isAbsolute ? `0 to 160 % of the ${figure(LIMITS[unit])} ${SHORT[unit]} that one partition sustains; amber begins at 100 %` : `0 to ${figure(most * LIMITS[unit])} ${SHORT[unit]}/s, the most ${used ? "that was measured" : "that is expected"}: ${percent(most)} of what one partition sustains`}{met.length > 0 && <> · <i class="met still" /> a limit was met</>}</span>
        <span class="right"><Choice label="Scale" options={["window", "partition"]} names={["Of the window", "Of a partition"]} value={isAbsolute ? "partition" : "window"} onChoose={(one) => adjust({ scale: one === "partition" ? one : undefined })} /></span>
      </div>
      {asTable && (
        <div class="datatable" role="region" tabIndex={0} aria-label="Heat as a table">
          <table class="plain num"><thead><tr><th scope="col">From</th><th scope="col">Line</th><th scope="col">Keys</th><th scope="col">Kind</th><th scope="col" class="r">{SHORT[unit]}/s</th><th scope="col" class="r">Throttled</th></tr></thead><tbody>{cells().slice(-500).map((one, number) => <tr key={number}><td>{when(Date.parse(one[0]) / 60_000)}</td><td>{one[1]}</td><td class="mono">{one[2]}</td><td>{one[3]}</td><td class="r">{figure(one[4])}</td><td class="r">{figure(one[5])}</td></tr>)}</tbody></table>
        </div>
      )}
    </figure>
  );
}

// Names beside the lines that have one, the hottest first, as far as there is room.
function labelsOf(map: HeatLines, unit: Unit, by: string, row: number): [number, string, boolean][] {
  const hottest = (line: Line) => Math.max(0, ...line.units) / LIMITS[unit];
  const wanted = map.lines.map((line, at) => [at, by === "hash" ? (line.keys[0] ?? "") : line.name, hottest(line)] as const).filter((one) => one[1]);
  const taken: number[] = [];
  const shown: [number, string, boolean][] = [];
  for (const [at, text, most] of [...wanted].sort((one, other) => other[2] - one[2])) {
    if (taken.some((other) => Math.abs(other - at) * row < 15) || shown.length >= 24) continue;
    taken.push(at);
    shown.push([at, text, most >= 1]);
  }
  return shown;
}

function Totals({ map, unit, table, source, name, now, hasForecast }: { map: HeatLines; unit: Unit; table: any; source: any; name: string; now: number; hasForecast: boolean }) {
  const { starts, measured } = map;
  const points = starts.map((start, at): [number, number] => [start * 60, map.total[at]]);
  const to = (starts.at(-1)! + map.minutes) * 60;
  const series: Series[] = [{ name: "consumed", colour: unit === "read" ? "--blue" : "--north", kind: "area", points: points.slice(0, measured) }];
  if (!isOnDemand(table)) {
    const declared = (source.ProvisionedThroughput ?? table.ProvisionedThroughput)[unit === "read" ? "ReadCapacityUnits" : "WriteCapacityUnits"];
    series.push({ name: "provisioned", colour: "--control", kind: "step", points: [[points[0][0], declared], [to, declared]] });
  }
  if (hasForecast) series.push({ name: "forecast", colour: "--blue", kind: "dashed", points: points.slice(measured) });
  const throttled = map.lines.reduce((sum, line) => sum + line.throttled.reduce((all, one) => all + one, 0), 0);
  return (
    <Chart
      title={`${unit === "read" ? "Reads" : "Writes"} of all keys`}
      file={`${name}-${unit}s`}
      series={series}
      x={timeAxis(points[0][0], to)}
      show={(value) => figure(value)}
      divide={hasForecast ? { x: now, before: "measured", after: "forecast" } : undefined}
      height={180}
      most={1.15 * Math.max(...map.total)}
      note={<><span>{SHORT[unit]}/s</span>{throttled > 0 ? <a class="chip bad" href={href(`table/${name}/capacity`)}>{figure(throttled)} throttled, or would be on AWS</a> : <span class="chip good">nothing throttled</span>}</>}
    />
  );
}

function BusyKey({ one, unit, state, on, hasModel, about }: { one: Busy; unit: Unit; state: TableState; on: string; hasModel: boolean; about: boolean }) {
  const measured = one[unit] / LIMITS[unit];
  const expected = one.expected ? Math.max(...one.expected[unit]) / LIMITS[unit] : 0;
  const hot = isHot(one) || (one.expected?.load ?? 0) > 1;
  const proposed = Math.ceil(Math.max(load(one), isHot(one) ? 1 : 0) / HEADROOM);
  const width = (share: number) => `${Math.min(100, (100 * share) / 1.6)}%`;
  const model = state.model.value;
  const shards = one.expected && one.expected.shards_needed > one.expected.shards ? one.expected : null;
  return (
    <div class="sec busy">
      <div class="rowline">
        {one.range === null ? <b class="mono">{one.text}</b> : <a class="mono" href={href(`table/${state.name}`, { on, pk: one.text })}>{one.text || "?"}</a>}
        {isHot(one) && <span class="chip north">too hot</span>}
        <span class={`right num${hot ? " hot" : ""}`}>{percent(one.range === null ? (one.expected?.load ?? 0) : measured)}</span>
      </div>
      <div class="meter both"><i style={{ width: width(measured) }} class={measured > 1 ? "hot" : ""} />{one.expected && <s style={{ width: width(expected) }} />}<u /></div>
      <p class="muted num">
        {one.range === null ? "not used yet" : `${about ? "about " : ""}${figure(one[unit])} of ${figure(LIMITS[unit])} ${SHORT[unit]}/s served in its busiest minute`}
        {one.expected ? ` · forecast ${figure(Math.max(...one.expected[unit]))}${one.expected.from.length ? `, from ${one.expected.from.slice(0, 3).map((from) => from.pattern).join(", ")}` : ""}` : one.form ? ` · a key of ${one.form}` : hasModel ? " · not in the model" : ""}
      </p>
      {one.refused + one.above > 0 && <p class="warned num">{isHot(one) ? "It asked for more" : "It met a limit that it shares, of its table or of a partition"}: {about ? "about " : ""}{[one.refused && `${figure(one.refused)} requests were refused`, one.above && `${figure(one.above)} were served that AWS would refuse`].filter(Boolean).join(", ")}.</p>}
      {!shards && isHot(one) && (
        <div class="notice"><span><b>{Math.max(2, proposed)} shards</b> would bring it to {percent(load(one) / Math.max(2, proposed))}{one.refused > 0 && ", or more: what was refused is not in it"}. Add a part such as <code>#{"{"}shard(id, {Math.max(2, proposed)}){"}"}</code> to the key, and read all shards.</span></div>
      )}
      {shards && model && (
        <div class="notice">
          <span><b>{shards.shards_needed} shards</b> bring the forecast to {percent((shards.load * shards.shards) / shards.shards_needed)}.</span>
          <span><a class="btn small" href={href(`model/${model.name}`)}>Try in the model</a></span>
        </div>
      )}
    </div>
  );
}

// The model's rates of this hour beside what came in the last minutes.
function Differences({ map, part, forecast, now, model }: { map: HeatLines; part: TrafficPart; forecast: SourceHeat; now: number; model: string }) {
  const minutes = 5;
  const since = now / 60 - minutes;
  const used = (at: 1 | 2) => part.columns.filter((one) => one.minutes === 1 && one.minute >= Math.floor(since)).reduce((sum, one) => sum + one.squares.reduce((all, square) => all + square[at], 0), 0) / (minutes * 60);
  const hour = hourOf(map.starts[map.measured - 1]);
  const rows = [["Reads", used(1), forecast.demand.read[hour], "RCU/s"], ["Writes", used(2), forecast.demand.write[hour], "WCU/s"]] as const;
  const differs = (one: number, other: number) => Math.abs(one - other) > 0.2 * Math.max(one, other, 1);
  const count = rows.filter(([, measured, expected]) => differs(measured, expected)).length;
  return (
    <div class="sec">
      <h3>Model and traffic {count > 0 ? <span class="chip warn right">{count === 1 ? "1 differs" : `${count} differ`}</span> : <span class="chip good right">they agree</span>}</h3>
      <table class="plain num tight">
        <thead><tr><th scope="col" /><th scope="col" class="r">model</th><th scope="col" class="r">measured, {minutes} min</th></tr></thead>
        <tbody>{rows.map(([label, measured, expected, short]) => <tr key={label}><th scope="row">{label}</th><td class="r">{figure(expected)}</td><td class="r">{differs(measured, expected) ? <b class="warned">{figure(measured)}</b> : figure(measured)} {short}</td></tr>)}</tbody>
      </table>
      {count > 0 && <p class="muted">If the traffic is right, change the rates in <a href={href(`model/${model}`)}>{model}</a>: prices and forecast follow.</p>}
    </div>
  );
}
