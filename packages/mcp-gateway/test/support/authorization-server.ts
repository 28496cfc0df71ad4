/**
 * A real authorization server on loopback, which issues JWTs for any resource. A browser that
 * visits it is signed in at once as its `account`. Tests can sign tokens with its key.
 */

import { createPublicKey, generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Owner } from "@countersign/testing/child";
import { type JWTHeaderParameters, type JWTPayload, SignJWT } from "jose";
import { type Context, Provider } from "oidc-provider";

export const SCOPE = "mcp:tools";

/** A registered client without a secret. */
export const DESKTOP = { client_id: "desktop", redirect_uris: ["http://127.0.0.1/callback"] };

export const MACHINE = { client_id: "robot", client_secret: "machine-secret-of-the-robot" };

/** A key that the server has not published. */
export const OTHER_KEY = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;

export type Claims = Readonly<Record<string, unknown>>;

export interface SignOptions {
  readonly header?: Partial<JWTHeaderParameters>;
  readonly key?: KeyObject | Uint8Array;
}

export class AuthorizationServer {
  readonly issuer: string;
  /** The user of the next sign-in. */
  account = "ana";
  /** Replaces the answer of a path. */
  readonly answers = new Map<
    string,
    (request: IncomingMessage, response: ServerResponse) => void
  >();
  /** The parameters of each token request. */
  readonly tokenRequests: Readonly<Record<string, unknown>>[] = [];
  /** Seconds that an access token is valid. */
  tokenSeconds = 600;
  readonly #key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  readonly #server: Server;
  readonly #provider: Provider;

  constructor(server: Server) {
    this.#server = server;
    this.issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
    this.#provider = this.#createProvider();
    const handle = this.#provider.callback();
    server.on("request", (request, response) => {
      this.#serve(request, response, handle).catch(() => response.destroy());
    });
  }

  /** As an attacker could use it: the text of the published key. */
  get publicKey(): Uint8Array {
    const pem = createPublicKey(this.#key).export({ type: "spki", format: "pem" });
    return Buffer.from(pem);
  }

  /** A token of this server, with other claims. A claim with the value undefined is absent. */
  sign(claims: Claims, { header = {}, key = this.#key }: SignOptions = {}): Promise<string> {
    const now = Math.floor(performance.timeOrigin / 1000 + performance.now() / 1000);
    const usual = {
      iss: this.issuer,
      sub: "ana",
      scope: SCOPE,
      iat: now,
      exp: now + 600,
      jti: randomUUID(),
    };
    return new SignJWT({ ...usual, ...claims } as JWTPayload)
      .setProtectedHeader({ alg: "RS256", kid: "one", typ: "at+jwt", ...header })
      .sign(key);
  }

  /** From now on it does not answer. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #createProvider(): Provider {
    const provider: Provider = new Provider(this.issuer, {
      clients: [
        {
          ...DESKTOP,
          application_type: "native",
          grant_types: ["authorization_code", "refresh_token"],
          token_endpoint_auth_method: "none",
        },
        {
          ...MACHINE,
          grant_types: ["client_credentials"],
          redirect_uris: [],
          response_types: [],
        },
      ],
      adapter: adapterOf(new Map()),
      jwks: { keys: [{ ...this.#key.export({ format: "jwk" }), kid: "one", use: "sig" }] },
      cookies: { keys: ["signs the cookies of a test"] },
      scopes: ["openid", "offline_access", SCOPE],
      features: {
        devInteractions: { enabled: false },
        registration: { enabled: true },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => "urn:none",
          useGrantedResource: () => true,
          getResourceServerInfo: (_: unknown, audience: string) => ({
            scope: SCOPE,
            audience,
            accessTokenFormat: "jwt",
            accessTokenTTL: this.tokenSeconds,
            jwt: { sign: { alg: "RS256" } },
          }),
        },
      },
      interactions: { url: () => "/interaction" },
      ttl: {
        Grant: 600,
        Session: 600,
        Interaction: 600,
        ClientCredentials: 600,
        AccessToken: 600,
        RefreshToken: 600,
      },
      pkce: { required: () => true },
      issueRefreshToken: () => true,
      rotateRefreshToken: true,
      findAccount: (_: unknown, accountId: string) => ({
        accountId,
        claims: () => ({ sub: accountId }),
      }),
      loadExistingGrant: (context: Context) => grantAll(provider, context),
    });
    provider.use(async (context, next) => {
      await next();
      if (context.path === "/token") this.tokenRequests.push({ ...context.oidc.params });
    });
    return provider;
  }

  async #serve(
    request: IncomingMessage,
    response: ServerResponse,
    handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  ): Promise<void> {
    const [path = ""] = (request.url ?? "").split("?", 1);
    const answer = this.answers.get(path);
    if (answer !== undefined) return answer(request, response);
    if (path !== "/interaction") return handle(request, response);
    // A native client always requires the consent of the user.
    const result = { login: { accountId: this.account, remember: false }, consent: {} };
    await this.#provider.interactionFinished(request, response, result);
  }
}

interface Stored {
  readonly uid?: string;
  readonly grantId?: string;
  consumed?: number;
}

/** The provider's storage; its own would warn at every start. */
function adapterOf(rows: Map<string, Stored>) {
  return class {
    readonly #kind: string;

    constructor(kind: string) {
      this.#kind = kind;
    }

    async upsert(id: string, stored: Stored): Promise<void> {
      rows.set(`${this.#kind}:${id}`, stored);
    }

    async find(id: string): Promise<Stored | undefined> {
      return rows.get(`${this.#kind}:${id}`);
    }

    async findByUid(uid: string): Promise<Stored | undefined> {
      return [...rows.values()].find((stored) => stored.uid === uid);
    }

    async destroy(id: string): Promise<void> {
      rows.delete(`${this.#kind}:${id}`);
    }

    async consume(id: string): Promise<void> {
      const stored = await this.find(id);
      if (stored !== undefined) stored.consumed = 1;
    }

    async revokeByGrantId(grantId: string): Promise<void> {
      for (const [id, stored] of rows) if (stored.grantId === grantId) rows.delete(id);
    }
  };
}

/** Everything that is asked for is granted. */
async function grantAll(provider: Provider, { oidc }: Context): Promise<unknown> {
  const { clientId } = oidc.client;
  const grant = new provider.Grant({ clientId, accountId: oidc.session.accountId });
  grant.addOIDCScope(`openid offline_access ${SCOPE}`);
  grant.addResourceScope(String(oidc.params["resource"]), SCOPE);
  await grant.save();
  return grant;
}

/** Stops with its owner. */
export async function startAuthorizationServer(owner: Owner): Promise<AuthorizationServer> {
  const server = createServer();
  server.listen(0, "localhost");
  await once(server, "listening");
  const authorization = new AuthorizationServer(server);
  owner.after(() => authorization.stop());
  return authorization;
}

/** Follows redirects as a browser does, up to a redirect to this address. */
export async function visit(start: URL, until: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = start;
  for (let hops = 0; hops < 10; hops++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { cookie } });
    const text = await response.text();
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (location === null) throw new Error(`${url.pathname}: ${response.status} ${text}`);
    url = new URL(location, url);
    if (url.href.startsWith(until)) return url;
  }
  throw new Error("too many redirects");
}
