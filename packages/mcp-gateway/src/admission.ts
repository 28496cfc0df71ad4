/**
 * Decides which HTTP exchanges are admitted: an expected host, no foreign web origin, and the
 * bearer token of the gateway or an access token of the configured issuer.
 *
 * @see https://datatracker.ietf.org/doc/html/rfc9728
 */

import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { type AccessToken, AccessTokens, TokenRejection } from "./oauth/access-tokens.ts";
import type { ResourceConfig } from "./oauth/config.ts";
import { OauthError } from "./oauth/discovery.ts";
import { explain, type Report } from "./report.ts";

/** The sender of an exchange. */
export interface Caller {
  /** Callers with equal keys may use the same sessions. */
  readonly key: string;
  /** Undefined for the bearer token of the gateway, which names no user. */
  readonly user: string | undefined;
}

export interface AdmissionConfig {
  /** Values of Host besides those of this machine. */
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  /** The bearer token that clients may send. */
  readonly token: string | undefined;
  readonly oauth: ResourceConfig | undefined;
}

/** Why an exchange is rejected before its content is read. */
export class Refusal extends Error {
  readonly status: number;
  /** The value of WWW-Authenticate. */
  readonly challenge: string | undefined;

  constructor(status: number, message: string, challenge?: string) {
    super(message);
    this.status = status;
    this.challenge = challenge;
  }
}

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

export class Admission {
  readonly #config: AdmissionConfig;
  readonly #token: Buffer | undefined;
  readonly #accessTokens: AccessTokens | undefined;
  readonly #report: Report;

  constructor(config: AdmissionConfig, report: Report) {
    this.#config = config;
    this.#report = report;
    this.#token = config.token === undefined ? undefined : digest(config.token);
    this.#accessTokens = config.oauth && new AccessTokens(config.oauth);
  }

  /** @throws Refusal if a web page may have sent it */
  checkSource({ host, origin }: IncomingHttpHeaders, port: number): void {
    const { hosts, origins } = this.#config;
    const names = ["127.0.0.1", "localhost", "[::1]"].map((name) => `${name}:${port}`);
    if (![...names, ...hosts].includes(host?.toLowerCase() ?? "")) {
      throw new Refusal(403, "Host not allowed. Add it to listen.hosts.");
    }
    if (origin !== undefined && !origins.includes(origin)) {
      throw new Refusal(403, "Origin not allowed.");
    }
  }

  /** The document at this path, if it is one for clients without a token. */
  metadataAt(path: string): object | undefined {
    const { oauth } = this.#config;
    if (oauth === undefined || ![WELL_KNOWN, metadataPath(oauth)].includes(path)) return undefined;
    return {
      resource: oauth.resource,
      authorization_servers: [oauth.issuer],
      bearer_methods_supported: ["header"],
      ...(oauth.scopes.length > 0 && { scopes_supported: oauth.scopes }),
      resource_name: "Countersign MCP gateway",
    };
  }

  /** @throws Refusal */
  async authenticate({ authorization }: IncomingHttpHeaders): Promise<Caller> {
    const given = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
    if (given === undefined) {
      const message = "The bearer token of the gateway is missing.";
      throw new Refusal(401, message, this.#challenge());
    }
    if (this.#token !== undefined && timingSafeEqual(digest(given), this.#token)) {
      return { key: "token", user: undefined };
    }
    if (this.#accessTokens === undefined) {
      throw new Refusal(401, "The bearer token of the gateway is wrong.", this.#challenge());
    }
    const { subject, user } = await this.#verify(this.#accessTokens, given);
    return { key: `subject ${subject}`, user };
  }

  async #verify(tokens: AccessTokens, given: string): Promise<AccessToken> {
    try {
      return await tokens.verify(given);
    } catch (error) {
      if (error instanceof TokenRejection) {
        this.#report("token_rejected", { reason: error.message });
        const status = error.code === "insufficient_scope" ? 403 : 401;
        throw new Refusal(status, error.message, this.#challenge(error));
      }
      if (!(error instanceof OauthError)) throw error;
      this.#report("token_not_checked", { reason: explain(error) });
      throw new Refusal(503, "The gateway cannot check the access token now. Retry later.");
    }
  }

  #challenge(rejection?: TokenRejection): string {
    const { oauth } = this.#config;
    const realm = 'Bearer realm="countersign-gateway"';
    if (oauth === undefined) return realm;
    const metadata = new URL(metadataPath(oauth), oauth.resource).href;
    const parts = [realm, `resource_metadata="${metadata}"`];
    if (oauth.scopes.length > 0) parts.push(`scope="${oauth.scopes.join(" ")}"`);
    if (rejection !== undefined) {
      parts.push(`error="${rejection.code}"`, `error_description="${rejection.message}"`);
    }
    return parts.join(", ");
  }
}

/** RFC 9728 inserts the path of the resource after the well-known path. */
function metadataPath({ resource }: ResourceConfig): string {
  return WELL_KNOWN + new URL(resource).pathname.replace(/\/$/, "");
}

/** Of equal length, whatever is compared. */
function digest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
