// Attribute values as they are on the wire. Numbers stay text, all 38 digits of them.

export type Attribute =
  | { S: string }
  | { N: string }
  | { B: string }
  | { BOOL: boolean }
  | { NULL: boolean }
  | { SS: string[] }
  | { NS: string[] }
  | { BS: string[] }
  | { L: Attribute[] }
  | { M: Item };

export type Item = Record<string, Attribute>;

export const TYPES = ["S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"] as const;
export type Type = (typeof TYPES)[number];

export const TYPE_NAMES: Record<Type, string> = {
  S: "text",
  N: "number",
  B: "binary",
  BOOL: "true or false",
  NULL: "null",
  SS: "set of texts",
  NS: "set of numbers",
  BS: "set of binaries",
  L: "list",
  M: "map",
};

export const type = (value: Attribute): Type => Object.keys(value)[0] as Type;
const inner = (value: Attribute): any => Object.values(value)[0];

// An attribute may be called `__proto__`: entries are copied, never assigned.
export const get = (item: Item | null | undefined, name: string): Attribute | undefined =>
  item && Object.hasOwn(item, name) ? item[name] : undefined;
// A changed attribute keeps its place, a new one comes last.
export function having(item: Item, name: string, value: Attribute | undefined): Item {
  const entries = Object.entries(item).flatMap(([one, was]): [string, Attribute][] => (one !== name ? [[one, was]] : value ? [[one, value]] : []));
  return Object.fromEntries(value && !Object.hasOwn(item, name) ? [...entries, [name, value]] : entries);
}
export const only = (item: Item, names: string[]): Item =>
  Object.fromEntries(names.flatMap((name) => (Object.hasOwn(item, name) ? [[name, item[name]]] : [])));

export const same = (one: Attribute | undefined, other: Attribute | undefined): boolean =>
  JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));

// Maps and sets have no order of their own.
function sorted(value: any): any {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).map(([name, one]): [string, any] => [
    name,
    ["SS", "NS", "BS"].includes(name) && Array.isArray(one) ? [...one].sort() : sorted(one),
  ]);
  return entries.sort(([one], [other]) => (one < other ? -1 : 1));
}

// --- values inside of values

// The name of an attribute, then names in maps and positions in lists and sets.
export type Step = string | number;

const MEMBER_TYPES: Partial<Record<Type, Type>> = { SS: "S", NS: "N", BS: "B" };

// What a map, a list or a set holds; none for a scalar.
export function entriesOf(value: Attribute): [Step, Attribute][] | null {
  if ("M" in value) return Object.entries(value.M);
  if ("L" in value) return value.L.map((one, at) => [at, one]);
  const member = MEMBER_TYPES[type(value)];
  return member ? (inner(value) as string[]).map((one, at) => [at, { [member]: one } as Attribute]) : null;
}

export const isScalar = (value: Attribute): boolean => entriesOf(value) === null;

export function reach(item: Item | null | undefined, path: Step[]): Attribute | undefined {
  const [name, ...rest] = path;
  return rest.reduce<Attribute | undefined>((value, step) => value && entriesOf(value)?.find(([one]) => one === step)?.[1], get(item, String(name)));
}

// The item with another value at the end of a path; none removes it.
export function placed(item: Item, path: Step[], value: Attribute | undefined): Item {
  const [name, ...rest] = path as [string, ...Step[]];
  const was = get(item, name);
  return having(item, name, rest.length && was ? within(was, rest, value) : value);
}

function within(whole: Attribute, [step, ...rest]: Step[], value: Attribute | undefined): Attribute {
  if ("M" in whole) return { M: placed(whole.M, [step, ...rest], value) };
  const kind = type(whole);
  const all = entriesOf(whole)!.map(([, one]) => one);
  const at = step as number;
  const next = rest.length ? within(all[at], rest, value) : value;
  const now = next ? [...all.slice(0, at), next, ...all.slice(at + 1)] : all.filter((_, other) => other !== at);
  return kind === "L" ? { L: now } : ({ [kind]: now.map((one) => String(inner(one))) } as Attribute);
}

