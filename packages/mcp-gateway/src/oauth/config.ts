/** The `oauth` sections of the config file. */

import type { Section } from "../section.ts";

/** How the gateway checks the access tokens of its HTTP clients. */
export interface ResourceConfig {
  readonly issuer: string;
  /** URL of the gateway as clients know it. */
  readonly resource: string;
  /** Required value of `aud`. */
  readonly audience: string;
  /** Undefined: the metadata of the issuer contains it. */
  readonly jwksUrl: string | undefined;
  /** A token needs all of them. */
  readonly scopes: readonly string[];
  /** The claim that becomes `context.user`. */
  readonly userClaim: string;
}

/** Names of this machine in URLs. */
export const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** The characters of a scope in RFC 6749, and of a text in WWW-Authenticate. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
const CLAIM = SCOPE;

export function readResource(oauth: Section | undefined): ResourceConfig | undefined {
  if (oauth === undefined) return undefined;
  const resource = readUrl(oauth, "resource") ?? "";
  const config = {
    issuer: readUrl(oauth, "issuer") ?? "",
    resource,
    audience: oauth.text("audience") ?? resource,
    jwksUrl: readUrl(oauth, "jwks_url"),
    scopes: readScopes(oauth),
    userClaim: oauth.text("user_claim") ?? "sub",
  };
  if (config.issuer === "") oauth.fault("issuer", "is required");
  if (config.resource === "") oauth.fault("resource", "is required");
  if (config.audience === "" && config.resource !== "") {
    oauth.fault("audience", "must not be empty");
  }
  if (!CLAIM.test(config.userClaim)) {
    oauth.fault("user_claim", 'must be the name of a claim without spaces, " and \\');
  }
  oauth.end();
  return config;
}

export function readScopes(oauth: Section): string[] {
  const scopes = oauth.texts("scopes") ?? [];
  if (scopes.some((scope) => !SCOPE.test(scope))) {
    oauth.fault("scopes", 'must contain scopes without spaces, " and \\');
  }
  return scopes;
}

/** A URL that can identify an issuer or a resource. */
export function readUrl(section: Section, name: string): string | undefined {
  const text = section.text(name);
  if (text === undefined) return undefined;
  const isPlain = isProtectedUrl(text) && !/[?#"\\\s]/.test(text) && new URL(text).username === "";
  if (isPlain) return text;
  section.fault(name, "must be an https URL without query; http is allowed for localhost only");
  return undefined;
}

/** Whether requests to the URL cannot be read on the way. */
export function isProtectedUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  return new URL(text).protocol === "https:" || isPlainLoopback(text);
}

/** Whether the URL uses http on this machine. */
export function isPlainLoopback(text: string): boolean {
  const { protocol, hostname } = new URL(text);
  return protocol === "http:" && LOOPBACK.test(hostname);
}
