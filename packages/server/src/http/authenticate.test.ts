import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { FastifyRequest } from "fastify";
import { assertRefused } from "../../test/support/envelope.ts";
import {
  type GateAnswer,
  type GateServer,
  type Issued,
  NO_RATES,
  ORIGIN,
  startGate,
} from "../../test/support/gate-scene.ts";
import { asPage, type SignedInPerson } from "../../test/support/people.ts";
import { createToken as drawToken } from "../secrets/token.ts";
import { callerOf, signedInBy } from "./authenticate.ts";

const { clock, context, gateServer, openGate, issue, issueInstance, signIn } = await startGate({
  after,
});
const { store, random } = context;

/** Exchanges per second; a burst is twice that, and the clock does not advance. */
const RATE = 2;
const BURST = 2 * RATE;

/** A door of its own where every kind has this rate. */
function openSlowGate(kinds: Partial<typeof NO_RATES>): Promise<GateServer> {
  const settings = { ...context.settings, rates: { ...NO_RATES, ...kinds } };
  return openGate({ ...context, settings });
}

const provisioner = await issue({ kind: "provisioner" });
const instance = await issueInstance();
const reviewer = await issue();

async function statuses(count: number, exchange: () => Promise<GateAnswer>): Promise<number[]> {
  const all: number[] = [];
  for (let i = 0; i < count; i++) all.push((await exchange()).status);
  return all;
}

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

test("[auth.bearer] [auth.invalid] each kind of credential passes its own gate only", async () => {
  const tokens = { instance, provisioner, reviewer };
  for (const [kind, { id, token }] of Object.entries(tokens)) {
    for (const path of Object.keys(tokens)) {
      for (const method of ["GET", "POST"]) {
        const answer = await gateServer.call(method, `/${path}`, { token });
        if (path !== kind) assertRefused(answer, 403, "wrong_credential_kind");
        else assert.equal(JSON.parse(answer.text).credentialId, id);
      }
    }
  }
});

test("[auth.missing] [auth.invalid] a missing or unknown credential is rejected by every gate", async () => {
  const unknown = { token: drawToken("reviewer", random) };
  for (const path of ["/instance", "/provisioner", "/reviewer", "/audit"]) {
    assertRefused(await gateServer.call("GET", path), 401, "invalid_credential");
    assertRefused(await gateServer.call("GET", path, unknown), 401, "invalid_credential");
  }
  assertRefused(await gateServer.call("POST", "/reviewer"), 401, "invalid_credential");
  assertRefused(await gateServer.call("GET", "/person"), 401, "invalid_credential");
  // Not signed in, wherever the page is from.
  assertRefused(await gateServer.call("POST", "/person"), 401, "invalid_credential");
});

test("[ours.authorization.scopes] a GET requires the power read, and the power of its route", async () => {
  const { token: decides } = await issue({ scopes: ["decide"] });
  assertRefused(await gateServer.call("GET", "/reviewer", { token: decides }), 403, "forbidden");
  assert.equal((await gateServer.call("POST", "/reviewer", { token: decides })).status, 200);
  assertRefused(
    await gateServer.call("GET", "/audit", { token: reviewer.token }),
    403,
    "forbidden",
  );
  const { token: audits } = await issue({ role: "auditor" });
  assert.equal((await gateServer.call("GET", "/audit", { token: audits })).status, 200);
  const { token: narrow } = await issue({ role: "auditor", scopes: ["audit"] });
  assert.equal((await gateServer.call("GET", "/audit", { token: narrow })).status, 200);
  assertRefused(await gateServer.call("GET", "/reviewer", { token: narrow }), 403, "forbidden");
});

test("[ours.sign-in.cookie] a session is valid on the reviewer API and the account operations, and nowhere else", async () => {
  const ana = await signIn();
  const headers = asPage(ana);
  const caller = JSON.parse((await gateServer.call("GET", "/reviewer", { headers })).text);
  assert.deepEqual([caller.kind, caller.personId], ["reviewer", ana.id]);
  assert.equal(caller.credentialId, caller.session.id);
  const { person } = JSON.parse((await gateServer.call("POST", "/person", { headers })).text);
  assert.equal(person.id, ana.id);
  for (const path of ["/instance", "/provisioner"]) {
    assertRefused(await gateServer.call("POST", path, { headers }), 401, "invalid_credential");
    const { token } = path === "/instance" ? instance : provisioner;
    assert.equal((await gateServer.call("POST", path, { headers, token })).status, 200);
  }
  assertRefused(await gateServer.call("GET", "/audit", { headers }), 403, "forbidden");
});

