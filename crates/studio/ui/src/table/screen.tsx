// A table: its items under their partitions, its indexes beside it, the chosen item at the right.

import { useComputed } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { spent } from "../door";
import { bytes, count } from "../format";
import { Failure, Lazy, Loading, csvCell, save, useWidth } from "../parts";
import { adjust, href } from "../place";
import { indexesOf, isOnDemand, letters, partitionNames, say, session, sortNames, statusLine } from "../session";
import { type Attribute, type Item, plain, text } from "../value";
import { loadExample } from "../example";
import { type Column, Grid, HEADER_HEIGHT, ROW_HEIGHT } from "./grid";
import { Inspector } from "./inspector";
import { QueryBar } from "./querybar";
import { type ItemRow, type Row, keyText, rowsOf } from "./rows";
import { type Pane, TableState } from "./state";
import { Strip } from "./strip";
import { Structure } from "./structure";

const EXPORT_MAX = 4000;
const TABS = [
  ["", "Items"],
  ["structure", "Structure"],
  ["heat", "Heat"],
  ["capacity", "Capacity"],
  ["stream", "Stream"],
  ["backups", "Backups"],
  ["regions", "Regions"],
  ["learn", "Learn"],
] as const;

export function TableScreen({ name, tab }: { name: string; tab: string }) {
  const state = useMemo(() => new TableState(name), [name]);
  useEffect(() => {
    void state.open();
    return () => state.close();
  }, [state]);
  const table = state.description.value;
  if (state.error.value) return <div class="page"><Failure error={state.error.value} again={() => location.reload()} /></div>;
  if (!table) return <Loading what={`Looking at ${name}`} />;
  const indexes = indexesOf(table);
  const model = state.model.value;
  return (
    <>
      <div class="head">
        <h1>{name}</h1>
        <div class="facts num">
          <span>{count(table.ItemCount)} items</span>
          <span>{bytes(table.TableSizeBytes)}</span>
          <span>{isOnDemand(table) ? "on demand" : `${table.ProvisionedThroughput?.ReadCapacityUnits} RCU, ${table.ProvisionedThroughput?.WriteCapacityUnits} WCU`}</span>
          <span>{indexes.length === 1 ? "1 index" : `${indexes.length} indexes`}</span>
          {table.Replicas?.length > 0 && <a href={href(`table/${name}/regions`)}>{table.Replicas.length + 1} Regions</a>}
          {table.TableStatus !== "ACTIVE" && <span class="chip warn">{table.TableStatus}</span>}
        </div>
        {model ? (
          <a class="chip blue right" href={href(`model/${model.name}`)}>model: {model.name}</a>
        ) : (
          <span class="chip right">no model</span>
        )}
      </div>
      <nav class="tabs" aria-label="Table">
        {TABS.map(([id, label]) => (
          <a key={id} href={href(`table/${name}${id && `/${id}`}`)} aria-current={tab === id ? "page" : undefined}>{label}</a>
        ))}
      </nav>
      {tab === "" ? (
        <Items state={state} />
      ) : tab === "structure" ? (
        <Structure state={state} />
      ) : tab === "heat" ? (
        <Lazy key="heat" load={() => import("./heat")} name="Heat" props={{ state }} />
      ) : tab === "capacity" ? (
        <Lazy key="capacity" load={() => import("./capacity")} name="Capacity" props={{ state }} />
      ) : tab === "learn" ? (
        <Lazy key="learn" load={() => import("./learn")} name="Learn" props={{ state }} />
      ) : tab === "stream" ? (
        <Lazy key="stream" load={() => import("./stream")} name="StreamTail" props={{ state }} />
      ) : tab === "backups" ? (
        <Lazy key="backups" load={() => import("./backups")} name="Backups" props={{ state }} />
      ) : tab === "regions" ? (
        <Lazy key="regions" load={() => import("./regions")} name="Regions" props={{ state }} />
      ) : (
        <div class="page"><p>There is no such page. <a href={href(`table/${name}`)}>The items of {name}</a></p></div>
      )}
    </>
  );
}