// A value of another type that keeps what can be kept.
export function coerce(value: Attribute | undefined, to: Type): Attribute {
  const scalar = value && isScalar(value) && !("NULL" in value) ? String(inner(value)) : "";
  switch (to) {
    case "S":
      return { S: scalar };
    case "N":
    case "B": {
      const made = parse(to, scalar);
      return typeof made === "string" ? ({ [to]: to === "N" ? "0" : "" } as Attribute) : made;
    }
    case "BOOL":
      return { BOOL: scalar === "true" };
    case "NULL":
      return { NULL: true };
    case "M":
      return { M: {} };
    case "L":
      return { L: value && type(value) !== "M" ? (entriesOf(value)?.map(([, one]) => one) ?? (scalar ? [value] : [])) : [] };
    default: {
      const members = value ? (entriesOf(value)?.map(([, one]) => one) ?? [value]) : [];
      const kept = members.filter((one) => type(one) === MEMBER_TYPES[to]).map((one) => String(inner(one)));
      return { [to]: kept.length ? [...new Set(kept)] : [to === "NS" ? "0" : to === "BS" ? "AA==" : "…"] } as Attribute;
    }
  }
}

// The type that an attribute mostly has in these items. A set is asked for by its members.
export function typeSeen(items: Iterable<Item>, path: Step[]): Type | undefined {
  const seen = new Map<Type, number>();
  for (const item of items) {
    const value = reach(item, path);
    if (!value) continue;
    const kind = MEMBER_TYPES[type(value)] ?? type(value);
    seen.set(kind, (seen.get(kind) ?? 0) + 1);
  }
  return [...seen].sort(([, one], [, other]) => other - one)[0]?.[0];
}

// A value in one line, cut at a length that can be read at a glance.
export function text(value: Attribute | undefined, most = 160): string {
  if (!value) return "";
  const [kind, content] = Object.entries(value)[0] as [Type, any];
  switch (kind) {
    case "S":
      return visible(content.length > most ? `${content.slice(0, most)}…` : content);
    case "N":
      return content;
    case "B":
      return `${bytes(content)} B`;
    case "BOOL":
      return content ? "true" : "false";
    case "NULL":
      return "null";
    case "SS":
    case "NS":
      return visible(cut(content.join(", "), most));
    case "BS":
      return `${content.length} binaries`;
    case "L":
      return content.length === 1 ? "1 entry" : `${content.length} entries`;
    case "M":
      return visible(cut(Object.keys(content).join(", "), most)) || "empty";
  }
}

const cut = (text: string, most: number) => (text.length > most ? `${text.slice(0, most)}…` : text);

