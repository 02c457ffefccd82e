// What every screen knows: the server, its tables, the theme, what was done on this page.

import { effect, signal } from "@preact/signals";
import { call, post } from "./door";

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

export const session = signal<any>(null);
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
  await Promise.all(names.slice(0, 50).map((name) => describe(name).catch(() => undefined)));
}

export async function describe(name: string): Promise<TableDescription> {
  const { Table } = await call("DescribeTable", { TableName: name });
  descriptions.value = { ...descriptions.value, [name]: Table };
  return Table;
}

export const loadSession = async () => (session.value = await post("session", {}));

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

// One line for the status region, spoken and shown.
export const said = signal("");
export const say = (text: string) => (said.value = text);

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
