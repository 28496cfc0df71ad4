/**
 * Passkeys of people: made, named and removed, signed in with, and made by a link.
 */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";
import { SESSION_FRESH_MS } from "../src/core/session.ts";
import { PASSKEYS_MAX } from "../src/operations/sign-in/beginPasskey.ts";
import { makeReturnLink } from "../src/operations/sign-in/makeReturnLink.ts";
import { hashToken } from "../src/secrets/token.ts";
import { insertInvitation } from "../src/storage/sql/sign-in/invitations.ts";
import { Authenticator } from "./support/authenticator.ts";
import { assertRefused } from "./support/envelope.ts";
import { addPasskey, endTime, newSigner, signIn } from "./support/passkeys.ts";
import { callAs, cookieSet, newPerson, type SignedInPerson } from "./support/people.ts";
import { auditOf, startScene } from "./support/scene.ts";
import { until } from "./support/until.ts";

const scene = await startScene({ after });
const { server, clock } = scene;
const { context, publicUrl } = server.provider;

interface Passkey {
  readonly id: string;
  readonly name: string;
  readonly used_at: string | null;
}

let people = 0;
const login = () => `somebody${++people}@example.com`;

function authenticator(counter?: number): Authenticator {
  return new Authenticator(publicUrl, "ES256", counter);
}

async function passkeysOf(person: SignedInPerson): Promise<readonly Passkey[]> {
  const path = "/account/passkeys";
  return (await callAs<{ passkeys: Passkey[] }>(server, person, "GET", path)).json.passkeys;
}

const pathOf = ({ id }: Authenticator) => `/account/passkeys/${id}`;

/** Gives them a password, as far as it matters here. */
async function setPassword(person: SignedInPerson): Promise<void> {
  const sql = "update person set password_hash = 'x' where id = $1";
  await context.store.transact((tx) => tx.run(sql, [person.id]));
}

/** The secret of the link that a browser gets when it follows the link. */
async function newLink(name = `Lou ${++people}`): Promise<string> {
  const token = randomBytes(32).toString("base64url");
  const { projectId } = await newPerson(server, { login: login() });
  await context.store.transact(async (tx) => {
    const invitation = {
      id: context.random.uuid(),
      projectId,
      personId: null,
      name,
      role: "admin" as const,
      groups: ["dba"],
      createdAt: clock.now(),
      createdBy: "operator:cli" as const,
      expiresAt: clock.now() + 3_600_000,
      usedAt: null,
    };
    await insertInvitation(tx, invitation, hashToken(token));
  });
  return token;
}

async function join(token: string, key: Authenticator, fields: object = {}) {
  const path = "/invitation/passkey";
  const body = { token, login: login(), ...fields };
  const started = await callAs<{ options: { challenge: string } }>(
    server,
    undefined,
    "POST",
    `${path}/options`,
    { body },
  );
  assert.equal(started.status, 200, started.text);
  const answer = key.create(started.json.options.challenge);
  return callAs<{ person: { login: string } }>(server, undefined, "POST", path, {
    body: { ...body, answer },
  });
}

test("[ours.passkey.account] a passkey is added with its audit entry, named, listed and removed", async () => {
  const person = await newPerson(server, { login: login() });
  await setPassword(person);
  const key = authenticator();
  const added = await addPasskey<Passkey>(server, person, key, { name: "Phone" });
  assert.deepEqual([added.status, added.json.id, added.json.name], [201, key.id, "Phone"]);
  assert.deepEqual(await passkeysOf(person), [added.json]);
  const renamed = await callAs<Passkey>(server, person, "PATCH", pathOf(key), {
    body: { name: "Blue phone" },
  });
  assert.deepEqual(renamed.json, { ...added.json, name: "Blue phone" });
  assert.equal((await callAs(server, person, "DELETE", pathOf(key))).status, 200);
  assert.deepEqual(await passkeysOf(person), []);
  const said = { person_id: person.id, credential_id: key.id };
  assert.deepEqual(
    (await auditOf(scene, `passkey:${key.id}`)).map(({ kind, actor, detail }) => {
      return { kind, actor, detail };
    }),
    [
      {
        kind: "passkey.added",
        actor: `person:${person.id}`,
        detail: { ...said, public_key: key.publicKey },
      },
      { kind: "passkey.removed", actor: `person:${person.id}`, detail: said },
    ],
  );
});

