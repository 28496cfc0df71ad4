/** The page of events names every event of the code, and no other. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

const PAGE = read("docs/reference/events.md");

function documented(heading: string): string[] {
  const section = PAGE.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  return [...section.matchAll(/^\| `([\w.]+)`/gm)].map(([, name = ""]) => name).sort();
}

test("docs/reference/events.md lists every log event", () => {
  const source = read("packages/server/src/report.ts");
  const written = [...source.matchAll(/\bevent: "([\w.]+)"/g)].map(([, name = ""]) => name);
  assert.ok(written.length > 10, String(written.length));
  assert.deepEqual(documented("Log events"), [...new Set(written)].sort());
});

test("docs/reference/events.md lists every event of the live stream", () => {
  const source = read("packages/review-api/src/events.ts").split("interface StreamEvents")[1] ?? "";
  const declared = [...source.matchAll(/^ {2}readonly (\w+):/gm)].map(([, name = ""]) => name);
  assert.deepEqual(documented("Live event stream"), declared.sort());
});

test("docs/reference/events.md lists every webhook of the contract", () => {
  const [, webhooks = ""] = read("contract/openapi.yaml").split(/^webhooks:$/m);
  const [named = ""] = webhooks.split(/^components:$/m);
  const declared = [...named.matchAll(/^ {2}([\w.]+):$/gm)].map(([, name = ""]) => name);
  assert.deepEqual(documented("Webhooks"), declared.sort());
});
