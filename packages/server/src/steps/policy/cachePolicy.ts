/** Loads published policies into the cache of this process. */

import type { Context } from "../../context.ts";
import { Failure } from "../../failure.ts";
import type { VersionRef } from "../../policy/judgement.ts";
import type { CachedPolicy, PolicyKind } from "../../policy/policy-cache.ts";
import { readPolicyVersion } from "../../storage/sql/policy/policy-versions.ts";
import { alteredText } from "./assertIntact.ts";

/** A published version that a call is to be judged by, and that this process has not read yet. */
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
 * Reads a published version, unless it was read before, in the thread for what is active. It is
 * not looked at as a draft is: what it names may be gone by now, and it is active all the same.
 *
 * @throws Failure when it cannot be read from the database
 */
export async function cachePolicy(
  { store, policies, examiners }: Needed,
  { kind, projectId, ref }: Pick<PolicyNotLoaded, "kind" | "projectId" | "ref">,
): Promise<CachedPolicy> {
  return policies.get(kind, ref.sha256, async () => {
    const version = await readPolicyVersion(store, projectId, ref.number);
    if (version === undefined) throw new Error("the active policy is not there");
    if (version.sha256 !== ref.sha256) {
      throw new Failure("store", `version ${ref.number} of the ${kind} changed while it was read`);
    }
    if (!version.isIntact) return unreadable(new Error(alteredText(version)));
    const { source } = version;
    const order = { kind, source, runsTests: false, wantsPolicy: true };
    const examined = await examiners.active.examine(order).catch(() => undefined);
    // It was good enough to be published: a machine that is busy is no reason to do without.
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

/** Costs a start time and memory, and is hardly ever needed in this thread. */
function reader(): Promise<typeof import("../../policy/load.ts")> {
  return import("../../policy/load.ts");
}

function readable(policy: Extract<CachedPolicy, { kind: "policy" }>["policy"]): CachedPolicy {
  return { kind: "policy", policy };
}

function unreadable(error: unknown): CachedPolicy {
  return { kind: "unreadable", message: error instanceof Error ? error.message : "unknown" };
}
