// Capacity: what was consumed of what is provisioned, what was throttled or would be on AWS, and why; for the table and
// each index on one time axis with one cursor.

import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { Chart, type Mark, type Series, time, timeAxis } from "../chart";
import { post } from "../door";
import { count, figure } from "../format";
import { SHORT, type Unit } from "../heat";
import { Failure, Loading, Saving, useRepeat } from "../parts";
import { adjust, href, place } from "../place";
import { isOnDemand, partitionNames, indexesOf, statusLine } from "../session";
import { LASTS, type Metrics, everyMilliseconds, lastOf, rate, readMetrics } from "../series";
import { Choice, NotCounted } from "./heat";
import type { TableState } from "./state";

// DynamoDB's reasons: the word in its metrics, what it means, what to do.
const REASONS = [
  ["ProvisionedThroughputExceeded", "ProvisionedThroughput", "provisioned throughput", "More units were used than are provisioned, and the burst of 300 seconds is spent. Raise the throughput, let auto scaling do it, or go on demand."],
  ["KeyRangeThroughputExceeded", "KeyRangeThroughput", "one key or partition", "One partition got more than it sustains: 1,000 write or 3,000 read units a second. Spread the key over shards; Heat says over how many."],
  ["MaxOnDemandThroughputExceeded", "MaxOnDemandThroughput", "the table’s on-demand maximum", "The maximum that was set for this on-demand table was reached. Raise it or take it away."],
  ["AccountLimitExceeded", "AccountLimit", "the account’s limit", "The account’s limit for a table was reached. Ask AWS for a higher one, or warm the table up before a peak."],
] as const;
const BURST_SECONDS = 300;

export function Capacity({ state }: { state: TableState }) {
  const [report, setReport] = useState<any>(null);
  const [metrics, setMetrics] = useState<Metrics | null>(null);
  const [error, setError] = useState<unknown>(null);
  const cursor = useSignal<number | null>(null);
  const query = place.value.query;
  const last = lastOf(query.get("last"));
  useRepeat(
    async (abort) => {
      try {
        const [found, all] = await Promise.all([post("capacity", { table: state.name }, abort), readMetrics(LASTS[last], state.name, abort)]);
        setReport(found);
        setMetrics(all);
        setError(null);
      } catch (failure) {
        if (!abort.aborted) setError(failure);
      }
    },
    everyMilliseconds(last),
    [state.name, last],
  );
  useEffect(() => () => void (statusLine.value = ""), []);
  if (error) return <div class="page"><Failure error={error} /></div>;
  if (!report || !metrics) return <Loading what="Adding up units" />;
  if (!metrics.counts) return <NotCounted />;
  const table = state.description.value!;
  const unit: Unit = query.get("unit") === "read" ? "read" : "write";
  const sources: (string | null)[] = report.resources.map((one: any) => one.index);
  return (
    <>
      <section class="query" aria-label="What is shown">
        <div class="pills">
          <Choice label="Units" options={["read", "write"]} names={["Reads", "Writes"]} value={unit} onChoose={(one) => adjust({ unit: one })} />
          <Choice label="Time" options={Object.keys(LASTS)} value={last} onChoose={(one) => adjust({ last: one })} />
          <span class="chip right" title="serve --capacity">{{ shadow: "shadow: everything is served, and what AWS would throttle is counted", declared: "declared limits are enforced", aws: "throttled as on AWS" }[report.capacity as string] ?? report.capacity}</span>
        </div>
      </section>
      <div class="page">
        <div class="columns wideside">
          <div class="stack">
            {sources.map((index) => <Source key={index ?? ""} index={index} unit={unit} metrics={metrics} table={table} name={state.name} cursor={cursor} />)}
          </div>
          <div class="stack">
            <Reasons report={report} name={state.name} />
            <ShadowKeys report={report} table={table} name={state.name} />
            <Room report={report} unit={unit} name={state.name} />
          </div>
        </div>
      </div>
    </>
  );
}

