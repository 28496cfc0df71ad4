import assert from "node:assert/strict";
import { test } from "node:test";
import type { ErrorResponse, Instance } from "@countersign/protocol";
import type { Resolver } from "../src/egress/resolve-host.ts";
import { assertRefused } from "./support/envelope.ts";
import { auditOf } from "./support/scene.ts";
import type { Answer } from "./support/test-provider.ts";
import {
  countRows,
  type ManualScene,
  startManualScene,
  verificationRows,
} from "./support/verifications.ts";
import { startWebhookScene, tryProvision, tryUpdate } from "./support/webhook-scene.ts";

function times<T>(count: number, make: () => Promise<T>): Promise<T>[] {
  return Array.from({ length: count }, make);
}

/** The error of an answer, without the fields that differ between any two exchanges. */
function refusalOf({ status, headers, json }: Answer<ErrorResponse>): unknown {
  const { request_id: _, ...error } = json.error;
  return { status, error, retryAfter: headers.get("retry-after") };
}

async function instanceOf({ server, provisioner }: ManualScene): Promise<string> {
  return (await server.provision(provisioner, "before")).instance.id;
}

function read({ server, provisioner }: ManualScene, id: string): Promise<Answer<Instance>> {
  return server.call("GET", `/v1/instances/${id}`, { token: provisioner });
}

function remove({ server, provisioner }: ManualScene, id: string): Promise<Answer> {
  return server.call("DELETE", `/v1/instances/${id}`, { token: provisioner });
}

test("[delivery.provision.coalesced] [ours.verification.joined] 20 parallel equal provisionings send one verification and make one instance with one credential", async (t) => {
  const scene = await startManualScene(t);
  const { server, receiver, manual } = scene;
  const before = await countRows(server);
  const key = server.freshKey();
  const joined = scene.joined(19);
  const provisionings = times(20, () => tryProvision(scene, scene.delivery(), key));
  await joined;
  (await manual.arrived(1)).accept();
  const answers = await Promise.all(provisionings);
  const statuses = answers.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [...new Array(19).fill(200), 201]);
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
  assert.deepEqual([receiver.connections, receiver.requests.length], [1, 1]);
  const rows = await countRows(server);
  for (const [table, count] of Object.entries(rows)) {
    assert.equal(count, before[table as keyof typeof rows] + 1, table);
  }
  assert.deepEqual(await verificationRows(server), []);
  await server.submit(answers[0]?.json.credential.token ?? "");
});

test("[delivery.update.coalesced] [ours.verification.joined] 20 parallel equal updates send one verification and are applied once", async (t) => {
  const scene = await startManualScene(t);
  const { server, receiver, manual } = scene;
  const id = await instanceOf(scene);
  const key = server.freshKey();
  const body = { instance_name: "after", delivery: scene.delivery() };
  const joined = scene.joined(19);
  const updates = times(20, () => tryUpdate(scene, id, body, key));
  await joined;
  (await manual.arrived(1)).accept();
  const answers = await Promise.all(updates);
  for (const { status, text } of answers) {
    assert.equal(status, 200);
    assert.equal(text, answers[0]?.text);
  }
  assert.equal((await read(scene, id)).text, answers[0]?.text);
  assert.deepEqual([receiver.connections, receiver.requests.length], [1, 1]);
  const kinds = (await auditOf(scene, `instance:${id}`)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["instance.provisioned", "instance.updated"]);
});

test("[ours.verification.joined] when the verification fails, all joined calls get the same error as its holder", async (t) => {
  const scene = await startManualScene(t);
  const { server, receiver, manual } = scene;
  const id = await instanceOf(scene);
  const before = await countRows(server);
  const key = server.freshKey();
  const attempts = [
    () => tryProvision(scene, scene.delivery(), key),
    () => tryUpdate(scene, id, { delivery: scene.delivery() }, key),
  ];
  for (const [i, attempt] of attempts.entries()) {
    const joined = scene.joined(9);
    const calls = times<Answer<ErrorResponse>>(10, attempt);
    await joined;
    (await manual.arrived(i + 1)).refuse();
    for (const answer of await Promise.all(calls)) {
      assertRefused(answer, 422, "webhook_verification_failed", "delivery");
    }
    assert.equal(receiver.connections, i + 1);
  }
  assert.deepEqual(await countRows(server), before);
});

test("[ours.verification.joined] [delivery.url.addresses] an address that is not public fails all joined exchanges", async (t) => {
  const lookup = Promise.withResolvers<readonly string[]>();
  const resolver: Resolver = { resolve: () => lookup.promise };
  const scene = await startManualScene(t, { resolver });
  const key = scene.server.freshKey();
  const delivery = scene.delivery({ url: "https://hooks.example.com/" });
  const joined = scene.joined(4);
  const calls = times(5, () => tryProvision(scene, delivery, key));
  await joined;
  lookup.resolve(["10.0.0.1"]);
  for (const answer of await Promise.all(calls)) {
    assertRefused(answer, 400, "invalid_webhook_url", "delivery.url");
  }
});

