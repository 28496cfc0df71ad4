/** Finds the renderers of the active policy of a project. */

import type { Context } from "../../context.ts";
import type { Renderer } from "../../policy/rule.ts";
import { cachePolicy } from "../../steps/policy/cachePolicy.ts";
import { readActivePolicyVersion } from "../../storage/sql/policy/policy-versions.ts";

export interface ActiveRenderers {
  /** Of the version; undefined where none is published or loaded. */
  readonly sha256: string | undefined;
  readonly renderers: readonly Renderer[];
}

const NONE: ActiveRenderers = { sha256: undefined, renderers: [] };

/**
 * A policy that cannot be read has none. A page does not wait for a policy that is not loaded yet:
 * its calls have their built-in lines until then.
 */
export async function findRenderers(
  context: Pick<Context, "store" | "policies" | "examiners">,
  projectId: string,
): Promise<ActiveRenderers> {
  const ref = await readActivePolicyVersion(context.store, projectId);
  if (ref === undefined) return NONE;
  const { sha256 } = ref;
  const found = context.policies.find("project", sha256);
  if (found === undefined) {
    // The first call reports a failure of the load.
    void cachePolicy(context, { kind: "project", projectId, ref }).catch(() => undefined);
    return NONE;
  }
  return { sha256, renderers: found.kind === "policy" ? found.policy.renderers : [] };
}
