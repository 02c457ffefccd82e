import { Entity } from 'dynamodb-toolbox/entity'
import { item, set, string, number } from 'dynamodb-toolbox/schema'
import { Table } from 'dynamodb-toolbox/table'
import { keyOf } from './keys'

const PARTITION = 'userId'

const Sessions = new Table({
  name: process.env.SESSIONS_TABLE,
  partitionKey: { name: PARTITION, type: 'string' },
  sortKey: { name: 'sessionId', type: 'string' },
  indexes: {
    byDay: { type: 'local', sortKey: { name: 'day', type: 'string' } },
    byKey: { type: 'global', partitionKey: { name: 'lookup', type: 'string' } }
  }
})

const audit = { by: string(), reason: string().optional() }
const id = string().key()

const sessionSchema = item({
  userId: id,
  sessionId: id,
  day: string(),
  expiresAt: number(),
  scopes: set(string()).optional(),
  secret: string(),
  lookup: string().link(input => keyOf(input)),
  ...audit
})

export const SessionEntity = new Entity({
  name: 'Session',
  table: Sessions,
  schema: sessionSchema.omit('secret')
})
