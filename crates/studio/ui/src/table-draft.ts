// A table that is being designed in a form, and the requests that make it: each follows from the other.

export type KeyType = "S" | "N" | "B";
export interface Key {
  name: string;
  type: KeyType;
}
export interface IndexDraft {
  name: string;
  kind: "GSI" | "LSI";
  partition: Key;
  sort: Key;
  projection: "ALL" | "KEYS_ONLY" | "INCLUDE";
  // Separated by commas.
  include: string;
}
export interface TableDraft {
  name: string;
  partition: Key;
  // Without a name there is no sort key.
  sort: Key;
  indexes: IndexDraft[];
  onDemand: boolean;
  read: number;
  write: number;
  ttl: string;
  stream: "" | "NEW_AND_OLD_IMAGES" | "NEW_IMAGE" | "OLD_IMAGE" | "KEYS_ONLY";
  recovery: boolean;
  protection: boolean;
  // Lines like team=a.
  tags: string;
  // Members of CreateTable that the form has no field for.
  other: Record<string, unknown>;
}
export interface Step {
  operation: string;
  input: any;
}

export const EMPTY: TableDraft = { name: "", partition: { name: "PK", type: "S" }, sort: { name: "", type: "S" }, indexes: [], onDemand: true, read: 5, write: 5, ttl: "", stream: "", recovery: false, protection: false, tags: "", other: {} };
export const newIndex = (draft: TableDraft): IndexDraft => ({ name: `GSI${draft.indexes.length + 1}`, kind: "GSI", partition: { name: `GSI${draft.indexes.length + 1}PK`, type: "S" }, sort: { name: "", type: "S" }, projection: "ALL", include: "" });

const schema = (partition: Key, sort: Key) => [{ AttributeName: partition.name, KeyType: "HASH" }, ...(sort.name ? [{ AttributeName: sort.name, KeyType: "RANGE" }] : [])];
const names = (text: string) => text.split(",").map((one) => one.trim()).filter(Boolean);
const partitionOf = (draft: TableDraft, index: IndexDraft) => (index.kind === "LSI" ? draft.partition : index.partition);

// The requests in the order in which they are sent.
export function stepsOf(draft: TableDraft): Step[] {
  const types = new Map<string, KeyType>();
  const keys = [draft.partition, draft.sort, ...draft.indexes.flatMap((one) => [partitionOf(draft, one), one.sort])];
  for (const key of keys) if (key.name && !types.has(key.name)) types.set(key.name, key.type);
  const throughput = { ReadCapacityUnits: draft.read, WriteCapacityUnits: draft.write };
  const indexes = (kind: IndexDraft["kind"]) =>
    draft.indexes.filter((one) => one.kind === kind).map((one) => ({
      IndexName: one.name,
      KeySchema: schema(partitionOf(draft, one), one.sort),
      Projection: { ProjectionType: one.projection, ...(one.projection === "INCLUDE" && { NonKeyAttributes: names(one.include) }) },
      ...(kind === "GSI" && !draft.onDemand && { ProvisionedThroughput: throughput }),
    }));
  const [global, local] = [indexes("GSI"), indexes("LSI")];
  const tags = draft.tags.split("\n").map((line) => /^([^=]+)=(.*)$/.exec(line.trim())).flatMap((found) => (found ? [{ Key: found[1].trim(), Value: found[2].trim() }] : []));
  const input = {
    TableName: draft.name,
    AttributeDefinitions: [...types].map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
    KeySchema: schema(draft.partition, draft.sort),
    ...(local.length && { LocalSecondaryIndexes: local }),
    ...(global.length && { GlobalSecondaryIndexes: global }),
    BillingMode: draft.onDemand ? "PAY_PER_REQUEST" : "PROVISIONED",
    ...(!draft.onDemand && { ProvisionedThroughput: throughput }),
    ...(draft.stream && { StreamSpecification: { StreamEnabled: true, StreamViewType: draft.stream } }),
    ...(draft.protection && { DeletionProtectionEnabled: true }),
    ...(tags.length && { Tags: tags }),
    ...draft.other,
  };
  return [
    { operation: "CreateTable", input },
    ...(draft.ttl ? [{ operation: "UpdateTimeToLive", input: { TableName: draft.name, TimeToLiveSpecification: { Enabled: true, AttributeName: draft.ttl } } }] : []),
    ...(draft.recovery ? [{ operation: "UpdateContinuousBackups", input: { TableName: draft.name, PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } } }] : []),
  ];
}

const FORM_MEMBERS = ["TableName", "AttributeDefinitions", "KeySchema", "LocalSecondaryIndexes", "GlobalSecondaryIndexes", "BillingMode", "ProvisionedThroughput", "StreamSpecification", "DeletionProtectionEnabled", "Tags"];