function Source({ index, unit, metrics, table, name, cursor }: { index: string | null; unit: Unit; metrics: Metrics; table: any; name: string; cursor: any }) {
  const word = unit === "read" ? "Read" : "Write";
  const own = metrics.series.filter((one) => one.index === index && one.operation === null);
  const of = (metric: string) => own.filter((one) => one.metric === metric);
  const consumed = rate(metrics, of(`Consumed${word}CapacityUnits`));
  const series: Series[] = [{ name: "consumed", colour: unit === "read" ? "--blue" : "--north", kind: "area", points: consumed }];
  const source: any = indexesOf(table).find((one) => one.IndexName === index) ?? table;
  const declared: number | undefined = isOnDemand(table) ? undefined : (source.ProvisionedThroughput ?? table.ProvisionedThroughput)?.[`${word}CapacityUnits`];
  const steps = declared === undefined ? [] : stepsOf(metrics, of(`Provisioned${word}CapacityUnits`)[0]?.points ?? [], declared);
  if (steps.length) series.push({ name: "provisioned", colour: "--control", kind: "step", points: steps });
  const marks = throttles(own, word);
  const total = (shadow: boolean) => marks.reduce((sum, one) => sum + (one.shadow === shadow ? one.count : 0), 0);
  return (
    <>
      <Chart
        title={index ?? "Table"}
        file={`${name}-${index ?? "table"}-${unit}s`}
        series={series}
        marks={marks}
        x={timeAxis(metrics.start, metrics.now)}
        show={figure}
        cursor={cursor}
        height={170}
        note={
          <>
            <span>{SHORT[unit]}/s</span>
            {total(false) > 0 && <span class="chip bad">{count(total(false))} throttled</span>}
            {total(true) > 0 && <span class="chip warn">AWS would have throttled {count(total(true))}</span>}
            {marks.length === 0 && <span class="chip good">nothing throttled</span>}
          </>
        }
      />
      {steps.length > 0 && (
        <Chart title={`Burst left${index ? `, ${index}` : ""}`} file={`${name}-${index ?? "table"}-burst`} series={[{ name: "seconds of unused units", colour: "--good", kind: "area", points: burst(consumed, steps, metrics.period, spentAt(own, word)) }]} x={timeAxis(metrics.start, metrics.now)} show={(value) => `${Math.round(value)} s`} most={BURST_SECONDS} cursor={cursor} height={120} note={<span>estimated from the units of each {metrics.period === 60 ? "minute" : `${metrics.period / 60} minutes`}</span>} />
      )}
    </>
  );
}

// What was provisioned: as it was sampled, and as it is now.
function stepsOf(metrics: Metrics, points: Metrics["series"][0]["points"], now: number): [number, number][] {
  const known = points.map((point): [number, number] => [point[0], point[4]]);
  return [[metrics.start, known[0]?.[1] ?? now], ...known, [metrics.now, now]];
}

// Unused units are saved up for 300 seconds, and spent before anything is throttled.
function burst(consumed: [number, number][], steps: [number, number][], period: number, spent: Set<number>): [number, number][] {
  let left = BURST_SECONDS;
  return consumed.map(([at, units]) => {
    const declared = Math.max(1, steps.findLast(([from]) => from <= at)?.[1] ?? 1);
    left = Math.min(BURST_SECONDS, Math.max(0, left + ((declared - units) / declared) * period));
    // That it was spent is known; the rest is estimated from averages, which hide peaks.
    if (spent.has(at)) left = 0;
    return [at, left];
  });
}

// When provisioned throughput and its burst were used up.
const spentAt = (series: Metrics["series"], word: string): Set<number> =>
  new Set(series.filter((one) => new RegExp(`^(Shadow)?${word}ProvisionedThroughputThrottleEvents$`).test(one.metric)).flatMap((one) => one.points.filter((point) => point[2] > 0).map((point) => point[0])));

interface Throttle extends Mark {
  count: number;
  shadow: boolean;
}

function throttles(series: Metrics["series"], word: string): Throttle[] {
  return ["", "Shadow"].flatMap((shadow) => {
    const times = new Map<number, [number, string[]]>();
    for (const [, metric, plain] of REASONS)
      for (const one of series.filter((one) => one.metric === `${shadow}${word}${metric}ThrottleEvents`))
        for (const [at, , events] of one.points) {
          const [sum, texts] = times.get(at) ?? [0, []];
          times.set(at, [sum + events, [...texts, `${count(events)} by ${plain}`]]);
        }
    return [...times].map(([at, [sum, texts]]) => ({ x: at, count: sum, shadow: shadow !== "", text: `${time(at).slice(0, 5)}: ${texts.join(", ")}${shadow ? ", served here" : ""}` }));
  });
}

