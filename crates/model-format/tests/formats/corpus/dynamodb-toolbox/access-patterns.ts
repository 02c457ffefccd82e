import { Entity } from 'dynamodb-toolbox/entity'
import { item, map, number, string } from 'dynamodb-toolbox/schema'
import { Table } from 'dynamodb-toolbox/table'
import { AccessPattern } from 'dynamodb-toolbox/table/actions/accessPattern'

const OrdersTable = new Table({
  name: 'orders',
  partitionKey: { name: 'PK', type: 'string' },
  sortKey: { name: 'SK', type: 'string' },
  indexes: {
    byStatus: {
      type: 'global',
      partitionKey: { name: 'statusPK', type: 'string' },
      sortKey: { name: 'placedAt', type: 'string' }
    }
  }
})

const Customer = new Entity({
  name: 'Customer',
  table: OrdersTable,
  schema: item({ customerId: string().key(), name: string() }).and({
    PK: string().key().link(({ customerId }) => `CUSTOMER#${customerId}`),
    SK: string().key().const('PROFILE')
  })
})

const Order = new Entity({
  name: 'Order',
  table: OrdersTable,
  schema: item({
    customerId: string().key(),
    placedAt: string().key(),
    status: string().enum('OPEN', 'SHIPPED'),
    total: number()
  }).and({
    PK: string().key().link(({ customerId }) => `CUSTOMER#${customerId}`),
    SK: string().key().link(({ placedAt }) => `ORDER#${placedAt}`),
    statusPK: string().link(({ status }) => `STATUS#${status}`)
  })
})

export const ordersOfCustomer = OrdersTable.build(AccessPattern)
  .entities(Order)
  .schema(map({ customerId: string() }))
  .pattern(({ customerId }) => ({ partition: `CUSTOMER#${customerId}`, range: { beginsWith: 'ORDER#' } }))
  .options({ reverse: true, limit: 20, maxPages: 3 })
  .meta({ description: 'The newest orders of a customer' })

export const ordersOfTime = Order.build(AccessPattern)
  .schema(map({ id: string(), from: string(), to: string() }))
  .pattern(({ id, from, to }) => ({
    partition: `CUSTOMER#${id}`,
    range: { between: [`ORDER#${from}`, `ORDER#${to}`] }
  }))

export const openOrders = OrdersTable.build(AccessPattern)
  .entities(Order)
  .schema(map({}))
  .pattern(() => ({ index: 'byStatus', partition: 'STATUS#OPEN' }))
  .options({ limit: 100, attributes: ['placedAt', 'total'] })

export const customerWithOrders = OrdersTable.build(AccessPattern)
  .entities(Customer, Order)
  .schema(map({ customerId: string() }))
  .pattern(({ customerId }) => ({ partition: `CUSTOMER#${customerId}` }))
  .options({ consistent: true })
