// There are two files with the same table: each has an account of its own.
const { DynamoDB } = require("@aws-sdk/client-dynamodb");

const TableName = "Songs";

test("a file begins without tables and has its own", async () => {
  const client = new DynamoDB();
  await client.createTable({
    TableName,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [{ AttributeName: "Artist", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "Artist", KeyType: "HASH" }],
  });
  expect((await client.listTables()).TableNames).toEqual([TableName]);
});
