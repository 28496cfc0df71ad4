import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, test } from "node:test";
import { onlyOn } from "./support/engine.ts";
import { assertRefused } from "./support/envelope.ts";
import {
  auditOf,
  cancel,
  countRequests,
  end,
  startScene,
  storedStatus,
  submitBody,
  TERMINAL,
  untilStored,
} from "./support/scene.ts";
import { hideTables } from "./support/store-faults.ts";
import { SUBMISSION } from "./support/test-provider.ts";
import { turns } from "./support/until.ts";

const scene = await startScene({ after });
const { server, clock, instance, reviewer } = scene;

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

async function auditCount(): Promise<number> {
  const row = await server.provider.context.store.get("select count(*) as n from audit_entry");
  return Number(row?.n);
}

test("[ours.audit.every-transition] [ours.audit.bound] opening a request has an entry with time, actor and arguments digest", async () => {
  const request = await server.submit(instance.token);
  const rows = await auditOf(scene, `request:${request.id}`);
  assert.equal(rows.length, 1);
  const [row] = rows;
  assert.equal(row?.kind, "request.opened");
  assert.equal(row?.actor, `instance:${instance.id}`);
  assert.equal(row?.at, Date.parse(request.created_at));
  assert.deepEqual(row?.detail, {
    tool_sha256: sha256('"deploy"'),
    arguments_sha256: sha256('{"env":"prod"}'),
    deadline_at: Date.parse(request.deadline_at),
    because: "no-policy",
  });
});

test("[ours.audit.every-transition] [ours.audit.bound] every outcome has an entry with the time, the actor, the method and the arguments", async () => {
  for (const status of TERMINAL) {
    const request = await server.submit(instance.token);
    clock.advance(10);
    const { decision } = await end(scene, request, status);
    const [opened, resolved, ...more] = await auditOf(scene, `request:${request.id}`);
    assert.deepEqual(more, []);
    assert.equal(resolved?.kind, "request.resolved");
    assert.equal(resolved?.at, Date.parse(decision?.decided_at ?? ""));
    assert.equal(resolved?.detail.status, status);
    for (const bound of ["tool_sha256", "arguments_sha256", "deadline_at"]) {
      assert.equal(resolved?.detail[bound], opened?.detail[bound]);
    }

    assert.equal(resolved?.detail.note_sha256, null);
    const expiry = decision?.expires_at === undefined ? null : Date.parse(decision.expires_at);
    assert.equal(resolved?.detail.expires_at, expiry);
    const actors = {
      approved: /^reviewer:/,
      denied: /^reviewer:/,
      expired: /^system:deadline$/,
      cancelled: /^instance:/,
    };
    assert.match(resolved?.actor ?? "", actors[status]);
  }
});

test("[ours.audit.every-transition] the life of an instance has its rows, with each request that its deletion ends", async () => {
  const own = await server.instance();
  const subject = `instance:${own.id}`;
  const path = `/v1/instances/${own.id}`;
  const call = { token: own.provisioner, key: server.freshKey(), body: { instance_name: "new" } };
  assert.equal((await server.call("PATCH", path, call)).status, 200);
  const ids = [(await server.submit(own.token)).id, (await server.submit(own.token)).id];
  assert.equal((await server.call("DELETE", path, { token: own.provisioner })).status, 204);

  const rows = await auditOf(scene, subject);
  const kinds = rows.map(({ kind }) => kind);
  assert.deepEqual(kinds, ["instance.provisioned", "instance.updated", "instance.deleted"]);
  for (const { actor } of rows) assert.match(actor, /^provisioner:/);
  assert.deepEqual(rows[2]?.detail, { credentials_revoked: 1 });
  for (const id of ids) {
    const [, resolved] = await auditOf(scene, `request:${id}`);
    assert.equal(resolved?.actor, "system:instance-deletion");
    assert.equal(resolved?.detail.status, "cancelled");
  }
});

