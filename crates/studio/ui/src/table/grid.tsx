// A treegrid that draws what is in view. Every row has one height, so a place is a multiplication.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { bytes, plural } from "../format";
import type { TableLegend } from "../legend";
import { Chevron } from "../icons";
import { type Item, text, visible } from "../value";
import type { GroupRow, ItemRow, Row } from "./rows";

export const ROW_HEIGHT = 28;
// The header stays in view above the rows.
export const HEADER_HEIGHT = 24;
const OVERSCAN = 6;

export interface Column {
  name: string;
  width: number;
  right?: boolean;
}

export interface GridProps {
  id: string;
  label: string;
  rows: Row[];
  sort: string | undefined;
  partition: string[];
  columns: Column[];
  legend: TableLegend;
  selected: string | null;
  cursor: number;
  onCursor(at: number): void;
  onOpen(row: Row): void;
  onKey?(event: KeyboardEvent, row: Row | undefined): void;
  onEnd?(): void;
  onStart?(): void;
  onScroll?(): void;
  showSize?: boolean;
  // Which attributes the source holds; none means all.
  projected?: ReadonlySet<string> | null;
  mark?(row: ItemRow): string;
  sorted?: { name: string; descending: boolean } | null;
  onSort?(name: string): void;
  // Set by the screen, to move the view with the rows.
  anchor?: { shift: number };
}

export function Grid(props: GridProps) {
  const { rows, columns, cursor } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const template = `22px minmax(0,1fr) ${columns.map((one) => `${one.width}px`).join(" ")}${props.showSize ? " 58px" : ""}`;

  useLayoutEffect(() => {
    const element = scroll.current!;
    const measure = () => {
      setView({ top: element.scrollTop, height: element.clientHeight });
      props.onScroll?.();
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);

  // Rows came or went in front: what was in view stays there.
  useLayoutEffect(() => {
    if (props.anchor?.shift) {
      scroll.current!.scrollTop += props.anchor.shift * ROW_HEIGHT;
      props.anchor.shift = 0;
    }
  }, [rows]);

  useEffect(() => {
    const element = scroll.current!;
    const top = cursor * ROW_HEIGHT;
    if (cursor < 0) return;
    if (top < element.scrollTop) element.scrollTop = Math.max(0, top - ROW_HEIGHT);
    else if (top + ROW_HEIGHT + HEADER_HEIGHT > element.scrollTop + element.clientHeight)
      element.scrollTop = top + 2 * ROW_HEIGHT + HEADER_HEIGHT - element.clientHeight;
  }, [cursor]);

  const onScroll = () => {
    const element = scroll.current!;
    setView({ top: element.scrollTop, height: element.clientHeight });
    props.onScroll?.();
    if (element.scrollTop + element.clientHeight > rows.length * ROW_HEIGHT - 40 * ROW_HEIGHT) props.onEnd?.();
    if (element.scrollTop < 20 * ROW_HEIGHT) props.onStart?.();
  };

  const onKey = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(view.height / ROW_HEIGHT) - 1);
    const row = rows[cursor];
    const move: Record<string, () => number> = {
      ArrowDown: () => cursor + 1,
      ArrowUp: () => cursor - 1,
      PageDown: () => cursor + page,
      PageUp: () => cursor - page,
      Home: () => edge(rows, cursor, -1),
      End: () => edge(rows, cursor, 1),
    };
    if (move[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      if (move[event.key]() < 0) props.onStart?.();
      props.onCursor(Math.max(0, Math.min(rows.length - 1, move[event.key]())));
    } else if (event.key === "Enter" && row) {
      event.preventDefault();
      props.onOpen(row);
    } else if (row?.type === "group" && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      event.preventDefault();
      if (row.open === (event.key === "ArrowLeft")) props.onOpen(row);
    } else props.onKey?.(event, row);
  };

  const first = Math.max(0, Math.floor(view.top / ROW_HEIGHT) - OVERSCAN);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW_HEIGHT) + OVERSCAN);
  const shown = rows.slice(first, last);
  const drawn = cursor >= first && cursor < last;
  return (
    <div class="grid" id={props.id}>
      <div
        class="scroll"
        role="treegrid"
        tabIndex={0}
        ref={scroll}
        aria-label={props.label}
        aria-rowcount={-1}
        aria-activedescendant={drawn ? `${props.id}-${cursor}` : undefined}
        onScroll={onScroll}
        onWheel={(event) => event.deltaY < 0 && scroll.current!.scrollTop < ROW_HEIGHT && props.onStart?.()}
        onKeyDown={onKey}
      >
        <div class="cols" role="row" style={{ gridTemplateColumns: template }}>
          <span role="columnheader"><span class="gone">Entity</span></span>
          <Header name={props.sort ?? props.partition.join(" · ")} sorted={props.sorted} onSort={props.onSort} sign="↓" />
          {columns.map((one) => (
            <Header key={one.name} name={one.name} right={one.right} sorted={props.sorted} onSort={props.onSort} />
          ))}
          {props.showSize && <Header name="size" right sorted={props.sorted} onSort={props.onSort} />}
        </div>
        <div class="spacer" role="rowgroup" style={{ height: `${rows.length * ROW_HEIGHT}px` }}>
          {shown.map((row, at) =>
            row.type === "group" ? (
              <Group key={row.id} row={row} at={first + at} {...props} />
            ) : (
              <Line key={`${row.id}${first + at}`} row={row} at={first + at} template={template} {...props} />
            ),
          )}
        </div>
      </div>
    </div>
  );
}