function Reasons({ report, name }: { report: any; name: string }) {
  const rows = report.resources.flatMap((one: any) =>
    (["read", "write"] as const).flatMap((unit) =>
      REASONS.flatMap(([reason, , plain, what]) => {
        const [refused, shadow] = [one[unit].throttled[reason] ?? 0, one[unit].would_throttle[reason] ?? 0];
        return refused || shadow ? [{ where: one.index ?? "table", unit, reason, plain, what, refused, shadow }] : [];
      }),
    ),
  );
  const met = REASONS.filter(([reason]) => rows.some((one: any) => one.reason === reason));
  return (
    <section class="panel" aria-label="Throttling and its reasons">
      <h2>Throttling, last hour <Saving name={`${name}-throttling`} rows={() => ({ head: ["where", "units", "reason", "refused", "AWS would refuse"], rows: rows.map((one: any) => [one.where, one.unit, one.reason, one.refused, one.shadow]) })} /></h2>
      {rows.length === 0 ? (
        <p class="muted padded">Nothing was throttled, and nothing would have been on AWS.</p>
      ) : (
        <>
          <table class="plain num">
            <thead><tr><th scope="col">Where</th><th scope="col">By</th><th scope="col" class="r">Refused</th><th scope="col" class="r">Would be</th></tr></thead>
            <tbody>{rows.map((one: any) => <tr key={one.where + one.unit + one.reason}><th scope="row">{one.where}, {one.unit}s</th><td>{one.plain}</td><td class="r">{one.refused ? <span class="chip bad">{count(one.refused)}</span> : 0}</td><td class="r">{one.shadow ? <span class="chip warn">{count(one.shadow)}</span> : 0}</td></tr>)}</tbody>
          </table>
          <div class="padded stack">{met.map(([reason, , plain, what]) => <p key={reason}><b>{plain}.</b> <span class="muted">{what}</span></p>)}</div>
        </>
      )}
    </section>
  );
}

function ShadowKeys({ report, table, name }: { report: any; table: any; name: string }) {
  if (!report.shadow_keys.length) return null;
  const text = (one: any) => {
    const schema = indexesOf(table).find((index) => index.IndexName === one.index)?.KeySchema ?? table.KeySchema;
    return partitionNames(schema).map((part) => Object.values(one.key[part] ?? {})[0]).join(" · ");
  };
  return (
    <section class="panel" aria-label="Keys that AWS would have throttled">
      <h2>Keys that AWS would have throttled</h2>
      <table class="plain num">
        <thead><tr><th scope="col">Key</th><th scope="col">Of</th><th scope="col" class="r">At least</th></tr></thead>
        <tbody>{report.shadow_keys.map((one: any, at: number) => <tr key={at}><th scope="row" class="mono"><a href={href(`table/${name}`, { on: one.index ?? "", pk: text(one) })}>{text(one)}</a></th><td>{one.index ?? "table"}</td><td class="r">{count(one.count)}</td></tr>)}</tbody>
      </table>
    </section>
  );
}

function Room({ report, unit, name }: { report: any; unit: Unit; name: string }) {
  return (
    <section class="panel" aria-label="Room">
      <h2>Room for {unit}s <Saving name={`${name}-capacity`} rows={() => ({ head: ["where", "declared", "warm", "busiest minute", "partitions"], rows: report.resources.map((one: any) => [one.index ?? "table", one[unit].declared, one[unit].warm, one[unit].peak_per_second, one.partitions]) })} /></h2>
      <table class="plain num">
        <thead><tr><th scope="col">Where</th><th scope="col" class="r">{report.billing_mode === "PROVISIONED" ? "Provisioned" : "Maximum"}</th><th scope="col" class="r">Warm</th><th scope="col" class="r">Busiest</th><th scope="col" class="r">Partitions</th></tr></thead>
        <tbody>{report.resources.map((one: any) => <tr key={one.index ?? ""}><th scope="row">{one.index ?? "table"}</th><td class="r">{one[unit].declared === null ? <span class="muted">none</span> : count(one[unit].declared)}</td><td class="r">{count(one[unit].warm)}</td><td class="r">{figure(one[unit].peak_per_second)}</td><td class="r">{count(one.partitions)}</td></tr>)}</tbody>
      </table>
      <p class="muted padded">Warm is what AWS would take at once; busiest is the busiest minute of the last hour. All in {SHORT[unit]} each second.</p>
    </section>
  );
}
