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
  for (const name of ["issuer", "resource"]) {
    if (oauth.text(name) === undefined) oauth.fault(name, "is required");
  }
  const resource = readUrl(oauth, "resource") ?? "";
  const config = {
    issuer: readUrl(oauth, "issuer") ?? "",
    resource,
    audience: oauth.text("audience") ?? resource,
    jwksUrl: readUrl(oauth, "jwks_url"),
    scopes: readScopes(oauth),
    userClaim: oauth.text("user_claim") ?? "sub",
  };
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

/** Whether two URLs are equal. Some servers add a slash to an issuer without a path. */
export function isSameUrl(one: string, other: string): boolean {
  return URL.canParse(one) && URL.canParse(other) && new URL(one).href === new URL(other).href;
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

/** How the gateway gets access tokens for a server. */
export interface LoginConfig {
  /** Undefined: the first authorization server in the metadata of the server. */
  readonly issuer: string | undefined;
  /** Of a client that is registered with the issuer. Undefined: the gateway registers itself. */
  readonly clientId: string | undefined;
  /** Paths of a file, and names of variables. */
  readonly clientSecretFile: string | undefined;
  readonly clientSecretEnv: string | undefined;
  /** The content of this file or variable. */
  readonly clientSecret: string | undefined;
  /** URL of a document that describes the client, and is its id. */
  readonly clientMetadataUrl: string | undefined;
  /** Empty: those that the server requires. */
  readonly scopes: readonly string[];
  /** Whether the gateway authenticates as itself, without a user. */
  readonly isMachine: boolean;
  /** Port of the redirect after the login; 0 for a free port. */
  readonly redirectPort: number;
}

export function readLogin(oauth: Section | undefined): LoginConfig | undefined {
  if (oauth === undefined) return undefined;
  const grant = oauth.text("grant") ?? "authorization_code";
  const config = {
    issuer: readUrl(oauth, "issuer"),
    clientId: oauth.text("client_id"),
    clientSecretFile: oauth.text("client_secret_file"),
    clientSecretEnv: oauth.text("client_secret_env"),
    clientSecret: undefined,
    clientMetadataUrl: readUrl(oauth, "client_metadata_url"),
    scopes: readScopes(oauth),
    isMachine: grant === "client_credentials",
    redirectPort: oauth.integer("redirect_port", 0, 65_535) ?? 0,
  };
  const { clientId, clientSecretFile, clientSecretEnv, isMachine } = config;
  if (!["authorization_code", "client_credentials"].includes(grant)) {
    oauth.fault("grant", "must be authorization_code or client_credentials");
  }
  if (clientId !== undefined && config.issuer === undefined) {
    oauth.fault("issuer", "is required with client_id: the client belongs to one issuer");
  }
  const secrets = [clientSecretFile, clientSecretEnv].filter((one) => one !== undefined);
  if (secrets.length > 1) {
    oauth.fault("client_secret_file", "and client_secret_env exclude each other");
  }
  if (secrets.length > 0 && clientId === undefined) {
    oauth.fault("client_id", "is required with a client secret");
  }
  if (isMachine && (clientId === undefined || secrets.length === 0)) {
    oauth.fault("grant", "needs client_id and a client secret for client_credentials");
  }
  if (clientId !== undefined && config.clientMetadataUrl !== undefined) {
    oauth.fault("client_metadata_url", "and client_id exclude each other");
  }
  oauth.end();
  return config;
}
