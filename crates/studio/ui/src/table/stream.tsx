// The stream of a table as it comes: one lane for each shard, what each change did, and the item then and now.

import { batch, signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Refused, call } from "../door";
import { clock, count, plural } from "../format";
import { type TableLegend } from "../legend";
import { Copied, Dialog, Failure, Loading, Saving } from "../parts";
import { adjust, href, place } from "../place";
import { describe, endpoint, partitionNames, say, statusLine } from "../session";
import { type Item, only, same, text } from "../value";
import { Attributes, Summary } from "./diff";
import type { TableState } from "./state";

const HELD_MAX = 2000;
const PAGE = 500;
const ASK_EVERY_MS = 500;
const SHARDS_EVERY_MS = 5000;
const ROW_HEIGHT = 28;
const LANES_SHOWN = 16;
const VIEWS = [
  ["NEW_AND_OLD_IMAGES", "before and after"],
  ["NEW_IMAGE", "the item afterwards"],
  ["OLD_IMAGE", "the item before"],
  ["KEYS_ONLY", "keys"],
] as const;
const EVENTS = ["INSERT", "MODIFY", "REMOVE"] as const;

interface Lane {
  id: string;
  number: number;
  open: boolean;
  iterator: string | null;
  received: number;
}
export interface StreamEntry {
  id: string;
  lane: number;
  at: number;
  sequence: string;
  event: (typeof EVENTS)[number];
  expired: boolean;
  keys: Item;
  before: Item | null;
  after: Item | null;
}

// Follows every shard, and holds the newest records of all of them in the order of their sequence numbers.
export class Tail {
  readonly lanes = signal<Lane[]>([]);
  readonly records = signal<StreamEntry[]>([]);
  readonly paused = signal(false);
  readonly caughtUp = signal(false);
  readonly received = signal(0);
  readonly error = signal<unknown>(null);
  private timer: ReturnType<typeof setTimeout> | undefined;
  private closed = false;
  private looked = 0;

  constructor(
    readonly arn: string,
    readonly from: "LATEST" | "TRIM_HORIZON",
  ) {}

  open() {
    void this.turn();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }

  private async turn() {
    if (!this.paused.value && document.visibilityState === "visible") await this.read(PAGE);
    if (!this.closed) this.timer = setTimeout(() => void this.turn(), this.caughtUp.value || this.paused.value || this.error.value ? ASK_EVERY_MS : 0);
  }

  // The next record of each shard.
  step = () => this.read(1);

  private async read(limit: number) {
    try {
      if (Date.now() - this.looked > SHARDS_EVERY_MS) await this.look();
      const pages = await Promise.all(this.lanes.value.filter((lane) => lane.iterator).map((lane) => this.page(lane, limit)));
      const fresh = pages.flat();
      batch(() => {
        this.error.value = null;
        this.caughtUp.value = limit === 1 ? false : pages.every((page) => page.length < limit);
        if (!fresh.length) return;
        this.received.value += fresh.length;
        const all = [...this.records.value, ...fresh].sort((one, other) => (one.sequence < other.sequence ? 1 : -1));
        this.records.value = all.slice(0, HELD_MAX);
        this.lanes.value = [...this.lanes.value];
      });
    } catch (error) {
      this.error.value = error;
    }
  }

  // Shards come and go: a child begins where its parent ends.
  private async look() {
    const found: any[] = [];
    let from: string | undefined;
    do {
      const { StreamDescription: page } = await call("DescribeStream", { StreamArn: this.arn, ...(from && { ExclusiveStartShardId: from }) });
      found.push(...page.Shards);
      from = page.LastEvaluatedShardId;
    } while (from && found.length < 1000);
    const isFirst = this.looked === 0;
    this.looked = Date.now();
    const known = new Map(this.lanes.value.map((lane) => [lane.id, lane]));
    const parents = new Set(found.map((shard) => shard.ParentShardId));
    const lanes: Lane[] = [];
    for (const shard of found) {
      const open = !shard.SequenceNumberRange.EndingSequenceNumber;
      const lane = known.get(shard.ShardId);
      if (lane) {
        lane.open = open;
        lanes.push(lane);
        continue;
      }
      // From now on, what is closed already has nothing to say.
      if (isFirst && this.from === "LATEST" && (!open || parents.has(shard.ShardId))) continue;
      const from = isFirst ? this.from : "TRIM_HORIZON";
      const { ShardIterator } = await call("GetShardIterator", { StreamArn: this.arn, ShardId: shard.ShardId, ShardIteratorType: from });
      lanes.push({ id: shard.ShardId, number: 0, open, iterator: ShardIterator, received: 0 });
    }
    lanes.forEach((lane, at) => (lane.number = at));
    this.lanes.value = lanes;
  }