test("[ours.verification.joined] [verification.rate-limited] a rate-limited verification returns the same Retry-After to all joined exchanges", async (t) => {
  const settings = { webhook_host_in_flight_max: "1" };
  const scene = await startManualScene(t, { settings });
  const { server, clock, manual } = scene;
  const first = tryProvision(scene, scene.delivery());
  const { accept } = await manual.arrived(1);
  const key = server.freshKey();
  const joined = scene.joined(4);
  const calls = times(5, () => tryProvision(scene, scene.delivery(), key));
  await joined;
  clock.advance(3_000);
  const answers = await Promise.all(calls);
  for (const answer of answers) {
    assertRefused(answer, 429, "rate_limited");
    assert.deepEqual(refusalOf(answer), refusalOf(answers[0] as Answer<ErrorResponse>));
  }
  accept();
  assert.equal((await first).status, 201);
  const again = tryProvision(scene, scene.delivery(), key);
  (await manual.arrived(2)).accept();
  assert.equal((await again).status, 201);
});

test("[delivery.provision.coalesced] other input under the key of a running verification returns 409 at once, and disturbs nothing", async (t) => {
  const scene = await startManualScene(t);
  const { server, provisioner, receiver, manual } = scene;
  const key = server.freshKey();
  const provisioning = tryProvision(scene, scene.delivery(), key);
  const { accept } = await manual.arrived(1);
  for (const body of [
    {},
    { instance_name: "polls" },
    { instance_name: "x", delivery: scene.delivery() },
    { delivery: scene.delivery({ url: receiver.url("/other") }) },
  ]) {
    const call = { token: provisioner, key, body };
    assertRefused(await server.call("POST", "/v1/instances", call), 409, "idempotency_conflict");
  }
  assert.equal(receiver.connections, 1);
  accept();
  assert.equal((await provisioning).status, 201);
});

test("[delivery.update.coalesced] other input under the key of a running update returns 409 at once, and disturbs nothing", async (t) => {
  const scene = await startManualScene(t);
  const { server, receiver, manual } = scene;
  const id = await instanceOf(scene);
  const key = server.freshKey();
  const updating = tryUpdate(scene, id, { delivery: scene.delivery() }, key);
  const { accept } = await manual.arrived(1);
  for (const body of [
    { delivery: null },
    { instance_name: "other" },
    { instance_name: "other", delivery: scene.delivery() },
    { delivery: scene.delivery({ url: receiver.url("/other") }) },
  ]) {
    assertRefused(await tryUpdate(scene, id, body, key), 409, "idempotency_conflict");
  }
  assert.equal(receiver.connections, 1);
  accept();
  assert.equal((await updating).json.delivery?.url, receiver.url("/hook?team=a"));
  assert.equal((await read(scene, id)).json.name, "before");
});

test("[delivery.provision.coalesced] one key of two provisioners, or of two instances, is two verifications", async (t) => {
  const scene = await startManualScene(t);
  const { server, manual } = scene;
  const key = server.freshKey();
  const other = await server.token({ kind: "provisioner", name: "other" });
  const ids = [await instanceOf(scene), await instanceOf(scene)];
  const calls: Promise<Answer>[] = [
    tryProvision(scene, scene.delivery(), key),
    tryProvision({ server, provisioner: other }, scene.delivery(), key),
    ...ids.map((id) => tryUpdate(scene, id, { delivery: scene.delivery() }, key)),
  ];
  for (const ordinal of [1, 2, 3, 4]) (await manual.arrived(ordinal)).accept();
  const statuses = (await Promise.all(calls)).map(({ status }) => status);
  assert.deepEqual(statuses, [201, 201, 200, 200]);
});

test("[delivery.update.deletion-wins] an instance deleted during the verification returns 404 to all waiting calls, and is not updated", async (t) => {
  const scene = await startManualScene(t);
  const { server, manual } = scene;
  const id = await instanceOf(scene);
  const key = server.freshKey();
  const body = { instance_name: "after", delivery: scene.delivery() };
  const joined = scene.joined(2);
  const updates = times(3, () => tryUpdate(scene, id, body, key));
  await joined;
  const { accept } = await manual.arrived(1);
  assert.equal((await remove(scene, id)).status, 204);
  const rows = await countRows(server);
  assertRefused(await tryUpdate(scene, id, { instance_name: "other" }, key), 404, "not_found");
  accept();
  for (const answer of await Promise.all(updates)) assertRefused(answer, 404, "not_found");
  assert.deepEqual(await countRows(server), rows);
  assert.equal(rows.receiver, 0);
  const name = await server.provider.context.store.get("select name from instance");
  assert.equal(name?.name, '"before"');
  assertRefused(await tryUpdate(scene, id, body, key), 404, "not_found");
  assertRefused(await read(scene, id), 404, "not_found");
  assert.equal((await remove(scene, id)).status, 204);
});