function Items({ state }: { state: TableState }) {
  useKeys(state);
  useEffect(() => void state.start(), [state]);
  return (
    <>
      <QueryBar state={state} />
      <Panes state={state} />
      <Status state={state} />
    </>
  );
}

// Numbers are aligned to the right. There are as many columns as there is room for.
function columnsFor(names: string[], rows: { item: Item }[], room: number): Column[] {
  const columns: Column[] = [];
  let left = room;
  for (const name of names) {
    let longest = name.length;
    let numbers = 0;
    let seen = 0;
    for (let at = 0; at < Math.min(rows.length, 120); at++) {
      const value = Object.hasOwn(rows[at].item, name) ? rows[at].item[name] : undefined;
      if (!value) continue;
      seen++;
      if ("N" in value) numbers++;
      const shown = text(value, 30);
      const capitals = shown.replace(/[^A-Z]/g, "").length;
      longest = Math.max(longest, shown.length + 0.3 * capitals);
    }
    const width = Math.min(190, Math.max(52, Math.round(longest * 7) + 6));
    if (left < width + 10 || columns.length >= 8) break;
    left -= width + 10;
    columns.push({ name, width, right: seen > 0 && numbers === seen });
  }
  return columns;
}

// Room for the longest key that is shown, within reason.
function keyWidth(rows: ItemRow[], name: string): number {
  const longest = rows.slice(0, 200).reduce((most, row) => Math.max(most, text(row.item[name], 60).length), 12);
  return Math.min(300, longest * 7.3);
}

function Panes({ state }: { state: TableState }) {
  const [element, width] = useWidth<HTMLDivElement>();
  const lines = useRef<() => void>(() => {});
  const panes = state.panes.value;
  const narrow = width < 1100;
  const columns = narrow
    ? "minmax(0, 1fr) 316px"
    : panes.length
      ? "minmax(0, 1fr) 46px minmax(0, .93fr) 316px"
      : "minmax(0, 1fr) 316px";
  return (
    <div class="panes" ref={element} style={{ gridTemplateColumns: width < 700 ? "minmax(0, 1fr)" : columns }}>
      <Base state={state} onScroll={() => lines.current()} />
      {panes.length > 0 && !narrow && (
        <>
          <div class="gutter" />
          <div class="stackpanes">
            {panes.map((pane) => (
              <IndexPane key={pane.index.IndexName} state={state} pane={pane} onScroll={() => lines.current()} />
            ))}
          </div>
        </>
      )}
      {width >= 700 && <Inspector state={state} />}
      {panes.length > 0 && !narrow && <Lines state={state} draw={lines} />}
    </div>
  );
}

