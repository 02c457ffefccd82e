// A treegrid that draws what is in view. Every row has one height, so a place is a multiplication. Keys stay in view at
// the left while the columns of attributes scroll.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { bytes, plural } from "../format";
import type { TableLegend } from "../legend";
import { Chevron } from "../icons";
import { type Attribute, type Item, type Type, get, isScalar, parse, same, text, type, typed, visible } from "../value";
import { type Column, WIDTH_MAX, WIDTH_MIN } from "./columns";
import type { GroupRow, ItemRow, Row } from "./rows";

export const ROW_HEIGHT = 28;
// The header stays in view above the rows.
export const HEADER_HEIGHT = 26;
const OVERSCAN = 6;
const CHECK_WIDTH = 24;
const LETTER_WIDTH = 22;
const NUMBER_WIDTH = 34;
const SIZE_WIDTH = 66;
const GAP = 12;
const PADDING = 24;

// An item as the draft has it: undefined if it is not changed, null if it is deleted.
export type Drafted = Item | null | undefined;

export interface Selection {
  marked: ReadonlySet<string>;
  // All between the last row that was marked and this one, if `range`.
  onMark(row: ItemRow, how: "toggle" | "range" | "drag"): void;
  onAll(): void;
}

export interface GridProps {
  id: string;
  label: string;
  rows: Row[];
  // Key columns, which stay in view: the sort key, or the partition key too where rows are not under their partition.
  keys: Column[];
  columns: Column[];
  legend: TableLegend;
  selected: string | null;
  cursor: number;
  onCursor(at: number): void;
  // By Enter, or a click on the key.
  onOpen(row: Row): void;
  // By a click anywhere else.
  onChoose?(row: Row): void;
  onKey?(event: KeyboardEvent, row: Row | undefined): void;
  onEnd?(): void;
  onStart?(): void;
  onScroll?(): void;
  showSize?: boolean;
  // Whether rows are numbered, because their order means something.
  numbered?: boolean;
  // Which attributes the source holds; none means all.
  projected?: ReadonlySet<string> | null;
  mark?(row: ItemRow): string;
  // A word beside the key.
  note?(row: ItemRow): string | undefined;
  drafted?(row: ItemRow): Drafted;
  sorted?: { name: string; descending: boolean } | null;
  onSort?(name: string): void;
  onResize?(name: string, width: number): void;
  selection?: Selection;
  onEdit?(row: ItemRow, name: string, value: Attribute): void;
  typeOf?(name: string): Type | undefined;
  // Set by the screen, to move the view with the rows.
  anchor?: { shift: number };
  // What is said below the last row.
  after?: string;
}

interface Frame {
  template: string;
  width: number;
  // Where each key column begins, from the left.
  lefts: number[];
  editing: { row: string; name: string } | null;
  // The column of the cursor; none if the whole row has it.
  cell: number;
  onEditing(row: ItemRow, name: string): void;
  onEdited(row: ItemRow, name: string, value: Attribute | null): void;
}

