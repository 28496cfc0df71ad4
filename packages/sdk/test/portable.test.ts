/**
 * The installed package: the core runs in every runtime with fetch, and has no other dependencies.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

const PACKAGES = join(import.meta.dirname, "../..");
const NAMED: Readonly<Record<string, string>> = {
  "@countersign/protocol": join(PACKAGES, "protocol/src/index.ts"),
};

/** Every module that is loaded with this one, types left out. */
function reached(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const text = readFileSync(file, "utf8");
  for (const [, type, from = ""] of text.matchAll(
    /^(?:import|export)\b( type\b)?[^;]*?from "([^"]+)";/gms,
  )) {
    if (type !== undefined) continue;
    const path = from.startsWith(".") ? join(dirname(file), from) : NAMED[from];
    if (path === undefined) seen.add(from);
    else reached(path, seen);
  }
  return seen;
}

function outsideOf(entry: string): string[] {
  return [...reached(join(PACKAGES, "sdk/src", entry))].filter((path) => !path.startsWith("/"));
}

test("[ours.sdk.portable] the core imports only the protocol; subpaths import Node's own modules", () => {
  assert.deepEqual(outsideOf("index.ts"), []);
  assert.deepEqual(outsideOf("file-store.ts").sort(), [
    "node:crypto",
    "node:fs/promises",
    "node:path",
  ]);
  for (const name of ["sql-store", "redis-store", "store-conformance"]) {
    assert.deepEqual(outsideOf(`${name}.ts`), [], name);
  }
  // Types alone, of node:http.
  assert.deepEqual(outsideOf("node.ts"), []);
});

test("[ours.sdk.portable] the subpath of a framework loads that framework at most", () => {
  for (const name of ["ai", "claude-agent-sdk", "langchain", "mastra", "mcp"]) {
    assert.deepEqual(outsideOf(`${name}.ts`), [], name);
  }
  assert.deepEqual(outsideOf("openai-agents.ts"), ["@openai/agents"]);
});

test("[ours.sdk.portable] the package depends only on the protocol package, which has no dependencies", () => {
  const read = (name: string) =>
    JSON.parse(readFileSync(join(PACKAGES, name, "package.json"), "utf8")) as {
      readonly dependencies?: Readonly<Record<string, string>>;
      readonly peerDependencies?: Readonly<Record<string, string>>;
      readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
    };
  assert.deepEqual(Object.keys(read("sdk").dependencies ?? {}), ["@countersign/protocol"]);
  assert.deepEqual(Object.keys(read("protocol").dependencies ?? {}), []);
  const { peerDependencies = {}, peerDependenciesMeta = {} } = read("sdk");
  for (const name of Object.keys(peerDependencies)) {
    assert.equal(peerDependenciesMeta[name]?.optional, true, name);
  }
});