function Base({ state, onScroll }: { state: TableState; onScroll(): void }) {
  const [element, width] = useWidth<HTMLElement>();
  const [top, setTop] = useState(0);
  const source: any = state.source.value!;
  const rows = state.rows.value;
  const walk = state.walk.value;
  const items = useMemo(() => rows.filter((row): row is ItemRow => row.type === "item"), [rows]);
  const columns = useMemo(() => columnsFor(state.columns.value, items, Math.max(0, width - 110 - keyWidth(items, sortNames(source.KeySchema)[0] ?? partitionNames(source.KeySchema)[0]))), [state.columns.value, items, width]);
  const first = rows[Math.floor(top / ROW_HEIGHT) + 1] as Row | undefined;
  const page = first?.type === "item" ? state.pages.value[first.page] : state.pages.value[0];
  const share = page && first?.type === "item" ? page.items.indexOf(first.item) / Math.max(1, page.items.length) : 0;
  const mark = (row: ItemRow) => {
    const change = state.tray.value.get(row.id);
    if (change) return change.new ? "changed" : "removed";
    if (state.marked.value.has(row.id)) return "marked";
    return state.hits.value.has(row.id) ? "hit" : "";
  };
  const label = state.parts.value.index || "Table";
  return (
    <section class="pane base" aria-label={label} ref={element}>
      <div class="ph">
        <h2>{label}</h2>
        <span class="mono">{[...partitionNames(source.KeySchema), ...sortNames(source.KeySchema)].join(" · ")}</span>
        <span class="facets right">
        <button type="button" class="chip" aria-pressed={state.grouped.value} onClick={() => (state.grouped.value = !state.grouped.value)}>by partition</button>
        {state.legend.value.kinds.slice(0, 6).map((kind) => (
          <button
            key={kind.name}
            type="button"
            class="chip"
            aria-pressed={state.facet.value === kind.name}
            title={`Show ${kind.name} only, of what was read`}
            onClick={() => {
              state.facet.value = state.facet.value === kind.name ? null : kind.name;
              adjust({ facet: state.facet.value });
            }}
          >
            <span class={`dot k${kind.colour}`} /> {kind.name}
          </button>
        ))}
        </span>
      </div>
      {walk?.error.value ? (
        <div class="page"><Failure error={walk.error.value} again={() => void state.run()} /></div>
      ) : walk && !walk.loading.value && !rows.length ? (
        <Empty state={state} />
      ) : (
        <div class="withstrip">
          {walk?.isScan && (
            <Strip at={walk.at(page, share)} read={state.readRanges.value} onJump={(at) => void state.jump(at)} />
          )}
          <Grid
            id="base"
            label={label}
            rows={rows}
            sort={sortNames(source.KeySchema)[0]}
            partition={partitionNames(source.KeySchema)}
            columns={columns}
            legend={state.legend.value}
            selected={state.chosen.value && keyText(state.chosen.value, state.primary.value)}
            cursor={state.cursor.value}
            onCursor={(at) => (state.cursor.value = at)}
            onOpen={(row) => void state.choose(row)}
            onKey={(event, row) => onRowKey(event, row, state)}
            onEnd={state.forward}
            onStart={state.backward}
            onScroll={() => {
              const view = document.querySelector("#base .scroll");
              if (view) setTop(view.scrollTop);
              onScroll();
            }}
            showSize
            mark={mark}
            projected={state.parts.value.index ? state.panes.value.find((pane) => pane.index.IndexName === state.parts.value.index)?.projected : null}
            sorted={state.sorted.value}
            onSort={(name) => {
              const now = state.sorted.value;
              state.sorted.value = now?.name !== name ? { name, descending: false } : now.descending ? null : { name, descending: true };
              if (state.sorted.value) say(`Sorted by ${name}, of the ${state.held.value} items that were read.`);
            }}
            anchor={state.anchor}
          />
        </div>
      )}
    </section>
  );
}

function Empty({ state }: { state: TableState }) {
  const walk = state.walk.value!;
  const table = state.description.value!;
  if (state.held.value)
    return <div class="empty"><p>None of the {state.held.value} items that were read is a {state.facet.value}.</p><button class="btn" type="button" onClick={() => (state.facet.value = null)}>Show all of them</button></div>;
  if (!state.isBrowsing.value || walk.request.operation !== "Scan")
    return (
      <div class="empty">
        <p><b>Nothing was found.</b> {count(walk.scanned.value)} items were examined for {count(walk.units.value)} RCU.</p>
        <pre class="code" tabIndex={0} aria-label="The request">{JSON.stringify(walk.request.input, null, 2)}</pre>
        {state.parts.value.partition.length > 0 && !state.parts.value.index && (
          <button class="btn" type="button" onClick={() => void state.openAt(state.parts.value.partition)}>Show the keys that come next</button>
        )}
      </div>
    );
  const model = state.model.value;
  const key = Object.fromEntries([...partitionNames(table.KeySchema), ...sortNames(table.KeySchema)].map((name) => [name, { S: "…" }]));
  return (
    <div class="empty">
      <p><b>No items yet.</b> Items appear here as they are written, each under its partition.</p>
      {model && !state.readOnly && (
        <button class="btn pri" type="button" onClick={() => void loadExample(model.name, model.text).then(() => state.reload())}>Load samples of {model.name}</button>
      )}
      <pre class="code" tabIndex={0} aria-label="A command to copy">{`aws dynamodb put-item --endpoint-url ${location.origin} \\\n    --table-name ${table.TableName} --item '${JSON.stringify(key)}'`}</pre>
    </div>
  );
}

