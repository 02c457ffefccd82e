// The binary under test: started in memory on a port of its own choice, ended with the test file.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before } from "node:test";
import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocument } from "@aws-sdk/lib-dynamodb";

const lodestone = {};
let server;

// A client that tries once, so that a failure is seen and not repeated.
export function connect() {
  return new DynamoDBClient({
    endpoint: lodestone.endpoint,
    region: "us-east-1",
    credentials: { accessKeyId: "ACCEPTANCE", secretAccessKey: "secret" },
    maxAttempts: 1,
  });
}

before(async () => {
  const options = ["serve", "--in-memory", "--host", "127.0.0.1", "--port", "0"];
  server = spawn(process.env.LODESTONE, options, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(createInterface({ input: server.stdout }), "line");
  lodestone.endpoint = line.match(/http:\/\/127\.0\.0\.1:\d+/)[0];
  lodestone.client = connect();
  lodestone.documents = DynamoDBDocument.from(lodestone.client);
});

after(async () => {
  lodestone.client.destroy();
  server.kill("SIGTERM");
  await once(server, "exit");
});

let tables = 0;

// A new table; `keys` are names and types, the partition key first.
export async function createTable(keys = { pk: "S", sk: "S" }) {
  const TableName = `JavaScript-${++tables}`;
  const { client } = lodestone;
  await client.send(
    new CreateTableCommand({
      TableName,
      KeySchema: Object.keys(keys).map((AttributeName, i) => ({ AttributeName, KeyType: ["HASH", "RANGE"][i] })),
      AttributeDefinitions: Object.entries(keys).map(([AttributeName, AttributeType]) => ({
        AttributeName,
        AttributeType,
      })),
      BillingMode: "PAY_PER_REQUEST",
    }),
  );
  await waitUntilTableExists({ client, maxWaitTime: 10, minDelay: 1 }, { TableName });
  return TableName;
}

export default lodestone;
