/** What `audit verify` reports about requests: their approvals, and their rows. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { appendAudit } from "../src/audit/append-audit.ts";
import { sha256Hex } from "../src/secrets/keyring.ts";
import { readRequest, updateDecision } from "../src/storage/sql/requests.ts";
import {
  assertVerified,
  projectId,
  storeOf,
  untilSealed,
  verifyAll,
} from "./support/audit-logs.ts";
import { approve, newSigner } from "./support/passkeys.ts";
import { callAs } from "./support/people.ts";
import { enforce, policyOf } from "./support/policies.ts";
import { auditOf, type Scene, startScene } from "./support/scene.ts";

const HOUR = 3_600_000;

function policyAsking(ask: string): string {
  return policyOf(`{ id: all, match: { tool: "*" }, then: ask, ask: ${ask} }`);
}

async function reviewerOf(scene: Scene, { login }: { readonly login: string }): Promise<string> {
  const row = await storeOf(scene).get("select id from reviewer where name = $1", [login]);
  return String(row?.id);
}

/** Approves as the storage functions would, with the keys of the server and without its checks. */
async function makeUp(
  scene: Scene,
  id: string,
  actor: `${"reviewer" | "grant" | "policy"}:${string}`,
) {
  const { random } = scene.server.provider.context;
  const project = await projectId(storeOf(scene));
  const at = scene.clock.now();
  await storeOf(scene).transact(async (tx) => {
    const request = await readRequest(tx, { projectId: project, id });
    assert.ok(request);
    const decision = { status: "approved", note: null, decidedBy: actor } as const;
    const expiresAt = at + HOUR;
    await updateDecision(tx, request, { ...decision, decidedAt: at, expiresAt });
    await appendAudit(tx, random, {
      at,
      projectId: project,
      kind: "request.resolved",
      actor,
      subject: `request:${id}`,
      detail: {
        status: "approved",
        tool_sha256: sha256Hex(request.tool),
        arguments_sha256: sha256Hex(request.arguments),
        deadline_at: request.deadlineAt,
        expires_at: expiresAt,
        note_sha256: null,
      },
    });
  });
}

test("[ours.audit.requirement] request.opened records the requirement of the rule, and nothing where policy did not ask", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const requirementOf = async (id: string) =>
    (await auditOf(scene, `request:${id}`))[0]?.detail.requirement;
  assert.equal(await requirementOf((await server.submit(instance.token)).id), undefined);
  const ask =
    "{ from: [group:dba], quorum: 2, confirm: passkey, exclude: [owner], note: required }";
  await enforce(server, policyAsking(ask));
  assert.deepEqual(await requirementOf((await server.submit(instance.token)).id), {
    confirm: "passkey",
    quorum: 2,
    from: [["group:dba"]],
    exclude_owner: true,
    note: true,
    grants: true,
    bots: false,
  });
  await enforce(server, policyAsking("{ confirm: type(tool) }"));
  const { id, tool } = await server.submit(instance.token);
  const typed = JSON.stringify(await requirementOf(id));
  assert.match(typed, /"confirm":"type"/);
  assert.equal(typed.includes(tool), false);
});

test("[ours.audit.requirement] audit verify names an approval that lacks the passkey of its requirement, and passes one that has it", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  await enforce(server, policyAsking("{ confirm: passkey }"));
  const ana = await newSigner(server, { login: "ana@example.com" });
  const signed = await server.submit(instance.token);
  assert.equal((await approve(server, ana, signed.id)).status, 200);
  await untilSealed(scene);
  await assertVerified(scene);
  const { id } = await server.submit(instance.token);
  await makeUp(scene, id, `reviewer:${await reviewerOf(scene, ana)}`);
  await untilSealed(scene);
  assert.equal((await server.read(instance.token, id)).status, "approved");
  const { fault, kind, message } = (await verifyAll(scene)).finding ?? {};
  assert.deepEqual([fault, kind], ["entry", "request.resolved"]);
  assert.match(message ?? "", /^passkey: its request required a passkey, and reviewer:\S+ gave no/);
});

test("[ours.audit.requirement] audit verify counts the signed votes of a quorum, without withdrawn ones", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  await enforce(server, policyAsking("{ confirm: passkey, quorum: 2 }"));
  const ana = await newSigner(server, { login: "ana@example.com" });
  const ben = await newSigner(server, { login: "ben@example.com" });
  const [whole, half] = [await server.submit(instance.token), await server.submit(instance.token)];
  for (const person of [ana, ben]) {
    assert.equal((await approve(server, person, whole.id)).status, 200);
  }
  assert.equal((await server.read(instance.token, whole.id)).status, "approved");
  await untilSealed(scene);
  await assertVerified(scene);
  for (const person of [ana, ben]) {
    assert.equal((await approve(server, person, half.id)).status, 200);
    scene.clock.advance(1);
    if (person === ana) {
      const { status } = await callAs(server, ana, "DELETE", `/requests/${half.id}/vote`);
      assert.equal(status, 200);
    }
  }
  await makeUp(scene, half.id, `reviewer:${await reviewerOf(scene, ben)}`);
  await untilSealed(scene);
  const { fault, message } = (await verifyAll(scene)).finding ?? {};
  assert.equal(fault, "entry");
  assert.equal(
    message,
    "quorum: its request required 2 approvals with a passkey, and the log has 1",
  );
});

test("[ours.audit.requirement] audit verify names a grant or a rule that approved a request whose requirement excludes it", async (t) => {
  for (const [actor, says] of [
    ["grant:made-up", /^grant: its request did not allow grants$/],
    ["policy:made-up", /^actor: its request required reviewers, and policy:made-up approved it$/],
  ] as const) {
    const scene = await startScene(t);
    const { server, instance } = scene;
    await enforce(server, policyAsking("{ grants: false }"));
    const { id } = await server.submit(instance.token);
    await makeUp(scene, id, actor);
    await untilSealed(scene);
    assert.match((await verifyAll(scene)).finding?.message ?? "", says);
  }
});
