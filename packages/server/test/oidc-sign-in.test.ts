import assert from "node:assert/strict";
import { test } from "node:test";
import { Report } from "../src/index.ts";
import { FetchBrowser } from "./support/fetch-browser.ts";
import {
  auditOf,
  SESSION_COOKIE,
  START,
  session,
  signedIn,
  startOidcScene,
} from "./support/oidc-scene.ts";
import { CLIENT_SECRET, startOpenidProvider } from "./support/openid-provider.ts";
import { startTestProvider } from "./support/test-provider.ts";

const REFUSED = /not started in this browser, was already used or has expired/;

test("[ours.oidc.flow] a user signs in at the provider and returns to the requested page", async (t) => {
  const scene = await startOidcScene(t);
  const browser = new FetchBrowser();
  const page = await scene.signIn(browser, "/healthz?a=b");
  assert.equal(page.url, `${scene.server.provider.publicUrl}/healthz?a=b`);
  assert.deepEqual(
    [...browser.cookies.keys()].filter((name) => name.startsWith("__Host-")),
    [SESSION_COOKIE],
  );
  const { person, project } = (await session(scene, browser)).json;
  assert.equal(person.login, "ana");
  assert.equal(person.name, "Ana Lima");
  assert.equal(project?.role, "reviewer");
  assert.equal(project?.reviewer.name, "ana");
  const kinds = ["person.created", "reviewer.created", "session.begun"];
  assert.equal((await auditOf(scene, ...kinds)).length, 3);
});

test("[ours.oidc.flow] a signed-in user decides requests", async (t) => {
  const scene = await startOidcScene(t);
  const { server } = scene;
  const instance = await server.instance();
  const { id } = await server.submit(instance.token);
  const browser = new FetchBrowser();
  await signedIn(scene, browser);
  const headers = {
    cookie: `${SESSION_COOKIE}=${browser.cookies.get(SESSION_COOKIE)}`,
    "sec-fetch-site": "same-origin",
  };
  const path = `/review/v1/requests/${id}`;
  const shown = await server.call<{ arguments_sha256: string }>("GET", path, { headers });
  const { arguments_sha256 } = shown.json;
  const body = { verdict: "approve", arguments_sha256 };
  const decided = await server.call("POST", `${path}/verdict`, { headers, body });
  assert.equal(decided.status, 200, decided.text);
  assert.equal((await server.read(instance.token, id)).status, "approved");
});

test("[ours.oidc.flow] without a provider the path does not exist", async (t) => {
  const { server } = await startOidcScene(t);
  const without = await startTestProvider(t);
  for (const path of [START, `${START}/callback?code=a&state=b`]) {
    assert.equal((await without.call("GET", path)).status, 404);
  }
  assert.equal((await server.call("GET", `${START}/callback`)).status, 403);
});

test("[ours.oidc.ceremony] an answer of the provider is valid only in the browser that started the sign-in", async (t) => {
  const scene = await startOidcScene(t);
  const ana = new FetchBrowser();
  const callback = await scene.comeBack(ana);
  const other = new FetchBrowser();
  const without = await other.visit(callback.href);
  assert.equal(without.status, 403);
  assert.match(without.text, REFUSED);
  // With a sign-in of its own under way: it receives the answer of another user.
  await scene.comeBack(other);
  const pushed = await other.visit(callback.href);
  assert.equal(pushed.status, 403);
  assert.equal((await session(scene, other)).status, 401);
  assert.equal((await ana.visit(callback.href)).status, 200);
});

test("[ours.oidc.ceremony] an answer with another state is rejected, and the sign-in stays valid", async (t) => {
  const scene = await startOidcScene(t);
  const browser = new FetchBrowser();
  const callback = await scene.comeBack(browser);
  for (const state of ["another", ""]) {
    const forged = new URL(callback);
    forged.searchParams.set("state", state);
    assert.equal((await browser.visit(forged.href)).status, 403);
  }
  const without = new URL(callback);
  without.searchParams.delete("state");
  assert.equal((await browser.visit(without.href)).status, 403);
  assert.equal((await browser.visit(callback.href)).status, 200);
});

test("[ours.oidc.ceremony] an answer counts once", async (t) => {
  const scene = await startOidcScene(t);
  const browser = new FetchBrowser();
  const callback = await scene.comeBack(browser);
  const before = new Map(browser.cookies);
  assert.equal((await browser.visit(callback.href)).status, 200);
  const again = new FetchBrowser();
  for (const [name, value] of before) again.cookies.set(name, value);
  const page = await again.visit(callback.href);
  assert.equal(page.status, 403);
  assert.match(page.text, REFUSED);
  assert.equal((await session(scene, again)).status, 401);
});

test("[ours.oidc.ceremony] of concurrent answers exactly one counts", async (t) => {
  const scene = await startOidcScene(t);
  const browser = new FetchBrowser();
  const callback = await scene.comeBack(browser);
  const twins = Array.from({ length: 8 }, () => {
    const twin = new FetchBrowser();
    for (const [name, value] of browser.cookies) twin.cookies.set(name, value);
    return twin.visit(callback.href);
  });
  const statuses = (await Promise.all(twins)).map(({ status }) => status);
  assert.deepEqual(statuses.sort(), [200, 403, 403, 403, 403, 403, 403, 403]);
});

