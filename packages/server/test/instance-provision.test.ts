import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type ErrorResponse,
  IDEMPOTENCY_KEY_CHARS_MAX,
  type Instance,
  type ProvisionInstanceResponse,
} from "@countersign/protocol";
import { assertRefused, UUID } from "./support/envelope.ts";
import { type Answer, type Call, startTestProvider } from "./support/test-provider.ts";

const server = await startTestProvider({ after });
const provisioner = await server.token({ kind: "provisioner" });

type Provisioned = ProvisionInstanceResponse & ErrorResponse;

function provision(call: Call = {}): Promise<Answer<Provisioned>> {
  return server.call("POST", "/v1/instances", {
    token: provisioner,
    key: server.freshKey(),
    body: {},
    ...call,
  });
}

function read(id: string): Promise<Answer<Instance & ErrorResponse>> {
  return server.call("GET", `/v1/instances/${id}`, { token: provisioner });
}

async function countInstances(): Promise<number> {
  const row = await server.provider.context.store.get("select count(*) as n from instance");
  return Number(row?.n);
}

test("[instance.provision.created] a new provisioning returns 201 with an active instance and a working credential", async () => {
  const { status, json } = await provision();
  assert.equal(status, 201);
  assert.equal((await read(json.instance.id)).status, 200);
  const request = await server.submit(json.credential.token);
  assert.equal(request.status, "pending");
});

test("[instance.provision.shape] [instance.shape] [credential.shape] it returns the instance and its credential and nothing else", async () => {
  const { json } = await provision();
  assert.deepEqual(Object.keys(json).sort(), ["credential", "instance"]);
  assert.deepEqual(Object.keys(json.instance).sort(), ["id", "name"]);
  assert.match(json.instance.id, UUID);
  assert.match(json.instance.name, /./);
  // No expiry is scheduled, so there is no expires_at.
  assert.deepEqual(Object.keys(json.credential), ["token"]);
  assert.match(json.credential.token, /./);
});

test("[instance.shape] a read instance has an id, a name and no delivery", async () => {
  const { json } = await provision({ body: { instance_name: "shaped" } });
  const { id } = json.instance;
  assert.deepEqual((await read(id)).json, { id, name: "shaped" });
});

test("[instance.provision.empty-object] [instance.name.assigned] an empty object provisions an instance with an assigned name", async () => {
  const { status, json } = await provision({ body: {} });
  assert.equal(status, 201);
  assert.match(json.instance.name, /./);
});

test("[ours.instance.name.readable] an assigned name is two words and four characters, readable aloud", async () => {
  const names = new Set<string>();
  for (let i = 0; i < 20; i++) {
    const { json } = await provision();
    assert.match(json.instance.name, /^[a-z]{3,8}-[a-z]{3,8}-[2-9a-km-np-z]{4}$/);
    names.add(json.instance.name);
  }
  assert.equal(names.size, 20);
});

test("[instance.provision.body-object] a missing body returns 400", async () => {
  const answer = await server.call("POST", "/v1/instances", {
    token: provisioner,
    key: server.freshKey(),
  });
  assert.equal(answer.status, 400);
  assertRefused(await provision({ body: "" }), 400, "invalid_json", "body");
});

test("[instance.provision.body-object] a body that is not an object returns 400", async () => {
  for (const body of ["null", "[]", '"name"', "1", "true"]) {
    assertRefused(await provision({ body }), 400, "invalid_request", "body");
  }
});

const NAMES = [
  "a",
  "billing-agent",
  " ",
  "😀",
  'quote " and \\ slash',
  "line\nbreak",
  "\u0000",
  "x".repeat(10_000),
];

test("[instance.provision.name] any string of at least one character becomes the name", async () => {
  for (const name of NAMES) {
    const { status, json } = await provision({ body: { instance_name: name } });
    assert.equal(status, 201);
    assert.equal(json.instance.name, name);
    assert.equal((await read(json.instance.id)).json.name, name);
  }
});

test("[instance.provision.name] a name need not be unique", async () => {
  const first = await provision({ body: { instance_name: "twin" } });
  const second = await provision({ body: { instance_name: "twin" } });
  assert.equal(second.status, 201);
  assert.notEqual(first.json.instance.id, second.json.instance.id);
});

test("[instance.provision.name] a name that is empty, null or not a string returns 400 and names instance_name", async () => {
  for (const name of ["", null, 7, true, [], ["a"], {}]) {
    const answer = await provision({ body: { instance_name: name } });
    assertRefused(answer, 400, "invalid_request", "instance_name");
  }
});

test("[instance.provision.additional-properties] an unknown property returns 400 and names it", async () => {
  for (const property of ["name", "id", "Instance_name", "credential", "__proto__"]) {
    const body = `{"instance_name":"a",${JSON.stringify(property)}:"x"}`;
    assertRefused(await provision({ body }), 400, "invalid_request", property);
  }
});

test("[instance.provision.delivery-null] a null delivery returns 400", async () => {
  const answer = await provision({ body: { delivery: null } });
  assertRefused(answer, 400, "invalid_request", "delivery");
});

test("[instance.provision.key-required] a missing or empty Idempotency-Key returns 400", async () => {
  const count = await countInstances();
  const without = await server.call("POST", "/v1/instances", { token: provisioner, body: {} });
  assertRefused(without, 400, "invalid_request", "Idempotency-Key");
  assertRefused(await provision({ key: "" }), 400, "invalid_request", "Idempotency-Key");
  assert.equal(await countInstances(), count);
});

