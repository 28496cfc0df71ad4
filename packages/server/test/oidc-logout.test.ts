/**
 * OpenID Connect Back-Channel Logout: the identity provider ends sessions here.
 */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { type TestContext, test } from "node:test";
import { PROVIDER_LOGOUT_PATH } from "../src/http/provider-logout-routes.ts";
import { Report } from "../src/index.ts";
import { EventReader } from "./support/event-reader.ts";
import { FetchBrowser } from "./support/fetch-browser.ts";
import {
  auditOf,
  type OidcScene,
  SESSION_COOKIE,
  session,
  signedIn,
  startOidcScene,
} from "./support/oidc-scene.ts";
import { OTHER_KEY, resigned } from "./support/openid-provider.ts";
import { newPerson } from "./support/people.ts";
import { startReplicas } from "./support/replicas.ts";
import { type Answer, startTestProvider, type TestProvider } from "./support/test-provider.ts";
import { turns, until } from "./support/until.ts";

interface LogoutError {
  readonly error: string;
  readonly error_description: string;
}

const FORM = { "content-type": "application/x-www-form-urlencoded" };

/** Sends a token as a provider does. */
function logOut(server: TestProvider, token: string): Promise<Answer<LogoutError>> {
  const body = new URLSearchParams({ logout_token: token }).toString();
  return server.call("POST", PROVIDER_LOGOUT_PATH, { headers: FORM, body });
}

function assertInvalid({ status, json, headers }: Answer<LogoutError>, reason: RegExp): void {
  assert.equal(status, 400, JSON.stringify(json));
  assert.equal(json.error, "invalid_request");
  assert.match(json.error_description, reason);
  assert.equal(headers.get("cache-control"), "no-store");
}

async function isSignedIn(scene: Pick<OidcScene, "server">, browser: FetchBrowser) {
  const { status } = await session(scene, browser);
  assert.ok(status === 200 || status === 401, String(status));
  return status === 200;
}

/** The ID tokens from now on have other claims. */
function setClaims({ idp }: OidcScene, claims: object): void {
  idp.forge = (token) => resigned(token, ({ payload }) => Object.assign(payload, claims));
}

function now(): number {
  return Math.floor(Date.now() / 1_000);
}

/** The user signs out on the page of the provider. */
async function signOutThere({ idp }: OidcScene, browser: FetchBrowser): Promise<void> {
  const { text } = await browser.visit(`${idp.issuer}/session/end`);
  const [, xsrf = ""] = /name="xsrf" value="([^"]+)"/.exec(text) ?? [];
  const status = await browser.submit(`${idp.issuer}/session/end/confirm`, { xsrf, logout: "yes" });
  assert.equal(status, 303);
  assert.deepEqual(idp.logoutErrors, []);
}

async function startLoggedScene(t: TestContext, settings: Readonly<Record<string, string>> = {}) {
  const lines: string[] = [];
  const report = new Report("info", { write: (line) => void lines.push(line) });
  const scene = await startOidcScene(t, settings, {}, { report });
  const events = (name: string) =>
    lines.map((line) => JSON.parse(line)).filter(({ event }) => event === name);
  return { ...scene, lines, events };
}

test("[ours.oidc.back-channel-logout] a sign-out at the provider ends the session of this browser, and no other session or token", async (t) => {
  const scene = await startLoggedScene(t);
  const [here, elsewhere] = [new FetchBrowser(), new FetchBrowser()];
  const { person } = await signedIn(scene, here);
  await signedIn(scene, elsewhere);
  const token = await scene.server.token({ kind: "reviewer", name: "ana" });
  await signOutThere(scene, here);
  assert.equal(await isSignedIn(scene, here), false);
  assert.equal(await isSignedIn(scene, elsewhere), true);
  assert.equal((await scene.server.call("GET", "/review/v1/requests", { token })).status, 200);
  const because = "signed out at the identity provider";
  const detail = JSON.stringify({ person_id: person.id, because });
  const entry = `session.ended system:provider-logout ${detail}`;
  assert.deepEqual(await auditOf(scene, "session.ended"), [entry]);
  assert.deepEqual(
    scene.events("provider_logout.applied").map(({ sessions }) => sessions),
    [1],
  );
});

test("[ours.oidc.back-channel-logout] a token without sid ends all sessions that the user started at the provider", async (t) => {
  const scene = await startOidcScene(t);
  const ana = [new FetchBrowser(), new FetchBrowser()];
  for (const browser of ana) await signedIn(scene, browser);
  scene.idp.account = { sub: "li-1", preferred_username: "li", groups: ["approvers"] };
  const li = new FetchBrowser();
  await signedIn(scene, li);
  const local = await newPerson(scene.server, { login: "local" });
  const answer = await logOut(scene.server, scene.idp.logoutToken({ sub: "ana-1" }));
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.text, "");
  assert.equal(answer.headers.get("cache-control"), "no-store");
  for (const browser of ana) assert.equal(await isSignedIn(scene, browser), false);
  assert.equal(await isSignedIn(scene, li), true);
  const headers = { cookie: `${SESSION_COOKIE}=${local.cookie}` };
  assert.equal((await scene.server.call("GET", "/review/v1/session", { headers })).status, 200);
});

