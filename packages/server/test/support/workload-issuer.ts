/**
 * An issuer of workload tokens in this process, on loopback: discovery document, keys, and tokens
 * with the claims of the platforms, signed by a library.
 */

import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  exportJWK,
  exportSPKI,
  type GenerateKeyPairResult,
  generateKeyPair,
  type JWTPayload,
  SignJWT,
  UnsecuredJWT,
} from "jose";
import type { Answer, Lifetime, TestProvider } from "./test-provider.ts";

export const AUDIENCE = "https://countersign.example.com";

export const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:token-exchange";

export const JWT_TYPE = "urn:ietf:params:oauth:token-type:jwt";

/** Claims that are undefined are omitted. */
export type TestClaims = Readonly<Record<string, unknown>>;

export interface SignOptions {
  /** Epoch ms. */
  readonly now: number;
  readonly alg?: string;
  readonly kid?: string;
  readonly typ?: string;
  readonly key?: GenerateKeyPairResult["privateKey"];
}

export class TestIssuer {
  readonly url: string;
  readonly audience = AUDIENCE;
  readonly server: Server;
  readonly keys: GenerateKeyPairResult;
  /** Replaces the answer of a path. */
  readonly answers = new Map<string, (response: ServerResponse) => void>();
  /** Requested paths. */
  readonly received: string[] = [];

  constructor(server: Server, keys: GenerateKeyPairResult) {
    this.server = server;
    this.keys = keys;
    this.url = `http://localhost:${(server.address() as AddressInfo).port}`;
    server.on("request", (request, response) => void this.#answer(request.url ?? "", response));
  }

  /** As a JWK set. */
  async jwks(use = "sig"): Promise<object> {
    return { keys: [{ ...(await exportJWK(this.keys.publicKey)), kid: "one", use }] };
  }

  /** The public key as PEM, which attackers have too. */
  publicPem(): Promise<string> {
    return exportSPKI(this.keys.publicKey);
  }

  sign(claims: TestClaims, options: SignOptions): Promise<string> {
    const { alg = "RS256", kid = "one", typ, key = this.keys.privateKey } = options;
    const header = typ === undefined ? { alg, kid } : { alg, kid, typ };
    return new SignJWT(this.complete(claims, options.now)).setProtectedHeader(header).sign(key);
  }

  unsigned(claims: TestClaims, now: number): string {
    return new UnsecuredJWT(this.complete(claims, now)).encode();
  }

  async stop(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, "close");
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  complete(claims: TestClaims, now: number): JWTPayload {
    const iat = Math.floor(now / 1_000);
    const defaults = { iss: this.url, aud: AUDIENCE, iat, exp: iat + 300, jti: "token-1" };
    return { ...defaults, ...claims } as JWTPayload;
  }

  async #answer(path: string, response: ServerResponse): Promise<void> {
    this.received.push(path);
    const answer = this.answers.get(path);
    if (answer !== undefined) return answer(response);
    const documents: Readonly<Record<string, object>> = {
      "/.well-known/openid-configuration": { issuer: this.url, jwks_uri: `${this.url}/keys` },
      "/keys": await this.jwks(),
    };
    const document = documents[path];
    response.writeHead(document === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(document ?? {}));
  }
}

/** Stops with the test. */
export async function startIssuer(t: Lifetime): Promise<TestIssuer> {
  const server = createServer();
  server.listen(0, "localhost");
  await once(server, "listening");
  const issuer = new TestIssuer(server, await generateKeyPair("RS256", { extractable: true }));
  t.after(() => issuer.stop());
  return issuer;
}

/** Writes a file of the setting `workload_identity`. @returns its path */
export function writeWorkloadFile(t: Lifetime, content: object, others: object = {}): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-workload-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, document] of Object.entries(others)) {
    writeFileSync(join(folder, name), JSON.stringify(document));
  }
  const file = join(folder, "workloads.yaml");
  writeFileSync(file, JSON.stringify(content));
  return file;
}

export interface TokenAnswer {
  readonly access_token: string;
  readonly issued_token_type: string;
  readonly token_type: string;
  readonly expires_in: number;
  readonly error?: string;
  readonly error_description?: string;
}

