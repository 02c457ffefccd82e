// Changes that are made in a form, as edits of the file: lines are added where they belong, and everything else, comments
// too, stays as it is.

// A block begins with its name at some indentation and ends before the next line that is not further in.
interface Block {
  // The line of its name, counted from 0.
  head: number;
  // The line after its last one.
  end: number;
  // The indentation of its children.
  indent: string;
}

const depth = (line: string) => line.length - line.trimStart().length;
const isNothing = (line: string) => !line.trim() || line.trimStart().startsWith("#");

function blockAt(lines: string[], head: number): Block {
  const own = depth(lines[head]);
  let end = head + 1;
  for (let at = head + 1; at < lines.length; at++) {
    if (isNothing(lines[at])) continue;
    if (depth(lines[at]) <= own) break;
    end = at + 1;
  }
  const first = lines.slice(head + 1, end).find((line) => !isNothing(line));
  return { head, end, indent: " ".repeat(first ? depth(first) : own + 2) };
}

function find(lines: string[], name: string, inside?: Block): Block | undefined {
  const quoted = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const wanted = new RegExp(`^${inside?.indent ?? ""}["']?${quoted}["']?\\s*:`);
  for (let at = inside ? inside.head + 1 : 0; at < (inside?.end ?? lines.length); at++) if (wanted.test(lines[at])) return blockAt(lines, at);
  return undefined;
}

// The block of this name at the top of the file, made at its end if there is none.
function section(lines: string[], name: string): Block {
  const found = find(lines, name);
  if (found) return found;
  while (lines.length && !lines.at(-1)!.trim()) lines.pop();
  lines.push("", `${name}:`);
  return { head: lines.length - 1, end: lines.length, indent: "  " };
}

function added(text: string, act: (lines: string[]) => void): string {
  const lines = text.split("\n");
  act(lines);
  return `${lines.join("\n").trimEnd()}\n`;
}

const put = (lines: string[], block: Block, children: string[]) => lines.splice(block.end, 0, ...children.map((one) => (one ? block.indent + one : one)));

// Texts that YAML would take for something else are quoted.
export const scalar = (text: string): string => (/^[A-Za-z_][\w .-]*$/.test(text) && !/^(true|false|null|yes|no|on|off)$/i.test(text) ? text : JSON.stringify(text));

export interface NewEntity {
  name: string;
  description: string;
  key: [string, string][];
  count: string;
  size: string;
}
export const addEntity = (text: string, one: NewEntity): string =>
  added(text, (lines) =>
    put(lines, section(lines, "entities"), [
      `${one.name}:`,
      ...(one.description ? [`  description: ${scalar(one.description)}`] : []),
      `  key: { ${one.key.filter(([, template]) => template).map(([name, template]) => `${name}: ${scalar(template)}`).join(", ")} }`,
      `  count: ${one.count}`,
      `  size: ${one.size}`,
    ]),
  );

export interface NewIndex {
  name: string;
  entity: string;
  // The entity's table, for files that have several.
  table: string;
  // Templates by key attribute: the partition key, then perhaps the sort key.
  key: [string, string][];
  // Which items are in it; all if it is empty.
  when: string;
  // What it holds. An index that another entity uses is declared already.
  project: "all" | "keys";
  isNew: boolean;
}
export const addIndex = (text: string, one: NewIndex): string =>
  added(text, (lines) => {
    const all = find(lines, "entities");
    const block = all && find(lines, one.entity, all);
    if (!block) throw new Error(`The file has no entity ${one.entity} of its own lines.`);
    const when = one.when ? [`when: ${scalar(one.when)}`] : [];
    const key = one.key.filter(([, template]) => template).map(([name, template]) => `${name}: ${scalar(template)}`);
    addLine(lines, block, "indexes", one.name, `{ ${[...when, ...key].join(", ")} }`);
    if (!one.isNew || one.project === "all") return;
    const tables = find(lines, "tables");
    const own = tables && find(lines, one.table, tables);
    if (own) return addLine(lines, own, "indexes", one.name, `{ project: ${one.project} }`);
    const declared = section(lines, "indexes");
    putInto(lines, declared, one.name, `{ project: ${one.project} }`);
  });

// A name and its value in a part of a block, which is made if it is not there.
function addLine(lines: string[], block: Block, part: string, name: string, value: string) {
  if (/:\s*\{/.test(lines[block.head])) throw new Error(`Line ${block.head + 1} has all of it on one line: add it there by hand.`);
  const found = find(lines, part, block);
  if (!found) return void put(lines, block, [`${part}:`, `  ${name}: ${value}`]);
  if (find(lines, name, found)) throw new Error(`${name} is there already.`);
  putInto(lines, found, name, value);
}

// { a: string } has its place before the brace.
function putInto(lines: string[], block: Block, name: string, value: string) {
  const flow = /^([^#]*?:\s*\{)(.*)\}(\s*(?:#.*)?)$/.exec(lines[block.head]);
  if (flow) lines[block.head] = `${flow[1]}${flow[2].trimEnd()}${flow[2].trim() ? ", " : " "}${name}: ${value} }${flow[3]}`;
  else put(lines, block, [`${name}: ${value}`]);
}

export function addAttribute(text: string, entity: string, name: string, type: string): string {
  return added(text, (lines) => {
    const all = find(lines, "entities");
    const block = all && find(lines, entity, all);
    if (!block) throw new Error(`The file has no entity ${entity} of its own lines.`);
    addLine(lines, block, "attributes", name, type);
  });
}

export interface NewPattern {
  id: string;
  description: string;
  verb: string;
  entity: string;
  by: string;
  order: string;
  returns: string;
  rate: string;
}
export const addPattern = (text: string, one: NewPattern): string =>
  added(text, (lines) =>
    put(lines, section(lines, "patterns"), [
      `${one.id}:`,
      ...(one.description ? [`  description: ${scalar(one.description)}`] : []),
      `  ${one.verb}: ${one.entity}`,
      ...(one.by ? [`  by: ${one.by.includes(",") ? `[${one.by}]` : one.by}`] : []),
      ...(one.order ? [`  order: ${one.order}`] : []),
      ...(one.returns ? [`  returns: ${one.returns}`] : []),
      ...(one.rate ? [`  rate: ${one.rate}`] : []),
    ]),
  );
