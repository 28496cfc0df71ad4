import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import {
  type ErrorResponse,
  type Problem,
  parseJson,
  parseProvisionInstance,
} from "@countersign/protocol";
import { provisionInstance } from "../src/operations/instances/provisionInstance.ts";
import { onlyOn } from "./support/engine.ts";
import { assertRefused } from "./support/envelope.ts";
import { type Answer, startTestProvider } from "./support/test-provider.ts";
import { startTlsReceiver } from "./support/tls-receiver.ts";
import { until } from "./support/until.ts";
import { countRows, startManualScene, verificationRows } from "./support/verifications.ts";
import { startWebhookScene, tryProvision, tryUpdate } from "./support/webhook-scene.ts";

/** A refusal that says in how many seconds the next attempt goes through. */
function assertLimited(answer: Answer<ErrorResponse>, retryAfterS: number): void {
  assertRefused(answer, 429, "rate_limited");
  assert.equal(answer.headers.get("retry-after"), String(retryAfterS));
}

test("[verification.rate-limited] the limit of verifications per minute of a provisioner covers all hosts and operations", async (t) => {
  const scene = await startWebhookScene(t, { settings: { webhook_account_verifications: "3" } });
  const { server, clock, receiver } = scene;
  const { instance } = await server.provision(scene.provisioner);
  const url = receiver.url("/").replace("localhost", "127.0.0.1");
  assert.equal((await tryProvision(scene, scene.delivery())).status, 201);
  assert.equal((await tryProvision(scene, scene.delivery({ url }))).status, 201);
  const delivery = scene.delivery();
  assert.equal((await tryUpdate(scene, instance.id, { delivery })).status, 200);
  const before = [await countRows(server), receiver.connections];
  assertLimited(await tryProvision(scene, scene.delivery({ url })), 20);
  assertLimited(await tryUpdate(scene, instance.id, { instance_name: "after", delivery }), 20);
  assert.deepEqual([await countRows(server), receiver.connections], before);
  const provisioner = await server.token({ kind: "provisioner", name: "other" });
  assert.equal((await tryProvision({ server, provisioner }, delivery)).status, 201);
  clock.advance(19_999);
  assertLimited(await tryProvision(scene, delivery), 1);
  clock.advance(1);
  assert.equal((await tryProvision(scene, delivery)).status, 201);
});

test("[verification.rate-limited] the limit of verifications per minute of a host covers all provisioners and all spellings", async (t) => {
  const scene = await startWebhookScene(t, { settings: { webhook_host_verifications: "2" } });
  const { server, receiver } = scene;
  const provisioner = await server.token({ kind: "provisioner", name: "other" });
  const other = { server, provisioner };
  assert.equal((await tryProvision(scene, scene.delivery())).status, 201);
  assert.equal((await tryProvision(other, scene.delivery())).status, 201);
  const { connections } = receiver;
  for (const url of [
    receiver.url("/other"),
    receiver.url("/hook?team=b"),
    receiver.url("/").replace("localhost", "LOCALHOST"),
    "https://localhost:9443/",
  ]) {
    assertLimited(await tryProvision(scene, scene.delivery({ url })), 30);
    assertLimited(await tryProvision(other, scene.delivery({ url })), 30);
  }
  assert.equal(receiver.connections, connections);
  const url = receiver.url("/").replace("localhost", "127.0.0.1");
  assert.equal((await tryProvision(scene, scene.delivery({ url }))).status, 201);
});

test("[verification.rate-limited] a key that a rate limit refused works for the same input later, and returns 409 for another", async (t) => {
  const scene = await startWebhookScene(t, { settings: { webhook_host_verifications: "1" } });
  const { server, clock, receiver } = scene;
  const { instance } = await server.provision(scene.provisioner);
  const keys = [server.freshKey(), server.freshKey(), server.freshKey()] as const;
  const delivery = scene.delivery();
  assert.equal((await tryProvision(scene, delivery)).status, 201);
  for (const key of keys.slice(0, 2)) {
    assertLimited(await tryProvision(scene, delivery, key), 60);
  }
  assertLimited(await tryUpdate(scene, instance.id, { delivery }, keys[2]), 60);
  clock.advance(60_000);
  assert.equal((await tryProvision(scene, delivery, keys[0])).status, 201);
  clock.advance(60_000);
  const other = scene.delivery({ url: receiver.url("/other") });
  assert.equal((await tryProvision(scene, other, keys[1])).status, 409);
  const removal = await tryUpdate(scene, instance.id, { delivery: null }, keys[2]);
  assert.equal(removal.status, 409);
  assert.equal((await tryProvision(scene, delivery, keys[1])).status, 201);
});

test("[verification.rate-limited] attempts that are joined are charged once, failed ones are charged and replays are not", async (t) => {
  const settings = { webhook_account_verifications: "3", webhook_host_verifications: "3" };
  const scene = await startManualScene(t, { settings });
  const { server, manual } = scene;
  const key = server.freshKey();
  const attempt = () => tryProvision(scene, scene.delivery(), key);
  for (const end of ["refuse", "accept"] as const) {
    const joined = scene.joined(9);
    const calls = Array.from({ length: 10 }, attempt);
    await joined;
    (await manual.arrived(end === "refuse" ? 1 : 2))[end]();
    await Promise.all(calls);
  }
  for (let i = 0; i < 10; i++) assert.equal((await attempt()).status, 200);
  const third = tryProvision(scene, scene.delivery());
  (await manual.arrived(3)).accept();
  assert.equal((await third).status, 201);
  assertLimited(await tryProvision(scene, scene.delivery()), 20);
  assert.equal((await attempt()).status, 200);
});

