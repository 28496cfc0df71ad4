/**
 * Approvals that a passkey signs: a signature is valid for exactly one verdict.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { verifyProof } from "../src/audit/passkey-proof.ts";
import { CEREMONY_MS_MAX } from "../src/identity/passkeys.ts";
import { Authenticator, type Bent } from "./support/authenticator.ts";
import { assertRefused } from "./support/envelope.ts";
import { leaveFreeze, lift } from "./support/freezes.ts";
import {
  approve,
  challenge,
  endTime,
  newSigner,
  type Said,
  type Signer,
  send,
  sign,
  toVerdict,
} from "./support/passkeys.ts";
import { callAs, newPerson } from "./support/people.ts";
import { submitRequiring } from "./support/requirements.ts";
import { auditOf, startScene } from "./support/scene.ts";
import { projectPath } from "./support/test-projects.ts";
import type { ReviewedRequest } from "./support/test-provider.ts";

const scene = await startScene({ after }, { settings: { validity_default: "2m" } });
const { server, clock, instance } = scene;
const { store } = server.provider.context;

const PASSKEY = { confirm: { kind: "passkey" } } as const;

let people = 0;
function newcomer(authenticator?: Authenticator): Promise<Signer> {
  return newSigner(server, { login: `person${++people}@example.com` }, authenticator);
}

const ana = await newcomer();

async function assertPending(id: string): Promise<void> {
  assert.equal((await server.read(instance.token, id)).status, "pending");
}

async function assertNotSigned(id: string, person: Signer, body: Said): Promise<void> {
  assertRefused(await send(server, person, id, body), 403, "passkey_refused", "passkey");
  await assertPending(id);
}

test("[ours.passkey.challenge] [ours.passkey.proof] a signed approval decides, and its audit entry proves it", async () => {
  const { id } = await submitRequiring(scene, PASSKEY);
  const answer = await approve(server, ana, id, { note: "Seen é", valid_for: "1m" });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.json.status, "approved");
  const entries = await auditOf(scene, `request:${id}`);
  const { detail } = entries.at(-1) ?? assert.fail("nothing was written");
  assert.deepEqual(verifyProof(detail, id), {
    kind: "proven",
    credentialId: ana.authenticator.id,
    publicKey: ana.authenticator.publicKey,
    origin: server.provider.publicUrl,
  });
  const { passkey } = detail as { passkey: Record<string, unknown> };
  assert.equal(passkey.valid_for_ms, 60_000);
  assert.equal(passkey.arguments_sha256, detail.arguments_sha256);
  assert.notEqual(passkey.note_sha256, null);
});

test("[ours.passkey.challenge] a signature for other arguments, another request, note or validity is rejected", async () => {
  const { id } = await submitRequiring(scene, PASSKEY);
  const other = await submitRequiring(scene, PASSKEY);
  const verdict = await toVerdict(server, ana, id, { note: "yes", valid_for: "1m" });
  const passkey = await sign(server, ana, id, verdict);
  for (const said of [{ note: "no" }, { note: undefined }, { valid_for: "2m" }]) {
    await assertNotSigned(id, ana, { ...verdict, ...said, passkey });
  }
  await assertNotSigned(id, ana, { ...verdict, valid_for: undefined, passkey });
  await assertNotSigned(other.id, ana, { ...verdict, passkey });
  const { nonce } = await sign(server, ana, id, verdict);
  await assertNotSigned(id, ana, { ...verdict, passkey: { ...passkey, nonce } });
  const digest = { arguments_sha256: "ab".repeat(32) };
  const mismatch = await send(server, ana, id, { ...verdict, ...digest, passkey });
  assertRefused(mismatch, 409, "arguments_mismatch", "arguments_sha256");
  await assertPending(id);
  assert.equal((await send(server, ana, id, { ...verdict, passkey })).status, 200);
});

const BENT: readonly Bent[] = [
  { flags: 0x01 },
  { flags: 0x04 },
  { rpId: "example.com" },
  { origin: "https://example.com" },
  { type: "webauthn.create" },
  { crossOrigin: true },
];

test("[ours.passkey.verified] a passkey of another site, or without a verified user, approves nothing", async () => {
  const { id } = await submitRequiring(scene, PASSKEY);
  const verdict = await toVerdict(server, ana, id);
  for (const bent of BENT) {
    const passkey = await sign(server, ana, id, verdict, bent);
    await assertNotSigned(id, ana, { ...verdict, passkey });
  }
});

test("[ours.passkey.people] a passkey of another person, and an unknown one, are rejected", async () => {
  const ben = await newcomer();
  const { id } = await submitRequiring(scene, PASSKEY);
  const verdict = await toVerdict(server, ana, id);
  const bens = await sign(server, ben, id, verdict);
  await assertNotSigned(id, ana, { ...verdict, passkey: bens });
  const { json } = await challenge(server, ana, id, verdict);
  for (const outsider of [ben.authenticator, new Authenticator(server.provider.publicUrl)]) {
    const assertion = outsider.get(json.options.challenge);
    await assertNotSigned(id, ana, { ...verdict, passkey: { nonce: json.nonce, assertion } });
  }
  // Ben's nonce, answered by Ana.
  const started = await challenge(server, ben, id, verdict);
  const assertion = ana.authenticator.get(started.json.options.challenge);
  await assertNotSigned(id, ana, { ...verdict, passkey: { nonce: started.json.nonce, assertion } });
});

test("[ours.passkey.people] an approval without a passkey or with a token is rejected with the reason, before and at the verdict", async () => {
  const { id } = await submitRequiring(scene, PASSKEY);
  const cas = await newPerson(server, { login: "cas@example.com" });
  const shown = await callAs<ReviewedRequest>(server, cas, "GET", `/requests/${id}`);
  const { approve: may, deny, reason } = shown.json.may_decide;
  assert.deepEqual([may, deny], [false, true]);
  assert.match(reason ?? "", /you have none/);
  const verdict = await toVerdict(server, cas, id);
  const refused = await send(server, cas, id, verdict);
  assertRefused(refused, 403, "forbidden");
  assert.match(refused.text, /you have none/);
  assertRefused(await challenge(server, cas, id, verdict), 403, "forbidden");
  const byToken = await server.call("POST", `/review/v1/requests/${id}/verdict/challenge`, {
    token: scene.reviewer,
    body: verdict,
  });
  assertRefused(byToken, 403, "forbidden");
  const passkey = await sign(server, ana, id, verdict);
  const withToken = await server.decide(scene.reviewer, id, "approve", { passkey });
  assertRefused(withToken, 403, "forbidden");
  assert.match(withToken.text, /a token can only deny/);
  await assertPending(id);
});

test("[ours.passkey.people] an approval needs a signature, and a denial needs none", async () => {
  const { id } = await submitRequiring(scene, PASSKEY);
  const verdict = await toVerdict(server, ana, id);
  const bare = await send(server, ana, id, verdict);
  assertRefused(bare, 400, "invalid_request", "passkey");
  const denial = { ...verdict, verdict: "deny" };
  assertRefused(await challenge(server, ana, id, denial), 400, "invalid_request", "verdict");
  const passkey = await sign(server, ana, id, verdict);
  const signed = await send(server, ana, id, { ...denial, passkey });
  assertRefused(signed, 400, "invalid_request", "passkey");
  assert.equal((await send(server, ana, id, denial)).json.status, "denied");
  assertRefused(await challenge(server, ana, id, verdict), 409, "already_terminal");
});

test("[ours.passkey.once] a recorded approval that is sent again gets the same answer, and writes nothing", async () => {
  const { id } = await submitRequiring(scene, PASSKEY);
  const verdict = await toVerdict(server, ana, id, { note: "once" });
  const passkey = await sign(server, ana, id, verdict);
  const first = await send(server, ana, id, { ...verdict, passkey });
  clock.advance(CEREMONY_MS_MAX);
  const second = await send(server, ana, id, { ...verdict, passkey });
  assert.deepEqual([second.status, second.json.decision], [200, first.json.decision]);
  const entries = await auditOf(scene, `request:${id}`);
  assert.equal(entries.filter(({ kind }) => kind === "request.resolved").length, 1);
});

test("[ours.passkey.once] a signature is valid for one verdict, and only until its challenge expires", async () => {
  const { id } = await submitRequiring(scene, { ...PASSKEY, quorum: 2 });
  const verdict = await toVerdict(server, ana, id);
  const used = await sign(server, ana, id, verdict);
  assert.equal((await send(server, ana, id, { ...verdict, passkey: used })).status, 200);
  // Another vote in its place makes the first one a replay.
  const next = await sign(server, ana, id, verdict);
  assert.equal((await send(server, ana, id, { ...verdict, passkey: next })).status, 200);
  await assertNotSigned(id, ana, { ...verdict, passkey: used });
  const late = await sign(server, ana, id, verdict);
  await endTime(server);
  await assertNotSigned(id, ana, { ...verdict, passkey: late });
  const row = await store.get("select count(*) as votes from vote where request_id = $1", [id]);
  assert.equal(Number(row?.votes), 1);
});

test("[ours.passkey.once] a challenge is good for five minutes", async () => {
  const { id } = await submitRequiring(scene, PASSKEY);
  const { json } = await challenge(server, ana, id, await toVerdict(server, ana, id));
  const { expires_at } = json as unknown as { expires_at: string };
  assert.equal(Date.parse(expires_at), clock.now() + 5 * 60_000);
});

test("[ours.passkey.once] of the same approval sent at once one is recorded and all are answered", async () => {
  const { id } = await submitRequiring(scene, PASSKEY);
  const verdict = await toVerdict(server, ana, id);
  const passkey = await sign(server, ana, id, verdict);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => send(server, ana, id, { ...verdict, passkey })),
  );
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  const entries = await auditOf(scene, `request:${id}`);
  assert.equal(entries.filter(({ kind }) => kind === "request.resolved").length, 1);
});

test("[ours.passkey.quorum] votes are signed one by one, each with its proof, and repeated ones are none", async () => {
  const ben = await newcomer();
  const { id } = await submitRequiring(scene, { ...PASSKEY, quorum: 2 });
  const verdict = await toVerdict(server, ana, id);
  const passkey = await sign(server, ana, id, verdict);
  for (let i = 0; i < 2; i++) {
    const answer = await send(server, ana, id, { ...verdict, passkey });
    assert.deepEqual([answer.status, answer.json.status], [200, "pending"]);
  }
  assert.equal((await approve(server, ben, id)).json.status, "approved");
  const votes = (await auditOf(scene, `request:${id}`)).filter(({ kind }) => kind === "vote.cast");
  const proven = votes.map(({ detail }) => verifyProof(detail, id));
  assert.deepEqual(
    proven.map((finding) => finding.kind === "proven" && finding.credentialId),
    [ana.authenticator.id, ben.authenticator.id],
  );
});

test("[ours.passkey.quorum] a vote with a removed passkey does not count", async () => {
  const [ben, dan, eve] = [await newcomer(), await newcomer(), await newcomer()];
  const { id } = await submitRequiring(scene, { ...PASSKEY, quorum: 2 });
  assert.equal((await approve(server, ben, id)).json.status, "pending");
  await store.transact((tx) => tx.run("delete from passkey where id = $1", [ben.authenticator.id]));
  assert.equal((await approve(server, dan, id)).json.status, "pending");
  assert.equal((await approve(server, eve, id)).json.status, "approved");
});

test("[ours.passkey.quorum] a vote that was inserted into the database without a valid signature does not count", async () => {
  const [ben, dan] = [await newcomer(), await newcomer()];
  const { id } = await submitRequiring(scene, { ...PASSKEY, quorum: 2 });
  assert.equal((await approve(server, ben, id)).json.status, "pending");
  const signed = await store.get("select proof from vote where request_id = $1", [id]);
  const proof = JSON.parse(String(signed?.proof)) as Record<string, unknown>;
  const forgeries = [
    { credential_id: dan.authenticator.id },
    { ...proof, credential_id: dan.authenticator.id },
    { ...proof, nonce: "another" },
  ];
  for (const forged of forgeries) {
    await store.transact((tx) =>
      tx.run("update vote set proof = $2 where request_id = $1", [id, JSON.stringify(forged)]),
    );
    assert.equal((await approve(server, dan, id)).json.status, "pending");
    await store.transact((tx) =>
      tx.run(
        `delete from vote where request_id = $1 and reviewer_id in
           (select id from reviewer where person_id = $2)`,
        [id, dan.id],
      ),
    );
  }
});

test("[ours.passkey.counter] a counter that has not increased rejects the approval, in the transaction", async () => {
  const origin = server.provider.publicUrl;
  const fay = await newcomer(new Authenticator(origin, "ES256", 5));
  const { id } = await submitRequiring(scene, PASSKEY);
  const verdict = await toVerdict(server, fay, id);
  const { counter } = fay.authenticator;
  for (const behind of [counter, counter - 1, 0]) {
    const passkey = await sign(server, fay, id, verdict, { counter: behind });
    await assertNotSigned(id, fay, { ...verdict, passkey });
  }
  const passkey = await sign(server, fay, id, verdict, { counter: counter + 1 });
  assert.equal((await send(server, fay, id, { ...verdict, passkey })).status, 200);
});

test("[ours.passkey.people] a freeze denies what was signed", async () => {
  const { id } = await submitRequiring(scene, PASSKEY);
  const verdict = await toVerdict(server, ana, id);
  const passkey = await sign(server, ana, id, verdict);
  const operator = await server.token({ kind: "reviewer", name: "op", role: "admin" });
  const frozen = await leaveFreeze(server, instance.id);
  assertRefused(await send(server, ana, id, { ...verdict, passkey }), 409, "already_terminal");
  assert.equal((await server.read(instance.token, id)).status, "denied");
  assert.equal((await lift(server, operator, frozen)).status, 200);
});

test("an approval without a required passkey can still be signed", async () => {
  const { id } = await submitRequiring(scene, {});
  assert.equal((await approve(server, ana, id)).json.status, "approved");
  const entries = await auditOf(scene, `request:${id}`);
  assert.equal(verifyProof(entries.at(-1)?.detail ?? {}, id).kind, "proven");
});

test("[ours.verdict.shown] where a passkey is asked for, the page to sign on is named", async () => {
  const { id } = await submitRequiring(scene, PASSKEY);
  const shown = await callAs<ReviewedRequest>(server, ana, "GET", `/requests/${id}`);
  assert.deepEqual(shown.json.may_decide, { approve: true, deny: true });
  const { confirm } = (shown.json as unknown as { requirement: { confirm: unknown } }).requirement;
  const sign_at = `${server.provider.publicUrl}${await projectPath(server)}/inbox/${id}`;
  assert.deepEqual(confirm, { kind: "passkey", sign_at });
});
