// Sums of periods as rates.

import type { MetricSeries, Metrics } from "./series";

// The value of the period that is not over: of what it has, and of the period before for the rest, so that it does not
// fall to zero at the turn of a minute.
export const rolling = (open: number, before: number, passed: number, period: number): number => (open + before * Math.max(0, 1 - passed / period)) / period;

// Sums each second; a period without values is a zero.
export function rate(all: Metrics, series: MetricSeries[], at: 1 | 2 = 2): [number, number][] {
  const sums = new Map<number, number>();
  for (const one of series) for (const point of one.points) sums.set(point[0], (sums.get(point[0]) ?? 0) + point[at]);
  const points: [number, number][] = [];
  for (let time = all.start; time < all.end && time <= all.now; time += all.period) {
    const [own, before] = [sums.get(time) ?? 0, sums.get(time - all.period) ?? 0];
    points.push([time, time + all.period > all.now ? rolling(own, before, all.now - time, all.period) : own / all.period]);
  }
  return points;
}
