// What the table screen knows: what is asked, what is held, what is chosen, what is about to be written.

import { batch, computed, effect, signal, untracked } from "@preact/signals";
import { Refused, call, errorText, errorType, post } from "../door";
import { type Pattern, TableLegend, modelOf } from "../legend";
import { adjust, place } from "../place";
import {
  type IndexDescription,
  type TableDescription,
  describe,
  indexesOf,
  keyNames,
  partitionNames,
  say,
  session,
  sortNames,
  typeOf,
} from "../session";
import { type Attribute, type Item, get, having, only, same, text } from "../value";
import { type Row, columnsOf, keyText, rowsOf } from "./rows";
import { type Page, Walk, segments } from "./walk";

export interface Condition {
  operator: string;
  values: Attribute[];
}
export interface Filter extends Condition {
  path: (string | number)[];
}
// A read by its parts, as `request/build` takes it.
export interface Parts {
  index: string;
  partition: Attribute[];
  sort: Condition[];
  filters: Filter[];
  descending: boolean;
  consistent: boolean;
  limit: number | null;
}
export const noParts = (): Parts => ({ index: "", partition: [], sort: [], filters: [], descending: false, consistent: false, limit: null });

// How many values an operator takes.
export const valuesOf = (operator: string): number => (operator === "between" ? 2 : operator.endsWith("exists") ? 0 : 1);

// What can be asked already: parts that somebody is still writing are left out, and counted.
export function complete(parts: Parts): { parts: Parts; open: number } {
  const whole = (one: Condition) => one.values.filter(Boolean).length >= valuesOf(one.operator);
  const sort = parts.sort.filter(whole);
  const filters = parts.filters.filter((one) => whole(one) && one.path.length > 0);
  return { parts: { ...parts, sort, filters }, open: parts.sort.length - sort.length + parts.filters.length - filters.length };
}

export interface Change {
  old: Item | null;
  new: Item | null;
}
export interface WritePlan {
  operation: string;
  input: any;
  condition: string[];
  parts: { name: string; index: boolean; units: number; what: string[] }[];
  total: number | null;
  // The error that the write would answer now: then it has no price.
  refusal: any;
  items: Change[];
  notes: string[];
  code: Record<string, string>;
}
export interface Conflict {
  key: string;
  mine: Item | null;
  before: Item | null;
  theirs: Item | null;
}
interface Written {
  at: Date;
  what: string;
  changes: Change[];
}

// The rows of one index, around what is chosen in the table.
export class Pane {
  readonly rows = signal<Item[]>([]);
  readonly reason = signal("");
  readonly loading = signal(false);
  readonly cursor = signal(-1);
  private turn = 0;

  constructor(
    readonly table: TableDescription,
    readonly index: IndexDescription,
  ) {}

  get keys() {
    return keyNames(this.index.KeySchema);
  }
  get projected(): ReadonlySet<string> | null {
    const { ProjectionType, NonKeyAttributes } = this.index.Projection;
    if (ProjectionType === "ALL") return null;
    return new Set([...this.keys, ...keyNames(this.table.KeySchema), ...(NonKeyAttributes ?? [])]);
  }
  // Why an item has no row here.
  missing(item: Item): string {
    const absent = this.keys.filter((name) => !get(item, name));
    const wrong = this.keys.filter((name) => get(item, name) && !(typeOf(this.table, name) in item[name]));
    if (absent.length) return `No row: ${absent.join(" and ")} ${absent.length > 1 ? "are" : "is"} missing.`;
    return wrong.length ? `No row: ${wrong.join(" and ")} is not of type ${typeOf(this.table, wrong[0])}.` : "";
  }

  async show(chosen: Item | null, siblings: Item[]) {
    const turn = ++this.turn;
    this.loading.value = true;
    try {
      this.reason.value = chosen ? this.missing(chosen) : "";
      const rows = chosen ? await this.around(chosen, siblings) : await this.first();
      if (turn === this.turn) this.rows.value = rows;
    } catch (error) {
      if (turn === this.turn) this.reason.value = (error as Error).message;
    } finally {
      if (turn === this.turn) this.loading.value = false;
    }
  }

