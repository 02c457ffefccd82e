// The rows of an index beside the table.

import { signal } from "@preact/signals";
import { call } from "../door";
import { type IndexDescription, type TableDescription, keyNames, partitionNames, sortNames, typeOf } from "../session";
import { type Item, get } from "../value";
import { keyText } from "./rows";

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
