// The rows that are held: a window of pages that slides over a table, an index or a query of any length.
//
// A read goes on until the view is full or the end is reached, over as many requests as that takes, and says how much it
// has examined. It can be stopped between two requests and continued. Pages are dropped where the reader came from, so
// that memory does not grow with the table; a page that is dropped leaves its start behind, and is read again when the
// reader comes back. Where reads cost money, a read ends at a limit of units.

import { batch, computed, signal } from "@preact/signals";
import { call } from "../door";
import type { Item } from "../value";

export const PAGE_ITEMS = 200;
const HELD_MAX = 4000;
// Requests with a filter examine more, since most of what they examine is dropped.
const FILTERED_ITEMS = 2000;
// So do those of a filter that few items pass.
const SPARSE_ITEMS = 8000;
const SPARSE_SHARE = 0.05;
// A filtered read goes through everything, so its segments are larger than a page.
const FILTERED_PER_SEGMENT = 32;
const SEGMENTS_MAX = 4096;
const PLACES_NOTED_MAX = 500;

export interface Request {
  operation: "Query" | "Scan" | "GetItem";
  input: Record<string, any>;
}

interface Cursor {
  segment: number;
  from: Item | null;
  // Whether the walk goes on behind a key, without segments.
  free?: boolean;
}

export interface Page {
  start: Cursor;
  items: Item[];
  next: Cursor | null;
}

// How a read ended, or that it has not.
export type End = "reading" | "full" | "limit" | "spent" | "stopped" | "failed" | "complete";

// As many segments as make each hold about a page.
export function segments(all: number, isFiltered = false): number {
  const items = isFiltered ? all / FILTERED_PER_SEGMENT : all;
  let count = 1;
  while (count < SEGMENTS_MAX && items / count > 4 * PAGE_ITEMS) count *= 2;
  return count;
}

export class Walk {
  readonly pages = signal<Page[]>([]);
  readonly end = signal<End>("reading");
  readonly error = signal<unknown>(null);
  readonly units = signal(0);
  readonly examined = signal(0);
  readonly found = signal(0);
  readonly milliseconds = signal(0);
  // What was read of the key space, as pairs of places.
  readonly ranges = signal<[number, number][]>([]);
  readonly isReading = computed(() => this.end.value === "reading");
  // Where the reading is, from 0 to 1; none if that is not known.
  readonly progress = signal<number | null>(null);
  // Whether the read began at the first item, so that its end is the end of everything.
  isWhole = true;
  // Starts of pages in front of the first one that is held.
  private before: Cursor[] = [];
  // Called with every change of the pages that are held, so that the view can stay where it was.
  change: (apply: () => void, stays: Item | undefined) => void = (apply) => apply();
  private generation = 0;
  private isStopping = false;
  // Units at which the read ends that is under way.
  private mayUse = Infinity;
  private abort = new AbortController();

  constructor(
    readonly request: Request,
    readonly total: number = 1,
    // How many read units one read may use, where they cost money.
    readonly unitsMax: () => number = () => Infinity,
  ) {}

  // Items that were read elsewhere, in their order.
  static of(items: Item[], units: number, examined: number): Walk {
    const walk = new Walk({ operation: "Query", input: {} });
    walk.pages.value = [{ start: { segment: 0, from: null }, items, next: null }];
    walk.units.value = units;
    walk.examined.value = examined;
    walk.found.value = items.length;
    walk.end.value = "complete";
    return walk;
  }

  get isScan() {
    return this.request.operation === "Scan";
  }
  get isFiltered() {
    return Boolean(this.request.input.FilterExpression);
  }

  // The place among all keys, from 0 to 1, of a held row; none behind a key.
  at(page: Page | undefined, share = 0): number | null {
    if (!page || !this.isScan || page.start.free) return null;
    const last = page.next ? page.next.segment + (page.next.from ? 0.5 : 0) : this.total;
    return Math.min(1, (page.start.segment + share * Math.max(0.5, last - page.start.segment)) / this.total);
  }

