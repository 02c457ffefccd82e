// What every screen knows: the server, its tables, the theme, what was done on this page.

import { batch, effect, signal } from "@preact/signals";
import { call, locked, post } from "./door";

export interface KeyElement {
  AttributeName: string;
  KeyType: "HASH" | "RANGE";
}
export interface IndexDescription {
  IndexName: string;
  KeySchema: KeyElement[];
  Projection: { ProjectionType: "ALL" | "KEYS_ONLY" | "INCLUDE"; NonKeyAttributes?: string[] };
  ItemCount?: number;
  IndexSizeBytes?: number;
  IndexStatus?: string;
  Backfilling?: boolean;
}
export interface TableDescription {
  TableName: string;
  KeySchema: KeyElement[];
  AttributeDefinitions: { AttributeName: string; AttributeType: "S" | "N" | "B" }[];
  ItemCount: number;
  TableSizeBytes: number;
  TableStatus: string;
  BillingModeSummary?: { BillingMode: string };
  ProvisionedThroughput?: { ReadCapacityUnits: number; WriteCapacityUnits: number };
  GlobalSecondaryIndexes?: IndexDescription[];
  LocalSecondaryIndexes?: IndexDescription[];
  [other: string]: any;
}

// Where code sends its requests: without it they would go to AWS.
export const endpoint = (): string => session.value?.connection?.address ?? location.origin;

// What can't be asked here, each with its reason: of another database, or because policies do not allow it.
export type Feature = "heat" | "capacity" | "metrics" | "learn" | "faults" | "regions" | "difference";
export interface Connection {
  id: string;
  name: string;
  kind: "lodestone" | "local" | "aws";
  address: string;
  region: string;
  account: string | null;
  profile: string | null;
  keyId: string | null;
  readOnly: boolean;
  // How long writes to AWS are still allowed, in seconds.
  writesFor: number | null;
  // What is typed to allow them.
  word: "account" | "name";
  production: boolean;
}
export interface Session {
  version: string;
  storage: string;
  readOnly: boolean;
  readOnlyWhy: string | null;
  account: string;
  region: string;
  models: string | null;
  hasKeys: boolean;
  signedIn: { name: string; key: string } | null;
  hasConnections: boolean;
  connection: Connection | null;
  withheld: Partial<Record<Feature, string>>;
}
export const session = signal<Session | null>(null);
export const withheld = (feature: Feature): string | undefined => session.value?.withheld?.[feature];
// What policies deny on a table: the operation, and AWS's reason.
export const denials = signal<Record<string, Record<string, string>>>({});
export const denied = (table: string, operation: string): string | undefined => denials.value[table]?.[operation];
export const tableNames = signal<string[] | null>(null);
export const tablesCut = signal(false);
export const descriptions = signal<Record<string, TableDescription>>({});

const TABLES_MAX = 1000;

export async function loadTables() {
  const names: string[] = [];
  let from: string | undefined;
  do {
    const page = await call("ListTables", { Limit: 100, ...(from && { ExclusiveStartTableName: from }) });
    names.push(...page.TableNames);
    from = page.LastEvaluatedTableName;
  } while (from && names.length < TABLES_MAX);
  tablesCut.value = from !== undefined;
  tableNames.value = names;
  await loadDenials(names).catch(() => undefined);
  await Promise.all(names.slice(0, 50).map((name) => describe(name).catch(() => undefined)));
}

export async function describe(name: string): Promise<TableDescription> {
  const { Table } = await call("DescribeTable", { TableName: name });
  descriptions.value = { ...descriptions.value, [name]: Table };
  return Table;
}

export const loadSession = async (): Promise<Session> => (session.value = await post("session", {}));

// A new table is not missing for long: names are asked for again while the page is in view.
export async function watchTables() {
  const known = tableNames.value;
  if (!known) return;
  const { TableNames: names, LastEvaluatedTableName: more } = await call("ListTables", { Limit: 100 });
  const before = more ? known.slice(0, names.length) : known;
  if (names.join("\n") !== before.join("\n")) await loadTables();
}

