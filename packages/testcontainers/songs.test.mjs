// Lodestone's image under Testcontainers for Node.
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { after, before, test } from "node:test";
import { DynamoDB } from "@aws-sdk/client-dynamodb";
import { GenericContainer, Wait } from "testcontainers";

const IMAGE = process.env.LODESTONE_IMAGE ?? "lodestone:0.1.0";
let container;

before(async () => {
  // The image has no shell, with which Testcontainers would look for open ports.
  const lodestone = new GenericContainer(IMAGE).withCommand(["serve", "--in-memory"]).withExposedPorts(8000);
  container = await lodestone.withWaitStrategy(Wait.forHttp("/", 8000)).start();
});

after(() => container?.stop());

/** A client for an account of its own, which has no tables yet. */
function newClient() {
  const accessKeyId = Array.from({ length: 12 }, () => randomInt(10)).join("");
  return new DynamoDB({
    endpoint: `http://${container.getHost()}:${container.getMappedPort(8000)}`,
    region: "us-east-1",
    credentials: { accessKeyId, secretAccessKey: "local" },
  });
}

for (const artist of ["Nina Simone", "Miles Davis"]) {
  test(`a song of ${artist} is kept, and each test begins without tables`, async () => {
    const client = newClient();
    await client.createTable({
      TableName: "Songs",
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: [{ AttributeName: "Artist", AttributeType: "S" }],
      KeySchema: [{ AttributeName: "Artist", KeyType: "HASH" }],
    });
    await client.putItem({ TableName: "Songs", Item: { Artist: { S: artist } } });
    const { Items } = await client.scan({ TableName: "Songs" });
    assert.deepEqual(Items, [{ Artist: { S: artist } }]);
  });
}
