// What a model costs by the month: by pattern, by way to pay, and how it changes with rates, sizes and counts.

import { useEffect, useState } from "preact/hooks";
import { type Axis, Chart, type Series } from "../chart";
import { post } from "../door";
import { count, money } from "../format";
import { Failure, Loading, Saving } from "../parts";
import { adjust, place } from "../place";
import type { ModelState } from "./state";

const SLIDERS = [
  ["rate", "Requests"],
  ["size", "Size of items"],
  ["count", "Number of items"],
] as const;
// From a tenth to a hundred times, in steps of a tenth of a decade.
const FACTORS = Array.from({ length: 25 }, (_, at) => 10 ** (-1 + at / 8));
const COLOURS = ["--north", "--blue", "--e2", "--e3", "--e4", "--e5"];
const AXIS: Axis = { min: 0.1, max: 100, ticks: [0.1, 1, 10, 100], show: (value) => `×${Number(value.toPrecision(2))}`, log: true };

const wayName = (way: any) => `${way.mode}${way.class === "Standard" ? "" : `, ${way.class}`}`;
const short = (value: number) => (value >= 1000 ? `$${count(Math.round(value))}` : money(value));

export function Cost({ state }: { state: ModelState }) {
  const query = place.value.query;
  const scale = Object.fromEntries(SLIDERS.map(([id]) => [id, Number(query.get(id)) || 1])) as Record<string, number>;
  const [priced, setPriced] = useState<any>(null);
  const [curve, setCurve] = useState<any[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [open, setOpen] = useState<string | null>(null);
  const text = state.text.value;
  useEffect(() => {
    const control = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const [one, many] = await Promise.all([
          post("model/cost", { text, scale }, control.signal),
          post("model/curve", { text, scale, factors: FACTORS }, control.signal),
        ]);
        setPriced(one);
        setCurve(many.points);
        setError(null);
      } catch (failure) {
        if (!control.signal.aborted) setError(failure);
      }
    }, 120);
    return () => (control.abort(), clearTimeout(timer));
  }, [text, scale.rate, scale.size, scale.count]);
  if (error) return <div class="page"><Failure error={error} /></div>;
  if (!priced || !curve) return <Loading what="Calculating" />;
  const series: Series[] = priced.ways.map((way: any, at: number) => ({
    name: wayName(way),
    colour: COLOURS[at % COLOURS.length],
    kind: at % 2 ? "dashed" : "line",
    points: curve.map((point): [number, number] => [point.factor, point.ways[at].total]),
  }));
  const cheapest = [...priced.ways].sort((one: any, other: any) => one.total - other.total)[0];
  const lines = [["Throughput", priced.declared.throughput], ["Storage", priced.declared.storage], ["Other", priced.declared.other]] as const;
  return (
    <div class="page">
      <div class="columns wideside">
        <div class="stack">
          <section class="panel" aria-label="What if">
            <h2>What if <span class="right"><button type="button" class="btn small" onClick={() => adjust({ rate: undefined, size: undefined, count: undefined })}>As declared</button></span></h2>
            <div class="sliders">
              {SLIDERS.map(([id, label]) => (
                <label key={id}>
                  <span>{label} <b class="num">×{Number(scale[id].toPrecision(2))}</b></span>
                  <input type="range" min={-1} max={2} step={0.125} value={Math.log10(scale[id])} aria-valuetext={`${Number(scale[id].toPrecision(2))} times`} onInput={(event) => adjust({ [id]: event.currentTarget.value === "0" ? undefined : String(10 ** Number(event.currentTarget.value)) })} />
                </label>
              ))}
            </div>
          </section>
          <Chart title="A month, by the rate of requests" file={`${state.name}-cost`} series={series} x={AXIS} show={short} height={260} divide={{ x: Math.min(100, Math.max(0.1, scale.rate)), before: "", after: `×${Number(scale.rate.toPrecision(2))}` }} note={<Crossings series={series} />} />
          <section class="panel" aria-label="Sums">
            <h2>Every sum <span class="muted plainly">{priced.region}, prices {priced.prices.split(";")[0]}</span></h2>
            <table class="plain num">
              <tbody>
                {lines.map(([title, all]) => all.map((line: any) => (
                  <>
                    <tr key={line.what}>
                      <th scope="row"><button type="button" class="bare" aria-expanded={open === line.what} onClick={() => setOpen(open === line.what ? null : line.what)}>{line.what}</button></th>
                      <td class="muted">{title}</td>
                      <td class="r">{money(line.amount)}</td>
                    </tr>
                    {open === line.what && <tr><td colSpan={3} class="mono">{arithmetic(line)}</td></tr>}
                  </>
                )))}
              </tbody>
            </table>
          </section>
        </div>
        <div class="stack">
          <section class="panel" aria-label="Ways to pay">
            <h2>Ways to pay</h2>
            <table class="plain num">
              <tbody>
                {priced.ways.map((way: any) => (
                  <tr key={wayName(way)}>
                    <th scope="row">{wayName(way)} {way === cheapest && <span class="chip good">least</span>}</th>
                    <td class="r">{money(way.total)}{way.missing?.length ? <span class="muted"> and what has no price</span> : null}</td>
                  </tr>
                ))}
                <tr class="chosen"><th scope="row">as the file declares</th><td class="r"><b>{money(priced.total)}</b></td></tr>
              </tbody>
            </table>
          </section>
          <section class="panel" aria-label="Patterns">
            <h2>By pattern, on demand <Saving name={`${state.name}-patterns`} rows={() => ({ head: ["pattern", "operation", "rate", "read units", "write units", "monthly"], rows: priced.patterns.map((one: any) => [one.pattern, one.operation, one.rate, one.read_units, one.write_units, one.monthly]) })} /></h2>
            <Bars rows={priced.patterns.map((one: any) => ({ name: one.pattern, what: `${one.operation} ${count(one.rate)}/s`, value: one.monthly, colour: one.write_units > 0 ? "--north" : "--blue" }))} />
          </section>
          {priced.indexes.length > 0 && (
            <section class="panel" aria-label="Indexes">
              <h2>What indexes add</h2>
              <Bars rows={priced.indexes.map((one: any) => ({ name: one.index, what: `${count(Math.round(one.write_units * 10) / 10)} WCU/s`, value: one.monthly, colour: "--e3" }))} />
            </section>
          )}
          {priced.notes.map((one: string) => <p key={one} class="muted">{one}</p>)}
        </div>
      </div>
    </div>
  );
}

