/** Reads the file of the setting `workload_identity`: trusted issuers and rules. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { parseDuration } from "@countersign/protocol";
import * as v from "valibot";
import { isGroupName } from "../core/groups.ts";
import { SIGNATURE_ALGORITHMS } from "../core/signature-algorithms.ts";
import {
  conditionFault,
  missingOwnerClaims,
  parseNameTemplate,
  TemplateFault,
  type WorkloadIssuer,
  type WorkloadRule,
} from "../core/workload-rule.ts";
import { isLoopbackName } from "./oidc-settings.ts";
import { isWritableByOthers } from "./read-config.ts";

export interface WorkloadSettings {
  readonly issuers: readonly WorkloadIssuer[];
  readonly rules: readonly WorkloadRule[];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const NAME = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9._-]{1,64}$/, "must have 1 to 64 letters, digits, dots, _ or -"),
);

const TEXT = v.pipe(v.string(), v.nonEmpty("must not be empty"));

function duration(minMs: number, maxMs: number, range: string) {
  return v.pipe(
    v.string(),
    v.transform(parseDuration),
    v.number(`must be a duration from ${range}`),
    v.minValue(minMs, `must be a duration from ${range}`),
    v.maxValue(maxMs, `must be a duration from ${range}`),
  );
}

const ISSUER = v.strictObject({
  name: NAME,
  issuer: TEXT,
  audience: TEXT,
  algorithms: v.optional(v.pipe(v.array(v.picklist(SIGNATURE_ALGORITHMS)), v.nonEmpty()), [
    ...SIGNATURE_ALGORITHMS,
  ]),
  jwks_file: v.optional(TEXT),
  token_age_max: v.optional(duration(MINUTE_MS, DAY_MS, "1m to 24h"), "1h"),
});

const RULE = v.strictObject({
  name: NAME,
  issuer: NAME,
  claims: v.record(
    v.string(),
    v.union([v.string(), v.boolean(), v.pipe(v.number(), v.safeInteger())]),
  ),
  project: v.optional(TEXT, "default"),
  instance: TEXT,
  groups: v.optional(v.array(v.string()), []),
  lifetime: v.optional(duration(MINUTE_MS, DAY_MS, "1m to 24h"), "1h"),
});

const FILE = v.strictObject({ issuers: v.array(ISSUER), rules: v.array(RULE) });

type ParsedFile = v.InferOutput<typeof FILE>;

/**
 * @param path of the YAML file; undefined: no workload identity
 * @param faults receives a line for each fault
 * @returns undefined without a file or with a fault
 */
export function readWorkloadSettings(
  path: string | undefined,
  isProduction: boolean,
  faults: string[],
): WorkloadSettings | undefined {
  if (path === undefined) return undefined;
  const found: string[] = [];
  const settings = readFile(path, isProduction, found);
  faults.push(...found.map((fault) => `workload_identity: ${path}: ${fault}`));
  return found.length === 0 ? settings : undefined;
}

function readFile(
  path: string,
  isProduction: boolean,
  faults: string[],
): WorkloadSettings | undefined {
  let parsed: unknown;
  try {
    if (isWritableByOthers(path)) {
      faults.push(`every user of this machine can write to it; run chmod o-w ${path}`);
    }
    parsed = yaml().parse(readFileSync(path, "utf8"));
  } catch (error) {
    faults.push(reasonOf(error));
    return undefined;
  }
  const checked = v.safeParse(FILE, parsed);
  if (!checked.success) {
    for (const issue of checked.issues) {
      faults.push(`${v.getDotPath(issue) ?? "file"}: ${issue.message}`);
    }
    return undefined;
  }
  const { issuers, rules } = checked.output;
  checkNames("issuers", issuers, faults);
  checkNames("rules", rules, faults);
  const urls = issuers.map(({ issuer }) => issuer);
  if (new Set(urls).size < urls.length) faults.push("issuers: two have the same issuer");
  const folder = dirname(path);
  return {
    issuers: issuers.map((issuer) => toIssuer(issuer, folder, isProduction, faults)),
    rules: rules.flatMap((rule) => toRule(rule, issuers, faults) ?? []),
  };
}

