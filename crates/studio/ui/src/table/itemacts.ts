// What is done with rows: select, delete, begin a new one, save. By mouse, by keys, from the command bar.

import { useEffect } from "preact/hooks";
import { plural } from "../format";
import { indexesOf, letters, say, session } from "../session";
import type { Item } from "../value";
import { begin } from "./drawer";
import { showInTable } from "./readbar";
import { type ItemRow, type Row, keyText } from "./rows";
import type { TableState } from "./state";
import { type Format, saveItems } from "./transfer";

export type Moving = "import" | "export" | null;

export const itemRows = (state: TableState) => state.rows.value.filter((row): row is ItemRow => row.type === "item");
export const markedRows = (state: TableState) => (state.marked.value.size ? itemRows(state).filter((row) => state.marked.value.has(row.id)) : []);

// The marked rows, else the one that has the cursor, else the chosen item.
export function rowsHere(state: TableState): { id: string; item: Item; fresh?: boolean }[] {
  const marked = markedRows(state);
  if (marked.length) return marked;
  const row = state.rows.value[state.cursor.value];
  if (row?.type === "item") return [row];
  const item = state.chosen.value;
  return item ? [{ id: keyText(item, state.primary.value), item }] : [];
}

export function removeHere(state: TableState) {
  const why = state.whyNot("DeleteItem");
  if (why) return say(why);
  state.remove(rowsHere(state));
  say(`${plural(state.tray.value.size, "change")} to be written.`);
}

export function newItem(state: TableState) {
  const kinds = state.legend.value.kinds.filter((kind) => kind.entity);
  const kind = kinds.find((one) => one.name === state.facet.value) ?? kinds[0];
  state.add(kind?.entity ? begin(kind.entity) : {}, kind?.entity?.name);
}

export function duplicate(state: TableState, item: Item) {
  const kind = state.legend.value.kind(item);
  state.add(item, kind?.entity?.name);
}

export const saveMarked = (state: TableState, format: Format) => saveItems(state.name, markedRows(state).map((row) => row.item), format, state.primary.value);

// --- selecting

let lastMarked: string | null = null;
export function mark(state: TableState, row: ItemRow, how: "toggle" | "range" | "drag") {
  const marked = new Set(state.marked.value);
  if (how === "drag") marked.add(row.id);
  else if (how === "range") {
    const rows = itemRows(state);
    const at = rows.findIndex((one) => one.id === row.id);
    const anchor = rows.findIndex((one) => one.id === (lastMarked ?? state.subject.value?.id));
    const from = anchor < 0 ? at : anchor;
    for (const one of rows.slice(Math.min(from, at), Math.max(from, at) + 1)) marked.add(one.id);
  } else marked.has(row.id) ? marked.delete(row.id) : marked.add(row.id);
  if (how === "toggle") lastMarked = row.id;
  state.marked.value = marked;
  say(`${plural(marked.size, "item")} selected.`);
}

export function markAll(state: TableState) {
  const rows = itemRows(state);
  const isAll = rows.length > 0 && rows.every((row) => state.marked.value.has(row.id));
  state.marked.value = new Set(isAll ? [] : rows.map((row) => row.id));
  say(`${plural(state.marked.value.size, "item")} selected, of those that were read.`);
}

// --- keys

export const focusGrid = (id: string) => document.querySelector<HTMLElement>(`#${CSS.escape(id)} .scroll`)?.focus();

export function onRowKey(event: KeyboardEvent, row: Row | undefined, state: TableState) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const item = row?.type === "item" ? row : null;
  const act: Record<string, () => void> = {
    " ": () => item && mark(state, item, "toggle"),
    Delete: () => removeHere(state),
    n: () => !state.whyNot("PutItem") && newItem(state),
    e: () => item && void state.choose(item, true).then(() => setTimeout(() => dispatchEvent(new Event("studio-edit")), 30)),
    l: () => item && void state.choose(item).then(() => (state.isResult.value ? showInTable(state) : focusGrid(`pane-${state.panes.value[0]?.index.IndexName}`))),
  };
  if (!act[event.key] || (event.key.length === 1 && event.key !== " " && !letters.value)) return;
  event.preventDefault();
  event.stopPropagation();
  act[event.key]();
}

export function useKeys(state: TableState, onMove: (what: Moving) => void) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      const typing = /INPUT|TEXTAREA|SELECT/.test(target.tagName) || target.isContentEditable;
      const control = event.ctrlKey || event.metaKey;
      if (control && event.key === "Enter") return event.preventDefault(), void (state.pattern.value ? state.runPattern() : state.run());
      if (typing || control || event.altKey || document.querySelector("dialog[open]")) return;
      if (event.key === "Escape") {
        if (state.marked.value.size) return void (state.marked.value = new Set());
        if (state.drawer.value) return void (state.drawer.value = false), focusGrid("base");
        state.chosen.value = null;
      }
      if (!letters.value) return;
      if (event.key === "/") return event.preventDefault(), document.querySelector<HTMLElement>(".query input, .query select")?.focus();
      if (event.key === "\\") {
        const [index] = indexesOf(state.description.value ?? undefined);
        return event.preventDefault(), void (index ? state.togglePane(index) : (state.drawer.value = !state.drawer.value));
      }
      if (event.key === "[" || event.key === "]") movePane(event.key === "]" ? 1 : -1);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [state]);
  useEffect(() => {
    const commands = (event: Event) => ((event as CustomEvent).detail as { name: string; run(): void }[]).push(...tableCommands(state, onMove));
    addEventListener("studio-commands", commands);
    return () => removeEventListener("studio-commands", commands);
  }, [state]);
}

function movePane(step: number) {
  const grids = [...document.querySelectorAll<HTMLElement>(".work .scroll")];
  const at = grids.indexOf(document.activeElement as HTMLElement);
  grids[(at + step + grids.length) % grids.length]?.focus();
}

// --- what can be done with rows, from the command bar too

export function tableCommands(state: TableState, onMove: (what: Moving) => void) {
  const held = () => (markedRows(state).length ? markedRows(state).map((row) => row.item) : state.items.value);
  const writes = session.value?.readOnly
    ? []
    : [
        { name: "New item", run: () => newItem(state) },
        { name: "Import items", run: () => onMove("import") },
        { name: "Undo the last write", run: () => state.undo() },
        { name: "Delete the selected items", run: () => removeHere(state) },
      ];
  return [
    ...writes,
    { name: "Export what is held as JSON lines", run: () => saveItems(state.name, held(), "json", state.primary.value) },
    { name: "Export what is held as CSV", run: () => saveItems(state.name, held(), "csv", state.primary.value) },
    { name: "Export everything", run: () => onMove("export") },
    ...indexesOf(state.description.value ?? undefined).map((index) => ({
      name: `${state.panes.value.some((pane) => pane.index.IndexName === index.IndexName) ? "Hide" : "Show"} index ${index.IndexName}`,
      run: () => state.togglePane(index),
    })),
    { name: "Read again from the start", run: () => void state.run() },
  ];
}
