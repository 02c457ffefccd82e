// Everything by a few letters: tables, indexes, patterns, keys, commands.

import { useMemo, useRef, useState } from "preact/hooks";
import { commanding, helping } from "./app";
import { files } from "./legend";
import { showModal } from "./parts";
import { go, href, place } from "./place";
import { type Feature, descriptions, indexesOf, keyNames, session, tableNames, theme, withheld } from "./session";

interface Command {
  name: string;
  kind?: string;
  run(): void;
}
const SHOWN_MAX = 60;

function commands(): Command[] {
  const tables = (tableNames.value ?? []).flatMap((name): Command[] => [
    { name, kind: "table", run: () => go(href(`table/${name}`)) },
    ...indexesOf(descriptions.value[name]).map((one) => ({ name: `${name} ${one.IndexName}`, kind: "index", run: () => go(href(`table/${name}`, { on: one.IndexName })) })),
    ...["structure", "heat", "capacity", "stream", "backups", "regions", "learn"].filter((tab) => !withheld(tab as Feature)).map((tab) => ({ name: `${name} ${tab}`, kind: "table", run: () => go(href(`table/${name}/${tab}`)) })),
  ]);
  const models = files.value.flatMap((file): Command[] => [
    { name: file.name, kind: "model", run: () => go(href(`model/${file.name}`)) },
    ...["patterns", "design", "heat", "cost", "migration"].map((tab) => ({ name: `${file.name} ${tab}`, kind: "model", run: () => go(href(`model/${file.name}/${tab}`)) })),
    ...(file.legend?.patterns ?? []).map((one) => ({ name: `${one.id} ${one.description ?? ""}`, kind: "pattern", run: () => go(href(`table/${one.tables[0]}`, { pattern: one.id })) })),
  ]);
  const here: Command[] = [];
  dispatchEvent(new CustomEvent("studio-commands", { detail: here }));
  return [
    ...here.map((one) => ({ ...one, kind: "here" })),
    ...tables,
    ...models,
    { name: "Overview", run: () => go(href("")) },
    { name: "Query", run: () => go(href("query")) },
    { name: "PartiQL", run: () => go(href("partiql")) },
    ...(withheld("metrics") ? [] : [{ name: "Metrics", run: () => go(href("metrics")) }]),
    ...(session.value?.hasConnections ? [{ name: "Connections", run: () => go(href("connections")) }] : []),
    { name: "Keys", run: () => (helping.value = true) },
    { name: "Light theme", run: () => (theme.value = "light") },
    { name: "Dark theme", run: () => (theme.value = "dark") },
    { name: "The system's theme", run: () => (theme.value = "system") },
  ];
}

// The letters in their order, the closer together the better.
function score(name: string, typed: string): number {
  if (!typed) return 1;
  const [text, letters] = [name.toLowerCase(), typed.toLowerCase()];
  const whole = text.indexOf(letters);
  if (whole >= 0) return 1000 - whole;
  let at = -1;
  let gaps = 0;
  for (const letter of letters) {
    const next = text.indexOf(letter, at + 1);
    if (next < 0) return 0;
    gaps += next - at - 1;
    at = next;
  }
  return Math.max(1, 500 - gaps);
}

export function CommandBar() {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const all = useMemo(commands, []);
  const table = place.value.parts[0] === "table" ? place.value.parts[1] : undefined;
  const key = table && descriptions.value[table] && keyNames(descriptions.value[table].KeySchema)[0];
  // A key is listed after what has the same name, and before what only has the same letters.
  const asKey = table && typed ? [{ one: { name: `${key} = ${typed}`, kind: `key in ${table}`, run: () => go(href(`table/${table}`, { pk: typed })) }, score: 700 }] : [];
  const found = [...all.map((one) => ({ one, score: score(one.name, typed) })), ...asKey]
    .filter((one) => one.score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, SHOWN_MAX)
    .map(({ one }) => one);
  const close = () => (commanding.value = false);
  const run = (command: Command | undefined) => {
    if (!command) return;
    close();
    command.run();
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const next = (at + step + found.length) % Math.max(1, found.length);
      setAt(next);
      list.current?.children[next]?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") event.preventDefault(), run(found[at]);
  };
  return (
    <dialog class="command" aria-label="Commands" ref={showModal} onClose={close} onClick={(event) => event.target === event.currentTarget && close()}>
      <input
        role="combobox"
        aria-label="Find a table, key, pattern or command"
        aria-expanded="true"
        aria-controls="commands"
        aria-activedescendant={found[at] ? `command-${at}` : undefined}
        placeholder="Find a table, key, pattern or command"
        value={typed}
        onInput={(event) => (setTyped(event.currentTarget.value), setAt(0))}
        onKeyDown={onKey}
      />
      <ul id="commands" role="listbox" aria-label="Found" ref={list}>
        {found.map((one, index) => (
          <li key={index} id={`command-${index}`} role="option" aria-selected={index === at} onClick={() => run(one)}>
            {one.name}
            <span class="muted">{one.kind}</span>
          </li>
        ))}
      </ul>
    </dialog>
  );
}
