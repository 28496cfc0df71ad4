/** Workload identity: agents exchange a token of their platform for a short-lived credential. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { exportJWK, generateKeyPair } from "jose";
import { Report } from "../src/index.ts";
import { purgeExpired } from "../src/operations/operate/purgeExpired.ts";
import { auditOf, restart, type Scene, startScene, submitBody } from "./support/scene.ts";
import { type Answer, SUBMISSION } from "./support/test-provider.ts";
import { until } from "./support/until.ts";
import {
  exchangeToken,
  forgeries,
  JWT_TYPE,
  startIssuer,
  type TestClaims,
  type TestIssuer,
  type TokenAnswer,
  writeWorkloadFile,
} from "./support/workload-issuer.ts";

const HOUR_MS = 3_600_000;

/** As GitHub documents them. */
const GITHUB = {
  sub: "repo:acme/deploy:ref:refs/heads/main",
  repository: "acme/deploy",
  repository_owner: "acme",
  repository_id: "74",
  ref: "refs/heads/main",
};

/** As the token of a projected volume. */
const KUBERNETES = {
  sub: "system:serviceaccount:agents:deployer",
  "kubernetes.io": {
    namespace: "agents",
    node: { name: "node-1", uid: "0f81" },
    pod: { name: "deployer-7c9d", uid: "5e0c" },
    serviceaccount: { name: "deployer", uid: "9a2b" },
  },
};

const CI_RULE = {
  name: "ci",
  issuer: "platform",
  claims: { repository: "acme/*", ref: "refs/heads/main" },
  instance: "ci-{repository}",
};

interface WorkloadScene extends Scene {
  readonly issuer: TestIssuer;
  readonly lines: string[];
  /** The file of the setting. */
  readonly file: string;
}

async function startWorkloads(
  t: TestContext,
  rules: readonly object[] = [CI_RULE],
  fields: object = {},
): Promise<WorkloadScene> {
  const issuer = await startIssuer(t);
  const platform = { name: "platform", issuer: issuer.url, audience: issuer.audience, ...fields };
  const others = { "jwks.json": await issuer.jwks(), "bundle.json": await issuer.jwks("jwt-svid") };
  const file = writeWorkloadFile(t, { issuers: [platform], rules }, others);
  const lines: string[] = [];
  const report = new Report("debug", { write: (line) => void lines.push(line) });
  const scene = await startScene(t, { settings: { workload_identity: file }, report });
  return { ...scene, issuer, lines, file };
}

function sign({ issuer, clock }: WorkloadScene, claims: TestClaims = GITHUB): Promise<string> {
  return issuer.sign(claims, { now: clock.now() });
}

/** The credential that the server issues for these claims. */
async function issued(scene: WorkloadScene, claims: TestClaims = GITHUB): Promise<string> {
  const answer = await exchangeToken(scene.server, await sign(scene, claims));
  assert.equal(answer.status, 200, answer.text);
  return answer.json.access_token;
}

function assertOauthError(answer: Answer<TokenAnswer>, error: string, description: RegExp): void {
  assert.deepEqual([answer.status, answer.json.error], [400, error], answer.text);
  assert.match(answer.json.error_description ?? "", description);
  assert.equal(answer.headers.get("cache-control"), "no-store");
}

async function namesOf({ server }: Scene): Promise<string[]> {
  const sql = "select name from instance where deleted_at is null order by id";
  const rows = await server.provider.context.store.all(sql);
  return rows.map(({ name }) => JSON.parse(String(name)) as string);
}

async function idOf({ server }: Scene, name: string): Promise<string> {
  const sql = "select id from instance where name = $1";
  const row = await server.provider.context.store.get(sql, [JSON.stringify(name)]);
  return String(row?.id);
}