  private async page(lane: Lane, limit: number): Promise<StreamEntry[]> {
    try {
      const answer = await call("GetRecords", { ShardIterator: lane.iterator, Limit: limit });
      lane.iterator = answer.NextShardIterator ?? null;
      lane.received += answer.Records.length;
      return answer.Records.map((record: any) => entry(record, lane.number));
    } catch (error) {
      // An iterator lives for 15 minutes; a page that slept longer begins again where it was.
      if (!(error instanceof Refused) || error.type !== "ExpiredIteratorException") throw error;
      const last = this.records.value.find((one) => one.lane === lane.number)?.sequence;
      const where = last ? { ShardIteratorType: "AFTER_SEQUENCE_NUMBER", SequenceNumber: last } : { ShardIteratorType: this.from };
      lane.iterator = (await call("GetShardIterator", { StreamArn: this.arn, ShardId: lane.id, ...where })).ShardIterator;
      return [];
    }
  }
}

function entry(record: any, lane: number): StreamEntry {
  const { dynamodb } = record;
  return {
    id: record.eventID,
    lane,
    at: dynamodb.ApproximateCreationDateTime,
    sequence: dynamodb.SequenceNumber,
    event: record.eventName,
    expired: record.userIdentity?.principalId === "dynamodb.amazonaws.com",
    keys: dynamodb.Keys,
    before: dynamodb.OldImage ?? null,
    after: dynamodb.NewImage ?? null,
  };
}

export function StreamTail({ state }: { state: TableState }) {
  const table = state.description.value!;
  const arn = table.StreamSpecification?.StreamEnabled ? (table.LatestStreamArn as string) : null;
  return arn ? <Following key={arn} state={state} arn={arn} /> : <TurnOn state={state} />;
}

async function change(state: TableState, specification: object) {
  await call("UpdateTable", { TableName: state.name, StreamSpecification: specification });
  state.description.value = await describe(state.name);
}

function TurnOn({ state }: { state: TableState }) {
  const [view, setView] = useState("NEW_AND_OLD_IMAGES");
  const [error, setError] = useState<unknown>(null);
  const act = () => change(state, { StreamEnabled: true, StreamViewType: view }).then(() => say(`The stream of ${state.name} is on.`), setError);
  return (
    <div class="page">
      <div class="teach">
        <h2>The stream is off</h2>
        <p>A stream records every change of an item, in the order in which it happened, and keeps it for 24 hours. Here it can be watched as it comes: one lane for each shard, each change with the item before and after.</p>
        {!state.readOnly && (
          <div class="rowline">
            <span class="pill"><span>records hold</span><select aria-label="What records hold" value={view} onChange={(event) => setView(event.currentTarget.value)}>{VIEWS.map(([id, label]) => <option key={id} value={id}>{label}</option>)}</select></span>
            <button type="button" class="btn pri" onClick={() => void act()}>Turn the stream on</button>
          </div>
        )}
        <p class="muted">Writes cost the same. Reading a stream has a price of its own on AWS: $0.02 for 100,000 GetRecords requests.</p>
        {error ? <Failure error={error} /> : null}
        <pre class="code" role="group" tabIndex={0} aria-label="A command to copy">{`aws dynamodb update-table --endpoint-url ${endpoint()} --table-name ${state.name} \\
    --stream-specification StreamEnabled=true,StreamViewType=${view}`}</pre>
      </div>
    </div>
  );
}

