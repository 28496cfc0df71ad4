import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Problem } from "@countersign/protocol";
import {
  type OpenidOptions,
  OTHER_KEY,
  resigned,
  startOpenidProvider,
  type TestOpenidProvider,
} from "../../test/support/openid-provider.ts";
import { systemClock } from "../clock.ts";
import { Failure } from "../failure.ts";
import { OpenidProvider, type OpenidProviderOptions } from "./openid-provider.ts";

const US = "http://localhost:1";
const REDIRECT_URI = `${US}/review/v1/session/oidc/callback`;

const SECRETS = { state: "a state", nonce: "a nonce", codeVerifier: "v".repeat(43) };

interface Scene {
  readonly there: TestOpenidProvider;
  readonly here: OpenidProvider;
  /** Why answers were refused, for the log. */
  readonly reasons: string[];
}

async function startScene(
  t: TestContext,
  options: OpenidOptions & Partial<OpenidProviderOptions> = {},
): Promise<Scene> {
  const there = await startOpenidProvider(t, options);
  there.register(US);
  const reasons: string[] = [];
  const here = new OpenidProvider({
    issuer: there.issuer,
    clientId: "countersign",
    clientSecret: there.settings.oidc_client_secret,
    scopes: "openid profile email",
    wantedClaims: ["preferred_username", "name", "groups"],
    clock: systemClock,
    onRefused: (reason) => reasons.push(reason),
    ...options,
  });
  return { there, here, reasons };
}

/** A browser at the provider: until it is sent back. */
async function authorize({ here }: Pick<Scene, "here">, secrets = SECRETS): Promise<URL> {
  let url = await here.authorizationUrl(REDIRECT_URI, secrets);
  const cookies = new Map<string, string>();
  while (!url.startsWith(US)) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { cookie } });
    for (const each of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(each) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    assert.ok(location, `${url} answered ${response.status}: ${await response.text()}`);
    url = new URL(location, url).href;
  }
  return new URL(url);
}

async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => assert.fail("it was not refused"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Problem, String(error));
  assert.equal(error.code, "sign_in_refused");
  return error.message;
}

for (const options of [{}, { isPublic: true }, { thinIdToken: true }]) {
  const kind = Object.keys(options).join() || "usual";
  test(`[ours.oidc.flow] a code is redeemed for the claims of a person: ${kind} client`, async (t) => {
    const scene = await startScene(t, options);
    scene.there.account = { ...scene.there.account, groups: ["dba"] };
    const claims = await scene.here.redeem(await authorize(scene), SECRETS);
    assert.equal(claims.sub, "ana-1");
    assert.equal(claims.preferred_username, "ana");
    assert.deepEqual(claims.groups, ["dba"]);
    assert.equal(claims.iss, scene.there.issuer);
  });
}

test("[ours.oidc.flow] the browser is sent with PKCE, state and nonce, and no secret", async (t) => {
  const { here } = await startScene(t);
  const { searchParams } = new URL(await here.authorizationUrl(REDIRECT_URI, SECRETS));
  assert.equal(searchParams.get("response_type"), "code");
  assert.equal(searchParams.get("code_challenge_method"), "S256");
  assert.equal(searchParams.get("state"), SECRETS.state);
  assert.equal(searchParams.get("nonce"), SECRETS.nonce);
  assert.ok(![...searchParams.values()].includes(SECRETS.codeVerifier));
  assert.ok(!searchParams.has("client_secret"));
});

test("[ours.oidc.answer] the server rejects an answer of another sign-in", async (t) => {
  const scene = await startScene(t);
  const wrong: Readonly<Record<string, object>> = {
    state: { state: "another" },
    nonce: { nonce: "another" },
    verifier: { codeVerifier: "w".repeat(43) },
  };
  for (const [name, secrets] of Object.entries(wrong)) {
    const callback = await authorize(scene);
    await refusal(scene.here.redeem(callback, { ...SECRETS, ...secrets }));
    assert.equal(scene.reasons.length, 1, name);
    scene.reasons.length = 0;
  }
});