test("[ours.sign-in.cookie] the server ignores a cookie beside a token, and session operations reject tokens", async () => {
  const headers = asPage(await signIn());
  const broken = { headers, token: drawToken("reviewer", random) };
  assertRefused(await gateServer.call("GET", "/reviewer", broken), 401, "invalid_credential");
  const { token } = reviewer;
  const { credentialId } = JSON.parse(
    (await gateServer.call("GET", "/reviewer", { headers, token })).text,
  );
  assert.equal(credentialId, reviewer.id);
  const answer = await gateServer.call("GET", "/person", { headers, token });
  assertRefused(answer, 403, "wrong_credential_kind");
  const { message } = JSON.parse(answer.text).error;
  assert.equal(message, "This operation requires a session, not a token. Sign in first.");
});

test("[ours.sign-in.cross-origin] a change with a cookie requires a page of this server, before the session is read", async () => {
  const { cookie = "" } = asPage(await signIn());
  const unknown = `__Host-countersign=${"a".repeat(43)}`;
  for (const path of ["/reviewer", "/person"]) {
    for (const sent of [cookie, unknown]) {
      const headers = { cookie: sent, "sec-fetch-site": "cross-site" };
      assertRefused(await gateServer.call("POST", path, { headers }), 403, "cross_origin");
    }
    const elsewhere = { cookie, origin: "https://other.test" };
    assertRefused(await gateServer.call("POST", path, { headers: elsewhere }), 403, "cross_origin");
    const ours = { cookie, origin: ORIGIN };
    assert.equal((await gateServer.call("POST", path, { headers: ours })).status, 200);
    const crossSite = { cookie, "sec-fetch-site": "cross-site" };
    assert.equal((await gateServer.call("GET", path, { headers: crossSite })).status, 200);
  }
});

test("[ours.sign-in.cross-origin] a change before the sign-in requires a page of this server", async () => {
  for (const headers of [{}, { "sec-fetch-site": "cross-site" }, { origin: "null" }]) {
    assertRefused(await gateServer.call("POST", "/stranger", { headers }), 403, "cross_origin");
  }
  const headers = { "sec-fetch-site": "same-origin" };
  assert.equal((await gateServer.call("POST", "/stranger", { headers })).status, 200);
});

test("[ours.sign-in.session] a background read does not extend a session, every change does", async () => {
  const cases = [
    ["GET", "/reviewer", {}, true],
    ["GET", "/reviewer", { "countersign-background": "1" }, false],
    ["GET", "/reviewer", { "countersign-background": "0" }, true],
    ["GET", "/background", {}, false],
    ["POST", "/reviewer", { "countersign-background": "1" }, true],
  ] as const;
  for (const [method, path, said, isUse] of cases) {
    const ana = await signIn();
    const startedAt = clock.now();
    clock.advance(120_000);
    const headers = { ...asPage(ana), ...said };
    assert.equal((await gateServer.call(method, path, { headers })).status, 200);
    const row = await store.get("select seen_at from session where person_id = $1", [ana.id]);
    assert.equal(Number(row?.seen_at), isUse ? clock.now() : startedAt, `${method} ${path}`);
  }
});

for (const kind of ["instance", "provisioner", "reviewer"] as const) {
  test(`[ours.limit.rate] one ${kind} has its rate, including operations that reject its kind of credential`, async () => {
    const slow = await openSlowGate({ [kind]: RATE });
    const [one, other] = [await issueOf(kind), await issueOf(kind)];
    const path = kind === "instance" ? "/provisioner" : "/instance";
    const wrong = () => slow.call("GET", path, { token: one.token });
    const own = () => slow.call("GET", `/${kind}`, { token: one.token });
    assert.deepEqual(await statuses(RATE, wrong), times(RATE, 403));
    assert.deepEqual(await statuses(RATE, own), times(RATE, 200));
    const refused = await own();
    assertRefused(refused, 429, "rate_limited");
    assert.equal(refused.headers.get("retry-after"), "1");
    assert.equal((await wrong()).status, 429);
    assert.equal((await slow.call("GET", `/${kind}`, { token: other.token })).status, 200);
  });
}

