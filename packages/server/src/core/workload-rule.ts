/**
 * The rules of workload identity: which tokens of a platform become a credential of which instance.
 *
 * @see docs/guides/workload-identity.md
 */

import type { Claims } from "./claims.ts";

/** A platform that signs tokens for its workloads. */
export interface WorkloadIssuer {
  /** Its name in the rules and in the log. */
  readonly name: string;
  /** The claim `iss`; `spiffe://TRUST_DOMAIN` for tokens of this trust domain without `iss`. */
  readonly issuer: string;
  /** The only audience that a token may have. */
  readonly audience: string;
  readonly algorithms: readonly string[];
  /** File with the JWK set; undefined: the issuer publishes its keys. */
  readonly jwksFile: string | undefined;
  /** Maximum age of a token since its claim `iat`. */
  readonly tokenAgeMsMax: number;
}

/** A claim and the value that a token must have. */
export interface ClaimCondition {
  /** Name of the claim, or the path to a nested one, separated by `/`. */
  readonly claim: string;
  /** Exact value. One `*` matches one or more characters except `/` and `:`. */
  readonly pattern: string;
}

export interface WorkloadRule {
  readonly name: string;
  /** Name of the issuer. */
  readonly issuer: string;
  readonly conditions: readonly ClaimCondition[];
  /** Name of the project. */
  readonly project: string;
  readonly instance: NameTemplate;
  /** Groups of a new instance. */
  readonly groups: readonly string[];
  /** Validity of a credential. */
  readonly lifetimeMs: number;
}

/** Literal texts and claims in turn. Different values of the claims always give different names. */
export type NameTemplate = readonly ({ readonly text: string } | { readonly claim: string })[];

/** The instance that a rule assigns to a token. */
export interface WorkloadTarget {
  readonly name: string;
  /** The values of the claims in the template, by claim. */
  readonly values: Readonly<Record<string, string>>;
}

/** Longer names are not readable, and a claim must not fill the database. */
export const INSTANCE_NAME_CHARS_MAX = 200;

/** Characters of a claim that a name contains unchanged. */
const PLAIN = /[A-Za-z0-9._/:@-]/;

/** A character that never occurs in the text for a claim. */
const SEPARATOR = /[^A-Za-z0-9._/:@%-]/;

const PLACEHOLDER = /\{([^{}]*)\}/;

/**
 * Parses a template such as `ci-{repository}`.
 *
 * @throws TemplateFault if two different tokens could get the same name
 */
export function parseNameTemplate(text: string): NameTemplate {
  // The results of a split alternate between text and claim.
  const parts = text.split(PLACEHOLDER).map((part, at) => {
    return at % 2 === 0 ? { text: part } : { claim: part };
  });
  for (const [at, part] of parts.entries()) {
    if ("claim" in part) {
      if (part.claim === "") throw new TemplateFault("{} names no claim");
      continue;
    }
    if (/[{}]/.test(part.text)) throw new TemplateFault("{ and } must enclose the name of a claim");
    const isBetween = at > 0 && at < parts.length - 1;
    if (isBetween && !SEPARATOR.test(part.text)) {
      throw new TemplateFault(
        "separate two claims by a space or #; with another separator, two agents could get the " +
          "same name",
      );
    }
  }
  if (text.trim() === "") throw new TemplateFault("must not be empty");
  return parts;
}

export class TemplateFault extends Error {
  override readonly name = "TemplateFault";
}

/**
 * The instance of a token that matches the rule.
 *
 * @returns undefined if the token has no value for a claim of the template
 */
export function targetOf({ instance }: WorkloadRule, claims: Claims): WorkloadTarget | undefined {
  const values: Record<string, string> = {};
  let name = "";
  for (const part of instance) {
    if ("text" in part) {
      name += part.text;
      continue;
    }
    const value = claimAt(claims, part.claim);
    if (value === undefined || value === "") return undefined;
    values[part.claim] = value;
    name += encodeValue(value);
  }
  return { name, values };
}

/** Encodes other characters as in URLs, so that each value has its own text. */
function encodeValue(value: string): string {
  const bytes = Buffer.from(value);
  let text = "";
  for (const byte of bytes) {
    const char = String.fromCharCode(byte);
    const hex = byte.toString(16).toUpperCase().padStart(2, "0");
    text += PLAIN.test(char) ? char : `%${hex}`;
  }
  return text;
}

export type RuleMatch =
  | { readonly kind: "one"; readonly rule: WorkloadRule }
  | { readonly kind: "none" }
  | { readonly kind: "several" };

