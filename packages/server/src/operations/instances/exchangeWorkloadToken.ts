/** Exchanges the token of a workload for a short-lived credential of its instance. */

import { hash } from "node:crypto";
import { uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { toGroups } from "../../core/groups.ts";
import { ExchangeRefusal, type TokenExchange } from "../../core/token-exchange.ts";
import {
  findRule,
  INSTANCE_NAME_CHARS_MAX,
  targetOf,
  type WorkloadRule,
  type WorkloadTarget,
} from "../../core/workload-rule.ts";
import type { VerifiedWorkload } from "../../oidc/workload-tokens.ts";
import { createToken } from "../../secrets/token.ts";
import { issueCredential } from "../../steps/instances/issueCredential.ts";
import { ensureProvisionerAs } from "../../steps/tokens/ensureProvisionerAs.ts";
import { newProjectId } from "../../steps/tokens/newProjectId.ts";
import { ensureProject, lockProject } from "../../storage/sql/access/holders.ts";
import {
  assignInstance,
  hasInstanceNamed,
  insertInstance,
  lockInstance,
} from "../../storage/sql/instances/instances.ts";
import {
  insertWorkloadInstance,
  readWorkloadInstanceId,
} from "../../storage/sql/instances/workload-instances.ts";
import type { Transaction } from "../../storage/store.ts";

export interface IssuedCredential {
  readonly instanceId: string;
  readonly token: string;
  readonly lifetimeMs: number;
}

/** Every instance has a provisioner. This is the name of the one of workloads. */
const PROVISIONER = "workload-identity";

const ACTOR = "system:workload-identity";

/**
 * Verifies the token, finds its rule, and creates the instance at the first exchange. Each exchange
 * creates a credential; the earlier ones stay valid until they expire.
 *
 * An instance belongs to the rule, the issuer and the claims that named it. Another instance of the
 * same name is never used. A deleted instance stays deleted for the retention time.
 *
 * @throws ExchangeRefusal; Failure if the keys of the issuer are not available
 * @see RFC 8693
 */
export async function exchangeWorkloadToken(
  context: Context,
  { subjectToken, audience }: TokenExchange,
): Promise<IssuedCredential> {
  const { workloadTokens, settings, random, store } = context;
  const { workloadIdentity } = settings;
  if (workloadTokens === undefined || workloadIdentity === undefined) {
    throw new Error("a route without workload identity was reached");
  }
  const verified = await workloadTokens.verify(subjectToken);
  const rule = ruleOf(workloadIdentity.rules, verified, audience);
  const target = nameOf(rule, verified);
  const token = createToken("instance", random);
  const instanceId = await store.transact(async (tx) => {
    const exchange = { tx, random, verified, rule, target };
    const projectId = await ensureProject(tx, rule.project, newProjectId(random), await tx.now());
    const id = await lockOrCreate(exchange, projectId);
    await issue(exchange, { projectId, instanceId: id }, token);
    return id;
  });
  return { instanceId, token, lifetimeMs: rule.lifetimeMs };
}

function ruleOf(
  rules: readonly WorkloadRule[],
  { issuer, claims }: VerifiedWorkload,
  audience: string | undefined,
): WorkloadRule {
  const match = findRule(rules, issuer.name, claims, audience);
  if (match.kind === "one") return match.rule;
  if (match.kind === "several") {
    const fix = "Send the name of one of them as audience.";
    throw new ExchangeRefusal("invalid_target", `Several rules match the subject token. ${fix}`);
  }
  const code = audience === undefined ? "invalid_grant" : "invalid_target";
  throw new ExchangeRefusal(code, "No rule matches the claims of the subject token.");
}

function nameOf(rule: WorkloadRule, { claims }: VerifiedWorkload): WorkloadTarget {
  const target = targetOf(rule, claims);
  if (target === undefined) {
    throw refused("The subject token has no value for a claim in the name of the instance.");
  }
  if (target.name.length > INSTANCE_NAME_CHARS_MAX) {
    throw refused(`The name of the instance has more than ${INSTANCE_NAME_CHARS_MAX} characters.`);
  }
  return target;
}

interface Exchange {
  readonly tx: Transaction;
  readonly random: Context["random"];
  readonly verified: VerifiedWorkload;
  readonly rule: WorkloadRule;
  readonly target: WorkloadTarget;
}

/** @returns the id of the instance, locked against deletion */
async function lockOrCreate(exchange: Exchange, projectId: string): Promise<string> {
  const { tx } = exchange;
  const binding = bindingOf(exchange);
  const known =
    (await readWorkloadInstanceId(tx, projectId, binding)) ??
    (await create(exchange, projectId, binding));
  const instance = await lockInstance(tx, "share", { projectId, instanceId: known });
  if (instance === undefined || instance.deletedAt !== null) {
    throw refused("The instance of this workload was deleted.");
  }
  return known;
}

/** The rule, the issuer and the claims of the name: the owner of the instance. */
function bindingOf({ verified, rule, target }: Exchange): string {
  const values = Object.entries(target.values).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const parts = [rule.name, verified.issuer.issuer, target.name, values];
  return hash("sha256", JSON.stringify(parts), "base64url");
}

async function create(exchange: Exchange, projectId: string, binding: string): Promise<string> {
  const { tx, random, verified, rule, target } = exchange;
  // Replicas create the instance of a workload once.
  await lockProject(tx, projectId);
  const known = await readWorkloadInstanceId(tx, projectId, binding);
  if (known !== undefined) return known;
  const name = JSON.stringify(target.name);
  if (await hasInstanceNamed(tx, projectId, name)) {
    throw refused("Another instance has the name that the rule assigns to this workload.");
  }
  const createdAt = await tx.now();
  const id = uuidV7(createdAt, random.bytes(10));
  const provisioner = { projectId, name: PROVISIONER };
  const provisionerId = await ensureProvisionerAs(tx, random, provisioner, ACTOR);
  await insertInstance(tx, { id, projectId, provisionerId, name, createdAt });
  const groups = toGroups(rule.groups);
  await assignInstance(tx, { projectId, instanceId: id }, { groups, ownerId: null });
  const { issuer } = verified.issuer;
  await insertWorkloadInstance(
    tx,
    { projectId, instanceId: id, rule: rule.name, issuer, claims: target.values, createdAt },
    binding,
  );
  await appendAudit(tx, random, {
    at: createdAt,
    projectId,
    kind: "instance.provisioned",
    actor: `provisioner:${provisionerId}`,
    subject: `instance:${id}`,
    detail: { groups, ...origin(exchange) },
  });
  return id;
}

async function issue(
  exchange: Exchange,
  key: { readonly projectId: string; readonly instanceId: string },
  token: string,
): Promise<void> {
  const { tx, random, rule } = exchange;
  const createdAt = await tx.now();
  const expiresAt = createdAt + rule.lifetimeMs;
  await issueCredential(tx, { random }, { ...key, createdAt, expiresAt }, token, {
    kind: "instance.credential_issued",
    actor: ACTOR,
    detail: { expires_at: expiresAt, ...origin(exchange) },
  });
}

/** Fields of the audit log that describe the token. Logs of the issuer contain its `jti` too. */
function origin({ verified, rule }: Exchange) {
  const { jti, sub } = verified.claims;
  return {
    rule: rule.name,
    issuer: verified.issuer.issuer,
    token_subject: String(sub).slice(0, RECORDED_CHARS_MAX),
    token_id: typeof jti === "string" ? jti.slice(0, RECORDED_CHARS_MAX) : undefined,
  };
}

const RECORDED_CHARS_MAX = 512;

function refused(message: string): ExchangeRefusal {
  return new ExchangeRefusal("invalid_grant", message);
}
