import assert from "node:assert/strict";
import { after, test } from "node:test";
import { acceptInvitation } from "../src/operations/sign-in/acceptInvitation.ts";
import { makeReturnLink } from "../src/operations/sign-in/makeReturnLink.ts";
import { updatePasswordHash } from "../src/storage/sql/people/people.ts";
import { assertRefused } from "./support/envelope.ts";
import { callAs, cookieSet, newPerson, type SignedInPerson } from "./support/people.ts";
import { auditOf, startScene } from "./support/scene.ts";
import type { Answer } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

const scene = await startScene({ after });
const { server, clock } = scene;
const { context } = server.provider;
const { store, passwords } = context;

const PASSWORD = "seven grey herons wait";

/** Made once: it is work. */
const HASH = await passwords.hash(PASSWORD);

let logins = 0;

/** A user with the password {@link PASSWORD}. */
function person(login = `person${++logins}`): Promise<SignedInPerson> {
  return newPerson(server, {
    login,
    bind: (tx, { id }) => updatePasswordHash(tx, id, HASH),
  });
}

function signIn(login: string, password: string, who?: SignedInPerson): Promise<Answer> {
  return callAs(server, who, "POST", "/session", { body: { login, password } });
}

async function statusOf(cookie: string | undefined): Promise<number> {
  return (await callAs(server, { cookie: cookie ?? "" }, "GET", "/session")).status;
}

/** A refusal without what is drawn for each exchange. */
function partsOf({ status, headers, text }: Answer): unknown[] {
  const id = headers.get("x-request-id") ?? "";
  const names = [...headers.keys()].filter((name) => !["date", "x-request-id"].includes(name));
  return [status, text.replace(id, "ID"), names.map((name) => [name, headers.get(name)])];
}

test("[ours.sign-in.password] login and password create a session, for any spelling of the login", async () => {
  const ana = await person("ana@example.org");
  for (const login of ["ana@example.org", " ANA@Example.org ", "ａna@example.org"]) {
    const answer = await signIn(login, PASSWORD);
    assert.equal(answer.status, 200, answer.text);
    const cookie = cookieSet(answer);
    assert.match(cookie ?? "", /^[\w-]{43}$/);
    assert.equal(await statusOf(cookie), 200);
    assert.deepEqual(
      (answer.json as { person: { id: string } }).person.id,
      ana.id,
      "the session is that of the person",
    );
  }
  const [set = ""] = (await signIn(ana.login, PASSWORD)).headers.getSetCookie();
  assert.match(
    set,
    /^__Host-countersign=[\w-]{43}; Max-Age=43200; Path=\/; Secure; HttpOnly; SameSite=Lax$/,
  );
});

test("[ours.sign-in.no-enumeration] an unknown login, no password, a disabled user and a wrong password get the same answer", async () => {
  const [known, disabled] = [await person(), await person()];
  const bare = await newPerson(server, { login: "without a password".replaceAll(" ", "-") });
  await store.transact((tx) =>
    tx.run("update person set disabled_at = 1 where id = $1", [disabled.id]),
  );
  const wrong = partsOf(await signIn(known.login, "not the password"));
  assert.deepEqual(partsOf(await signIn("nobody", PASSWORD)), wrong);
  assert.deepEqual(partsOf(await signIn(bare.login, PASSWORD)), wrong);
  assert.deepEqual(partsOf(await signIn(disabled.login, PASSWORD)), wrong);
  assert.deepEqual(partsOf(await signIn("no\tlogin", PASSWORD)), wrong);
  assert.equal(wrong[0], 401);
});

test("[ours.sign-in.no-enumeration] an unknown login costs the same work", async (t) => {
  const verify = t.mock.method(passwords, "verify");
  const ana = await person();
  await signIn(ana.login, "not the password");
  await signIn("nosuchlogin", "not the password");
  assert.deepEqual(
    verify.mock.calls.map(({ arguments: [, stored] }) => stored === null),
    [false, true],
  );
});

