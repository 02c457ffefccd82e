import { Table, Entity, item, string, number } from 'dynamodb-toolbox'

export const Monsters = new Table({
  name: 'monsters',
  partitionKey: { name: 'pk', type: 'string' },
  sortKey: { name: 'sk', type: 'string' },
  indexes: {
    byLevel: {
      type: 'global',
      partitionKey: { name: 'region', type: 'string' },
      sortKey: { name: 'level', type: 'number' },
    },
  },
})

export const Monster = new Entity({
  name: 'Monster',
  table: Monsters,
  schema: item({
    trainerId: string().key(),
    monsterId: string().key(),
    power: number().savedAs('level'),
  }),
  computeKey: ({ trainerId, monsterId }) => ({ pk: `TRAINER#${trainerId}`, sk: monsterId }),
})
