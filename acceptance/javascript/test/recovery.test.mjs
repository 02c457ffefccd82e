// Backups and point-in-time recovery with the JavaScript SDK.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BackupNotFoundException,
  CreateBackupCommand,
  DeleteBackupCommand,
  DescribeBackupCommand,
  DescribeTableCommand,
  PutItemCommand,
  RestoreTableFromBackupCommand,
  RestoreTableToPointInTimeCommand,
  ScanCommand,
  UpdateContinuousBackupsCommand,
} from "@aws-sdk/client-dynamodb";
import lodestone, { createTable, until } from "../lodestone.mjs";

const send = (command) => lodestone.client.send(command);

async function itemsWhenActive(TableName) {
  await until(async () => (await send(new DescribeTableCommand({ TableName }))).Table.TableStatus === "ACTIVE");
  return (await send(new ScanCommand({ TableName, ConsistentRead: true }))).Items;
}

test("a backup is restored as it was, and is gone once it is deleted", async () => {
  const TableName = await createTable({ pk: "S" });
  const Item = { pk: { S: "a" }, n: { N: "1" } };
  await send(new PutItemCommand({ TableName, Item }));
  const { BackupDetails } = await send(new CreateBackupCommand({ TableName, BackupName: "nightly" }));
  const { BackupArn } = BackupDetails;
  await send(new PutItemCommand({ TableName, Item: { ...Item, n: { N: "2" } } }));
  const describe = () => send(new DescribeBackupCommand({ BackupArn }));
  await until(async () => (await describe()).BackupDescription.BackupDetails.BackupStatus === "AVAILABLE");
  const TargetTableName = `${TableName}-restored`;
  await send(new RestoreTableFromBackupCommand({ BackupArn, TargetTableName }));
  assert.deepEqual(await itemsWhenActive(TargetTableName), [Item]);
  await send(new DeleteBackupCommand({ BackupArn }));
  await assert.rejects(describe(), BackupNotFoundException);
});

test("a table comes back as it was at a moment", async () => {
  const TableName = await createTable({ pk: "S" });
  const PointInTimeRecoverySpecification = { PointInTimeRecoveryEnabled: true };
  await send(new UpdateContinuousBackupsCommand({ TableName, PointInTimeRecoverySpecification }));
  const Item = { pk: { S: "a" }, n: { N: "1" } };
  await send(new PutItemCommand({ TableName, Item }));
  // The SDK sends whole seconds.
  const second = Math.floor(Date.now() / 1000) + 1;
  await until(() => Date.now() >= second * 1000);
  await send(new PutItemCommand({ TableName, Item: { ...Item, n: { N: "2" } } }));
  const TargetTableName = `${TableName}-second`;
  const RestoreDateTime = new Date(second * 1000);
  const restore = { SourceTableName: TableName, TargetTableName, RestoreDateTime };
  await send(new RestoreTableToPointInTimeCommand(restore));
  assert.deepEqual(await itemsWhenActive(TargetTableName), [Item]);
});
