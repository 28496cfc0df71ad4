import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { gzipSync } from "node:zlib";
import { Failure } from "../failure.ts";
import { readLines } from "./read-lines.ts";

async function linesOf(
  t: TestContext,
  content: string | Uint8Array,
  name = "lines",
): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "countersign-lines-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, name);
  writeFileSync(file, content);
  return Array.fromAsync(readLines(file));
}

const MEBI = 1024 * 1024;

test("only a newline ends a line, also across the parts of a file", async (t) => {
  const lines = ["", "a\u2028b\r", "é".repeat(200_000), "{}"];
  assert.deepEqual(await linesOf(t, lines.join("\n")), lines);
  assert.deepEqual(await linesOf(t, `${lines.join("\n")}\n`), lines);
  assert.deepEqual(await linesOf(t, ""), []);
});

test("a line that is longer than any of ours ends the reading, with a clear error", async (t) => {
  const isLineTooLong = (error: unknown) =>
    error instanceof Failure && /has a line of more than 16777216/.test(error.message);
  await assert.rejects(linesOf(t, `{}\n${"a".repeat(17 * MEBI)}`), isLineTooLong);
  const many = `${"a".repeat(9 * MEBI)}\n`.repeat(2);
  assert.equal((await linesOf(t, many)).length, 2);
});

test("a compressed file is read, and one that is cut off is an error", async (t) => {
  const lines = ["{}", "é".repeat(200_000)];
  const compressed = gzipSync(lines.join("\n"));
  assert.deepEqual(await linesOf(t, compressed, "lines.gz"), lines);
  await assert.rejects(linesOf(t, compressed.subarray(0, -4), "lines.gz"), Failure);
});
