// Models as the legend of tables: which entity an item is, which parts of its key are words and which are values.

import { computed, signal } from "@preact/signals";
import { post } from "./door";
import { type Item, text } from "./value";

export interface Part {
  text?: string;
  attribute?: string | null;
  whole?: boolean;
}
export interface Keyed {
  attribute: string;
  template: string;
  parts: Part[];
}
export interface Entity {
  name: string;
  line: number;
  // About how many items there are, and the bytes of one.
  items?: number | null;
  bytes?: number | null;
  table: string;
  description?: string;
  key: Keyed[];
  indexes: { index: string; when: string | null; key: Keyed[] }[];
  attributes: { name: string; type: string; stored: string; values: string[] }[];
}
export interface Pattern {
  id: string;
  line: number;
  description?: string;
  reads: boolean;
  elsewhere: string | null;
  operation: string;
  source: string;
  tables: string[];
  index: string | null;
  entities: string[];
  requests: number;
  units: { read: number; write: number };
  rate: number | null;
  gaps: string[];
  condition: { attribute: string; condition: string }[] | null;
  read: {
    values: { name: string; attribute: string; stored: string }[];
    order: { attribute: string; descending: boolean }[];
    limit: number | null;
    counts: boolean;
  } | null;
}
export interface Legend {
  model: string;
  description?: string;
  tables: { name: string; key: string[] | null; indexes: { name: string; key: string[]; projection: "all" | "keys" | string[] }[] }[];
  entities: Entity[];
  patterns: Pattern[];
}
export interface ModelFile {
  name: string;
  text: string;
  hash: string;
  legend: Legend | null;
  error?: string;
}

export const files = signal<ModelFile[]>([]);
export const filesLoaded = signal(false);

export async function loadFiles() {
  const { files: found } = await post("file", {});
  files.value = await Promise.all(
    found.map(async (file: any): Promise<ModelFile> => {
      const known = files.value.find((one) => one.name === file.name && one.hash === file.hash);
      if (known) return known;
      const legend = file.text === undefined ? null : await post("model/plan", { text: file.text }).catch(() => null);
      return { ...file, legend };
    }),
  );
  filesLoaded.value = true;
}

export const modelOf = (table: string): ModelFile | undefined =>
  files.value.find((file) => file.legend?.tables.some((one) => one.name === table));

// Letters tell entities apart where colours do not.
export interface Kind {
  name: string;
  letter: string;
  colour: number;
  entity?: Entity;
}

export class TableLegend {
  readonly kinds: Kind[] = [];
  private readonly tests: { kind: Kind; literal: number; keys: [string, RegExp][] }[] = [];

  constructor(
    readonly table: string,
    readonly keys: string[],
    legend: Legend | null,
  ) {
    for (const entity of legend?.entities.filter((one) => one.table === table) ?? []) {
      const kind = { name: entity.name, letter: this.letter(entity.name), colour: this.kinds.length % 8, entity };
      this.kinds.push(kind);
      const literal = entity.key.flatMap((key) => key.parts).reduce((sum, part) => sum + (part.text?.length ?? 0), 0);
      this.tests.push({ kind, literal, keys: entity.key.map((key) => [key.attribute, pattern(key.parts)]) });
    }
    this.tests.sort((one, other) => other.literal - one.literal);
  }

  private letter(name: string): string {
    const free = [...name.toUpperCase().replace(/[^A-Z0-9]/g, "")].find((one) => !this.kinds.some((kind) => kind.letter === one));
    return free ?? name.slice(0, 1).toUpperCase();
  }

  // By the model's templates, else by the words that keys begin with.
  kind(item: Item): Kind | undefined {
    for (const { kind, keys } of this.tests)
      if (keys.every(([name, test]) => item[name] !== undefined && test.test(text(item[name], 2048)))) return kind;
    if (this.tests.length) return undefined;
    const word = this.word(item);
    if (!word) return undefined;
    const known = this.kinds.find((kind) => kind.name === word);
    if (known || this.kinds.length >= 12) return known;
    const made = { name: word, letter: this.letter(word), colour: this.kinds.length % 8 };
    this.kinds.push(made);
    return made;
  }

  private word(item: Item): string | undefined {
    const words = this.keys.map((name) => /^([A-Za-z][\w-]{0,30}?)(?:[#|:/]|$)/.exec(text(item[name], 64))?.[1]);
    const upper = (word?: string) => word !== undefined && word === word.toUpperCase();
    return [...words].reverse().find(upper) ?? undefined;
  }

  // A key cut into words of its template and values.
  pieces(kind: Kind | undefined, attribute: string, value: string): { text: string; word: boolean }[] {
    const key = kind?.entity?.key.find((one) => one.attribute === attribute) ??
      kind?.entity?.indexes.flatMap((one) => one.key).find((one) => one.attribute === attribute);
    if (!key) return split(value);
    const found = pattern(key.parts, true).exec(value);
    if (!found || key.parts.length < 2) return key.parts.length < 2 ? [{ text: value, word: false }] : split(value);
    return key.parts.map((part, at) => ({ text: found[at + 1], word: part.text !== undefined })).filter((one) => one.text);
  }

  // What an item is called: the parts of its key that only it has.
  name(kind: Kind | undefined, item: Item): string {
    for (const key of [...this.keys].reverse()) {
      const parts = kind?.entity?.key.find((one) => one.attribute === key)?.parts;
      // A key that is the same for every item of the kind names none of them.
      if (parts?.every((part) => part.text !== undefined)) continue;
      const own = this.pieces(kind, key, text(item[key], 200)).filter((one) => !one.word);
      if (own.length) return own.at(-1)!.text;
    }
    return text(item[this.keys[0]], 200);
  }
}

const split = (value: string) =>
  value.split(/(#)/).flatMap((one, at, all) => (one ? [{ text: one, word: one === "#" || (all.length > 1 && at === 0 && /^[A-Z_]+$/.test(one)) }] : []));

function pattern(parts: Part[], capture = false): RegExp {
  const one = (part: Part) =>
    part.text !== undefined ? part.text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") : "[^]+?";
  return new RegExp(`^${parts.map((part) => (capture ? `(${one(part)})` : one(part))).join("")}$`);
}

export const tablesOfModels = computed(() => new Set(files.value.flatMap((file) => file.legend?.tables.map((one) => one.name) ?? [])));