function arithmetic(line: any): string {
  const factor = (one: any) => (one.unit.startsWith("$") ? `$${count(one.value)}${one.unit.slice(1)}` : `${count(one.value)}${one.unit ? ` ${one.unit}` : ""}`);
  const text = line.factors.map((one: any, at: number) => (at === 0 ? factor(one) : `${one.divides ? " ÷ " : " × "}${factor(one)}`)).join("");
  return `${text} = ${money(line.amount)}`;
}

// Where one way becomes cheaper than another, among the two that are ever the cheapest.
function Crossings({ series }: { series: Series[] }) {
  const [one, other] = series;
  if (!one || !other) return null;
  for (let at = 1; at < one.points.length; at++) {
    const before = one.points[at - 1][1] - other.points[at - 1][1];
    const after = one.points[at][1] - other.points[at][1];
    if (before * after >= 0) continue;
    const share = before / (before - after);
    const where = 10 ** (Math.log10(one.points[at - 1][0]) + share * Math.log10(one.points[at][0] / one.points[at - 1][0]));
    return <span class="chip blue">{one.name} and {other.name} cost the same at ×{where.toPrecision(2)}</span>;
  }
  return null;
}

export function Bars({ rows }: { rows: { name: string; what: string; value: number; colour: string }[] }) {
  const most = Math.max(1e-9, ...rows.map((one) => one.value));
  return (
    <ul class="bars num">
      {rows.map((one) => (
        <li key={one.name}>
          <b>{one.name}</b> <span class="muted">{one.what}</span>
          <span class="r">{money(one.value)}</span>
          <i><u style={{ width: `${(100 * one.value) / most}%`, background: `var(${one.colour})` }} /></i>
        </li>
      ))}
    </ul>
  );
}