function IndexPane({ state, pane, onScroll }: { state: TableState; pane: Pane; onScroll(): void }) {
  const [element, width] = useWidth<HTMLElement>();
  const { index } = pane;
  const partition = partitionNames(index.KeySchema);
  const legend = state.legend.value;
  const closed = state.closed.value;
  const rows = useMemo(
    () =>
      rowsOf([{ start: { segment: 0, from: null }, items: pane.rows.value, next: null }], {
        primary: state.primary.value,
        partition,
        legend,
        closed,
        facet: null,
        grouped: true,
      }),
    [pane.rows.value, legend, closed],
  );
  const base = state.columns.value.slice(0, 2);
  const columns = columnsFor(base, state.pages.value.flatMap((page) => page.items.slice(0, 60)).map((item) => ({ item })), Math.max(0, width - 260));
  const chosen = state.chosen.value && keyText(state.chosen.value, state.primary.value);
  const linked = (row: ItemRow) => (row.id === chosen ? "link" : state.hits.value.has(row.id) ? "hit" : "");
  const at = rows.findIndex((row) => row.type === "item" && row.id === chosen);
  useEffect(() => {
    pane.cursor.value = at;
  }, [at]);
  const { ProjectionType, NonKeyAttributes } = index.Projection;
  const sparse = state.model.value?.legend?.entities.flatMap((one) => one.indexes).find((one) => one.index === index.IndexName && one.when);
  return (
    <section class="pane idx" aria-label={index.IndexName} ref={element}>
      <div class="ph">
        <h2>{index.IndexName}</h2>
        <span class="mono">{pane.keys.join(" · ")}</span>
        <span class="right" />
        {sparse && <span class="chip">sparse: {sparse.when}</span>}
        <span class="chip">{ProjectionType === "ALL" ? "all attributes" : ProjectionType === "KEYS_ONLY" ? "keys only" : `projects ${NonKeyAttributes?.join(", ")}`}</span>
        {index.IndexStatus && index.IndexStatus !== "ACTIVE" && <span class="chip warn">{index.IndexStatus}</span>}
      </div>
      {pane.reason.value && <p class="notice" role="status" style={{ margin: "8px 12px" }}>{pane.reason.value}</p>}
      <Grid
        id={`pane-${index.IndexName}`}
        label={index.IndexName}
        rows={rows}
        sort={sortNames(index.KeySchema)[0]}
        partition={partition}
        columns={columns}
        legend={legend}
        selected={null}
        cursor={pane.cursor.value}
        onCursor={(to) => (pane.cursor.value = to)}
        onOpen={(row) => (row.type === "item" ? void state.chooseItem(row.item, true) : void state.choose(row))}
        onKey={(event) => event.key === "l" && (event.preventDefault(), focusGrid("base"))}
        onScroll={onScroll}
        projected={pane.projected}
        mark={linked}
      />
    </section>
  );
}

