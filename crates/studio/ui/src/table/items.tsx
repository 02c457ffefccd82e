// The items of a table: the question, the tools, the rows, and beside them indexes and the chosen item.

import { useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { spent } from "../door";
import { count, plural } from "../format";
import { Failure, useWidth } from "../parts";
import { adjust } from "../place";
import { indexesOf, keyNames, say, sortNames, statusLine } from "../session";
import { type Item, get, typeSeen } from "../value";
import { columnsFor, keyWidth, shownNames } from "./columns";
import { ColumnChoice } from "./columnchoice";
import { Differs } from "./differs";
import { Drawer } from "./drawer";
import { Export } from "./export";
import { type Drafted, Grid, type GridProps, ROW_HEIGHT } from "./grid";
import { Import } from "./import";
import { Connections, Stack } from "./indexpane";
import { type Moving, duplicate, mark, markAll, markedRows, newItem, onRowKey, removeHere, saveMarked, useKeys } from "./itemacts";
import { QueryBar } from "./querybar";
import { Empty, ReadBar } from "./readbar";
import { type ItemRow, type Row, keyText } from "./rows";
import { Splitter, useSplit } from "./splitter";
import type { TableState } from "./state";
import { Strip } from "./strip";

export function Items({ state }: { state: TableState }) {
  const [moving, setMoving] = useState<Moving>(null);
  const dropped = useDrop(state, () => setMoving("import"));
  useKeys(state, setMoving);
  useEffect(() => void state.start(), [state]);
  return (
    <>
      <QueryBar state={state} />
      <Tools state={state} onMove={setMoving} />
      <Work state={state} />
      <Status state={state} />
      {moving === "import" && <Import state={state} file={dropped.current} onClose={() => ((dropped.current = undefined), setMoving(null))} />}
      {moving === "export" && <Export state={state} onClose={() => setMoving(null)} />}
    </>
  );
}

// A file that is dropped on the page is to be imported.
function useDrop(state: TableState, onDrop: () => void) {
  const file = useRef<File | undefined>(undefined);
  useEffect(() => {
    const isFile = (event: DragEvent) => event.dataTransfer?.types.includes("Files") && !state.readOnly && !document.querySelector("dialog[open]");
    const over = (event: DragEvent) => isFile(event) && event.preventDefault();
    const drop = (event: DragEvent) => {
      if (!isFile(event)) return;
      event.preventDefault();
      file.current = event.dataTransfer?.files[0];
      onDrop();
    };
    addEventListener("dragover", over);
    addEventListener("drop", drop);
    return () => (removeEventListener("dragover", over), removeEventListener("drop", drop));
  }, [state]);
  return file;
}

// --- the tools above the rows

function Tools({ state, onMove }: { state: TableState; onMove(what: Moving): void }) {
  const marked = markedRows(state);
  const [choosing, setChoosing] = useState(false);
  const shown = shownNames(state.layout.value, state.columns.value).length;
  return (
    <div class={`tools${marked.length ? " picked" : ""}`} role="toolbar" aria-label="Items">
      {marked.length > 0 ? (
        <>
          <b role="status">{plural(marked.length, "item")} selected</b>
          {!state.readOnly && marked.length === 1 && !marked[0].fresh && <button type="button" class="btn small" onClick={() => duplicate(state, marked[0].item)}>Duplicate</button>}
          <button type="button" class="btn small" onClick={() => saveMarked(state, "json")}>Export as JSON</button>
          <button type="button" class="btn small" onClick={() => saveMarked(state, "csv")}>Export as CSV</button>
          {!state.readOnly && <button type="button" class="btn small bad" disabled={Boolean(state.whyNot("DeleteItem"))} title={state.whyNot("DeleteItem")} onClick={() => state.remove(marked)}>Delete {count(marked.length)}</button>}
          <button type="button" class="btn small" onClick={() => (state.marked.value = new Set())}>Clear <kbd>Esc</kbd></button>
        </>
      ) : (
        <>
          <button type="button" class="btn small pri" disabled={Boolean(state.whyNot("PutItem"))} title={state.whyNot("PutItem")} onClick={() => newItem(state)}>+ New item</button>
          <button type="button" class="btn small" disabled={Boolean(state.whyNot("PutItem"))} title={state.whyNot("PutItem") ?? "From a file, or pasted: JSON or CSV"} onClick={() => onMove("import")}>Import</button>
          <button type="button" class="btn small" onClick={() => onMove("export")}>Export</button>
          <button type="button" class="btn small" disabled={Boolean(state.whyNot("DeleteItem")) || (!state.chosen.value && state.cursor.value < 0)} title={state.whyNot("DeleteItem")} onClick={() => removeHere(state)}>Delete</button>
          <Facets state={state} />
        </>
      )}
      <span class="right" />
      {!state.isResult.value && sortNames(state.source.value?.KeySchema ?? []).length > 0 && <button type="button" class="chip" aria-pressed={state.grouped.value} onClick={() => (state.grouped.value = !state.grouped.value)}>by partition</button>}
      <span class="holder">
        <button type="button" class="btn small" aria-expanded={choosing} onClick={() => setChoosing(!choosing)}>Columns {shown} of {state.seen.value.length}</button>
        {choosing && <ColumnChoice state={state} onClose={() => setChoosing(false)} />}
      </span>
    </div>
  );
}

function Facets({ state }: { state: TableState }) {
  const counts = useMemo(() => {
    const by = new Map<string, number>();
    for (const item of state.items.value) {
      const name = state.legend.value.kind(item)?.name;
      if (name) by.set(name, (by.get(name) ?? 0) + 1);
    }
    return by;
  }, [state.items.value, state.legend.value]);
  if (!state.legend.value.kinds.length) return null;
  return (
    <span class="facets">
      {state.legend.value.kinds.filter((kind) => (state.isBrowsing.value && !state.isResult.value) || counts.has(kind.name) || state.facet.value === kind.name).slice(0, 8).map((kind) => (
        <button
          key={kind.name}
          type="button"
          class="chip"
          aria-pressed={state.facet.value === kind.name}
          title={`Show ${kind.name} only, of the ${count(state.held.value)} items that were read`}
          onClick={() => {
            state.facet.value = state.facet.value === kind.name ? null : kind.name;
            adjust({ facet: state.facet.value });
          }}
        >
          <span class={`dot k${kind.colour}`} /> {kind.name} <span class="num">{count(counts.get(kind.name) ?? 0)}</span>
        </button>
      ))}
    </span>
  );
}

const NARROW = 960;

function Work({ state }: { state: TableState }) {
  const [element, width] = useWidth<HTMLDivElement>();
  const [withPanes, setWithPanes] = useSplit("panes", 0.55);
  const [withDrawer, setWithDrawer] = useSplit("drawer", 0.56);
  const lines = useRef<() => void>(() => {});
  const panes = state.panes.value;
  const isNarrow = width < NARROW;
  const hasPanes = panes.length > 0 && !isNarrow;
  const isOpen = state.drawer.value;
  return (
    <div class={`work${isNarrow ? " narrow" : ""}`} ref={element}>
      <div class="sides" style={{ flex: isOpen && !isNarrow ? `0 0 ${100 * withDrawer}%` : "1" }}>
        {/* The same element with and without indexes: rows keep their focus and their place. */}
        <div class="sides one" style={{ flex: hasPanes ? `0 0 ${100 * withPanes}%` : "1" }}>
          <div class="sheet">
            <Base state={state} onScroll={() => lines.current()} />
          </div>
        </div>
        {hasPanes && (
          <>
            <Splitter label="Between the table and its indexes" share={withPanes} onShare={setWithPanes} onClose={() => panes.forEach((pane) => state.togglePane(pane.index))} />
            <Stack state={state} onScroll={() => lines.current()} />
            <Connections state={state} draw={lines} />
          </>
        )}
      </div>
      {isOpen && !isNarrow && <Splitter label="Between the rows and the item" share={withDrawer} onShare={setWithDrawer} onClose={() => (state.drawer.value = false)} />}
      {isOpen && <Drawer state={state} />}
      <Rail state={state} isNarrow={isNarrow} />
    </div>
  );
}

// What can be opened beside the rows. A dot says whether the chosen item is in the index.
function Rail({ state, isNarrow }: { state: TableState; isNarrow: boolean }) {
  const table = state.description.value!;
  const indexes = indexesOf(table);
  const item = state.chosen.value;
  return (
    <div class="rail" role="toolbar" aria-label="Beside the rows" aria-orientation="vertical">
      {!isNarrow &&
        indexes.map((index) => {
          const isIn = item && keyNames(index.KeySchema).every((name) => get(item, name));
          return (
            <button key={index.IndexName} type="button" aria-pressed={state.panes.value.some((pane) => pane.index.IndexName === index.IndexName)} title={`${index.IndexName}: ${keyNames(index.KeySchema).join(" · ")}${item ? (isIn ? ", has the item" : ", does not have the item") : ""}`} onClick={() => state.togglePane(index)}>
              <i class={item ? (isIn ? "in" : "out") : ""} />
              {index.IndexName}
            </button>
          );
        })}
      <button type="button" aria-pressed={state.drawer.value} onClick={() => (state.drawer.value = !state.drawer.value)}>Item</button>
    </div>
  );
}

function Base({ state, onScroll }: { state: TableState; onScroll(): void }) {
  const [top, setTop] = useState(0);
  const source: any = state.source.value!;
  const rows = state.rows.value;
  const walk = state.walk.value;
  const layout = state.layout.value;
  const isResult = state.isResult.value;
  const items = state.items.value;
  const names = shownNames(layout, state.columns.value);
  const columns = useMemo(() => columnsFor(names, items, layout), [names.join("\n"), items, layout]);
  const keys = isResult ? state.primary.value : keyNames(source.KeySchema);
  const shownKeys = state.isGrouped.value ? [sortNames(source.KeySchema)[0] ?? keys[0]] : keys.slice(0, 2);
  const keyColumns = useMemo(() => shownKeys.map((name) => ({ name, width: keyWidth(items, name, layout) })), [shownKeys.join("\n"), items, layout]);
  const atTop = Math.floor(top / ROW_HEIGHT);
  const first = (rows[atTop]?.type === "item" ? rows[atTop] : rows[atTop + 1]) as Row | undefined;
  const page = first?.type === "item" ? state.pages.value[first.page] : state.pages.value[0];
  const share = page && first?.type === "item" ? page.items.indexOf(first.item) / Math.max(1, page.items.length) : 0;
  const drafted = (row: ItemRow): Drafted => {
    const change = state.tray.value.get(row.id);
    return change ? change.new && (state.planned(row.id) ?? change.new) : undefined;
  };
  const label = state.pattern.value && isResult ? `Result of ${state.pattern.value.id}` : state.parts.value.index || "Table";
  const unexpected = useMemo(() => new Set<string>((state.patternResult.value?.unexpected ?? []).map((key: Item) => keyText(key, state.primary.value))), [state.patternResult.value]);
  const edit: Partial<GridProps> = state.readOnly || state.parts.value.index || isResult ? {} : {
    onEdit: (row, name, value) => state.set(row.id, state.tray.value.get(row.id) ?? { old: row.item, new: row.item }, [name], value),
    typeOf: (name) => typeSeen(items, [name]),
  };
  return (
    <section class="pane base" aria-label={label}>
      <Differs state={state} />
      {walk?.error.value && !rows.length ? (
        <div class="page"><Failure error={walk.error.value} again={() => void state.run()} /></div>
      ) : walk && !walk.isReading.value && !rows.length ? (
        <Empty state={state} />
      ) : (
        <div class="withstrip">
          {walk?.isScan && (
            <Strip at={walk.at(page, share)} read={walk.ranges.value} onJump={(at) => void state.jump(at)} />
          )}
          <Grid
            id="base"
            label={label}
            rows={rows}
            keys={keyColumns}
            columns={columns}
            legend={state.legend.value}
            selected={state.subject.value?.id ?? null}
            cursor={state.cursor.value}
            onCursor={(at) => (state.cursor.value = at)}
            onOpen={(row) => void state.choose(row, row.type === "item")}
            onChoose={(row) => void state.choose(row)}
            onKey={(event, row) => onRowKey(event, row, state)}
            onEnd={state.forward}
            onStart={state.backward}
            onScroll={() => {
              const view = document.querySelector("#base .scroll");
              if (view) setTop(view.scrollTop);
              onScroll();
            }}
            showSize
            numbered={isResult}
            mark={(row) => {
              const change = state.tray.value.get(row.id);
              return change ? (change.new ? "changed" : "removed") : unexpected.has(row.id) ? "unexpected" : "";
            }}
            drafted={drafted}
            projected={state.parts.value.index && !isResult ? projection(state, state.parts.value.index) : null}
            sorted={state.sorted.value}
            onSort={(name) => {
              const now = state.sorted.value;
              state.sorted.value = now?.name !== name ? { name, descending: false } : now.descending ? null : { name, descending: true };
              if (state.sorted.value) say(`Sorted by ${name}, of the ${plural(state.held.value, "item")} that ${state.held.value === 1 ? "was" : "were"} read.`);
            }}
            onResize={(name, width) => (state.layout.value = { ...layout, widths: { ...layout.widths, [name]: width } })}
            selection={{ marked: state.marked.value, onMark: (row, how) => mark(state, row, how), onAll: () => markAll(state) }}
            anchor={state.anchor}
            note={(row) => (unexpected.has(row.id) ? "not expected" : undefined)}
            after={walk && !walk.isReading.value && walk.isFiltered && walk.hasNext ? `These are the matches among the ${count(walk.examined.value)} items that were examined. There may be more.` : undefined}
            {...edit}
          />
        </div>
      )}
      {walk && <ReadBar state={state} />}
    </section>
  );
}

function projection(state: TableState, name: string): ReadonlySet<string> | null {
  const table = state.description.value!;
  const index = indexesOf(table).find((one) => one.IndexName === name);
  if (!index || index.Projection.ProjectionType === "ALL") return null;
  return new Set([...keyNames(index.KeySchema), ...keyNames(table.KeySchema), ...(index.Projection.NonKeyAttributes ?? [])]);
}

function Status({ state }: { state: TableState }): ComponentChildren {
  const status = useComputed(() => {
    const walk = state.walk.value;
    const place = walk?.at(state.pages.value[0]);
    return [
      place !== null && place !== undefined && walk!.isScan ? `Key space ${Math.round(100 * place)} %` : "",
      `${count(state.held.value)} of ${plural(state.description.value?.ItemCount ?? 0, "item")} held`,
      `${count(spent.value.read)} RCU read`,
    ].filter(Boolean).join(" · ");
  });
  const line = status.value;
  useEffect(() => {
    statusLine.value = line;
  }, [line]);
  useEffect(() => () => void (statusLine.value = ""), []);
  return null;
}
