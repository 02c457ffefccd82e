// Items as rows: each under its partition.

import type { Kind, TableLegend } from "../legend";
import { type Attribute, type Item, itemSize, text } from "../value";
import type { Page } from "./walk";

export interface ItemRow {
  type: "item";
  id: string;
  item: Item;
  kind: Kind | undefined;
  size: number;
  page: number;
  // A new item, not written yet.
  fresh?: boolean;
}
export interface GroupRow {
  type: "group";
  id: string;
  label: string;
  values: Attribute[];
  items: number;
  bytes: number;
  kinds: Map<string, number>;
  open: boolean;
}
export type Row = ItemRow | GroupRow;

export const keyText = (item: Item, names: string[]): string => JSON.stringify(names.map((name) => item[name] ?? null));

export interface Grouping {
  // The primary key of the table: what tells items apart, in an index too.
  primary: string[];
  // What rows are grouped by.
  partition: string[];
  legend: TableLegend;
  closed: ReadonlySet<string>;
  facet: string | null;
  grouped: boolean;
}

export function rowsOf(pages: Page[], by: Grouping, fresh: { id: string; item: Item }[] = []): Row[] {
  const rows: Row[] = freshRows(fresh, by);
  let group: GroupRow | undefined;
  pages.forEach((page, at) => {
    for (const item of page.items) {
      const kind = by.legend.kind(item);
      if (by.facet && kind?.name !== by.facet) continue;
      const label = by.partition.map((name) => text(item[name], 400)).join(" · ");
      const groupId = `g${keyText(item, by.partition)}`;
      if (by.grouped && group?.id !== groupId) {
        const values = by.partition.map((name) => item[name]);
        group = { type: "group", id: groupId, label, values, items: 0, bytes: 0, kinds: new Map(), open: !by.closed.has(groupId) };
        rows.push(group);
      }
      const size = itemSize(item);
      if (group) {
        group.items++;
        group.bytes += size;
        const name = kind?.name ?? "item";
        group.kinds.set(name, (group.kinds.get(name) ?? 0) + 1);
      }
      if (!group || group.open) rows.push({ type: "item", id: keyText(item, by.primary), item, kind, size, page: at });
    }
  });
  return rows;
}

// New items come first: where they will be is known when they are written.
function freshRows(fresh: { id: string; item: Item }[], by: Grouping): Row[] {
  if (!fresh.length) return [];
  const rows = fresh.map(({ id, item }): ItemRow => ({ type: "item", id, item, kind: by.legend.kind(item), size: itemSize(item), page: 0, fresh: true }));
  if (!by.grouped) return rows;
  const bytes = rows.reduce((sum, row) => sum + row.size, 0);
  const head: GroupRow = { type: "group", id: "fresh", label: "New, not written yet", values: [], items: rows.length, bytes, kinds: new Map(), open: !by.closed.has("fresh") };
  return head.open ? [head, ...rows] : [head];
}

// Attributes by how many of the rows have them; keys have columns of their own.
export function columnsOf(pages: Page[], hidden: ReadonlySet<string>, legend: TableLegend): string[] {
  const seen = new Map<string, { weight: number; kinds: Set<unknown> }>();
  for (const page of pages)
    for (const item of page.items) {
      const kind = legend.kind(item);
      for (const name in item) {
        if (hidden.has(name) || !Object.hasOwn(item, name)) continue;
        const column = seen.get(name) ?? { weight: 0, kinds: new Set() };
        seen.set(name, column);
        column.weight += weight(item[name]);
        column.kinds.add(kind);
      }
    }
  // What several kinds of items have in common says more than what one of them has often.
  const worth = ({ weight, kinds }: { weight: number; kinds: Set<unknown> }) => weight * kinds.size;
  return [...seen].sort(([one, a], [other, b]) => worth(b) - worth(a) || (one < other ? -1 : 1)).map(([name]) => name);
}

// What reads well in a column comes first; fillers and documents last.
const weight = (value: Attribute): number =>
  "S" in value ? (value.S.length > 40 ? 0.1 : 1.2) : "N" in value || "BOOL" in value ? 1 : 0.05;