test("[ours.passkey.account] a name is of 1 to 80 characters that can be seen", async () => {
  const person = await newSigner(server, { login: login() });
  for (const name of ["", " ", "a\u200bb", "a\u202eb", "\n", "x".repeat(81)]) {
    const renamed = await callAs(server, person, "PATCH", pathOf(person.authenticator), {
      body: { name },
    });
    assertRefused(renamed, 400, "invalid_request", "name");
  }
});

test("[ours.passkey.account] the last way to sign in cannot be removed", async () => {
  const person = await newSigner(server, { login: login() });
  const path = pathOf(person.authenticator);
  assertRefused(await callAs(server, person, "DELETE", path), 403, "forbidden");
  assert.equal((await addPasskey(server, person, authenticator())).status, 201);
  assert.equal((await callAs(server, person, "DELETE", path)).status, 200);
  const [left] = await passkeysOf(person);
  const last = `/account/passkeys/${left?.id}`;
  assertRefused(await callAs(server, person, "DELETE", last), 403, "forbidden");
  await setPassword(person);
  assert.equal((await callAs(server, person, "DELETE", last)).status, 200);
});

test("[ours.passkey.account] of two concurrent removals one is rejected", async () => {
  const person = await newSigner(server, { login: login() });
  const other = authenticator();
  await addPasskey(server, person, other);
  const removed = await Promise.all(
    [person.authenticator, other].map((key) => callAs(server, person, "DELETE", pathOf(key))),
  );
  assert.deepEqual(removed.map(({ status }) => status).sort(), [200, 403]);
});

test("[ours.passkey.account] ten minutes after the sign-in, passkeys can only be listed and renamed", async () => {
  const person = await newSigner(server, { login: login() });
  await setPassword(person);
  const path = pathOf(person.authenticator);
  const started = await callAs<{ options: { challenge: string } }>(
    server,
    person,
    "POST",
    "/account/passkeys/options",
  );
  clock.advance(SESSION_FRESH_MS);
  const late = authenticator().create(started.json.options.challenge);
  const added = await callAs(server, person, "POST", "/account/passkeys", {
    body: { answer: late },
  });
  assertRefused(added, 403, "stale_sign_in");
  assertRefused(await addPasskey(server, person, authenticator()), 403, "stale_sign_in");
  assertRefused(await callAs(server, person, "DELETE", path), 403, "stale_sign_in");
  assert.equal((await passkeysOf(person)).length, 1);
  const named = await callAs(server, person, "PATCH", path, { body: { name: "Old" } });
  assert.equal(named.status, 200);
  const cookie = cookieSet(await signIn(server, person.authenticator)) ?? "";
  assert.equal((await callAs(server, { cookie }, "DELETE", path)).status, 200);
});

test("[ours.passkey.account] passkeys of another person cannot be seen, renamed or removed", async () => {
  const [one, other] = [
    await newSigner(server, { login: login() }),
    await newSigner(server, { login: login(), role: "admin" }),
  ];
  const path = pathOf(one.authenticator);
  assertRefused(await callAs(server, other, "DELETE", path), 404, "not_found");
  const named = await callAs(server, other, "PATCH", path, { body: { name: "Mine" } });
  assertRefused(named, 404, "not_found");
  assert.deepEqual(
    (await passkeysOf(other)).map(({ id }) => id),
    [other.authenticator.id],
  );
  const taken = await addPasskey(server, other, one.authenticator);
  assertRefused(taken, 403, "passkey_refused");
  const byToken = await server.call("GET", "/review/v1/account/passkeys", {
    token: scene.reviewer,
  });
  assertRefused(byToken, 403, "wrong_credential_kind");
});

