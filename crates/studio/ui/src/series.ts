// The engine's metrics, as lines of charts.

import { signal } from "@preact/signals";
import { post } from "./door";

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
}

// How long is shown, in minutes.
export const LASTS = { "1 h": 60, "6 h": 360, "24 h": 1440, "7 d": 10080 } as const;
export type Last = keyof typeof LASTS;
export const lastOf = (text: string | null): Last => (Object.keys(LASTS) as Last[]).find((one) => one === text) ?? "1 h";
// Long ranges change slowly and cost more to read.
export const everyMilliseconds = (last: Last): number => (last === "1 h" ? 2000 : 15_000);

export const readMetrics = (minutes: number, table?: string, abort?: AbortSignal): Promise<Metrics> => post("metrics", { minutes, ...(table && { table }) }, abort);

const seconds = (all: Metrics, time: number) => (time + all.period > all.now ? Math.max(10, all.now - time) : all.period);

// Sums each second; a period without values is a zero.
export function rate(all: Metrics, series: MetricSeries[], at: 1 | 2 = 2): [number, number][] {
  const sums = new Map<number, number>();
  for (const one of series) for (const point of one.points) sums.set(point[0], (sums.get(point[0]) ?? 0) + point[at]);
  const points: [number, number][] = [];
  for (let time = all.start; time < all.end && time <= all.now; time += all.period) points.push([time, (sums.get(time) ?? 0) / seconds(all, time)]);
  return points;
}

export const sum = (series: MetricSeries[], at: 1 | 2 = 2): number => series.reduce((all, one) => all + one.points.reduce((total, point) => total + point[at], 0), 0);

// What all tables use now, for the frame and the overview: asked for while somebody looks.
export const pulse = signal<Metrics | null>(null);
export const unitsOf = (all: Metrics, unit: "Read" | "Write", table?: string): [number, number][] =>
  rate(all, all.series.filter((one) => one.metric === `Consumed${unit}CapacityUnits` && (!table || one.table === table)));