test("[ours.oidc.back-channel-logout] a token with sid alone ends the sessions of this sid; with the sub of another user, none", async (t) => {
  const scene = await startOidcScene(t);
  const browser = new FetchBrowser();
  setClaims(scene, { sid: "session 1" });
  await signedIn(scene, browser);
  for (const claims of [
    { sid: "session 2" },
    { sid: "session 2", sub: "ana-1" },
    { sid: "session 1", sub: "li-1" },
    { sub: "li-1" },
    { sub: "session 1" },
  ]) {
    const answer = await logOut(scene.server, scene.idp.logoutToken(claims));
    assert.equal(answer.status, 200, answer.text);
    assert.equal(await isSignedIn(scene, browser), true, JSON.stringify(claims));
  }
  await logOut(scene.server, scene.idp.logoutToken({ sid: "session 1" }));
  assert.equal(await isSignedIn(scene, browser), false);
});

test("[ours.oidc.back-channel-logout] a session of an unknown sid ends with any session of its user", async (t) => {
  const scene = await startOidcScene(t);
  const browser = new FetchBrowser();
  setClaims(scene, { sid: undefined });
  await signedIn(scene, browser);
  await logOut(scene.server, scene.idp.logoutToken({ sid: "session 1", sub: "ana-1" }));
  assert.equal(await isSignedIn(scene, browser), false);
});

test("[ours.oidc.back-channel-logout] a session with a method other than the provider continues", async (t) => {
  const scene = await startOidcScene(t);
  const browser = new FetchBrowser();
  const { person } = await signedIn(scene, browser);
  const { store } = scene.server.provider.context;
  await store.transact((tx) =>
    tx.run("update session set method = 'passkey' where person_id = $1", [person.id]),
  );
  await logOut(scene.server, scene.idp.logoutToken({ sub: "ana-1" }));
  assert.equal(await isSignedIn(scene, browser), true);
});

test("[ours.oidc.back-channel-logout] a replayed token ends no session that started after it", async (t) => {
  const scene = await startOidcScene(t);
  const [before, after] = [new FetchBrowser(), new FetchBrowser()];
  setClaims(scene, { sid: "session 1", iat: now() - 60 });
  await signedIn(scene, before);
  const tokens = [{ sub: "ana-1" }, { sid: "session 1" }, { sub: "ana-1", sid: "session 1" }];
  const replayed = tokens.map((each) => scene.idp.logoutToken({ ...each, iat: now() - 30 }));
  for (const token of replayed) await logOut(scene.server, token);
  assert.equal(await isSignedIn(scene, before), false);
  setClaims(scene, { sid: "session 1", iat: now() - 29 });
  await signedIn(scene, after);
  for (const token of replayed) {
    assert.equal((await logOut(scene.server, token)).status, 200);
    assert.equal(await isSignedIn(scene, after), true);
  }
});

test("[ours.oidc.back-channel-logout] a logout during a sign-in prevents the session", async (t) => {
  const scene = await startOidcScene(t);
  for (const claims of [{ sub: "ana-1" }, { sid: "session 1" }]) {
    setClaims(scene, { sid: "session 1", iat: now() - 60 });
    const browser = new FetchBrowser();
    const callback = await scene.comeBack(browser);
    await logOut(scene.server, scene.idp.logoutToken({ ...claims, iat: now() - 30 }));
    // A replay of an older token does not forget it.
    await logOut(scene.server, scene.idp.logoutToken({ ...claims, iat: now() - 90 }));
    assert.equal((await browser.visit(callback.href)).status, 403);
    assert.equal(await isSignedIn(scene, browser), false);
  }
  const { store } = scene.server.provider.context;
  assert.deepEqual(await store.all("select id from session"), []);
});

type Forge = (scene: OidcScene) => string;

const LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout";

/** A token that ends the session, with one fault. */
const faulty =
  (fault: object): Forge =>
  ({ idp }) =>
    idp.logoutToken({ sub: "ana-1", ...fault });