test("[ours.passkey.account] a challenge creates one passkey, only for its own user and only before it expires", async () => {
  const person = await newPerson(server, { login: login() });
  const other = await newPerson(server, { login: login() });
  const path = "/account/passkeys";
  const newChallenge = async () =>
    (await callAs<{ options: { challenge: string } }>(server, person, "POST", `${path}/options`))
      .json.options.challenge;
  const send = (who: SignedInPerson, challenge: string, key = authenticator()) =>
    callAs(server, who, "POST", path, { body: { answer: key.create(challenge) } });
  const challenge = await newChallenge();
  assertRefused(await send(other, challenge), 403, "passkey_refused");
  const made = await send(person, challenge);
  assert.equal(made.status, 201, made.text);
  assertRefused(await send(person, challenge), 403, "passkey_refused");
  assertRefused(await send(person, "bWFkZS11cA"), 403, "passkey_refused");
  const late = await newChallenge();
  await endTime(server);
  assertRefused(await send(person, late), 403, "passkey_refused");
  const unverified = await addPasskey(server, person, authenticator(), { bent: { flags: 0x01 } });
  assertRefused(unverified, 403, "passkey_refused");
  assert.equal((await passkeysOf(person)).length, 1);
});

test("[ours.passkey.account] the number of passkeys of a person is limited", async () => {
  const person = await newPerson(server, { login: login() });
  for (let i = 0; i < PASSKEYS_MAX; i++) await addPasskey(server, person, authenticator());
  assertRefused(await addPasskey(server, person, authenticator()), 403, "forbidden");
  assert.equal((await passkeysOf(person)).length, PASSKEYS_MAX);
});

test("[ours.passkey.sign-in] a passkey signs in by itself, and the session says so", async () => {
  const person = await newSigner(server, { login: login() });
  const answer = await signIn(server, person.authenticator);
  assert.equal(answer.status, 200, answer.text);
  const { person: shown, session } = answer.json as {
    person: { login: string };
    session: { method: string };
  };
  assert.deepEqual([shown.login, session.method], [person.login, "passkey"]);
  const cookie = cookieSet(answer) ?? "";
  assert.equal((await callAs(server, { cookie }, "GET", "/session")).status, 200);
  assert.notEqual((await passkeysOf(person))[0]?.used_at, null);
});

test("[ours.passkey.sign-in] an unverified, foreign, replayed, late, copied, removed or disabled passkey is rejected", async () => {
  const person = await newSigner(server, { login: login() }, authenticator(1));
  const key = person.authenticator;
  for (const bent of [{ flags: 0x01 }, { origin: "https://example.com" }, { rpId: "a.b" }]) {
    assertRefused(await signIn(server, key, bent), 403, "passkey_refused");
  }
  assert.equal((await signIn(server, key)).status, 200);
  assertRefused(await signIn(server, key, { counter: 1 }), 403, "passkey_refused");
  const path = "/session/passkey";
  const newChallenge = async () =>
    (await callAs<{ options: { challenge: string } }>(server, undefined, "POST", `${path}/options`))
      .json.options.challenge;
  const body = { answer: key.get(await newChallenge()) };
  assert.equal((await callAs(server, undefined, "POST", path, { body })).status, 200);
  const replayed = await callAs(server, undefined, "POST", path, { body });
  assertRefused(replayed, 403, "passkey_refused");
  const late = { answer: key.get(await newChallenge()) };
  await endTime(server);
  const tooLate = await callAs(server, undefined, "POST", path, { body: late });
  assertRefused(tooLate, 403, "passkey_refused");
  assertRefused(await signIn(server, authenticator()), 403, "passkey_refused");
  const disable = "update person set disabled_at = 1 where id = $1";
  await context.store.transact((tx) => tx.run(disable, [person.id]));
  assertRefused(await signIn(server, key), 401, "invalid_credential");
});