export const WRITES = ["PutItem", "UpdateItem", "DeleteItem"];
// Why none of the operations can be sent: a read-only studio, or the policies of the user's key.
export function whyNot(table: string, ...operations: string[]): string | undefined {
  if (session.value?.readOnly) return session.value.readOnlyWhy ?? "This studio is read-only.";
  const reasons = operations.map((one) => denied(table, one));
  return reasons.every((one) => one) ? reasons[0] : undefined;
}
// A table that is not there yet.
export const NEW_TABLE = "new-table";
const CHECKED = [...WRITES, "Query", "Scan", "GetItem", "UpdateTable", "DeleteTable", "CreateBackup", "UpdateTimeToLive"];
// Of a user's key: what it may not do with the tables. A user who may write nothing sees no buttons that write.
async function loadDenials(names: string[]) {
  if (!session.value?.signedIn) return;
  const asked = [...names.slice(0, 99), NEW_TABLE];
  const { denied: found } = await post("may", { tables: asked, actions: [...CHECKED, "CreateTable"] });
  denials.value = found;
  const cannot = asked.every((name) => [...WRITES, "CreateTable"].every((action) => (name === NEW_TABLE && action !== "CreateTable") || (name !== NEW_TABLE && action === "CreateTable") || found[name]?.[action]));
  if (cannot && !session.value.readOnly) session.value = { ...session.value, readOnly: true, readOnlyWhy: Object.values<any>(found)[0]?.PutItem ?? "policies allow no write" };
}

export const indexesOf = (table?: TableDescription): IndexDescription[] => [
  ...(table?.GlobalSecondaryIndexes ?? []),
  ...(table?.LocalSecondaryIndexes ?? []),
];
export const keyNames = (schema: KeyElement[]): string[] => [
  ...schema.filter((one) => one.KeyType === "HASH").map((one) => one.AttributeName),
  ...schema.filter((one) => one.KeyType === "RANGE").map((one) => one.AttributeName),
];
export const partitionNames = (schema: KeyElement[]): string[] =>
  schema.filter((one) => one.KeyType === "HASH").map((one) => one.AttributeName);
export const sortNames = (schema: KeyElement[]): string[] =>
  schema.filter((one) => one.KeyType === "RANGE").map((one) => one.AttributeName);
export const typeOf = (table: TableDescription, name: string): "S" | "N" | "B" =>
  table.AttributeDefinitions.find((one) => one.AttributeName === name)?.AttributeType ?? "S";
export const isOnDemand = (table: TableDescription): boolean =>
  table.BillingModeSummary?.BillingMode === "PAY_PER_REQUEST";

export interface InjectedFault {
  fault: number;
  table: string | null;
  operation: string | null;
  key: unknown;
  error: string;
  share: number;
  // In seconds.
  delay: number | null;
  remaining: number | null;
  met: number;
}
export const faultsOn = signal<InjectedFault[]>([]);

// One line for the status region, spoken and shown; and the part of the screen where the act was, which shows it too.
export const said = signal("");
export const saidAt = signal("");
// Counts what was said, so that the same words are noticed a second time.
export const saidTimes = signal(0);
export function say(text: string, at = "") {
  batch(() => {
    said.value = text;
    saidAt.value = at;
    saidTimes.value++;
  });
}

// What the screen says of itself at the foot of the page.
export const statusLine = signal("");

export type Theme = "system" | "light" | "dark";
export const theme = signal<Theme>((localStorage.getItem("lodestone-theme") as Theme) ?? "system");
effect(() => {
  localStorage.setItem("lodestone-theme", theme.value);
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
});

// Single letters are commands unless somebody turns them off.
export const letters = signal(localStorage.getItem("lodestone-letters") !== "off");
effect(() => localStorage.setItem("lodestone-letters", letters.value ? "on" : "off"));

// Everything that the frame shows, from the start or after a sign-in.
export async function begin() {
  // The way in stays until the server accepts what was given.
  const isIn = await loadSession().then(() => true, () => false);
  if (isIn) locked.value = null;
  if (!locked.value) await Promise.allSettled([loadTables(), import("./legend").then(({ loadFiles }) => loadFiles())]);
}