function checkNames(list: string, entries: readonly { name: string }[], faults: string[]): void {
  const names = entries.map(({ name }) => name);
  const repeated = names.find((name, at) => names.indexOf(name) !== at);
  if (repeated !== undefined) faults.push(`${list}: the name ${repeated} is used twice`);
  if (entries.length === 0) faults.push(`${list}: must not be empty`);
}

function toIssuer(
  { name, issuer, audience, algorithms, jwks_file, token_age_max }: ParsedFile["issuers"][number],
  folder: string,
  isProduction: boolean,
  faults: string[],
): WorkloadIssuer {
  const jwksFile = jwks_file === undefined ? undefined : resolve(folder, jwks_file);
  const about = `issuer ${name}`;
  const fault = issuerFault(issuer, jwksFile, isProduction);
  if (fault !== undefined) faults.push(`${about}: issuer: ${fault}`);
  if (jwksFile !== undefined) {
    const keysFault = jwksFault(jwksFile);
    if (keysFault !== undefined) faults.push(`${about}: jwks_file: ${keysFault}`);
  }
  return { name, issuer, audience, algorithms, jwksFile, tokenAgeMsMax: token_age_max };
}

function issuerFault(
  issuer: string,
  jwksFile: string | undefined,
  isProduction: boolean,
): string | undefined {
  if (/^spiffe:\/\/[a-z0-9._-]+$/.test(issuer)) {
    if (jwksFile !== undefined) return undefined;
    return "a SPIFFE trust domain requires jwks_file with its JWT bundle";
  }
  if (!/^https?:\/\/[^\s@?#\\]+$/.test(issuer) || !URL.canParse(issuer)) {
    return "must be like https://issuer.example.com or spiffe://example.org";
  }
  const { protocol, hostname } = new URL(issuer);
  // With a file, the server sends no request to the issuer.
  if (protocol === "https:" || jwksFile !== undefined) return undefined;
  if (!isProduction && isLoopbackName(hostname)) return undefined;
  return "must start with https://; http:// is allowed for loopback in development";
}

function jwksFault(file: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(readFileSync(file, "utf8"));
    const { keys } = Object(parsed) as { readonly keys?: unknown };
    if (isWritableByOthers(file)) {
      return `every user of this machine can write to it; run chmod o-w ${file}`;
    }
    return Array.isArray(keys) && keys.length > 0 ? undefined : `${file} has no list of keys`;
  } catch (error) {
    return `${file}: ${reasonOf(error)}`;
  }
}

function toRule(
  rule: ParsedFile["rules"][number],
  issuers: ParsedFile["issuers"],
  faults: string[],
): WorkloadRule | undefined {
  const about = `rule ${rule.name}`;
  const issuer = issuers.find(({ name }) => name === rule.issuer);
  if (issuer === undefined) {
    faults.push(`${about}: issuer: no issuer has the name ${rule.issuer}`);
    return undefined;
  }
  const conditions = Object.entries(rule.claims).map(([claim, value]) => {
    return { claim, pattern: String(value) };
  });
  if (conditions.length === 0) faults.push(`${about}: claims: must name at least one claim`);
  for (const condition of conditions) {
    const fault = conditionFault(condition);
    if (fault !== undefined) faults.push(`${about}: claims: ${condition.claim} ${fault}`);
  }
  const missing = missingOwnerClaims(issuer.issuer, conditions);
  if (missing !== undefined) {
    faults.push(
      `${about}: claims: the issuer signs tokens for all its customers; ` +
        `name your organization in one of ${missing.join(", ")}`,
    );
  }
  for (const group of rule.groups) {
    if (!isGroupName(group)) faults.push(`${about}: groups: ${group} is not a name of a group`);
  }
  try {
    return {
      name: rule.name,
      issuer: rule.issuer,
      conditions,
      project: rule.project,
      instance: parseNameTemplate(rule.instance),
      groups: rule.groups,
      lifetimeMs: rule.lifetime,
    };
  } catch (error) {
    if (!(error instanceof TemplateFault)) throw error;
    faults.push(`${about}: instance: ${error.message}`);
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
}

/** Loaded on demand, to save start time and memory for servers without such a file. */
function yaml(): typeof import("yaml") {
  return createRequire(import.meta.url)("yaml") as typeof import("yaml");
}