test("[limit.key.one-character] [ours.limit.key-length] a key may have one character and no more than the limit", async () => {
  const call = (key: string) => provision({ key });
  assert.equal((await call("k")).status, 201);
  assert.equal((await call("k")).status, 200);
  assert.equal((await call("k".repeat(IDEMPOTENCY_KEY_CHARS_MAX))).status, 201);
  const answer = await call("k".repeat(IDEMPOTENCY_KEY_CHARS_MAX + 1));
  assertRefused(answer, 400, "invalid_request", "Idempotency-Key");
});

test("[auth.instance.not-instances] an instance credential cannot provision", async () => {
  const { json } = await provision();
  const count = await countInstances();
  const answer = await provision({ token: json.credential.token });
  assertRefused(answer, 403, "wrong_credential_kind");
  assert.equal(await countInstances(), count);
});

test("[instance.provision.replay] [instance.provision.replay.not-renewed] the same key and input return the original with 200 and create nothing", async () => {
  const key = server.freshKey();
  const first = await provision({ key });
  const count = await countInstances();
  for (let i = 0; i < 3; i++) {
    const again = await provision({ key });
    assert.equal(again.status, 200);
    assert.deepEqual(again.json, first.json);
  }
  assert.equal(await countInstances(), count);
  await server.submit(first.json.credential.token);
});

test("[instance.provision.replay] a replay returns the original name, also after a renaming", async () => {
  const key = server.freshKey();
  const first = await provision({ key, body: { instance_name: "original" } });
  const { id } = first.json.instance;
  const rename = { token: provisioner, key: server.freshKey(), body: { instance_name: "later" } };
  await server.call("PATCH", `/v1/instances/${id}`, rename);
  const again = await provision({ key, body: { instance_name: "original" } });
  assert.equal(again.status, 200);
  assert.deepEqual(again.json, first.json);
  assert.equal((await read(id)).json.name, "later");
});

test("[instance.provision.replay] white space and escapes do not make it another input", async () => {
  const key = server.freshKey();
  const first = await provision({ key, body: '{"instance_name":"Zoë"}' });
  const again = await provision({ key, body: '{ "instance_name" :\n"Zo\\u00eb" }' });
  assert.equal(again.status, 200);
  assert.deepEqual(again.json, first.json);
});

test("[instance.provision.conflict] the same key with other input returns 409 and creates nothing", async () => {
  const key = server.freshKey();
  await provision({ key, body: { instance_name: "one" } });
  const count = await countInstances();
  for (const body of [{ instance_name: "two" }, { instance_name: "One" }, {}]) {
    assertRefused(await provision({ key, body }), 409, "idempotency_conflict");
  }
  assert.equal(await countInstances(), count);
});

test("[instance.provision.conflict] a name after none is other input too", async () => {
  const key = server.freshKey();
  const { json } = await provision({ key });
  const named = await provision({ key, body: { instance_name: json.instance.name } });
  assertRefused(named, 409, "idempotency_conflict");
});

test("[instance.provision.key-scope] the same key of another provisioner is another key", async () => {
  const key = server.freshKey();
  const other = await server.token({ kind: "provisioner", name: "other" });
  const first = await provision({ key, body: { instance_name: "one" } });
  const second = await provision({ key, token: other, body: { instance_name: "two" } });
  assert.equal(second.status, 201);
  assert.notEqual(second.json.instance.id, first.json.instance.id);
  assert.notEqual(second.json.credential.token, first.json.credential.token);
});

test("[instance.provision.key-scope] the same key in an update is another key", async () => {
  const key = server.freshKey();
  const { json } = await provision({ key });
  const path = `/v1/instances/${json.instance.id}`;
  const update = await server.call("PATCH", path, {
    token: provisioner,
    key,
    body: { instance_name: "updated" },
  });
  assert.equal(update.status, 200);
  assert.equal((await provision({ key })).status, 200);
});

test("[instance.provision.concurrent] concurrent provisionings with one key commit one instance", async () => {
  const count = await countInstances();
  const key = server.freshKey();
  const answers = await Promise.all(Array.from({ length: 20 }, () => provision({ key })));
  const statuses = answers.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [...Array<number>(19).fill(200), 201]);
  for (const { json } of answers) assert.deepEqual(json, answers[0]?.json);
  assert.equal(await countInstances(), count + 1);
});

test("[instance.provision.concurrent] of concurrent other inputs with one key one wins and the others conflict", async () => {
  const count = await countInstances();
  const key = server.freshKey();
  const attempts = ["a", "b", "c", "d"].map((name) =>
    provision({ key, body: { instance_name: name } }),
  );
  const statuses = (await Promise.all(attempts)).map(({ status }) => status).sort();
  assert.deepEqual(statuses, [201, 409, 409, 409]);
  assert.equal(await countInstances(), count + 1);
});

test("[instance.provision.replay.deleted] a replay after the deletion returns 409 instance_deleted and recreates nothing", async () => {
  const key = server.freshKey();
  const { json } = await provision({ key });
  const { id } = json.instance;
  await server.call("DELETE", `/v1/instances/${id}`, { token: provisioner });
  const count = await countInstances();
  for (let i = 0; i < 2; i++) {
    assertRefused(await provision({ key }), 409, "instance_deleted");
  }
  assert.equal(await countInstances(), count);
  assertRefused(await read(id), 404, "not_found");
  const use = await server.call("GET", `/v1/requests/${id}`, { token: json.credential.token });
  assertRefused(use, 401, "invalid_credential");
});

test("[instance.provision.conflict] other input after the deletion still conflicts", async () => {
  const key = server.freshKey();
  const { json } = await provision({ key });
  await server.call("DELETE", `/v1/instances/${json.instance.id}`, { token: provisioner });
  const answer = await provision({ key, body: { instance_name: "other" } });
  assertRefused(answer, 409, "idempotency_conflict");
});
