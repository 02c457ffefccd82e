import { Entity } from "electrodb";

export const Task = new Entity(
  {
    model: { entity: "task", version: "1", service: "work" },
    attributes: {
      team: { type: "string", required: true },
      id: { type: "string", required: true, default: () => crypto.randomUUID() },
      points: { type: "number", validate: (n: number) => n < 100 ? undefined : "too many" },
    },
    indexes: {
      primary: { pk: { field: "pk", composite: ["team"] }, sk: { field: "sk", composite: ["id"] } },
    },
  } as const,
  { table: "work" },
);
