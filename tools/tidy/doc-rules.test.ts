import assert from "node:assert/strict";
import test from "node:test";
import { errorsDocumented, optionsDocumented } from "./doc-rules.ts";
import { print } from "./tidy.ts";

const ERRORS = [
  "# Errors",
  "A `word` in a sentence is not an entry.",
  "| Code | Status |",
  "| --- | --- |",
  "| `not_found` | 404, see `elsewhere` |",
  "## `internal`",
].join("\n");

test("every error code is documented", () => {
  assert.deepEqual(errorsDocumented(["not_found", "internal"], ERRORS), []);
  assert.deepEqual(errorsDocumented(["not_found", "internal", "word"], ERRORS).map(print), [
    "docs/reference/errors.md:1: error code word is not documented",
  ]);
  assert.deepEqual(errorsDocumented(["not_found"], undefined).map(print), [
    "docs/reference/errors.md:1: error code not_found is not documented",
  ]);
});

test("every documented error code exists", () => {
  assert.deepEqual(errorsDocumented(["internal"], ERRORS).map(print), [
    "docs/reference/errors.md:5: no code not_found in problems.ts",
  ]);
});

test("an error code has exactly one entry", () => {
  const page = `${ERRORS}\n| \`not_found\` | 404 |`;
  assert.deepEqual(errorsDocumented(["not_found", "internal"], page).map(print), [
    "docs/reference/errors.md:7: error code not_found has a second entry",
  ]);
});

test("every option is documented, by its name or as a flag", () => {
  const page = "| `host` | ... |\n## `--port`\n`--data DIR` and data_dir";
  assert.deepEqual(optionsDocumented(["host", "port", "data"], page), []);
  assert.deepEqual(optionsDocumented(["data_dir", "por"], page).map(print), [
    "docs/reference/config.md:1: option data_dir is not documented",
    "docs/reference/config.md:1: option por is not documented",
  ]);
  assert.equal(optionsDocumented(["host"], undefined).length, 1);
});
