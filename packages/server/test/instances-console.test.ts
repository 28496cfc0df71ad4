/**
 * Administrators of a project create, watch and delete its instances.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import { assertRefused } from "./support/envelope.ts";
import { attemptNext, denied, untilAttempted } from "./support/notifications.ts";
import { callAs, newPerson } from "./support/people.ts";
import { auditOf, startScene, storedStatus, submitBody } from "./support/scene.ts";
import { type Answer, SUBMISSION, type TestProvider } from "./support/test-provider.ts";
import { provisionWithReceiver, startWebhookScene } from "./support/webhook-scene.ts";

interface Shown {
  readonly id: string;
  readonly name: string;
  readonly groups: readonly string[];
  readonly owner: string | null;
  readonly pending: number;
  readonly last_request_at: string | null;
  readonly receiver: {
    readonly origin: string;
    readonly waiting: number;
    readonly attempts?: number;
    readonly next_attempt_at?: string;
    readonly last_attempt?: { readonly outcome: string; readonly http_status?: number };
  } | null;
  readonly credential?: string;
}

const PATH = "/review/v1/instances";

function make(
  server: TestProvider,
  token: string,
  body: unknown,
): Promise<Answer<Shown & ErrorResponse>> {
  return server.call("POST", PATH, { token, body });
}

async function show(server: TestProvider, token: string, id: string): Promise<Shown> {
  const { status, text, json } = await server.call<Shown>("GET", `${PATH}/${id}`, { token });
  assert.equal(status, 200, text);
  return json;
}

test("[ours.instances.console] an instance is made with its credential, which is answered once", async (t) => {
  const { server, clock } = await startScene(t);
  const ana = await newPerson(server, { login: "ana", role: "admin" });
  const body = { name: "refund-bot", owner: "ana", groups: ["bots"] };
  const made = await callAs<Shown>(server, ana, "POST", "/instances", { body });
  assert.equal(made.status, 201, made.text);
  const { credential = "", ...rest } = made.json;
  assert.match(credential, /^cs_inst_/);
  assert.deepEqual([rest.name, rest.owner, rest.groups], ["refund-bot", "ana", ["bots"]]);
  const shown = await callAs<Shown>(server, ana, "GET", `/instances/${rest.id}`);
  assert.deepEqual(shown.json, rest);
  const listed = await callAs(server, ana, "GET", "/instances");
  assert.ok(!listed.text.includes(credential));
  assert.equal((await submitBody(server, credential, SUBMISSION)).status, 201);
  const [entry] = await auditOf({ server }, `instance:${rest.id}`);
  assert.deepEqual([entry?.at, entry?.kind], [clock.now(), "instance.provisioned"]);
  assert.match(entry?.actor ?? "", /^reviewer:/);
  assert.ok(!JSON.stringify(entry).includes(credential));
});

test("[ours.instances.console] nothing needs to be said, and a second one is another instance", async (t) => {
  const { server } = await startScene(t);
  const admin = await server.token({ kind: "reviewer", name: "admin", role: "admin" });
  const [one, two] = [await make(server, admin, {}), await make(server, admin, {})];
  assert.deepEqual([one.status, two.status], [201, 201]);
  assert.notEqual(one.json.id, two.json.id);
  assert.match(one.json.name, /^[a-z]+-[a-z]+-[a-z0-9]{4}$/);
});

test("[ours.instances.console] an invalid field returns 400 with its name, and creates nothing", async (t) => {
  const { server, reviewer } = await startScene(t);
  const admin = await server.token({ kind: "reviewer", name: "admin", role: "admin" });
  const wrong: [object, string][] = [
    [{ name: "" }, "name"],
    [{ name: "x".repeat(129) }, "name"],
    [{ name: 1 }, "name"],
    [{ groups: "a" }, "groups"],
    [{ groups: ["A b"] }, "groups"],
    [{ owner: "nobody" }, "owner"],
    [{ owner: "\0" }, "owner"],
    [{ delivery: null }, "delivery"],
  ];
  const count = async () => (await server.call<object>("GET", PATH, { token: admin })).text;
  const before = await count();
  for (const [body, param] of wrong) {
    assertRefused(await make(server, admin, body), 400, "invalid_request", param);
  }
  assertRefused(await make(server, reviewer, {}), 403, "forbidden");
  assert.equal(await count(), before);
});

test("[ours.instances.console] deleting ends the credential and cancels what waits, and can be repeated", async (t) => {
  const scene = await startScene(t);
  const { server, instance, reviewer } = scene;
  const admin = await server.token({ kind: "reviewer", name: "admin", role: "admin" });
  const { id: requestId } = await server.submit(instance.token);
  const remove = (token: string) => server.call("DELETE", `${PATH}/${instance.id}`, { token });
  assertRefused((await remove(reviewer)) as Answer<ErrorResponse>, 403, "forbidden");
  assert.equal(await storedStatus(scene, requestId), "pending");
  for (const _ of [1, 2]) {
    const removed = await remove(admin);
    assert.deepEqual([removed.status, removed.json], [200, { deleted: instance.id }]);
  }
  assert.equal(await storedStatus(scene, requestId), "cancelled");
  assert.equal((await submitBody(server, instance.token, SUBMISSION)).status, 401);
  const entries = await auditOf(scene, `instance:${instance.id}`);
  const deleted = entries.filter(({ kind }) => kind === "instance.deleted");
  assert.equal(deleted.length, 1);
  assert.match(deleted[0]?.actor ?? "", /^reviewer:/);
});

test("[ours.instances.activity] the number of pending requests and the time of the last request are shown", async (t) => {
  const { server, clock, instance, reviewer } = await startScene(t);
  const other = await server.provision(instance.provisioner, "other");
  const first = await server.submit(instance.token);
  clock.advance(1_000);
  const last = await server.submit(instance.token);
  await server.submit(other.credential.token);
  await server.decide(reviewer, first.id, "deny");
  const shown = await show(server, reviewer, instance.id);
  assert.deepEqual([shown.pending, shown.last_request_at], [1, last.created_at]);
  const listed = await server.call<{ readonly instances: readonly Shown[] }>("GET", PATH, {
    token: reviewer,
  });
  assert.deepEqual(
    listed.json.instances.map(({ pending }) => pending),
    [1, 1],
  );
});

test("[ours.instances.activity] a receiver that fails is shown with its attempts, and without its path", async (t) => {
  const scene = await startWebhookScene(t, {
    onNotification: (_, response) => response.writeHead(500).end(),
  });
  const { server, reviewer, receiver } = scene;
  const instance = await provisionWithReceiver(scene);
  const before = await show(server, reviewer, instance.id);
  assert.equal(before.receiver?.origin, new URL(receiver.url("/")).origin);
  assert.deepEqual([before.receiver?.waiting, before.receiver?.attempts], [0, undefined]);
  const request = await denied(scene, instance.token);
  await untilAttempted(scene, request, 1);
  await attemptNext(scene, request);
  const { receiver: health } = await show(server, reviewer, instance.id);
  assert.deepEqual([health?.waiting, health?.attempts], [1, 2]);
  assert.deepEqual(
    [health?.last_attempt?.outcome, health?.last_attempt?.http_status],
    ["rejected", 500],
  );
  assert.ok(health?.next_attempt_at);
  assert.doesNotMatch(JSON.stringify(health), /hook|team/);
});
