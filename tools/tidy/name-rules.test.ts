import assert from "node:assert/strict";
import test from "node:test";
import { house, judge } from "./fixture.ts";
import { fileName, migrationNumbers, operationFile } from "./name-rules.ts";

function named(path: string): string[] {
  return fileName(path).map(({ message }) => message);
}

test("files are named in kebab-case", () => {
  const good = [
    house("storage/sqlite/sqlite-store.ts"),
    house("clock.ts"),
    "packages/server/test/long-poll.test.ts",
    "packages/server/test/claim.pg.test.ts",
    "packages/console/src/inbox-row.tsx",
    "tools/tidy/tidy.ts",
    "bench/http2.ts",
    "README.md",
    house("storage/migrations/0001_initial.sql"),
  ];
  for (const path of good) assert.deepEqual(named(path), [], path);
  const bad = [house("http/longPoll.ts"), house("http/Exchange.ts"), "tools/a_b.test.ts"];
  for (const path of bad) assert.deepEqual(named(path), ["file name is not kebab-case"], path);
});

test("two migrations with one number are a violation", () => {
  const folder = house("storage/migrations");
  const paths = ["0002_b.sql", "0001_a.sql", "0002_a.sql", "README.md"].map((name) => {
    return `${folder}/${name}`;
  });
  assert.deepEqual(migrationNumbers(paths), [
    { file: `${folder}/0002_b.sql`, line: 1, message: "0002_a.sql has the same number" },
  ]);
  assert.deepEqual(migrationNumbers(paths.slice(1)), []);
  assert.deepEqual(migrationNumbers(["bench/0001_a.sql", "bench/0001_b.sql"]), []);
});

test("a file in operations is named like its function", () => {
  assert.deepEqual(named(house("operations/requests/castVerdict.ts")), []);
  assert.deepEqual(named(house("operations/castVerdict.test.ts")), []);
  assert.deepEqual(named(house("operations/cast-verdict.ts")), [
    "file name is not camelCase, like the function in it",
  ]);
});

test("a file in operations exports that function", () => {
  const path = house("operations/requests/castVerdict.ts");
  const good = [
    "export function castVerdict() {}",
    "export async function castVerdict() {}",
    "export const castVerdict = () => {};",
    "export interface Verdict {}\nexport function castVerdict() {}",
  ];
  for (const text of good) assert.deepEqual(judge(operationFile, path, text), [], text);
  const bad = [
    "function castVerdict() {}",
    "export function decide() {}",
    "export const castVerdict = 1;",
    "export class castVerdict {}",
  ];
  for (const text of bad) {
    assert.deepEqual(judge(operationFile, path, text), ["1: exports no function castVerdict"]);
  }
  assert.deepEqual(judge(operationFile, house("operations/castVerdict.test.ts"), ""), []);
  assert.deepEqual(judge(operationFile, house("core/request.ts"), ""), []);
});
