// What was changed and is not written yet, of every table. Drafts stay when another page is opened, and over a reload.

import { signal } from "@preact/signals";
import { keptAs, store } from "../kept";
import { say } from "../session";
import type { Item } from "../value";

export interface Change {
  old: Item | null;
  new: Item | null;
  // The model's name for a new item, whose keys follow from its templates.
  entity?: string;
}
// By what tells items apart: the key as it was read, or a name of its own for a new item.
export type Draft = ReadonlyMap<string, Change>;

const NONE: Draft = new Map();
// No name of a table has a slash.
const PREFIX = `${keptAs("lodestone-draft")}/`;
const all = signal<ReadonlyMap<string, Draft>>(remembered());

function remembered(): ReadonlyMap<string, Draft> {
  const found = new Map<string, Draft>();
  for (let at = 0; at < store.length; at++) {
    const key = store.key(at)!;
    const draft = key.startsWith(PREFIX) && read(store.getItem(key));
    if (draft) found.set(key.slice(PREFIX.length), draft);
  }
  return found;
}

function read(text: string | null): Draft | null {
  try {
    return text === null ? null : new Map(JSON.parse(text) as [string, Change][]);
  } catch {
    return null;
  }
}

export const draftOf = (table: string): Draft => all.value.get(table) ?? NONE;

export function keep(table: string, draft: Draft) {
  const next = new Map(all.peek());
  draft.size ? next.set(table, draft) : next.delete(table);
  all.value = next;
  try {
    if (draft.size) store.setItem(PREFIX + table, JSON.stringify([...draft]));
    else store.removeItem(PREFIX + table);
  } catch {
    say("These changes are too large to be kept over a reload: write them before you leave.");
  }
}

// Another tab of this browser has changed a draft, or written it.
addEventListener("storage", (event) => {
  if (event.key?.startsWith(PREFIX)) all.value = remembered();
});

export function freshId(draft: Draft): string {
  let number = 1;
  while (draft.has(`new ${number}`)) number++;
  return `new ${number}`;
}
