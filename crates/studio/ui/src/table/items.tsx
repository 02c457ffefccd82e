// The items of a table: the question, the tools, the rows, and beside them indexes and the chosen item.

import { useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { spent } from "../door";
import { loadExample } from "../example";
import { count, plural } from "../format";
import { Failure, Lazy, useWidth } from "../parts";
import { adjust } from "../place";
import { type IndexDescription, indexesOf, keyNames, letters, partitionNames, say, session, sortNames, statusLine } from "../session";
import { type Item, get, text, typeSeen } from "../value";
import { columnsFor, keyWidth, shownNames } from "./columns";
import { ColumnChoice } from "./columnchoice";
import { Drawer } from "./drawer";
import { type Drafted, Grid, type GridProps, HEADER_HEIGHT, ROW_HEIGHT } from "./grid";
import type { Pane } from "./pane";
import { QueryBar } from "./querybar";
import { type ItemRow, type Row, keyText, rowsOf } from "./rows";
import type { TableState } from "./state";
import { Strip } from "./strip";
import { type Format, saveItems } from "./transfer";

type Moving = "import" | "export" | null;

export function Items({ state }: { state: TableState }) {
  const [moving, setMoving] = useState<Moving>(null);
  useKeys(state, setMoving);
  useEffect(() => void state.start(), [state]);
  return (
    <>
      <QueryBar state={state} />
      <Tools state={state} onMove={setMoving} />
      <Work state={state} />
      <Status state={state} />
      {moving === "import" && <Lazy key="import" load={() => import("./import")} name="Import" props={{ state, onClose: () => setMoving(null) }} />}
      {moving === "export" && <Lazy key="export" load={() => import("./export")} name="Export" props={{ state, onClose: () => setMoving(null) }} />}
    </>
  );
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
          {!state.readOnly && <button type="button" class="btn small bad" onClick={() => state.remove(marked)}>Delete {count(marked.length)}</button>}
          <button type="button" class="btn small" onClick={() => (state.marked.value = new Set())}>Clear <kbd>Esc</kbd></button>
        </>
      ) : (
        <>
          <button type="button" class="btn small pri" disabled={state.readOnly} title={state.readOnly ? "This studio is read-only" : undefined} onClick={() => newItem(state)}>+ New item</button>
          <button type="button" class="btn small" disabled={state.readOnly} title={state.readOnly ? "This studio is read-only" : "From a file, or pasted: JSON or CSV"} onClick={() => onMove("import")}>Import</button>
          <button type="button" class="btn small" onClick={() => onMove("export")}>Export</button>
          <button type="button" class="btn small" disabled={state.readOnly || (!state.chosen.value && state.cursor.value < 0)} onClick={() => removeHere(state)}>Delete</button>
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
      {state.legend.value.kinds.slice(0, 8).map((kind) => (
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

const itemRows = (state: TableState) => state.rows.value.filter((row): row is ItemRow => row.type === "item");
const markedRows = (state: TableState) => (state.marked.value.size ? itemRows(state).filter((row) => state.marked.value.has(row.id)) : []);

// The marked rows, else the one that has the cursor, else the chosen item.
function rowsHere(state: TableState): { id: string; item: Item; fresh?: boolean }[] {
  const marked = markedRows(state);
  if (marked.length) return marked;
  const row = state.rows.value[state.cursor.value];
  if (row?.type === "item") return [row];
  const item = state.chosen.value;
  return item ? [{ id: keyText(item, state.primary.value), item }] : [];
}

function removeHere(state: TableState) {
  state.remove(rowsHere(state));
  say(`${plural(state.tray.value.size, "change")} to be written.`);
}

function newItem(state: TableState) {
  const kinds = state.legend.value.kinds.filter((kind) => kind.entity);
  const kind = kinds.find((one) => one.name === state.facet.value) ?? kinds[0];
  void import("./drawer").then(({ begin }) => state.add(kind?.entity ? begin(kind.entity) : {}, kind?.entity?.name));
}

function duplicate(state: TableState, item: Item) {
  const kind = state.legend.value.kind(item);
  state.add(item, kind?.entity?.name);
}

const saveMarked = (state: TableState, format: Format) => saveItems(state.name, markedRows(state).map((row) => row.item), format, state.primary.value);

// --- rows, indexes, the item, with splitters between them

const WIDTHS = "lodestone-widths";
function useSplit(name: string, usual: number): [number, (to: number) => void] {
  const all = (): Record<string, number> => JSON.parse(localStorage.getItem(WIDTHS) ?? "{}");
  const [share, setShare] = useState(() => all()[name] ?? usual);
  const set = (to: number) => {
    const within = Math.min(0.85, Math.max(0.15, to));
    setShare(within);
    localStorage.setItem(WIDTHS, JSON.stringify({ ...all(), [name]: within }));
  };
  return [share, set];
}

// Dragged, or moved with the arrows. `share` is what is left of it, or above it.
function Splitter({ label, share, onShare, upright, onClose }: { label: string; share: number; onShare(to: number): void; upright?: boolean; onClose?(): void }) {
  const dragging = useRef(false);
  const onPointer = (event: PointerEvent) => {
    const element = event.currentTarget as HTMLElement;
    if (event.type === "pointerdown") element.setPointerCapture(event.pointerId), (dragging.current = true);
    if (event.type === "pointerup") dragging.current = false;
    if (event.type !== "pointermove" || !dragging.current) return;
    const box = element.parentElement!.getBoundingClientRect();
    onShare(upright ? (event.clientY - box.top) / box.height : (event.clientX - box.left) / box.width);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -0.02, ArrowUp: -0.02, ArrowRight: 0.02, ArrowDown: 0.02 }[event.key];
    if (step) event.preventDefault(), event.stopPropagation(), onShare(share + step);
    if (event.key === "Enter" && onClose) event.preventDefault(), onClose();
  };
  return (
    <div class={`splitter${upright ? " upright" : ""}`} role="separator" tabIndex={0} aria-label={label} aria-orientation={upright ? "horizontal" : "vertical"} aria-valuenow={Math.round(100 * share)} aria-valuemin={15} aria-valuemax={85} title="Drag, or use the arrows" onPointerDown={onPointer} onPointerMove={onPointer} onPointerUp={onPointer} onKeyDown={onKey} />
  );
}

const NARROW = 1000;

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

function Stack({ state, onScroll }: { state: TableState; onScroll(): void }) {
  const [share, setShare] = useSplit("stack", 0.5);
  const panes = state.panes.value;
  return (
    <div class="stackpanes">
      {panes.map((pane, at) => (
        <>
          {at === 1 && <Splitter label="Between the indexes" share={share} onShare={setShare} upright />}
          <div key={pane.index.IndexName} class="sides one" style={{ flex: at === 0 && panes.length > 1 ? `0 0 ${100 * share}%` : "1" }}>
            <IndexPane state={state} pane={pane} onScroll={onScroll} />
          </div>
        </>
      ))}
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
            after={missingText(state) ?? (walk && !walk.isReading.value && walk.isFiltered && walk.hasNext ? `These are the matches among the ${count(walk.examined.value)} items that were examined. There may be more.` : undefined)}
            {...edit}
          />
        </div>
      )}
      {walk && <ReadBar state={state} />}
    </section>
  );
}

// What the pattern should have returned and did not.
function missingText(state: TableState): string | undefined {
  const missing: Item[] = state.patternResult.value?.missing ?? [];
  if (!missing.length) return undefined;
  const named = missing.slice(0, 5).map((key) => Object.values(key).map((value) => text(value, 60)).join(" "));
  return `Expected and not returned: ${named.join(", ")}${missing.length > 5 ? ` and ${missing.length - 5} more` : ""}. Their index keys do not follow from their attributes.`;
}

function projection(state: TableState, name: string): ReadonlySet<string> | null {
  const table = state.description.value!;
  const index = indexesOf(table).find((one) => one.IndexName === name);
  if (!index || index.Projection.ProjectionType === "ALL") return null;
  return new Set([...keyNames(index.KeySchema), ...keyNames(table.KeySchema), ...(index.Projection.NonKeyAttributes ?? [])]);
}

// --- how much was read

// Every read ends in a word: complete, not finished, stopped or failed. Nothing is left out in silence.
function ReadBar({ state }: { state: TableState }) {
  const walk = state.walk.value!;
  const end = walk.end.value;
  const total = state.total.value;
  const isFiltered = walk.isFiltered;
  const of = total === null || end === "complete" ? "" : ` of about ${count(total)}`;
  const read = isFiltered
    ? `examined ${count(walk.examined.value)}${of} · ${count(walk.found.value)} found`
    : `${plural(walk.found.value, "item")}${walk.isScan && total !== null && end !== "complete" ? ` of about ${count(total)}` : ""}`;
  const words = { reading: "Reading", full: isFiltered ? "Not finished" : "Read", limit: "Your limit ended the read", stopped: "Stopped", failed: "Failed", complete: "Complete" };
  const isPart = isFiltered && (end === "full" || end === "stopped" || end === "failed");
  const from = walk.isWhole ? "" : ", from the middle of the key space";
  return (
    <div class={`read${isPart ? " part" : ""}`} role="group" aria-label="What was read">
      {walk.isReading.value && walk.isScan && <span class="prog"><i style={{ width: `${100 * (walk.progress.value ?? 0)}%` }} /></span>}
      <span role="status"><b>{words[end]}{end === "complete" ? from : ""}:</b> {read}</span>
      <span class="muted num cost">{count(Math.round(1000 * walk.units.value) / 1000)} RCU · {count(Math.round(walk.milliseconds.value || state.patternResult.value?.milliseconds || 0))} ms</span>
      {end === "failed" && walk.error.value ? <span class="warned" role="alert">{(walk.error.value as Error).message}</span> : null}
      <span class="right rowline">
        {walk.isReading.value && isFiltered && <button type="button" class="btn small" onClick={() => walk.stop()}>Stop</button>}
        {!walk.isReading.value && walk.hasNext && <button type="button" class="btn small" onClick={() => void walk.proceed()}>{end === "limit" ? `Next ${count(state.parts.value.limit ?? 0)}` : isFiltered ? "Continue" : "Read more"}</button>}
        {end === "complete" && !walk.isWhole && <button type="button" class="btn small" onClick={() => void state.run()}>Read from the start</button>}
        {state.isResult.value && <button type="button" class="btn small" onClick={() => void showInTable(state)}>Show in the table</button>}
      </span>
    </div>
  );
}

// The first row of a result where it is stored, with the rows around it.
async function showInTable(state: TableState) {
  const row = state.rows.value[state.cursor.value];
  const item = row?.type === "item" ? row.item : state.items.value[0];
  if (item) await state.openAt(partitionNames(state.description.value!.KeySchema).map((name) => item[name]));
}

function Empty({ state }: { state: TableState }) {
  const walk = state.walk.value!;
  const table = state.description.value!;
  if (state.held.value)
    return <div class="empty"><p>None of the {count(state.held.value)} items that were read is a {state.facet.value}.</p><button class="btn" type="button" onClick={() => (state.facet.value = null)}>Show all of them</button></div>;
  if (!state.isBrowsing.value || walk.request.operation !== "Scan" || state.isResult.value) {
    const isSure = walk.end.value === "complete" && walk.isWhole;
    return (
      <div class="empty">
        {isSure ? (
          <p><b>Nothing was found.</b> {walk.examined.value === 1 ? "1 item was" : `${count(walk.examined.value)} items were`} examined for {count(walk.units.value)} RCU, to the end.</p>
        ) : (
          <p><b>None yet.</b> {count(walk.examined.value)} items were examined, and that is not all of them.</p>
        )}
        {!state.isResult.value && <pre class="code" tabIndex={0} aria-label="The request">{JSON.stringify(walk.request.input, null, 2)}</pre>}
        {state.parts.value.partition.length > 0 && !state.parts.value.index && (
          <button class="btn" type="button" onClick={() => void state.openAt(state.parts.value.partition)}>Show the keys that come next</button>
        )}
      </div>
    );
  }
  const model = state.model.value;
  const key = Object.fromEntries([...partitionNames(table.KeySchema), ...sortNames(table.KeySchema)].map((name) => [name, { S: "…" }]));
  return (
    <div class="empty">
      <p><b>No items yet.</b> Items appear here as they are written, each under its partition.</p>
      {!state.readOnly && <button class="btn" type="button" onClick={() => newItem(state)}>+ New item</button>}
      {model && !state.readOnly && (
        <button class="btn pri" type="button" onClick={() => void loadExample(model.name, model.text).then(() => state.reload())}>Load samples of {model.name}</button>
      )}
      <pre class="code" tabIndex={0} aria-label="A command to copy">{`aws dynamodb put-item --endpoint-url ${location.origin} \\\n    --table-name ${table.TableName} --item '${JSON.stringify(key)}'`}</pre>
    </div>
  );
}

// --- indexes

function IndexPane({ state, pane, onScroll }: { state: TableState; pane: Pane; onScroll(): void }) {
  const { index } = pane;
  const partition = partitionNames(index.KeySchema);
  const legend = state.legend.value;
  const closed = state.closed.value;
  const rows = useMemo(
    () => rowsOf([{ start: { segment: 0, from: null }, items: pane.rows.value, next: null }], { primary: state.primary.value, partition, legend, closed, facet: null, grouped: true }),
    [pane.rows.value, legend, closed],
  );
  const layout = state.layout.value;
  const columns = useMemo(() => columnsFor(shownNames(layout, state.columns.value).slice(0, 8), state.items.value.slice(0, 120), layout), [layout, state.columns.value, state.items.value]);
  const sort = sortNames(index.KeySchema)[0] ?? partition[0];
  const chosen = state.chosen.value && keyText(state.chosen.value, state.primary.value);
  const at = rows.findIndex((row) => row.type === "item" && row.id === chosen);
  useEffect(() => {
    pane.cursor.value = at;
  }, [at]);
  return (
    <section class="pane idx" aria-label={index.IndexName}>
      <div class="ph">
        <h2>{index.IndexName}</h2>
        <span class="mono">{pane.keys.join(" · ")}</span>
        <span class="right" />
        <Traits state={state} index={index} />
        <button type="button" class="bare" aria-label={`Close ${index.IndexName}`} onClick={() => state.togglePane(index)}>✕</button>
      </div>
      {pane.reason.value && <p class="notice" role="status" style={{ margin: "8px 12px" }}>{pane.reason.value}</p>}
      <Grid
        id={`pane-${index.IndexName}`}
        label={index.IndexName}
        rows={rows}
        keys={[{ name: sort, width: keyWidth(pane.rows.value, sort, { shown: null, widths: {} }) }]}
        columns={columns}
        legend={legend}
        selected={null}
        cursor={pane.cursor.value}
        onCursor={(to) => (pane.cursor.value = to)}
        onOpen={(row) => (row.type === "item" ? void state.chooseItem(row.item, true) : void state.choose(row))}
        onKey={(event) => event.key === "l" && (event.preventDefault(), focusGrid("base"))}
        onScroll={onScroll}
        projected={pane.projected}
        mark={(row) => (row.id === chosen ? "link" : "")}
      />
    </section>
  );
}

function Traits({ state, index }: { state: TableState; index: IndexDescription }) {
  const { ProjectionType, NonKeyAttributes } = index.Projection;
  const sparse = state.model.value?.legend?.entities.flatMap((one) => one.indexes).find((one) => one.index === index.IndexName && one.when);
  return (
    <>
      {sparse && <span class="chip">sparse: {sparse.when}</span>}
      <span class="chip">{ProjectionType === "ALL" ? "all attributes" : ProjectionType === "KEYS_ONLY" ? "keys only" : `projects ${NonKeyAttributes?.join(", ")}`}</span>
      {index.IndexStatus && index.IndexStatus !== "ACTIVE" && <span class="chip warn">{index.IndexStatus}</span>}
    </>
  );
}

// Lines from rows of the table to the rows of the same items in the indexes.
function Connections({ state, draw }: { state: TableState; draw: { current: () => void } }) {
  const svg = useRef<SVGSVGElement>(null);
  const rows = state.rows.value;
  const chosen = state.chosen.value && keyText(state.chosen.value, state.primary.value);
  const shown = state.panes.value.map((pane) => pane.rows.value);
  useEffect(() => {
    draw.current = () => requestAnimationFrame(() => svg.current && render(svg.current, chosen));
    draw.current();
    const late = setTimeout(() => draw.current(), 60);
    return () => clearTimeout(late);
  });
  return <svg class="links" ref={svg} aria-hidden="true" data-rows={rows.length + shown.length} />;
}

const SVG = "http://www.w3.org/2000/svg";
function render(svg: SVGSVGElement, chosen: string | null) {
  const origin = svg.getBoundingClientRect();
  const within = (grid: Element) => {
    const box = grid.querySelector(".scroll")!.getBoundingClientRect();
    return { top: box.top + HEADER_HEIGHT, bottom: box.bottom, right: box.right };
  };
  const base = document.getElementById("base");
  svg.replaceChildren();
  if (!base) return;
  const view = within(base);
  const from = new Map<string, DOMRect>();
  for (const row of base.querySelectorAll<HTMLElement>(".row")) {
    const box = row.getBoundingClientRect();
    if (box.top + 14 > view.top && box.top + 14 < view.bottom) from.set(row.dataset.item!, box);
  }
  const add = (name: string, attributes: Record<string, string>) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    svg.append(made);
  };
  const later: (() => void)[] = [];
  for (const grid of document.querySelectorAll(".idx .grid")) {
    const pane = within(grid);
    for (const row of grid.querySelectorAll<HTMLElement>(".row")) {
      const start = from.get(row.dataset.item!);
      const end = row.getBoundingClientRect();
      const y = end.top + 14;
      if (!start || y < pane.top || y > pane.bottom) continue;
      const on = row.dataset.item === chosen;
      const [x1, y1, x2, y2] = [Math.min(start.right, view.right) - origin.left, start.top + 14 - origin.top, grid.getBoundingClientRect().left - origin.left, y - origin.top];
      const middle = (x1 + x2) / 2;
      const path = () => {
        add("path", { d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${on ? x2 - 5 : x2} ${y2}`, ...(on && { class: "on" }) });
        if (on) {
          add("circle", { cx: String(x1), cy: String(y1), r: "3.5", class: "tip" });
          add("path", { d: `M${x2 - 7} ${y2 - 4}l7 4-7 4z`, class: "tip" });
        }
      };
      on ? later.push(path) : path();
    }
  }
  later.forEach((path) => path());
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

// --- selecting

let lastMarked: string | null = null;
function mark(state: TableState, row: ItemRow, how: "toggle" | "range" | "drag") {
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

function markAll(state: TableState) {
  const rows = itemRows(state);
  const isAll = rows.length > 0 && rows.every((row) => state.marked.value.has(row.id));
  state.marked.value = new Set(isAll ? [] : rows.map((row) => row.id));
  say(`${plural(state.marked.value.size, "item")} selected, of those that were read.`);
}

// --- keys

const focusGrid = (id: string) => document.querySelector<HTMLElement>(`#${CSS.escape(id)} .scroll`)?.focus();

function onRowKey(event: KeyboardEvent, row: Row | undefined, state: TableState) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const item = row?.type === "item" ? row : null;
  const act: Record<string, () => void> = {
    " ": () => item && mark(state, item, "toggle"),
    Delete: () => removeHere(state),
    n: () => !state.readOnly && newItem(state),
    e: () => item && void state.choose(item, true).then(() => setTimeout(() => dispatchEvent(new Event("studio-edit")), 30)),
    l: () => item && void state.choose(item).then(() => (state.isResult.value ? showInTable(state) : focusGrid(`pane-${state.panes.value[0]?.index.IndexName}`))),
  };
  if (!act[event.key] || (event.key.length === 1 && event.key !== " " && !letters.value)) return;
  event.preventDefault();
  event.stopPropagation();
  act[event.key]();
}

function useKeys(state: TableState, onMove: (what: Moving) => void) {
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

function tableCommands(state: TableState, onMove: (what: Moving) => void) {
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

