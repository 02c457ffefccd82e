// Requests that were run here, and those that were saved under a name. Both are kept in this browser only, for the
// database that they were sent to.

import { signal } from "@preact/signals";
import { keptAs, store } from "./kept";

export interface Past {
  at: string;
  operation: string;
  input: any;
  units: number | null;
}
export interface Saved extends Past {
  name: string;
}

const HISTORY_MAX = 300;
// A request with large items is not worth its place.
const INPUT_MAX = 20_000;

function kept<T>(key: string) {
  const list = signal<T[]>([]);
  try {
    list.value = JSON.parse(store.getItem(key) ?? "[]");
  } catch {
    // What can't be read is as if it was not there.
  }
  list.subscribe((all) => {
    try {
      store.setItem(key, JSON.stringify(all));
    } catch {
      // A full store forgets; the page goes on.
    }
  });
  return list;
}

export const history = kept<Past>(keptAs("lodestone-history"));
export const saved = kept<Saved>(keptAs("lodestone-saved"));

export function record({ operation, input, units }: Omit<Past, "at">) {
  const text = JSON.stringify(input);
  if (text.length > INPUT_MAX) return;
  const others = history.peek().filter((one) => one.operation !== operation || JSON.stringify(one.input) !== text);
  history.value = [{ at: new Date().toISOString(), operation, input, units }, ...others].slice(0, HISTORY_MAX);
}

export const saveAs = (name: string, past: Omit<Saved, "name" | "at">) =>
  (saved.value = [{ ...past, name, at: new Date().toISOString() }, ...saved.peek().filter((one) => one.name !== name)]);

export const forget = (name: string) => (saved.value = saved.peek().filter((one) => one.name !== name));

// Every word is somewhere in the request or its name.
export const found = <T extends Past>(all: T[], words: string): T[] => {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return all.filter((one) => {
    const text = `${"name" in one ? one.name : ""} ${one.operation} ${JSON.stringify(one.input)}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
};
