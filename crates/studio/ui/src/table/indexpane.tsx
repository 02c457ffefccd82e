// Indexes beside the rows, with lines from items to their rows in them.

import { useEffect, useMemo, useRef } from "preact/hooks";
import { type IndexDescription, partitionNames, sortNames } from "../session";
import { columnsFor, keyWidth, shownNames } from "./columns";
import { Grid, HEADER_HEIGHT } from "./grid";
import { focusGrid } from "./itemacts";
import type { Pane } from "./pane";
import { keyText, rowsOf } from "./rows";
import { Splitter, useSplit } from "./splitter";
import type { TableState } from "./state";

// Of what the index holds; of one that holds keys alone two columns show that nothing is there.
function paneNames(names: string[], projected: ReadonlySet<string> | null): string[] {
  const held = projected ? names.filter((name) => projected.has(name)) : names;
  return (held.length ? held : names.slice(0, 2)).slice(0, 8);
}

export function Stack({ state, onScroll }: { state: TableState; onScroll(): void }) {
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
  const columns = useMemo(() => columnsFor(paneNames(shownNames(layout, state.columns.value), pane.projected), state.items.value.slice(0, 120), layout), [layout, state.columns.value, state.items.value]);
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
export function Connections({ state, draw }: { state: TableState; draw: { current: () => void } }) {
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
