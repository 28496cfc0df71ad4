/**
 * Administrators of a project replace the credential of an instance, rename it, and change its
 * receiver.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import { assertRefused } from "./support/envelope.ts";
import { callAs, newPerson } from "./support/people.ts";
import { auditOf, startScene, submitBody, UNKNOWN_ID } from "./support/scene.ts";
import { type Answer, SUBMISSION } from "./support/test-provider.ts";
import { until } from "./support/until.ts";
import {
  provisionWithReceiver,
  REGISTRATION_ID,
  SIGNING_SECRET,
  startWebhookScene,
  untilDelivered,
} from "./support/webhook-scene.ts";

interface Shown {
  readonly name: string;
  readonly receiver: { readonly origin: string } | null;
}

interface Rotated {
  readonly credential: string;
  readonly earlier_until: string;
}

const HOUR_MS = 3_600_000;

test("[ours.instances.rotate] without an overlap, the earlier credential is revoked immediately", async (t) => {
  const scene = await startScene(t);
  const { server, instance, clock } = scene;
  const ana = await newPerson(server, { login: "ana", role: "admin" });
  const path = `/instances/${instance.id}/credential`;
  const rotated = await callAs<Rotated>(server, ana, "POST", path, { body: {} });
  assert.equal(rotated.status, 201, rotated.text);
  const { credential } = rotated.json;
  assert.match(credential, /^cs_inst_/);
  assert.equal((await submitBody(server, instance.token, SUBMISSION)).status, 401);
  assert.equal((await submitBody(server, credential, SUBMISSION)).status, 201);
  const entries = await auditOf(scene, `instance:${instance.id}`);
  const entry = entries.find(({ kind }) => kind === "instance.credential_rotated");
  assert.equal(entry?.detail.earlier_until, clock.now());
  assert.ok(!JSON.stringify(entries).includes(credential));
});

test("[ours.instances.rotate] with an overlap, all earlier credentials expire at its end, none later than before", async (t) => {
  const { server, instance, clock } = await startScene(t);
  const token = await server.token({ kind: "reviewer", name: "admin", role: "admin" });
  const path = `/review/v1/instances/${instance.id}/credential`;
  const rotate = (overlap: string) =>
    server.call<Rotated>("POST", path, { token, body: { overlap } });
  const second = await rotate("1h");
  assert.equal(second.json.earlier_until, new Date(clock.now() + HOUR_MS).toISOString());
  const third = await rotate("24h");
  const works = async (credential: string) =>
    (await submitBody(server, credential, SUBMISSION)).status === 201;
  clock.advance(HOUR_MS - 1);
  assert.equal(await works(instance.token), true);
  clock.advance(1);
  assert.equal(await works(instance.token), false);
  assert.equal(await works(second.json.credential), true);
  clock.advance(23 * HOUR_MS);
  assert.equal(await works(second.json.credential), false);
  assert.equal(await works(third.json.credential), true);
});

test("[ours.instances.administer] a new name is displayed and audited; the same name changes nothing", async (t) => {
  const scene = await startScene(t);
  const { server, instance, reviewer } = scene;
  const token = await server.token({ kind: "reviewer", name: "admin", role: "admin" });
  const path = `/review/v1/instances/${instance.id}/name`;
  const rename = (name: string, as = token) =>
    server.call<Shown & ErrorResponse>("PUT", path, { token: as, body: { name } });
  const { json: earlier } = await server.call<Shown>("GET", `/review/v1/instances/${instance.id}`, {
    token,
  });
  for (const _ of [1, 2]) assert.equal((await rename("refund bot")).json.name, "refund bot");
  const entries = await auditOf(scene, `instance:${instance.id}`);
  const updates = entries.filter(({ kind }) => kind === "instance.updated");
  assert.equal(updates.length, 1);
  const { name, earlier_name: earlierName } = updates[0]?.detail ?? {};
  assert.deepEqual([name, earlierName], ["refund bot", earlier.name]);
  assertRefused(await rename(""), 400, "invalid_request", "name");
  assertRefused(await rename("x".repeat(129)), 400, "invalid_request", "name");
  assertRefused(await rename("other", reviewer), 403, "forbidden");
});

test("[ours.instances.administer] an instance that does not exist returns 404 for every change", async (t) => {
  const { server } = await startScene(t);
  const token = await server.token({ kind: "reviewer", name: "admin", role: "admin" });
  const receiver = {
    url: "https://93.184.215.14/hook",
    registration_id: REGISTRATION_ID,
    signing_secret: SIGNING_SECRET,
  };
  const changes = [
    ["POST", "credential", {}],
    ["PUT", "name", { name: "a" }],
    ["PUT", "receiver", receiver],
    ["DELETE", "receiver", undefined],
    ["POST", "receiver/test", undefined],
  ] as const;
  for (const [method, path, body] of changes) {
    const full = `/review/v1/instances/${UNKNOWN_ID}/${path}`;
    const answer = await server.call<ErrorResponse>(method, full, { token, body });
    assertRefused(answer, 404, "not_found");
  }
});

test("[ours.instances.administer] a receiver is verified, gets decisions, is tested and removed", async (t) => {
  const scene = await startWebhookScene(t);
  const { server, receiver, reviewer, provisioner, notifications } = scene;
  const token = await server.token({ kind: "reviewer", name: "admin", role: "admin" });
  const { instance, credential } = await server.provision(provisioner, "polls");
  const path = `/review/v1/instances/${instance.id}/receiver`;
  const call = (method: string, tail = "", body?: object) =>
    server.call<Shown & ErrorResponse>(method, `${path}${tail}`, { token, body });
  const order = {
    url: receiver.url("/hook?team=a"),
    registration_id: REGISTRATION_ID,
    signing_secret: SIGNING_SECRET,
  };
  assertRefused(await call("POST", "/test"), 404, "not_found");
  const added = await call("PUT", "", order);
  assert.equal(added.status, 200, added.text);
  assert.equal(added.json.receiver?.origin, new URL(receiver.url("/")).origin);
  assert.ok(!added.text.includes("team=a") && !added.text.includes("whsec_"));
  const { id } = await server.submit(credential.token);
  await server.decide(reviewer, id, "approve");
  await untilDelivered(scene, () => notifications.length === 1, "the decision");
  assert.equal((await call("POST", "/test")).status, 204);
  for (const _ of [1, 2]) {
    const removed = await call("DELETE");
    assert.deepEqual([removed.status, removed.json.receiver], [200, null]);
  }
  const entries = await auditOf({ server }, `instance:${instance.id}`);
  const updates = entries.filter(({ kind }) => kind === "instance.updated");
  assert.deepEqual(
    updates.map(({ detail }) => detail.registration_id),
    [REGISTRATION_ID, null],
  );
});

test("[ours.instances.administer] a receiver that does not prove itself is rejected, and the earlier one stays", async (t) => {
  let isBroken = false;
  const scene = await startWebhookScene(t, {
    onVerification: (received, response) => {
      const { challenge } = JSON.parse(received.body.toString()) as { challenge: string };
      response.writeHead(isBroken ? 500 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify({ challenge }));
    },
  });
  const { server, receiver } = scene;
  const token = await server.token({ kind: "reviewer", name: "admin", role: "admin" });
  const { id } = await provisionWithReceiver(scene);
  isBroken = true;
  const path = `/review/v1/instances/${id}/receiver`;
  const put = (fields: object): Promise<Answer<ErrorResponse>> => {
    const body = {
      url: receiver.url("/other"),
      registration_id: REGISTRATION_ID,
      signing_secret: SIGNING_SECRET,
      ...fields,
    };
    return server.call("PUT", path, { token, body });
  };
  assertRefused(await put({}), 422, "webhook_verification_failed", "url");
  assertRefused(await put({ url: "http://example.com" }), 400, "invalid_webhook_url", "url");
  assertRefused(await put({ signing_secret: "\0" }), 400, "invalid_request", "signing_secret");
  assertRefused(await put({ registration_id: "a" }), 400, "invalid_request", "registration_id");
  const tested = await server.call<ErrorResponse>("POST", `${path}/test`, { token });
  assertRefused(tested, 422, "webhook_verification_failed");
  const shown = await server.call<Shown>("GET", `/review/v1/instances/${id}`, { token });
  assert.equal(shown.json.receiver?.origin, new URL(receiver.url("/")).origin);
});

test("[ours.instances.administer] a receiver that is removed during the verification of another one stays removed", async (t) => {
  let release: (() => void) | undefined;
  const scene = await startWebhookScene(t, {
    onVerification: (received, response) => {
      const { challenge } = JSON.parse(received.body.toString()) as { challenge: string };
      const answer = () => {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ challenge }));
      };
      if (received.path === "/slow") release = answer;
      else answer();
    },
  });
  const { server, receiver } = scene;
  const token = await server.token({ kind: "reviewer", name: "admin", role: "admin" });
  const { id } = await provisionWithReceiver(scene);
  const path = `/review/v1/instances/${id}/receiver`;
  const body = {
    url: receiver.url("/slow"),
    registration_id: REGISTRATION_ID,
    signing_secret: SIGNING_SECRET,
  };
  const pending = server.call<ErrorResponse>("PUT", path, { token, body });
  await until(() => release !== undefined, "the challenge arrives");
  assert.equal((await server.call("DELETE", path, { token })).status, 200);
  release?.();
  assertRefused(await pending, 409, "update_superseded");
  const shown = await server.call<Shown>("GET", `/review/v1/instances/${id}`, { token });
  assert.equal(shown.json.receiver, null);
});
