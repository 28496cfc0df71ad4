import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJson } from "@countersign/protocol";
import fc from "fast-check";
import { fileEditsIn } from "./file-edit.ts";
import { moneyIn } from "./money.ts";
import { hostsIn } from "./urls.ts";

function json(value: unknown) {
  return parseJson(JSON.stringify(value));
}

test("[ours.request.previews] an amount is displayed with its currency, as the arguments contain it", () => {
  const args = parseJson(
    '{"amount":10.50,"currency":"eur","lines":[{"total":"9007199254740993.10","currency":"USD"}],' +
      '"x":{"amount":1,"currency":"XYZ"},"y":{"amount":"1e3","currency":"USD"},"price":1e2}',
  );
  assert.deepEqual(moneyIn(args), [
    { path: "amount", amount: "10.50", currency: "EUR" },
    { path: "price", amount: "1e2", currency: "EUR" },
    { path: "lines[0].total", amount: "9007199254740993.10", currency: "USD" },
  ]);
});

test("[ours.request.previews] addresses are shown by their host", () => {
  const hosts = hostsIn(
    json({
      a: "https://p\u0430ypal.com/x and https://example.com/1 https://example.com/2",
      b: ["https://github.com@evil.example/x", "http://EXAMPLE.org:8080", "no://thing", "https://"],
      c: "curl https://exam\u3002ple/;rm",
      d: "(see https://docs.example), <a href='https://quoted.example'>",
    }),
  );
  assert.deepEqual(
    hosts.map(({ host, written, user, count }) => [host, written, user, count]),
    [
      ["xn--pypal-4ve.com", "p\u0430ypal.com", undefined, 1],
      ["example.com", undefined, undefined, 2],
      ["evil.example", undefined, "github.com", 1],
      ["example.org:8080", undefined, undefined, 1],
      ["thing", undefined, undefined, 1],
      ["exam.ple", "exam\u3002ple", undefined, 1],
      ["docs.example", undefined, undefined, 1],
      ["quoted.example", undefined, undefined, 1],
    ],
  );
});

test("[ours.request.previews] edits of files are known in the shapes in which coding agents send them", () => {
  const kinds = (value: unknown) =>
    fileEditsIn("edit", json(value)).map(({ path, kind, before, after }) => [
      path,
      kind,
      before,
      after,
    ]);
  const part = ["a.ts", "part", "x\n", "y\n"];
  assert.deepEqual(kinds({ file_path: "a.ts", old_string: "x\n", new_string: "y\n" }), [part]);
  assert.deepEqual(kinds({ path: "a.ts", old_str: "x\n", new_str: "y\n" }), [part]);
  const edit = { old_string: "x\n", new_string: "y\n" };
  assert.deepEqual(kinds({ file_path: "a.ts", edits: [edit, edit] }), [part, part]);
  assert.deepEqual(kinds({ file_path: "a.ts", content: "1\n2" }), [["a.ts", "whole", "", "1\n2"]]);
  assert.deepEqual(kinds({ command: "create", path: "a.ts", file_text: "" }), [
    ["a.ts", "whole", "", ""],
  ]);
  const patch = "*** Begin Patch\n*** Update File: b.ts\n-x\n+y\n*** End Patch";
  assert.deepEqual(
    kinds({ input: patch })[0]?.slice(0, 2),
    ["", "patch"],
    "the patch names its files",
  );
});

test("[ours.request.previews] arbitrary arguments give a preview or none, and never an exception", () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const args = parseJson(text);
      moneyIn(args);
      hostsIn(args);
      fileEditsIn("edit", args);
    }),
  );
});