test("[ours.audit.every-transition] reads, replays, repetitions and refusals have none", async () => {
  const key = server.freshKey();
  const { json } = await submitBody(server, instance.token, SUBMISSION, key);
  await cancel(server, instance.token, json.id);
  const before = await auditCount();
  await submitBody(server, instance.token, SUBMISSION, key);
  await submitBody(server, instance.token, { ...SUBMISSION, tool: "x" }, key);
  await submitBody(server, instance.token, "{");
  await server.read(instance.token, json.id, "?wait=1s");
  await cancel(server, instance.token, json.id);
  await server.decide(reviewer, json.id, "approve");
  await server.decide(reviewer, json.id, "approve", { arguments_sha256: "0".repeat(64) });
  await server.call("GET", "/review/v1/requests", { token: reviewer });
  await server.call("GET", `/v1/instances/${instance.id}`, { token: instance.provisioner });
  assert.equal(await auditCount(), before);
});

test("[ours.audit.every-transition] without its row no request is opened and none ends", async () => {
  const request = await server.submit(instance.token, { timeout: "10s" });
  const restore = await hideTables(server, "audit_entry");
  const before = await countRequests(scene);
  assertRefused(await submitBody(server, instance.token, SUBMISSION), 500, "internal");
  assertRefused(await cancel(server, instance.token, request.id), 500, "internal");
  assertRefused(await server.decide(reviewer, request.id, "approve"), 500, "internal");
  assertRefused(await server.decide(reviewer, request.id, "deny"), 500, "internal");
  const path = `/v1/instances/${instance.id}`;
  const deletion = await server.call("DELETE", path, { token: instance.provisioner });
  assertRefused(deletion, 500, "internal");
  clock.advance(9_999);
  assert.deepEqual(await server.read(instance.token, request.id), request);
  clock.advance(1);
  await turns();
  const late = await server.call("GET", `/v1/requests/${request.id}`, { token: instance.token });
  assertRefused(late, 500, "internal");
  assert.equal(await storedStatus(scene, request.id), "pending");
  assert.equal(await countRequests(scene), before);

  await restore();
  clock.advance(1_000);
  await untilStored(scene, request.id, "expired");
  const kinds = (await auditOf(scene, `request:${request.id}`)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["request.opened", "request.resolved"]);
  assert.equal((await submitBody(server, instance.token, SUBMISSION)).status, 201);
});

const TRIGGER = onlyOn("sqlite", "the transaction is made to fail with its own triggers");

test(
  "[ours.audit.every-transition] one that fails takes no neighbour of its commit with it",
  TRIGGER,
  async () => {
    const requests = await Promise.all(
      Array.from({ length: 12 }, () => server.submit(instance.token)),
    );
    const { store } = server.provider.context;
    const doomed = requests[5]?.id ?? "";
    await store.transact((tx) =>
      tx.run(`create trigger refuse before insert on audit_entry
      when new.subject = 'request:${doomed}' begin select raise(abort, 'refused'); end`),
    );
    const answers = await Promise.all(requests.map(({ id }) => cancel(server, instance.token, id)));
    await store.transact((tx) => tx.run("drop trigger refuse"));
    for (const [i, { id }] of requests.entries()) {
      const failed = id === doomed;
      assert.equal(answers[i]?.status, failed ? 500 : 200);
      assert.equal(await storedStatus(scene, id), failed ? "pending" : "cancelled");
      assert.equal((await auditOf(scene, `request:${id}`)).length, failed ? 1 : 2);
    }
  },
);

test("[ours.audit.every-transition] rows hold no arguments, reasoning, notes, keys or tokens", async () => {
  const secrets = [
    "s3cr3t-argument",
    "s3cr3t-reason",
    "s3cr3t-context",
    "s3cr3t-note",
    "s3cr3t-key",
  ];
  const [argument, agent_reasoning, context, note, key] = secrets;
  const body = { ...SUBMISSION, arguments: { argument }, agent_reasoning, context: { context } };
  const { json } = await submitBody(server, instance.token, body, key);
  await server.decide(reviewer, json.id, "deny", { note });
  const rows = await server.provider.context.store.all("select * from audit_entry");
  const text = JSON.stringify(rows);
  for (const secret of [...secrets, instance.token, instance.provisioner, reviewer]) {
    assert.equal(text.includes(secret), false);
  }
});