function issueOf(kind: "instance" | "provisioner" | "reviewer"): Promise<Issued> {
  return kind === "instance" ? issueInstance() : issue({ kind });
}

test("[ours.limit.rate] a session has the rate of reviewers, shared by session and reviewer operations", async () => {
  const slow = await openSlowGate({ reviewer: RATE });
  const [ana, ben] = [await signIn(), await signIn()];
  const call = (who: SignedInPerson, path: string) =>
    slow.call("GET", path, { headers: asPage(who) });
  assert.deepEqual(await statuses(RATE, () => call(ana, "/person")), times(RATE, 200));
  assert.deepEqual(await statuses(RATE, () => call(ana, "/reviewer")), times(RATE, 200));
  for (const path of ["/person", "/reviewer"]) assert.equal((await call(ana, path)).status, 429);
  assert.equal((await call(ben, "/person")).status, 200);
});

test("[ours.limit.rate] only invalid credentials use up the limit of an address", async () => {
  const slow = await openSlowGate({ unauthenticated: RATE });
  const page = { ...asPage(await signIn()), "sec-fetch-site": "cross-site" };
  const cross = () => slow.call("POST", "/person", { headers: page });
  assert.deepEqual(await statuses(BURST + 1, cross), times(BURST + 1, 403));
  const wrong = () => slow.call("GET", "/reviewer", { token: instance.token });
  assert.deepEqual(await statuses(BURST + 1, wrong), times(BURST + 1, 403));
  const own = () => slow.call("GET", "/instance", { token: instance.token });
  assert.deepEqual(await statuses(BURST + 1, own), times(BURST + 1, 200));
  const paths = ["/instance", "/person", "/reviewer"];
  for (let i = 0; i < BURST; i++) {
    const refused = await slow.call("GET", paths[i % paths.length] ?? "");
    assertRefused(refused, 401, "invalid_credential");
  }
  for (const path of paths) {
    const refused = await slow.call("GET", path);
    assertRefused(refused, 429, "rate_limited");
    assert.equal(refused.headers.get("retry-after"), "1");
  }
  assert.equal((await own()).status, 200);
});

test("[ours.limit.rate] a sign-in is charged to the client address", async () => {
  const slow = await openSlowGate({ unauthenticated: RATE });
  const anonymous = () => slow.call("POST", "/stranger", { headers: asPage() });
  assert.deepEqual(await statuses(BURST + 1, anonymous), [...times(BURST, 200), 429]);
  assertRefused(await slow.call("POST", "/stranger"), 403, "cross_origin");
});

test("[ours.limit.rate] every further 4,096 bytes of a body cost one exchange more", async () => {
  const cases = [
    [4_095, BURST],
    [4_096, BURST - 1],
    [8_191, BURST - 1],
    [8_192, BURST - 2],
  ] as const;
  for (const [bytes, left] of cases) {
    const slow = await openSlowGate({ instance: RATE });
    const { token } = await issueInstance();
    const large = await slow.call("POST", "/instance", { token, body: "x".repeat(bytes) });
    assert.equal(large.status, 200);
    const more = await statuses(BURST, () => slow.call("GET", "/instance", { token }));
    assert.equal(more.filter((status) => status === 200).length, left - 1, `${bytes} bytes`);
  }
  const headers = asPage(await signIn());
  const person = await gateServer.call("POST", "/person", { headers, body: "x".repeat(9_000) });
  assert.equal(person.status, 200);
});

test("[auth.missing] a route that was reached past its gate is a defect, not a caller", () => {
  const unauthenticated = { caller: null, signedIn: null } as FastifyRequest;
  assert.throws(() => signedInBy(unauthenticated), /past its gate/);
  assert.throws(() => callerOf(unauthenticated, "reviewer"), /past its gate/);
  const other = { caller: { kind: "instance" } } as FastifyRequest;
  assert.throws(() => callerOf(other, "reviewer"), /past its gate/);
});
