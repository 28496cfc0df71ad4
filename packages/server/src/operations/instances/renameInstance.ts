import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { lockAdministered } from "../../steps/instances/lockAdministered.ts";
import { renameInstance as writeName } from "../../storage/sql/instances/instances.ts";
import { supersedeVerifications } from "../../storage/sql/instances/verifications.ts";

/**
 * Changes the name of an instance, for an admin of the project. The name of an update that is being
 * verified does not apply later.
 *
 * @throws Problem `forbidden`, `not_found`
 */
export async function renameInstance(
  { store, random }: Pick<Context, "store" | "random">,
  caller: ReviewerCaller,
  instanceId: string,
  name: string,
): Promise<void> {
  assertMay(caller, "people");
  const { projectId, reviewerId } = caller;
  const key = { projectId, instanceId };
  await store.transact(async (tx) => {
    const instance = await lockAdministered(tx, caller, instanceId);
    const written = JSON.stringify(name);
    if (instance.name === written) return;
    const now = await tx.now();
    const update = { ...key, scope: "console", keyHash: "", acceptedAt: now };
    await supersedeVerifications(tx, { ...update, renames: true, redirects: false }, now);
    await writeName(tx, key, written);
    await appendAudit(tx, random, {
      at: now,
      projectId,
      kind: "instance.updated",
      actor: `reviewer:${reviewerId}`,
      subject: `instance:${instanceId}`,
      detail: { name, earlier_name: JSON.parse(instance.name) as string },
    });
  });
}
