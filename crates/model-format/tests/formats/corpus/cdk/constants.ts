import * as cdk from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';

const partitionKey = { name: 'pk', type: dynamodb.AttributeType.STRING } as const;
const held = ['total', 'status'];

export class Orders extends cdk.Stack {
  constructor(scope: Construct, id: string, props?: cdk.StackProps) {
    super(scope, id, props);
    const table = new dynamodb.Table(this, 'Orders', {
      tableName: 'orders',
      partitionKey: partitionKey,
      sortKey: { name: 'placedAt', type: dynamodb.AttributeType.NUMBER },
      billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
    });
    table.addGlobalSecondaryIndex({
      indexName: 'byCustomer',
      partitionKey: { name: 'customerId', type: dynamodb.AttributeType.STRING },
      sortKey: partitionKey,
      projectionType: dynamodb.ProjectionType.INCLUDE,
      nonKeyAttributes: held,
    });
  }
}