// What can't be seen, or would turn the line round, is shown by its number.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
export const visible = (text: string): string =>
  text.replace(UNSEEN, (one) =>
    one === "\n" ? "↵" : one === "\t" ? "⇥" : `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

const encoder = new TextEncoder();
export const utf8 = (text: string): number => {
  // ASCII, mostly: counting is cheaper than encoding.
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 127) return encoder.encode(text).length;
  return text.length;
};
const bytes = (base64: string): number =>
  Math.floor((base64.length * 3) / 4) - (base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0);

// What DynamoDB counts for a value.
export function size(value: Attribute): number {
  const [kind, content] = Object.entries(value)[0] as [Type, any];
  const sum = (values: any[], of: (one: any) => number) => values.reduce((total, one) => total + of(one), 0);
  switch (kind) {
    case "S":
      return utf8(content);
    case "N":
      return number(content);
    case "B":
      return bytes(content);
    case "BOOL":
    case "NULL":
      return 1;
    case "SS":
      return sum(content, utf8);
    case "NS":
      return sum(content, number);
    case "BS":
      return sum(content, bytes);
    case "L":
      return 3 + sum(content, (one) => 1 + size(one));
    case "M":
      return 3 + sum(Object.entries(content), ([name, one]) => 1 + utf8(name) + size(one));
  }
}

// One byte, one for each two digits on either side of the point, one for a minus. Zeros at the ends are not counted.
function number(content: string): number {
  const found = /^(-?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(content);
  if (!found) return 0;
  const [, sign, whole, fraction, exponent] = found;
  const digits = whole + fraction;
  const leading = /^0*/.exec(digits)![0].length;
  const significant = digits.slice(leading).replace(/0+$/, "");
  if (significant === "") return 1;
  const point = whole.length - leading + Number(exponent ?? 0);
  const before = point >= significant.length ? significant.length : Math.max(0, point);
  return 1 + Math.ceil(before / 2) + Math.ceil((significant.length - before) / 2) + (sign ? 1 : 0);
}

export const itemSize = (item: Item): number =>
  Object.entries(item).reduce((total, [name, value]) => total + utf8(name) + size(value), 0);

// The order of keys: numbers by value, everything else by its text.
export function compare(one: Attribute | undefined, other: Attribute | undefined): number {
  if (!one || !other) return one ? 1 : other ? -1 : 0;
  if ("N" in one && "N" in other) return Number(one.N) - Number(other.N);
  const [left, right] = [text(one, 4000), text(other, 4000)];
  return left < right ? -1 : left > right ? 1 : 0;
}

// What was typed, as a value of the type; a sentence if it is none.
export function parse(kind: Type, typed: string): Attribute | string {
  const json = () => {
    try {
      return JSON.parse(typed);
    } catch {
      return undefined;
    }
  };
  switch (kind) {
    case "S":
      return { S: typed };
    case "N":
      return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(typed.trim()) ? { N: typed.trim() } : "This is no number.";
    case "B":
      return /^[A-Za-z0-9+/]*={0,2}$/.test(typed.trim()) && typed.trim().length % 4 === 0
        ? { B: typed.trim() }
        : "Binary is written in base64.";
    case "BOOL":
      return ["true", "false"].includes(typed.trim()) ? { BOOL: typed.trim() === "true" } : "Write true or false.";
    case "NULL":
      return { NULL: true };
    case "SS":
    case "NS":
    case "BS": {
      const members = json();
      const right = Array.isArray(members) && members.length > 0 && members.every((one) => typeof one === "string");
      return right ? ({ [kind]: members } as Attribute) : `A set is written as ["…", "…"], and never empty.`;
    }
    case "L": {
      const list = json();
      return Array.isArray(list) ? { L: list } : `A list is written in DynamoDB JSON: [{ "S": "…" }].`;
    }
    case "M": {
      const map = json();
      return map && typeof map === "object" && !Array.isArray(map)
        ? { M: map }
        : `A map is written in DynamoDB JSON: { "name": { "S": "…" } }.`;
    }
  }
}

// What an editor begins with.
export function typed(value: Attribute): string {
  const kind = type(value);
  if (kind === "S" || kind === "N" || kind === "B") return inner(value);
  if (kind === "BOOL" || kind === "NULL") return text(value);
  return JSON.stringify(inner(value), null, 2);
}

export const isLong = (value: Attribute): boolean =>
  ["SS", "NS", "BS", "L", "M"].includes(type(value)) || ("S" in value && (value.S.length > 60 || value.S.includes("\n")));

// An item without its types, as people write it.
export function plain(value: Attribute): unknown {
  const [kind, content] = Object.entries(value)[0] as [Type, any];
  switch (kind) {
    case "N":
      return Number.isSafeInteger(Number(content)) || String(Number(content)) === content ? Number(content) : content;
    case "NULL":
      return null;
    case "NS":
      return content.map((one: string) => plain({ N: one }));
    case "L":
      return content.map(plain);
    case "M":
      return Object.fromEntries(Object.entries(content as Item).map(([name, one]) => [name, plain(one)]));
    default:
      return content;
  }
}
