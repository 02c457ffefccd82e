// Which columns are shown, and in which order.

import { useEffect, useRef, useState } from "preact/hooks";
import { percent } from "../format";
import { type Type, get, typeSeen, visible } from "../value";
import { shownNames } from "./columns";
import type { TableState } from "./state";

export function ColumnChoice({ state, onClose }: { state: TableState; onClose(): void }) {
  const [words, setWords] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const dragged = useRef<string | null>(null);
  const items = state.items.value;
  const shown = shownNames(state.layout.value, state.columns.value);
  const others = state.seen.value.map((one) => one.name).filter((name) => !shown.includes(name));
  const all = [...shown, ...others].filter((name) => name.toLowerCase().includes(words.toLowerCase()));
  const set = (names: string[] | null) => (state.layout.value = { ...state.layout.value, shown: names });
  const toggle = (name: string) => set(shown.includes(name) ? shown.filter((one) => one !== name) : [...shown, name]);
  const moveTo = (name: string, at: number) => {
    const rest = shown.filter((one) => one !== name);
    set([...rest.slice(0, Math.max(0, at)), name, ...rest.slice(Math.max(0, at))]);
  };
  useEffect(() => {
    const outside = (event: PointerEvent) => !box.current?.parentElement?.contains(event.target as Node) && onClose();
    addEventListener("pointerdown", outside);
    box.current?.querySelector("input")?.focus();
    return () => removeEventListener("pointerdown", outside);
  }, []);
  const onKey = (event: KeyboardEvent, name: string) => {
    const by = event.altKey && { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!by || !shown.includes(name)) return;
    event.preventDefault();
    const label = (event.currentTarget as HTMLElement).dataset.name;
    moveTo(name, shown.indexOf(name) + by);
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-name="${CSS.escape(label!)}"] input`)?.focus());
  };
  return (
    <div class="pop" ref={box} role="dialog" aria-label="Columns" onKeyDown={(event) => event.key === "Escape" && (event.stopPropagation(), onClose())}>
      <h3>Columns <button type="button" class="bare right" onClick={() => (state.layout.value = { shown: null, widths: {} })}>As they were</button></h3>
      <input class="field" aria-label="Find an attribute" placeholder={`Find an attribute of ${shown.length + others.length}`} value={words} onInput={(event) => setWords(event.currentTarget.value)} />
      <ul>
        {all.slice(0, 200).map((name) => {
          const has = items.reduce((sum, item) => sum + Number(Boolean(get(item, name))), 0);
          return (
            <li
              key={name}
              data-name={name}
              draggable={shown.includes(name)}
              onDragStart={() => (dragged.current = name)}
              onDragOver={(event) => shown.includes(name) && event.preventDefault()}
              onDrop={() => dragged.current && moveTo(dragged.current, shown.indexOf(name))}
              onKeyDown={(event) => onKey(event, name)}
            >
              <span class="handle" aria-hidden="true">{shown.includes(name) ? "⠿" : ""}</span>
              <label><input type="checkbox" checked={shown.includes(name)} onChange={() => toggle(name)} /> <span class="mono">{visible(name)}</span> <span class="ty">{(typeSeen(items, [name]) as Type) ?? ""}</span></label>
              <span class="right muted num">{percent(has / Math.max(1, items.length))}</span>
            </li>
          );
        })}
      </ul>
      <p class="muted">Share of the items that were read. <kbd>Space</kbd> shows, <kbd>Alt ↑ ↓</kbd> moves. Kept for this table.</p>
    </div>
  );
}
