import { Stack, StackProps } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as kms from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';

export interface ShopStackProps extends StackProps {
  /** The key that tables are encrypted with. */
  readonly encryptionKey: kms.IKey;
  /** The ARN of the key in each other Region. */
  readonly replicaKeyArns: { [region: string]: string };
}

export class ShopStack extends Stack {
  public readonly ordersTable: dynamodb.TableV2;
  public readonly sessionsTable: dynamodb.TableV2;

  constructor(scope: Construct, id: string, props: ShopStackProps) {
    super(scope, id, {
      description: 'Orders and sessions',
      env: { region: 'eu-central-1' },
      ...props,
    });

    this.ordersTable = new dynamodb.TableV2(this, 'Orders', {
      tableName: 'orders',
      partitionKey: { name: 'PK', type: dynamodb.AttributeType.STRING },
      sortKey: { name: 'at', type: dynamodb.AttributeType.NUMBER },
      billing: dynamodb.Billing.provisioned({
        readCapacity: dynamodb.Capacity.fixed(50),
        writeCapacity: dynamodb.Capacity.autoscaled({ minCapacity: 5, maxCapacity: 1000, targetUtilizationPercent: 62.5 }),
      }),
      globalSecondaryIndexes: [
        {
          indexName: 'byTenant',
          partitionKeys: [
            { name: 'tenant', type: dynamodb.AttributeType.STRING },
            { name: 'kind', type: dynamodb.AttributeType.STRING },
          ],
          sortKeys: [
            { name: 'at', type: dynamodb.AttributeType.NUMBER },
            { name: 'status', type: dynamodb.AttributeType.STRING },
          ],
          projectionType: dynamodb.ProjectionType.INCLUDE,
          nonKeyAttributes: ['total'],
        },
        {
          indexName: 'byStatus',
          partitionKey: { name: 'status', type: dynamodb.AttributeType.STRING },
          projectionType: dynamodb.ProjectionType.KEYS_ONLY,
          readCapacity: dynamodb.Capacity.fixed(7),
          writeCapacity: dynamodb.Capacity.autoscaled({
            minCapacity: 10,
            maxCapacity: 40,
            targetUtilizationPercent: 70,
            seedCapacity: 20,
          }),
        },
      ],
      localSecondaryIndexes: [
        {
          indexName: 'local',
          sortKey: { name: 'status', type: dynamodb.AttributeType.STRING },
          projectionType: dynamodb.ProjectionType.ALL,
        },
      ],
      timeToLiveAttribute: 'expiresAt',
      dynamoStream: dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: true,
      tableClass: dynamodb.TableClass.STANDARD_INFREQUENT_ACCESS,
      encryption: dynamodb.TableEncryptionV2.awsManagedKey(),
      tags: [{ key: 'cost-centre', value: '42' }, { key: '${team}', value: 'a "b"' }],
    });

    this.sessionsTable = new dynamodb.TableV2(this, 'Sessions', {
      tableName: 'sessions',
      partitionKey: { name: 'id', type: dynamodb.AttributeType.STRING },
      billing: dynamodb.Billing.onDemand({ maxWriteRequestUnits: 4000 }),
      globalSecondaryIndexes: [
        {
          indexName: 'byUser',
          partitionKey: { name: 'userId', type: dynamodb.AttributeType.STRING },
          projectionType: dynamodb.ProjectionType.KEYS_ONLY,
          maxReadRequestUnits: 100,
        },
      ],
      deletionProtection: false,
      encryption: dynamodb.TableEncryptionV2.customerManagedKey(props.encryptionKey, props.replicaKeyArns),
      replicas: [{ region: 'us-east-1' }, { region: 'eu-west-1' }],
    });
  }
}