/**
 * Finds the one rule for a token.
 *
 * @param audience name of the only rule that may match; undefined: any
 */
export function findRule(
  rules: readonly WorkloadRule[],
  issuer: string,
  claims: Claims,
  audience: string | undefined,
): RuleMatch {
  const matching = rules.filter((rule) => {
    if (rule.issuer !== issuer || (audience !== undefined && rule.name !== audience)) return false;
    return rule.conditions.every(({ claim, pattern }) => {
      const value = claimAt(claims, claim);
      return value !== undefined && isMatch(pattern, value);
    });
  });
  const [rule] = matching;
  if (rule === undefined) return { kind: "none" };
  return matching.length === 1 ? { kind: "one", rule } : { kind: "several" };
}

/**
 * The text of a claim, such as `sub` or `kubernetes.io/namespace`.
 *
 * @returns undefined for a missing claim, a list, an object, and a number that JavaScript cannot
 * represent exactly: two tokens could have the same text
 */
export function claimAt(claims: Claims, path: string): string | undefined {
  // The names of claims may contain slashes.
  if (Object.hasOwn(claims, path)) {
    const value = claims[path];
    if (typeof value === "string") return value;
    const isExact = typeof value === "boolean" || Number.isSafeInteger(value);
    return isExact ? String(value) : undefined;
  }
  const at = path.indexOf("/");
  if (at < 0) return undefined;
  const name = path.slice(0, at);
  const nested = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (typeof nested !== "object" || nested === null || Array.isArray(nested)) return undefined;
  return claimAt(nested as Claims, path.slice(at + 1));
}

function isMatch(pattern: string, value: string): boolean {
  const [prefix = "", suffix] = pattern.split("*");
  if (suffix === undefined) return value === pattern;
  if (!value.startsWith(prefix) || !value.endsWith(suffix)) return false;
  const middle = value.slice(prefix.length, value.length - suffix.length);
  const isDisjoint = value.length > prefix.length + suffix.length;
  return isDisjoint && !/[/:]/.test(middle);
}

/** @returns what is wrong with a condition; undefined if it restricts the tokens */
export function conditionFault({ claim, pattern }: ClaimCondition): string | undefined {
  if (["iss", "aud", "exp", "nbf", "iat", "jti"].includes(claim)) {
    return "is not a claim about a workload";
  }
  if (pattern === "") return "must not be empty";
  if (pattern.startsWith("*")) return "must not start with *, because it would match anyone";
  if (pattern.split("*").length > 2) return "must not contain more than one *";
  return undefined;
}

/** Issuers for all customers of a service, and the claims of which one must name the customer. */
const SHARED_ISSUERS: readonly {
  readonly url: string;
  readonly claims: Readonly<Record<string, RegExp>>;
}[] = [
  {
    url: "https://token.actions.githubusercontent.com",
    claims: {
      repository: /^[^/*]+\//,
      repository_owner: /^[^*]+$/,
      repository_id: /^[^*]+$/,
      repository_owner_id: /^[^*]+$/,
      sub: /^repo:[^/*]+\//,
    },
  },
  {
    url: "https://gitlab.com",
    claims: {
      project_path: /^[^/*]+\//,
      namespace_path: /^[^*]+$/,
      project_id: /^[^*]+$/,
      namespace_id: /^[^*]+$/,
      sub: /^project_path:[^/*]+\//,
    },
  },
  {
    url: "https://agent.buildkite.com",
    claims: {
      organization_slug: /^[^*]+$/,
      organization_id: /^[^*]+$/,
      sub: /^organization:[^:*]+:/,
    },
  },
  {
    url: "https://app.terraform.io",
    claims: {
      terraform_organization_name: /^[^*]+$/,
      terraform_organization_id: /^[^*]+$/,
      sub: /^organization:[^:*]+:/,
    },
  },
  {
    url: "https://accounts.google.com",
    claims: {
      sub: /^[^*]+$/,
      email: /^[^*]+$/,
    },
  },
];

/**
 * The claims of which a rule must name one, because every customer of the service has the same
 * issuer.
 *
 * @returns undefined if the rule names one, and for other issuers
 */
export function missingOwnerClaims(
  issuerUrl: string,
  conditions: readonly ClaimCondition[],
): readonly string[] | undefined {
  const shared = SHARED_ISSUERS.find(({ url }) => {
    return issuerUrl === url || issuerUrl.startsWith(`${url}/`);
  });
  if (shared === undefined) return undefined;
  const isOwned = conditions.some(({ claim, pattern }) => shared.claims[claim]?.test(pattern));
  return isOwned ? undefined : Object.keys(shared.claims);
}
