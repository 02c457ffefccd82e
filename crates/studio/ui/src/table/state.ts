// What the table screen knows: what is asked, what is held, what is chosen, what is about to be written.

import { batch, computed, effect, signal, untracked } from "@preact/signals";
import { Refused, call, connected, post } from "../door";
import { count, plural } from "../format";
import { record } from "../history";
import { type Pattern, TableLegend, filesLoaded, loadFiles, modelOf } from "../legend";
import { adjust, place } from "../place";
import { type IndexDescription, type TableDescription, describe, indexesOf, keyNames, partitionNames, say, sortNames, typeOf, whyNot, WRITES } from "../session";
import { type Attribute, type Item, type Step, get, only, placed, same, text } from "../value";
import { layoutOf } from "./columns";
import { type Conflict, conflictsOf } from "./conflict";
import { type Change, type Draft, draftOf, freshId, keep } from "./drafts";
import { Pane } from "./pane";
import { type Parts, complete, noParts } from "./parts";
import { type Plan, planOf, planned } from "./plan";
import { compareCells, merged } from "./order";
import { unitsMax } from "./readlimit";
import { type Row, columnsOf, keyText, rowsOf } from "./rows";
import { type Page, Walk, segments } from "./walk";

interface Written {
  at: Date;
  what: string;
  // Nothing if the database did not say it.
  units: number | null;
  changes: Change[];
}

const UNDO_MAX = 50;
// Larger changes are an import.
export const DRAFT_MAX = 1000;
const PLAN_DELAY = 120;
const ASKED = ["on", "pk", "sk", "filters", "desc", "limit", "pattern", "values"];
const asked = (query: URLSearchParams) => JSON.stringify(ASKED.map((name) => query.getAll(name)));

export class TableState {
  readonly description = signal<TableDescription | null>(null);
  readonly error = signal<unknown>(null);
  readonly walk = signal<Walk | null>(null);
  readonly parts = signal<Parts>(noParts());
  readonly built = signal<any>(null);
  readonly buildError = signal("");
  readonly pattern = signal<Pattern | null>(null);
  readonly patternValues = signal<Record<string, Attribute>>({});
  readonly patternResult = signal<any>(null);
  readonly cursor = signal(-1);
  readonly chosen = signal<Item | null>(null);
  // The new item that the drawer shows instead of the chosen one.
  readonly fresh = signal<string | null>(null);
  readonly drawer = signal(false);
  readonly marked = signal<ReadonlySet<string>>(new Set());
  readonly closed = signal<ReadonlySet<string>>(new Set());
  readonly facet = signal<string | null>(null);
  readonly grouped = signal(true);
  readonly sorted = signal<{ name: string; descending: boolean } | null>(null);
  readonly panes = signal<Pane[]>([]);
  readonly plan = signal<Plan | null>(null);
  readonly planError = signal("");
  readonly conflicts = signal<Conflict[]>([]);
  readonly resolving = signal(false);
  // What can't be written as it was typed, by where it was typed.
  readonly invalid = signal<ReadonlyMap<string, string>>(new Map());
  readonly written = signal<Written[]>([]);
  readonly justWritten = signal(false);
  readonly writing = signal(false);
  readonly layout;
  readonly anchor = { shift: 0 };
  private stops: (() => void)[] = [];
  private started = false;
  // The question that the address holds.
  private address = "";
  private buildTurn = 0;
  private planTurn = 0;

  constructor(readonly name: string) {
    this.layout = layoutOf(name);
  }