// Lines from rows of the table to the rows of the same items in the indexes.
function Lines({ state, draw }: { state: TableState; draw: { current: () => void } }) {
  const svg = useRef<SVGSVGElement>(null);
  const rows = state.rows.value;
  const chosen = state.chosen.value && keyText(state.chosen.value, state.primary.value);
  const panes = state.panes.value;
  const shown = panes.map((pane) => pane.rows.value);
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
    return { top: box.top + HEADER_HEIGHT, bottom: box.bottom };
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
      const [x1, y1, x2, y2] = [start.right - origin.left, start.top + 14 - origin.top, end.left - origin.left, y - origin.top];
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

function Status({ state }: { state: TableState }) {
  const status = useComputed(() => {
    const walk = state.walk.value;
    const place = walk?.at(state.pages.value[0]);
    return [
      place !== null && place !== undefined && walk!.isScan ? `Key space ${Math.round(100 * place)} %` : "",
      `${count(state.held.value)} of ${count(state.description.value?.ItemCount ?? 0)} items held`,
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

// --- keys

const focusGrid = (id: string) => document.querySelector<HTMLElement>(`#${CSS.escape(id)} .scroll`)?.focus();

function onRowKey(event: KeyboardEvent, row: Row | undefined, state: TableState) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const item = row?.type === "item" ? row : null;
  const act: Record<string, () => void> = {
    " ": () => item && toggle(state, item),
    Delete: () => state.remove(chosenItems(state, item)),
    e: () => item && void state.choose(item).then(() => setTimeout(() => dispatchEvent(new Event("studio-edit")), 30)),
    l: () => item && void state.choose(item).then(() => focusGrid(`pane-${state.panes.value[0]?.index.IndexName}`)),
  };
  if (!act[event.key] || (event.key.length === 1 && event.key !== " " && !letters.value)) return;
  event.preventDefault();
  event.stopPropagation();
  act[event.key]();
}

function toggle(state: TableState, row: ItemRow) {
  const marked = new Set(state.marked.value);
  marked.has(row.id) ? marked.delete(row.id) : marked.add(row.id);
  state.marked.value = marked;
  say(`${marked.size} items selected.`);
}

function chosenItems(state: TableState, row: ItemRow | null): Item[] {
  const marked = state.rows.value.filter((one): one is ItemRow => one.type === "item" && state.marked.value.has(one.id));
  return marked.length ? marked.map((one) => one.item) : row ? [row.item] : [];
}

function useKeys(state: TableState) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const typing = /INPUT|TEXTAREA|SELECT/.test((event.target as Element).tagName);
      const control = event.ctrlKey || event.metaKey;
      if (control && event.key === "s") return event.preventDefault(), void state.write();
      if (control && event.key === "z" && !typing) return event.preventDefault(), state.undo();
      if (control && event.key === "Enter") return event.preventDefault(), void (state.pattern.value ? state.runPattern() : state.run());
      if (typing || control || event.altKey || document.querySelector("dialog[open]")) return;
      if (event.key === "Escape") state.chosen.value = null;
      if (!letters.value) return;
      if (event.key === "/") return event.preventDefault(), document.querySelector<HTMLElement>(".query input, .query select")?.focus();
      if (event.key === "[" || event.key === "]") movePane(event.key === "]" ? 1 : -1);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [state]);
  useEffect(() => {
    const commands = (event: Event) => ((event as CustomEvent).detail as { name: string; run(): void }[]).push(...tableCommands(state));
    addEventListener("studio-commands", commands);
    return () => removeEventListener("studio-commands", commands);
  }, [state]);
}

function movePane(step: number) {
  const grids = [...document.querySelectorAll<HTMLElement>(".panes .scroll")];
  const at = grids.indexOf(document.activeElement as HTMLElement);
  grids[(at + step + grids.length) % grids.length]?.focus();
}

// --- what can be done with rows, from the command bar too

function tableCommands(state: TableState) {
  const items = () => {
    const marked = chosenItems(state, null);
    return (marked.length ? marked : state.pages.value.flatMap((page) => page.items)).slice(0, EXPORT_MAX);
  };
  return [
    { name: "Export what is held as JSON lines", run: () => save(`${state.name}.jsonl`, "application/jsonl", items().map((item) => JSON.stringify(item)).join("\n") + "\n") },
    { name: "Export what is held as CSV", run: () => save(`${state.name}.csv`, "text/csv", csv(items(), [...state.primary.value, ...state.columns.value])) },
    ...indexesOf(state.description.value ?? undefined).map((index) => ({
      name: `${state.panes.value.some((pane) => pane.index.IndexName === index.IndexName) ? "Hide" : "Show"} index ${index.IndexName}`,
      run: () => state.togglePane(index),
    })),
    ...(session.value?.readOnly ? [] : [{ name: "Undo the last write", run: () => state.undo() }]),
    { name: "Delete the selected items", run: () => state.remove(chosenItems(state, null)) },
    { name: "Read again from the start", run: () => void state.run() },
  ];
}

export function csv(items: Item[], names: string[]): string {
  const cell = (value: Attribute | undefined) => {
    const whole = value === undefined ? "" : typeof plain(value) === "object" ? JSON.stringify(plain(value)) : "N" in value ? value.N : String(plain(value));
    return csvCell(whole, Boolean(value && "N" in value));
  };
  const lines = items.map((item) => names.map((name) => cell(Object.hasOwn(item, name) ? item[name] : undefined)).join(","));
  return [names.map((name) => cell({ S: name })).join(","), ...lines].join("\r\n") + "\r\n";
}
