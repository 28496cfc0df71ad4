import { uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Random } from "../../clock.ts";
import type { Actor } from "../../core/actor.ts";
import { ensureProvisioner } from "../../storage/sql/access/holders.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * Finds the provisioner with this name, or creates it.
 *
 * @returns its id
 */
export async function ensureProvisionerAs(
  tx: Transaction,
  random: Random,
  { projectId, name }: { readonly projectId: string; readonly name: string },
  actor: Actor,
): Promise<string> {
  const now = await tx.now();
  const newId = uuidV7(now, random.bytes(10));
  const id = await ensureProvisioner(tx, projectId, name, newId, now);
  if (id === newId) {
    await appendAudit(tx, random, {
      at: now,
      projectId,
      actor,
      kind: "provisioner.created",
      subject: `provisioner:${id}`,
    });
  }
  return id;
}
