/** Loads published policies into the cache of this process. */

import type { Context } from "../../context.ts";
import { Failure } from "../../failure.ts";
import type { VersionRef } from "../../policy/judgement.ts";
import type { CachedPolicy, PolicyKind } from "../../policy/policy-cache.ts";
import { readPolicyVersion } from "../../storage/sql/policy/policy-versions.ts";
import { alteredText } from "./assertIntact.ts";

/** A published version is needed for a call, but is not in the cache of this process. */
export class PolicyNotLoaded extends Error {
  readonly kind: PolicyKind;
  readonly projectId: string;
  readonly ref: VersionRef;

  constructor(kind: PolicyKind, projectId: string, ref: VersionRef) {
    super(`version ${ref.number} of the ${kind} was not read yet`);
    this.kind = kind;
    this.projectId = projectId;
    this.ref = ref;
  }
}

type Needed = Pick<Context, "store" | "policies" | "examiners">;

/**
 * Loads a published version into the cache, in the thread for active policies. Its groups are not
 * checked: an active policy stays active when they no longer exist.
 *
 * @throws Failure when it cannot be read from the database
 */
export async function cachePolicy(
  { store, policies, examiners }: Needed,
  { kind, projectId, ref }: Pick<PolicyNotLoaded, "kind" | "projectId" | "ref">,
): Promise<CachedPolicy> {
  return policies.get(kind, ref.sha256, async () => {
    const version = await readPolicyVersion(store, projectId, ref.number);
    if (version === undefined) throw new Error("the active policy is missing");
    if (version.sha256 !== ref.sha256) {
      throw new Failure("store", `version ${ref.number} of the ${kind} changed while it was read`);
    }
    if (!version.isIntact) return unreadable(new Error(alteredText(version)));
    const { source } = version;
    const order = { kind, source, runsTests: false, wantsPolicy: true };
    const examined = await examiners.active.examine(order).catch(() => undefined);
    // The policy loaded when it was published, so a timeout on a busy machine is not a fault of the
    // policy.
    if (examined === undefined || examined.isStopped) return readHere(kind, source);
    const { policy, findings } = examined;
    if (policy !== undefined) return readable(policy);
    const { PolicyError } = await reader();
    return unreadable(new PolicyError(findings));
  });
}

async function readHere(kind: PolicyKind, source: string): Promise<CachedPolicy> {
  try {
    const { loadPolicy } = await reader();
    return readable(loadPolicy(source, { kind }));
  } catch (error) {
    return unreadable(error);
  }
}

/** Loaded on demand: this thread rarely needs it. */
function reader(): Promise<typeof import("../../policy/load.ts")> {
  return import("../../policy/load.ts");
}

function readable(policy: Extract<CachedPolicy, { kind: "policy" }>["policy"]): CachedPolicy {
  return { kind: "policy", policy };
}

function unreadable(error: unknown): CachedPolicy {
  return { kind: "unreadable", message: error instanceof Error ? error.message : "unknown" };
}
