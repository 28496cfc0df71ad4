/**
 * A real OpenID provider in this process, on loopback. A browser sent there is signed in at once
 * as its `account`; tests change what it says of that account, and what it does wrong.
 */

import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Context, Provider } from "oidc-provider";
import { PROVIDER_LOGOUT_PATH } from "../../src/http/provider-logout-routes.ts";
import type { Lifetime } from "./test-provider.ts";

export const CLIENT_ID = "countersign";
export const CLIENT_SECRET = "a secret that only the two of them know";

export interface Account {
  readonly sub: string;
  readonly preferred_username?: string;
  readonly name?: string;
  readonly groups?: unknown;
  readonly [claim: string]: unknown;
}

export type TokenParts = { header: Record<string, unknown>; payload: Record<string, unknown> };

export interface OpenidOptions {
  /** A client without a secret. */
  readonly isPublic?: boolean;
  /** Claims are in the userinfo alone, as that of the standard would have it. */
  readonly thinIdToken?: boolean;
}

const KEY = generateKeyPairSync("rsa", { modulusLength: 2048 });

/** A key that no provider has published. */
export const OTHER_KEY = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;

export class TestOpenidProvider {
  readonly issuer: string;
  readonly server: Server;
  /** The user of the next sign-in. */
  account: Account = { sub: "ana-1", preferred_username: "ana", name: "Ana Lima" };
  /** An error to answer instead of a code. */
  error: string | undefined;
  /** Makes another id token of the one that the provider has signed. */
  forge: ((token: string) => string) | undefined;
  /** Changes any answer: by path. */
  readonly answers = new Map<string, (response: ServerResponse) => void>();
  /** As they came. */
  readonly received: { readonly path: string; readonly authorization: string | undefined }[] = [];
  /** Of logouts that the provider sent, and that were not answered with 200 or 204. */
  readonly logoutErrors: string[] = [];
  readonly #options: OpenidOptions;
  #handle: ((request: IncomingMessage, response: ServerResponse) => Promise<void>) | undefined;
  #provider: Provider | undefined;

  constructor(server: Server, options: OpenidOptions) {
    this.server = server;
    this.#options = options;
    this.issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
    server.on("request", (request, response) => void this.#serve(request, response));
  }

  /** The settings of a server whose people sign in here. */
  get settings(): Readonly<Record<string, string>> {
    return {
      oidc_issuer: this.issuer,
      oidc_client_id: CLIENT_ID,
      ...(this.#options.isPublic ? {} : { oidc_client_secret: CLIENT_SECRET }),
    };
  }

  /** Takes the server that listens there for a client. */
  register(url: string): void {
    const { isPublic = false, thinIdToken = false } = this.#options;
    const client = {
      client_id: CLIENT_ID,
      redirect_uris: [`${url}/review/v1/session/oidc/callback`],
      backchannel_logout_uri: `${url}${PROVIDER_LOGOUT_PATH}`,
      backchannel_logout_session_required: true,
      ...(isPublic ? { token_endpoint_auth_method: "none" } : { client_secret: CLIENT_SECRET }),
    };
    const claims = ["preferred_username", "name", "groups", "email", "email_verified"];
    const provider = new Provider(this.issuer, {
      clients: [client],
      adapter: MapAdapter,
      jwks: { keys: [{ ...KEY.privateKey.export({ format: "jwk" }), kid: "one", use: "sig" }] },
      cookies: { keys: ["signs the cookies of a test"] },
      claims: { openid: ["sub", "_claim_names", "hasgroups"], profile: claims, email: [] },
      conformIdTokenClaims: thinIdToken,
      features: {
        devInteractions: { enabled: false },
        backchannelLogout: { enabled: true },
        rpInitiatedLogout: { logoutSource: showLogoutForm },
      },
      // Without its own guard, which permits no loopback.
      fetch: (url: string, { dispatcher: _, ...init }: RequestInit & { dispatcher: unknown }) =>
        fetch(url, init),
      interactions: { url: () => "/interaction" },
      ttl: { Grant: 600, Session: 600, Interaction: 600, IdToken: 600, AccessToken: 600 },
      pkce: { required: () => true },
      findAccount: (_: unknown, accountId: string) => ({ accountId, claims: () => this.account }),
      loadExistingGrant: (context: Context) => grantAll(provider, context),
    });
    provider.use(async (context, next) => {
      await next();
      this.#forgeIn(context);
    });
    provider.on("backchannel.error", (_, error) => this.logoutErrors.push(String(error)));
    this.#provider = provider;
    this.#handle = provider.callback();
  }

  /** A signed logout token; `undefined` removes a claim. */
  logoutToken(
    { header = {}, ...claims }: { readonly header?: object; readonly [claim: string]: unknown },
    key?: KeyObject,
  ): string {
    const now = Math.floor(Date.now() / 1_000);
    const payload = {
      iss: this.issuer,
      aud: CLIENT_ID,
      iat: now,
      exp: now + 120,
      jti: randomUUID(),
      events: { "http://schemas.openid.net/event/backchannel-logout": {} },
      ...claims,
    };
    const unsigned = `${encode({ alg: "RS256", kid: "one", typ: "logout+jwt", ...header })}.`;
    return resigned(`${unsigned}${encode(payload)}.`, () => {}, key);
  }

  /** From now on the provider does not answer. */
  async stop(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, "close");
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    this.received.push({ path, authorization: request.headers.authorization });
    const answer = this.answers.get(path);
    if (answer !== undefined) return answer(response);
    assert.ok(this.#provider !== undefined && this.#handle !== undefined, "no client yet");
    if (path !== "/interaction") return this.#handle(request, response);
    const result = this.error
      ? { error: this.error, error_description: "of the test" }
      : { login: { accountId: this.account.sub, remember: false } };
    await this.#provider.interactionFinished(request, response, result);
  }

  #forgeIn(context: Context): void {
    const body = context.body as { id_token?: string } | undefined;
    if (context.path !== "/token" || body?.id_token === undefined || !this.forge) return;
    body.id_token = this.forge(body.id_token);
  }
}

/** The page on which a user confirms a sign-out at the provider. */
function showLogoutForm(context: Context, form: string): void {
  context.body = form;
}

interface Stored {
  readonly uid?: string;
  readonly grantId?: string;
  consumed?: number;
}

/** The provider's storage; its own would warn at every start. */
class MapAdapter {
  static readonly #rows = new Map<string, Stored>();
  readonly #kind: string;