  async open(at = 0, from: Item | null = null): Promise<void> {
    this.close();
    this.abort = new AbortController();
    const segment = Math.min(this.total - 1, Math.floor(at * this.total));
    this.isWhole = segment === 0 && from === null;
    batch(() => {
      this.before = [];
      this.error.value = null;
      this.pages.value = [];
      this.found.value = this.examined.value = 0;
    });
    const start = { segment, from, free: from !== null };
    await this.reading(() => this.fill({ start, items: [], next: start }));
  }

  close() {
    this.generation++;
    this.abort.abort();
  }

  // After the request that is under way.
  stop() {
    this.isStopping = true;
  }

  get hasNext() {
    return Boolean(this.pages.value.at(-1)?.next);
  }
  get hasPrevious() {
    const first = this.pages.value[0];
    return this.before.length > 0 || Boolean(first && this.isScan && !first.start.free && first.start.segment > 0 && !first.start.from);
  }

  // Reads on if nothing else does, and if the reader has not said how much there should be.
  async forward(): Promise<void> {
    if (this.end.peek() === "full") await this.proceed();
  }

  // Reads on after a full view, a limit, a stop or an error.
  async proceed(): Promise<void> {
    const last = this.pages.value.at(-1);
    if (!last?.next || this.isReading.peek()) return;
    const isOpen = last.items.length < PAGE_ITEMS && !this.request.input.Limit;
    await this.reading(() => this.fill(isOpen ? last : { start: last.next!, items: [], next: last.next }));
  }

  async backward(): Promise<void> {
    if (!this.hasPrevious || this.isReading.peek()) return;
    await this.reading(async (isLatest) => {
      const known = this.before.pop();
      const page = known ? await this.again(known, isLatest) : await this.above(this.pages.value[0].start.segment - 1, isLatest);
      if (!page) return;
      const stays = this.pages.value[0]?.items[0];
      this.change(() => (this.pages.value = this.trimmed([page, ...this.pages.value], "end")), stays);
    });
  }

  private async reading(act: (isLatest: () => boolean) => Promise<void>): Promise<void> {
    const generation = ++this.generation;
    const isLatest = () => generation === this.generation;
    this.isStopping = false;
    this.mayUse = this.units.peek() + this.unitsMax();
    batch(() => ((this.end.value = "reading"), (this.error.value = null)));
    const began = performance.now();
    try {
      await act(isLatest);
      if (isLatest()) this.end.value = this.ended();
    } catch (error) {
      if (isLatest()) batch(() => ((this.error.value = error), (this.end.value = "failed")));
    } finally {
      if (isLatest()) this.milliseconds.value += performance.now() - began;
    }
  }

  private ended(): End {
    if (!this.hasNext) return "complete";
    if (this.request.input.Limit) return "limit";
    if (this.units.value >= this.mayUse) return "spent";
    return this.pages.value.at(-1)!.items.length >= PAGE_ITEMS ? "full" : "stopped";
  }

  // Adds to a page, the last one, until it is full. What was found is shown after every request.
  private async fill(page: Page): Promise<void> {
    const generation = this.generation;
    const held = this.pages.value.filter((one) => one.start !== page.start);
    let grown = page;
    do {
      const { items, next, examined } = await this.fetch(grown.next!);
      if (generation !== this.generation) return;
      grown = { ...grown, items: [...grown.items, ...items], next };
      this.count(items.length, examined);
      // Most requests with a filter find nothing: the rows stay as they are.
      if (items.length || !next || held.length === this.pages.value.length) this.show([...held, grown]);
      else this.pages.value.at(-1)!.next = next;
    } while (grown.next && grown.items.length < PAGE_ITEMS && !this.isStopping && this.units.peek() < this.mayUse && !this.request.input.Limit);
  }

  private show(pages: Page[]) {
    const kept = this.trimmed(pages, "start");
    this.before.push(...pages.slice(0, pages.length - kept.length).map((one) => one.start));
    this.change(() => (this.pages.value = kept), kept.at(-2)?.items[0] ?? kept[0]?.items[0]);
  }

