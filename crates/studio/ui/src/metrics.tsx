// Metrics: what all tables or one of them did, by operation, table and index, over a range of time. The engine keeps them
// for 15 days; CloudWatch's API and /metrics have the same figures.

import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { Chart, type Series, timeAxis } from "./chart";
import { connected, root } from "./door";
import { count, figure, milliseconds } from "./format";
import { Elsewhere, Failure, Loading, Saving, useRepeat } from "./parts";
import { adjust, href, place } from "./place";
import { statusLine, tableNames, withheld } from "./session";
import { LASTS, type MetricSeries, type Metrics, averages, everyMilliseconds, lastOf, lines, rate, readMetrics, sum, worst } from "./series";
import { Choice, NotCounted } from "./table/heat";

export function MetricsScreen() {
  const elsewhere = connected.value ? withheld("metrics") : undefined;
  return elsewhere ? <Elsewhere why={elsewhere} /> : <Own />;
}

function Own() {
  const [metrics, setMetrics] = useState<Metrics | null>(null);
  const [error, setError] = useState<unknown>(null);
  const cursor = useSignal<number | null>(null);
  const query = place.value.query;
  const last = lastOf(query.get("last"));
  const table = query.get("table") ?? "";
  useRepeat(
    async (abort) => {
      try {
        setMetrics(await readMetrics(LASTS[last], table, abort));
        setError(null);
      } catch (failure) {
        if (!abort.aborted) setError(failure);
      }
    },
    everyMilliseconds(last),
    [last, table],
  );
  useEffect(() => () => void (statusLine.value = ""), []);
  return (
    <>
      <div class="head" style={{ paddingBottom: "10px", borderBottom: "1px solid var(--line)" }}>
        <h1>Metrics</h1>
        <span class="pill"><span>of</span><select aria-label="Table" value={table} onChange={(event) => adjust({ table: event.currentTarget.value })}><option value="">all tables</option>{tableNames.value?.map((name) => <option key={name}>{name}</option>)}</select></span>
        <Choice label="Time" options={Object.keys(LASTS)} value={last} onChoose={(one) => adjust({ last: one })} />
        <a class="right" href={new URL("../metrics", root).href} target="_blank">all figures, for Prometheus</a>
      </div>
      {error ? <div class="page"><Failure error={error} /></div> : !metrics ? <Loading what="Reading metrics" /> : !metrics.counts ? <NotCounted /> : metrics.series.length === 0 ? <Nothing /> : <Shown metrics={metrics} cursor={cursor} />}
    </>
  );
}

const Nothing = () => (
  <div class="page">
    <div class="teach">
      <h2>Nothing was asked in this time</h2>
      <p>Every request counts here within seconds: how many, how long they took, what they consumed, what was refused and why. The figures are kept for 15 days and are those of CloudWatch, so this works as well:</p>
      <pre class="code" role="group" tabIndex={0} aria-label="A command to copy">{`aws cloudwatch list-metrics --endpoint-url ${location.origin}`}</pre>
    </div>
  </div>
);

function Shown({ metrics, cursor }: { metrics: Metrics; cursor: any }) {
  const of = (...names: string[]) => metrics.series.filter((one) => names.includes(one.metric));
  const latency = of("SuccessfulRequestLatency");
  const x = timeAxis(metrics.start, metrics.now);
  const place = (one: MetricSeries) => (one.index ? `${one.table}/${one.index}` : (one.table ?? ""));
  const operation = (one: MetricSeries) => one.operation!;
  const sums = (all: MetricSeries[]) => rate(metrics, all);
  const throttled = lines(metrics.series.filter((one) => /^(Shadow)?(Read|Write)ThrottleEvents$/.test(one.metric)), (one) => `${place(one)} ${one.metric.includes("Read") ? "reads" : "writes"}${one.metric.startsWith("Shadow") ? ", would be on AWS" : ""}`, sums);
  const errors = lines(of("UserErrors", "SystemErrors", "ConditionalCheckFailedRequests", "TransactionConflict"), (one) => ({ UserErrors: "wrong requests", SystemErrors: "failures", ConditionalCheckFailedRequests: "failed conditions", TransactionConflict: "conflicts" })[one.metric]!, sums);
  const chart = (title: string, series: Series[], show: (value: number) => string, note?: string) => (series.length ? <Chart key={title} title={title} file={`metrics-${title.toLowerCase().replaceAll(/\W+/g, "-")}`} series={series} x={x} show={show} cursor={cursor} height={170} note={note && <span>{note}</span>} /> : null);
  return (
    <div class="page">
      <div class="stack">
        <div class="charts">
          {chart("Requests", lines(latency, operation, (all) => rate(metrics, all, 1)), figure, "each second")}
          {chart("Latency, average", lines(latency, operation, averages), milliseconds)}
          {chart("Read units", lines(of("ConsumedReadCapacityUnits"), place, sums), figure, "RCU each second")}
          {chart("Write units", lines(of("ConsumedWriteCapacityUnits"), place, sums), figure, "WCU each second")}
          {chart("Latency, worst", lines(latency, operation, worst), milliseconds)}
          {chart("Throttled", throttled, figure, "each second")}
          {chart("Errors", errors, figure, "each second")}
          {chart("Streams", lines(of("ReturnedRecordsCount"), (one) => `${one.table}, records`, sums), figure, "each second")}
          {chart("Kinesis", lines(of("ConsumedChangeDataCaptureUnits"), (one) => `${one.table}, delivered`, sums), figure, "change data capture units each second")}
          {chart("Oldest change that waits for Kinesis", lines(of("AgeOfOldestUnreplicatedRecord"), place, worst), milliseconds)}
          {chart("Expired items", lines(of("TimeToLiveDeletedItemCount"), place, sums), figure, "each second")}
        </div>
        <Operations metrics={metrics} />
        <Consumed metrics={metrics} />
      </div>
    </div>
  );
}

