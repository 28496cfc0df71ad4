import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { advanceUntil } from "./support/advance.ts";
import { assertRefused } from "./support/envelope.ts";
import {
  countByStatus,
  FREEZES,
  freeze,
  leaveFreeze,
  lift,
  listFreezes,
} from "./support/freezes.ts";
import { auditOf, startScene, submitBody, untilStored } from "./support/scene.ts";
import { startLongPoll } from "./support/start-long-poll.ts";
import { newTestProject } from "./support/test-projects.ts";
import { type ReviewedRequest, SUBMISSION } from "./support/test-provider.ts";
import { turns } from "./support/until.ts";
import {
  provisionWithReceiver,
  startWebhookScene,
  untilDelivered,
} from "./support/webhook-scene.ts";

const scene = await startScene({ after });
const { server, clock } = scene;

test("[ours.freeze.pending] freezing denies at once what is pending under the scope, and nothing else", async () => {
  for (const scope of ["instance", "project", "server"] as const) {
    const testProject = await newTestProject(server, "operator");
    const { reviewer, instance, other } = testProject;
    const outsider = await newTestProject(server);
    const ids = {
      own: (await server.submit(instance.token)).id,
      beside: (await server.submit(other.token)).id,
      outside: (await server.submit(outsider.instance.token)).id,
    };
    const body = { scope, ...(scope === "instance" && { instance_id: instance.id }) };

    const answer = await freeze(server, reviewer, { ...body, note: "só stop\n" });

    assert.equal(answer.status, 201, answer.text);
    const statuses = [
      (await server.read(instance.token, ids.own)).status,
      (await server.read(other.token, ids.beside)).status,
      (await server.read(outsider.instance.token, ids.outside)).status,
    ];
    const covered = { instance: 1, project: 2, server: 3 }[scope];
    assert.deepEqual(
      statuses,
      [0, 1, 2].map((place) => (place < covered ? "denied" : "pending")),
    );
    const { denied, complete } = answer.json;
    assert.ok((denied ?? 0) >= covered);
    assert.equal(complete, true);
    const { decision } = await server.read(instance.token, ids.own);
    const decided_at = new Date(clock.now()).toISOString();
    assert.deepEqual(decision, { status: "denied", note: "só stop\n", decided_at });
    const shown = await server.call<ReviewedRequest>("GET", `/review/v1/requests/${ids.own}`, {
      token: reviewer,
    });
    assert.equal(shown.json.decided_by, `freeze:${answer.json.id}`);
    assert.equal((await lift(server, reviewer, answer.json.id)).status, 200);
  }
});

test("[ours.freeze.pending] a reviewer reads who set the freeze that denied a request, and the agent does not", async () => {
  const { reviewer, instance } = await newTestProject(server, "operator");
  const { reviewer: outsider } = await newTestProject(server, "operator");
  const show = async (id: string) => {
    const path = `/review/v1/requests/${id}`;
    type Shown = ReviewedRequest & { readonly freeze?: object };
    return (await server.call<Shown>("GET", path, { token: reviewer })).json;
  };
  const frozen_at = new Date(clock.now()).toISOString();
  const own = await freeze(server, reviewer, { scope: "project" });
  const { id } = await server.submit(instance.token);
  await lift(server, reviewer, own.json.id);
  const { frozen_by } = own.json;
  assert.deepEqual((await show(id)).freeze, { frozen_by, reviewer: "ana", frozen_at });
  const answer = await server.call("GET", `/v1/requests/${id}`, { token: instance.token });
  assert.doesNotMatch(answer.text, /freeze|frozen_by|reviewer/);
  const other = await freeze(server, outsider, { scope: "server" });
  const denied = await server.submit(instance.token);
  await lift(server, outsider, other.json.id);
  const { frozen_by: stranger } = other.json;
  assert.deepEqual((await show(denied.id)).freeze, { frozen_by: stranger, frozen_at });
  const { id: open } = await server.submit(instance.token);
  await server.decide(reviewer, open, "deny");
  assert.equal((await show(open)).freeze, undefined);
});

