// Charts in SVG: drawn once, read by eye, by keyboard and as a table, saved as SVG, CSV and JSON.

import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { Saving, useWidth } from "./parts";

export interface Series {
  name: string;
  // A colour of the style sheet: "--blue".
  colour: string;
  points: [number, number][];
  kind?: "line" | "area" | "step" | "dashed";
}
export interface Axis {
  min: number;
  max: number;
  ticks: number[];
  show(value: number): string;
  // Steps of ten are as wide as each other.
  log?: boolean;
}
export interface Mark {
  x: number;
  text: string;
}

interface Props {
  title: string;
  // The name of saved files.
  file: string;
  series: Series[];
  x: Axis;
  // The values, with their unit.
  show(value: number): string;
  // Where something is said about a point in time: throttles.
  marks?: Mark[];
  // A vertical line between what was and what is expected.
  divide?: { x: number; before: string; after: string };
  cursor?: Signal<number | null>;
  height?: number;
  most?: number;
  note?: ComponentChildren;
}

const [LEFT_LEAST, RIGHT, TOP, BOTTOM] = [44, 14, 10, 24];
// About the width of a digit in the labels.
const DIGIT = 6.6;

// Round steps: 1, 2 or 5 times a power of ten.
export function ticks(most: number, wanted = 4): number[] {
  if (!(most > 0)) return [0];
  const rough = most / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough)!;
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, at) => at * step);
}

export const time = (seconds: number): string => new Date(seconds * 1000).toTimeString().slice(0, 8);

export function timeAxis(from: number, to: number): Axis {
  const spans = [10, 30, 60, 300, 600, 1800, 3600, 3 * 3600, 6 * 3600, 86400];
  const step = spans.find((one) => (to - from) / one <= 8) ?? 5 * 86400;
  const first = Math.ceil(from / step) * step;
  const all = Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, at) => first + at * step);
  return { min: from, max: Math.max(to, from + 1), ticks: all, show: (value) => (step < 60 ? time(value) : time(value).slice(0, 5)) };
}

const near = (points: [number, number][], x: number): [number, number] | undefined => {
  let best: [number, number] | undefined;
  for (const point of points) if (!best || Math.abs(point[0] - x) < Math.abs(best[0] - x)) best = point;
  return best;
};

