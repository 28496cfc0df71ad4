/**
 * The sealed log, verified and searched over HTTP.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { logOf, tamper, untilSealed } from "./support/audit-logs.ts";
import { assertRefused } from "./support/envelope.ts";
import { newPerson } from "./support/people.ts";
import { startScene } from "./support/scene.ts";

const scene = await startScene({ after });
const { server, clock, instance } = scene;
const AUDIT = "/review/v1/audit";
const auditor = await server.token({ kind: "reviewer", name: "auditor", role: "auditor" });
const operator = await server.token({ kind: "reviewer", name: "operator", role: "operator" });
for (let i = 0; i < 5; i++) await server.submit(instance.token);
await newPerson(server, { login: "ana" });
await untilSealed(scene);

type Line = Readonly<Record<string, unknown>>;

async function verify(token = auditor, query = ""): Promise<readonly Line[]> {
  const { status, text } = await server.call("GET", `${AUDIT}/verify${query}`, { token });
  assert.equal(status, 200, text);
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

test("[ours.audit.verify-http] a log that is whole is good, that of the server too", async () => {
  const { origin, size, checkpoint } = await logOf(scene);
  const [started, summary, ...more] = await verify();
  assert.deepEqual(more, []);
  assert.deepEqual(started, { event: "started", log: origin, size });
  assert.deepEqual(summary, {
    event: "summary",
    result: "good",
    verified: size,
    unsealed: 0,
    late: 0,
    pruned: 0,
    checkpoint,
  });
  const ofServer = (await verify(operator, "?log=server")).at(-1);
  assert.equal(ofServer?.result, "good");
  assertRefused(
    await server.call("GET", `${AUDIT}/verify?log=server`, { token: auditor }),
    403,
    "forbidden",
  );
});

test("[ours.audit.verify-http] the first entry that was altered is named", async () => {
  const { projectId } = await logOf(scene);
  const rows = await server.provider.context.store.all(
    "select id, actor, at from audit_entry where project_id = $1 order by id",
    [projectId],
  );
  const [first, second] = [rows[3], rows[5]];
  assert.ok(first && second);
  const change = "update audit_entry set actor = $1 where id = $2";
  for (const { id = null } of [first, second]) await tamper(scene, change, "reviewer:eve", id);
  try {
    const summary = (await verify()).at(-1);
    assert.equal(summary?.result, "bad");
    const finding = summary?.finding as Line | undefined;
    const { fault, id, position, message, at } = finding ?? {};
    assert.deepEqual([fault, id, position], ["altered", first.id, 3]);
    assert.equal(message, "its row is not what was sealed");
    assert.equal(at, new Date(Number(first.at)).toISOString());
  } finally {
    for (const { id = null, actor = null } of [first, second]) {
      await tamper(scene, change, actor, id);
    }
  }
  assert.equal((await verify()).at(-1)?.result, "good");
});

test("[ours.audit.review] entries are narrowed by time as well", async () => {
  const list = async (query: string) => {
    const path = `${AUDIT}/entries?limit=200${query}`;
    const { status, text, json } = await server.call<{
      readonly entries: readonly { readonly id: string; readonly at: number }[];
      readonly next: string | null;
    }>("GET", path, { token: auditor });
    assert.equal(status, 200, text);
    assert.equal(json.next, null);
    return json.entries;
  };
  const before = await list("");
  clock.advance(5_000);
  const since = new Date(clock.now()).toISOString();
  await server.submit(instance.token);
  const younger = await list(`&since=${since}`);
  assert.equal(younger.length, 1);
  assert.deepEqual(await list(`&until=${since}`), before);
  assert.deepEqual(await list(`&since=${since}&kind=request.resolved`), []);
  for (const param of ["since", "until"]) {
    const wrong = await server.call("GET", `${AUDIT}/entries?${param}=x`, { token: auditor });
    assertRefused(wrong, 400, "invalid_request", param);
  }
});
