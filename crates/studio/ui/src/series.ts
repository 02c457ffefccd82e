// The engine's metrics, as lines of charts.

import { signal } from "@preact/signals";
import type { Series } from "./chart";
import { post } from "./door";
import { rate } from "./rate";

export { rate };

export interface MetricSeries {
  metric: string;
  table: string | null;
  index: string | null;
  operation: string | null;
  receivingRegion: string | null;
  // Time, count, sum, minimum, maximum.
  points: [number, number, number, number, number][];
}
export interface Metrics {
  now: number;
  start: number;
  end: number;
  period: number;
  counts: boolean;
  series: MetricSeries[];
  // Of each operation, in milliseconds.
  latencies: { operation: string; p50: number; p99: number }[];
  // What is wrong with the server's clock.
  clock: string | null;
  // Tables that are left out, because others were used more.
  tablesCut: number;
}

// How long is shown, in minutes.
export const LASTS = { "1 h": 60, "6 h": 360, "24 h": 1440, "7 d": 10080 } as const;
export type Last = keyof typeof LASTS;
export const lastOf = (text: string | null): Last => (Object.keys(LASTS) as Last[]).find((one) => one === text) ?? "1 h";
// Long ranges change slowly and cost more to read.
export const everyMilliseconds = (last: Last): number => (last === "1 h" ? 2000 : 15_000);

export const readMetrics = (minutes: number, table?: string, abort?: AbortSignal): Promise<Metrics> => post("metrics", { minutes, ...(table && { table }) }, abort);

export const sum = (series: MetricSeries[], at: 1 | 2 = 2): number => series.reduce((all, one) => all + one.points.reduce((total, point) => total + point[at], 0), 0);

// A chart tells eight lines apart.
const LINES_MAX = 8;

// The lines of a chart: those with the largest sums, by name.
export function lines(series: MetricSeries[], name: (one: MetricSeries) => string, points: (all: MetricSeries[]) => [number, number][]): Series[] {
  const groups = new Map<string, MetricSeries[]>();
  for (const one of series) groups.set(name(one), [...(groups.get(name(one)) ?? []), one]);
  const sorted = [...groups].sort(([, one], [, other]) => sum(other) - sum(one)).slice(0, LINES_MAX);
  return sorted.map(([name, all], at) => ({ name, colour: `--e${at}`, points: points(all) }));
}

const inOrder = (times: Map<number, number>) => [...times].sort(([one], [other]) => one - other);

// Of all series together: sum over count.
export function averages(all: MetricSeries[]): [number, number][] {
  const times = new Map<number, [number, number]>();
  for (const one of all) for (const [at, samples, total] of one.points) times.set(at, [(times.get(at)?.[0] ?? 0) + samples, (times.get(at)?.[1] ?? 0) + total]);
  return inOrder(new Map([...times].map(([at, [samples, total]]) => [at, total / samples])));
}

// The largest value of each period.
export function worst(all: MetricSeries[]): [number, number][] {
  const times = new Map<number, number>();
  for (const one of all) for (const point of one.points) times.set(point[0], Math.max(times.get(point[0]) ?? 0, point[4]));
  return inOrder(times);
}

// What all tables use now, for the frame and the overview: asked for while somebody looks.
export const pulse = signal<Metrics | null>(null);
export const unitsOf = (all: Metrics, unit: "Read" | "Write", table?: string): [number, number][] =>
  rate(all, all.series.filter((one) => one.metric === `Consumed${unit}CapacityUnits` && (!table || one.table === table)));