function Following({ state, arn }: { state: TableState; arn: string }) {
  const query = place.value.query;
  const from = query.get("from") === "now" ? "LATEST" : "TRIM_HORIZON";
  const tail = useMemo(() => new Tail(arn, from), [arn, from]);
  useEffect(() => (tail.open(), () => tail.close()), [tail]);
  const [chosen, setChosen] = useState<string | null>(null);
  const [stopping, setStopping] = useState(false);
  const [entity, words, hidden] = [query.get("entity") ?? "", query.get("key") ?? "", new Set((query.get("hide") ?? "").split(",").filter(Boolean))];
  const legend = state.legend.value;
  const keys = state.primary.value;
  const image = (one: StreamEntry) => one.after ?? one.before ?? one.keys;
  const keyOf = (one: StreamEntry) => keys.map((name) => text(one.keys[name], 200)).join(" ");
  const shown = tail.records.value.filter(
    (one) => !hidden.has(one.event) && (!entity || legend.kind(image(one))?.name === entity) && (!words || keyOf(one).toLowerCase().includes(words.toLowerCase())),
  );
  const record = shown.find((one) => one.id === chosen) ?? null;
  const toggle = (event: string) => {
    hidden.has(event) ? hidden.delete(event) : hidden.add(event);
    adjust({ hide: [...hidden].join(",") });
  };
  const line = `${count(tail.received.value)} records received · ${count(tail.records.value.length)} held · ${plural(tail.lanes.value.length, "shard")}`;
  useEffect(() => {
    statusLine.value = line;
  }, [line]);
  useEffect(() => () => void (statusLine.value = ""), []);
  return (
    <>
      <section class="query" aria-label="Filter">
        <div class="pills">
          {legend.kinds.length > 0 && (
            <span class="pill"><span>entity</span><select aria-label="Entity" value={entity} onChange={(event) => adjust({ entity: event.currentTarget.value })}><option value="">all</option>{legend.kinds.map((kind) => <option key={kind.name}>{kind.name}</option>)}</select></span>
          )}
          <span class="pill"><span>key has</span><input aria-label="Text in the key" style={{ width: "14ch" }} value={words} onInput={(event) => adjust({ key: event.currentTarget.value })} /></span>
          {EVENTS.map((event) => <button key={event} type="button" class={`chip event ${event}`} aria-pressed={!hidden.has(event)} onClick={() => toggle(event)}>{event}</button>)}
          <span class="pill"><select aria-label="Begin" value={from} onChange={(event) => adjust({ from: event.currentTarget.value === "LATEST" ? "now" : undefined })}><option value="TRIM_HORIZON">from the oldest</option><option value="LATEST">from now on</option></select></span>
          <span class="right" />
          <span class={`chip ${tail.paused.value ? "warn" : tail.caughtUp.value ? "good" : ""}`} role="status">{tail.paused.value ? "paused" : tail.caughtUp.value ? "● up to date" : "reading"}</span>
          <button type="button" class="btn" aria-pressed={tail.paused.value} onClick={() => (tail.paused.value = !tail.paused.value)}>{tail.paused.value ? "Go on" : "Pause"} <kbd>Space</kbd></button>
          <button type="button" class="btn" disabled={!tail.paused.value} onClick={() => void tail.step()}>Step</button>
          <Saving name={`${state.name}-stream`} rows={() => ({ head: ["time", "event", "shard", "sequence", "key", "before", "after"], rows: shown.map((one) => [new Date(one.at * 1000).toISOString(), one.event, tail.lanes.value[one.lane]?.id ?? "", one.sequence, JSON.stringify(one.keys), one.before && JSON.stringify(one.before), one.after && JSON.stringify(one.after)]) })} />
          {!state.readOnly && <button type="button" class="btn" onClick={() => setStopping(true)}>Turn off</button>}
        </div>
      </section>
      <div class="panes" style={{ gridTemplateColumns: "minmax(0, 1fr) 340px" }}>
        <section class="pane" aria-label="Records">
          <Lanes tail={tail} />
          {tail.error.value ? <div style={{ padding: "12px" }}><Failure error={tail.error.value} /></div> : null}
          {shown.length === 0 ? (
            <div class="empty">
              {tail.records.value.length ? (
                <p>None of the {count(tail.records.value.length)} records that are held fits.</p>
              ) : tail.caughtUp.value ? (
                <>
                  <p><b>No change yet.</b> The next write appears here at once.</p>
                  <p class="muted">To see one, edit an item of the <a href={href(`table/${state.name}`)}>table</a> in another tab.</p>
                </>
              ) : (
                <Loading what="Reading the stream" />
              )}
            </div>
          ) : (
            <RecordList tail={tail} records={shown} chosen={chosen} legend={legend} keys={keys} onChoose={setChosen} />
          )}
        </section>
        <RecordPanel state={state} record={record} lane={record ? tail.lanes.value[record.lane] : undefined} />
      </div>
      {stopping && (
        <Dialog title={`Turn off the stream of ${state.name}`} onClose={() => setStopping(false)}>
          <p>No more changes are recorded. What was recorded can be read for 24 hours. Triggers that read this stream stop.</p>
          <span><button type="button" class="btn bad" onClick={() => void change(state, { StreamEnabled: false }).then(() => say("The stream is off."))}>Turn it off</button></span>
        </Dialog>
      )}
    </>
  );
}

