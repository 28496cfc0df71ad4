/**
 * The gateway as a client of authorization servers: finds the one that protects a server, and
 * requests tokens for this server only.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 */

import { systemTiming } from "@countersign/sdk";
import { extractWWWAuthenticateParams } from "@modelcontextprotocol/sdk/client/auth.js";
import { OAuthProtectedResourceMetadataSchema } from "@modelcontextprotocol/sdk/shared/auth.js";
import { checkResourceAllowed } from "@modelcontextprotocol/sdk/shared/auth-utils.js";
import * as oauth from "oauth4webapi";
import { isPlainLoopback, isSameUrl, type LoginConfig } from "./config.ts";
import { createOauthFetch, discoverIssuer, OauthError, type OauthFetch } from "./discovery.ts";
import type { Login } from "./login-file.ts";

/** The purpose of a token, and the authorization server that issues it. */
export interface Protection {
  readonly resource: string;
  readonly authorization: oauth.AuthorizationServer;
  /** Scopes that the server requires. */
  readonly scopes: readonly string[];
}

export interface RegisteredClient {
  readonly id: string;
  readonly secret: string | undefined;
}

interface RequestOptions {
  readonly [oauth.customFetch]: OauthFetch;
  readonly [oauth.allowInsecureRequests]: boolean;
}

export class OauthClient {
  readonly #server: string;
  readonly #config: LoginConfig;
  readonly #fetch: OauthFetch;

  /** @param server URL of the server */
  constructor(server: string, config: LoginConfig) {
    this.#server = server;
    this.#config = config;
    this.#fetch = createOauthFetch(server);
  }

  /** @throws OauthError */
  async findProtection(): Promise<Protection> {
    const challenge = await this.#challenge();
    const metadata = await this.#resourceMetadata(challenge.resourceMetadataUrl);
    const { resource, authorization_servers: issuers = [], scopes_supported: supported } = metadata;
    // Otherwise a server could request tokens for another server.
    if (!isAllowed(this.#server, resource)) {
      throw new OauthError(`The metadata of ${this.#server} is about ${resource}.`);
    }
    const { issuer: expected } = this.#config;
    const issuer = expected ?? issuers[0];
    if (issuer === undefined || !issuers.some((one) => isSameUrl(one, issuer))) {
      const named = issuers.join(", ") || "none";
      throw new OauthError(`The metadata of ${this.#server} does not list the issuer: ${named}.`);
    }
    return {
      resource,
      authorization: await this.discover(issuer),
      scopes: challenge.scope?.split(" ") ?? supported ?? [],
    };
  }

  discover(issuer: string): Promise<oauth.AuthorizationServer> {
    return discoverIssuer(issuer, this.#fetch);
  }

  /** @throws OauthError */
  async register(
    authorization: oauth.AuthorizationServer,
    redirectUri: string,
  ): Promise<RegisteredClient> {
    const { clientId, clientSecret, clientMetadataUrl } = this.#config;
    if (clientId !== undefined) return { id: clientId, secret: clientSecret };
    if (clientMetadataUrl && authorization["client_id_metadata_document_supported"] === true) {
      return { id: clientMetadataUrl, secret: undefined };
    }
    if (authorization.registration_endpoint === undefined) {
      throw new OauthError(
        `${authorization.issuer} registers no clients. Register one, and set oauth.client_id.`,
      );
    }
    const description = {
      client_name: "Countersign MCP gateway",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "native",
    };
    return this.#request(authorization, async (options) => {
      const response = await oauth.dynamicClientRegistrationRequest(
        authorization,
        description,
        options,
      );
      const client = await oauth.processDynamicClientRegistrationResponse(response);
      const secret = client.client_secret;
      return { id: client.client_id, secret: typeof secret === "string" ? secret : undefined };
    });
  }

  /** @throws OauthError for an answer that belongs to another login or issuer */
  checkCallback(
    authorization: oauth.AuthorizationServer,
    client: RegisteredClient,
    callback: URLSearchParams,
    state: string,
  ): URLSearchParams {
    try {
      return oauth.validateAuthResponse(authorization, clientOf(client), callback, state);
    } catch (error) {
      throw explained(authorization, error);
    }
  }