function edge(rows: Row[], from: number, step: number): number {
  let at = from;
  do at += step;
  while (at > 0 && at < rows.length - 1 && rows[at]?.type !== "group");
  return at;
}

function Header({ name, right, sorted, onSort, sign: usual }: { name: string; right?: boolean; sign?: string } & Pick<GridProps, "sorted" | "onSort">) {
  const is = sorted?.name === name;
  const sign = is ? (sorted!.descending ? " ↓" : " ↑") : usual && !sorted ? ` ${usual}` : "";
  return (
    <span role="columnheader" class={right ? "r" : undefined} aria-sort={is ? (sorted!.descending ? "descending" : "ascending") : undefined}>
      {onSort ? (
        <button type="button" tabIndex={-1} onClick={() => onSort(name)} title={`Sort what was read by ${name}`}>
          {visible(name)}
          {sign}
        </button>
      ) : (
        visible(name) + sign
      )}
    </span>
  );
}

const top = (at: number) => ({ transform: `translateY(${at * ROW_HEIGHT}px)` });

function Group({ row, at, id, cursor, onOpen, onCursor, rows, legend, largest }: { row: GroupRow; at: number; largest?: number } & GridProps) {
  const order = new Map(legend.kinds.map((kind, at) => [kind.name, at]));
  const named = [...row.kinds].sort(([one], [other]) => (order.get(one) ?? 99) - (order.get(other) ?? 99)).map(([name, count]) => plural(count, name));
  const most = largest ?? rows.reduce((most, one) => (one.type === "group" ? Math.max(most, one.bytes) : most), 1);
  return (
    <div
      class={`grp${at === cursor ? " cursor" : ""}`}
      role="row"
      aria-level={1}
      aria-expanded={row.open}
      id={`${id}-${at}`}
      style={top(at)}
      onClick={() => (onCursor(at), onOpen(row))}
    >
      <Chevron open={row.open} />
      <span class="key" role="gridcell" title={row.label}>{row.label}</span>
      <span class="meta num" role="gridcell">
        {named.join(", ")}
        {row.kinds.size > 1 || !named.length ? ` · ${plural(row.items, "item")}` : ""}
      </span>
      <span class="heat num" role="gridcell" title="Bytes held of this partition, beside the largest one held">
        <span class="bar"><i style={{ width: `${Math.round((100 * row.bytes) / most)}%` }} /></span>
        {bytes(row.bytes)}
      </span>
    </div>
  );
}

export function Key({ legend, row, attribute }: { legend: TableLegend; row: ItemRow; attribute: string }) {
  const pieces = legend.pieces(row.kind, attribute, text(row.item[attribute], 300));
  return <>{pieces.map((one, at) => (one.word ? <i key={at}>{one.text}</i> : <span key={at}>{one.text}</span>))}</>;
}

function Line({ row, at, template, ...props }: { row: ItemRow; at: number; template: string } & GridProps) {
  const { item, kind } = row;
  const selected = row.id === props.selected;
  const classes = ["row", kind ? `k${kind.colour}` : "", props.mark?.(row) ?? "", selected ? "sel" : at === props.cursor ? "cursor" : ""];
  const name = props.sort ?? props.partition[0];
  return (
    <div
      class={classes.filter(Boolean).join(" ")}
      role="row"
      aria-level={2}
      aria-selected={selected}
      data-item={row.id}
      id={`${props.id}-${at}`}
      style={{ ...top(at), gridTemplateColumns: template }}
      onClick={() => (props.onCursor(at), props.onOpen(row))}
    >
      <span role="gridcell">{kind ? <span class={`et k${kind.colour}`} title={kind.name}>{kind.letter}</span> : <span class="et">·</span>}</span>
      <span class="sk" role="gridcell"><Key legend={props.legend} row={row} attribute={name} /></span>
      {props.columns.map((one) => (
        <Cell key={one.name} item={item} column={one} projected={props.projected} />
      ))}
      {props.showSize && <span class="r num mono muted" role="gridcell">{bytes(row.size)}</span>}
    </div>
  );
}

function Cell({ item, column, projected }: { item: Item; column: Column; projected?: ReadonlySet<string> | null }) {
  if (projected && !projected.has(column.name))
    return <span role="gridcell"><span class="np" title="not projected" /><span class="gone">not projected</span></span>;
  const value = Object.hasOwn(item, column.name) ? item[column.name] : undefined;
  const number = value && "N" in value;
  return <span role="gridcell" class={`${column.right ? "r " : ""}${number ? "num mono" : ""}`}>{text(value, 80)}</span>;
}