const ATTACKS: Readonly<Record<string, readonly [RegExp, Forge]>> = {
  "signed by another key": [
    /signature verification failed/,
    ({ idp }) => idp.logoutToken({ sub: "ana-1" }, OTHER_KEY),
  ],
  "signed by an unknown key": [
    /no applicable key found/,
    ({ idp }) => idp.logoutToken({ sub: "ana-1", header: { kid: "two" } }, OTHER_KEY),
  ],
  "with alg none": [/'alg'/, faulty({ header: { alg: "none" } })],
  "with an HMAC of the client secret": [
    /'alg'/,
    ({ idp }) =>
      hmacToken(idp.logoutToken({ sub: "ana-1" }), idp.settings.oidc_client_secret ?? ""),
  ],
  "with an unknown critical header": [
    /the header is not supported/,
    faulty({ header: { crit: ["x"], x: 1 } }),
  ],
  "of another type": [/typ/, faulty({ header: { typ: "at+jwt" } })],
  "of another issuer": [/'iss'/, faulty({ iss: "https://login.example.com" })],
  "for another client": [/'aud'/, faulty({ aud: "other" })],
  "without an audience": [/'aud'/, faulty({ aud: undefined })],
  "that has expired": [/'exp'/, faulty({ exp: now() - 60 })],
  "without exp": [/'exp'/, faulty({ exp: undefined })],
  "without iat": [/'iat'/, faulty({ iat: undefined })],
  "that is too old": [/'iat'/, faulty({ iat: now() - 3_600 })],
  "of the future": [/'iat'/, faulty({ iat: now() + 3_600 })],
  "without jti": [/'jti'/, faulty({ jti: undefined })],
  "with an invalid jti": [/jti/, faulty({ jti: 1 })],
  "without events": [/'events'/, faulty({ events: undefined })],
  "with another event": [/events/, faulty({ events: { "http://example.com/event": {} } })],
  "with an event that is not an object": [/events/, faulty({ events: { [LOGOUT_EVENT]: true } })],
  "with a list of events": [/events/, faulty({ events: [LOGOUT_EVENT] })],
  "with a nonce": [/nonce/, faulty({ nonce: "a nonce" })],
  "without sub and sid": [/sid or sub/, faulty({ sub: undefined })],
  "with a list as sub": [/sub/, faulty({ sub: ["ana-1"] })],
  "with an empty sid": [/sid/, faulty({ sid: "" })],
  "with a long sub": [/sub is too long/, faulty({ sub: "a".repeat(256) })],
  "that is not a token": [/not a JWT/, () => "nothing"],
};

