import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  assertVerified,
  authenticateEntries,
  tamper,
  untilSealed,
  verifyAll,
} from "./support/audit-logs.ts";
import { approve, newSigner } from "./support/passkeys.ts";
import { submitRequiring } from "./support/requirements.ts";
import { auditOf, startScene } from "./support/scene.ts";

const scene = await startScene({ after });
const { server } = scene;
const ana = await newSigner(server, { login: "ana@example.com" });

async function signedApproval(): Promise<{ readonly row: string; readonly detail: object }> {
  const { id } = await submitRequiring(scene, { confirm: { kind: "passkey" } });
  assert.equal((await approve(server, ana, id, { note: "Seen." })).status, 200);
  const { detail } = (await auditOf(scene, `request:${id}`)).at(-1) ?? assert.fail();
  return { row: `subject = 'request:${id}' and kind = 'request.resolved'`, detail };
}

test("[ours.audit.verify] [ours.passkey.proof] a log with signed approvals is good", async () => {
  await signedApproval();
  await untilSealed(scene);
  await assertVerified(scene);
});

test("[ours.audit.verify] [ours.passkey.proof] audit verify names an approval that was changed before sealing, after its passkey signature", async () => {
  const { row, detail } = await signedApproval();
  // By an insider with the database and the secret key, before it is sealed.
  const other = JSON.stringify({ ...detail, arguments_sha256: "ab".repeat(32) });
  await tamper(scene, `update audit_entry set detail = $1 where ${row}`, other);
  await authenticateEntries(scene);
  await untilSealed(scene);
  const { finding } = await verifyAll(scene);
  assert.deepEqual([finding?.fault, finding?.kind], ["entry", "request.resolved"]);
  assert.match(finding?.message ?? "", /passkey: arguments_sha256 of the entry differs/);
});

test("[ours.audit.verify] [ours.passkey.proof] audit verify names an approval signed with a key that was never added", async (t) => {
  const other = await startScene(t);
  const ben = await newSigner(other.server, { login: "ben@example.com" });
  const { id } = await submitRequiring(other, { confirm: { kind: "passkey" } });
  assert.equal((await approve(other.server, ben, id)).status, 200);
  // A forged key: the log has no entry that added it.
  const added = "update audit_entry set kind = $1 where kind = 'passkey.added'";
  await tamper(other, added, "passkey.removed");
  await authenticateEntries(other);
  await untilSealed(other);
  const { finding } = await verifyAll(other);
  assert.deepEqual([finding?.fault, finding?.kind], ["entry", "request.resolved"]);
  assert.match(finding?.message ?? "", /passkey: the log of the server has no entry that added/);
});
