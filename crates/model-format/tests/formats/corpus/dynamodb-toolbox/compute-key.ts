import { Entity } from 'dynamodb-toolbox/entity'
import { Table } from 'dynamodb-toolbox/table'
import { schema, string, number, boolean, list, map, set, binary, any } from 'dynamodb-toolbox/schema'

const EventTable = new Table({
  name: 'events',
  partitionKey: { name: 'pk', type: 'string' },
  sortKey: { name: 'sk', type: 'string' }
})

const EventEntity = new Entity({
  name: 'Event',
  table: EventTable,
  schema: schema({
    tenant: string().key(),
    id: string().key(),
    seq: number().key(),
    weight: number().optional(),
    done: boolean(),
    labels: list(string()),
    colours: set(string()),
    raw: binary().optional(),
    detail: map({ of: string(), depth: number() }),
    anything: any().optional()
  }),
  computeKey: ({ tenant, id, seq }) => ({
    pk: `T#${tenant}#${id}`,
    sk: seq.toString().padStart(8, '0')
  }),
  entityAttribute: false,
  timestamps: false
})

export { EventTable, EventEntity }
