// Numbers for people.

const grouping = new Intl.NumberFormat("en-US", { maximumFractionDigits: 3 });
export const count = (value: number): string => grouping.format(value);

export function short(value: number): string {
  for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["K", 1e3]] as const)
    if (value >= size) return `${(value / size).toFixed(value < 100 * size ? 1 : 0)} ${unit}`;
  return String(value);
}

export function bytes(value: number): string {
  for (const [unit, size] of [["GB", 2 ** 30], ["MB", 2 ** 20], ["KB", 2 ** 10]] as const)
    if (value >= size) return `${(value / size).toFixed(1)} ${unit}`;
  return `${value} B`;
}

export const units = (value: number, kind: string): string => `${count(Math.round(value * 1000) / 1000)} ${kind}`;
export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;
export const money = (value: number): string =>
  value !== 0 && Math.abs(value) < 0.01 ? "<$0.01" : `$${value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
export const clock = (date: Date): string => date.toTimeString().slice(0, 8);
export const percent = (share: number): string => `${share > 0 && share < 0.01 ? "< 1" : count(Math.round(100 * share))} %`;
// Three digits are enough for a figure that changes.
export const figure = (value: number): string => count(value >= 100 ? Math.round(value) : value >= 1 ? Math.round(value * 10) / 10 : Number(value.toPrecision(2)));
export const milliseconds = (value: number): string => (value < 1 ? `${count(Math.round(value * 1000))} µs` : value < 1000 ? `${figure(value)} ms` : `${figure(value / 1000)} s`);
