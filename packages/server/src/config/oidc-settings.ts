/** The settings of the identity provider, parsed and validated. */

import type { ClaimMapping, GroupMapping, RoleMapping } from "../core/claims.ts";
import { isGroupName } from "../core/groups.ts";
import { normalizeLogin } from "../core/login.ts";
import { REVIEWER_ROLES, type ReviewerRole } from "../core/roles.ts";
import type { ConfigValues } from "./read-config.ts";

export interface OidcSettings {
  /** Exactly the `iss` value that the provider signs. */
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: string;
  /** True: passwords and passkeys are disabled, except for `breakGlass`. */
  readonly only: boolean;
  /** Login that may still use a password. */
  readonly breakGlass: string | undefined;
}

/** @returns undefined without an identity provider */
export function toOidcSettings(values: ConfigValues): OidcSettings | undefined {
  const { oidc_issuer: issuer, oidc_client_id: clientId } = values;
  if (issuer === undefined || clientId === undefined) return undefined;
  return {
    issuer,
    clientId,
    scopes: values.oidc_scopes,
    only: values.oidc_only,
    breakGlass: normalizeLogin(values.oidc_break_glass ?? ""),
  };
}

/** How to map users and groups of the provider. Also without a provider, because SCIM uses it. */
export function toClaimMapping(values: ConfigValues): ClaimMapping {
  const groups = splitPairs(values.oidc_groups);
  return {
    loginClaim: values.oidc_login_claim,
    nameClaim: values.oidc_name_claim,
    groupsClaim: values.oidc_groups_claim,
    externalIdClaim: values.oidc_external_id_claim,
    roles: splitPairs(values.oidc_roles).flatMap((pair) => toRole(pair, values) ?? []),
    roleDefault: toRoleName(values.oidc_role_default),
    project: values.oidc_project,
    groups: groups.flatMap((pair) => toGroup(pair) ?? []),
    keepsGroups: groups.includes(EVERY_GROUP),
  };
}

export function* findOidcFaults(values: ConfigValues): Generator<string> {
  const { oidc_issuer: issuer, oidc_client_id: clientId } = values;
  if (issuer !== undefined) yield* findIssuerFaults(issuer, values.production);
  if ((issuer === undefined) !== (clientId === undefined)) {
    yield "oidc_issuer and oidc_client_id: set both or neither";
  }
  if (clientId === "") yield "oidc_client_id: must not be empty";
  if (values.oidc_client_secret === "") yield "oidc_client_secret: must not be empty";
  if (values.oidc_client_secret !== undefined && clientId === undefined) {
    yield "oidc_client_secret: requires oidc_client_id; set both";
  }
  if (!values.oidc_scopes.split(" ").includes("openid")) {
    yield "oidc_scopes: must include openid";
  }
  for (const name of CLAIMS) if (values[name] === "") yield `${name}: must be the name of a claim`;
  if (CHANGEABLE.includes(values.oidc_external_id_claim)) {
    const claim = values.oidc_external_id_claim;
    yield `oidc_external_id_claim: must not be ${claim}, which users can change`;
  }
  yield* findMappingFaults(values);
  if (values.oidc_only && issuer === undefined) {
    yield "oidc_only: requires oidc_issuer; set both";
  }
  const { oidc_break_glass: breakGlass } = values;
  if (breakGlass !== undefined && normalizeLogin(breakGlass) === undefined) {
    yield "oidc_break_glass: must be a valid login";
  } else if (breakGlass !== undefined && !values.oidc_only) {
    yield "oidc_break_glass: requires oidc_only; set both";
  }
}

const CLAIMS = [
  "oidc_login_claim",
  "oidc_name_claim",
  "oidc_groups_claim",
  "oidc_external_id_claim",
] as const;

/** Claims that another user can have later: OpenID Connect Core 1.0, section 5.7. */
const CHANGEABLE: readonly string[] = [
  "email",
  "preferred_username",
  "upn",
  "unique_name",
  "name",
  "nickname",
  "given_name",
  "family_name",
];

/** Adopts every value that is a valid group name. */
const EVERY_GROUP = "*";

/** Microsoft Entra: these first path segments of an issuer accept accounts of every tenant. */
const ANY_TENANT = ["common", "organizations", "consumers"];

function* findIssuerFaults(issuer: string, isProduction: boolean): Generator<string> {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  if (url === undefined || !/^https?:\/\/[^\s@?#\\]+$/.test(issuer)) {
    yield "oidc_issuer: must be like https://login.example.com/realms/main";
    return;
  }
  if (url.protocol === "http:" && (isProduction || !isLoopbackName(url.hostname))) {
    yield "oidc_issuer: must start with https://; http:// is allowed for loopback in development";
  }
  if (issuer.includes("/.well-known/")) {
    yield "oidc_issuer: must end before /.well-known/openid-configuration";
  }
  const tenant = url.pathname.split("/")[1] ?? "";
  if (url.hostname === "login.microsoftonline.com" && ANY_TENANT.includes(tenant)) {
    yield `oidc_issuer: ${tenant} accepts users of every tenant; use the id of your tenant`;
  }
}

function* findMappingFaults(values: ConfigValues): Generator<string> {
  for (const pair of splitPairs(values.oidc_roles)) {
    if (toRole(pair, values) !== undefined) continue;
    yield `oidc_roles: ${pair} must be like VALUE=ROLE or VALUE=PROJECT:ROLE; the roles are ` +
      REVIEWER_ROLES.join(", ");
  }
  for (const pair of splitPairs(values.oidc_groups)) {
    if (pair === EVERY_GROUP || toGroup(pair) !== undefined) continue;
    yield `oidc_groups: ${pair} must be like VALUE=GROUP; a GROUP has only a-z, 0-9 and ._-`;
  }
  const { oidc_role_default: roleDefault } = values;
  if (roleDefault !== undefined && toRoleName(roleDefault) === undefined) {
    yield `oidc_role_default: must be one of ${REVIEWER_ROLES.join(", ")}`;
  }
  if (values.oidc_project === "") yield "oidc_project: must be the name of a project";
  const assignsRoles = splitPairs(values.oidc_roles).length > 0 || roleDefault !== undefined;
  if (values.oidc_issuer !== undefined && !assignsRoles) {
    yield "oidc_roles and oidc_role_default: set one of them, otherwise no user gets a role";
  }
}

function splitPairs(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** Splits at the last equals sign, because the value may contain others. */
function splitPair(pair: string): readonly [string, string] | undefined {
  const at = pair.lastIndexOf("=");
  if (at <= 0) return undefined;
  return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
}

function toRole(pair: string, values: ConfigValues): RoleMapping | undefined {
  const [value, target] = splitPair(pair) ?? [];
  if (value === undefined || target === undefined) return undefined;
  const at = target.lastIndexOf(":");
  const role = toRoleName(target.slice(at + 1));
  const project = at < 0 ? values.oidc_project : target.slice(0, at);
  return role === undefined || project === "" ? undefined : { value, project, role };
}

function toRoleName(text: string | undefined): ReviewerRole | undefined {
  return REVIEWER_ROLES.find((role) => role === text);
}

function toGroup(pair: string): GroupMapping | undefined {
  const [value, group] = splitPair(pair) ?? [];
  if (value === undefined || group === undefined || !isGroupName(group)) return undefined;
  return { value, group };
}

export function isLoopbackName(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
}