test("[ours.sign-in.fixation] signing in creates a new session and ends the previous session of the browser", async () => {
  const ana = await person();
  const chosen = { ...ana, cookie: "a".repeat(43) };
  const planted = cookieSet(await signIn(ana.login, PASSWORD, chosen));
  assert.notEqual(planted, chosen.cookie);
  assert.equal(await statusOf(chosen.cookie), 401);
  const again = cookieSet(await signIn(ana.login, PASSWORD, { ...ana, cookie: planted ?? "" }));
  assert.deepEqual([await statusOf(planted), await statusOf(again)], [401, 200]);
});

test("[ours.sign-in.cross-origin] a sign-in from another site is rejected", async () => {
  const ana = await person();
  const body = { login: ana.login, password: PASSWORD };
  for (const site of ["cross-site", "same-site", "none"]) {
    const headers = { "sec-fetch-site": site };
    const answer = await server.call("POST", "/review/v1/session", { body, headers });
    assertRefused(answer, 403, "cross_origin");
    assert.equal(cookieSet(answer), undefined);
  }
  const form = { "content-type": "text/plain", "sec-fetch-site": "same-origin" };
  const text = await server.call("POST", "/review/v1/session", { body, headers: form });
  assertRefused(text, 400, "invalid_request", "Content-Type");
});

test("[ours.sign-in.rate] after ten concurrent wrong passwords, a login is locked, and other logins are not", async () => {
  const [ana, other] = [await person(), await person()];
  for (const login of [ana.login, "unknown"]) {
    const answers = await Promise.all(
      Array.from({ length: 14 }, () => signIn(login, "not the password")),
    );
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [...Array(10).fill(401), ...Array(4).fill(429)], login);
  }
  const closed = await signIn(ana.login, PASSWORD);
  assertRefused(closed, 429, "rate_limited");
  assert.equal(closed.headers.get("retry-after"), "60");
  assert.equal((await signIn(other.login, PASSWORD)).status, 200);
  clock.advance(60_000);
  assert.equal((await signIn(ana.login, PASSWORD)).status, 200);
});

test("[ours.sign-in.rate] an address has sixty failed attempts, for all logins together", async (t) => {
  const { server: fresh } = await startScene(t);
  const attempt = (n: number) =>
    callAs(fresh, undefined, "POST", "/session", { body: { login: `l${n}`, password: "x" } });
  const verify = t.mock.method(fresh.provider.context.passwords, "verify", async () => false);
  for (let n = 0; n < 60; n++) assert.equal((await attempt(n)).status, 401);
  assertRefused(await attempt(60), 429, "rate_limited");
  assert.equal(verify.mock.callCount(), 60);
});

test("[ours.sign-in.rate] a successful sign-in is not counted", async (t) => {
  t.mock.method(passwords, "verify", async () => true);
  const ana = await person();
  for (let n = 0; n < 70; n++) {
    assert.equal((await signIn(ana.login, PASSWORD)).status, 200, String(n));
  }
});

test("[ours.sign-in.audit] the audit log records rejected sign-ins of a known user, at most ten at a time, and none of unknown logins", async (t) => {
  t.mock.method(passwords, "verify", async () => false);
  const ana = await person();
  const refused = async () => {
    clock.advance(0);
    const entries = await auditOf(scene, `person:${ana.id}`);
    return entries.filter(({ kind }) => kind === "signin.refused");
  };
  const ofOthers = async () => {
    const sql = `select count(*) as n from audit_entry
      where kind = 'signin.refused' and subject <> $1`;
    return Number((await store.get(sql, [`person:${ana.id}`]))?.n);
  };
  await signIn(ana.login, "not the password");
  await until(async () => (await refused()).length === 1, "it is written down");
  assert.deepEqual((await refused())[0]?.detail, { method: "password" });
  const before = await ofOthers();
  await signIn("somebody-else", "not the password");
  clock.advance(0);
  for (let n = 0; n < 11; n++) {
    await signIn(ana.login, "not the password");
    clock.advance(60_000);
  }
  await until(async () => (await refused()).length >= 10, "all are written down");
  assert.equal(await ofOthers(), before);
  assert.ok((await refused()).length <= 12);
});