  private async first(): Promise<Item[]> {
    const answer = await call("Scan", { ...this.source, Limit: 60 });
    return answer.Items;
  }

  private get source() {
    return { TableName: this.table.TableName, IndexName: this.index.IndexName, ReturnConsumedCapacity: "INDEXES" };
  }

  // The index partitions of the chosen item and of those beside it in the table.
  private async around(chosen: Item, siblings: Item[]): Promise<Item[]> {
    const partition = partitionNames(this.index.KeySchema);
    const found = new Map<string, Item>();
    for (const item of [chosen, ...siblings])
      if (!this.missing(item) && found.size < 6) {
        const id = keyText(item, partition);
        if (!found.has(id)) found.set(id, item);
      }
    const groups = await Promise.all([...found.values()].map((item) => this.partition(item, item === chosen)));
    return groups.flat();
  }

  // Rows on both sides of the item, in the order of the index.
  private async partition(item: Item, isChosen: boolean): Promise<Item[]> {
    const [partition, sort] = [partitionNames(this.index.KeySchema), sortNames(this.index.KeySchema)];
    const equal = partition.map((name, at) => [`#p${at}`, name, `:p${at}`] as const);
    const names = Object.fromEntries(equal.map(([alias, name]) => [alias, name]));
    const values = Object.fromEntries(equal.map(([, name, value]) => [value, item[name]]));
    const condition = equal.map(([alias, , value]) => `${alias} = ${value}`).join(" AND ");
    const query = (more: string, input: object) =>
      call("Query", {
        ...this.source,
        KeyConditionExpression: condition + more,
        ExpressionAttributeNames: more ? { ...names, "#s": sort[0] } : names,
        ExpressionAttributeValues: more ? { ...values, ":s": item[sort[0]] } : values,
        ...input,
      });
    if (!isChosen || sort.length !== 1) return (await query("", { Limit: isChosen ? 24 : 8, ScanIndexForward: false })).Items;
    const [after, before] = await Promise.all([
      query(" AND #s > :s", { Limit: 4 }),
      query(" AND #s <= :s", { Limit: 20, ScanIndexForward: false }),
    ]);
    return [...after.Items.reverse(), ...before.Items];
  }
}

const UNDO_MAX = 50;
const ASKED = ["on", "pk", "sk", "filters", "desc", "limit"];
const asked = (query: URLSearchParams) => JSON.stringify(ASKED.map((name) => query.getAll(name)));

export class TableState {
  readonly description = signal<TableDescription | null>(null);
  readonly error = signal<unknown>(null);
  readonly walk = signal<Walk | null>(null);
  readonly parts = signal<Parts>(noParts());
  readonly built = signal<any>(null);
  readonly buildError = signal("");
  readonly ran = signal<{ milliseconds: number; predicted: number | null } | null>(null);
  readonly pattern = signal<Pattern | null>(null);
  readonly patternValues = signal<Record<string, Attribute>>({});
  readonly patternResult = signal<any>(null);
  readonly hits = signal<ReadonlySet<string>>(new Set());
  readonly cursor = signal(-1);
  readonly chosen = signal<Item | null>(null);
  readonly marked = signal<ReadonlySet<string>>(new Set());
  readonly closed = signal<ReadonlySet<string>>(new Set());
  readonly facet = signal<string | null>(null);
  readonly grouped = signal(true);
  readonly sorted = signal<{ name: string; descending: boolean } | null>(null);
  readonly panes = signal<Pane[]>([]);
  readonly tray = signal<ReadonlyMap<string, Change>>(new Map());
  readonly plan = signal<WritePlan | null>(null);
  readonly planError = signal("");
  readonly conflicts = signal<Conflict[]>([]);
  readonly written = signal<Written[]>([]);
  readonly writing = signal(false);
  readonly readRanges = signal<[number, number][]>([]);
  readonly anchor = { shift: 0 };
  private stops: (() => void)[] = [];
  private started = false;
  // The question that the address holds.
  private address = "";
  private buildTurn = 0;
  private planTurn = 0;

  constructor(readonly name: string) {}

