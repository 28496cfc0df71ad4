/**
 * The server of a call that has ended.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { startExtended } from "./support/extensions.ts";
import { parseCsv } from "./support/history.ts";
import { end } from "./support/scene.ts";
import type { Answer } from "./support/test-provider.ts";

interface Row {
  readonly id: string;
  readonly server?: string;
}

/** A page, or insights. */
interface Answered {
  readonly requests: readonly Row[];
  readonly matching: number;
}

function idsOf({ json }: Answer<Answered>): string[] {
  return json.requests.map(({ id }) => id);
}

test("[ours.history.server] the server of a tool is shown, exported and filtered, and absent without one", async (t) => {
  const scene = await startExtended(t, "server");
  const { server, instance, clock, reviewer } = scene;
  const ask = (path: string) => {
    return server.call<Answered>("GET", `/review/v1/history${path}`, { token: reviewer });
  };
  const names = ["=github", undefined, 'git\u00FCb "x"'];
  for (const name of names) {
    const named = name !== undefined && { server: name };
    await end(scene, await server.submit(instance.token, { tool: "read", ...named }), "denied");
    clock.advance(1_000);
  }
  const newest = names.toReversed();
  const { requests } = (await ask("")).json;
  assert.deepEqual(
    requests.map((row) => row.server),
    newest,
  );
  assert.ok(requests[1] !== undefined && !("server" in requests[1]));
  for (const name of names) {
    if (name === undefined) continue;
    const query = `server=${encodeURIComponent(name)}`;
    const ids = requests.filter((row) => row.server === name).map(({ id }) => id);
    assert.deepEqual(idsOf(await ask(`?${query}`)), ids);
    assert.equal((await ask(`/insights?${query}`)).json.matching, 1);
  }
  assert.deepEqual(idsOf(await ask("?server=git")), []);

  const lines = (await ask("/export?format=jsonl&tool=read")).text.trimEnd().split("\n");
  const rows = lines.slice(0, -1).map((line) => JSON.parse(line) as Row);
  assert.deepEqual(
    rows.map((row) => row.server),
    newest,
  );
  assert.ok(rows[1] !== undefined && !("server" in rows[1]));
  const cells = parseCsv((await ask("/export?format=csv&tool=read")).text);
  // Behind all others, whose places are as they were.
  assert.deepEqual(
    cells.slice(0, -1).map((row) => [row.length, row[15], row[16]]),
    [
      [17, "context", "server"],
      [17, "", 'git\u00FCb "x"'],
      [17, "", ""],
      [17, "", "'=github"],
    ],
  );
});
