import assert from "node:assert/strict";
import { test } from "node:test";
import { revokeToken } from "../src/index.ts";
import { issueToken } from "./support/credentials.ts";
import { assertRefused } from "./support/envelope.ts";
import { ManualClock } from "./support/manual-clock.ts";
import { callOperation, type Stage, setStage } from "./support/operation-calls.ts";
import { hideTables } from "./support/store-faults.ts";
import { startTestProvider, type TestProvider } from "./support/test-provider.ts";

interface Entry {
  readonly kind: string;
  readonly actor: string;
  readonly subject: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

async function entries(server: TestProvider): Promise<readonly Entry[]> {
  const rows = await server.provider.context.store.all(
    "select kind, actor, subject, detail from audit_entry",
  );
  return rows.map(({ kind, actor, subject, detail }) => ({
    kind: String(kind),
    actor: String(actor),
    subject: String(subject),
    detail: JSON.parse(String(detail)) as Entry["detail"],
  }));
}

/** The entries of one subject, as `kind by actor`. */
async function historyOf(server: TestProvider, subject: string): Promise<string[]> {
  const own = (await entries(server)).filter((entry) => entry.subject === subject);
  return own.map(({ kind, actor }) => `${kind} by ${actor.split(":", 1)}`).sort();
}

test("[ours.audit.every-transition] an instance is provisioned, updated and deleted with an entry each", async (t) => {
  const server = await startTestProvider(t);
  const stage = await setStage(server);
  await callOperation(server, "updateInstance", stage);
  await callOperation(server, "deleteInstance", stage);
  await callOperation(server, "deleteInstance", stage);
  assert.deepEqual(await historyOf(server, `instance:${stage.instanceId}`), [
    "instance.deleted by provisioner",
    "instance.provisioned by provisioner",
    "instance.updated by provisioner",
  ]);
});

test("[ours.audit.every-transition] a replay leaves no entry", async (t) => {
  const server = await startTestProvider(t);
  const stage = await setStage(server);
  for (const operation of ["updateInstance", "createApprovalRequest"] as const) {
    const first = await callOperation(server, operation, stage, { key: "the key" });
    assert.ok(first.status < 300, first.text);
    const before = (await entries(server)).length;
    const replayed = await callOperation(server, operation, stage, { key: "the key" });
    assert.equal(replayed.text, first.text);
    assert.equal((await entries(server)).length, before, operation);
  }
});

test("[ours.audit.every-transition] a token is issued to its holder and revoked with an entry each", async (t) => {
  const server = await startTestProvider(t);
  for (const kind of ["provisioner", "reviewer"] as const) {
    const { id } = await issueToken(server, { kind });
    await revokeToken(server.provider.context, id);
    await revokeToken(server.provider.context, id);
    assert.deepEqual(await historyOf(server, `credential:${id}`), [
      "credential.issued by operator",
      "credential.revoked by operator",
    ]);
    const issued = (await entries(server)).find(({ subject }) => subject === `credential:${id}`);
    const holder = String(issued?.detail.holder_id);
    const history = await historyOf(server, `${kind}:${holder}`);
    assert.deepEqual(history, [`${kind}.created by operator`]);
  }
});

/** Every way in which a pending request ends, with the actor it is recorded under. */
const ENDINGS: Readonly<
  Record<string, (server: TestProvider, stage: Stage, clock: ManualClock) => Promise<unknown>>
> = {
  async "approved by reviewer"(server, { requestId }) {
    await server.decide(await server.token({ kind: "reviewer" }), requestId, "approve");
  },
  async "denied by reviewer"(server, { requestId }) {
    await server.decide(await server.token({ kind: "reviewer" }), requestId, "deny");
  },
  async "cancelled by instance"(server, stage) {
    await callOperation(server, "cancelApprovalRequest", stage);
  },
  async "cancelled by system"(server, stage) {
    await callOperation(server, "deleteInstance", stage);
  },
  async "expired by system"(server, stage, clock) {
    clock.set(clock.now() + 3_600_000);
    await callOperation(server, "getApprovalRequest", stage);
  },
};

for (const [ending, end] of Object.entries(ENDINGS)) {
  test(`[ours.audit.every-transition] a request is opened and ${ending} with an entry each`, async (t) => {
    const clock = new ManualClock();
    const server = await startTestProvider(t, { clock });
    const stage = await setStage(server);
    const subject = `request:${stage.requestId}`;
    await end(server, stage, clock);
    const own = (await entries(server)).filter((entry) => entry.subject === subject);
    const [opened, resolved, ...more] = own.toSorted((a, b) => a.kind.localeCompare(b.kind));
    assert.deepEqual(more, []);
    assert.equal(opened?.kind, "request.opened");
    assert.equal(opened?.actor, `instance:${stage.instanceId}`);
    assert.equal(resolved?.kind, "request.resolved");
    assert.equal(`${resolved?.detail.status} by ${resolved?.actor.split(":", 1)}`, ending);
  });
}

test("[ours.audit.every-transition] an entry holds no secret and no arguments", async (t) => {
  const server = await startTestProvider(t);
  const stage = await setStage(server);
  await server.submit(stage.credential, { arguments: { password: "hunter2" } });
  const everything = JSON.stringify(await entries(server));
  for (const secret of ["hunter2", stage.provisioner, stage.credential]) {
    assert.ok(!everything.includes(secret));
  }
});

test("[ours.audit.every-transition] an operation fails and changes nothing when its audit entry cannot be written", async (t) => {
  const server = await startTestProvider(t);
  const stage = await setStage(server);
  const reviewer = await server.token({ kind: "reviewer" });
  const showTables = await hideTables(server, "audit_entry");
  const key = { key: "the key" };
  for (const operation of [
    "provisionInstance",
    "updateInstance",
    "createApprovalRequest",
    "cancelApprovalRequest",
    "deleteInstance",
  ] as const) {
    assertRefused(await callOperation(server, operation, stage, key), 500, "internal");
  }
  assertRefused(await server.decide(reviewer, stage.requestId, "approve"), 500, "internal");
  await showTables();
  const read = await callOperation<{ name: string }>(server, "getInstance", stage);
  assert.notEqual(read.json.name, "renamed");
  assert.equal((await server.read(stage.credential, stage.requestId)).status, "pending");
  for (const operation of ["provisionInstance", "createApprovalRequest"] as const) {
    assert.equal((await callOperation(server, operation, stage, key)).status, 201);
  }
});