test("[ours.passkey.sign-in] a rejected known passkey is in the audit log, up to a limit", async () => {
  const person = await newSigner(server, { login: login() });
  const countRefusals = async () => {
    clock.advance(0);
    const entries = await auditOf(scene, `person:${person.id}`);
    return entries.filter(({ kind }) => kind === "signin.refused").length;
  };
  // The attempts that other tests used are restored with time.
  clock.advance(2 * 3_600_000);
  for (let i = 0; i < 12; i++) await signIn(server, person.authenticator, { flags: 0x01 });
  await until(async () => (await countRefusals()) === 10, "ten refusals are written down");
  assert.equal((await signIn(server, person.authenticator)).status, 200);
  assert.equal(await countRefusals(), 10);
});

test("[ours.passkey.sign-in] another site can neither start nor complete a sign-in", async () => {
  const headers = { "sec-fetch-site": "cross-site" };
  for (const path of ["/session/passkey/options", "/session/passkey"]) {
    const body = { answer: {} };
    const answer = await callAs(server, undefined, "POST", path, { headers, body });
    assertRefused(answer, 403, "cross_origin");
  }
});

test("[ours.passkey.link] a link is used up with a passkey, which signs in from then on", async () => {
  const token = await newLink();
  const key = authenticator();
  const joined = await join(token, key);
  assert.equal(joined.status, 201, joined.text);
  const cookie = cookieSet(joined) ?? "";
  const shown = await callAs<{ project: { role: string; groups: string[] } }>(
    server,
    { cookie },
    "GET",
    "/session",
  );
  assert.deepEqual([shown.json.project.role, shown.json.project.groups], ["admin", ["dba"]]);
  assert.equal((await signIn(server, key)).status, 200);
  const again = await callAs(server, undefined, "POST", "/invitation/passkey/options", {
    body: { token, login: login() },
  });
  assertRefused(again, 404, "not_found");
});

test("[ours.passkey.link] a rejected call leaves the link unchanged", async () => {
  const token = await newLink();
  const other = await newLink("Kim");
  const key = authenticator();
  const path = "/invitation/passkey";
  const started = await callAs<{ options: { challenge: string } }>(
    server,
    undefined,
    "POST",
    `${path}/options`,
    { body: { token, login: login() } },
  );
  const { challenge } = started.json.options;
  const use = (link: string, answer: object) =>
    callAs(server, undefined, "POST", path, { body: { token: link, login: login(), answer } });
  const unverified = key.create(challenge, { flags: 0x01 });
  assertRefused(await use(token, unverified), 403, "passkey_refused");
  // The challenge is of one link.
  assertRefused(await use(other, key.create(challenge)), 403, "passkey_refused");
  const { authenticator: taken, ...known } = await newSigner(server, { login: login() });
  assertRefused(await use(token, taken.create(challenge)), 403, "passkey_refused");
  const sameLogin = await join(token, key, { login: known.login });
  assertRefused(sameLogin, 400, "invalid_request", "login");
  assert.equal((await use(token, key.create(challenge))).status, 201);
});

test("[ours.sign-in.return.passkeys] a recovery link keeps the passkeys, or deletes all of them at once", async () => {
  const person = await newSigner(server, { login: login() }, authenticator());
  await makeReturnLink(context, person.login);
  assert.equal((await signIn(server, person.authenticator)).status, 200);
  await makeReturnLink(context, person.login, true);
  assertRefused(await signIn(server, person.authenticator), 403, "passkey_refused");
  const [, removed] = await auditOf(scene, `passkey:${person.authenticator.id}`);
  assert.deepEqual([removed?.kind, removed?.actor], ["passkey.removed", "operator:cli"]);
});