function hmacToken(token: string, secret: string): string {
  const header = Buffer.from(JSON.stringify({ alg: "HS256" })).toString("base64url");
  const signed = `${header}.${token.split(".")[1]}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

test("[ours.oidc.back-channel-logout] the server rejects every invalid token with 400, and the session continues", async (t) => {
  const scene = await startLoggedScene(t);
  const browser = new FetchBrowser();
  await signedIn(scene, browser);
  for (const [kind, [reason, forge]] of Object.entries(ATTACKS)) {
    const token = forge(scene);
    const answer = await logOut(scene.server, token);
    assertInvalid(answer, reason);
    assert.equal(await isSignedIn(scene, browser), true, kind);
    assert.ok(!scene.lines.some((line) => line.includes(token.slice(-20))), kind);
  }
  const refusals = scene.events("provider_logout.refused").length;
  assert.equal(refusals, Object.keys(ATTACKS).length);
  await logOut(scene.server, faulty({ header: { typ: undefined } })(scene));
  assert.equal(await isSignedIn(scene, browser), false);
});

test("[ours.oidc.back-channel-logout] an ID token is not a logout token", async (t) => {
  const scene = await startOidcScene(t);
  const browser = new FetchBrowser();
  let idToken = "";
  scene.idp.forge = (token) => {
    idToken = token;
    return token;
  };
  await signedIn(scene, browser);
  assertInvalid(await logOut(scene.server, idToken), /'jti'|'events'/);
  assert.equal(await isSignedIn(scene, browser), true);
});

test("[ours.oidc.back-channel-logout] the server reads one token from a form, and limits its size", async (t) => {
  const scene = await startOidcScene(t);
  const { server, idp } = scene;
  const browser = new FetchBrowser();
  await signedIn(scene, browser);
  const token = idp.logoutToken({ sub: "ana-1" });
  const send = (body: string, type = FORM["content-type"], query = "") =>
    server.call<LogoutError>("POST", PROVIDER_LOGOUT_PATH + query, {
      headers: { "content-type": type },
      body,
    });
  const form = `logout_token=${token}`;
  for (const answer of [
    await send(""),
    await send(`${form}&${form}`),
    await send(`token=${token}`),
    await send("", undefined, `?${form}`),
    await send(form, "text/plain"),
    await send(JSON.stringify({ logout_token: token }), "application/json"),
  ]) {
    assertInvalid(answer, /one logout_token/);
  }
  assertInvalid(await send(`${form}&a=${"b".repeat(70_000)}`), /larger than/);
  assert.equal(await isSignedIn(scene, browser), true);
  const cross = { ...FORM, "sec-fetch-site": "cross-site", origin: "https://other.example.com" };
  const answer = await server.call("POST", PROVIDER_LOGOUT_PATH, { headers: cross, body: form });
  assert.equal(answer.status, 200, "no browser and no cookie is involved");
  assert.equal(await isSignedIn(scene, browser), false);
});

test("[ours.oidc.back-channel-logout] without a provider the path does not exist", async (t) => {
  const server = await startTestProvider(t);
  const answer = await logOut(server, "nothing");
  assert.equal(answer.status, 404);
});

test("[ours.oidc.back-channel-logout] while the keys of the provider are unavailable, the server answers 503 and a repetition succeeds", async (t) => {
  const scene = await startOidcScene(t);
  const browser = new FetchBrowser();
  await signedIn(scene, browser);
  const token = scene.idp.logoutToken({ sub: "ana-1" });
  for (const answer of ["500", "not JSON"]) {
    scene.idp.answers.set("/jwks", (response) => {
      response.writeHead(answer === "500" ? 500 : 200).end("<h1>Down</h1>");
    });
    const { status, json, headers } = await logOut(scene.server, token);
    assert.deepEqual([status, json.error], [503, "temporarily_unavailable"]);
    assert.ok(headers.has("retry-after"));
    assert.equal(await isSignedIn(scene, browser), true);
  }
  scene.idp.answers.clear();
  assert.equal((await logOut(scene.server, token)).status, 200);
  assert.equal(await isSignedIn(scene, browser), false);
});

test("[ours.oidc.back-channel-logout] while the provider is unavailable, tokens of strangers cause one request to it", async (t) => {
  const scene = await startOidcScene(t);
  const { idp, server, clock } = scene;
  let requests = 0;
  idp.answers.set("/.well-known/openid-configuration", (response) => {
    requests++;
    response.writeHead(500).end();
  });
  const token = idp.logoutToken({ sub: "ana-1" });
  for (let sent = 0; sent < 10; sent++) {
    assertInvalid(await logOut(server, "nothing"), /not a JWT/);
    assertInvalid(await logOut(server, idp.logoutToken({ iss: "https://a.test" })), /iss/);
    assert.equal((await logOut(server, token)).status, 503);
  }
  assert.equal(requests, 1);
  idp.answers.clear();
  clock.advance(5_000);
  assert.equal((await logOut(server, token)).status, 200);
});

test("[ours.oidc.back-channel-logout] invalid tokens from one address are limited, valid ones are not", async (t) => {
  const scene = await startOidcScene(t, { unauthenticated_rate: "1" });
  const statuses: number[] = [];
  for (let i = 0; i < 6; i++) statuses.push((await logOut(scene.server, "nothing")).status);
  assert.ok(statuses.includes(429), statuses.join());
  const valid = await logOut(scene.server, scene.idp.logoutToken({ sub: "ana-1" }));
  assert.equal(valid.status, 200);
});

test("[ours.oidc.back-channel-logout] the open event stream of an ended session ends", async (t) => {
  const scene = await startOidcScene(t);
  const browser = new FetchBrowser();
  await signedIn(scene, browser);
  const cookie = `${SESSION_COOKIE}=${browser.cookies.get(SESSION_COOKIE)}`;
  const reader = await EventReader.open(t, scene.server, { cookie });
  await reader.next("ready");
  await logOut(scene.server, scene.idp.logoutToken({ sub: "ana-1" }));
  let isOver = false;
  const over = reader.over.then(() => {
    isOver = true;
  });
  await until(async () => {
    if (!isOver) scene.clock.advance(1_000);
    await turns();
    return isOver;
  }, "the stream ends");
  await over;
  assert.equal((await reader.next("end")).data.reason, "signed_out");
});

test("[ours.oidc.back-channel-logout] a logout at one replica ends the session and the stream at another", async (t) => {
  const scene = await startOidcScene(t);
  const { idp } = scene;
  const settings = { ...idp.settings, oidc_roles: "approvers=reviewer" };
  const { servers } = await startReplicas(t, 2, undefined, { settings });
  const [one, two] = servers as [TestProvider, TestProvider];
  idp.register(two.provider.publicUrl);
  const browser = new FetchBrowser();
  const start = `${two.provider.publicUrl}/review/v1/session/oidc?return_to=/healthz`;
  assert.equal((await browser.visit(start)).status, 200);
  assert.equal(await isSignedIn({ server: one }, browser), true);
  const cookie = `${SESSION_COOKIE}=${browser.cookies.get(SESSION_COOKIE)}`;
  const reader = await EventReader.open(t, two, { cookie });
  await reader.next("ready");
  assert.equal((await logOut(one, idp.logoutToken({ sub: "ana-1" }))).status, 200);
  for (const server of servers) assert.equal(await isSignedIn({ server }, browser), false);
  assert.equal((await reader.next("end")).data.reason, "signed_out");
});
