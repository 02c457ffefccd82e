// `lodestone model code --language typescript`: a module with types, key builders and functions with parameters.
// All of them pass the strictest checks of the compiler; each function is called with values of the example data and
// finds and leaves what the pattern means.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { ScanCommand } from "@aws-sdk/client-dynamodb";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import { checkLeft, model, models, send, withTables } from "../models.mjs";

// Beside the packages, so that the modules find them.
const packages = fileURLToPath(new URL("../node_modules/", import.meta.url));
const folder = mkdtempSync(`${packages}.model-library-`);
after(() => rmSync(folder, { recursive: true }));

const ownModel = (name) => fileURLToPath(new URL(`../../models/${name}.yaml`, import.meta.url));
const examples = readdirSync(models).filter((name) => name.endsWith(".yaml"));
const paths = [...examples.map((name) => `${models}${name}`), ownModel("every-kind"), ownModel("photo-likes")];
const libraryName = (path) => readFileSync(path, "utf8").match(/^model: (\S+)/m)[1].replaceAll("-", "_");

for (const path of paths) {
  const generate = (...options) => model("code", path, "--language", "typescript", ...options);
  writeFileSync(`${folder}/${libraryName(path)}.ts`, generate());
  writeFileSync(`${folder}/${libraryName(path)}_calls.ts`, generate("--calls"));
}
const tsconfig = {
  compilerOptions: {
    strict: true,
    noUncheckedIndexedAccess: true,
    noUnusedLocals: true,
    noUnusedParameters: true,
    noImplicitReturns: true,
    skipLibCheck: true,
    target: "es2022",
    module: "nodenext",
    types: ["node"],
  },
  include: ["*.ts"],
};
writeFileSync(`${folder}/tsconfig.json`, JSON.stringify(tsconfig));
writeFileSync(`${folder}/package.json`, JSON.stringify({ type: "module" }));

test("the compiler finds nothing wrong with any of the modules", () => {
  try {
    execFileSync(`${packages}.bin/tsc`, ["--project", folder], { encoding: "utf8" });
  } catch (error) {
    assert.fail(error.stdout);
  }
});

// The class with the patterns.
function classOf(module) {
  return Object.values(module).find((one) => /^class\b/.test(String(one)) && one.name !== "ConditionFailed");
}

// All records of a result, of one entity or of several.
function records(answer) {
  if (answer === undefined) return [];
  if (Array.isArray(answer)) return answer;
  if ("items" in answer) return records(answer.items);
  const lists = Object.values(answer);
  return lists.every(Array.isArray) ? lists.flat() : [answer];
}

const camel = (name) => name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());

// Whether every field has the value of its attribute.
function isReadFrom(record, item) {
  const attributes = Object.fromEntries(Object.entries(item).map(([name, value]) => [camel(name), value]));
  return Object.entries(record).every(([name, value]) => isDeepStrictEqual(value, attributes[name]));
}

function checkFound({ finds, operation }, answer, stored) {
  const text = (key) => JSON.stringify(Object.entries(key).sort());
  const items = finds.map((key) => {
    const plain = unmarshall(key);
    return stored.find((item) => text(Object.fromEntries(Object.keys(plain).map((name) => [name, item[name]]))) === text(plain));
  });
  if (typeof answer === "number") return assert.equal(answer, items.length);
  const found = records(answer);
  assert.equal(found.length, items.length);
  const inOrder = Array.isArray(answer) || Array.isArray(answer?.items);
  if (inOrder && !["BatchGetItem", "Scan"].includes(operation)) {
    found.forEach((record, at) => assert.ok(isReadFrom(record, items[at]), JSON.stringify([record, items[at]])));
  }
  for (const item of items) assert.ok(found.some((record) => isReadFrom(record, item)), JSON.stringify(item));
}

async function contents(tables) {
  const pages = tables.map((TableName) => send(new ScanCommand({ TableName, ConsistentRead: true })));
  return (await Promise.all(pages)).flatMap(({ Items }) => Items.map((item) => unmarshall(item)));
}

for (const path of paths) {
  test(`the functions of ${libraryName(path)} find and leave what the patterns mean`, async () => {
    const { calls } = await import(`${folder}/${libraryName(path)}_calls.js`);
    const library = new (classOf(await import(`${folder}/${libraryName(path)}.js`)))();
    await withTables(path, async (tables) => {
      const examples = JSON.parse(model("code", path, "--json")).patterns.filter((one) => one.requests);
      assert.deepEqual(Object.keys(calls).sort(), examples.map(({ pattern }) => pattern).sort());
      const stored = await contents(tables);
      // A writer that draws a shard is tried at last: the counters together have one more.
      for (const example of examples.filter(({ pattern }) => pattern !== "view")) {
        const answer = await calls[example.pattern](library);
        if (example.leaves) await checkLeft(path, example);
        else checkFound(example, answer, stored);
      }
      if (calls.view) {
        const sum = (items) => items.reduce((total, { viewCount }) => total + viewCount, 0);
        await calls.view(library);
        assert.equal(sum(await contents(tables)), sum(stored) + 1);
      }
    });
  });
}

test("a condition that fails has an error of its own, and pages are iterated", async () => {
  const { ConditionFailed, PhotoLikes } = await import(`${folder}/photo_likes.js`);
  await withTables(ownModel("photo-likes"), async (tables) => {
    const library = new PhotoLikes();
    const [photo] = (await contents(tables)).filter(({ SK }) => SK === "PHOTO");
    const like = { photoId: photo.photoId, userId: "u-new", likedAt: "2026-01-01T00:00:00Z" };
    await library.likePhoto(like);
    const failed = (writes) => (error) => error instanceof ConditionFailed && isDeepStrictEqual(error.writes, writes);
    await assert.rejects(library.likePhoto(like), failed([0]));
    await assert.rejects(library.likePhoto({ ...like, photoId: "none" }), failed([1]));
    await library.seePhoto(photo.photoId);
    const { likes, views } = await library.photo(photo.photoId);
    assert.deepEqual([likes, views], [photo.likes + 1, photo.views + 1]);
  });
  const comments = await import(`${folder}/comments.js`);
  await withTables(`${models}m16-comments.yaml`, async () => {
    const library = new comments.Comments();
    await library.writePost({ title: "t", body: "b", createdAt: "2026-01-01T00:00:00Z", postId: "p-1" });
    for (let second = 0; second < 3; second++) {
      const createdAt = `2026-01-01T00:00:0${second}Z`;
      await library.comment({ createdAt, commentId: `c-${second}`, text: "t", userId: "u", postId: "p-1" });
    }
    const pages = [];
    for await (const page of library.commentsOnPostPages("p-1", 2)) pages.push(page.map(({ commentId }) => commentId));
    assert.deepEqual(pages, [["c-2", "c-1"], ["c-0"]]);
  });
});