  readonly model = computed(() => modelOf(this.name));
  readonly source = computed<{ KeySchema: TableDescription["KeySchema"] } | null>(() => {
    const table = this.description.value;
    return indexesOf(table ?? undefined).find((one) => one.IndexName === this.parts.value.index) ?? table;
  });
  readonly primary = computed(() => (this.description.value ? keyNames(this.description.value.KeySchema) : []));
  readonly legend = computed(() => new TableLegend(this.name, this.primary.value, this.model.value?.legend ?? null));
  readonly pages = computed<Page[]>(() => this.walk.value?.pages.value ?? []);
  readonly rows = computed<Row[]>(() => {
    const source = this.source.value;
    if (!source) return [];
    const by = {
      primary: this.primary.value,
      partition: partitionNames(source.KeySchema),
      legend: this.legend.value,
      closed: this.closed.value,
      facet: this.facet.value,
      grouped: this.grouped.value && !this.sorted.value,
    };
    const rows = rowsOf(this.pages.value, by);
    const order = this.sorted.value;
    if (!order) return rows;
    const turn = order.descending ? -1 : 1;
    const value = (row: Row) => (row.type === "item" ? (order.name === "size" ? row.size : row.item[order.name]) : undefined);
    return [...rows].sort((one, other) => turn * compareCells(value(one), value(other)));
  });
  readonly columns = computed(() => {
    const table = this.description.value;
    const hidden = new Set([...this.primary.value, ...indexesOf(table ?? undefined).flatMap((one) => keyNames(one.KeySchema)), "_filler"]);
    const named = new Set(this.legend.value.kinds.flatMap((kind) => kind.entity?.key ?? []).flatMap((key) => key.parts.map((part) => part.attribute ?? "")));
    const names = columnsOf(this.pages.value, hidden, this.legend.value);
    // What the key says already comes last.
    return [...names.filter((name) => !named.has(name)), ...names.filter((name) => named.has(name))];
  });
  readonly held = computed(() => this.pages.value.reduce((sum, page) => sum + page.items.length, 0));
  readonly isBrowsing = computed(() => !this.built.value || (this.built.value.operation === "Scan" && !this.parts.value.filters.length && !this.parts.value.limit));

  async open() {
    try {
      const table = await describe(this.name);
      this.readPlace(table);
      this.description.value = table;
    } catch (error) {
      this.error.value = error;
    }
  }

  // Reads items, when they are first looked at.
  async start() {
    const table = this.description.peek();
    if (!table || this.started) return;
    this.started = true;
    const names = place.peek().query.get("panes");
    const wanted = names === null ? indexesOf(table).slice(0, 2).map((one) => one.IndexName) : names.split(",").filter(Boolean);
    this.panes.value = indexesOf(table).filter((one) => wanted.includes(one.IndexName) && one.IndexStatus !== "CREATING").map((one) => new Pane(table, one));
    await this.run(Number(place.peek().query.get("at") ?? 0));
    const asked = place.peek().query.get("pattern");
    this.pattern.value = this.model.value?.legend?.patterns.find((one) => one.id === asked && one.read) ?? null;
    this.stops.push(effect(() => void this.showPanes()), effect(() => void this.replan()), effect(() => this.noteRanges()), effect(() => this.follow()));
  }

  async reload() {
    await this.open();
    await this.run();
  }

  // Somebody followed a link to another question about the same table.
  follow() {
    const table = this.description.peek();
    if (place.value.parts[2] || !table || asked(place.value.query) === this.address) return;
    untracked(() => {
      this.readPlace(table);
      void this.run(Number(place.peek().query.get("at") ?? 0));
    });
  }

  close() {
    this.stops.forEach((stop) => stop());
    this.walk.value?.close();
  }