  constructor(kind: string) {
    this.#kind = kind;
  }

  async upsert(id: string, stored: Stored): Promise<void> {
    MapAdapter.#rows.set(`${this.#kind}:${id}`, stored);
  }

  async find(id: string): Promise<Stored | undefined> {
    return MapAdapter.#rows.get(`${this.#kind}:${id}`);
  }

  async findByUid(uid: string): Promise<Stored | undefined> {
    return [...MapAdapter.#rows.values()].find((stored) => stored.uid === uid);
  }

  async destroy(id: string): Promise<void> {
    MapAdapter.#rows.delete(`${this.#kind}:${id}`);
  }

  async consume(id: string): Promise<void> {
    const stored = await this.find(id);
    if (stored !== undefined) stored.consumed = 1;
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const [id, stored] of MapAdapter.#rows) {
      if (stored.grantId === grantId) MapAdapter.#rows.delete(id);
    }
  }
}

/** Everything that is asked for is granted. */
async function grantAll(provider: Provider, { oidc }: Context): Promise<unknown> {
  const { clientId } = oidc.client;
  const grant = new provider.Grant({ clientId, accountId: oidc.session.accountId });
  grant.addOIDCScope("openid profile email");
  await grant.save();
  return grant;
}

/** The same token with other parts, signed by the provider's own key or by another. */
export function resigned(
  token: string,
  change: (parts: TokenParts) => void,
  key: KeyObject | undefined = KEY.privateKey,
): string {
  const [header = "", payload = ""] = token.split(".");
  const parts = { header: decode(header), payload: decode(payload) };
  change(parts);
  const signed = `${encode(parts.header)}.${encode(parts.payload)}`;
  if (parts.header.alg === "none") return `${signed}.`;
  return `${signed}.${sign("sha256", Buffer.from(signed), key).toString("base64url")}`;
}

function decode(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>;
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}

/** Stops with the test. */
export async function startOpenidProvider(
  t: Lifetime,
  options: OpenidOptions = {},
): Promise<TestOpenidProvider> {
  const server = createServer();
  server.listen(0, "localhost");
  await once(server, "listening");
  const provider = new TestOpenidProvider(server, options);
  t.after(() => provider.stop());
  return provider;
}