test("[ours.workload.exchange] a token of a GitHub workflow becomes a credential that submits calls for an hour", async (t) => {
  const scene = await startWorkloads(t);
  const answer = await exchangeToken(scene.server, await sign(scene));
  assert.equal(answer.status, 200, answer.text);
  const { access_token: credential, ...rest } = answer.json;
  assert.match(credential, /^cs_inst_/);
  assert.deepEqual(rest, {
    issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
    token_type: "Bearer",
    expires_in: 3_600,
  });
  assert.equal(answer.headers.get("cache-control"), "no-store");
  assert.equal((await submitBody(scene.server, credential, SUBMISSION)).status, 201);
  scene.clock.advance(HOUR_MS - 1);
  assert.equal((await submitBody(scene.server, credential, SUBMISSION)).status, 201);
  scene.clock.advance(1);
  const expired = await submitBody(scene.server, credential, SUBMISSION);
  const unknown = await submitBody(scene.server, `${credential.slice(0, -1)}!`, SUBMISSION);
  const shown = ({ status, text }: Answer) => [status, text.replaceAll(/[0-9a-f-]{36}/g, "")];
  assert.equal(expired.status, 401);
  assert.deepEqual(shown(expired), shown(unknown));
});

test("[ours.workload.exchange] a projected token of Kubernetes is matched by nested claims", async (t) => {
  const rule = {
    name: "cluster",
    issuer: "platform",
    claims: { "kubernetes.io/namespace": "agents" },
    instance: "{kubernetes.io/namespace} {kubernetes.io/serviceaccount/name}",
    groups: ["cluster"],
  };
  const scene = await startWorkloads(t, [rule], { jwks_file: "jwks.json" });
  const credential = await issued(scene, { ...KUBERNETES, aud: [scene.issuer.audience] });
  assert.equal((await submitBody(scene.server, credential, SUBMISSION)).status, 201);
  assert.ok((await namesOf(scene)).includes("agents deployer"));
  assert.deepEqual(scene.issuer.received, [], "a file of keys needs no request to the issuer");
  const other = { "kubernetes.io": { namespace: "agents2", serviceaccount: { name: "deployer" } } };
  const refused = await exchangeToken(scene.server, await sign(scene, { ...KUBERNETES, ...other }));
  assertOauthError(refused, "invalid_grant", /No rule matches/);
});

test("[ours.workload.exchange] a JWT-SVID without iss belongs to the trust domain of its subject", async (t) => {
  const rule = {
    name: "mesh",
    issuer: "platform",
    claims: { sub: "spiffe://example.org/agents/*" },
    instance: "{sub}",
  };
  const fields = { issuer: "spiffe://example.org", jwks_file: "bundle.json" };
  const scene = await startWorkloads(t, [rule], fields);
  const exchange = async (sub: string) =>
    exchangeToken(scene.server, await sign(scene, { iss: undefined, jti: undefined, sub }));
  assert.equal((await exchange("spiffe://example.org/agents/a")).status, 200);
  for (const sub of ["spiffe://example.org.evil.com/agents/a", "spiffe://example.com/agents/a"]) {
    assertOauthError(await exchange(sub), "invalid_grant", /issuer is not configured/);
  }
  assertOauthError(await exchange("spiffe://example.org/agents/a/b"), "invalid_grant", /No rule/);
  const foreign = { iss: "spiffe://example.org", sub: "spiffe://example.com/agents/a" };
  const answer = await exchangeToken(scene.server, await sign(scene, foreign));
  assertOauthError(answer, "invalid_grant", /not in the trust domain/);
});

test("[ours.workload.exchange] without the setting, the token endpoint returns 404", async (t) => {
  const { server } = await startScene(t);
  const answer = await fetch(`${server.url}/agent/v1/token`, { method: "POST" });
  assert.equal(answer.status, 404);
});