const LANE_WIDTH = 16;
const lanesWide = (lanes: Lane[]) => Math.min(lanes.length, LANES_SHOWN) * LANE_WIDTH;

function Lanes({ tail }: { tail: Tail }) {
  const lanes = tail.lanes.value;
  return (
    <div class="ph lanes">
      <h2>Shards</h2>
      <span class="facets">
        {lanes.slice(0, 8).map((lane) => (
          <span key={lane.id} class="chip num" title={lane.id}>
            <span class={`dot k${lane.number % 8}`} /> {lane.id.slice(-8)} {lane.open ? "" : "closed "}<b>{count(lane.received)}</b>
          </span>
        ))}
        {lanes.length > 8 && <span class="chip">and {lanes.length - 8} more</span>}
      </span>
    </div>
  );
}

function RecordList({ tail, records, chosen, legend, keys, onChoose }: { tail: Tail; records: StreamEntry[]; chosen: string | null; legend: TableLegend; keys: string[]; onChoose(id: string | null): void }) {
  const scroll = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  useEffect(() => {
    const observer = new ResizeObserver(([one]) => setHeight(one.contentRect.height));
    observer.observe(scroll.current!);
    return () => observer.disconnect();
  }, []);
  const at = records.findIndex((one) => one.id === chosen);
  const move = (to: number) => {
    const next = Math.min(records.length - 1, Math.max(0, to));
    onChoose(records[next]?.id ?? null);
    const element = scroll.current!;
    const [low, high] = [next * ROW_HEIGHT, (next + 1) * ROW_HEIGHT - element.clientHeight];
    if (element.scrollTop > low) element.scrollTop = low;
    else if (element.scrollTop < high) element.scrollTop = high;
  };
  const onKey = (event: KeyboardEvent) => {
    const page = Math.floor(height / ROW_HEIGHT) - 1;
    const steps: Record<string, () => void> = {
      ArrowDown: () => move(at + 1),
      ArrowUp: () => move(at - 1),
      PageDown: () => move(at + page),
      PageUp: () => move(at - page),
      Home: () => move(0),
      End: () => move(records.length - 1),
      " ": () => (tail.paused.value = !tail.paused.value),
      Escape: () => onChoose(null),
    };
    if (!steps[event.key]) return;
    event.preventDefault();
    steps[event.key]();
  };
  const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - 8);
  const visible = records.slice(first, first + Math.ceil(height / ROW_HEIGHT) + 16);
  const wide = lanesWide(tail.lanes.value);
  return (
    <div class="scroll" ref={scroll} role="listbox" tabIndex={0} aria-label="Records, the newest first" aria-activedescendant={at >= 0 ? `record-${records[at].id}` : undefined} onScroll={(event) => setTop(event.currentTarget.scrollTop)} onKeyDown={onKey}>
      <div class="spacer" role="presentation" style={{ height: `${records.length * ROW_HEIGHT}px` }}>
        {visible.map((one, place) => {
          const kind = legend.kind(one.after ?? one.before ?? one.keys);
          return (
            <div
              key={one.id}
              id={`record-${one.id}`}
              role="option"
              aria-selected={one.id === chosen}
              class={`row record ${one.id === chosen ? "sel" : ""}`}
              style={{ top: `${(first + place) * ROW_HEIGHT}px`, gridTemplateColumns: `${wide}px 62px 70px 20px minmax(120px, 2fr) minmax(0, 3fr)` }}
              onClick={() => onChoose(one.id)}
            >
              <LaneMark lanes={tail.lanes.value} lane={one.lane} width={wide} />
              <span class="num muted">{clock(new Date(one.at * 1000))}</span>
              <span class={`event ${one.event}`}>{one.expired ? "EXPIRED" : one.event}</span>
              {kind ? <span class={`et k${kind.colour}`} title={kind.name}>{kind.letter}</span> : <span />}
              <span class="sk">{keys.map((name) => text(one.keys[name], 80)).join(" · ")}</span>
              <span class="mono"><Summary before={one.before} after={one.after} keys={keys} /></span>
            </div>
          );
        })}
      </div>
    </div>
  );
}

