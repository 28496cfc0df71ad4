/** Activates a policy that one person wrote, where that is enough. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  assertMayPublish,
  type PolicyScope,
  policyActorOf,
  projectOf,
} from "../../identity/policy-authority.ts";
import { activatePolicy, type PublishOutcome } from "../../steps/policy/activatePolicy.ts";
import { newProjectId } from "../../steps/tokens/newProjectId.ts";
import { ensureProject, readProjects } from "../../storage/sql/access/holders.ts";
import { readPolicyNumber, readTwoPerson } from "../../storage/sql/policy/policy-versions.ts";
import type { Reader } from "../../storage/store.ts";

export type { PublishOutcome };

export interface Publication {
  readonly scope: PolicyScope;
  readonly source: string;
  /** The active version when the editor started; 0: none. */
  readonly expectedNumber: number;
  /** The reason; stored with the version. */
  readonly note: string | null;
  /** The older version with this source, for the audit log. */
  readonly restores?: number;
}

/**
 * Publishes a policy without a second user, where that is permitted.
 *
 * @throws Problem `forbidden`, also with the two-person rule; and those of activatePolicy
 */
export async function publishPolicy(
  context: Context,
  caller: ReviewerCaller,
  publication: Publication,
): Promise<PublishOutcome> {
  const { scope } = publication;
  assertMayPublish(caller, scope);
  const projectId = projectOf(caller, scope);
  const draft = { ...publication, projectId };
  const admit = (reader: Reader) => assertAlone(reader, projectId);
  return activatePolicy(context, policyActorOf(caller), draft, admit);
}

/**
 * The same for operators on the server, who need no account: the first policy of a project.
 *
 * @param project its name; created if new
 * @throws Problem `policy_conflict` when a policy is active; and what activatePolicy throws
 */
export async function publishFirstPolicy(
  context: Context,
  project: string,
  source: string,
): Promise<PublishOutcome> {
  const { store, random } = context;
  const projectId = await store.transact(async (tx) =>
    ensureProject(tx, project, newProjectId(random), await tx.now()),
  );
  const draft = { scope: "project", projectId, source, expectedNumber: 0, note: null } as const;
  const by = { actor: "operator:cli", projectId } as const;
  return activatePolicy(context, by, draft, (reader) => assertAlone(reader, projectId));
}

/** @returns the number of the active policy of a project; 0 without one */
export async function readActivePolicyNumber(
  { store }: Pick<Context, "store">,
  project: string,
): Promise<number> {
  const [found] = await readProjects(store, project);
  return found === undefined ? 0 : readPolicyNumber(store, found.id);
}

/** @throws Problem `forbidden` */
async function assertAlone(reader: Reader, projectId: string): Promise<void> {
  if (!(await readTwoPerson(reader, projectId))) return;
  const message =
    "Publishing this policy requires two people. Propose it, and let another person publish it.";
  throw new Problem("forbidden", message);
}