test("[ours.freeze.new] everything new is denied at once until the freeze is lifted, a replay as well", async () => {
  for (const scope of ["instance", "project", "server"] as const) {
    const { reviewer, instance, other } = await newTestProject(server, "operator");
    const body = { scope, ...(scope === "instance" && { instance_id: instance.id }) };
    const { id } = (await freeze(server, reviewer, body)).json;
    const key = server.freshKey();
    for (const status of [201, 200]) {
      const answer = await submitBody(server, instance.token, SUBMISSION, key);
      assert.deepEqual([answer.status, answer.json.status], [status, "denied"]);
      const { note } = answer.json.decision as { note?: string };
      assert.equal(note, "Frozen.");
    }
    const beside = await server.submit(other.token);
    assert.equal(beside.status, scope === "instance" ? "pending" : "denied");
    await lift(server, reviewer, id);
    assert.equal((await server.submit(instance.token)).status, "pending");
    const replay = await submitBody(server, instance.token, SUBMISSION, key);
    assert.equal(replay.json.status, "denied", "the denied request stays denied");
  }
});

test("[ours.freeze.pending] a client that waits for the decision receives it with the freeze", async () => {
  const { reviewer, instance } = await newTestProject(server);
  const { id } = await server.submit(instance.token);
  const poll = await startLongPoll(server, instance.token, id);
  await freeze(server, reviewer, { scope: "project" });
  assert.equal(((await poll.answer).json as { status: string }).status, "denied");
});

test("[ours.freeze.pending] receivers are notified of what a freeze denied", async (t) => {
  const webhooks = await startWebhookScene(t);
  const instance = await provisionWithReceiver(webhooks);
  const { id } = await webhooks.server.submit(instance.token);
  await freeze(webhooks.server, webhooks.reviewer, { scope: "instance", instance_id: instance.id });
  await untilDelivered(webhooks, () => webhooks.notifications.length === 1, "the notification");
  assert.match(webhooks.notifications[0]?.body.toString() ?? "", new RegExp(id));
});

test("[ours.freeze.approve] an approval under a freeze is rejected, and the freeze denies the request", async () => {
  const { reviewer, instance } = await newTestProject(server);
  const { id } = await server.submit(instance.token);
  const freezeId = await leaveFreeze(server, instance.id);
  assertRefused(await server.decide(reviewer, id, "approve"), 409, "already_terminal");
  const { status, decision } = await server.read(instance.token, id);
  assert.equal(status, "denied");
  assert.equal((decision as { note?: string }).note, "left");
  const [, resolved] = await auditOf(scene, `request:${id}`);
  assert.equal(resolved?.actor, `freeze:${freezeId}`);
});

test("[ours.freeze.approve] a reviewer can deny under a freeze", async () => {
  const { reviewer, instance } = await newTestProject(server);
  const { id } = await server.submit(instance.token);
  await leaveFreeze(server, instance.id);
  const { json } = await server.decide(reviewer, id, "deny", { note: "mine" });
  assert.match(json.decided_by ?? "", /^reviewer:/);
});

test("[ours.freeze.left] a request that a dead process left pending under its freeze is denied a second later", async () => {
  const { instance, other } = await newTestProject(server);
  const left = await server.submit(instance.token);
  const beside = await server.submit(other.token);
  await leaveFreeze(server, instance.id);
  clock.advance(1_000);
  await untilStored(scene, left.id, "denied");
  assert.equal((await server.read(other.token, beside.id)).status, "pending");
});

test("[ours.freeze.left] more than one exchange takes is denied by the worker, that of other freezes beside it", async () => {
  const { reviewer, instance, other } = await newTestProject(server);
  const count = 1_300;
  for (let from = 0; from < count; from += 100) {
    await Promise.all(Array.from({ length: 100 }, () => server.submit(instance.token)));
  }
  const small = await newTestProject(server);
  const { id } = await server.submit(small.instance.token);
  const answer = await freeze(server, reviewer, { scope: "project" });
  assert.deepEqual([answer.json.denied, answer.json.complete], [1_000, false]);
  await leaveFreeze(server, small.instance.id);
  clock.advance(1_000);
  await untilStored(scene, id, "denied");
  for (let i = 0; i < 100 && (await countByStatus(server, instance.id)).pending; i++) {
    clock.advance(5);
    await turns();
  }
  assert.deepEqual(await countByStatus(server, instance.id), { denied: count });
  assert.deepEqual(await countByStatus(server, other.id), {});
});