test("[ours.workload.exchange] all exchanges of a workload use one instance, also after a restart", async (t) => {
  const scene = await startWorkloads(t);
  const credentials = await Promise.all(Array.from({ length: 8 }, () => issued(scene)));
  assert.equal(new Set(credentials).size, 8);
  const restarted = await restart(t, scene, { workload_identity: scene.file });
  const after = { ...scene, ...restarted };
  await issued(after);
  const names = await namesOf(after);
  assert.equal(names.filter((name) => name === "ci-acme/deploy").length, 1);
});

for (const [what, { forge, reason }] of Object.entries(forgeries(GITHUB))) {
  test(`[ours.workload.token] the server rejects a token ${what}`, async (t) => {
    const scene = await startWorkloads(t);
    const before = await namesOf(scene);
    const token = await forge(scene.issuer, scene.clock.now());
    const answer = await exchangeToken(scene.server, token);
    assertOauthError(answer, "invalid_grant", reason);
    assert.deepEqual(await namesOf(scene), before);
    const line = scene.lines.find((each) => each.includes("workload.refused"));
    assert.match(line ?? "", reason);
    assert.ok(!scene.lines.join("").includes(token), "the log contains the token");
    // The same exchange with a valid token.
    await issued(scene);
  });
}

const MALFORMED: Readonly<
  Record<string, readonly [Readonly<Record<string, string>>, string, RegExp]>
> = {
  "without a grant type": [{ grant_type: "" }, "invalid_request", /grant_type/],
  "of another grant type": [
    { grant_type: "client_credentials" },
    "unsupported_grant_type",
    /grant_type/,
  ],
  "without a token": [{ subject_token: "" }, "invalid_request", /subject_token is missing/],
  "of another token type": [
    { subject_token_type: "urn:ietf:params:oauth:token-type:saml2" },
    "invalid_request",
    /subject_token_type/,
  ],
  "with a token above the limit": [
    { subject_token: "a".repeat(16_385) },
    "invalid_request",
    /16384/,
  ],
  "with a resource": [{ resource: "https://a.example.com" }, "invalid_target", /audience/],
  "with a scope": [{ scope: "all" }, "invalid_scope", /scope/],
  "with an actor": [{ actor_token: "a" }, "invalid_request", /actor_token/],
  "with an unknown audience": [{ audience: "other" }, "invalid_target", /No rule/],
};

for (const [what, [parameters, error, description]] of Object.entries(MALFORMED)) {
  test(`[ours.workload.protocol] a request ${what} returns 400 ${error}`, async (t) => {
    const scene = await startWorkloads(t);
    const answer = await exchangeToken(scene.server, await sign(scene), parameters);
    assertOauthError(answer, error, description);
  });
}

test("[ours.workload.protocol] a repeated parameter, JSON and a body above the limit return 400 in the form of OAuth", async (t) => {
  const { server } = await startWorkloads(t);
  const url = `${server.url}/agent/v1/token`;
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const requests: readonly RequestInit[] = [
    { body: "grant_type=a&grant_type=a", headers: form },
    { body: "{}", headers: { "content-type": "application/json" } },
    { body: `subject_token=${"a".repeat(70_000)}`, headers: form },
    { headers: form },
  ];
  for (const request of requests) {
    const answer = await fetch(url, { method: "POST", ...request });
    const { error } = (await answer.json()) as { error: string };
    assert.deepEqual([answer.status, error], [400, "invalid_request"]);
  }
});

test("[ours.workload.unavailable] while the keys of the issuer are not available, the server returns 503 and accepts nothing", async (t) => {
  const scene = await startWorkloads(t);
  const { issuer, server } = scene;
  const paths = ["/.well-known/openid-configuration", "/keys"];
  for (const path of paths) {
    issuer.answers.set(path, (response) => void response.writeHead(500).end());
    const answer = await exchangeToken(server, await sign(scene));
    assert.deepEqual([answer.status, answer.json.error], [503, "temporarily_unavailable"]);
    issuer.answers.clear();
  }
  await issued(scene);
});

