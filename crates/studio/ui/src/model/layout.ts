// Where everything of a model's picture is. The layout is computed and never dragged: the same file gives the same picture.
//
// A table, and each of its indexes, is a lane. In it the items that share a form of partition key are a collection: the
// partition at the left, its kinds of items in order at the right. Patterns are at the left of what they read or write.

import type { Entity, Legend, Pattern } from "../legend";
import type { Finding } from "./state";

export interface ItemBox {
  entity: Entity;
  // Its colour, and a letter that no other entity has.
  at: number;
  letter: string;
  template: string;
  // What else is known of it: how many items, how large.
  fact: string;
  when: string | null;
  y: number;
  // The patterns that write it.
  writers: string[];
  findings: { finding: Finding; y: number }[];
}
export interface Collection {
  template: string;
  y: number;
  height: number;
  items: ItemBox[];
  patterns: { pattern: Pattern; y: number; finding: Finding | undefined }[];
}
export interface Lane {
  table: string;
  index: string | null;
  title: string;
  keys: string;
  fact: string;
  y: number;
  height: number;
  collections: Collection[];
}
export interface Picture {
  lanes: Lane[];
  size: Size;
  height: number;
  // Patterns that reach no lane: they can't be served yet.
  unplaced: { pattern: Pattern; y: number; finding: Finding | undefined }[];
}

const SIZE = { width: 820, lane: 96, partition: 210, items: 326, chip: 74, row: 32 };
export type Size = typeof SIZE;
// Patterns may have words for names: their boxes are wider, up to a bound.
const NAME_MAX = 16;
export const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
export const shownName = (pattern: Pattern): string => cut(pattern.id, NAME_MAX);
const HINT: Record<string, string> = { GetItem: "get", Query: "query", Scan: "scan", PutItem: "put", UpdateItem: "update", DeleteItem: "delete", TransactWriteItems: "write", TransactGetItems: "get all", BatchGetItem: "get all", BatchWriteItem: "write" };

// Beside a pattern's name: how it is read or written, in a word.
export function hintOf(pattern: Pattern): string {
  const order = pattern.read?.order[0];
  if (pattern.requests > 1 && pattern.reads) return `× ${pattern.requests}`;
  if (pattern.read?.limit) return `${pattern.read.limit}${order ? (order.descending ? " ↓" : " ↑") : ""}`;
  return HINT[pattern.operation] ?? "";
}

function sizeFor(legend: Legend): Size {
  const chip = Math.max(SIZE.chip, ...legend.patterns.map((one) => Math.ceil(26 + 7.4 * shownName(one).length + 5.8 * hintOf(one).length)));
  const wider = chip - SIZE.chip;
  return { ...SIZE, chip, lane: SIZE.lane + wider, items: SIZE.items + wider, width: SIZE.width + wider };
}

const [GAP, ROW, NOTE, HEAD, SPACE] = [10, 42, 32, 34, 14];

const short = (value: number): string => (value >= 1e9 ? `${+(value / 1e9).toPrecision(3)} G` : value >= 1e6 ? `${+(value / 1e6).toPrecision(3)} M` : value >= 1e3 ? `${+(value / 1e3).toPrecision(3)} K` : String(+value.toPrecision(3)));
const size = (bytes: number): string => (bytes >= 1024 ? `${+(bytes / 1024).toPrecision(3)} KB` : `${bytes} B`);

export function layout(legend: Legend, findings: Finding[]): Picture {
  const open = findings.filter((one) => !one.allowed);
  const ofEntity = (entity: Entity) => open.filter((one) => nearest(legend, one.at.line) === entity);
  const ofPattern = (pattern: Pattern) => open.find((one) => nearest(legend, one.at.line) === pattern);
  const letters = new Map<Entity, string>();
  for (const entity of legend.entities) {
    const all = [...entity.name.toUpperCase().replace(/[^A-Z0-9]/g, "")];
    letters.set(entity, all.find((one) => ![...letters.values()].includes(one)) ?? all[0] ?? "?");
  }
  const placed = new Set<string>();
  const lanes: Lane[] = [];
  let y = 12;
  for (const table of legend.tables)
    for (const index of [null, ...table.indexes]) {
      const lane: Lane = {
        table: table.name, index: index?.name ?? null, title: index ? index.name : table.name, keys: (index?.key ?? table.key ?? []).join(" · "),
        fact: index ? (index.projection === "all" ? "projects everything" : index.projection === "keys" ? "keys only" : `projects ${index.projection.join(", ")}`) : "",
        y, height: 0, collections: [],
      };
      const entities = legend.entities.filter((one) => one.table === table.name);
      const groups = new Map<string, ItemBox[]>();
      for (const entity of entities) {
        const entries = index ? entity.indexes.filter((one) => one.index === index.name) : entity.key.length ? [{ index: "", when: null, key: entity.key }] : [];
        for (const entry of entries) {
          // A local index shares the partition of its table.
          const key = entry.key.map((one) => one.template);
          const group = groups.get(key[0]) ?? [];
          const facts = [entity.items ? `× ${short(entity.items)}` : "", !index && entity.bytes ? size(entity.bytes) : ""].filter(Boolean).join(" · ");
          const writers = legend.patterns.filter((one) => !one.reads && one.entities.includes(entity.name)).map((one) => one.id);
          group.push({ entity, at: legend.entities.indexOf(entity) % 8, letter: letters.get(entity)!, template: key[1] ?? "one item", fact: facts, when: entry.when, y: 0, writers, findings: index ? [] : ofEntity(entity).map((finding) => ({ finding, y: 0 })) });
          groups.set(key[0], group);
        }
      }
      let inner = y + HEAD;
      for (const [template, items] of groups) {
        const names = items.map((one) => one.entity.name);
        const belongs = (pattern: Pattern) => !placed.has(pattern.id) && pattern.tables.includes(table.name) && (pattern.reads ? pattern.index : null) === (index?.name ?? null) && pattern.entities.some((one) => names.includes(one));
        const patterns = legend.patterns.filter(belongs).map((pattern) => ({ pattern, y: 0, finding: ofPattern(pattern) }));
        patterns.forEach((one) => placed.add(one.pattern.id));
        items.sort((one, other) => (one.template < other.template ? -1 : one.template > other.template ? 1 : 0));
        const collection: Collection = { template, y: inner, height: 0, items, patterns };
        let row = inner;
        for (const item of items) {
          item.y = row;
          row += ROW;
          for (const note of item.findings) [note.y, row] = [row, row + NOTE];
        }
        patterns.forEach((one, at) => (one.y = inner + at * ROW));
        collection.height = Math.max(row - inner, patterns.length * ROW, 2 * SIZE.row) - GAP;
        lane.collections.push(collection);
        inner += collection.height + SPACE;
      }
      if (groups.size === 0) inner += 26;
      lane.height = inner - y;
      lanes.push(lane);
      y += lane.height + SPACE;
    }
  const unplaced = legend.patterns.filter((one) => !placed.has(one.id)).map((pattern, at) => ({ pattern, y: y + 22 + at * ROW, finding: ofPattern(pattern) }));
  return { lanes, unplaced, size: sizeFor(legend), height: y + (unplaced.length ? 26 + unplaced.length * ROW : 0) };
}

// The entity or pattern that a line of the file belongs to: the last one that begins before it.
export function nearest(legend: Legend, line: number): Entity | Pattern | undefined {
  const all: (Entity | Pattern)[] = [...legend.entities, ...legend.patterns];
  return all.filter((one) => one.line <= line).sort((one, other) => other.line - one.line)[0];
}

export const shortSize = size;
