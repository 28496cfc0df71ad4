import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { MUTATIONS } from "./mutations.ts";

const SOURCES = resolve(import.meta.dirname, "../../packages/server/src");

test("each edit of a mutation has one place in the server", () => {
  for (const mutation of MUTATIONS) {
    for (const { file, edits } of [mutation, ...(mutation.more ?? [])]) {
      const source = readFileSync(join(SOURCES, file), "utf8");
      for (const [from] of edits) {
        const places = source.split(from).length - 1;
        assert.equal(places, 1, `${mutation.name} in ${file}: ${from}`);
      }
    }
  }
});