  private readPlace(table: TableDescription) {
    const query = place.peek().query;
    const parts = noParts();
    parts.index = query.get("on") ?? "";
    const schema = (indexesOf(table).find((one) => one.IndexName === parts.index) ?? table).KeySchema;
    const typed = (name: string, value: string) => ({ [typeOf(table, name)]: value }) as Attribute;
    const partition = query.getAll("pk");
    parts.partition = partitionNames(schema).flatMap((name, at) => (partition[at] ? [typed(name, partition[at])] : []));
    const condition = query.get("sk");
    const [sort] = sortNames(schema);
    if (condition && sort) {
      const [operator, ...values] = JSON.parse(condition) as string[];
      parts.sort = [{ operator, values: values.map((value) => typed(sort, value)) }];
    }
    try {
      parts.filters = JSON.parse(query.get("filters") ?? "[]");
    } catch {
      parts.filters = [];
    }
    parts.descending = query.has("desc");
    parts.limit = Number(query.get("limit")) || null;
    this.parts.value = parts;
    this.facet.value = query.get("facet");
  }

  // The address follows what is asked.
  private writePlace() {
    const parts = this.parts.value;
    const [sort] = parts.sort;
    const url = new URL(location.href);
    url.searchParams.delete("pk");
    for (const value of parts.partition) url.searchParams.append("pk", text(value, 4000));
    history.replaceState(null, "", url);
    adjust({
      on: parts.index,
      sk: sort && JSON.stringify([sort.operator, ...sort.values.map((value) => text(value, 4000))]),
      filters: parts.filters.length ? JSON.stringify(parts.filters) : undefined,
      desc: parts.descending ? "1" : undefined,
      limit: parts.limit ? String(parts.limit) : undefined,
      facet: this.facet.value,
    });
    this.address = asked(place.peek().query);
  }

  // What the parts become: expressions, code, what they read. Asked for a moment after the last change.
  ask(parts: Parts) {
    this.parts.value = parts;
    this.pattern.value = null;
    const turn = ++this.buildTurn;
    setTimeout(() => turn === this.buildTurn && void this.build(), 100);
  }

  private async build(): Promise<boolean> {
    const turn = ++this.buildTurn;
    try {
      const built = await post("request/build", { table: this.name, parts: complete(this.parts.value).parts });
      if (turn !== this.buildTurn) return false;
      batch(() => ((this.built.value = built), (this.buildError.value = "")));
      return true;
    } catch (error) {
      this.buildError.value = (error as Error).message;
      return false;
    }
  }

  async run(at = 0) {
    const table = this.description.peek();
    if (!table || !(await this.build())) return;
    const { operation, input, predicted } = this.built.value;
    const source: any = this.source.value;
    const total = operation === "Scan" ? segments(source.ItemCount ?? table.ItemCount ?? 0) : 1;
    this.openWalk(new Walk({ operation, input }, total));
    this.patternResult.value = null;
    this.hits.value = new Set();
    this.writePlace();
    const began = performance.now();
    await this.walk.value!.open(at);
    this.ran.value = { milliseconds: performance.now() - began, predicted: predicted?.units ?? null };
    this.sayFound();
  }

  private openWalk(walk: Walk) {
    this.walk.value?.close();
    walk.change = (apply, stays) => this.keep(apply, stays);
    batch(() => {
      this.walk.value = walk;
      this.cursor.value = -1;
      this.sorted.value = null;
      this.marked.value = new Set();
    });
  }

  private sayFound() {
    const walk = this.walk.value;
    if (walk && !walk.error.value) say(`${this.held.value} items held, ${walk.units.value} read units.`);
  }

  async jump(at: number) {
    const walk = this.walk.value;
    if (!walk) return;
    this.cursor.value = -1;
    await walk.open(at);
    adjust({ at: at > 0 ? at.toFixed(4) : undefined });
    this.sayFound();
  }

  // Opens the table at a key, with the rows after it.
  async openAt(partition: Attribute[]) {
    const table = this.description.value!;
    const [sort] = sortNames(table.KeySchema);
    const names = partitionNames(table.KeySchema);
    const key = Object.fromEntries(names.map((name, at) => [name, partition[at]]));
    if (!sort) {
      this.parts.value = { ...noParts(), partition };
      return this.run();
    }
    const least = { S: { S: "\u0000" }, N: { N: "-9.9999999999999999999999999999999999999E+125" }, B: { B: "AA==" } }[typeOf(table, sort)];
    const walk = new Walk({ operation: "Scan", input: { TableName: this.name } }, 1);
    this.openWalk(walk);
    await walk.open(0, { ...key, [sort]: least } as Item);
  }

