// Names and values that the schema of model files allows at the cursor.

import type { CompletionContext, CompletionResult } from "@codemirror/autocomplete";

type Schema = any;

export function completions(schema: Schema) {
  return (context: CompletionContext): CompletionResult | null => {
    const word = context.matchBefore(/[\w-]*/);
    if (!word || (word.from === word.to && !context.explicit)) return null;
    const { state, pos } = context;
    const line = state.doc.lineAt(pos);
    const before = line.text.slice(0, pos - line.from);
    const named = /^(\s*(?:- )?)([\w-]+):\s+[\w-]*$/.exec(before);
    const path = keysAbove(state.doc.sliceString(0, line.from), /^\s*/.exec(before)![0].length);
    const nodes = named ? at(schema, [...path, named[2]]) : at(schema, path);
    if (!named && !/^\s*(?:- )?[\w-]*$/.test(before)) return null;
    const options = nodes.flatMap((node) => (named ? values(node) : properties(node)));
    return options.length ? { from: word.from, options } : null;
  };

  // Every schema that can hold at a path: alternatives and patterns give several.
  function at(node: Schema, path: string[]): Schema[] {
    const [key, ...rest] = path;
    const whole = alternatives(node);
    if (key === undefined) return whole;
    return whole.flatMap((one) => {
      const named = one.properties?.[key];
      const matched = Object.entries(one.patternProperties ?? {}).filter(([pattern]) => new RegExp(pattern).test(key)).map(([, value]) => value);
      const other = typeof one.additionalProperties === "object" ? [one.additionalProperties] : [];
      return (named ? [named] : matched.length ? matched : other).flatMap((next) => at(next, rest));
    });
  }

  function alternatives(node: Schema, depth = 0): Schema[] {
    if (!node || typeof node !== "object" || depth > 8) return [];
    if (node.$ref) return alternatives(node.$ref.replace(/^#\//, "").split("/").reduce((found: any, part: string) => found?.[part], schema), depth + 1);
    const nested = [...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(node.allOf ?? [])].flatMap((one) => alternatives(one, depth + 1));
    return [node, ...nested, ...(node.items ? alternatives(node.items, depth + 1) : [])];
  }

  function properties(node: Schema) {
    return Object.entries(node.properties ?? {}).map(([label, value]: [string, any]) => ({ label, apply: `${label}: `, type: "property", info: value?.description }));
  }

  function values(node: Schema) {
    const listed = node.enum ?? (node.const !== undefined ? [node.const] : []);
    return [...listed, ...(node.type === "boolean" ? [true, false] : [])].map((value) => ({ label: String(value), type: "enum" }));
  }
}

// The keys that the line is indented under, outermost first.
export function keysAbove(text: string, indent: number): string[] {
  const path: string[] = [];
  let least = indent;
  for (const line of text.split("\n").reverse()) {
    const found = /^(\s*)(?:- )?"?([\w.-]+)"?:/.exec(line);
    if (!found || found[1].length >= least || /^\s*#/.test(line)) continue;
    path.unshift(found[2]);
    least = found[1].length;
    if (least === 0) break;
  }
  return path;
}
