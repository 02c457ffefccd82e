// The rows that are held: a window of pages that slides over a table, an index or a query of any length.
//
// Pages are asked for where the reader goes and dropped where it came from, so that memory does not grow with
// the table. A page that is dropped leaves its start behind, and is read again when somebody comes back.

import { signal } from "@preact/signals";
import { call } from "../door";
import type { Item } from "../value";

export const PAGE_ITEMS = 200;
const PAGES_HELD = 20;
// Segments without an item that are passed over in one go.
const EMPTY_MAX = 64;
const SEGMENTS_MAX = 4096;

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

// As many segments as make each hold about a page.
export function segments(items: number): number {
  let count = 1;
  while (count < SEGMENTS_MAX && items / count > 4 * PAGE_ITEMS) count *= 2;
  return count;
}

export class Walk {
  readonly pages = signal<Page[]>([]);
  readonly loading = signal(false);
  readonly error = signal<unknown>(null);
  readonly units = signal(0);
  readonly scanned = signal(0);
  // Starts of pages in front of the first one that is held.
  private before: Cursor[] = [];
  // Called with every change of the pages that are held, so that the view can stay where it was.
  change: (apply: () => void, stays: Item | undefined) => void = (apply) => apply();
  private generation = 0;
  private abort = new AbortController();

  constructor(
    readonly request: Request,
    readonly total: number = 1,
    private limit?: number,
  ) {}

  get isScan() {
    return this.request.operation === "Scan";
  }

  // The place among all keys, from 0 to 1, of a held row; none behind a key.
  at(page: Page | undefined, share = 0): number | null {
    if (!page || !this.isScan || page.start.free) return null;
    const end = page.next && page.next.segment === page.start.segment ? 0.5 : 1;
    return Math.min(1, (page.start.segment + share * end) / this.total);
  }

  async open(at = 0, from: Item | null = null): Promise<void> {
    this.generation++;
    this.abort.abort();
    this.abort = new AbortController();
    this.before = [];
    this.error.value = null;
    const segment = Math.min(this.total - 1, Math.floor(at * this.total));
    const page = await this.read({ segment, from, free: from !== null });
    if (page) this.pages.value = [page];
  }

  close() {
    this.generation++;
    this.abort.abort();
  }

  get hasNext() {
    return Boolean(this.pages.value.at(-1)?.next);
  }
  get hasPrevious() {
    const first = this.pages.value[0];
    return this.before.length > 0 || Boolean(first && this.isScan && !first.start.free && first.start.segment > 0 && !first.start.from);
  }

  async forward(): Promise<void> {
    const next = this.pages.value.at(-1)?.next;
    if (!next || this.loading.value) return;
    const page = await this.read(next);
    if (!page) return;
    const stays = this.pages.value.at(-1)?.items[0];
    const held = [...this.pages.value, page];
    const dropped = held.length > PAGES_HELD ? held.shift() : undefined;
    if (dropped) this.before.push(dropped.start);
    this.change(() => (this.pages.value = held), stays);
  }

  async backward(): Promise<void> {
    if (!this.hasPrevious || this.loading.value) return;
    const known = this.before.pop();
    const page = known ? await this.read(known) : await this.lastOf(this.pages.value[0].start.segment - 1);
    if (!page) return;
    const stays = this.pages.value[0]?.items[0];
    this.change(() => (this.pages.value = [page, ...this.pages.value].slice(0, PAGES_HELD)), stays);
  }

  // The end of a segment that was not read yet; its earlier pages leave their starts behind.
  private async lastOf(segment: number): Promise<Page | undefined> {
    let page = await this.read({ segment, from: null }, -1);
    for (let pages = 0; page?.next && page.next.segment === page.start.segment && page.next.from && pages < EMPTY_MAX; pages++) {
      this.before.push(page.start);
      page = await this.read(page.next);
    }
    return page;
  }

  // Segments without items are passed over, upwards or downwards.
  private async read(start: Cursor, step = 1): Promise<Page | undefined> {
    const generation = this.generation;
    this.loading.value = true;
    try {
      let cursor: Cursor | null = start;
      for (let tries = 0; cursor && tries <= EMPTY_MAX; tries++) {
        const page: Page = await this.fetch(cursor);
        if (generation !== this.generation) return undefined;
        if (page.items.length || tries === EMPTY_MAX) return step > 0 ? { ...page, start } : page;
        const above: Cursor | null = cursor.segment > 0 ? { segment: cursor.segment - 1, from: null } : null;
        const next: Cursor | null = step > 0 ? page.next : above;
        if (!next) return page;
        cursor = next;
      }
    } catch (error) {
      if (generation === this.generation) this.error.value = error;
    } finally {
      if (generation === this.generation) this.loading.value = false;
    }
    return undefined;
  }

  private async fetch(cursor: Cursor): Promise<Page> {
    const { operation, input } = this.request;
    if (operation === "GetItem") {
      const answer = await call(operation, input, this.abort.signal);
      this.count(answer, answer.Item ? 1 : 0);
      return { start: cursor, items: answer.Item ? [answer.Item] : [], next: null };
    }
    const bounded = this.limit ?? input.Limit;
    const segmented = this.isScan && this.total > 1 && !cursor.free;
    const answer = await call(
      operation,
      {
        ...input,
        Limit: bounded ?? PAGE_ITEMS,
        ReturnConsumedCapacity: "INDEXES",
        ...(segmented && { Segment: cursor.segment, TotalSegments: this.total }),
        ...(cursor.from && { ExclusiveStartKey: cursor.from }),
      },
      this.abort.signal,
    );
    this.count(answer, answer.ScannedCount ?? 0);
    const last: Item | undefined = answer.LastEvaluatedKey;
    const following = segmented && cursor.segment + 1 < this.total ? { segment: cursor.segment + 1, from: null } : null;
    const next = bounded ? null : last ? { ...cursor, from: last } : following;
    return { start: cursor, items: answer.Items ?? [], next };
  }

  private count(answer: any, scanned: number) {
    this.units.value += answer.ConsumedCapacity?.CapacityUnits ?? 0;
    this.scanned.value += scanned;
  }
}
