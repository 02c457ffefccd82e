import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { Entity } from 'dynamodb-toolbox/entity'
import { item } from 'dynamodb-toolbox/schema/item'
import { number } from 'dynamodb-toolbox/schema/number'
import { string } from 'dynamodb-toolbox/schema/string'
import { Table } from 'dynamodb-toolbox/table'
import { crc32 } from 'node:zlib'

const documentClient = DynamoDBDocumentClient.from(new DynamoDBClient({}))

export const ShopTable = new Table({
  documentClient,
  name: 'shop',
  partitionKey: { name: 'PK', type: 'string' },
  sortKey: { name: 'SK', type: 'string' },
  indexes: {
    open: {
      type: 'global',
      partitionKey: { name: 'openPK', type: 'string' },
      sortKey: { name: 'openSK', type: 'string' }
    },
    mail: { type: 'global', partitionKey: { name: 'mailPK', type: 'string' } }
  }
})

// A customer has a profile; its address is found in lower case.
export const CustomerEntity = new Entity({
  name: 'Customer',
  table: ShopTable,
  schema: item({
    customerId: string().key(),
    name: string(),
    email: string(),
    phone: string().optional()
  }).and(prevSchema => ({
    PK: string()
      .key()
      .hidden()
      .link<typeof prevSchema>(({ customerId }) => `CUSTOMER#${customerId}`),
    SK: string().key().hidden().const('PROFILE'),
    mailPK: string().link<typeof prevSchema>(({ email }) => {
      return `MAIL#${email.toLowerCase()}`
    })
  }))
})

export const OrderEntity = new Entity({
  name: 'Order',
  table: ShopTable,
  schema: item({
    customerId: string().key(),
    placedAt: string().key(),
    orderId: string().key(),
    status: string().enum('OPEN', 'SHIPPED').default('OPEN'),
    total: number()
  }).and(prevSchema => ({
    PK: string().key().link<typeof prevSchema>(({ customerId }) => 'CUSTOMER#' + customerId),
    SK: string()
      .key()
      .link<typeof prevSchema>(({ placedAt, orderId }) => ['ORDER', placedAt, orderId].join('#')),
    openPK: string()
      .optional()
      .link<typeof prevSchema>(order =>
        order.status === 'OPEN' ? `OPEN#${crc32(order.orderId) % 4}` : undefined
      ),
    openSK: string()
      .optional()
      .link<typeof prevSchema>(order => (order.status === 'OPEN' ? order.placedAt : undefined))
  }))
})