test("[ours.freeze.once] freezing again answers the active freeze, and denies what is pending", async () => {
  const { reviewer, instance } = await newTestProject(server);
  const body = { scope: "instance", instance_id: instance.id };
  const first = await freeze(server, reviewer, { ...body, note: "one" });
  const again = await freeze(server, reviewer, { ...body, note: "two" });
  assert.deepEqual([first.status, again.status], [201, 200]);
  assert.deepEqual([again.json.id, again.json.note], [first.json.id, "one"]);
  const many = await Promise.all(
    Array.from({ length: 10 }, () => freeze(server, reviewer, { scope: "project" })),
  );
  assert.equal(new Set(many.map(({ json }) => json.id)).size, 1);
  assert.deepEqual(many.map(({ status }) => status).sort(), [...new Array(9).fill(200), 201]);
  assert.equal((await listFreezes(server, reviewer)).length, 2);
});

test("[ours.freeze.lift] lifting is recorded once, and the scope can be frozen again", async () => {
  const { reviewer, instance } = await newTestProject(server);
  const body = { scope: "instance", instance_id: instance.id, note: "why" };
  const { json } = await freeze(server, reviewer, body);
  const frozenAt = clock.now();
  clock.advance(777);
  const lifted = await lift(server, reviewer, json.id);
  clock.advance(1);
  const again = await lift(server, reviewer, json.id);
  assert.equal(again.text, lifted.text);
  assert.equal(lifted.json.lifted_at, new Date(frozenAt + 777).toISOString());
  assert.equal(lifted.json.lifted_by, json.frozen_by);
  assert.equal(lifted.json.instance?.id, instance.id);
  const audit = await auditOf(scene, `freeze:${json.id}`);
  assert.deepEqual(
    audit.map(({ kind, actor }) => [kind, actor]),
    [
      ["freeze.set", json.frozen_by],
      ["freeze.lifted", json.frozen_by],
    ],
  );
  assert.equal(audit[0]?.detail.scope, "instance");
  assert.deepEqual(await listFreezes(server, reviewer), []);
  assert.equal((await listFreezes(server, reviewer, "lifted"))[0]?.id, json.id);
  const next = await freeze(server, reviewer, body);
  assert.equal(next.status, 201);
  assert.notEqual(next.json.id, json.id);
});

test("[ours.freeze.list] freezes of the project and of the server are listed page by page, others are not there", async () => {
  const { reviewer, instance, other } = await newTestProject(server, "operator");
  const outsider = await newTestProject(server);
  const bodies = [
    { scope: "instance", instance_id: instance.id },
    { scope: "instance", instance_id: other.id },
    { scope: "project" },
    { scope: "server", note: "all" },
  ];
  const ids: string[] = [];
  for (const body of bodies) {
    clock.advance(1);
    ids.unshift((await freeze(server, reviewer, body)).json.id);
  }
  const listed = await listFreezes(server, reviewer);
  assert.deepEqual(
    listed.map(({ id }) => id),
    ids,
  );
  assert.deepEqual(
    listed.map(({ scope }) => scope),
    ["server", "project", "instance", "instance"],
  );
  const paged: string[] = [];
  let next: string | null = null;
  do {
    const after: string = next === null ? "" : `&after=${next}`;
    const page = await server.call<{ freezes: { id: string }[]; next: string | null }>(
      "GET",
      `${FREEZES}?limit=3${after}`,
      { token: reviewer },
    );
    paged.push(...page.json.freezes.map(({ id }) => id));
    next = page.json.next;
  } while (next !== null);
  assert.deepEqual(paged, ids);
  const seen = await listFreezes(server, outsider.reviewer);
  assert.deepEqual(
    seen.map(({ note }) => note),
    ["all"],
  );
  await lift(server, reviewer, ids[0] ?? "");
});