test("[ours.workload.unavailable] a new key of the issuer works without a restart", async (t) => {
  const scene = await startWorkloads(t);
  const { issuer, server, clock } = scene;
  await issued(scene);
  const { privateKey, publicKey } = await generateKeyPair("RS256");
  const keys = [{ ...(await exportJWK(publicKey)), kid: "two" }];
  issuer.answers.set("/keys", (response) => void response.end(JSON.stringify({ keys })));
  const token = await issuer.sign(GITHUB, { now: clock.now(), kid: "two", key: privateKey });
  // The library does not request the keys again within a second.
  await until(async () => (await exchangeToken(server, token)).status === 200, "the key works");
});

test("[ours.workload.unavailable] a discovery document of another issuer is not used", async (t) => {
  const scene = await startWorkloads(t);
  const { issuer, server } = scene;
  issuer.answers.set("/.well-known/openid-configuration", (response) => {
    const document = { issuer: `${issuer.url}/`, jwks_uri: `${issuer.url}/keys` };
    response.writeHead(200).end(JSON.stringify(document));
  });
  const answer = await exchangeToken(server, await sign(scene));
  assert.equal(answer.status, 503);
});

test("[ours.workload.rules] a value that resembles the value of a rule does not match", async (t) => {
  const scene = await startWorkloads(t);
  const lookAlikes: readonly object[] = [
    { repository: "acme2/deploy" },
    { repository: "Acme/deploy" },
    { repository: "аcme/deploy" },
    { repository: "acme/deploy/x" },
    { repository: "acme/" },
    { repository: "evil/acme/deploy" },
    { repository: ["acme/deploy"] },
    { repository: undefined },
    { ref: "refs/heads/main2" },
    { ref: "refs/heads/main\n" },
    { ref: undefined },
  ];
  for (const claims of lookAlikes) {
    const token = await sign(scene, { ...GITHUB, ...claims });
    assertOauthError(await exchangeToken(scene.server, token), "invalid_grant", /No rule matches/);
  }
});

test("[ours.workload.rules] if several rules match, the client names one of them as audience", async (t) => {
  const second = { ...CI_RULE, name: "ci-2", project: "other", instance: "second-{repository}" };
  const scene = await startWorkloads(t, [CI_RULE, second]);
  const token = await sign(scene);
  assertOauthError(await exchangeToken(scene.server, token), "invalid_target", /Several rules/);
  const parameters = { audience: "ci-2" };
  assert.equal((await exchangeToken(scene.server, token, parameters)).status, 200);
  assert.ok((await namesOf(scene)).includes("second-acme/deploy"));
});

test("[ours.workload.instance] a token never gets an instance of the same name that the rule did not create", async (t) => {
  const scene = await startWorkloads(t);
  const { server, instance } = scene;
  await server.provision(instance.provisioner, "ci-acme/deploy");
  const answer = await exchangeToken(server, await sign(scene));
  assertOauthError(answer, "invalid_grant", /Another instance has the name/);
  assert.ok(scene.lines.some((line) => line.includes("Another instance has the name")));
});

test("[ours.workload.instance] different values never share a name, and other letters are encoded", async (t) => {
  const rule = {
    ...CI_RULE,
    claims: { repository: "acme/deploy" },
    instance: "{environment}#{ref}",
  };
  const scene = await startWorkloads(t, [rule]);
  await issued(scene, { ...GITHUB, environment: "a#b", ref: "c" });
  await issued(scene, { ...GITHUB, environment: "a", ref: "b#c" });
  await issued(scene, { ...GITHUB, environment: "é", ref: "%C3" });
  const names = (await namesOf(scene)).filter((name) => name.includes("#"));
  assert.deepEqual(names.sort(), ["%C3%A9#%25C3", "a#b%23c", "a%23b#c"]);
});

