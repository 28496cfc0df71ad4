import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type PolicyScope, projectOf } from "../../identity/policy-authority.ts";
import { readPublishers } from "../../steps/policy/readPublishers.ts";
import { listPolicyVersions as listStored } from "../../storage/sql/policy/policy-versions.ts";
import type { PublishedOutline } from "./showPolicy.ts";

export interface PolicyVersionPage {
  readonly versions: readonly PublishedOutline[];
  /** Start of the next page, exclusive; undefined on the last one. */
  readonly next: number | undefined;
}

/** All published versions, latest first, without sources. */
export async function listPolicyVersions(
  { store }: Context,
  caller: ReviewerCaller,
  scope: PolicyScope,
  { below, limit }: { readonly below: number; readonly limit: number },
): Promise<PolicyVersionPage> {
  // One more than the limit shows whether there is a next page.
  const found = await listStored(store, projectOf(caller, scope), below, limit + 1);
  const shown = found.slice(0, limit);
  const names = await readPublishers(store, caller, shown);
  return {
    versions: shown.map((version) => ({ scope, version, names })),
    next: shown.length < found.length ? shown.at(-1)?.number : undefined,
  };
}
