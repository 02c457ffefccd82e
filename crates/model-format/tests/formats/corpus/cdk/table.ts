import * as cdk from 'aws-cdk-lib';
import { AttributeType, BillingMode, ProjectionType, StreamViewType, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';

const TABLE_NAME = 'orders';

export class OrdersStack extends cdk.Stack {
  constructor(scope: Construct, id: string, props?: cdk.StackProps) {
    super(scope, id, props);

    // One table for all of it.
    const table = new Table(this, 'OrdersTable', {
      tableName: TABLE_NAME,
      partitionKey: { name: 'PK', type: AttributeType.STRING },
      sortKey: { name: 'SK', type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      timeToLiveAttribute: 'expiresAt',
      stream: StreamViewType.NEW_IMAGE,
      encryption: TableEncryption.AWS_MANAGED,
      pointInTimeRecovery: true,
      removalPolicy: cdk.RemovalPolicy.RETAIN,
    });

    table.addGlobalSecondaryIndex({
      indexName: 'byStatus',
      partitionKey: { name: 'status', type: AttributeType.STRING },
      sortKey: { name: 'placedAt', type: AttributeType.NUMBER },
      projectionType: ProjectionType.INCLUDE,
      nonKeyAttributes: ['total', 'customerId'],
    });
    table.addLocalSecondaryIndex({ indexName: 'byTotal', sortKey: { name: 'total', type: AttributeType.NUMBER } });

    const handler = (event: string) => event.replace(/[/'"]/g, '') + `${TABLE_NAME}/${table.tableName}`;
    new cdk.CfnOutput(this, 'Name', { value: handler('x') });
  }
}