  readonly tray = computed<Draft>(() => draftOf(this.name));
  readonly model = computed(() => modelOf(this.name));
  readonly source = computed<{ KeySchema: TableDescription["KeySchema"] } | null>(() => {
    const table = this.description.value;
    return indexesOf(table ?? undefined).find((one) => one.IndexName === this.parts.value.index) ?? table;
  });
  readonly primary = computed(() => (this.description.value ? keyNames(this.description.value.KeySchema) : []));
  readonly legend = computed(() => new TableLegend(this.name, this.primary.value, this.model.value?.legend ?? null));
  readonly pages = computed<Page[]>(() => this.walk.value?.pages.value ?? []);
  readonly items = computed<Item[]>(() => this.pages.value.flatMap((page) => page.items));
  // A pattern's result has an order of its own.
  readonly isResult = computed(() => this.patternResult.value !== null);
  // Without a sort key every item is its own partition.
  readonly isGrouped = computed(() => this.grouped.value && !this.sorted.value && !this.isResult.value && sortNames(this.source.value?.KeySchema ?? []).length > 0);
  readonly rows = computed<Row[]>(() => {
    const source = this.source.value;
    if (!source) return [];
    const by = {
      primary: this.primary.value,
      partition: partitionNames(source.KeySchema),
      legend: this.legend.value,
      closed: this.closed.value,
      facet: this.facet.value,
      grouped: this.isGrouped.value,
    };
    const rows = rowsOf(this.pages.value, by, this.isResult.value ? [] : this.freshItems.value);
    const order = this.sorted.value;
    if (!order) return rows;
    const turn = order.descending ? -1 : 1;
    const value = (row: Row) => (row.type === "item" ? (order.name === "size" ? row.size : row.item[order.name]) : undefined);
    return [...rows].sort((one, other) => turn * compareCells(value(one), value(other)));
  });
  readonly freshItems = computed(() => [...this.tray.value].flatMap(([id, change]) => (change.old === null && change.new ? [{ id, item: this.planned(id) ?? change.new }] : [])));
  // Every attribute but the table's own keys; those of indexes and fillers last.
  readonly seen = computed(() => {
    const table = this.description.value;
    const late = new Set([...indexesOf(table ?? undefined).flatMap((one) => keyNames(one.KeySchema)), "_filler"]);
    const inKeys = new Set(this.legend.value.kinds.flatMap((kind) => kind.entity?.key ?? []).flatMap((key) => key.parts.map((part) => part.attribute ?? "")));
    const names = columnsOf(this.pages.value, new Set(this.primary.value), this.legend.value);
    const rank = (name: string) => (late.has(name) ? 2 : inKeys.has(name) ? 1 : 0);
    return [...names].sort((one, other) => rank(one) - rank(other)).map((name) => ({ name, late: late.has(name) }));
  });
  readonly columns = computed(() => this.seen.value.flatMap((one) => (one.late ? [] : [one.name])));
  readonly held = computed(() => this.items.value.length);
  readonly isBrowsing = computed(() => !this.built.value || (this.built.value.operation === "Scan" && !this.parts.value.filters.length && !this.parts.value.limit));
  readonly total = computed<number | null>(() => {
    if (!this.walk.value?.isScan) return null;
    const source: any = this.source.value;
    return source?.ItemCount ?? this.description.value?.ItemCount ?? null;
  });

  async open() {
    try {
      const table = await describe(this.name);
      this.readPlace(table);
      this.description.value = table;
      if (!this.stops.length) this.stops.push(effect(() => void this.replan()));
    } catch (error) {
      this.error.value = error;
    }
  }