  forward = () => this.walk.value?.forward();
  backward = () => this.walk.value?.backward();

  // Rows come and go in front: the view and the cursor move with those that stay.
  private keep(apply: () => void, stays: Item | undefined) {
    const id = stays && keyText(stays, this.primary.value);
    const place = () => this.rows.value.findIndex((row) => row.type === "item" && row.id === id);
    const before = place();
    apply();
    const after = place();
    if (before < 0 || after < 0) return;
    this.anchor.shift += after - before;
    if (this.cursor.value >= 0) this.cursor.value = Math.max(0, this.cursor.value + after - before);
  }

  private noteRanges() {
    const walk = this.walk.value;
    const pages = this.pages.value;
    const ranges = pages.flatMap((page): [number, number][] => {
      const from = walk?.at(page, 0) ?? null;
      const to = walk?.at(page, 1) ?? null;
      return from === null || to === null ? [] : [[from, to]];
    });
    if (ranges.length) this.readRanges.value = [...this.readRanges.peek(), ...ranges].slice(-500);
  }

  // The pattern on the real table: expected beside got.
  async runPattern() {
    const pattern = this.pattern.value;
    const model = this.model.value;
    if (!pattern || !model) return;
    const began = performance.now();
    try {
      this.buildError.value = "";
      const result = await post("run", { text: model.text, pattern: pattern.id, values: this.patternValues.value });
      const milliseconds = performance.now() - began;
      this.patternResult.value = { ...result, milliseconds };
      this.hits.value = new Set(result.items.map((item: Item) => keyText(item, this.primary.value)));
      const [first] = result.items as Item[];
      if (first) {
        await this.openAt(partitionNames(this.description.value!.KeySchema).map((name) => first[name]));
        const at = this.rows.value.findIndex((row) => row.type === "item" && this.hits.value.has(row.id));
        if (at >= 0) this.cursor.value = at;
      }
      say(`${pattern.id}: ${result.items.length} items, ${result.right ? "as expected" : "not as expected"}.`);
    } catch (error) {
      this.buildError.value = (error as Error).message;
    }
  }

  // --- choosing

  async choose(row: Row) {
    if (row.type === "group") {
      const closed = new Set(this.closed.value);
      closed.has(row.id) ? closed.delete(row.id) : closed.add(row.id);
      this.closed.value = closed;
      return;
    }
    await this.chooseItem(row.item, Boolean(this.parts.value.index));
  }

  // A row of an index may hold less than the item: the item itself is what can be changed.
  async chooseItem(item: Item, fromIndex: boolean) {
    const key = only(item, this.primary.value);
    if (!fromIndex) this.chosen.value = item;
    else {
      const answer = await call("GetItem", { TableName: this.name, Key: key, ReturnConsumedCapacity: "INDEXES" });
      this.chosen.value = answer.Item ?? item;
    }
    const id = keyText(item, this.primary.value);
    const at = this.rows.value.findIndex((row) => row.type === "item" && row.id === id);
    if (at >= 0) this.cursor.value = at;
  }

  // The chosen item as it will be.
  readonly edited = computed<Item | null>(() => {
    const item = this.chosen.value;
    if (!item) return null;
    const change = this.tray.value.get(keyText(item, this.primary.value));
    const planned = this.plan.value?.items.find((one) => one.old && change?.old && same({ M: one.old }, { M: change.old }));
    return planned ? planned.new : change ? change.new : item;
  });

  private async showPanes() {
    const chosen = this.chosen.value;
    const panes = this.panes.value;
    const names = this.description.value ? partitionNames(this.description.value.KeySchema) : [];
    const siblings = chosen
      ? this.pages.peek().flatMap((page) => page.items).filter((item) => keyText(item, names) === keyText(chosen, names)).slice(0, 60)
      : [];
    await Promise.all(panes.map((pane) => pane.show(chosen, siblings)));
  }