test("[ours.oidc.ceremony] the server rejects an answer after five minutes", async (t) => {
  const scene = await startOidcScene(t);
  const browser = new FetchBrowser();
  const { store } = scene.server.provider.context;
  // Changes its time instead of the clock, because the clock would purge it.
  const endAt = (at: number) =>
    store.transact((tx) => tx.run("update ceremony set expires_at = $1", [at]));
  const startedAt = scene.clock.now();
  const late = await scene.comeBack(browser);
  const [stored] = await store.all("select expires_at from ceremony");
  assert.equal(Number(stored?.expires_at), startedAt + 5 * 60_000);
  await endAt(startedAt);
  const page = await browser.visit(late.href);
  assert.equal(page.status, 403);
  assert.match(page.text, REFUSED);
  const inTime = await scene.comeBack(browser);
  await endAt(startedAt + 1);
  assert.equal((await browser.visit(inTime.href)).status, 200);
});

test("[ours.oidc.ceremony] a stored ceremony cannot be completed by another browser", async (t) => {
  const scene = await startOidcScene(t);
  const browser = new FetchBrowser();
  const callback = await scene.comeBack(browser);
  const rows = await scene.server.provider.context.store.all("select * from ceremony");
  assert.equal(rows.length, 1);
  const stored = JSON.stringify(rows);
  for (const value of [...browser.cookies.values(), ...callback.searchParams.values()]) {
    assert.ok(!stored.includes(value), value);
  }
});

test("[ours.oidc.return] a return path never leads to another site", async (t) => {
  const scene = await startOidcScene(t);
  const hostile = ["//evil.example", "https://evil.example/", "/\\evil.example", "/review/v1/x"];
  for (const returnTo of hostile) {
    const page = await scene.signIn(new FetchBrowser(), returnTo);
    assert.equal(page.status, 400, returnTo);
    assert.match(page.text, /return_to/);
  }
  assert.equal(scene.idp.received.length, 0);
  const twice = `${scene.server.provider.publicUrl}${START}?return_to=/a&return_to=/b`;
  assert.equal((await new FetchBrowser().visit(twice)).status, 400);
});

test("[ours.oidc.refused] a user that the provider rejects sees a page with the reason", async (t) => {
  const scene = await startOidcScene(t);
  scene.idp.error = "access_denied";
  const browser = new FetchBrowser();
  const page = await scene.signIn(browser);
  assert.equal(page.status, 403);
  assert.match(page.text, /The identity provider returned the error access_denied/);
  assert.match(page.headers.get("content-security-policy") ?? "", /^default-src 'none'/);
  assert.equal(page.headers.get("cache-control"), "no-store");
  assert.equal(page.headers.get("referrer-policy"), "no-referrer");
  assert.equal((await session(scene, browser)).status, 401);
});

test("[ours.oidc.unavailable] while the provider is down, everything else works", async (t) => {
  const scene = await startOidcScene(t);
  const browser = new FetchBrowser();
  await signedIn(scene, browser);
  const late = new FetchBrowser();
  const callback = await scene.comeBack(late);
  await scene.idp.stop();
  const page = await late.visit(callback.href);
  assert.equal(page.status, 503);
  assert.match(page.text, /identity provider cannot be reached/);
  assert.equal(page.headers.get("retry-after"), "30");
  assert.equal((await session(scene, browser)).status, 200);
  const { token } = await scene.server.instance();
  assert.equal((await scene.server.submit(token)).status, "pending");
  // A sign-in can start without the provider: its description is cached for an hour.
  scene.clock.advance(3_600_000);
  const answer = await scene.server.call<{ error: { code: string } }>("GET", START);
  assert.equal(answer.status, 503);
  assert.equal(answer.json.error.code, "unavailable");
  const [{ count } = { count: 0 }] = await scene.server.provider.context.store.all(
    "select count(*) as count from ceremony",
  );
  assert.equal(Number(count), 0);
});

test("[ours.oidc.unavailable] a provider that is away at the start keeps no server from starting", async (t) => {
  const settings = {
    oidc_issuer: "http://localhost:1",
    oidc_client_id: "countersign",
    oidc_role_default: "viewer",
  };
  const server = await startTestProvider(t, { settings });
  assert.equal((await server.call("GET", START)).status, 503);
});

test("[ours.oidc.flow] the code and secrets are sent to the provider only, and never logged", async (t) => {
  const lines: string[] = [];
  const idp = await startOpenidProvider(t);
  const report = new Report("debug", { write: (line: string) => void lines.push(line) });
  const settings = { ...idp.settings, oidc_role_default: "viewer" };
  const server = await startTestProvider(t, { settings, report });
  idp.register(server.provider.publicUrl);
  const browser = new FetchBrowser();
  const start = `${server.provider.publicUrl}${START}?return_to=/healthz`;
  const { url } = await browser.visit(start, /\/callback\?/);
  const secrets = [CLIENT_SECRET, ...browser.cookies.values()];
  for (const name of ["code", "state"]) secrets.push(new URL(url).searchParams.get(name) ?? "");
  assert.equal((await browser.visit(url)).status, 200);
  secrets.push(browser.cookies.get(SESSION_COOKIE) ?? "");
  assert.equal((await browser.visit(url)).status, 403);
  const log = lines.join("");
  assert.match(log, /completeOidcSignIn/);
  for (const secret of secrets) assert.ok(secret.length > 8 && !log.includes(secret), secret);
});
