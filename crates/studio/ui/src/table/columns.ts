// Which columns of a table are shown, in which order, how wide. Kept for each table in this browser.

import { type Signal, signal } from "@preact/signals";
import { type Item, get, text } from "../value";

export interface Column {
  name: string;
  width: number;
  right?: boolean;
}
export interface Layout {
  // None until the user has chosen: then everything that was seen, in the order that reads best.
  shown: string[] | null;
  widths: Record<string, number>;
}

const SHOWN_MAX = 40;
export const WIDTH_MIN = 48;
export const WIDTH_MAX = 900;

export function layoutOf(table: string): Signal<Layout> {
  const key = `lodestone-columns ${table}`;
  const layout = signal<Layout>({ shown: null, widths: {} });
  try {
    layout.value = { ...layout.value, ...JSON.parse(localStorage.getItem(key) ?? "{}") };
  } catch {
    // What can't be read is as if it was not there.
  }
  layout.subscribe((value) => {
    try {
      localStorage.setItem(key, JSON.stringify(value));
    } catch {
      // A full store forgets; the page goes on.
    }
  });
  return layout;
}

export const shownNames = (layout: Layout, seen: string[]): string[] => layout.shown ?? seen.slice(0, SHOWN_MAX);

// An attribute may be called `constructor`.
const chosen = (layout: Layout, name: string): number | undefined => (Object.hasOwn(layout.widths, name) ? layout.widths[name] : undefined);

// Numbers are aligned to the right. A column is as wide as its longest value, within reason.
export function columnsFor(names: string[], items: Item[], layout: Layout): Column[] {
  return names.map((name) => {
    let [longest, numbers, seen] = [name.length + 2, 0, 0];
    for (const item of items.slice(0, 120)) {
      const value = get(item, name);
      if (!value) continue;
      seen++;
      if ("N" in value) numbers++;
      const shown = text(value, 30);
      const capitals = shown.replace(/[^A-Z]/g, "").length;
      longest = Math.max(longest, shown.length + 0.3 * capitals);
    }
    const width = chosen(layout, name) ?? Math.min(210, Math.max(60, Math.round(longest * 7) + 8));
    return { name, width, right: seen > 0 && numbers === seen };
  });
}

// Room for the longest key that is shown, within reason.
export function keyWidth(items: Item[], name: string, layout: Layout): number {
  const longest = items.slice(0, 200).reduce((most, item) => Math.max(most, text(get(item, name), 60).length), 12);
  return chosen(layout, name) ?? Math.min(310, Math.round(longest * 7.3) + 8);
}