  // Reads items, when they are first looked at.
  async start() {
    const table = this.description.peek();
    if (!table || this.started) return;
    this.started = true;
    const wanted = (place.peek().query.get("panes") ?? "").split(",");
    this.panes.value = indexesOf(table).filter((one) => wanted.includes(one.IndexName) && one.IndexStatus !== "CREATING").map((one) => new Pane(table, one));
    await this.showPlace();
    this.stops.push(effect(() => void this.showPanes()), effect(() => this.follow()));
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
      void this.showPlace();
    });
  }

  // What the address asks for: a pattern with its values, or a read by its parts.
  private async showPlace() {
    const { query } = place.peek();
    const id = query.get("pattern");
    // A pattern is known once its model is.
    if (id && !filesLoaded.peek()) await loadFiles().catch(() => undefined);
    const pattern = this.model.value?.legend?.patterns.find((one) => one.id === id && one.read) ?? null;
    this.pattern.value = pattern;
    this.patternResult.value = null;
    this.address = asked(query);
    const values = pattern && readJson(query.get("values"));
    if (values) {
      this.patternValues.value = values;
      return this.runPattern();
    }
    await this.run(Number(query.get("at") ?? 0));
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
    const condition = readJson(query.get("sk")) as string[] | null;
    const [sort] = sortNames(schema);
    if (Array.isArray(condition) && sort) {
      const [operator, ...values] = condition;
      parts.sort = [{ operator, values: values.map((value) => typed(sort, value)) }];
    }
    parts.filters = readJson(query.get("filters")) ?? [];
    parts.descending = query.has("desc");
    parts.limit = Number(query.get("limit")) || null;
    this.parts.value = parts;
    this.facet.value = query.get("facet");
  }

  // The address follows what is asked.
  private writePlace() {
    const parts = this.parts.value;
    const pattern = this.pattern.value;
    const [sort] = parts.sort;
    const url = new URL(location.href);
    url.searchParams.delete("pk");
    for (const value of pattern ? [] : parts.partition) url.searchParams.append("pk", text(value, 4000));
    history.replaceState(null, "", url);
    adjust({
      on: parts.index,
      sk: sort && JSON.stringify([sort.operator, ...sort.values.map((value) => text(value, 4000))]),
      filters: parts.filters.length ? JSON.stringify(parts.filters) : undefined,
      desc: parts.descending ? "1" : undefined,
      limit: parts.limit ? String(parts.limit) : undefined,
      facet: this.facet.value,
      pattern: pattern?.id,
      values: pattern ? JSON.stringify(this.patternValues.value) : undefined,
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
    const { operation, input } = this.built.value;
    const source: any = this.source.value;
    const total = operation === "Scan" ? segments(source.ItemCount ?? table.ItemCount ?? 0, Boolean(input.FilterExpression)) : 1;
    const walk = new Walk({ operation, input }, total, unitsMax);
    this.openWalk(walk);
    this.patternResult.value = null;
    this.writePlace();
    await walk.open(at);
    if (!this.isBrowsing.peek() && walk === this.walk.peek()) record({ operation, input, units: walk.units.peek() });
    this.sayFound();
  }

  private openWalk(walk: Walk) {
    this.walk.value?.close();
    walk.change = (apply, stays) => this.hold(apply, stays);
    batch(() => {
      this.walk.value = walk;
      this.cursor.value = -1;
      this.sorted.value = null;
      this.marked.value = new Set();
    });
  }

  private sayFound() {
    const walk = this.walk.value;
    if (walk && !walk.error.value) say(`${plural(this.held.value, "item")} held, ${plural(walk.units.value, "read unit")}.`, "read");
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
    this.patternResult.value = null;
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
  private hold(apply: () => void, stays: Item | undefined) {
    const id = stays && keyText(stays, this.primary.value);
    const at = () => this.rows.value.findIndex((row) => row.type === "item" && row.id === id);
    const before = at();
    apply();
    const after = at();
    if (before < 0 || after < 0) return;
    this.anchor.shift += after - before;
    if (this.cursor.value >= 0) this.cursor.value = Math.max(0, this.cursor.value + after - before);
  }

  // The pattern on the real table: what came, in the pattern's order, beside what was expected.
  async runPattern() {
    const pattern = this.pattern.value;
    const model = this.model.value;
    if (!pattern || !model) return;
    const began = performance.now();
    try {
      this.buildError.value = "";
      const result = await post("run", { text: model.text, pattern: pattern.id, values: this.patternValues.value });
      const milliseconds = performance.now() - began;
      const items = merged(result.items, pattern, result.requests.length);
      const walk = Walk.of(items, result.units.consumed, result.examined);
      batch(() => {
        this.openWalk(walk);
        this.patternResult.value = { ...result, milliseconds };
      });
      this.writePlace();
      for (const one of result.requests) record({ ...one, units: result.units.consumed / result.requests.length });
      say(`${pattern.id}: ${plural(result.items.length, "item")}, ${result.right ? "as expected" : "not as expected"}.`);
    } catch (error) {
      this.buildError.value = (error as Error).message;
    }
  }

  // --- choosing

  async choose(row: Row, withDrawer = false) {
    if (row.type === "group") {
      const closed = new Set(this.closed.value);
      closed.has(row.id) ? closed.delete(row.id) : closed.add(row.id);
      this.closed.value = closed;
      return;
    }
    if (withDrawer) this.drawer.value = true;
    if (row.fresh) return void batch(() => ((this.fresh.value = row.id), (this.drawer.value = true)));
    this.fresh.value = null;
    await this.chooseItem(row.item, Boolean(this.parts.value.index) || this.isResult.value);
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

  // What the drawer shows: a new item or the chosen one.
  readonly subject = computed<{ id: string; change: Change } | null>(() => {
    const fresh = this.fresh.value;
    const change = fresh ? this.tray.value.get(fresh) : undefined;
    if (fresh && change) return { id: fresh, change };
    const item = this.chosen.value;
    if (!item) return null;
    const id = keyText(item, this.primary.value);
    return { id, change: this.tray.value.get(id) ?? { old: item, new: item } };
  });

  // An item of the draft as it will be stored: with the keys and versions that follow from the model.
  planned = (id: string): Item | null | undefined => planned(this.plan.value, id);

  private async showPanes() {
    const chosen = this.chosen.value;
    const panes = this.panes.value;
    const names = this.description.value ? partitionNames(this.description.value.KeySchema) : [];
    const siblings = chosen ? this.items.peek().filter((item) => keyText(item, names) === keyText(chosen, names)).slice(0, 60) : [];
    await Promise.all(panes.map((pane) => pane.show(chosen, siblings)));
  }

  togglePane(index: IndexDescription) {
    const open = this.panes.value.some((pane) => pane.index.IndexName === index.IndexName);
    const panes = open
      ? this.panes.value.filter((pane) => pane.index.IndexName !== index.IndexName)
      : [...this.panes.value, new Pane(this.description.value!, index)];
    this.panes.value = panes;
    adjust({ panes: panes.map((pane) => pane.index.IndexName).join(",") });
  }

  // --- changing

  whyNot = (...operations: string[]): string | undefined => whyNot(this.name, ...operations);

  // Whether no item of it can be changed.
  get readOnly() {
    return this.whyNot(...WRITES) !== undefined;
  }

  private keep(draft: Draft) {
    batch(() => {
      keep(this.name, draft);
      this.justWritten.value = false;
    });
  }

  // Several at once, so that the address of a draft is asked for once. False if there are too many.
  changeAll(changes: [id: string, change: Change][]): boolean {
    if (this.readOnly) return say(this.whyNot(...WRITES)!), false;
    const tray = new Map(this.tray.value);
    for (const [id, { old, new: now, entity }] of changes) {
      const before = tray.get(id)?.old ?? old;
      if (before && now && same({ M: before }, { M: now })) tray.delete(id);
      else tray.set(id, { old: before, new: now, entity: tray.get(id)?.entity ?? entity });
    }
    if (tray.size > DRAFT_MAX) return say(`${DRAFT_MAX} changes are written at once at most: use Import for more.`), false;
    const ids = new Set(changes.map(([id]) => id));
    this.conflicts.value = this.conflicts.value.filter((one) => !ids.has(one.key));
    this.keep(tray);
    return true;
  }

  change(old: Item | null, now: Item | null) {
    this.changeAll([[keyText((old ?? now)!, this.primary.value), { old, new: now }]]);
  }

  // A value of what the drawer shows, or of a row.
  set(id: string, change: Change, path: Step[], value: Attribute | undefined) {
    this.changeAll([[id, { ...change, new: placed(this.tray.value.get(id)?.new ?? change.new ?? {}, path, value) }]]);
  }

  // A new item, to be filled in; the keys of an entity follow from its attributes.
  add(item: Item, entity?: string) {
    const id = freshId(this.tray.value);
    if (this.changeAll([[id, { old: null, new: item, entity }]])) batch(() => ((this.fresh.value = id), (this.drawer.value = true)));
  }

  setInvalid(where: string, why: string) {
    const invalid = new Map(this.invalid.value);
    why ? invalid.set(where, why) : invalid.delete(where);
    if (invalid.size !== this.invalid.value.size || why) this.invalid.value = invalid;
  }

  discard(id?: string) {
    batch(() => {
      this.keep(id === undefined ? new Map() : new Map([...this.tray.value].filter(([one]) => one !== id)));
      this.conflicts.value = id === undefined ? [] : this.conflicts.value.filter((one) => one.key !== id);
      this.invalid.value = new Map();
      if (this.fresh.value && !this.tray.value.has(this.fresh.value)) this.fresh.value = null;
    });
  }

  remove(rows: { id: string; item: Item; fresh?: boolean }[]) {
    rows.filter((row) => row.fresh).forEach((row) => this.discard(row.id));
    this.changeAll(rows.filter((row) => !row.fresh).map((row) => [row.id, { old: row.item, new: null }]));
  }

  private replan() {
    const changes = [...this.tray.value];
    const model = this.model.value?.text;
    const turn = ++this.planTurn;
    if (!changes.length) return batch(() => ((this.plan.value = null), (this.planError.value = ""), (this.conflicts.value = [])));
    setTimeout(() => turn === this.planTurn && void this.look(turn, changes, model), this.plan.peek() ? PLAN_DELAY : 0);
  }

  private async look(turn: number, changes: [string, Change][], model?: string) {
    try {
      const plan = await planOf(this.name, changes, this.primary.peek(), model);
      if (turn === this.planTurn) batch(() => ((this.plan.value = plan), this.showRefusal(plan)));
    } catch (error) {
      if (turn === this.planTurn) batch(() => ((this.plan.value = null), (this.planError.value = (error as Error).message)));
    }
  }

  // Whether the plan is that of the draft as it is now, and not of what it was a key ago.
  readonly isCurrent = computed(() => {
    const [plan, tray] = [this.plan.value, this.tray.value];
    return plan !== null && plan.changes.size === tray.size && [...tray].every(([id, change]) => plan.changes.get(id) === change);
  });
  readonly canWrite = computed(() => this.isCurrent.value && !this.plan.value?.refusal && this.invalid.value.size === 0 && !this.writing.value);

  // Part after part: what is written leaves the draft, and what is refused stays.
  async write() {
    const plan = this.plan.value;
    if (!plan || !this.canWrite.value) return;
    this.writing.value = true;
    const done: Change[] = [];
    let units: number | null = 0;
    try {
      for (const part of plan.parts) {
        const answer = await call(part.operation, part.input);
        const consumed = consumedBy(answer);
        record({ operation: part.operation, input: part.input, units: consumed });
        units = units === null || consumed === null ? null : units + consumed;
        done.push(...part.items);
        this.wrote(part.ids, part.items);
      }
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.showRefusal(plan, error.body, plan.parts.find((part) => part.ids.some((id) => this.tray.value.has(id))));
      if (connected.peek()) await this.readTheirs();
      this.resolving.value = this.conflicts.value.length > 0;
      say(this.resolving.value ? "The item is not what was read: somebody else has changed it." : this.planError.value || error.message);
    } finally {
      this.writing.value = false;
    }
    if (!done.length) return;
    this.remember(done, units);
    if (this.patternResult.value?.hidden?.length) void this.runPattern();
    void describe(this.name).then((table) => (this.description.value = table), () => undefined);
    if (done.length === plan.changes.size) say(`Written: ${this.written.value[0].what}.${charged(units, plan.total)}`);
  }

  private remember(changes: Change[], units: number | null) {
    batch(() => {
      const what = describeChange(changes, this.primary.value);
      this.written.value = [{ at: new Date(), what, units, changes }, ...this.written.value].slice(0, UNDO_MAX);
      this.justWritten.value = true;
    });
  }

  private wrote(ids: string[], changes: Change[]) {
    batch(() => {
      this.keep(new Map([...this.tray.value].filter(([id]) => !ids.includes(id))));
      this.conflicts.value = [];
      const fresh = this.fresh.value;
      if (fresh && ids.includes(fresh)) {
        this.fresh.value = null;
        this.chosen.value = changes[ids.indexOf(fresh)].new;
      }
      this.take(changes);
    });
  }

  // What is held follows what was written.
  private take(changes: Change[]) {
    const walk = this.walk.value;
    const primary = this.primary.value;
    const by = new Map(changes.filter((one) => one.old).map((one) => [keyText(one.old!, primary), one]));
    const held = new Set(this.items.value.map((item) => keyText(item, primary)));
    const fresh = changes.filter((one) => one.new && !held.has(keyText(one.new, primary))).map((one) => one.new!);
    if (walk)
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
  }

  // Conditions that failed are conflicts, and any other error is shown as it is. Without an error both are empty.
  private showRefusal(plan: Plan, error = plan.refusal, part = plan.refused) {
    const { conflicts, message } = conflictsOf(part, error, this.primary.value);
    this.conflicts.value = conflicts;
    this.planError.value = message;
  }

  // The error of another database may lack what is stored: then it is read.
  private async readTheirs() {
    const read = async (one: Conflict): Promise<Conflict> => {
      if (one.theirs) return one;
      const answer = await call("GetItem", { TableName: this.name, Key: only(one.of, this.primary.peek()), ConsistentRead: true, ReturnConsumedCapacity: "INDEXES" });
      return { ...one, theirs: answer.Item ?? null };
    };
    try {
      this.conflicts.value = await Promise.all(this.conflicts.value.map(read));
    } catch (error) {
      batch(() => ((this.conflicts.value = []), (this.planError.value = `This item is not what you read, and what is stored can’t be read: ${(error as Error).message}`)));
    }
  }

  // The user has said what each attribute should be, on top of what is stored now.
  async resolve(conflict: Conflict, now: Item | null) {
    const tray = new Map(this.tray.value);
    const change = tray.get(conflict.key);
    tray.delete(conflict.key);
    const isSame = conflict.theirs && now && same({ M: conflict.theirs }, { M: now });
    if (!isSame && (now || conflict.theirs)) tray.set(conflict.key, { old: conflict.theirs, new: now, entity: change?.entity });
    batch(() => {
      this.keep(tray);
      this.conflicts.value = this.conflicts.value.filter((one) => one.key !== conflict.key);
      if (this.chosen.value && keyText(this.chosen.value, this.primary.value) === conflict.key) this.chosen.value = conflict.theirs;
      this.resolving.value = this.conflicts.value.length > 0;
    });
    if (conflict.theirs) this.take([{ old: conflict.theirs, new: conflict.theirs }]);
  }

  // Keys and versions are made again from the attributes that they follow from.
  followsFromModel(name: string): boolean {
    const table = this.description.value;
    const keys = indexesOf(table ?? undefined).flatMap((one) => keyNames(one.KeySchema));
    return Boolean(this.model.value) && (keys.includes(name) || name === "version");
  }

  // The opposite write, to be looked at like any other. Its condition is that what was written is still there.
  undo() {
    const [last, ...rest] = this.written.value;
    if (!last) return say("There is nothing to undo.");
    const opposite = last.changes.map((one): [string, Change] => [keyText((one.new ?? one.old)!, this.primary.value), { old: one.new, new: one.old }]);
    batch(() => {
      this.written.value = rest;
      this.keep(new Map([...this.tray.value, ...opposite]));
      const [first] = last.changes;
      this.fresh.value = null;
      this.chosen.value = first.new ?? first.old;
    });
    say("The opposite change is ready to be written.");
  }
}

// The units of an answer; nothing if it has none.
function consumedBy(answer: any): number | null {
  const tables: any[] = [answer.ConsumedCapacity ?? []].flat();
  if (!tables.length || tables.some((one) => one.CapacityUnits === undefined)) return null;
  return tables.reduce((sum, one) => sum + one.CapacityUnits, 0);
}

// What a write consumed, beside what was predicted if it was.
function charged(units: number | null, predicted: number | null): string {
  if (units === null) return "";
  if (predicted === null) return ` ${count(units)} WCU.`;
  return ` ${count(units)} WCU${Math.abs(units - predicted) < 1e-9 ? ", as predicted" : `; ${count(predicted)} were predicted`}.`;
}

function readJson(written: string | null): any {
  try {
    return JSON.parse(written ?? "null");
  } catch {
    return null;
  }
}

function describeChange(items: Change[], primary: string[]): string {
  if (items.length > 1) return `${items.length} items`;
  const [{ old, new: now }] = items;
  if (!old) return `${text(now![primary[0]], 60)} added`;
  if (!now) return `${text(old[primary[0]], 60)} deleted`;
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter((name) => !same(get(old, name), get(now, name)));
  return names.slice(0, 3).map((name) => `${name} ${text(get(old, name), 20) || "none"} → ${text(get(now, name), 20) || "removed"}`).join(", ");
}