export function Grid(props: GridProps) {
  const { rows, columns, cursor } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600, width: 600 });
  const [editing, setEditing] = useState<Frame["editing"]>(null);
  const [cell, setCell] = useState(-1);
  const leading = [...(props.selection ? [CHECK_WIDTH] : []), ...(props.numbered ? [NUMBER_WIDTH] : []), LETTER_WIDTH];
  const widths = [...leading, ...props.keys.map((one) => one.width), ...columns.map((one) => one.width), ...(props.showSize ? [SIZE_WIDTH] : [])];
  const width = Math.max(view.width, widths.reduce((sum, one) => sum + one + GAP, PADDING - GAP));
  const first = 12 + leading.reduce((sum, one) => sum + one + GAP, 0);
  const tracks = widths.map((one) => `${one}px`);
  // A key without columns beside it takes what is left over.
  if (!columns.length) tracks[leading.length + props.keys.length - 1] = "minmax(0, 1fr)";
  const frame: Frame = {
    template: tracks.join(" "),
    width,
    lefts: props.keys.map((_, at) => first + props.keys.slice(0, at).reduce((sum, one) => sum + one.width + GAP, 0)),
    editing,
    cell,
    onEditing: (row, name) => props.onEdit && setEditing({ row: row.id, name }),
    onEdited: (row, name, value) => {
      setEditing(null);
      if (value) props.onEdit!(row, name, value);
      scroll.current!.focus();
    },
  };

  const measured = () => {
    const element = scroll.current!;
    setView({ top: element.scrollTop, height: element.clientHeight, width: element.clientWidth });
    props.onScroll?.();
  };
  useLayoutEffect(() => {
    const observer = new ResizeObserver(measured);
    observer.observe(scroll.current!);
    measured();
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

  // The column of the cursor is brought into view, behind the keys.
  useEffect(() => {
    const element = scroll.current!;
    if (cell < 0) return void (element.scrollLeft = 0);
    const from = first + [...props.keys, ...columns.slice(0, cell)].reduce((sum, one) => sum + one.width + GAP, 0);
    const fixed = first + props.keys.reduce((sum, one) => sum + one.width + GAP, 0);
    if (from - fixed < element.scrollLeft) element.scrollLeft = from - fixed;
    else if (from + columns[cell].width + GAP > element.scrollLeft + element.clientWidth) element.scrollLeft = from + columns[cell].width + GAP - element.clientWidth;
  }, [cell]);

  const onScroll = () => {
    const element = scroll.current!;
    measured();
    if (element.scrollTop + element.clientHeight > rows.length * ROW_HEIGHT - 40 * ROW_HEIGHT) props.onEnd?.();
    if (element.scrollTop < 20 * ROW_HEIGHT) props.onStart?.();
  };

  const onKey = (event: KeyboardEvent) => {
    if (event.target !== scroll.current) return;
    const page = Math.max(1, Math.floor(view.height / ROW_HEIGHT) - 1);
    const row = rows[cursor];
    const control = event.ctrlKey || event.metaKey;
    const move: Record<string, () => number> = {
      ArrowDown: () => cursor + 1,
      ArrowUp: () => cursor - 1,
      PageDown: () => cursor + page,
      PageUp: () => cursor - page,
      Home: () => edge(rows, cursor, -1),
      End: () => edge(rows, cursor, 1),
    };
    if (control && event.key.toLowerCase() === "a" && props.selection) {
      event.preventDefault();
      props.selection.onAll();
    } else if (move[event.key] && !control && !event.altKey) {
      event.preventDefault();
      if (move[event.key]() < 0) props.onStart?.();
      const to = Math.max(0, Math.min(rows.length - 1, move[event.key]()));
      props.onCursor(to);
      if (event.shiftKey && rows[to]?.type === "item") props.selection?.onMark(rows[to] as ItemRow, "range");
    } else if (event.key === "Enter" && row) {
      event.preventDefault();
      props.onOpen(row);
    } else if (row?.type === "group" && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      event.preventDefault();
      if (row.open === (event.key === "ArrowLeft")) props.onOpen(row);
    } else if (row?.type === "item" && (event.key === "ArrowLeft" || event.key === "ArrowRight") && !control && !event.altKey) {
      event.preventDefault();
      setCell(Math.max(-1, Math.min(columns.length - 1, cell + (event.key === "ArrowRight" ? 1 : -1))));
    } else if (row?.type === "item" && event.key === "F2" && columns[cell]) {
      event.preventDefault();
      frame.onEditing(row, columns[cell].name);
    } else props.onKey?.(event, row);
  };

  const from = Math.max(0, Math.floor(view.top / ROW_HEIGHT) - OVERSCAN);
  const to = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW_HEIGHT) + OVERSCAN);
  const drawn = cursor >= from && cursor < to;
  const active = drawn ? (cell >= 0 && rows[cursor]?.type === "item" ? `${props.id}-${cursor}-${cell}` : `${props.id}-${cursor}`) : undefined;
  const largest = rows.reduce((most, one) => (one.type === "group" ? Math.max(most, one.bytes) : most), 1);
  return (
    <div class="grid" id={props.id}>
      <div
        class="scroll"
        role="treegrid"
        tabIndex={0}
        ref={scroll}
        aria-label={props.label}
        aria-rowcount={-1}
        aria-multiselectable={props.selection ? true : undefined}
        aria-activedescendant={active}
        onScroll={onScroll}
        onWheel={(event) => event.deltaY < 0 && scroll.current!.scrollTop < ROW_HEIGHT && props.onStart?.()}
        onKeyDown={onKey}
      >
        <div class="cols" role="row" style={{ gridTemplateColumns: frame.template, width: `${width}px` }}>
          {props.selection && <span role="columnheader" class="fixed check"><AllMarked rows={rows} selection={props.selection} /></span>}
          {props.numbered && <span role="columnheader" class="fixed r" style={{ left: "12px" }}>#</span>}
          <span role="columnheader" class="fixed"><span class="gone">Entity</span></span>
          {props.keys.map((one, at) => (
            <Header key={one.name} column={one} left={frame.lefts[at]} sign={at === props.keys.length - 1 && !props.numbered ? "↑" : undefined} {...props} />
          ))}
          {columns.map((one) => (
            <Header key={one.name} column={one} {...props} />
          ))}
          {props.showSize && <Header column={{ name: "size", width: SIZE_WIDTH, right: true }} {...props} onResize={undefined} />}
        </div>
        <div class="spacer" role="rowgroup" style={{ height: `${rows.length * ROW_HEIGHT}px`, width: `${width}px` }}>
          {rows.slice(from, to).map((row, at) =>
            row.type === "group" ? (
              <Group key={row.id} row={row} at={from + at} largest={largest} seen={view.width} {...props} />
            ) : (
              <Line key={`${row.id}${from + at}`} row={row} at={from + at} frame={frame} {...props} />
            ),
          )}
        </div>
        {props.after && <p class="afterrows muted" style={{ width: `${view.width}px` }}>{props.after}</p>}
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

function AllMarked({ rows, selection }: { rows: Row[]; selection: Selection }) {
  const items = rows.filter((row) => row.type === "item");
  const all = items.length > 0 && items.every((row) => selection.marked.has(row.id));
  return <input type="checkbox" tabIndex={-1} aria-label="Select all rows that are shown" checked={all} ref={(box) => void (box && (box.indeterminate = !all && selection.marked.size > 0))} onChange={selection.onAll} />;
}

function Header({ column, left, sign: usual, sorted, onSort, onResize }: { column: Column; left?: number; sign?: string } & Pick<GridProps, "sorted" | "onSort" | "onResize">) {
  const { name, right, width } = column;
  const is = sorted?.name === name;
  const sign = is ? (sorted!.descending ? " ↓" : " ↑") : usual && !sorted ? ` ${usual}` : "";
  const began = useRef<{ x: number; width: number } | null>(null);
  const onPointer = (event: PointerEvent) => {
    event.stopPropagation();
    if (event.type === "pointerdown") {
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
      began.current = { x: event.clientX, width };
    }
    if (event.type === "pointermove" && began.current) onResize!(name, Math.round(Math.min(WIDTH_MAX, Math.max(WIDTH_MIN, began.current.width + event.clientX - began.current.x))));
    if (event.type === "pointerup") began.current = null;
  };
  return (
    <span
      role="columnheader"
      class={`${right ? "r " : ""}${left === undefined ? "" : "fixed"}`}
      style={left === undefined ? undefined : { left: `${left}px` }}
      aria-sort={is ? (sorted!.descending ? "descending" : "ascending") : undefined}
    >
      {onSort ? (
        <button type="button" tabIndex={-1} onClick={() => onSort(name)} title={`Sort what was read by ${name}`}>
          {visible(name)}
          {sign}
        </button>
      ) : (
        visible(name) + sign
      )}
      {onResize && <i class="grip" title="Drag to make the column wider" data-column={name} onPointerDown={onPointer} onPointerMove={onPointer} onPointerUp={onPointer} />}
    </span>
  );
}

const top = (at: number) => ({ transform: `translateY(${at * ROW_HEIGHT}px)` });

function Group({ row, at, id, cursor, onOpen, onCursor, legend, largest, seen }: { row: GroupRow; at: number; largest: number; seen: number } & GridProps) {
  const order = new Map(legend.kinds.map((kind, at) => [kind.name, at]));
  const named = [...row.kinds].sort(([one], [other]) => (order.get(one) ?? 99) - (order.get(other) ?? 99)).map(([name, count]) => plural(count, name));
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
      <div class="grpview" style={{ width: `${seen}px` }}>
        <Chevron open={row.open} />
        <span class="key" role="gridcell" title={row.label}>{row.label}</span>
        <span class="meta num" role="gridcell">
          {named.join(", ")}
          {row.kinds.size > 1 || !named.length ? `${named.length ? " · " : ""}${plural(row.items, "item")}` : ""}
        </span>
        <span class="heat num" role="gridcell" title="Bytes held of this partition, beside the largest one held">
          <span class="bar"><i style={{ width: `${Math.round((100 * row.bytes) / largest)}%` }} /></span>
          {bytes(row.bytes)}
        </span>
      </div>
    </div>
  );
}

export function Key({ legend, row, attribute }: { legend: TableLegend; row: ItemRow; attribute: string }) {
  const pieces = legend.pieces(row.kind, attribute, text(row.item[attribute], 300));
  return <>{pieces.map((one, at) => (one.word ? <i key={at}>{one.text}</i> : <span key={at}>{one.text}</span>))}</>;
}

function Line({ row, at, frame, ...props }: { row: ItemRow; at: number; frame: Frame } & GridProps) {
  const { kind } = row;
  const { selection } = props;
  const selected = row.id === props.selected;
  const isMarked = selection?.marked.has(row.id);
  const draft = props.drafted?.(row);
  const note = props.note?.(row);
  const classes = ["row", kind ? `k${kind.colour}` : "", props.mark?.(row) ?? "", isMarked ? "marked" : "", selected ? "sel" : at === props.cursor ? "cursor" : ""];
  const onClick = (event: MouseEvent, open: boolean) => {
    props.onCursor(at);
    if (selection && (event.shiftKey || event.ctrlKey || event.metaKey)) return selection.onMark(row, event.shiftKey ? "range" : "toggle");
    open || !props.onChoose ? props.onOpen(row) : props.onChoose(row);
  };
  return (
    <div
      class={classes.filter(Boolean).join(" ")}
      role="row"
      aria-level={2}
      aria-selected={selected || Boolean(isMarked)}
      data-item={row.id}
      id={`${props.id}-${at}`}
      style={{ ...top(at), gridTemplateColumns: frame.template, width: `${frame.width}px` }}
      onClick={(event) => onClick(event, false)}
    >
      {selection && (
        <span role="gridcell" class="fixed check" onClick={(event) => event.stopPropagation()} onPointerEnter={(event) => event.buttons === 1 && selection.onMark(row, "drag")}>
          <input type="checkbox" tabIndex={-1} aria-label={`Select ${text(row.item[props.keys.at(-1)!.name], 60)}`} checked={isMarked} onClick={(event) => selection.onMark(row, event.shiftKey ? "range" : "toggle")} />
        </span>
      )}
      {props.numbered && <span role="gridcell" class="fixed r num muted" style={{ left: "12px" }}>{at + 1}</span>}
      <span role="gridcell" class="fixed" style={{ left: `${frame.lefts[0] - LETTER_WIDTH - GAP}px` }}>{kind ? <span class={`et k${kind.colour}`} title={kind.name}>{kind.letter}</span> : <span class="et">·</span>}</span>
      {props.keys.map((one, key) => (
        <span key={one.name} class={`sk fixed${key === props.keys.length - 1 ? " last" : ""}`} role="gridcell" style={{ left: `${frame.lefts[key]}px` }} onClick={(event) => (event.stopPropagation(), onClick(event, true))}>
          <Key legend={props.legend} row={row} attribute={one.name} />
          {row.fresh && key === 0 && <span class="chip warn">new</span>}
          {note && key === 0 && <span class="chip bad">{note}</span>}
        </span>
      ))}
      {props.columns.map((one, column) => (
        <Cell key={one.name} row={row} column={one} place={`${props.id}-${at}-${column}`} isAt={at === props.cursor && column === frame.cell} draft={draft} frame={frame} {...props} />
      ))}
      {props.showSize && <span class="r num mono muted" role="gridcell" data-bytes={row.size}>{bytes(row.size)}</span>}
    </div>
  );
}

function Cell({ row, column, place, isAt, draft, frame, ...props }: { row: ItemRow; column: Column; place: string; isAt: boolean; draft: Drafted; frame: Frame } & GridProps) {
  const { name } = column;
  if (props.projected && !props.projected.has(name))
    return <span role="gridcell"><span class="np" title="not projected" /><span class="gone">not projected</span></span>;
  const was = get(row.item, name);
  const value = draft ? get(draft, name) : was;
  const isChanged = Boolean(draft) && !row.fresh && !same(was, value);
  if (frame.editing?.row === row.id && frame.editing.name === name)
    return <CellEditor name={name} value={value} kind={value ? type(value) : (props.typeOf?.(name) ?? "S")} onDone={(next) => frame.onEdited(row, name, next)} />;
  const canEdit = props.onEdit && draft !== null && (!value || isScalar(value));
  const looks = `${column.right ? "r " : ""}${value && "N" in value ? "num mono " : ""}${value && "NULL" in value ? "nul " : ""}${value && !isScalar(value) ? "nest " : ""}${isChanged ? "ed " : ""}${isAt ? "at" : ""}`;
  return (
    <span role="gridcell" id={place} class={looks.trim()} onDblClick={(event) => canEdit && (event.stopPropagation(), frame.onEditing(row, name))}>
      {isChanged && was && <del>{text(was, 40)}</del>} {value && "S" in value && value.S === "" ? <span class="muted">""</span> : text(value, 80)}
    </span>
  );
}

// Enter takes the value, Escape leaves what was there.
function CellEditor({ name, value, kind, onDone }: { name: string; value: Attribute | undefined; kind: Type; onDone(value: Attribute | null): void }) {
  const [draft, setDraft] = useState(value ? typed(value) : "");
  const field = useRef<HTMLInputElement>(null);
  const isDone = useRef(false);
  useEffect(() => field.current?.select(), []);
  const made = parse(kind, draft);
  const done = (next: Attribute | null) => {
    if (isDone.current) return;
    isDone.current = true;
    onDone(next);
  };
  return (
    <span role="gridcell" class="editing" onClick={(event) => event.stopPropagation()}>
      <input
        ref={field}
        aria-label={`${visible(name)}, ${kind}`}
        aria-invalid={typeof made === "string"}
        title={typeof made === "string" ? made : undefined}
        value={draft}
        spellcheck={false}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onBlur={() => done(typeof made === "string" || same(made, value) || (!value && draft === "") ? null : made)}
        onKeyDown={(event) => {
          event.stopPropagation();
          if (event.key === "Escape") done(null);
          if (event.key === "Enter" && typeof made !== "string") done(same(made, value) ? null : made);
        }}
      />
    </span>
  );
}
