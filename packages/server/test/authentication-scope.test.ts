import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Instance, ProvisionInstanceResponse } from "@countersign/protocol";
import { revokeToken } from "../src/index.ts";
import { issueToken } from "./support/credentials.ts";
import { onlyOn } from "./support/engine.ts";
import { assertRefused } from "./support/envelope.ts";
import { callOperation, ID_OPERATIONS, setStage } from "./support/operation-calls.ts";
import {
  type Answer,
  type ReviewedRequest,
  SUBMISSION,
  startTestProvider,
} from "./support/test-provider.ts";

const server = await startTestProvider({ after });

const own = await setStage(server);
/** Of the same project, of another provisioner and instance. */
const neighbour = await setStage(server, "default", "neighbour");
const foreign = await setStage(server, "elsewhere");

const INSTANCE_ID_OPERATIONS = ["getInstance", "updateInstance", "deleteInstance"] as const;
const REQUEST_ID_OPERATIONS = ["getApprovalRequest", "cancelApprovalRequest"] as const;

test("[auth.provisioner.scope] [ours.provisioner.project] every operation on an instance of another project returns 404", async () => {
  for (const operation of INSTANCE_ID_OPERATIONS) {
    const answer = await callOperation(server, operation, own, { id: foreign.instanceId });
    assertRefused(answer, 404, "not_found");
  }
  const untouched = await callOperation<Instance>(server, "getInstance", foreign);
  assert.equal(untouched.status, 200);
  assert.notEqual(untouched.json.name, "renamed");
});

test("[auth.provisioner.scope] deleting a deleted instance of another project returns 404", async () => {
  const gone = await setStage(server, "elsewhere");
  await callOperation(server, "deleteInstance", gone);
  const answer = await callOperation(server, "deleteInstance", own, { id: gone.instanceId });
  assertRefused(answer, 404, "not_found");
});

test("[auth.provisioner.scope] a provisioner of the same name in another project shares neither key nor instance", async () => {
  const [one, two] = await Promise.all(
    ["first", "second"].map((project) => server.token({ kind: "provisioner", project })),
  );
  const provision = (token = "") => {
    const call = { token, key: "the key", body: {} };
    return server.call<ProvisionInstanceResponse>("POST", "/v1/instances", call);
  };
  const first = await provision(one);
  const second = await provision(two);
  assert.equal(second.status, 201);
  assert.notEqual(second.json.instance.id, first.json.instance.id);
});

test("[ours.provisioner.project] a provisioner reads, updates and deletes what others of its project provisioned", async () => {
  const theirs = await setStage(server, "default", "somebody else");
  const id = theirs.instanceId;
  const read = await callOperation<Instance>(server, "getInstance", own, { id });
  assert.equal(read.json.id, id);
  const renamed = await callOperation<Instance>(server, "updateInstance", own, { id });
  assert.deepEqual(renamed.json, { id, name: "renamed" });
  assert.equal((await callOperation(server, "deleteInstance", own, { id })).status, 204);
  assertRefused(await callOperation(server, "getInstance", theirs), 404, "not_found");
});

for (const [whose, other] of Object.entries({ neighbour, foreign })) {
  test(`[auth.instance.own-requests] a request of a ${whose} instance returns 404`, async () => {
    for (const operation of REQUEST_ID_OPERATIONS) {
      const answer = await callOperation(server, operation, own, { id: other.requestId });
      assertRefused(answer, 404, "not_found");
    }
    assert.equal((await server.read(other.credential, other.requestId)).status, "pending");
  });
}

test("[auth.instance.own-requests] a wait on another instance's request returns 404 at once", async () => {
  const path = `/v1/requests/${neighbour.requestId}?wait=30s`;
  const answer = await server.call("GET", path, { token: own.credential });
  assertRefused(answer, 404, "not_found");
});

test("[auth.instance.identity] the instance of a request comes from the credential that submitted it", async () => {
  const key = "one key of two instances";
  const submit = async (token: string): Promise<string> => {
    const call = { token, key, body: { ...SUBMISSION, context: { instance_id: own.instanceId } } };
    const answer = await server.call<{ id: string }>("POST", "/v1/requests", call);
    assert.equal(answer.status, 201);
    return answer.json.id;
  };
  const reviewer = await server.token({ kind: "reviewer" });
  for (const { credential, instanceId } of [own, neighbour]) {
    const path = `/review/v1/requests/${await submit(credential)}`;
    const shown = await server.call<ReviewedRequest>("GET", path, { token: reviewer });
    assert.equal(shown.json.instance.id, instanceId);
  }
});

