// A read by its parts, as the query bar has them and `request/build` takes them.

import type { Attribute, Step, Type } from "../value";

export interface Condition {
  operator: string;
  values: Attribute[];
}
export interface Filter extends Condition {
  path: Step[];
  // Chosen by the user, or seen in the items; kept while there is no value yet.
  type?: Type;
}
export interface Parts {
  index: string;
  partition: Attribute[];
  sort: Condition[];
  filters: Filter[];
  descending: boolean;
  consistent: boolean;
  limit: number | null;
}
export const noParts = (): Parts => ({ index: "", partition: [], sort: [], filters: [], descending: false, consistent: false, limit: null });

// How many values an operator takes.
export const valuesOf = (operator: string): number => (operator === "between" ? 2 : operator.endsWith("exists") ? 0 : 1);

// What can be asked already: parts that somebody is still writing are left out, and counted.
export function complete(parts: Parts): { parts: Parts; open: number } {
  const whole = (one: Condition) => one.values.filter(Boolean).length >= valuesOf(one.operator);
  const sort = parts.sort.filter(whole);
  const filters = parts.filters.filter((one) => whole(one) && one.path.length > 0);
  return { parts: { ...parts, sort, filters }, open: parts.sort.length - sort.length + parts.filters.length - filters.length };
}
