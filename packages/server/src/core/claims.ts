/**
 * Maps the claims of an identity provider to a login, name, groups and a role in each project.
 * Invalid claims reject the sign-in: a truncated list could remove a permission or leave one.
 *
 * @see OpenID Connect Core 1.0, section 5.1 (standard claims), 5.6.2 (claims that are elsewhere)
 */

import { Problem } from "@countersign/protocol";
import { GROUPS_MAX, isGroupName, toGroups } from "./groups.ts";
import { normalizeLogin, normalizeName } from "./login.ts";
import type { ReviewerRole } from "./roles.ts";

/** The claims of a verified id token, and additional ones from userinfo. */
export type Claims = Readonly<Record<string, unknown>>;

/** How to map claims: the settings `oidc_*`. */
export interface ClaimMapping {
  readonly loginClaim: string;
  readonly nameClaim: string;
  readonly groupsClaim: string;
  /** Its value is the `externalId` of the user over SCIM. */
  readonly externalIdClaim: string;
  /** In each project, the first match applies. */
  readonly roles: readonly RoleMapping[];
  /** Role in `project` for users without a match there; undefined: none. */
  readonly roleDefault: ReviewerRole | undefined;
  /** Name of the project for mappings without one. */
  readonly project: string;
  readonly groups: readonly GroupMapping[];
  /** True: values that are valid group names become groups. */
  readonly keepsGroups: boolean;
}

export interface RoleMapping {
  /** A value of the groups claim. */
  readonly value: string;
  readonly project: string;
  readonly role: ReviewerRole;
}

export interface GroupMapping {
  readonly value: string;
  readonly group: string;
}

/** A user as described by the identity provider. */
export interface ClaimedPerson {
  /** Issuer and subject, which identify the user: see {@link writeSubject}. */
  readonly subject: string;
  /** Id of the user over SCIM; undefined when the provider did not send the claim. */
  readonly externalId: string | undefined;
  readonly login: string;
  readonly name: string;
  /** Groups in every project. */
  readonly groups: readonly string[];
  /** Each project once, in the order of the mappings. Empty without a match. */
  readonly memberships: readonly Membership[];
}

export interface Membership {
  /** A project's name. */
  readonly project: string;
  readonly role: ReviewerRole;
}

/** In UTF-16 code units. PostgreSQL indexes at most 2704 bytes. */
const EXTERNAL_ID_CHARS_MAX = 512;

/** Whether the text can be the id of a user at the identity provider. */
export function isExternalId(text: string): boolean {
  return text.length <= EXTERNAL_ID_CHARS_MAX && text.isWellFormed() && !text.includes("\0");
}

/** In UTF-16 code units; OpenID Connect Core, section 2, allows 255 ASCII characters. */
const SUBJECT_CHARS_MAX = 255;

/** Entra lists at most 200. A longer list cannot be the groups of one user. */
const VALUES_MAX = 2_000;

/** @throws Problem `sign_in_refused` with the fault, never with the value of a claim */
export function readClaims(claims: Claims, mapping: ClaimMapping): ClaimedPerson {
  const subject = writeSubject(readText(claims, "iss"), readText(claims, "sub"));
  const login = readLogin(claims, mapping);
  const values = readGroupValues(claims, mapping);
  const name = readName(claims, mapping) ?? login;
  const externalId = readExternalId(claims, mapping);
  return { subject, externalId, login, name, ...mapGroups(values, mapping) };
}

/**
 * The groups and roles of a user in some groups of the provider.
 *
 * @throws Problem `sign_in_refused` for too many groups
 */
export function mapGroups(
  values: ReadonlySet<string>,
  mapping: ClaimMapping,
): Pick<ClaimedPerson, "groups" | "memberships"> {
  return {
    groups: findGroups(values, mapping),
    memberships: findMemberships(values, mapping),
  };
}

/**
 * The stored identity of a provider's user: a JSON array, so that two pairs never produce the same
 * text.
 *
 * @throws Problem `sign_in_refused` when the issuer or subject is invalid
 */
export function writeSubject(issuer: string | undefined, subject: string | undefined): string {
  if (!issuer || !subject || subject.length > SUBJECT_CHARS_MAX) {
    throw refused("The identity provider sent no valid subject for your account.");
  }
  return JSON.stringify([issuer, subject]);
}

