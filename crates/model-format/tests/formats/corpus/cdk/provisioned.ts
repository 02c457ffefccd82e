import { Stack } from 'aws-cdk-lib';
import * as ddb from 'aws-cdk-lib/aws-dynamodb';

export function tables(stack: Stack): ddb.Table[] {
  const users: ddb.Table = new ddb.Table(stack, 'Users', {
    partitionKey: { name: 'userId', type: ddb.AttributeType.STRING },
    readCapacity: 20,
    writeCapacity: 10,
    deletionProtection: true,
  });
  const counters: ddb.Table = new ddb.Table(stack, 'Counters', {
    tableName: `counters`,
    partitionKey: { name: 'id', type: ddb.AttributeType.NUMBER },
    billingMode: ddb.BillingMode.PROVISIONED,
    tableClass: ddb.TableClass.STANDARD_INFREQUENT_ACCESS,
  });
  users.addGlobalSecondaryIndex({
    indexName: 'byEmail',
    partitionKey: { name: 'email', type: ddb.AttributeType.STRING },
    projectionType: ddb.ProjectionType.KEYS_ONLY,
    readCapacity: 3,
    writeCapacity: 4,
  });
  return [users, counters];
}