  togglePane(index: IndexDescription) {
    const open = this.panes.value.some((pane) => pane.index.IndexName === index.IndexName);
    const panes = open
      ? this.panes.value.filter((pane) => pane.index.IndexName !== index.IndexName)
      : [...this.panes.value, new Pane(this.description.value!, index)];
    this.panes.value = panes;
    adjust({ panes: panes.map((pane) => pane.index.IndexName).join(",") || "," });
  }

  // --- changing

  get readOnly() {
    return Boolean(session.value?.readOnly);
  }

  change(old: Item | null, now: Item | null) {
    if (this.readOnly) return say("This studio is read-only.");
    const id = keyText((old ?? now)!, this.primary.value);
    const tray = new Map(this.tray.value);
    const before = tray.get(id)?.old ?? old;
    if (before && now && same({ M: before }, { M: now })) tray.delete(id);
    else tray.set(id, { old: before, new: now });
    this.conflicts.value = this.conflicts.value.filter((one) => one.key !== id);
    this.tray.value = tray;
  }

  set(name: string, value: Attribute | undefined) {
    const item = this.chosen.value;
    if (!item) return;
    const id = keyText(item, this.primary.value);
    const now = this.tray.value.get(id)?.new ?? item;
    this.change(this.tray.value.get(id)?.old ?? item, having(now, name, value));
  }

  discard(id?: string) {
    if (id === undefined) this.tray.value = new Map();
    else this.tray.value = new Map([...this.tray.value].filter(([one]) => one !== id));
    this.conflicts.value = [];
  }

  remove(items: Item[]) {
    for (const item of items) this.change(item, null);
  }

  private async replan() {
    const changes = [...this.tray.value.values()];
    const turn = ++this.planTurn;
    if (!changes.length) return batch(() => ((this.plan.value = null), (this.planError.value = "")));
    try {
      const model = this.model.value?.text;
      const plan: WritePlan = await post("change", { table: this.name, changes, ...(model && { model }) });
      if (turn === this.planTurn) batch(() => ((this.plan.value = plan), this.showRefusal(plan, plan.refusal)));
    } catch (error) {
      if (turn === this.planTurn) batch(() => ((this.plan.value = null), (this.planError.value = (error as Error).message)));
    }
  }

  async write() {
    const plan = this.plan.value;
    if (plan?.total == null || this.writing.value) return;
    this.writing.value = true;
    try {
      const answer = await call(plan.operation, plan.input);
      const consumed = [answer.ConsumedCapacity ?? []].flat().reduce((sum: number, one: any) => sum + one.CapacityUnits, 0);
      const what = describeChange(plan.items, this.primary.value);
      batch(() => {
        this.written.value = [{ at: new Date(), what, changes: plan.items }, ...this.written.value].slice(0, UNDO_MAX);
        this.tray.value = new Map();
        this.conflicts.value = [];
      });
      this.take(plan.items);
      const agreed = Math.abs(consumed - plan.total) < 1e-9;
      say(`Written: ${what}. ${consumed} WCU${agreed ? ", as predicted" : `; ${plan.total} were predicted`}.`);
    } catch (error) {
      this.refused(error, plan);
    } finally {
      this.writing.value = false;
    }
  }

  // What is held follows what was written.
  private take(changes: Change[]) {
    const walk = this.walk.value;
    if (!walk) return;
    const primary = this.primary.value;
    const by = new Map(changes.filter((one) => one.old).map((one) => [keyText(one.old!, primary), one]));
    const held = new Set(this.pages.value.flatMap((page) => page.items.map((item) => keyText(item, primary))));
    const fresh = changes.filter((one) => one.new && !held.has(keyText(one.new, primary))).map((one) => one.new!);
    walk.pages.value = walk.pages.value.map((page, at) => ({
      ...page,
      items: [
        ...(at === 0 ? fresh : []),
        ...page.items.flatMap((item) => {
          const change = by.get(keyText(item, primary));
          if (!change) return [item];
          return change.new && keyText(change.new, primary) === keyText(item, primary) ? [change.new] : [];
        }),
      ],
    }));
    const chosen = this.chosen.value;
    const change = chosen && by.get(keyText(chosen, primary));
    if (change) this.chosen.value = change.new;
    else if (chosen) this.chosen.value = { ...chosen };
    void describe(this.name).then((table) => (this.description.value = table));
  }

