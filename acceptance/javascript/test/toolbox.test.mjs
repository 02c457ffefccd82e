// DynamoDB-Toolbox: books and their loans as two entities of one table with an index.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import {
  $add,
  $append,
  $get,
  $remove,
  BatchDeleteRequest,
  BatchGetCommand,
  BatchGetRequest,
  BatchPutRequest,
  BatchWriteCommand,
  ConditionCheck,
  DeleteItemCommand,
  Entity,
  GetItemCommand,
  GetTransaction,
  PutItemCommand,
  PutTransaction,
  QueryCommand,
  ScanCommand,
  Table,
  UpdateItemCommand,
  UpdateTransaction,
  executeBatchGet,
  executeBatchWrite,
  executeTransactGet,
  executeTransactWrite,
  item,
  list,
  map,
  number,
  set,
  string,
} from "dynamodb-toolbox";
import lodestone, { createTable } from "../lodestone.mjs";

let library, Book, Loan;

before(async () => {
  library = new Table({
    name: await createTable({ pk: "S", sk: "S" }, { byReader: { reader: "S", due: "S" } }),
    documentClient: lodestone.documents,
    partitionKey: { name: "pk", type: "string" },
    sortKey: { name: "sk", type: "string" },
    indexes: {
      byReader: {
        type: "global",
        partitionKey: { name: "reader", type: "string" },
        sortKey: { name: "due", type: "string" },
      },
    },
  });
  Book = new Entity({
    name: "Book",
    table: library,
    timestamps: false,
    schema: item({
      isbn: string().key(),
      title: string(),
      copies: number().default(1),
      tags: set(string()).optional(),
      notes: list(map({ by: string(), text: string() })).optional(),
      shelf: string().optional(),
    }),
    computeKey: ({ isbn }) => ({ pk: `BOOK#${isbn}`, sk: "BOOK" }),
  });
  Loan = new Entity({
    name: "Loan",
    table: library,
    timestamps: false,
    schema: item({
      isbn: string().key(),
      number: number().key(),
      reader: string(),
      due: string(),
    }),
    computeKey: ({ isbn, number }) => ({ pk: `BOOK#${isbn}`, sk: `LOAN#${String(number).padStart(4, "0")}` }),
  });
});

const put = (entity, item, options = {}) => entity.build(PutItemCommand).item(item).options(options).send();
const get = async (entity, key, options = {}) =>
  (await entity.build(GetItemCommand).key(key).options({ consistent: true, ...options }).send()).Item;
const loans = (isbn, count) =>
  Array.from({ length: count }, (_, number) => ({ isbn, number, reader: `reader-${number % 2}`, due: `2026-0${9 - (number % 9)}` }));

test("an entity is put, read in part, and deleted", async () => {
  await put(Book, { isbn: "1", title: "Atlas", tags: new Set(["maps"]) });
  assert.deepEqual(await get(Book, { isbn: "1" }), { isbn: "1", title: "Atlas", copies: 1, tags: new Set(["maps"]) });
  assert.deepEqual(await get(Book, { isbn: "1" }, { attributes: ["title"] }), { title: "Atlas" });
  const { Attributes } = await Book.build(DeleteItemCommand).key({ isbn: "1" }).options({ returnValues: "ALL_OLD" }).send();
  assert.equal(Attributes.title, "Atlas");
  assert.equal(await get(Book, { isbn: "1" }), undefined);
});

test("a condition that fails shows the item", async () => {
  const insert = (title) =>
    put(Book, { isbn: "2", title }, {
      condition: { attr: "isbn", exists: false },
      returnValuesOnConditionFalse: "ALL_OLD",
    });
  await insert("first");
  await assert.rejects(insert("second"), (error) => {
    assert.equal(error.name, "ConditionalCheckFailedException");
    assert.equal(error.Item.title.S ?? error.Item.title, "first");
    return true;
  });
  assert.equal((await get(Book, { isbn: "2" })).title, "first");
});

test("an update adds, appends, copies and removes in one request", async () => {
  await put(Book, { isbn: "3", title: "Tides", tags: new Set(["sea"]), notes: [], shelf: "A1" });
  const { Attributes } = await Book.build(UpdateItemCommand)
    .item({
      isbn: "3",
      copies: $add(4),
      tags: $add(new Set(["moon"])),
      notes: $append([{ by: "jo", text: "worn" }]),
      title: $get("shelf"),
      shelf: $remove(),
    })
    .options({ returnValues: "ALL_NEW", condition: { attr: "copies", lt: 5 } })
    .send();
  assert.deepEqual(Attributes, {
    isbn: "3",
    title: "A1",
    copies: 5,
    tags: new Set(["moon", "sea"]),
    notes: [{ by: "jo", text: "worn" }],
  });
  const again = Book.build(UpdateItemCommand).item({ isbn: "3", copies: $add(1) }).options({ condition: { attr: "copies", lt: 5 } });
  await assert.rejects(again.send(), { name: "ConditionalCheckFailedException" });
});