test("[ours.workload.instance] a second rule with the same name for an instance does not get the instance of the first", async (t) => {
  const second = { ...CI_RULE, name: "tags", claims: { ...CI_RULE.claims, ref: "refs/tags/*" } };
  const scene = await startWorkloads(t, [CI_RULE, second]);
  await issued(scene);
  const token = await sign(scene, { ...GITHUB, ref: "refs/tags/v1" });
  const answer = await exchangeToken(scene.server, token);
  assertOauthError(answer, "invalid_grant", /Another instance has the name/);
});

test("[ours.workload.revoked] deleting the instance ends all its credentials, and its workload gets no new one", async (t) => {
  const scene = await startWorkloads(t);
  const { server, instance } = scene;
  const credentials = [await issued(scene), await issued(scene)];
  const id = await idOf(scene, "ci-acme/deploy");
  const deleted = await server.call("DELETE", `/v1/instances/${id}`, {
    token: instance.provisioner,
  });
  assert.equal(deleted.status, 204, deleted.text);
  for (const credential of credentials) {
    assert.equal((await submitBody(server, credential, SUBMISSION)).status, 401);
  }
  const answer = await exchangeToken(server, await sign(scene));
  assertOauthError(answer, "invalid_grant", /was deleted/);
  // After the retention time, the record of the deletion is purged.
  scene.clock.advance(168 * HOUR_MS);
  await purgeExpired(server.provider.context);
  await issued(scene);
});

test("[ours.workload.exchange] a token can be exchanged again until it expires", async (t) => {
  const scene = await startWorkloads(t);
  const token = await sign(scene);
  assert.equal((await exchangeToken(scene.server, token)).status, 200);
  assert.equal((await exchangeToken(scene.server, token)).status, 200);
  scene.clock.advance(300_000 + 10_000);
  const answer = await exchangeToken(scene.server, token);
  assertOauthError(answer, "invalid_grant", /has expired/);
});

test("[ours.workload.audit] the log records the instance and each credential, without a token", async (t) => {
  const scene = await startWorkloads(t);
  const token = await sign(scene);
  const credential = (await exchangeToken(scene.server, token)).json.access_token;
  const entries = await auditOf(scene, `instance:${await idOf(scene, "ci-acme/deploy")}`);
  const kinds = entries.map(({ kind }) => kind);
  assert.deepEqual(kinds, ["instance.provisioned", "instance.credential_issued"]);
  const { credential_id: _, ...detail } = entries[1]?.detail ?? {};
  assert.deepEqual(detail, {
    expires_at: scene.clock.now() + HOUR_MS,
    rule: "ci",
    issuer: scene.issuer.url,
    token_subject: GITHUB.sub,
    token_id: "token-1",
  });
  const written = JSON.stringify(entries) + scene.lines.join("");
  assert.ok(!written.includes(credential) && !written.includes(token));
});

test("[ours.workload.expiry] expired credentials are purged", async (t) => {
  const scene = await startWorkloads(t);
  await issued(scene);
  const { context } = scene.server.provider;
  const count = async () => {
    const sql = "select count(*) as n from credential where kind = 'instance'";
    return Number((await context.store.get(sql))?.n);
  };
  const before = await count();
  scene.clock.advance(HOUR_MS);
  await purgeExpired(context);
  assert.equal(await count(), before - 1);
});

test("[ours.workload.protocol] exchanges of an address beyond unauthenticated_rate return 429", async (t) => {
  const scene = await startWorkloads(t);
  const settings = { workload_identity: scene.file, unauthenticated_rate: "1" };
  const { server } = await restart(t, scene, settings);
  const answers: number[] = [];
  for (let at = 0; at < 3; at++) {
    answers.push((await exchangeToken(server, "x", { subject_token_type: JWT_TYPE })).status);
  }
  assert.deepEqual(answers, [400, 400, 429]);
  // A user at the same address can sign in.
  const headers = { origin: server.url, "content-type": "application/json" };
  const body = JSON.stringify({ login: "stranger", password: "wrong password" });
  const address = `${server.url}/review/v1/session`;
  const signIn = await fetch(address, { method: "POST", headers, body });
  assert.equal(signIn.status, 401);
});
