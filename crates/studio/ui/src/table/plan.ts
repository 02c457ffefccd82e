// A draft as the writes that it becomes, with what they cost. A large draft takes several transactions.

import { post } from "../door";
import { type Item, get, same } from "../value";
import type { Change } from "./drafts";
import { keyText } from "./rows";

export interface PlanPart {
  ids: string[];
  operation: string;
  input: any;
  // What each write requires.
  condition: string[];
  parts: { name: string; index: boolean; units: number; what: string[] }[];
  // Nothing if the write would be refused, or if another database would do it: its price is not known before.
  total: number | null;
  // The error that the write would answer now: then it has no price.
  refusal: any;
  items: Change[];
  notes: string[];
  code: Record<string, string>;
}
export interface Plan {
  parts: PlanPart[];
  total: number | null;
  refusal: any;
  refused: PlanPart | undefined;
  changes: ReadonlyMap<string, Change>;
}

// A transaction takes 100 writes, and a changed key is two of them.
const CHANGES_PER_PART = 50;

export async function planOf(table: string, changes: [string, Change][], primary: string[], model?: string): Promise<Plan> {
  const chunks: [string, Change][][] = [];
  for (let at = 0; at < changes.length; at += CHANGES_PER_PART) chunks.push(changes.slice(at, at + CHANGES_PER_PART));
  const parts: PlanPart[] = [];
  for (const chunk of chunks) {
    // A key that is not typed yet can't be asked about.
    const named = chunk.find(([, { new: now }]) => now && primary.some((name) => !Object.hasOwn(now, name)) && !model);
    if (named) throw new Error(`${primary.filter((name) => !Object.hasOwn(named[1].new!, name)).join(" and ")} must be given.`);
    const answer = await post("change", { table, changes: chunk.map(([, change]) => change), ...(model && { model }) });
    parts.push({ ...answer, ids: chunk.map(([id]) => id) });
  }
  const refused = parts.find((part) => part.refusal);
  const totals = parts.flatMap((part) => part.total ?? []);
  const total = totals.length === parts.length ? totals.reduce((sum, one) => sum + one, 0) : null;
  return { parts, total, refused, refusal: refused?.refusal ?? null, changes: new Map(changes) };
}

// An item of the draft as it will be stored; undefined if that is not known yet.
export function planned(plan: Plan | null, id: string): Item | null | undefined {
  for (const part of plan?.parts ?? []) {
    const at = part.ids.indexOf(id);
    if (at >= 0) return part.items[at]?.new;
  }
  return undefined;
}

// Units by table and index, of all parts.
export function prices(plan: Plan): { name: string; index: boolean; units: number; what: string[] }[] {
  const by = new Map<string, { name: string; index: boolean; units: number; what: string[] }>();
  for (const one of plan.parts.flatMap((part) => part.parts)) {
    const known = by.get(one.name);
    by.set(one.name, known ? { ...known, units: known.units + one.units, what: [...new Set([...known.what, ...one.what])] } : one);
  }
  return [...by.values()];
}

// How many writes each change of a part takes: a changed key is a deletion and a put.
export const writesOf = ({ old, new: now }: Change, primary: string[]): number => (old && now && keyText(old, primary) !== keyText(now, primary) ? 2 : 1);

export const changedNames = ({ old, new: now }: Change): string[] =>
  [...new Set([...Object.keys(old ?? {}), ...Object.keys(now ?? {})])].filter((name) => !same(get(old, name), get(now, name)));