const ONE_COMMIT = onlyOn("sqlite", "requests that wait together begin in one commit");

test(
  "[verification.rate-limited] [ours.verification.joined] a rate limit rejects all joined calls",
  ONE_COMMIT,
  async (t) => {
    const scene = await startWebhookScene(t, { settings: { webhook_host_verifications: "2" } });
    const { server, receiver } = scene;
    for (let i = 0; i < 2; i++) {
      assert.equal((await tryProvision(scene, scene.delivery())).status, 201);
    }
    const { context } = server.provider;
    const body = parseJson(JSON.stringify({ delivery: scene.delivery() }));
    const input = parseProvisionInstance(body, { webhooks: true, internalNames: true });
    const ids = { credentialId: randomUUID(), provisionerId: randomUUID(), projectId: "default" };
    const caller = { kind: "provisioner", ...ids } as const;
    // Not over HTTP: to join an attempt that ends at once, they have to begin in one commit.
    const calls = Array.from({ length: 5 }, () => provisionInstance(context, caller, input, "key"));
    for (const result of await Promise.allSettled(calls)) {
      assert.equal(result.status, "rejected");
      const { code, retryAfterS } = result.reason as Problem;
      assert.deepEqual([code, retryAfterS], ["rate_limited", 30]);
    }
    const rows = await verificationRows(server);
    assert.deepEqual(
      rows.map(({ fence, failure }) => [fence, failure]),
      [[1, "rate_limited"]],
    );
    assert.equal(receiver.connections, 2);
  },
);

test("[verification.rate-limited] a call rejected before a verification is not charged to any limit", async (t) => {
  const settings = { webhook_account_verifications: "1", webhook_host_verifications: "1" };
  const scene = await startWebhookScene(t, { settings });
  const { server } = scene;
  const { instance } = await server.provision(scene.provisioner);
  const deleted = await server.provision(scene.provisioner);
  const path = `/v1/instances/${deleted.instance.id}`;
  await server.call("DELETE", path, { token: scene.provisioner });
  const key = server.freshKey();
  await tryUpdate(scene, instance.id, { instance_name: "after" }, key);
  for (let i = 0; i < 3; i++) {
    const delivery = scene.delivery();
    assert.equal((await tryUpdate(scene, deleted.instance.id, { delivery })).status, 404);
    assert.equal((await tryUpdate(scene, instance.id, { delivery }, key)).status, 409);
    const malformed = scene.delivery({ signing_secret: "whsec_" });
    assert.equal((await tryProvision(scene, malformed)).status, 400);
  }
  assert.equal((await tryProvision(scene, scene.delivery())).status, 201);
});

test("[verification.rate-limited] a limited number of calls wait for one host at a time; the next one waits for three seconds and gets 429 with Retry-After", async (t) => {
  const scene = await startManualScene(t, { settings: { webhook_host_in_flight_max: "1" } });
  const { server, clock, receiver, manual } = scene;
  const { limits } = server.provider.context.delivery;
  const first = tryProvision(scene, scene.delivery());
  const { accept } = await manual.arrived(1);
  const impatient = tryProvision(scene, scene.delivery());
  await until(() => limits.queued === 1, "the call is queued");
  clock.advance(3_000);
  const refused = await impatient;
  assertRefused(refused, 429, "rate_limited");
  assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
  const patient = tryProvision(scene, scene.delivery());
  await until(() => limits.queued === 1, "the call is queued");
  clock.advance(2_999);
  assert.equal(receiver.connections, 1);
  accept();
  assert.equal((await first).status, 201);
  (await manual.arrived(2)).accept();
  assert.equal((await patient).status, 201);
  assert.deepEqual([limits.size, limits.queued], [0, 0]);
});

test("[ours.verification.fixed-text] a receiver that is down, has no valid certificate, answers late or has no address is rejected like one with a wrong answer", async (t) => {
  const outsider = await startTlsReceiver(t);
  const scene = await startManualScene(t, {
    resolver: { resolve: async (host) => (host === "localhost" ? ["127.0.0.1"] : []) },
  });
  const { clock, manual } = scene;
  const before = await countRows(scene.server);
  const wrong = tryProvision(scene, scene.delivery());
  (await manual.arrived(1)).refuse();
  const late = tryProvision(scene, scene.delivery());
  await manual.arrived(2);
  clock.advance(10_000);
  const gone = await startTestProvider(t);
  const { port } = new URL(gone.url);
  await gone.stop();
  const urls = [
    // No listener, no TLS, a certificate that no root signed, no address.
    `https://localhost:${port}/`,
    scene.server.url.replace("http:", "https:"),
    outsider.url(),
    "https://nowhere.example.com/",
  ];
  const answers = [await wrong, await late];
  for (const url of urls) answers.push(await tryProvision(scene, scene.delivery({ url })));
  for (const answer of answers) {
    assertRefused(answer, 422, "webhook_verification_failed", "delivery");
    assert.equal(answer.json.error.message, answers[0]?.json.error.message);
  }
  assert.deepEqual(await countRows(scene.server), before);
});
