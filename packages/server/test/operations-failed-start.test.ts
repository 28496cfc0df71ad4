/**
 * A start that fails after the port is open must leave nothing running.
 */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "@countersign/testing/free-port";
import { type Clock, systemClock } from "../src/clock.ts";
import { testOnly } from "./support/engine.ts";
import { startTestProvider } from "./support/test-provider.ts";

const test = testOnly("sqlite", "the server publishes its address in its data folder");

test("[ours.operations.first-start] a server that cannot publish its address closes its port and releases its data", async (t) => {
  const data = mkdtempSync(join(tmpdir(), "countersign-test-"));
  t.after(() => rmSync(data, { recursive: true }));
  const serverFile = join(data, "server.json");
  const port = String(await findFreePort());

  let isBlocked = false;
  const blocking: Clock = {
    ...systemClock,
    now() {
      if (!isBlocked) {
        rmSync(serverFile);
        mkdirSync(serverFile);
        isBlocked = true;
      }
      return systemClock.now();
    },
  };
  const failing = startTestProvider(t, { data, clock: blocking, settings: { port } });
  await assert.rejects(failing, { code: "EISDIR" });

  rmSync(serverFile, { recursive: true });
  const server = await startTestProvider(t, { data, settings: { port } });
  assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
});