test("a partition is queried by range, in reverse, page by page", async () => {
  await put(Book, { isbn: "4", title: "Query" });
  for (const loan of loans("4", 7)) await put(Loan, loan);
  const query = (range, options = {}) =>
    library.build(QueryCommand).entities(Loan).query({ partition: "BOOK#4", range }).options(options).send();
  const numbers = ({ Items }) => Items.map((loan) => loan.number);

  assert.deepEqual(numbers(await query({ beginsWith: "LOAN#" })), [0, 1, 2, 3, 4, 5, 6]);
  assert.deepEqual(numbers(await query({ between: ["LOAN#0002", "LOAN#0004"] })), [2, 3, 4]);
  assert.deepEqual(numbers(await query({ gte: "LOAN#0005" }, { reverse: true })), [6, 5]);
  assert.deepEqual(numbers(await query({ beginsWith: "LOAN#" }, { filters: { Loan: { attr: "reader", eq: "reader-1" } } })), [1, 3, 5]);

  const found = [];
  let exclusiveStartKey;
  do {
    const page = await query({ beginsWith: "LOAN#" }, { limit: 3, ...(exclusiveStartKey && { exclusiveStartKey }) });
    found.push(...numbers(page));
    exclusiveStartKey = page.LastEvaluatedKey;
    assert.ok(found.length <= 7);
  } while (exclusiveStartKey);
  assert.deepEqual(found, [0, 1, 2, 3, 4, 5, 6]);
});

test("one query returns both entities, each in its own shape", async () => {
  await put(Book, { isbn: "5", title: "Both" });
  for (const loan of loans("5", 2)) await put(Loan, loan);
  const { Items } = await library.build(QueryCommand).entities(Book, Loan).query({ partition: "BOOK#5" })
    .options({ tagEntities: true, showEntityAttr: true }).send();
  assert.deepEqual(Items.map((item) => item.entity), ["Book", "Loan", "Loan"]);
  assert.equal(Items[0].title, "Both");
});

test("an index finds the loans of a reader by due date", async () => {
  for (const [number, due] of [[1, "2026-05"], [2, "2026-03"], [3, "2026-09"]]) {
    await put(Loan, { isbn: "6", number, reader: "reader-index", due });
  }
  await put(Book, { isbn: "6", title: "Not a loan" });
  const query = (range) =>
    library.build(QueryCommand).entities(Loan).query({ index: "byReader", partition: "reader-index", ...(range && { range }) }).send();
  assert.deepEqual((await query()).Items.map((loan) => loan.number), [2, 1, 3]);
  assert.deepEqual((await query({ lt: "2026-05" })).Items.map((loan) => loan.number), [2]);
});

test("batches write and read both entities", async () => {
  const written = Array.from({ length: 12 }, (_, number) => ({ isbn: `batch-${number}`, title: `Batch ${number}` }));
  await executeBatchWrite(
    library.build(BatchWriteCommand).requests(...written.map((book) => Book.build(BatchPutRequest).item(book))),
  );
  await executeBatchWrite(
    library.build(BatchWriteCommand).requests(
      Book.build(BatchDeleteRequest).key({ isbn: "batch-0" }),
      Loan.build(BatchPutRequest).item({ isbn: "batch-1", number: 1, reader: "r", due: "d" }),
    ),
  );
  const { Responses } = await executeBatchGet(
    library.build(BatchGetCommand).requests(
      Book.build(BatchGetRequest).key({ isbn: "batch-0" }),
      Book.build(BatchGetRequest).key({ isbn: "batch-11" }),
      Loan.build(BatchGetRequest).key({ isbn: "batch-1", number: 1 }),
    ),
  );
  assert.deepEqual(Responses[0].map((item) => item?.title ?? item?.reader), [undefined, "Batch 11", "r"]);
});

test("a loan takes a copy, in one transaction or not at all", async () => {
  await put(Book, { isbn: "7", title: "Wanted", copies: 1 });
  const lend = (number) =>
    executeTransactWrite(
      Loan.build(PutTransaction).item({ isbn: "7", number, reader: "r7", due: "2026-12" }).options({ condition: { attr: "isbn", exists: false } }),
      Book.build(UpdateTransaction).item({ isbn: "7", copies: $add(-1) }).options({ condition: { attr: "copies", gt: 0 } }),
      Loan.build(ConditionCheck).key({ isbn: "7", number: 99 }).condition({ attr: "isbn", exists: false }),
    );
  await lend(1);
  await assert.rejects(lend(2), (error) => {
    assert.equal(error.name, "TransactionCanceledException");
    assert.deepEqual(error.CancellationReasons.map((reason) => reason.Code), ["None", "ConditionalCheckFailed", "None"]);
    return true;
  });
  const { Responses } = await executeTransactGet(
    Book.build(GetTransaction).key({ isbn: "7" }),
    Loan.build(GetTransaction).key({ isbn: "7", number: 1 }),
    Loan.build(GetTransaction).key({ isbn: "7", number: 2 }),
  );
  assert.deepEqual(Responses.map(({ Item }) => Item?.copies ?? Item?.reader), [0, "r7", undefined]);
});

test("a scan in segments finds every book once", async () => {
  const found = [];
  for (const segment of [0, 1, 2]) {
    const { Items } = await library.build(ScanCommand).entities(Book).options({ segment, totalSegments: 3, maxPages: Infinity, entityAttrFilter: true }).send();
    found.push(...Items.map((book) => book.isbn));
  }
  assert.equal(new Set(found).size, found.length);
  assert.ok(found.includes("2") && found.includes("batch-11") && !found.includes("1"));
});
