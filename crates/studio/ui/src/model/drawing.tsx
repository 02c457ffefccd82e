// The picture of a model as SVG. Everything that is drawn is also in a table, for who can't see it.

import type { Entity, Legend, Pattern } from "../legend";
import { type Collection, type ItemBox, type Lane, type Picture, type Size, cut, hintOf, shownName } from "./layout";
import type { Finding } from "./state";

export type Chosen = Entity | Pattern | undefined;

interface Props {
  legend: Legend;
  picture: Picture;
  chosen: Chosen;
  onChoose(one: Entity | Pattern): void;
  svg?: { current: SVGSVGElement | null };
  scale?: number;
}

export function Drawing({ legend, picture, chosen, onChoose, svg, scale = 1 }: Props) {
  const { size } = picture;
  const order = [...picture.lanes.flatMap((lane) => lane.collections.flatMap((one) => [...one.patterns.map((each) => each.pattern), ...(lane.index ? [] : one.items.map((each) => each.entity))])), ...picture.unplaced.map((one) => one.pattern)];
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (!step || !order.length) return;
    event.preventDefault();
    event.stopPropagation();
    const at = order.findIndex((one) => one === chosen);
    onChoose(order[(at + step + order.length) % order.length]);
  };
  const isPattern = (one: Chosen): one is Pattern => one !== undefined && "operation" in one;
  const reads = (lane: Lane, item: ItemBox) => isPattern(chosen) && (chosen.reads ? chosen.index === lane.index && chosen.tables.includes(lane.table) : lane.index === null) && chosen.entities.includes(item.entity.name);
  return (
    <div role="application" tabIndex={0} aria-label={`Picture of ${legend.model}: arrows choose, the file beside it follows`} onKeyDown={onKey}>
    <svg ref={svg} class="picture" width="100%" style={{ maxWidth: `${size.width * scale}px` }} viewBox={`0 0 ${size.width} ${picture.height}`} xmlns="http://www.w3.org/2000/svg" font-family="var(--sans)" font-size="12"  aria-hidden="true">
      <defs>
        <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="var(--blue)" /></marker>
        <marker id="tip-write" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="var(--warn)" /></marker>
      </defs>
      {picture.lanes.map((lane) => (
        <g key={`${lane.table}/${lane.index}`}>
          <rect x={size.lane} y={lane.y} width={size.width - size.lane - 4} height={lane.height} rx="9" fill="var(--paper)" stroke="var(--line)" />
          <text x={size.lane + 12} y={lane.y + 21}><tspan font-weight="650" font-size="13" fill="var(--text)">{lane.title}</tspan><tspan dx="10" font-family="var(--mono)" fill="var(--muted)">{lane.keys}</tspan></text>
          <text x={size.width - 16} y={lane.y + 21} text-anchor="end" fill="var(--muted)">{cut(lane.fact, 50)}</text>
          {lane.collections.length === 0 && <text x={size.lane + 12} y={lane.y + 44} fill="var(--muted)">No entity is in it.</text>}
          {lane.collections.map((one) => <Group key={one.template} size={size} lane={lane} one={one} chosen={chosen} onChoose={onChoose} reads={reads} />)}
        </g>
      ))}
      {picture.unplaced.length > 0 && <text x={size.lane + 12} y={picture.unplaced[0].y - 8} fill="var(--muted)">Not served by any key yet</text>}
      {picture.unplaced.map(({ pattern, y, finding }) => (
        <g key={pattern.id}>
          <Chip size={size} pattern={pattern} y={y} finding={finding} chosen={chosen} onChoose={onChoose} />
          <text x={size.lane + 12} y={y + 20} fill="var(--muted)">{cut(pattern.gaps[0] ?? pattern.elsewhere ?? pattern.description ?? "", 96)}</text>
        </g>
      ))}
    </svg>
    </div>
  );
}