test("[ours.sign-in.password] a password that changes during its check creates no session", async (t) => {
  const ana = await person();
  const { verify } = passwords;
  t.mock.method(passwords, "verify", async (...given: Parameters<typeof verify>) => {
    const isRight = await verify.apply(passwords, given);
    await store.transact((tx) => updatePasswordHash(tx, ana.id, null));
    return isRight;
  });
  assertRefused(await signIn(ana.login, PASSWORD), 401, "invalid_credential");
});

test("[ours.sign-in.password] a user without a project can sign in, and has no powers", async () => {
  const ana = await person();
  await store.transact((tx) =>
    tx.run("update reviewer set removed_at = 1 where person_id = $1", [ana.id]),
  );
  const cookie = cookieSet(await signIn(ana.login, PASSWORD)) ?? "";
  assert.equal(await statusOf(cookie), 200);
  assertRefused(await callAs(server, { cookie }, "GET", "/requests"), 403, "forbidden");
});

test("[ours.sign-in.account] the account lists only the user's own sessions and ends them one by one", async () => {
  const [ana, eve] = [await person(), await person()];
  const second = { ...ana, cookie: cookieSet(await signIn(ana.login, PASSWORD)) ?? "" };
  interface Account {
    readonly has_password: boolean;
    readonly sessions: readonly { readonly id: string; readonly current: boolean }[];
    readonly passkeys: readonly unknown[];
  }
  const account = (who: SignedInPerson) => callAs<Account>(server, who, "GET", "/account");
  const { json } = await account(second);
  assert.deepEqual([json.has_password, json.passkeys, json.sessions.length], [true, [], 2]);
  const other = json.sessions.find(({ current }) => !current);
  const path = `/account/sessions/${other?.id}`;
  assertRefused(await callAs(server, eve, "DELETE", path), 404, "not_found");
  assert.equal(await statusOf(ana.cookie), 200);
  const ended = await callAs(server, second, "DELETE", path);
  assert.deepEqual([ended.status, cookieSet(ended)], [200, undefined]);
  assert.deepEqual([await statusOf(ana.cookie), await statusOf(second.cookie)], [401, 200]);
  assertRefused(await callAs(server, second, "DELETE", path), 404, "not_found");
  const token = { token: scene.reviewer };
  const byToken = await server.call("GET", "/review/v1/account", token);
  assertRefused(byToken, 403, "wrong_credential_kind");
});

test("[ours.sign-in.account] a new password takes the old one, ends the other sessions and links to come back with, and is then the only one", async () => {
  const ana = await person();
  const link = await makeReturnLink(context, ana.login);
  const second = { ...ana, cookie: cookieSet(await signIn(ana.login, PASSWORD)) ?? "" };
  const next = "four slow tides turn";
  const change = (body: object) => callAs(server, second, "PUT", "/account/password", { body });
  const wrong = await change({ current_password: "not the password", new_password: next });
  assertRefused(wrong, 403, "forbidden", "current_password");
  assertRefused(await change({ new_password: next }), 403, "forbidden", "current_password");
  const short = await change({ current_password: PASSWORD, new_password: "short" });
  assertRefused(short, 400, "invalid_request", "new_password");
  assert.equal(await statusOf(ana.cookie), 200);

  const changed = await change({ current_password: PASSWORD, new_password: next });
  assert.equal(changed.status, 200, changed.text);
  assert.deepEqual([await statusOf(ana.cookie), await statusOf(second.cookie)], [401, 200]);
  assertRefused(await signIn(ana.login, PASSWORD), 401, "invalid_credential");
  assert.equal((await signIn(ana.login, next)).status, 200);
  const opened = callAs(server, undefined, "POST", "/invitation", { body: { token: link } });
  assertRefused(await opened, 404, "not_found");
  const kinds = (await auditOf(scene, `person:${ana.id}`)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["person.created", "password.changed"]);
});