test("[ours.oidc.answer] the server rejects an answer without or with another issuer", async (t) => {
  const scene = await startScene(t);
  const callback = await authorize(scene);
  assert.equal(callback.searchParams.get("iss"), scene.there.issuer);
  for (const change of [
    (url: URL) => url.searchParams.delete("iss"),
    (url: URL) => url.searchParams.set("iss", "https://other.example.com"),
    (url: URL) => url.searchParams.append("iss", scene.there.issuer),
    (url: URL) => url.searchParams.append("code", "another"),
    (url: URL) => url.searchParams.append("state", SECRETS.state),
  ]) {
    const changed = new URL(callback);
    change(changed);
    await refusal(scene.here.redeem(changed, SECRETS));
  }
  assert.equal((await scene.here.redeem(callback, SECRETS)).sub, "ana-1");
});

test("[ours.oidc.answer] a code is redeemed once", async (t) => {
  const scene = await startScene(t);
  const callback = await authorize(scene);
  await scene.here.redeem(callback, SECRETS);
  assert.match(
    await refusal(scene.here.redeem(callback, SECRETS)),
    /was already used or has expired/,
  );
});

const FORGERIES: Readonly<Record<string, readonly [RegExp, (token: string) => string]>> = {
  "signed by another key": [
    /signature verification failed$/,
    (token) => resigned(token, () => {}, OTHER_KEY),
  ],
  "by an unknown key": [
    /no applicable keys found/,
    (token) => resigned(token, ({ header }) => Object.assign(header, { kid: "two" }), OTHER_KEY),
  ],
  "not signed": [
    /unexpected JWT "alg"/,
    (token) => resigned(token, ({ header }) => Object.assign(header, { alg: "none" })),
  ],
  "of which the payload was changed": [
    /signature verification failed$/,
    (token) => {
      const [header, , signature] = token.split(".");
      const other = resigned(token, ({ payload }) => Object.assign(payload, { sub: "li" }));
      return `${header}.${other.split(".")[1]}.${signature}`;
    },
  ],
  "for another audience": [/"aud"/, (token) => withClaims(token, { aud: "other" })],
  "for several, by another party": [
    /"azp"/,
    (token) => withClaims(token, { aud: ["countersign", "b"], azp: "b" }),
  ],
  "of another issuer": [/"iss"/, (token) => withClaims(token, { iss: "https://b.example.com" })],
  "with another nonce": [/"nonce"/, (token) => withClaims(token, { nonce: "another" })],
  "without a nonce": [/"nonce"/, (token) => withClaims(token, { nonce: undefined })],
  "that has expired": [/"exp"/, (token) => withClaims(token, { exp: 1_700_000_000 })],
  "without a subject": [/"sub"/, (token) => withClaims(token, { sub: undefined })],
  "that is none": [/Invalid JWT/, () => "nothing"],
};

function withClaims(token: string, claims: object): string {
  return resigned(token, ({ payload }) => Object.assign(payload, claims));
}

for (const [kind, [reason, forge]] of Object.entries(FORGERIES)) {
  test(`[ours.oidc.token] the server rejects an id token ${kind}`, async (t) => {
    const scene = await startScene(t);
    scene.there.forge = forge;
    await refusal(scene.here.redeem(await authorize(scene), SECRETS));
    assert.match(scene.reasons.join(), reason);
    // The very same way, with a token that is as it must be.
    scene.there.forge = (token) => resigned(token, () => {});
    assert.equal((await scene.here.redeem(await authorize(scene), SECRETS)).sub, "ana-1");
  });
}

test("[ours.oidc.token] userinfo of another subject is rejected", async (t) => {
  const scene = await startScene(t, { thinIdToken: true });
  scene.there.answers.set("/me", (response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ sub: "li-1", groups: ["platform"] }));
  });
  await refusal(scene.here.redeem(await authorize(scene), SECRETS));
});

test("[ours.oidc.refused] a refusal of the provider is reported with its error code", async (t) => {
  const scene = await startScene(t);
  scene.there.error = "access_denied";
  const message = await refusal(scene.here.redeem(await authorize(scene), SECRETS));
  assert.equal(message, "The identity provider returned the error access_denied.");
  const callback = await authorize(scene);
  callback.searchParams.set("error", "<script>alert(1)</script>");
  assert.doesNotMatch(await refusal(scene.here.redeem(callback, SECRETS)), /script/);
});

