import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { openContext, readConfig, toSecrets, toSettings } from "@countersign/server";
import { temporaryFolder } from "@countersign/testing/child";
import { findAgentId, inDatabase } from "../src/agent-directory.ts";

test("[ours.cli.instances] a command finds the name of an agent among more than 1000 agents", async (t) => {
  const config = readConfig({ data: join(temporaryFolder(t), "data") }, {});
  const opened = await openContext(toSettings(config), toSecrets(config));
  t.after(() => opened.close());
  const address = "http://localhost:8787";
  const directory = inDatabase(opened, "default", async () => {
    return { url: address, publicUrl: address, contractUrl: address, isServed: false };
  });
  let last = "";
  for (let number = 0; number <= 1_000; number++) {
    const order = { name: `agent-${number}`, groups: [], owner: null };
    last = (await directory.create(order)).id;
  }
  assert.equal(await findAgentId(directory, "agent-1000"), last);
  const { agents, hasMore } = await directory.list(1_000);
  assert.deepEqual([agents.length, hasMore], [1_000, true]);
});
