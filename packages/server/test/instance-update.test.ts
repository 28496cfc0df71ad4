import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import type { ErrorResponse, Instance } from "@countersign/protocol";
import { assertRefused } from "./support/envelope.ts";
import { type Answer, type Call, startTestProvider } from "./support/test-provider.ts";

const server = await startTestProvider({ after });
const provisioner = await server.token({ kind: "provisioner" });

async function provision(name = "before"): Promise<string> {
  const { instance } = await server.provision(provisioner, name);
  return instance.id;
}

function update(id: string, body: unknown, call: Call = {}): Promise<Answer<Instance>> {
  return server.call("PATCH", `/v1/instances/${id}`, {
    token: provisioner,
    key: server.freshKey(),
    body,
    ...call,
  });
}

async function nameOf(id: string): Promise<string> {
  const path = `/v1/instances/${id}`;
  const answer = await server.call<Instance>("GET", path, { token: provisioner });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.name;
}

test("[instance.update.renames] an update returns 200 and the instance with its new name", async () => {
  const id = await provision();
  const { status, json } = await update(id, { instance_name: "after" });
  assert.equal(status, 200);
  assert.deepEqual(json, { id, name: "after" });
  assert.equal(await nameOf(id), "after");
});

test("[instance.update.name] any string of at least one character becomes the name", async () => {
  const id = await provision();
  for (const name of ["a", " ", "😀", 'quote " and \\ slash', "\u0000", "before"]) {
    const { status, json } = await update(id, { instance_name: name });
    assert.equal(status, 200);
    assert.equal(json.name, name);
    assert.equal(await nameOf(id), name);
  }
});

test("[instance.update.name] [instance.update.refused-changes-nothing] a name that is empty, null or not a string returns 400 and names instance_name", async () => {
  const id = await provision();
  for (const name of ["", null, 7, false, [], {}]) {
    const answer = await update(id, { instance_name: name });
    assertRefused(answer, 400, "invalid_request", "instance_name");
  }
  assert.equal(await nameOf(id), "before");
});

test("[instance.update.additional-properties] [instance.update.refused-changes-nothing] an unknown property returns 400 and names it", async () => {
  const id = await provision();
  for (const property of ["name", "id", "credential", "Delivery"]) {
    const answer = await update(id, { instance_name: "after", [property]: "x" });
    assertRefused(answer, 400, "invalid_request", property);
  }
  assert.equal(await nameOf(id), "before");
});

test("[instance.update.not-empty] an update without any property returns 400", async () => {
  const id = await provision();
  assertRefused(await update(id, {}), 400, "invalid_request", "body");
});

test("[instance.update.not-empty] a body that is empty or not an object returns 400", async () => {
  const id = await provision();
  assertRefused(await update(id, ""), 400, "invalid_json", "body");
  for (const body of ["null", "[]", '"after"', "1"]) {
    assertRefused(await update(id, body), 400, "invalid_request", "body");
  }
  assert.equal(await nameOf(id), "before");
});

test("[instance.update.omitted-unchanged] [instance.update.delivery-null] removing the receiver keeps the name and leaves no delivery", async () => {
  const id = await provision();
  const { status, json } = await update(id, { delivery: null });
  assert.equal(status, 200);
  assert.deepEqual(json, { id, name: "before" });
  assert.equal(await nameOf(id), "before");
});

test("[instance.update.delivery-null] a name and a null delivery are accepted together", async () => {
  const id = await provision();
  const { status, json } = await update(id, { instance_name: "after", delivery: null });
  assert.equal(status, 200);
  assert.deepEqual(json, { id, name: "after" });
});

test("[instance.update.omitted-unchanged] an update leaves credential and requests unchanged", async () => {
  const { instance, credential } = await server.provision(provisioner);
  const before = await server.submit(credential.token);
  await update(instance.id, { instance_name: "after" });
  assert.deepEqual(await server.read(credential.token, before.id), before);
});

test("[instance.update.key-required] a missing or empty Idempotency-Key returns 400", async () => {
  const id = await provision();
  const body = { instance_name: "after" };
  const path = `/v1/instances/${id}`;
  const without = await server.call("PATCH", path, { token: provisioner, body });
  assertRefused(without, 400, "invalid_request", "Idempotency-Key");
  const empty = await update(id, body, { key: "" });
  assertRefused(empty, 400, "invalid_request", "Idempotency-Key");
  assert.equal(await nameOf(id), "before");
});

test("[limit.key.one-character] a key of one character is enough", async () => {
  const id = await provision();
  assert.equal((await update(id, { instance_name: "after" }, { key: "k" })).status, 200);
});

test("[instance.update.replay] the same key and input return the original response and apply nothing, also after a later update", async () => {
  const id = await provision();
  const key = server.freshKey();
  const first = await update(id, { instance_name: "first" }, { key });
  await update(id, { instance_name: "second" });
  const again = await update(id, { instance_name: "first" }, { key });
  assert.equal(again.status, 200);
  assert.deepEqual(again.json, first.json);
  assert.equal(await nameOf(id), "second");
});

