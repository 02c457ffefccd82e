// What the tests of both runners do.
import { DynamoDB } from "@aws-sdk/client-dynamodb";

export const TableName = "Songs";

export async function createSongs() {
  const client = new DynamoDB();
  await client.createTable({
    TableName,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [{ AttributeName: "Artist", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "Artist", KeyType: "HASH" }],
  });
  return client;
}
