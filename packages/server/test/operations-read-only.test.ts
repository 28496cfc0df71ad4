// Needs: prlimit
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmodSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import {
  type Agent,
  type Answer,
  exchange,
  makeToken,
  newAgent,
  SUBMISSION,
} from "@countersign/testing/agents";
import { temporaryFolder } from "@countersign/testing/child";
import { countersign, type Server, startServer } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";
import { assertUnavailable, makeRoom, takeAllRoom } from "./support/disk-room.ts";
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

test("[ours.operations.read-only] a start on a read-only folder fails with one line, and loses nothing", async (t) => {
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

test("[ours.operations.read-only] a first start fails with one line when it cannot create the folder", async (t) => {
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

test("[ours.operations.read-only] a start with a read-only database file in a writable folder fails with one line", async (t) => {
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

/**
 * Acts like an operating system with a failing disk: from now on nothing can be written to open
 * files, and none can be made, removed or opened for writing.
 */
function becomeReadOnly(server: Server): void {
  takeAllRoom(server);
  setMode(server.data, false);
}

function becomeWritable(server: Server): void {
  setMode(server.data, true);
  makeRoom(server);
}

test("[ours.operations.read-only-running] a server with a disk that becomes read-only rejects writes, answers reads, and decides nothing until it can write again", async (t) => {
  const server = await startServer(t, { under: UNPRIVILEGED });
  const agent = await newAgent(server);
  const reviewer = await makeToken(server.data, { kind: "reviewer" });
  const [pending, kept, ending] = [
    await agent.submit(),
    await agent.submit(),
    await agent.submit({ timeout: "5s" }),
  ];
  const digest = createHash("sha256").update(JSON.stringify(SUBMISSION.arguments)).digest("hex");
  const ask = (method: string, path: string, token: string, body?: object): Promise<Answer> =>
    exchange(method, server.url + path, token, body);
  const approve = (): Promise<Answer> => {
    const verdict = { verdict: "approve", arguments_sha256: digest };
    return ask("POST", `/review/v1/requests/${pending.id}/verdict`, reviewer, verdict);
  };
  const cancel = (): Promise<Answer> => ask("DELETE", `/v1/requests/${kept.id}`, agent.token);
  becomeReadOnly(server);

  for (const refused of [await agent.post("refused"), await cancel(), await approve()]) {
    assertUnavailable(refused);
  }
  for (const request of [pending, kept]) assert.deepEqual(await agent.read(request.id), request);
  // One after its deadline is neither pending nor expired: the server cannot record the expiry.
  const late = await eventually("the deadline", async () => {
    const answer = await agent.get(ending.id);
    return answer.status === 200 && answer.json.status === "pending" ? undefined : answer;
  });
  assertUnavailable(late);
  assertUnavailable(await ask("GET", "/readyz", ""));

  becomeWritable(server);

  assert.equal((await approve()).status, 200);
  assert.equal((await agent.read(pending.id)).status, "approved");
  assert.equal((await agent.read(kept.id)).status, "pending");
  assert.equal((await cancel()).status, 200);
  assert.equal((await agent.read(ending.id)).status, "expired");
  assert.equal((await agent.post("refused")).status, 201);
});

test("[ours.operations.read-only-running] a server with a disk that became read-only stops on SIGTERM, and acknowledged requests exist when the disk is writable again", async (t) => {
  const server = await startServer(t, { under: UNPRIVILEGED });
  const agent = await newAgent(server);
  const pending = await agent.submit();
  becomeReadOnly(server);
  assertUnavailable(await agent.post("refused"));

  const stopped = await server.process.end("SIGTERM");

  assert.equal(stopped.code, 0, stopped.stderr);
  setMode(server.data, true);
  const again = await startServer(t, { data: server.data });
  assert.deepEqual(await agent.at(again).read(pending.id), pending);
  assert.equal((await agent.at(again).post("refused")).status, 201);
});
