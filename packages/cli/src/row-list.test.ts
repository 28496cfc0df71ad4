import assert from "node:assert/strict";
import { test } from "node:test";
import { rowLimit } from "./row-list.ts";
import { SettingsLine } from "./settings-line.ts";

const LIMIT = rowLimit(200);

function read(...args: readonly string[]): number {
  return LIMIT.read(new SettingsLine(args, { limit: LIMIT.option }, []));
}

test("[ours.cli.instances] --limit is a decimal number of rows, and its default is in the help", () => {
  assert.deepEqual([read(), read("--limit", "1"), read("--limit", "1000")], [200, 1, 1_000]);
  assert.match(LIMIT.option.help, /\[200\]$/);
  for (const wrong of ["", " ", "0", "1001", "1e2", "0x10", "0b1", "5.0", " 5", "-1", "+1"]) {
    assert.throws(
      () => read(`--limit=${wrong}`),
      { message: /whole number from 1 to 1000/ },
      wrong,
    );
  }
});