test("[instance.update.replay] the replay of a removed delivery returns the name of its time", async () => {
  const id = await provision();
  const key = server.freshKey();
  await update(id, { delivery: null }, { key });
  await update(id, { instance_name: "second" });
  const again = await update(id, { delivery: null }, { key });
  assert.deepEqual(again.json, { id, name: "before" });
  assert.equal(await nameOf(id), "second");
});

test("[instance.update.conflict] [instance.update.refused-changes-nothing] the same key with other input returns 409 and changes nothing", async () => {
  const id = await provision();
  const key = server.freshKey();
  await update(id, { instance_name: "first" }, { key });
  const others = [
    { instance_name: "other" },
    { delivery: null },
    { instance_name: "first", delivery: null },
  ];
  for (const body of others) {
    assertRefused(await update(id, body, { key }), 409, "idempotency_conflict");
  }
  assert.equal(await nameOf(id), "first");
});

test("[instance.update.refused-changes-nothing] a refused update does not use up its key", async () => {
  const id = await provision();
  const key = server.freshKey();
  assert.equal((await update(id, { instance_name: 7 }, { key })).status, 400);
  const { status, json } = await update(id, { instance_name: "after" }, { key });
  assert.equal(status, 200);
  assert.equal(json.name, "after");
});

test("[instance.update.key-scope] the same key for another instance is another key", async () => {
  const [one, two] = [await provision(), await provision()];
  const key = server.freshKey();
  await update(one, { instance_name: "for one" }, { key });
  const { status, json } = await update(two, { instance_name: "for two" }, { key });
  assert.equal(status, 200);
  assert.deepEqual(json, { id: two, name: "for two" });
  assert.equal(await nameOf(one), "for one");
});

test("[instance.update.key-scope] the same key of another provisioner is another key", async () => {
  const id = await provision();
  const key = server.freshKey();
  const token = await server.token({ kind: "provisioner", name: "colleague" });
  await update(id, { instance_name: "mine" }, { key });
  const { status, json } = await update(id, { instance_name: "theirs" }, { key, token });
  assert.equal(status, 200);
  assert.equal(json.name, "theirs");
  assert.equal(await nameOf(id), "theirs");
});

test("[instance.update.key-scope] the key of a provisioning is free for an update", async () => {
  const key = server.freshKey();
  const call = { token: provisioner, key, body: { instance_name: "before" } };
  const { json } = await server.call<{ instance: Instance }>("POST", "/v1/instances", call);
  const answer = await update(json.instance.id, { instance_name: "after" }, { key });
  assert.equal(answer.status, 200);
  assert.equal(answer.json.name, "after");
});

async function countUpdates(id: string): Promise<number> {
  const sql = "select count(*) as n from audit_entry where kind = $1 and subject = $2";
  const { store } = server.provider.context;
  const row = await store.get(sql, ["instance.updated", `instance:${id}`]);
  return Number(row?.n);
}

test("[instance.update.concurrent] concurrent updates with one key commit once", async () => {
  const id = await provision();
  const key = server.freshKey();
  const attempts = Array.from({ length: 20 }, () => update(id, { instance_name: "once" }, { key }));
  for (const { status, json } of await Promise.all(attempts)) {
    assert.equal(status, 200);
    assert.deepEqual(json, { id, name: "once" });
  }
  assert.equal(await countUpdates(id), 1);
});

test("[instance.update.concurrent] of concurrent other inputs with one key one wins and the others conflict", async () => {
  const id = await provision();
  const key = server.freshKey();
  const names = ["a", "b", "c", "d"];
  const attempts = names.map((name) => update(id, { instance_name: name }, { key }));
  const answers = await Promise.all(attempts);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409]);
  const winner = answers.find(({ status }) => status === 200);
  assert.equal(await nameOf(id), winner?.json.name);
  assert.equal(await countUpdates(id), 1);
});

test("[instance.update.unknown] updating an unknown instance returns 404", async () => {
  const answer = await update(randomUUID(), { instance_name: "after" });
  assertRefused(answer, 404, "not_found");
});

test("[instance.update.unknown] [instance.update.replay.deleted] a new or replayed update of a deleted instance returns 404 and restores nothing", async () => {
  const id = await provision();
  const key = server.freshKey();
  await update(id, { instance_name: "after" }, { key });
  await server.call("DELETE", `/v1/instances/${id}`, { token: provisioner });
  const replayed = await update(id, { instance_name: "after" }, { key });
  assertRefused(replayed, 404, "not_found");
  const other = await update(id, { instance_name: "other" }, { key });
  assertRefused(other, 404, "not_found");
  assertRefused(await update(id, { instance_name: "new" }), 404, "not_found");
  const read = await server.call<ErrorResponse>("GET", `/v1/instances/${id}`, {
    token: provisioner,
  });
  assertRefused(read, 404, "not_found");
});
