import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { ApprovalRequest } from "@countersign/protocol";
import { assertRefused } from "./support/envelope.ts";
import {
  auditOf,
  cancel,
  restart,
  type Scene,
  startScene,
  storedStatus,
  submitBody,
  untilStored,
} from "./support/scene.ts";
import { type ReviewedRequest, SUBMISSION, startTestProvider } from "./support/test-provider.ts";
import { turns, until } from "./support/until.ts";

const scene = await startScene({ after });
const { server, clock, instance, reviewer } = scene;

/** The stored decision time of a request; this read does not make a request expire. */
async function storedDecisionTime({ server }: Scene, id: string): Promise<number> {
  const sql = "select decided_at from request where id = $1";
  return Number((await server.provider.context.store.get(sql, [id]))?.decided_at);
}

test("[request.expire] [ours.expire.punctual] a request expires at its deadline without a read", async () => {
  const request = await server.submit(instance.token, { timeout: "10s" });
  clock.advance(9_999);
  for (let turn = 0; turn < 20; turn++) {
    clock.advance(0);
    await turns(1);
  }
  assert.equal(await storedStatus(scene, request.id), "pending");
  clock.advance(1);
  await untilStored(scene, request.id, "expired");
  assert.equal(await storedDecisionTime(scene, request.id), Date.parse(request.deadline_at));
});

test("[ours.expire.punctual] a request that is opened later but ends earlier expires at its own deadline", async () => {
  const long = await server.submit(instance.token, { timeout: "10m" });
  const short = await server.submit(instance.token, { timeout: "2s" });
  clock.advance(2_000);
  await untilStored(scene, short.id, "expired");
  assert.equal(await storedDecisionTime(scene, short.id), Date.parse(short.deadline_at));
  assert.equal(await storedStatus(scene, long.id), "pending");
  clock.advance(598_000);
  await untilStored(scene, long.id, "expired");
  assert.equal(await storedDecisionTime(scene, long.id), Date.parse(long.deadline_at));
});

test("[ours.expire.punctual] many requests that end at one moment all expire at it", async () => {
  const requests = await Promise.all(
    Array.from({ length: 250 }, () => server.submit(instance.token, { timeout: "30s" })),
  );
  clock.advance(30_000);
  await until(async () => {
    clock.advance(0);
    const { store } = server.provider.context;
    const sql = "select count(*) as n from request where status = 'pending'";
    return Number((await store.get(sql))?.n) === 0;
  }, "all are expired");
  for (const { id, deadline_at } of requests) {
    assert.equal(await storedDecisionTime(scene, id), Date.parse(deadline_at));
  }
});

test("[ours.expire.punctual] by the real clock, a request of one second expires by itself", async (t) => {
  const real = await startTestProvider(t);
  const { token } = await real.instance();
  const request = await real.submit(token, { timeout: "1s" });
  await until(
    async () => (await storedStatus({ server: real }, request.id)) === "expired",
    "the request expires by itself",
  );
  const { decision } = await real.read(token, request.id);
  assert.ok(Date.parse(decision?.decided_at ?? "") >= Date.parse(request.deadline_at));
});

test("[ours.expire.read-after-deadline] no reader is shown a pending request at its deadline", async () => {
  const readers: Readonly<Record<string, (id: string, key: string) => Promise<unknown>>> = {
    read: async (id) => (await server.read(instance.token, id)).status,
    poll: async (id) => (await server.read(instance.token, id, "?wait=30s")).status,
    replay: async (_, key) =>
      (await submitBody(server, instance.token, SUBMISSION, key)).json.status,
    reviewer: async (id) => {
      const path = `/review/v1/requests/${id}`;
      return (await server.call<ReviewedRequest>("GET", path, { token: reviewer })).json.status;
    },
  };
  for (const [name, read] of Object.entries(readers)) {
    const key = server.freshKey();
    const { json } = await submitBody(server, instance.token, SUBMISSION, key);
    // set() fires no timer, so the worker has not run yet.
    clock.set(Date.parse(json.deadline_at));
    assert.equal(await storedStatus(scene, json.id), "pending");
    assert.equal(await read(json.id, key), "expired", name);
    const audit = await auditOf(scene, `request:${json.id}`);
    assert.deepEqual(
      audit.map(({ kind, actor }) => [kind, actor]),
      [
        ["request.opened", `instance:${instance.id}`],
        ["request.resolved", "system:deadline"],
      ],
    );
  }
});

test("[ours.expire.read-after-deadline] cancellation and verdict at the deadline find the request expired", async () => {
  const [cancelled, decided] = [
    await server.submit(instance.token),
    await server.submit(instance.token),
  ];
  const path = `/review/v1/requests/${decided.id}`;
  const { json } = await server.call<ReviewedRequest>("GET", path, { token: reviewer });
  clock.set(Date.parse(decided.deadline_at));
  assertRefused(await cancel(server, instance.token, cancelled.id), 409, "already_terminal");
  const { arguments_sha256 } = json;
  const body = { verdict: "deny", arguments_sha256 };
  const verdict = await server.call("POST", `${path}/verdict`, { token: reviewer, body });
  assertRefused(verdict, 409, "already_terminal");
  for (const { id } of [cancelled, decided]) {
    assert.equal(await storedStatus(scene, id), "expired");
  }
});

test("[ours.expire.read-after-deadline] a listing of pending requests does not show it", async () => {
  const request = await server.submit(instance.token);
  const listed = async (): Promise<boolean> => {
    const call = { token: reviewer };
    const path = "/review/v1/requests?limit=200";
    const { json } = await server.call<{ requests: ApprovalRequest[] }>("GET", path, call);
    return json.requests.some(({ id }) => id === request.id);
  };
  clock.set(Date.parse(request.deadline_at) - 1);
  assert.equal(await listed(), true);
  clock.set(Date.parse(request.deadline_at));
  assert.equal(await listed(), false);
});

test("[ours.expire.punctual] a clock that was set forward is noticed within a second, one set back ends nothing", async () => {
  const request = await server.submit(instance.token, { timeout: "1h" });
  const before = clock.now();
  clock.set(before - 24 * 3_600_000);
  clock.advance(3_600_000);
  assert.equal((await server.read(instance.token, request.id)).status, "pending");
  const early = await server.submit(instance.token);
  const verdict = await server.decide(reviewer, request.id, "deny");
  assert.equal(verdict.json.decision?.decided_at, request.created_at);
  clock.set(before + 3_600_000);
  clock.advance(1_000);
  await untilStored(scene, early.id, "expired");
  assert.equal((await server.read(instance.token, request.id)).status, "denied");
});

test("[ours.expire.after-restart] requests with a window that passed while the server was down are expired when it answers again", async (t) => {
  const first = await startScene(t);
  const { token } = first.instance;
  const [read, unread, later] = [
    await first.server.submit(token, { timeout: "10s" }),
    await first.server.submit(token, { timeout: "20s" }),
    await first.server.submit(token, { timeout: "10h" }),
  ];
  await first.server.stop();
  first.clock.set(first.clock.now() + 3_600_000);

  const second = await restart(t, first);
  assert.equal((await second.server.read(token, read.id)).status, "expired");
  await untilStored(second, unread.id, "expired");
  assert.equal(await storedStatus(second, later.id), "pending");
  second.clock.advance(9 * 3_600_000);
  await untilStored(second, later.id, "expired");
});
