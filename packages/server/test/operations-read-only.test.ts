import assert from "node:assert/strict";
import { chmodSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { temporaryFolder } from "countersign/test/support/child.ts";
import { countersign, startServer } from "countersign/test/support/countersign.ts";
import { type Agent, newAgent } from "countersign/test/support/people.ts";
import { testOnly } from "./support/engine.ts";

const test = testOnly("sqlite", "the folder of a file of SQLite is read-only");

/** To root no folder is read-only, unless it gives up that right. */
const UNPRIVILEGED =
  process.getuid?.() === 0 ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] : [];

interface Stopped {
  readonly data: string;
  readonly agent: Agent;
  /** One that was answered, by its key `first`. */
  readonly text: string;
}

/** A folder with a request in it, whose server was killed. */
async function stoppedServer(t: TestContext): Promise<Stopped> {
  const data = join(temporaryFolder(t), "data");
  const server = await startServer(t, { data });
  const agent = await newAgent(server);
  const { text } = await agent.post("first");
  await server.kill();
  return { data, agent, text };
}

/** Takes and gives the right to write. */
function setMode(data: string, isWritable: boolean): void {
  chmodSync(data, isWritable ? 0o700 : 0o500);
  for (const name of readdirSync(data)) chmodSync(join(data, name), isWritable ? 0o600 : 0o400);
}

test("[ours.operations.read-only] a start on a folder that cannot be written is refused with one line, and loses nothing", async (t) => {
  const { data, agent, text } = await stoppedServer(t);
  setMode(data, false);

  const serve = ["serve", "--port", "0", "--data", data, "--json"];
  const refused = await countersign(t, serve, { under: UNPRIVILEGED });

  setMode(data, true);
  assert.equal(refused.code, 1, refused.stdout + refused.stderr);
  assert.equal(refused.stdout, "");
  assert.match(refused.stderr, /^[^\n]+\n$/);
  const again = await startServer(t, { data, under: UNPRIVILEGED });
  const replay = await agent.at(again).post("first");
  assert.deepEqual([replay.status, replay.text], [200, text]);
  await again.stop();
});

test("[ours.operations.read-only] a first start where no folder can be made is refused with one line", async (t) => {
  const folder = temporaryFolder(t);
  chmodSync(folder, 0o500);

  const serve = ["serve", "--port", "0", "--data", join(folder, "data"), "--json"];
  const refused = await countersign(t, serve, { under: UNPRIVILEGED });

  chmodSync(folder, 0o700);
  assert.equal(refused.code, 1, refused.stdout + refused.stderr);
  assert.equal(refused.stdout, "");
  assert.match(refused.stderr, /^[^\n]+\n$/);
  assert.deepEqual(readdirSync(folder), []);
});

test("[ours.operations.read-only] a database that alone cannot be written is refused with one line", async (t) => {
  const { data, agent, text } = await stoppedServer(t);
  chmodSync(join(data, "countersign.db"), 0o400);

  const serve = ["serve", "--port", "0", "--data", data, "--json"];
  const refused = await countersign(t, serve, { under: UNPRIVILEGED });

  chmodSync(join(data, "countersign.db"), 0o600);
  assert.equal(refused.code, 1, refused.stdout + refused.stderr);
  assert.equal(refused.stdout, "");
  assert.match(refused.stderr, /^[^\n]+\n$/);
  const again = await startServer(t, { data });
  assert.equal((await agent.at(again).post("first")).text, text);
  await again.stop();
});