export function Chart(props: Props) {
  const { title, series, x, show, marks = [], height = 170 } = props;
  const [element, width] = useWidth<HTMLDivElement>();
  const svg = useRef<SVGSVGElement>(null);
  const own = useSignal<number | null>(null);
  const cursor = props.cursor ?? own;
  const [asTable, setAsTable] = useState(false);
  const most = (Math.max(props.most ?? 0, ...series.flatMap((one) => one.points.map(([, value]) => value))) || 1) * 1.08;
  // Labels are as wide as they are: $1,000,000 needs more room than 5.
  const LEFT = Math.max(LEFT_LEAST, 16 + DIGIT * Math.max(0, ...ticks(most).map((value) => show(value).length)));
  const scale = (value: number) => (x.log ? Math.log10(value) : value);
  const [low, high] = [scale(x.min), scale(x.max)];
  const place = (value: number) => LEFT + ((scale(value) - low) / (high - low || 1)) * (width - LEFT - RIGHT);
  const level = (value: number) => height - BOTTOM - (value / most) * (height - TOP - BOTTOM);
  const at = cursor.value === null ? null : Math.min(x.max, Math.max(x.min, cursor.value));
  const read = (one: Series) => (at === null ? one.points.at(-1) : near(one.points, at));
  const seek = (clientX: number) => {
    const box = svg.current!.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (clientX - box.left - LEFT) / (width - LEFT - RIGHT)));
    const value = low + share * (high - low);
    cursor.value = x.log ? 10 ** value : value;
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10 }[event.key];
    if (event.key === "Escape") cursor.value = null;
    else if (event.key === "t") setAsTable(!asTable);
    else if (step === undefined) return;
    else {
      const share = (scale(at ?? x.max) - low) / (high - low || 1);
      const value = low + Math.min(1, Math.max(0, share + step / 100)) * (high - low);
      cursor.value = x.log ? 10 ** value : value;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const spoken = series.map((one) => `${one.name} ${read(one) ? show(read(one)![1]) : "nothing"}`).join(", ");
  const rows = () => {
    const stops = [...new Set(series.flatMap((one) => one.points.map(([value]) => value)))].sort((one, other) => one - other);
    return stops.map((stop) => [stop, ...series.map((one) => one.points.find(([value]) => value === stop)?.[1] ?? null)] as const);
  };
  return (
    <figure class="chart" aria-label={title}>
      <figcaption>
        <h3 class="small">{title}</h3>
        {series.map((one) => (
          <span key={one.name} class="key num">
            <i class={one.kind} style={{ "--colour": `var(${one.colour})` }} />
            {one.name} <b>{read(one) ? show(read(one)![1]) : "–"}</b>
          </span>
        ))}
        {props.note}
        <Saving
          name={props.file}
          svg={() => svg.current}
          rows={() => ({ head: ["x", ...series.map((one) => one.name)], rows: rows().map(([stop, ...values]) => [x.show(stop), ...values]) })}
        >
          <button type="button" class="btn small" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>Table</button>
        </Saving>
      </figcaption>
      <div
        ref={element}
        class="plot"
        role="slider"
        tabIndex={0}
        aria-label={`${title}, cursor`}
        aria-valuemin={Math.round(x.min)}
        aria-valuemax={Math.round(x.max)}
        aria-valuenow={Math.round(at ?? x.max)}
        aria-valuetext={`${x.show(at ?? x.max)}: ${spoken}`}
        onKeyDown={onKey}
        onPointerMove={(event) => seek(event.clientX)}
        onPointerLeave={() => (cursor.value = null)}
      >
        <svg ref={svg} width={width} height={height} viewBox={`0 0 ${width} ${height}`} xmlns="http://www.w3.org/2000/svg" font-family="var(--sans)" font-size="11">
          {ticks(most).map((value) => (
            <g key={value}>
              <line x1={LEFT} x2={width - RIGHT} y1={level(value)} y2={level(value)} stroke="var(--line-soft)" />
              <text x={LEFT - 8} y={level(value) + 4} text-anchor="end" fill="var(--muted)">{show(value)}</text>
            </g>
          ))}
          {x.ticks.map((value) => (
            <text key={value} x={Math.min(place(value), width - 4 - (DIGIT * x.show(value).length) / 2)} y={height - 7} text-anchor="middle" fill="var(--muted)">{x.show(value)}</text>
          ))}
          {props.divide && (
            <g>
              <line x1={place(props.divide.x)} x2={place(props.divide.x)} y1={TOP} y2={height - BOTTOM} stroke="var(--blue)" stroke-dasharray="3 3" />
              <text x={place(props.divide.x) - 6} y={TOP + 10} text-anchor="end" fill="var(--text)">{props.divide.before}</text>
              <text x={place(props.divide.x) + 6} y={TOP + 10} fill="var(--blue)">{props.divide.after}</text>
            </g>
          )}
          {series.map((one) => <Line key={one.name} one={one} place={place} level={level} />)}
          {marks.map((mark, number) => (
            <path key={number} d={`M${place(mark.x) - 4} ${height - BOTTOM - 9}h8l-4 7z`} fill="var(--bad)"><title>{mark.text}</title></path>
          ))}
          {at !== null && <line x1={place(at)} x2={place(at)} y1={TOP} y2={height - BOTTOM} stroke="var(--control)" />}
          {at !== null && <text x={Math.min(width - RIGHT - 30, Math.max(LEFT + 30, place(at)))} y={TOP} text-anchor="middle" fill="var(--text)">{x.show(at)}</text>}
          {at !== null && series.map((one) => read(one) && <circle key={one.name} cx={place(read(one)![0])} cy={level(read(one)![1])} r="3" fill={`var(${one.colour})`} />)}
        </svg>
      </div>
      {asTable && (
        <div class="datatable" tabIndex={0} role="region" aria-label={`${title} as a table`}>
          <table class="plain num">
            <thead><tr><th scope="col">At</th>{series.map((one) => <th key={one.name} scope="col" class="r">{one.name}</th>)}</tr></thead>
            <tbody>{rows().slice(-500).map(([stop, ...values]) => <tr key={stop}><td>{x.show(stop)}</td>{values.map((value, number) => <td key={number} class="r">{value === null ? "" : show(value)}</td>)}</tr>)}</tbody>
          </table>
        </div>
      )}
    </figure>
  );
}

function Line({ one, place, level }: { one: Series; place(value: number): number; level(value: number): number }) {
  if (!one.points.length) return null;
  const colour = `var(${one.colour})`;
  // A line of one point has no length: it is drawn upwards from the axis, so that its height is seen.
  if (one.points.length === 1) {
    const [x, y] = [place(one.points[0][0]), level(one.points[0][1])];
    return (
      <g>
        <line x1={x} x2={x} y1={level(0)} y2={y} stroke={colour} stroke-width="1.6" stroke-opacity="0.45" />
        <circle cx={x} cy={y} r="3.5" fill={colour} />
      </g>
    );
  }
  let path = "";
  one.points.forEach(([x, y], at) => {
    const [left, top] = [place(x).toFixed(1), level(y).toFixed(1)];
    path += at === 0 ? `M${left} ${top}` : one.kind === "step" ? `H${left}V${top}` : `L${left} ${top}`;
  });
  const [first, last] = [one.points[0][0], one.points.at(-1)![0]];
  return (
    <>
      {one.kind === "area" && <path d={`${path}L${place(last).toFixed(1)} ${level(0).toFixed(1)}H${place(first).toFixed(1)}Z`} fill={colour} fill-opacity="0.13" />}
      <path d={path} fill="none" stroke={colour} stroke-width={one.kind === "step" ? 1.25 : 1.6} stroke-dasharray={one.kind === "dashed" ? "4 3" : undefined} stroke-linejoin="round" />
    </>
  );
}