function Group({ size, lane, one, chosen, onChoose, reads }: { size: Size; lane: Lane; one: Collection; chosen: Chosen; onChoose(one: Entity | Pattern): void; reads(lane: Lane, item: ItemBox): boolean }) {
  const isChosen = one.patterns.some((each) => each.pattern === chosen);
  const left = size.lane + 12;
  return (
    <g>
      <rect x={left} y={one.y} width={size.partition} height={one.height} rx="7" fill="var(--raised)" stroke={isChosen ? "var(--blue)" : "var(--line)"} stroke-width={isChosen ? 1.5 : 1} />
      <text x={left + 12} y={one.y + 21} font-family="var(--mono)" font-weight="600" fill="var(--text)"><title>{one.template}</title>{cut(one.template, 26)}</text>
      <text x={left + 12} y={one.y + 40} fill="var(--muted)">{one.items.map((each) => each.entity.name).join(", ").length > 30 ? `${one.items.length} entities` : one.items.map((each) => each.entity.name).join(", ")}</text>
      {one.patterns.map(({ pattern, y, finding }) => (
        <g key={pattern.id}>
          <path d={`M${size.chip + 4} ${y + size.row / 2}H${left - 1}`} stroke={pattern.reads ? "var(--blue)" : "var(--warn)"} stroke-width={pattern === chosen ? 2 : 1.25} stroke-dasharray={pattern.reads ? undefined : "4 3"} fill="none" marker-end={pattern.reads ? "url(#tip)" : "url(#tip-write)"} />
          <Chip size={size} pattern={pattern} y={y} finding={finding} chosen={chosen} onChoose={onChoose} />
        </g>
      ))}
      {one.items.map((item) => {
        const isRead = reads(lane, item);
        const middle = item.y + size.row / 2;
        const width = size.width - 4 - 12 - size.items;
        const isOwn = item.entity === chosen;
        const many = (item.entity.items ?? 0) > 1;
        const end = size.width - 26 - item.fact.length * 6.6;
        const tags = tagged(item.writers, end);
        const room = Math.floor(((tags[0]?.x ?? end) - size.items - 46) / 7.3);
        return (
          <g key={item.entity.name} class="choosable" onClick={() => onChoose(item.entity)}>
            <title>{item.entity.description ?? item.entity.name}</title>
            {isRead && <path d={`M${left + size.partition} ${middle}H${size.items - 1}`} stroke="var(--blue)" stroke-width="2" marker-end="url(#tip)" />}
            {many && <rect x={size.items + 4} y={item.y + 4} width={width} height={size.row} rx="6" fill="var(--panel)" stroke="var(--line)" />}
            <rect x={size.items} y={item.y} width={width} height={size.row} rx="6" fill={isRead || isOwn ? "var(--blue-soft)" : "var(--panel)"} stroke={isRead || isOwn ? "var(--blue)" : "var(--control)"} stroke-width={isRead || isOwn ? 1.5 : 1} />
            <rect x={size.items} y={item.y + 1} width="4" height={size.row - 2} fill={`var(--e${item.at})`} />
            <rect x={size.items + 10} y={item.y + 7} width="18" height="18" rx="4" fill={`var(--e${item.at})`} />
            <text x={size.items + 19} y={item.y + 20} text-anchor="middle" font-size="10.5" font-weight="650" fill="var(--on-entity)">{item.letter}</text>
            <text x={size.items + 36} y={item.y + 20} font-family="var(--mono)" fill="var(--text)">{cut(item.when ? `${item.template}  if ${item.when}` : item.template, Math.max(8, room))}</text>
            {tags.map(({ text, x, width: wide }) => (
              <g key={text}>
                <rect x={x} y={item.y + 7} width={wide} height="18" rx="5" fill="var(--warn-soft)" stroke="var(--warn)" stroke-dasharray="3 2" />
                <text x={x + wide / 2} y={item.y + 20} text-anchor="middle" font-size="11" font-weight="600" fill="var(--warn)">{text}</text>
              </g>
            ))}
            <text x={size.width - 26} y={item.y + 20} text-anchor="end" fill="var(--muted)" font-size="11.5">{item.fact}</text>
            {item.findings.map(({ finding, y }) => <Note key={y} size={size} finding={finding} y={y} width={width} />)}
          </g>
        );
      })}
    </g>
  );
}

// The patterns that write an item, from the right, as far as there is room; the rest is a number.
const TAGS_WIDTH = 190;
function tagged(ids: string[], end: number): { text: string; x: number; width: number }[] {
  const wide = (text: string) => Math.ceil(12 + 6.9 * text.length);
  const texts: string[] = [];
  let sum = 0;
  for (const text of ids.map((id) => cut(id, 11))) {
    if (sum + wide(text) > TAGS_WIDTH) break;
    sum += wide(text) + 4;
    texts.push(text);
  }
  if (texts.length < ids.length) texts.push(`+${ids.length - texts.length}`);
  let x = end - 8;
  const placed = texts.reverse().map((text) => ({ text, width: wide(text), x: (x -= wide(text) + 4) }));
  return placed.reverse();
}

function Chip({ size, pattern, y, finding, chosen, onChoose }: { size: Size; pattern: Pattern; y: number; finding?: Finding; chosen: Chosen; onChoose(one: Pattern): void }) {
  const isChosen = pattern === chosen;
  const colour = pattern.reads ? "var(--blue)" : "var(--warn)";
  return (
    <g class="choosable" onClick={() => onChoose(pattern)}>
      <title>{`${pattern.id}: ${pattern.description ?? pattern.operation}${finding ? `. ${finding.rule ?? finding.level}: ${finding.message}` : ""}`}</title>
      <rect x="6" y={y} width={size.chip - 2} height={size.row} rx="7" fill={isChosen ? colour : "var(--panel)"} stroke={colour} stroke-width="1.4" />
      <text x="13" y={y + 20} font-weight="650" fill={isChosen ? "var(--panel)" : colour}>{shownName(pattern)}</text>
      <text x={size.chip - 2} y={y + 20} text-anchor="end" font-size="10.5" fill={isChosen ? "var(--panel)" : "var(--muted)"}>{hintOf(pattern)}</text>
      {finding && <circle cx={size.chip + 2} cy={y + 2} r="5" fill={finding.level === "error" ? "var(--bad)" : "var(--warn)"} />}
    </g>
  );
}

function Note({ size, finding, y, width }: { size: Size; finding: Finding; y: number; width: number }) {
  const colour = finding.level === "error" ? "bad" : "warn";
  return (
    <g>
      <title>{finding.message}</title>
      <rect x={size.items} y={y - 4} width={width} height="24" rx="6" fill={`var(--${colour}-soft)`} stroke={`var(--${colour})`} />
      <text x={size.items + 10} y={y + 12} font-size="11.5" fill="var(--text)"><tspan font-weight="650" fill={`var(--${colour})`}>{finding.rule ?? finding.level}</tspan><tspan dx="6">{cut(finding.message, 68)}</tspan></text>
    </g>
  );
}