// What the form shows of CreateTable's input, or of what DescribeTable says, with the requests beside it.
export function draftOf(input: any, beside: Step[] = []): TableDraft {
  const type = (name: string): KeyType => input.AttributeDefinitions?.find((one: any) => one.AttributeName === name)?.AttributeType ?? "S";
  const key = (keys: any[] | undefined, kind: "HASH" | "RANGE"): Key => {
    const name = keys?.find((one) => one.KeyType === kind)?.AttributeName ?? "";
    return { name, type: type(name) };
  };
  const index = (kind: IndexDraft["kind"]) => (one: any): IndexDraft => ({
    name: one.IndexName ?? "", kind, partition: key(one.KeySchema, "HASH"), sort: key(one.KeySchema, "RANGE"),
    projection: one.Projection?.ProjectionType ?? "ALL", include: (one.Projection?.NonKeyAttributes ?? []).join(", "),
  });
  const ttl = beside.find((one) => one.operation === "UpdateTimeToLive")?.input.TimeToLiveSpecification;
  const throughput = input.ProvisionedThroughput;
  return {
    name: input.TableName ?? "",
    partition: key(input.KeySchema, "HASH"),
    sort: key(input.KeySchema, "RANGE"),
    indexes: [...(input.GlobalSecondaryIndexes ?? []).map(index("GSI")), ...(input.LocalSecondaryIndexes ?? []).map(index("LSI"))],
    onDemand: (input.BillingMode ?? input.BillingModeSummary?.BillingMode ?? (throughput ? "PROVISIONED" : "PAY_PER_REQUEST")) === "PAY_PER_REQUEST",
    read: throughput?.ReadCapacityUnits || 5,
    write: throughput?.WriteCapacityUnits || 5,
    ttl: ttl?.Enabled === false ? "" : (ttl?.AttributeName ?? ""),
    stream: input.StreamSpecification?.StreamEnabled ? input.StreamSpecification.StreamViewType : "",
    recovery: beside.some((one) => one.operation === "UpdateContinuousBackups"),
    protection: Boolean(input.DeletionProtectionEnabled),
    tags: (input.Tags ?? []).map((one: any) => `${one.Key}=${one.Value}`).join("\n"),
    other: {},
  };
}

// The same for text that was typed: what the form does not know stays.
export function typedDraft(text: string, beside: TableDraft): TableDraft {
  const input = JSON.parse(text);
  if (typeof input !== "object" || input === null || Array.isArray(input)) throw new Error("A request is an object.");
  const other = Object.fromEntries(Object.entries(input).filter(([name]) => !FORM_MEMBERS.includes(name)));
  return { ...draftOf(input), ttl: beside.ttl, recovery: beside.recovery, other };
}

const NAME = /^[a-zA-Z0-9_.-]{3,255}$/;

// What DynamoDB would refuse, at the field where it is mended; and what can't be changed later.
export function problemsOf(draft: TableDraft, taken: string[]): Record<string, string> {
  const found: Record<string, string> = {};
  if (!draft.name) found.name = "A table needs a name.";
  else if (!NAME.test(draft.name)) found.name = "A name has 3 to 255 letters, digits, _, - and points.";
  else if (taken.includes(draft.name)) found.name = "There is a table of this name.";
  if (!draft.partition.name) found.partition = "A table needs a partition key.";
  if (draft.sort.name && draft.sort.name === draft.partition.name) found.sort = "The sort key is another attribute.";
  const [global, local] = ["GSI", "LSI"].map((kind) => draft.indexes.filter((one) => one.kind === kind).length);
  if (global > 20) found.indexes = "A table has 20 global indexes at most.";
  if (local > 5) found.indexes = "A table has 5 local indexes at most.";
  const types = new Map<string, KeyType>([[draft.partition.name, draft.partition.type], [draft.sort.name, draft.sort.type]]);
  draft.indexes.forEach((one, at) => {
    const say = (text: string) => (found[`index${at}`] ??= text);
    if (!NAME.test(one.name)) say("An index has a name of 3 to 255 letters, digits, _, - and points.");
    if (draft.indexes.some((other, place) => place < at && other.name === one.name)) say(`Two indexes are called ${one.name}.`);
    if (one.kind === "GSI" && !one.partition.name) say("A global index needs a partition key.");
    if (one.kind === "LSI" && !draft.sort.name) say("A local index needs a table with a sort key.");
    if (one.kind === "LSI" && !one.sort.name) say("A local index needs a sort key of its own.");
    if (one.projection === "INCLUDE" && !names(one.include).length) say("Name the attributes that it projects.");
    for (const key of [partitionOf(draft, one), one.sort]) {
      if (key.name && (types.get(key.name) ?? key.type) !== key.type) say(`${key.name} has another type elsewhere.`);
      types.set(key.name, types.get(key.name) ?? key.type);
    }
  });
  if (!draft.onDemand && !(draft.read >= 1 && draft.write >= 1)) found.throughput = "At least one unit of each is provisioned.";
  return found;
}
