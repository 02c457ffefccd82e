import { Entity, Table, item, number, prefix, string } from 'dynamodb-toolbox';

const Readings = new Table({
  name: "readings",
  partitionKey: { name: "pk", type: "string" },
  sortKey: { name: "sk", type: "number" },
  entityAttributeSavedAs: "__kind__",
});

export const Reading = new Entity({
  name: "Reading",
  table: Readings,
  schema: item({
    deviceId: string().transform(prefix("DEVICE")).savedAs("pk").key(),
    at: number({ key: true, required: "always", savedAs: "sk" }),
    value: number({ savedAs: "v" }),
    note: string({ required: "never" }),
  }),
  timestamps: { created: false, modified: { name: "changed", savedAs: "changedAt", hidden: true } },
});