test("[delivery.update.deletion-wins] a deletion during an update also deletes the receiver that the update would replace", async (t) => {
  const scene = await startManualScene(t);
  const { server, manual } = scene;
  const provisioning = tryProvision(scene, scene.delivery());
  (await manual.arrived(1)).accept();
  const { id } = (await provisioning).json.instance;
  const updating = tryUpdate(scene, id, { delivery: scene.delivery() });
  const { accept } = await manual.arrived(2);
  await remove(scene, id);
  accept();
  assertRefused(await updating, 404, "not_found");
  assert.equal((await countRows(server)).receiver, 0);
});

test("[delivery.update.replaces] an update of only the receiver keeps a name that changed during its verification", async (t) => {
  const scene = await startManualScene(t);
  const id = await instanceOf(scene);
  const updating = tryUpdate(scene, id, { delivery: scene.delivery() });
  const { accept } = await scene.manual.arrived(1);
  assert.equal((await tryUpdate(scene, id, { instance_name: "meanwhile" })).status, 200);
  accept();
  assert.equal((await updating).json.name, "meanwhile");
  assert.equal((await read(scene, id)).text, (await updating).text);
});

test("[ours.verification.last-accepted] of two updates with two keys the one that was accepted last stays, whichever receiver answers first", async (t) => {
  for (const isOverwriting of [false, true]) {
    const scene = await startManualScene(t);
    const { receiver, manual } = scene;
    const id = await instanceOf(scene);
    const to = (path: string) => ({ delivery: scene.delivery({ url: receiver.url(path) }) });
    const key = scene.server.freshKey();
    const earlier = tryUpdate(scene, id, to("/earlier"), key);
    const first = await manual.arrived(1);
    scene.clock.advance(1);
    const later = tryUpdate(scene, id, to("/later"));
    const second = await manual.arrived(2);
    if (isOverwriting) {
      first.accept();
      assert.equal((await earlier).json.delivery?.url, receiver.url("/earlier"));
    }
    second.accept();
    assert.equal((await later).json.delivery?.url, receiver.url("/later"));
    if (!isOverwriting) {
      first.accept();
      assertRefused(await earlier, 409, "update_superseded");
    }
    const replayed = await tryUpdate(scene, id, to("/earlier"), key);
    if (isOverwriting) assert.equal(replayed.text, (await earlier).text);
    else assertRefused(replayed, 409, "update_superseded");
    assert.equal((await read(scene, id)).text, (await later).text);
    assert.equal(receiver.connections, 2);
  }
});

test("[ours.verification.last-accepted] a removal or a rename during a verification is not undone when the verification ends", async (t) => {
  for (const later of [{ delivery: null }, { instance_name: "newer" }]) {
    for (const end of ["accept", "refuse"] as const) {
      const scene = await startManualScene(t);
      const { manual } = scene;
      const id = await instanceOf(scene);
      const key = scene.server.freshKey();
      const body = { instance_name: "older", delivery: scene.delivery() };
      const joined = scene.joined(1);
      const calls = [1, 2].map(() => tryUpdate(scene, id, body, key));
      const verification = await manual.arrived(1);
      await joined;
      const applied = await tryUpdate(scene, id, later);
      assert.equal(applied.status, 200);
      verification[end]();
      for (const answer of await Promise.all(calls)) {
        assertRefused(answer, 409, "update_superseded");
      }
      assert.equal((await read(scene, id)).text, applied.text);
      assertRefused(await tryUpdate(scene, id, body, key), 409, "update_superseded");
      assertRefused(await tryUpdate(scene, id, later, key), 409, "idempotency_conflict");
      assert.equal((await read(scene, id)).text, applied.text);
    }
  }
});

test("[ours.verification.last-accepted] a later update that fails its verification supersedes nothing", async (t) => {
  const scene = await startManualScene(t);
  const { receiver, manual } = scene;
  const id = await instanceOf(scene);
  const to = (path: string) => ({ delivery: scene.delivery({ url: receiver.url(path) }) });
  const earlier = tryUpdate(scene, id, to("/earlier"));
  const first = await manual.arrived(1);
  scene.clock.advance(1);
  const later = tryUpdate(scene, id, to("/later"));
  (await manual.arrived(2)).refuse();
  assert.equal((await later).status, 422);
  first.accept();
  assert.equal((await earlier).json.delivery?.url, receiver.url("/earlier"));
});

test("[delivery.provision.coalesced] many provisionings with few keys make one instance for each key", async (t) => {
  const scene = await startWebhookScene(t);
  const { server, receiver } = scene;
  for (let round = 0; round < 3; round++) {
    const before = await countRows(server);
    const { connections } = receiver;
    const keys = times(5, async () => server.freshKey());
    const answers = await Promise.all(
      (await Promise.all(keys)).flatMap((key) =>
        times(8, () => tryProvision(scene, scene.delivery(), key)),
      ),
    );
    assert.equal(answers.filter(({ status }) => status === 201).length, 5);
    assert.equal(answers.filter(({ status }) => status === 200).length, 35);
    assert.equal(new Set(answers.map(({ text }) => text)).size, 5);
    assert.equal((await countRows(server)).instance, before.instance + 5);
    assert.equal(receiver.connections, connections + 5);
  }
});