/** @throws Problem `sign_in_refused` for a text that cannot be the `externalId` of a SCIM user */
function readExternalId(claims: Claims, { externalIdClaim }: ClaimMapping): string | undefined {
  const externalId = readText(claims, externalIdClaim);
  if (externalId === undefined || isExternalId(externalId)) return externalId;
  throw refused(`The identity provider sent an invalid ${externalIdClaim} for your account.`);
}

function readLogin(claims: Claims, { loginClaim }: ClaimMapping): string {
  const text = readText(claims, loginClaim);
  if (text === undefined) {
    throw refused(
      `The identity provider sent no ${loginClaim}, which this server uses as your login. ` +
        "See oidc_login_claim and oidc_scopes.",
    );
  }
  const login = normalizeLogin(text);
  if (login === undefined) {
    throw refused(
      `The identity provider sent an invalid login in ${loginClaim}. ` +
        "A login consists of visible characters without spaces.",
    );
  }
  // An unverified address could be any text from the user's profile, and would take over another
  // login. Some providers send true as text; some omit the claim for verified addresses.
  const isVerified = [undefined, true, "true"].includes(own(claims, "email_verified") as boolean);
  if (loginClaim === "email" && !isVerified) {
    throw refused("Your email address is not verified at the identity provider.");
  }
  return login;
}

/** @returns undefined when no claim can be displayed */
function readName(claims: Claims, { nameClaim }: ClaimMapping): string | undefined {
  return normalizeName(readText(claims, nameClaim) ?? "");
}

function readGroupValues(claims: Claims, { groupsClaim }: ClaimMapping): ReadonlySet<string> {
  if (isElsewhere(claims, groupsClaim)) {
    throw refused(
      "You are in more groups than the identity provider sends. Configure it to send only " +
        `groups that are assigned to this application in ${groupsClaim}, or to send roles.`,
    );
  }
  const claim = own(claims, groupsClaim);
  if (claim === undefined || claim === null) return new Set();
  // Some providers send a list of one value as a string. The string is never split.
  const values: unknown = typeof claim === "string" ? [claim] : claim;
  if (!Array.isArray(values) || !values.every((value) => typeof value === "string")) {
    throw refused(`The identity provider sent ${groupsClaim} that is not a list of strings.`);
  }
  if (values.length > VALUES_MAX) {
    throw refused(`The identity provider sent more than ${VALUES_MAX} values in ${groupsClaim}.`);
  }
  return new Set(values);
}

/** True when the provider omitted the claim because of its size. Entra has two forms for that. */
function isElsewhere(claims: Claims, groupsClaim: string): boolean {
  const names = own(claims, "_claim_names");
  if (typeof names === "object" && names !== null && Object.hasOwn(names, groupsClaim)) return true;
  const hasGroups = own(claims, "hasgroups");
  return groupsClaim === "groups" && (hasGroups === true || hasGroups === "true");
}

function findMemberships(values: ReadonlySet<string>, mapping: ClaimMapping): Membership[] {
  const { roles, roleDefault, project } = mapping;
  const found = new Map<string, ReviewerRole>();
  for (const each of roles) {
    if (values.has(each.value) && !found.has(each.project)) found.set(each.project, each.role);
  }
  if (roleDefault !== undefined && !found.has(project)) found.set(project, roleDefault);
  return [...found].map(([name, role]) => ({ project: name, role }));
}

function findGroups(values: ReadonlySet<string>, mapping: ClaimMapping): readonly string[] {
  const mapped = mapping.groups.filter(({ value }) => values.has(value));
  const kept = mapping.keepsGroups ? [...values].filter(isGroupName) : [];
  const groups = toGroups([...mapped.map(({ group }) => group), ...kept]);
  if (groups.length > GROUPS_MAX) {
    throw refused(
      `You are in more than ${GROUPS_MAX} groups. List the groups that policies name in ` +
        "oidc_groups instead of *.",
    );
  }
  return groups;
}

/** @returns undefined unless it is a non-empty string */
function readText(claims: Claims, name: string): string | undefined {
  const value = own(claims, name);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A claim may have any name, including inherited names such as `constructor`. */
function own(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}

function refused(message: string): Problem {
  return new Problem("sign_in_refused", message);
}
