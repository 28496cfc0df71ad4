import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { CredentialKind } from "@countersign/protocol";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { newPerson } from "../../../test/support/people.ts";
import { openTestContext } from "../../../test/support/test-context.ts";
import { createToken as drawToken, hashToken } from "../../secrets/token.ts";
import { mayAuthenticate } from "../../steps/access/mayAuthenticate.ts";
import { recheckInstance } from "../../steps/access/recheckInstance.ts";
import { insertCredential } from "../../storage/sql/access/credentials.ts";
import { ensureProject } from "../../storage/sql/access/holders.ts";
import { createToken, type TokenOrder } from "../tokens/createToken.ts";
import { revokeToken } from "../tokens/revokeToken.ts";
import { authenticateCaller } from "./authenticateCaller.ts";

const clock = new ManualClock();
const context = await openTestContext({ after }, clock);
const { store, random } = context;

let names = 0;

function issue(order: Partial<TokenOrder> = {}): Promise<{ id: string; token: string }> {
  const name = `holder ${++names}`;
  return createToken(context, {
    kind: "reviewer",
    name,
    project: "default",
    expiresAt: null,
    ...order,
  });
}

const PLANTED = "11112222";

/** A credential whose token is any text. */
async function plant(token: string, kind: CredentialKind, holderId: string): Promise<string> {
  const id = random.uuid();
  const credential = {
    id,
    kind,
    holderId,
    projectId: PLANTED,
    createdAt: 0,
    expiresAt: null,
    revokedAt: null,
    scopes: null,
  };
  await store.transact(async (tx) => {
    await ensureProject(tx, "planted", PLANTED, 0);
    await insertCredential(tx, credential, hashToken(token));
  });
  return id;
}

function callerOf(token: string) {
  return authenticateCaller(context, `Bearer ${token}`);
}

async function assertInvalid(authorization: string | undefined): Promise<void> {
  const authentication = authenticateCaller(context, authorization);
  await assert.rejects(authentication, { code: "invalid_credential", status: 401 }, authorization);
}

async function projectId(): Promise<string> {
  return String((await store.get("select id from project where name = 'default'"))?.id);
}

test("[auth.bearer] a token of a provisioner and one of an instance are callers in their project, by their holder", async () => {
  const { id: credentialId, token } = await issue({ kind: "provisioner", name: "ci" });
  const row = await store.get("select id from provisioner where name = 'ci'");
  assert.deepEqual(await callerOf(token), {
    kind: "provisioner",
    credentialId,
    projectId: await projectId(),
    provisionerId: row?.id,
  });
  const instance = drawToken("instance", random);
  const planted = await plant(instance, "instance", "the instance");
  assert.deepEqual(await callerOf(instance), {
    kind: "instance",
    credentialId: planted,
    projectId: PLANTED,
    instanceId: "the instance",
    tokenHash: hashToken(instance),
  });
});

test("[auth.bearer] a reviewer's token has the role and groups of its holder and the scopes of its own", async () => {
  const holder = { role: "admin", groups: ["dba"], isBot: true, name: "robot" } as const;
  const { id: credentialId, token } = await issue({ ...holder, scopes: ["read"] });
  const row = await store.get("select id from reviewer where name = 'robot'");
  assert.deepEqual(await callerOf(token), {
    kind: "reviewer",
    credentialId,
    projectId: await projectId(),
    reviewerId: row?.id,
    ...holder,
    scopes: ["read"],
    personId: null,
    session: null,
    tokenHash: hashToken(token),
  });
});

test("[auth.bearer] the stored record of a token determines its kind, not its prefix", async () => {
  const token = drawToken("reviewer", random);
  await plant(token, "instance", "an instance");
  assert.equal((await callerOf(token)).kind, "instance");
});

test("[auth.missing] [auth.invalid] a header without exactly one token is rejected", async () => {
  const { token } = await issue();
  const headers = ["", token, "Bearer", "Bearer ", `Basic ${token}`, `Bearer ${token} ${token}`];
  for (const header of [undefined, ...headers, `x Bearer ${token}`, `Bearer\t${token}`]) {
    await assertInvalid(header);
  }
  for (const header of [`bearer ${token}`, `BEARER   ${token}  `]) {
    assert.equal((await authenticateCaller(context, header)).kind, "reviewer", header);
  }
});