/** An answer without what is its own by right: the id of the exchange and its time. */
function comparable({ status, headers, text }: Answer): object {
  const { "x-request-id": id = "", date: _, ...rest } = Object.fromEntries(headers);
  return { status, headers: rest, text: text.replace(id, "") };
}

for (const operation of ID_OPERATIONS) {
  test(`[ours.auth.equal-answers] ${operation} answers unknown and foreign ids alike`, async () => {
    const isInstance = INSTANCE_ID_OPERATIONS.some((name) => name === operation);
    const idOf = (other: typeof own) => (isInstance ? other.instanceId : other.requestId);
    const unknown = await callOperation(server, operation, own, { id: randomUUID() });
    assertRefused(unknown, 404, "not_found");
    const ids = [idOf(foreign), "no-identifier"];
    if (!isInstance) ids.push(idOf(neighbour));
    for (const id of ids) {
      const answer = await callOperation(server, operation, own, { id });
      assert.deepEqual(comparable(answer), comparable(unknown));
    }
  });
}

test("[ours.provisioner.shared-keys] a rotated token replays what the old one sent, also once that is revoked", async () => {
  const holder = { kind: "provisioner", name: "rotating" } as const;
  const [old, rotated] = [await issueToken(server, holder), await issueToken(server, holder)];
  const provision = ({ token }: { token: string }, name: string) => {
    const call = { token, key: "rotating key", body: { instance_name: name } };
    return server.call<ProvisionInstanceResponse>("POST", "/v1/instances", call);
  };
  const first = await provision(old, "a");
  assert.equal(first.status, 201);
  const replayed = await provision(rotated, "a");
  assert.equal(replayed.status, 200);
  assert.deepEqual(replayed.json, first.json);
  assertRefused(await provision(rotated, "b"), 409, "idempotency_conflict");

  await revokeToken(server.provider.context, old.id);
  assertRefused(await provision(old, "a"), 401, "invalid_credential");
  const again = await provision(rotated, "a");
  assert.equal(again.status, 200);
  assert.deepEqual(again.json, first.json);
});

test("[ours.provisioner.shared-keys] [ours.provisioner.project] a rotated token replays updates and reaches the same instances", async () => {
  const { provisioner, instanceId } = await setStage(server, "default", "rotating again");
  const rotated = await server.token({ kind: "provisioner", name: "rotating again" });
  const path = `/v1/instances/${instanceId}`;
  const update = (token: string, name: string) =>
    server.call<Instance>("PATCH", path, { token, key: "k", body: { instance_name: name } });
  await update(provisioner, "first");
  assert.equal((await update(rotated, "first")).status, 200);
  assertRefused(await update(rotated, "second"), 409, "idempotency_conflict");
  const read = await server.call<Instance>("GET", path, { token: rotated });
  assert.equal(read.json.name, "first");
});

const FILES = onlyOn("sqlite", "it reads the files of the data folder");

test(
  "[ours.auth.stored-hashed] a stored token cannot be read back from the store",
  FILES,
  async () => {
    const reviewer = await server.token({ kind: "reviewer" });
    const tokens = [own.provisioner, own.credential, reviewer];
    const files = readdirSync(server.data).filter((name) => name !== "server.lock");
    assert.ok(files.includes("countersign.db"));
    const bytes = Buffer.concat(files.map((name) => readFileSync(join(server.data, name))));
    // The search works: the files contain the name of the instance in clear text.
    const { json } = await callOperation<Instance>(server, "getInstance", own);
    assert.ok(bytes.includes(json.name));
    for (const token of tokens) {
      const secret = token.replace(/^cs_[a-z]+_/, "");
      assert.ok(!bytes.includes(secret));
      assert.ok(!bytes.includes(Buffer.from(secret).toString("base64url")));
      assert.ok(!bytes.includes(Buffer.from(secret).toString("hex")));
    }
  },
);