// All lanes as lines, and a dot in the record's own.
const LaneMark = ({ lanes, lane, width }: { lanes: Lane[]; lane: number; width: number }) => (
  <svg width={width} height={ROW_HEIGHT} aria-hidden="true" class="lanemark">
    {lanes.slice(0, LANES_SHOWN).map((one) => <line key={one.id} x1={one.number * LANE_WIDTH + 8} x2={one.number * LANE_WIDTH + 8} y1="0" y2={ROW_HEIGHT} stroke="var(--line)" />)}
    <circle cx={Math.min(lane, LANES_SHOWN - 1) * LANE_WIDTH + 8} cy={ROW_HEIGHT / 2} r="4.5" fill={`var(--e${lane % 8})`} />
  </svg>
);

function RecordPanel({ state, record, lane }: { state: TableState; record: StreamEntry | null; lane?: Lane }) {
  const [now, setNow] = useState<{ id: string; item: Item | null } | null>(null);
  if (!record)
    return (
      <aside class="insp" aria-label="Record">
        <div class="ph"><b>Record</b></div>
        <div class="sec muted">Choose a record to see the item before and after. Arrows move, Space pauses.</div>
      </aside>
    );
  const keys = state.primary.value;
  const look = async () => {
    const answer = await call("GetItem", { TableName: state.name, Key: only(record.keys, keys), ConsistentRead: true, ReturnConsumedCapacity: "TOTAL" });
    setNow({ id: record.id, item: answer.Item ?? null });
  };
  const known = now?.id === record.id ? now : null;
  const kind = state.legend.value.kind(record.after ?? record.before ?? record.keys);
  const isSame = known && same({ M: known.item ?? {} }, { M: record.after ?? {} });
  return (
    <aside class="insp" aria-label="Record">
      <div class="ph">
        {kind && <span class={`et k${kind.colour}`}>{kind.letter}</span>}
        <b>{kind?.name ?? "Item"}</b>
        <span class="mono">{state.legend.value.name(kind, record.keys)}</span>
        <span class={`event ${record.event} right`}>{record.event}</span>
      </div>
      <div class="sec">
        <h3>Before and after</h3>
        <Attributes before={record.before} after={record.after ?? (record.before ? null : record.keys)} keys={keys} />
        {record.event === "REMOVE" && <p class="muted">{record.expired ? "Deleted because its time to live was over." : "Deleted."}</p>}
        {!record.before && !record.after && <p class="muted">This stream holds keys only.</p>}
      </div>
      <div class="sec">
        <h3>The item now</h3>
        {!known ? (
          <button type="button" class="btn small" onClick={() => void look()}>Read it: GetItem</button>
        ) : !known.item ? (
          <p>It is deleted.</p>
        ) : isSame ? (
          <p>It is as this record left it.</p>
        ) : (
          <Attributes before={record.after} after={known.item} keys={keys} />
        )}
        <p style={{ marginTop: "8px" }}><a href={href(`table/${state.name}`, { pk: text(record.keys[partitionNames(state.description.value!.KeySchema)[0]], 2048) })}>Its partition in the table</a></p>
      </div>
      <div class="sec">
        <h3>Where it was recorded</h3>
        <dl class="kv">
          <dt class="k">time</dt><dd class="t" /><dd class="v">{new Date(record.at * 1000).toISOString().replace(".000", "")}</dd>
          <dt class="k">shard</dt><dd class="t" /><dd class="v" title={lane?.id}>…{lane?.id.slice(-18)}</dd>
          <dt class="k">sequence</dt><dd class="t" /><dd class="v" title={record.sequence}>{record.sequence}</dd>
        </dl>
        <p style={{ marginTop: "8px" }}><Copied text={JSON.stringify(record, null, 2)} label="Copy the record" /></p>
      </div>
    </aside>
  );
}
