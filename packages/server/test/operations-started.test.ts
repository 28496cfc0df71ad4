import assert from "node:assert/strict";
import { test } from "node:test";
import { Report } from "../src/index.ts";
import { startTestProvider } from "./support/test-provider.ts";

test("[ours.operations.logs] a start names the schema that the database has from then on", async (t) => {
  const lines: string[] = [];
  const report = new Report("info", { write: (line) => void lines.push(line) });
  const { url, provider } = await startTestProvider(t, { report });
  const row = await provider.context.store.get("select version from schema_version");
  const started = lines.map((line) => JSON.parse(line)).find(({ event }) => /started/.test(event));
  assert.ok(Number(row?.version) > 0);
  assert.deepEqual([started.address, started.schema_version], [url, row?.version]);
});
