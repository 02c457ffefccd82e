// How values are ordered on this page, and results of several requests by their pattern.

import type { Pattern } from "../legend";
import { type Attribute, type Item, get, text } from "../value";

// Requests on several shards come one after the other; the reader merges them by the pattern's order.
export function merged(items: Item[], pattern: Pattern, requests: number): Item[] {
  const order = pattern.read?.order ?? [];
  if (requests < 2 || !order.length) return items;
  const compare = (one: Item, other: Item) => order.reduce((found, by) => found || (by.descending ? -1 : 1) * compareCells(get(one, by.attribute), get(other, by.attribute)), 0);
  const sorted = [...items].sort(compare);
  return pattern.read?.limit ? sorted.slice(0, pattern.read.limit) : sorted;
}

export function compareCells(one: Attribute | number | undefined, other: Attribute | number | undefined): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  const [a, b] = [one as Attribute | undefined, other as Attribute | undefined];
  if (!a || !b) return a ? -1 : b ? 1 : 0;
  if ("N" in a && "N" in b) return Number(a.N) - Number(b.N);
  const [left, right] = [text(a, 400), text(b, 400)];
  return left < right ? -1 : left > right ? 1 : 0;
}