test("[ours.freeze.powers] viewers and editors cannot freeze, only operators freeze the server, and no role another project", async () => {
  const { project, reviewer, instance } = await newTestProject(server);
  const role = (name: "viewer" | "editor" | "admin" | "operator") =>
    server.token({ kind: "reviewer", project, name, role: name });
  const body = { scope: "instance", instance_id: instance.id };
  for (const name of ["viewer", "editor"] as const) {
    assertRefused(await freeze(server, await role(name), body), 403, "forbidden");
  }
  const everything = { scope: "server" };
  for (const token of [reviewer, await role("admin")]) {
    assertRefused(await freeze(server, token, everything), 403, "forbidden");
  }
  const operator = await role("operator");
  const whole = await freeze(server, operator, everything);
  assert.equal(whole.status, 201);
  for (const token of [reviewer, await role("admin"), await role("viewer")]) {
    assertRefused(await lift(server, token, whole.json.id), 403, "forbidden");
  }
  assert.equal((await lift(server, operator, whole.json.id)).status, 200);
  const own = await freeze(server, reviewer, { scope: "project" });
  const outsider = await newTestProject(server, "operator");
  assertRefused(await lift(server, outsider.reviewer, own.json.id), 404, "not_found");
  assertRefused(await freeze(server, outsider.reviewer, body), 404, "not_found");
  for (const token of [instance.token]) {
    assertRefused(await freeze(server, token, body), 403, "wrong_credential_kind");
  }
});

test("[ours.freeze.input] a freeze with unknown, missing or wrong fields names the field and freezes nothing", async () => {
  const { reviewer, instance } = await newTestProject(server);
  const good = { scope: "instance", instance_id: instance.id };
  const cases: readonly (readonly [object, string])[] = [
    [{ ...good, scope: undefined }, "scope"],
    [{ ...good, scope: "all" }, "scope"],
    [{ ...good, scope: null }, "scope"],
    [{ scope: "instance" }, "instance_id"],
    [{ ...good, instance_id: "x" }, "instance_id"],
    [{ ...good, scope: "project" }, "instance_id"],
    [{ ...good, note: "" }, "note"],
    [{ ...good, note: "x".repeat(2_001) }, "note"],
    [{ ...good, note: "a\0b" }, "note"],
    [{ ...good, until: "1h" }, "until"],
  ];
  for (const [body, param] of cases) {
    assertRefused(await freeze(server, reviewer, body), 400, "invalid_request", param);
  }
  const unknown = { scope: "instance", instance_id: randomUUID() };
  assertRefused(await freeze(server, reviewer, unknown), 404, "not_found");
  assertRefused(await lift(server, reviewer, randomUUID()), 404, "not_found");
  assert.equal((await server.submit(instance.token)).status, "pending");
});

test("[ours.freeze.retention] a freeze is purged 168 hours after it was lifted, not earlier, and an active one never", async () => {
  const testProject = await newTestProject(server);
  const { reviewer, instance, other } = testProject;
  const permanent = await freeze(server, reviewer, { scope: "instance", instance_id: other.id });
  const made = await freeze(server, reviewer, { scope: "instance", instance_id: instance.id });
  clock.advance(24 * 3_600_000);
  const { json } = await lift(server, reviewer, made.json.id);
  const lifted = async () => (await listFreezes(server, reviewer, "lifted")).map(({ id }) => id);
  clock.advance(Date.parse(json.lifted_at ?? "") + 168 * 3_600_000 - 1 - clock.now());
  assert.ok((await lifted()).includes(made.json.id));
  const isPurged = async () => !(await lifted()).includes(made.json.id);
  await advanceUntil(clock, 5 * 60_000, 100, isPurged);
  const active = (await listFreezes(server, reviewer)).map(({ id }) => id);
  assert.ok(active.includes(permanent.json.id));
  assert.ok((await auditOf(scene, `freeze:${made.json.id}`)).length >= 2);
});
