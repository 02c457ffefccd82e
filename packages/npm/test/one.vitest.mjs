// There are two files with the same table: each has an account of its own.
import { expect, test } from "vitest";
import { createSongs, TableName } from "./songs.mjs";

test("a file begins without tables and has its own", async () => {
  const client = await createSongs();
  await client.putItem({ TableName, Item: { Artist: { S: "Nina Simone" } } });
  const found = await client.scan({ TableName });
  expect(found.Items).toEqual([{ Artist: { S: "Nina Simone" } }]);
  expect((await client.listTables()).TableNames).toEqual([TableName]);
});