function Operations({ metrics }: { metrics: Metrics }) {
  const names = [...new Set(metrics.series.flatMap((one) => (one.operation ? [one.operation] : [])))].sort();
  const rows = names.map((name) => {
    const own = metrics.series.filter((one) => one.operation === name);
    const latency = own.filter((one) => one.metric === "SuccessfulRequestLatency");
    const served = sum(latency, 1);
    const worst = Math.max(0, ...latency.flatMap((one) => one.points.map((point) => point[4])));
    const { p50, p99 } = metrics.latencies.find((one) => one.operation === name) ?? { p50: 0, p99: 0 };
    return { name, served, average: served ? sum(latency) / served : 0, worst, throttled: sum(own.filter((one) => one.metric === "ThrottledRequests")), failed: sum(own.filter((one) => one.metric === "SystemErrors")), p50, p99 };
  });
  return (
    <section class="panel" aria-label="Operations">
      <h2>Operations <Saving name="metrics-operations" rows={() => ({ head: ["operation", "served", "average ms", "p50 ms", "p99 ms", "worst ms", "throttled", "failures"], rows: rows.map((one) => [one.name, one.served, one.average, one.p50, one.p99, one.worst, one.throttled, one.failed]) })} /></h2>
      <table class="plain num">
        <thead><tr><th scope="col">Operation</th><th scope="col" class="r">Served</th><th scope="col" class="r">Average</th><th scope="col" class="r">p50</th><th scope="col" class="r">p99</th><th scope="col" class="r">Worst</th><th scope="col" class="r">Throttled</th><th scope="col" class="r">Failures</th></tr></thead>
        <tbody>
          {rows.map((one) => (
            <tr key={one.name}>
              <th scope="row">{one.name}</th>
              <td class="r">{count(one.served)}</td>
              <td class="r">{one.served ? milliseconds(one.average) : "–"}</td>
              <td class="r">{one.served ? milliseconds(one.p50) : "–"}</td>
              <td class="r">{one.served ? milliseconds(one.p99) : "–"}</td>
              <td class="r">{one.served ? milliseconds(one.worst) : "–"}</td>
              <td class="r">{one.throttled ? <span class="chip bad">{count(one.throttled)}</span> : 0}</td>
              <td class="r">{one.failed ? <span class="chip bad">{count(one.failed)}</span> : 0}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Consumed({ metrics }: { metrics: Metrics }) {
  const places = new Map<string, { table: string; index: string | null; own: MetricSeries[] }>();
  for (const one of metrics.series) {
    if (!one.table || one.operation) continue;
    const key = `${one.table}/${one.index ?? ""}`;
    const place = places.get(key) ?? { table: one.table, index: one.index, own: [] };
    place.own.push(one);
    places.set(key, place);
  }
  const total = (own: MetricSeries[], metric: string) => sum(own.filter((one) => one.metric === metric));
  const rows = [...places.values()].map(({ table, index, own }) => ({ table, index, read: total(own, "ConsumedReadCapacityUnits"), write: total(own, "ConsumedWriteCapacityUnits"), throttled: total(own, "ReadThrottleEvents") + total(own, "WriteThrottleEvents"), shadow: total(own, "ShadowReadThrottleEvents") + total(own, "ShadowWriteThrottleEvents") })).filter((one) => one.read || one.write || one.throttled);
  return (
    <section class="panel" aria-label="Tables and indexes">
      <h2>Tables and indexes <Saving name="metrics-tables" rows={() => ({ head: ["table", "index", "RCU", "WCU", "throttled", "AWS would throttle"], rows: rows.map((one) => [one.table, one.index, one.read, one.write, one.throttled, one.shadow]) })} /></h2>
      <table class="plain num">
        <thead><tr><th scope="col">Table</th><th scope="col">Index</th><th scope="col" class="r">RCU</th><th scope="col" class="r">WCU</th><th scope="col" class="r">Throttled</th><th scope="col" class="r">AWS would throttle</th></tr></thead>
        <tbody>{rows.map((one) => <tr key={`${one.table}/${one.index}`}><th scope="row"><a href={href(`table/${one.table}/capacity`)}>{one.table}</a></th><td>{one.index ?? ""}</td><td class="r">{figure(one.read)}</td><td class="r">{figure(one.write)}</td><td class="r">{one.throttled ? <span class="chip bad">{count(one.throttled)}</span> : 0}</td><td class="r">{one.shadow ? <span class="chip warn">{count(one.shadow)}</span> : 0}</td></tr>)}</tbody>
      </table>
    </section>
  );
}