/** Exchanges a token. Parameters that are undefined are omitted. */
export async function exchangeToken(
  server: Pick<TestProvider, "url">,
  subjectToken: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<Answer<TokenAnswer>> {
  const body = new URLSearchParams({
    grant_type: GRANT_TYPE,
    subject_token: subjectToken,
    subject_token_type: JWT_TYPE,
    ...parameters,
  });
  const response = await fetch(`${server.url}/agent/v1/token`, { method: "POST", body });
  const text = await response.text();
  const { status, headers } = response;
  return { status, headers, text, json: JSON.parse(text) as TokenAnswer };
}

/** A token that the server must reject, and the reason that it returns. */
export interface Forgery {
  readonly reason: RegExp;
  readonly forge: (issuer: TestIssuer, now: number) => Promise<string>;
}

/** @param claims that a rule accepts */
export function forgeries(claims: TestClaims): Readonly<Record<string, Forgery>> {
  const withClaims = (reason: RegExp, change: TestClaims): Forgery => ({
    reason,
    forge: (issuer, now) => issuer.sign({ ...claims, ...change }, { now }),
  });
  const at = (ms: number) => Math.floor((FORGED_AT + ms) / 1_000);
  return {
    "that is not a JWT": { reason: /not a JWT/, forge: async () => "nothing" },
    "without a signature": {
      reason: /not allowed|not a JWT/,
      forge: async (issuer, now) => issuer.unsigned(claims, now),
    },
    "with HS256 and the public key as its secret": {
      reason: /algorithm is not allowed/,
      forge: async (issuer, now) => {
        const secret = new TextEncoder().encode(await issuer.publicPem());
        const header = { alg: "HS256", kid: "one" };
        return new SignJWT(issuer.complete(claims, now)).setProtectedHeader(header).sign(secret);
      },
    },
    "with another key": {
      reason: /signature is wrong/,
      forge: async (issuer, now) => {
        const { privateKey: key } = await generateKeyPair("RS256");
        return issuer.sign(claims, { now, key });
      },
    },
    "with a key that the issuer does not publish": {
      reason: /no such key/,
      forge: (issuer, now) => issuer.sign(claims, { now, kid: "two" }),
    },
    "with changed claims": {
      reason: /signature is wrong/,
      forge: async (issuer, now) => {
        const [header, , signature] = (await issuer.sign({ sub: "x" }, { now })).split(".");
        const [, payload] = (await issuer.sign(claims, { now })).split(".");
        return `${header}.${payload}.${signature}`;
      },
    },
    "of another type": {
      reason: /type is not JWT/,
      forge: (issuer, now) => issuer.sign(claims, { now, typ: "logout+jwt" }),
    },
    "for another audience": withClaims(/aud differs/, { aud: "https://other.example.com" }),
    "without an audience": withClaims(/aud is missing/, { aud: undefined }),
    "for several audiences": withClaims(/more than one audience/, { aud: [AUDIENCE, "other"] }),
    "of an unknown issuer": withClaims(/issuer is not configured/, { iss: "https://evil.test" }),
    "without an issuer": withClaims(/issuer is not configured/, { iss: undefined }),
    "that has expired": withClaims(/has expired/, { exp: at(-11_000) }),
    "without exp": withClaims(/exp is missing/, { exp: undefined }),
    "without iat": withClaims(/iat is missing/, { iat: undefined }),
    "older than an hour": withClaims(/older than/, { iat: at(-3_611_000), exp: at(60_000) }),
    "from the future": withClaims(/iat differs/, { iat: at(60_000), exp: at(120_000) }),
    "that is not valid yet": withClaims(/nbf differs/, { nbf: at(60_000) }),
    "without a subject": withClaims(/sub is missing/, { sub: undefined }),
    "with an empty subject": withClaims(/no subject/, { sub: "" }),
    "bound to a key of its holder": withClaims(/not a bearer token/, { cnf: { jkt: "a" } }),
  };
}

/** The time of a ManualClock at the start. */
const FORGED_AT = Date.UTC(2026, 0, 1);