  private refused(error: unknown, plan: WritePlan) {
    if (!(error instanceof Refused)) throw error;
    this.showRefusal(plan, error.body);
    say(this.conflicts.value.length ? "The item is not what was read: somebody else has changed it." : error.message);
  }

  // Conditions that failed are conflicts, and any other error is shown as it is. Without an error both are empty.
  private showRefusal(plan: WritePlan, error: any) {
    const type = errorType(error);
    const reasons: any[] =
      type === "ConditionalCheckFailedException"
        ? [{ Code: "ConditionalCheckFailed", Item: error.Item }]
        : (error?.CancellationReasons ?? []);
    const failed = reasons.flatMap((reason, at): Conflict[] => {
      const change = plan.items[Math.min(at, plan.items.length - 1)];
      if (reason.Code !== "ConditionalCheckFailed" || !change) return [];
      return [{ key: keyText((change.old ?? change.new)!, this.primary.value), mine: change.new, before: change.old, theirs: reason.Item ?? null }];
    });
    this.conflicts.value = failed;
    this.planError.value = !error || failed.length ? "" : `${type}: ${errorText(error)}`;
  }

  // Mine on top of theirs: what I changed is changed again, the rest stays theirs.
  rebase(conflict: Conflict) {
    const { before, mine, theirs } = conflict;
    const tray = new Map(this.tray.value);
    tray.delete(conflict.key);
    let now = mine && theirs;
    if (now && mine && before)
      for (const name of new Set([...Object.keys(before), ...Object.keys(mine)]))
        if (!same(get(before, name), get(mine, name)) && !this.followsFromModel(name)) now = having(now, name, get(mine, name));
    if (theirs) tray.set(conflict.key, { old: theirs, new: now });
    batch(() => {
      this.tray.value = tray;
      this.conflicts.value = [];
      if (theirs) this.chosen.value = theirs;
    });
  }

  // Keys and versions are made again from the attributes that they follow from.
  private followsFromModel(name: string): boolean {
    const table = this.description.value;
    const keys = indexesOf(table ?? undefined).flatMap((one) => keyNames(one.KeySchema));
    return Boolean(this.model.value) && (keys.includes(name) || name === "version");
  }

  takeTheirs(conflict: Conflict) {
    this.discard(conflict.key);
    if (conflict.theirs) this.take([{ old: conflict.theirs, new: conflict.theirs }]);
    this.chosen.value = conflict.theirs;
  }

  // The opposite write, to be looked at like any other.
  undo() {
    const [last, ...rest] = this.written.value;
    if (!last) return say("There is nothing to undo.");
    batch(() => {
      this.written.value = rest;
      this.tray.value = new Map(
        last.changes.map((one) => [keyText((one.new ?? one.old)!, this.primary.value), { old: one.new, new: one.old }]),
      );
      const [first] = last.changes;
      this.chosen.value = first.new ?? first.old;
    });
    say("The opposite change is ready to be written.");
  }
}

function compareCells(one: Attribute | number | undefined, other: Attribute | number | undefined): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  const [a, b] = [one as Attribute | undefined, other as Attribute | undefined];
  if (!a || !b) return a ? -1 : b ? 1 : 0;
  if ("N" in a && "N" in b) return Number(a.N) - Number(b.N);
  const [left, right] = [text(a, 400), text(b, 400)];
  return left < right ? -1 : left > right ? 1 : 0;
}

function describeChange(items: Change[], primary: string[]): string {
  if (items.length > 1) return `${items.length} items`;
  const [{ old, new: now }] = items;
  if (!old) return `${text(now![primary[0]], 60)} added`;
  if (!now) return `${text(old[primary[0]], 60)} deleted`;
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter((name) => !same(get(old, name), get(now, name)));
  return names.slice(0, 3).map((name) => `${name} ${text(get(old, name), 20) || "none"} → ${text(get(now, name), 20) || "removed"}`).join(", ");
}