test("[ours.sign-in.account] a first password is set only shortly after signing in", async () => {
  const [late, soon] = [
    await newPerson(server, { login: "late" }),
    await newPerson(server, { login: "soon" }),
  ];
  const body = { new_password: "four slow tides turn" };
  assert.equal((await callAs(server, soon, "PUT", "/account/password", { body })).status, 200);
  clock.advance(600_000);
  assertRefused(await callAs(server, late, "PUT", "/account/password", { body }), 403, "forbidden");
});

test("[ours.sign-in.return] a recovery link sets a password, ends all sessions, works once, and not for a disabled user", async () => {
  const ana = await person();
  const [first, second] = [
    await makeReturnLink(context, ana.login),
    await makeReturnLink(context, ana.login.toUpperCase()),
  ];
  const use = (token: string) => {
    const body = { token, password: "four slow tides turn" };
    return callAs(server, undefined, "POST", "/invitation/use", { body });
  };
  assertRefused(await use(first), 404, "not_found");
  const answers = await Promise.all([use(second), use(second), use(second)]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 404, 404]);
  assert.equal(await statusOf(ana.cookie), 401);
  assert.equal((await signIn(ana.login, "four slow tides turn")).status, 200);

  const third = await makeReturnLink(context, ana.login);
  await store.transact((tx) => tx.run("update person set disabled_at = 1 where id = $1", [ana.id]));
  assertRefused(await use(third), 404, "not_found");
  await assert.rejects(makeReturnLink(context, ana.login), { code: "forbidden" });
  await assert.rejects(makeReturnLink(context, "nobody"), { code: "not_found" });
});

test("[ours.sign-in.retention] sessions, ceremonies and old invitations are purged when they are over", async (t) => {
  const own = await startScene(t);
  const { store: database } = own.server.provider.context;
  const ana = await newPerson(own.server, { login: "ana" });
  await makeReturnLink(own.server.provider.context, "ana");
  const now = own.clock.now();
  await database.transact((tx) =>
    tx.run("insert into ceremony (id, kind, detail, expires_at) values ('c', 'k', '{}', $1)", [
      now + 300_000,
    ]),
  );
  const counts = async () => {
    const row = await database.get(
      `select (select count(*) from session) as sessions, (select count(*) from ceremony) as
         ceremonies, (select count(*) from invitation) as invitations`,
    );
    return [row?.sessions, row?.ceremonies, row?.invitations].map(Number);
  };
  assert.deepEqual(await counts(), [1, 1, 2]);
  const untilCounts = async (expected: readonly number[]) => {
    await until(async () => {
      own.clock.advance(60_000);
      return JSON.stringify(await counts()) === JSON.stringify(expected);
    }, `there are ${expected}`);
  };
  await untilCounts([1, 0, 2]);
  own.clock.advance(12 * 3_600_000);
  await untilCounts([0, 0, 2]);
  own.clock.advance(200 * 3_600_000);
  await untilCounts([0, 0, 0]);
  assert.equal((await callAs(own.server, ana, "GET", "/session")).status, 401);
});

test("[ours.sign-in.password] of concurrent uses of one link exactly one creates an account", async (t) => {
  t.mock.method(passwords, "hash", async () => HASH);
  const admin = await server.token({ kind: "reviewer", role: "admin", name: "admin" });
  const call = { token: admin, body: { name: "wanted" } };
  const { json } = await server.call<{ url: string }>("POST", "/review/v1/invitations", call);
  const [, token = ""] = json.url.split("#");
  const attempts = Array.from({ length: 8 }, (_, n) =>
    acceptInvitation(context, {
      token,
      login: `wanted${n}`,
      name: undefined,
      password: PASSWORD,
      userAgent: "",
    }),
  );
  const outcomes = await Promise.allSettled(attempts);
  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
  const people = await store.all("select id from person where login like 'wanted%'");
  assert.equal(people.length, 1);
});