test("[auth.invalid] a token of another form or checksum is rejected, even with a known hash", async () => {
  const token = drawToken("instance", random);
  const other = token.endsWith("0") ? "1" : "0";
  for (const text of ["known", `${token.slice(0, -1)}${other}`]) {
    await plant(text, "instance", "an instance");
    await assertInvalid(`Bearer ${text}`);
  }
});

test("[auth.invalid] an unknown token is rejected", async () => {
  for (const kind of ["instance", "provisioner", "reviewer"] as const) {
    await assertInvalid(`Bearer ${drawToken(kind, random)}`);
  }
});

test("[auth.revoked] a revoked token is rejected at once, and another one stays valid", async () => {
  for (const kind of ["provisioner", "reviewer"] as const) {
    const one = await issue({ kind, name: kind });
    const other = await issue({ kind, name: kind });
    await revokeToken(context, one.id);
    await assertInvalid(`Bearer ${one.token}`);
    assert.equal((await callerOf(other.token)).credentialId, other.id);
  }
});

test("[auth.revoked] the recheck at the end of a long poll rejects a revoked credential", async () => {
  const instanceId = "0192f0c1-0000-7000-8000-000000000000";
  const token = drawToken("instance", random);
  await plant(token, "instance", instanceId);
  const caller = await callerOf(token);
  assert.ok(caller.kind === "instance");
  await recheckInstance(context, caller);
  await revokeToken(context, caller.credentialId);
  await assert.rejects(recheckInstance(context, caller), { code: "invalid_credential" });
});

test("[auth.expired] a token ends at its end to the millisecond", async () => {
  const expiresAt = clock.now() + 60_000;
  const [brief, lasting] = [await issue({ expiresAt }), await issue()];
  clock.advance(59_999);
  assert.equal((await callerOf(brief.token)).credentialId, brief.id);
  clock.advance(1);
  await assertInvalid(`Bearer ${brief.token}`);
  clock.advance(1);
  await assertInvalid(`Bearer ${brief.token}`);
  assert.equal((await callerOf(lasting.token)).credentialId, lasting.id);
});

test("[ours.people.removed] the token of a removed or missing reviewer is rejected", async () => {
  const { token } = await issue({ name: "gone" });
  await store.transact((tx) => tx.run("update reviewer set removed_at = 1 where name = 'gone'"));
  await assertInvalid(`Bearer ${token}`);
  const orphan = drawToken("reviewer", random);
  await plant(orphan, "reviewer", "no reviewer");
  await assertInvalid(`Bearer ${orphan}`);
});

test("[ours.people.disabled] the token of a person is theirs while they are enabled", async () => {
  const dora = await newPerson({ provider: { context } }, { login: "dora" });
  const { token } = await issue({ name: "dora" });
  const caller = await callerOf(token);
  assert.deepEqual([caller.kind, "personId" in caller && caller.personId], ["reviewer", dora.id]);
  const setDisabled = (at: number | null) =>
    store.transact((tx) => tx.run("update person set disabled_at = $1", [at]));
  await setDisabled(1);
  await assertInvalid(`Bearer ${token}`);
  await setDisabled(null);
  assert.equal((await callerOf(token)).kind, "reviewer");
});

test("[ours.people.removed] [ours.people.disabled] only callers who are not removed and not disabled may authenticate", async () => {
  const { id: personId } = await newPerson({ provider: { context } }, { login: "ana" });
  assert.equal(await mayAuthenticate(store, { removedAt: null, personId: null }), true);
  assert.equal(await mayAuthenticate(store, { removedAt: null, personId }), true);
  assert.equal(await mayAuthenticate(store, { removedAt: null, personId: "nobody" }), false);
  assert.equal(await mayAuthenticate(store, { removedAt: 0, personId: null }), false);
  assert.equal(await mayAuthenticate(store, { removedAt: 1, personId }), false);
});
