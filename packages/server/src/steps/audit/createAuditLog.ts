/** Creates the sealed log of a project, with a key of its own. */

import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { EMPTY_ROOT } from "../../core/merkle.ts";
import { privateKeyOf, publicKeyOf, SEED_BYTES, signCheckpoint } from "../../core/signed-note.ts";
import { insertLog, lockLog, type StoredLog } from "../../storage/sql/audit/audit-logs.ts";
import { AUDIT_KEY } from "../../storage/sql/operate/encrypted-columns.ts";
import type { Transaction } from "../../storage/store.ts";

/** Makes origins unique, also for servers that were copied before their first start. */
const ORIGIN_BYTES = 8;

/**
 * Creates the log of a project, or of the server, with its own key. So data for an auditor of one
 * project reveals nothing about others.
 *
 * @returns the locked log; another transaction's if that was first
 */
export async function createAuditLog(
  tx: Transaction,
  { random, keyring }: Pick<Context, "random" | "keyring">,
  projectId: string,
): Promise<StoredLog> {
  const now = await tx.now();
  const seed = random.bytes(SEED_BYTES);
  const privateKey = privateKeyOf(seed);
  const publicKey = publicKeyOf(privateKey);
  const unique = Buffer.from(random.bytes(ORIGIN_BYTES)).toString("hex");
  const origin = `countersign/audit/${projectId === "" ? "server" : projectId}/${unique}`;
  const head = { size: 0, root: EMPTY_ROOT };
  const created: StoredLog = {
    projectId,
    origin,
    publicKey,
    encryptedPrivateKey: keyring.encrypt(
      Buffer.from(seed).toString("base64"),
      keyContext(projectId),
    ),
    size: 0,
    subtrees: [],
    sealedId: "",
    checkpoint: signCheckpoint(head, { name: origin, privateKey }, publicKey),
    sealedAt: 0,
    pruned: 0,
    prunedBy: "",
  };
  if (await insertLog(tx, created)) {
    await appendAudit(tx, random, {
      at: now,
      projectId,
      kind: "audit.begun",
      actor: "system:audit",
      subject: `audit:${origin}`,
      detail: { public_key: Buffer.from(publicKey).toString("base64") },
    });
  }
  const log = await lockLog(tx, projectId);
  if (log === undefined) throw new Error("a log was neither found nor created");
  return log;
}

/** The encryption context of a log's key. */
export function keyContext(projectId: string): string {
  return `${AUDIT_KEY.context} ${projectId}`;
}
