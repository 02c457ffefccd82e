// Items as JSON that people write, in both directions, without losing a digit.
//
// Numbers stay text on the way. What JSON has no word for is marked: {"$set": […]} and {"$binary": "base64"}; a map that
// looks like a mark is written as {"$map": {…}}. Text in DynamoDB JSON is recognised by its types.

import { LosslessNumber, parse as parseJson, stringify } from "lossless-json";
import { type Attribute, type Item, TYPES, parse, type } from "./value";

export type Notation = "plain" | "dynamodb";
const MARKS = ["$set", "$binary", "$map"];

export const write = (item: Item, notation: Notation): string =>
  (notation === "plain" ? stringify(plainMap(item), null, 2) : JSON.stringify(item, null, 2)) ?? "";

const plainMap = (map: Item) => Object.fromEntries(Object.entries(map).map(([name, value]) => [name, plainly(value)]));

function plainly(value: Attribute): unknown {
  if ("N" in value) return new LosslessNumber(value.N);
  if ("B" in value) return { $binary: value.B };
  if ("NULL" in value) return null;
  if ("L" in value) return value.L.map(plainly);
  if ("M" in value) {
    const [only, ...more] = Object.keys(value.M);
    const map = plainMap(value.M);
    return !more.length && MARKS.includes(only) ? { $map: map } : map;
  }
  if ("SS" in value) return { $set: value.SS };
  if ("NS" in value) return { $set: value.NS.map((one) => new LosslessNumber(one)) };
  if ("BS" in value) return { $set: value.BS.map((one) => ({ $binary: one })) };
  return "S" in value ? value.S : value.BOOL;
}

// What a text says, numbers as they were written. Throws a sentence that names the line.
export function read(text: string): unknown {
  try {
    return parseJson(text, undefined, (digits) => new LosslessNumber(digits));
  } catch (error) {
    const { message } = error as Error;
    const at = Number(/at position (\d+)/.exec(message)?.[1] ?? text.length);
    throw new Error(`Line ${text.slice(0, at).split("\n").length}: ${message.replace(/ at position \d+/, "")}.`);
  }
}

const isMap = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof LosslessNumber);

// An item, in whichever of both notations it is written.
export function itemOf(value: unknown): Item {
  if (!isMap(value)) throw new Error("An item is written as { … }.");
  const [only, ...more] = Object.keys(value);
  if (!more.length && only === "Item" && isMap(value.Item)) return itemOf(value.Item);
  return isTyped(value) ? mapped(value, typedAttribute) : mapped(value, attribute);
}

const mapped = (map: Record<string, unknown>, one: (value: unknown, name: string) => Attribute): Item => Object.fromEntries(Object.entries(map).map(([name, value]) => [name, one(value, name)]));

// Whether every attribute says its type, as DynamoDB JSON does.
const isTyped = (value: Record<string, unknown>): boolean => {
  const all = Object.values(value);
  return all.length > 0 && all.every((one) => isMap(one) && Object.keys(one).length === 1 && TYPES.includes(Object.keys(one)[0] as never));
};

function typedAttribute(value: unknown, name: string): Attribute {
  const entry = isMap(value) && Object.entries(value).length === 1 && Object.entries(value)[0];
  const wrong = () => new Error(`${name} is not in DynamoDB JSON: a value is written as {"S": "…"}.`);
  if (!entry) throw wrong();
  const [kind, content] = entry;
  if (kind === "M" && isMap(content)) return { M: mapped(content, typedAttribute) };
  if (kind === "L" && Array.isArray(content)) return { L: content.map((one) => typedAttribute(one, name)) };
  if ((kind === "BOOL" || kind === "NULL") && typeof content === "boolean") return { [kind]: content } as Attribute;
  if (["SS", "NS", "BS"].includes(kind) && Array.isArray(content)) return { [kind]: content.map(String) } as Attribute;
  if (["S", "N", "B"].includes(kind) && (typeof content === "string" || content instanceof LosslessNumber)) return checked(kind as "S", String(content), name);
  throw wrong();
}

function attribute(value: unknown, name: string): Attribute {
  if (typeof value === "string") return { S: value };
  if (typeof value === "boolean") return { BOOL: value };
  if (value === null) return { NULL: true };
  if (value instanceof LosslessNumber) return checked("N", value.value, name);
  if (Array.isArray(value)) return { L: value.map((one) => attribute(one, name)) };
  if (!isMap(value)) throw new Error(`${name} has no value.`);
  const [mark, ...more] = Object.keys(value);
  if (!more.length && mark === "$binary" && typeof value.$binary === "string") return checked("B", value.$binary, name);
  if (!more.length && mark === "$map" && isMap(value.$map)) return { M: mapped(value.$map, attribute) };
  if (!more.length && mark === "$set" && Array.isArray(value.$set)) return setOf(value.$set, name);
  return { M: mapped(value, attribute) };
}

function setOf(members: unknown[], name: string): Attribute {
  const all = members.map((one) => attribute(one, name));
  const kind = all.length ? type(all[0]) : undefined;
  if ((kind !== "S" && kind !== "N" && kind !== "B") || all.some((one) => type(one) !== kind)) throw new Error(`${name} is no set: members are all texts, all numbers or all binaries, and there is at least one.`);
  return { [`${kind}S`]: all.map((one) => Object.values(one)[0]) } as unknown as Attribute;
}

function checked(kind: "S" | "N" | "B", text: string, name: string): Attribute {
  const made = parse(kind, text);
  if (typeof made === "string") throw new Error(`${name}: ${made}`);
  return made;
}
