import { Table } from 'dynamodb-onetable'

const Schema = {
  format: 'onetable:1.1.0',
  version: '0.0.1',
  indexes: { primary: { hash: 'pk', sort: 'sk' } },
  models: {
    Note: {
      pk: { type: 'string', value: 'user#${userId}' },
      sk: { type: 'string', value: 'note#${at}' },
      userId: { type: 'string', required: true },
      at: { type: 'string', required: true },
    },
  },
  params: {},
} as const

export default Schema