  // Drops pages at one side until few enough items are held.
  private trimmed(pages: Page[], side: "start" | "end"): Page[] {
    const kept = [...pages];
    let items = kept.reduce((sum, page) => sum + page.items.length, 0);
    while (items > HELD_MAX && kept.length > 2) items -= (side === "start" ? kept.shift()! : kept.pop()!).items.length;
    return kept;
  }

  // A page that was dropped, read from its start.
  private async again(start: Cursor, isLatest: () => boolean): Promise<Page | undefined> {
    let page: Page = { start, items: [], next: start };
    while (page.next && page.items.length < PAGE_ITEMS) {
      const { items, next } = await this.fetch(page.next);
      if (!isLatest()) return undefined;
      page = { ...page, items: [...page.items, ...items], next };
    }
    return page;
  }

  // The last page of the nearest segment above that has items. Earlier pages of it leave their starts behind.
  private async above(from: number, isLatest: () => boolean): Promise<Page | undefined> {
    for (let segment = from; segment >= 0; segment--) {
      let page: Page = { start: { segment, from: null }, items: [], next: { segment, from: null } };
      const starts: Cursor[] = [];
      while (page.next?.segment === segment) {
        const { items, next, examined } = await this.fetch(page.next);
        if (!isLatest()) return undefined;
        this.count(items.length, examined);
        const isFull = page.items.length >= PAGE_ITEMS;
        if (isFull) starts.push(page.start);
        page = isFull ? { start: page.next, items, next } : { ...page, items: [...page.items, ...items], next };
      }
      this.isWhole ||= segment === 0;
      if (page.items.length || segment === 0 || this.isStopping) {
        this.before.push(...starts);
        return page;
      }
    }
    return undefined;
  }

  private async fetch(cursor: Cursor): Promise<{ items: Item[]; next: Cursor | null; examined: number }> {
    const { operation, input } = this.request;
    if (operation === "GetItem") {
      const answer = await call(operation, input, this.abort.signal);
      this.units.value += answer.ConsumedCapacity?.CapacityUnits ?? 0;
      return { items: answer.Item ? [answer.Item] : [], next: null, examined: 1 };
    }
    const segmented = this.isScan && this.total > 1 && !cursor.free;
    const answer = await call(
      operation,
      {
        ...input,
        Limit: input.Limit ?? this.pageLimit(),
        ReturnConsumedCapacity: "INDEXES",
        ...(segmented && { Segment: cursor.segment, TotalSegments: this.total }),
        ...(cursor.from && { ExclusiveStartKey: cursor.from }),
      },
      this.abort.signal,
    );
    const last: Item | undefined = answer.LastEvaluatedKey;
    const following = segmented && cursor.segment + 1 < this.total ? { segment: cursor.segment + 1, from: null } : null;
    const next = last ? { ...cursor, from: last } : following;
    this.units.value += answer.ConsumedCapacity?.CapacityUnits ?? 0;
    this.note(cursor, next);
    return { items: answer.Items ?? [], next, examined: answer.ScannedCount ?? 0 };
  }

  private pageLimit(): number {
    if (!this.isFiltered) return PAGE_ITEMS;
    return this.examined.value > 0 && this.found.value < SPARSE_SHARE * this.examined.value ? SPARSE_ITEMS : FILTERED_ITEMS;
  }

  private count(found: number, examined: number) {
    batch(() => {
      this.found.value += found;
      this.examined.value += examined;
    });
  }

  private note(from: Cursor, to: Cursor | null) {
    if (!this.isScan || from.free) return;
    const place = (cursor: Cursor | null) => (cursor ? (cursor.segment + (cursor.from ? 0.5 : 0)) / this.total : 1);
    const [start, end] = [place(from), place(to)];
    const last = this.ranges.value.at(-1);
    batch(() => {
      this.progress.value = end;
      const joined: [number, number][] = last && last[1] >= start && last[0] <= start ? [...this.ranges.value.slice(0, -1), [last[0], Math.max(last[1], end)]] : [...this.ranges.value, [start, end]];
      this.ranges.value = joined.slice(-PLACES_NOTED_MAX);
    });
  }
}