  redeemCode(
    protection: Protection,
    client: RegisteredClient,
    redirect: {
      readonly callback: URLSearchParams;
      readonly uri: string;
      readonly verifier: string;
    },
  ): Promise<Login> {
    const { authorization, resource } = protection;
    return this.#request(authorization, async (options) => {
      const response = await oauth.authorizationCodeGrantRequest(
        authorization,
        clientOf(client),
        authenticationOf(authorization, client),
        redirect.callback,
        redirect.uri,
        redirect.verifier,
        { ...options, additionalParameters: { resource } },
      );
      const answer = await oauth.processAuthorizationCodeResponse(
        authorization,
        clientOf(client),
        response,
      );
      return this.#loginOf(protection, client, answer);
    });
  }

  async refresh(login: Login, refreshToken: string): Promise<Login> {
    const authorization = await this.discover(login.issuer);
    const { clientId, clientSecret } = this.#config;
    const secret = clientId === undefined ? login.clientSecret : clientSecret;
    const client = { id: login.clientId, secret };
    const { resource } = login;
    return this.#request(authorization, async (options) => {
      const response = await oauth.refreshTokenGrantRequest(
        authorization,
        clientOf(client),
        authenticationOf(authorization, client),
        refreshToken,
        { ...options, additionalParameters: { resource } },
      );
      const answer = await oauth.processRefreshTokenResponse(
        authorization,
        clientOf(client),
        response,
      );
      const refreshed = this.#loginOf({ authorization, resource }, client, answer);
      // An issuer without rotation returns no other refresh token.
      return { ...refreshed, refreshToken: answer.refresh_token ?? refreshToken };
    });
  }

  /** A token for the gateway itself, without a user. */
  async requestAsMachine(): Promise<Login> {
    const protection = await this.findProtection();
    const { authorization, resource } = protection;
    const client = await this.register(authorization, "");
    const scopes = this.scopesFor(protection);
    const parameters = new URLSearchParams({ resource });
    if (scopes.length > 0) parameters.set("scope", scopes.join(" "));
    return this.#request(authorization, async (options) => {
      const response = await oauth.clientCredentialsGrantRequest(
        authorization,
        clientOf(client),
        authenticationOf(authorization, client),
        parameters,
        options,
      );
      const answer = await oauth.processClientCredentialsResponse(
        authorization,
        clientOf(client),
        response,
      );
      return this.#loginOf(protection, client, answer);
    });
  }

  scopesFor({ scopes }: Protection): readonly string[] {
    return this.#config.scopes.length > 0 ? this.#config.scopes : scopes;
  }

  #loginOf(
    { authorization, resource }: Pick<Protection, "authorization" | "resource">,
    client: RegisteredClient,
    answer: oauth.TokenEndpointResponse,
  ): Login {
    if (answer.token_type !== "bearer") {
      throw new OauthError(`${authorization.issuer} issued no bearer token.`);
    }
    // The error for an invalid header would contain the token.
    if (!/^[\x21-\x7e]+$/.test(answer.access_token)) {
      throw new OauthError(`${authorization.issuer} issued a token with invalid characters.`);
    }
    const { expires_in: seconds } = answer;
    return {
      server: this.#server,
      issuer: authorization.issuer,
      resource,
      clientId: client.id,
      clientSecret: this.#config.clientId === undefined ? client.secret : undefined,
      accessToken: answer.access_token,
      refreshToken: answer.refresh_token,
      expiresAt: seconds === undefined ? undefined : systemTiming.now() + seconds * 1000,
    };
  }

  /** The answer of the server to a client without a token. */
  async #challenge(): Promise<ReturnType<typeof extractWWWAuthenticateParams>> {
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "countersign-mcp-gateway", version: "1" },
    };
    const response = await this.#fetch(this.#server, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
    });
    return response.status === 401 ? extractWWWAuthenticateParams(response) : {};
  }

  async #resourceMetadata(named: URL | undefined) {
    const { origin, pathname } = new URL(this.#server);
    const wellKnown = `${origin}/.well-known/oauth-protected-resource`;
    const urls = named ? [named.href] : [wellKnown + pathname.replace(/\/$/, ""), wellKnown];
    for (const url of urls) {
      const response = await this.#fetch(url, { headers: { accept: "application/json" } });
      if (response.status !== 200) continue;
      const read = OAuthProtectedResourceMetadataSchema.safeParse(
        await response.json().catch(() => undefined),
      );
      if (read.success) return read.data;
      throw new OauthError(`The metadata of ${this.#server} is not valid.`);
    }
    throw new OauthError(`${this.#server} has no metadata of a protected resource (RFC 9728).`);
  }

  /** @throws OauthError in place of the errors of the library */
  async #request<T>(
    authorization: oauth.AuthorizationServer,
    send: (options: RequestOptions) => Promise<T>,
  ): Promise<T> {
    try {
      return await send({
        [oauth.customFetch]: this.#fetch,
        // The fetch of the gateway rejects other URLs without https.
        [oauth.allowInsecureRequests]: isPlainLoopback(this.#server),
      });
    } catch (error) {
      throw explained(authorization, error);
    }
  }
}

function isAllowed(server: string, resource: string): boolean {
  if (!URL.canParse(resource)) return false;
  return checkResourceAllowed({ requestedResource: server, configuredResource: resource });
}

function clientOf({ id }: RegisteredClient): oauth.Client {
  return { client_id: id };
}

function authenticationOf(
  authorization: oauth.AuthorizationServer,
  { secret }: RegisteredClient,
): oauth.ClientAuth {
  if (secret === undefined) return oauth.None();
  const { token_endpoint_auth_methods_supported: methods } = authorization;
  const acceptsHeader = methods === undefined || methods.includes("client_secret_basic");
  return acceptsHeader ? oauth.ClientSecretBasic(secret) : oauth.ClientSecretPost(secret);
}

/** Only the library's message and the error code: answers can contain tokens. */
function explained(authorization: oauth.AuthorizationServer, error: unknown): OauthError {
  if (error instanceof OauthError) return error;
  const { error: code, cause, message } = Object(error) as Record<string, unknown>;
  if (cause instanceof OauthError) return cause;
  const isCode = typeof code === "string" && /^[a-z_]{1,40}$/.test(code);
  const reason = isCode ? `the error ${code}` : `an invalid answer: ${String(message)}`;
  return new OauthError(`${authorization.issuer} returned ${reason}.`);
}