const AILING: Readonly<Record<string, (there: TestOpenidProvider) => unknown>> = {
  "is not there": (there) => there.stop(),
  "never answers": (there) => there.answers.set("/.well-known/openid-configuration", () => {}),
  "answers 500": (there) =>
    there.answers.set("/.well-known/openid-configuration", (response) => {
      response.writeHead(500).end();
    }),
  "answers with a page": (there) =>
    there.answers.set("/.well-known/openid-configuration", (response) => {
      response.setHeader("content-type", "text/html");
      response.end("<h1>Down for today</h1>");
    }),
  "sends the description elsewhere": (there) =>
    there.answers.set("/.well-known/openid-configuration", (response) => {
      response.writeHead(302, { location: `${there.issuer}/elsewhere` }).end();
    }),
  "describes itself without end": (there) =>
    there.answers.set("/.well-known/openid-configuration", (response) => {
      response.setHeader("content-type", "application/json");
      response.end(`{"issuer":"${" ".repeat(1_048_576)}"}`);
    }),
  "calls itself otherwise": (there) =>
    there.answers.set("/.well-known/openid-configuration", (response) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ issuer: `${there.issuer}/` }));
    }),
  "names an endpoint without encryption": (there) =>
    there.answers.set("/.well-known/openid-configuration", (response) => {
      response.setHeader("content-type", "application/json");
      const token_endpoint = "http://login.example.com/token";
      const { issuer } = there;
      const authorization_endpoint = `${issuer}/auth`;
      response.end(JSON.stringify({ issuer, authorization_endpoint, token_endpoint }));
    }),
};

for (const [kind, ail] of Object.entries(AILING)) {
  test(`[ours.oidc.unavailable] a provider that ${kind} is a failure, and no refusal`, async (t) => {
    const scene = await startScene(t, { timeoutMs: 100 });
    const callback = new URL(`${REDIRECT_URI}?code=a&state=${SECRETS.state}`);
    callback.searchParams.set("iss", scene.there.issuer);
    await ail(scene.there);
    await assert.rejects(scene.here.redeem(callback, SECRETS), Failure);
  });
}

const AILING_LATER: Readonly<Record<string, (there: TestOpenidProvider) => unknown>> = {
  "never answers for tokens": (there) => there.answers.set("/token", () => {}),
  "answers 503 for tokens": (there) =>
    there.answers.set("/token", (response) => {
      response.writeHead(503).end();
    }),
  "answers with a page for tokens": (there) =>
    there.answers.set("/token", (response) => {
      response.setHeader("content-type", "text/html");
      response.end("<h1>Down for today</h1>");
    }),
  "does not know its client": (there) =>
    there.answers.set("/token", (response) => {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: "invalid_client" }));
    }),
  "does not show its keys": (there) => there.answers.set("/jwks", () => {}),
};

for (const [kind, ail] of Object.entries(AILING_LATER)) {
  test(`[ours.oidc.unavailable] a provider that ${kind} is a failure, and heals`, async (t) => {
    const scene = await startScene(t, { timeoutMs: 1_000 });
    const callback = await authorize(scene);
    ail(scene.there);
    await assert.rejects(scene.here.redeem(callback, SECRETS), Failure);
    scene.there.answers.clear();
    assert.equal((await scene.here.redeem(await authorize(scene), SECRETS)).sub, "ana-1");
  });
}

test("[ours.oidc.unavailable] concurrent sign-ins share one discovery of the provider", async (t) => {
  const { there, here } = await startScene(t);
  const starts = Array.from({ length: 20 }, () => here.authorizationUrl(REDIRECT_URI, SECRETS));
  assert.equal(new Set(await Promise.all(starts)).size, 1);
  assert.equal(there.received.length, 1);
});

test("[ours.oidc.flow] a provider that takes the secret in the body alone gets it there", async (t) => {
  const scene = await startScene(t);
  const description = await fetch(`${scene.there.issuer}/.well-known/openid-configuration`);
  const metadata = (await description.json()) as object;
  scene.there.answers.set("/.well-known/openid-configuration", (response) => {
    response.setHeader("content-type", "application/json");
    const methods = { token_endpoint_auth_methods_supported: ["client_secret_post"] };
    response.end(JSON.stringify({ ...metadata, ...methods }));
  });
  const usual = await startScene(t);
  for (const { here, there } of [scene, usual]) {
    assert.equal((await here.redeem(await authorize({ here }), SECRETS)).sub, "ana-1");
    const redemption = there.received.find(({ path }) => path === "/token");
    const isBasic = redemption?.authorization?.startsWith("Basic ") ?? false;
    assert.equal(isBasic, there === usual.there);
  }
});
