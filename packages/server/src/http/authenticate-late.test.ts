/**
 * Repeated authentication: after a late body, and in long exchanges.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { assertRefused } from "../../test/support/envelope.ts";
import { type GateAnswer, type GateCall, startGate } from "../../test/support/gate-scene.ts";
import { asPage } from "../../test/support/people.ts";
import { connectRaw } from "../../test/support/raw-connection.ts";
import { withStore } from "../../test/support/test-context.ts";
import { turns } from "../../test/support/until.ts";
import { revokeToken } from "../operations/tokens/revokeToken.ts";
import type { Store } from "../storage/store.ts";

const { context, gateServer, openGate, issue, issueInstance, signIn, meanwhile } = await startGate({
  after,
});
const { store } = context;

const provisioner = await issue({ kind: "provisioner" });
const instance = await issueInstance();
const reviewer = await issue();

/** Starts an exchange, runs `late` before the body is sent, and then sends the body. */
async function withLateBody(
  t: Parameters<typeof connectRaw>[0],
  path: string,
  headers: Readonly<Record<string, string>>,
  late: () => Promise<unknown>,
  at = gateServer,
): Promise<GateAnswer> {
  const connection = await connectRaw(t, at.url);
  const lines = Object.entries({ host: "x", ...headers, "content-length": "2" });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  connection.send(`POST ${path} HTTP/1.1\r\n${head}\r\n{`);
  await turns(50);
  await late();
  connection.send("}");
  return connection.answer();
}

test("[auth.revoked] [ours.sign-in.at-once] a token or session that is revoked while the body arrives is rejected", async (t) => {
  for (const kind of ["provisioner", "reviewer"] as const) {
    const { id, token } = await issue({ kind });
    const headers = { authorization: `Bearer ${token}` };
    const still = await withLateBody(t, `/${kind}`, headers, async () => {});
    assert.equal(still.status, 200);
    const lost = await withLateBody(t, `/${kind}`, headers, () => revokeToken(context, id));
    assertRefused(lost, 401, "invalid_credential");
  }
  for (const path of ["/person", "/reviewer"]) {
    const ana = await signIn();
    const headers = asPage(ana);
    assert.equal((await withLateBody(t, path, headers, async () => {})).status, 200);
    const end = () =>
      store.transact((tx) => tx.run("delete from session where person_id = $1", [ana.id]));
    assertRefused(await withLateBody(t, path, headers, end), 401, "invalid_credential");
  }
});

test("[auth.revoked] [ours.instances.rotate] a credential of an instance that a rotation ends while the body arrives is rejected", async (t) => {
  const rotations = [
    "update credential set revoked_at = 1",
    "update credential set expires_at = 1",
  ];
  for (const rotation of rotations) {
    const { id, token } = await issueInstance();
    const headers = { authorization: `Bearer ${token}` };
    const still = await withLateBody(t, "/instance", headers, async () => {});
    assert.equal(still.status, 200);
    const end = () => store.transact((tx) => tx.run(`${rotation} where id = $1`, [id]));
    assertRefused(await withLateBody(t, "/instance", headers, end), 401, "invalid_credential");
  }
});

test("[auth.revoked] a request with its body needs one credential lookup, a late body needs a second", async (t) => {
  let lookups = 0;
  const get: Store["get"] = async (sql, values) => {
    if (/from (?:credential|session) /.test(sql)) lookups++;
    // As one over a network does, it takes a while.
    await nextTurn();
    return store.get(sql, values);
  };
  const watched = await openGate(withStore(context, { get }));
  const page = asPage(await signIn());
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const cases = [
    ["/instance", bearer(instance.token), 2],
    ["/provisioner", bearer(provisioner.token), 2],
    ["/reviewer", bearer(reviewer.token), 2],
    ["/reviewer", page, 2],
    ["/person", page, 2],
  ] as const;
  for (const [path, headers, whenLate] of cases) {
    const connection = await connectRaw(t, watched.url);
    const lines = Object.entries({ host: "x", ...headers, "content-length": "2" });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    lookups = 0;
    connection.send(`POST ${path} HTTP/1.1\r\n${head}\r\n{}`);
    assert.equal((await connection.answer()).status, 200);
    assert.equal(lookups, 1, path);
    lookups = 0;
    await withLateBody(t, path, headers, async () => {}, watched);
    assert.equal(lookups, whenLate, `${path}, late`);
  }
});

test("[auth.revoked] [ours.sign-in.at-once] a repeated check in a long exchange applies the current permissions", async () => {
  const { id, token } = await issue({ role: "auditor", name: "again" });
  const ana = await signIn({ role: "auditor" });
  const ways: readonly GateCall[] = [{ token }, { headers: asPage(ana) }];
  const run = (sql: string, ...values: string[]) =>
    store.transact((tx) => tx.run(sql, [...values]));
  meanwhile(async () => {});
  for (const way of ways) {
    const { role } = JSON.parse((await gateServer.call("GET", "/again", way)).text);
    assert.equal(role, "auditor");
    assert.equal((await gateServer.call("GET", "/again/audit", way)).status, 200);
  }
  meanwhile(() => run("update reviewer set role = 'viewer'"));
  for (const way of ways) {
    await run("update reviewer set role = 'auditor'");
    assertRefused(await gateServer.call("GET", "/again/audit", way), 403, "forbidden");
    await run("update reviewer set role = 'auditor'");
    const { role } = JSON.parse((await gateServer.call("GET", "/again", way)).text);
    assert.equal(role, "viewer");
  }
  meanwhile(() => run("update credential set scopes = '[\"decide\"]' where id = $1", id));
  assertRefused(await gateServer.call("GET", "/again", { token }), 403, "forbidden");
  await run("update credential set scopes = null where id = $1", id);
  meanwhile(() => revokeToken(context, id));
  assertRefused(await gateServer.call("GET", "/again", { token }), 401, "invalid_credential");
  meanwhile(() => run("delete from session where person_id = $1", ana.id));
  const ended = await gateServer.call("GET", "/again", { headers: asPage(ana) });
  assertRefused(ended, 401, "invalid_credential");
});
