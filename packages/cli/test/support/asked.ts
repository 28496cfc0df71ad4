/**
 * Requests that ask for more than one click: a judgement is put on a pending request as policy
 * would have, whatever policy is there.
 */

import { openContext, readConfig, toSecrets, toSettings } from "@countersign/server";
import { writeJudgement } from "@countersign/server/policy/judgement";
import { NO_REQUIREMENT, type Requirement } from "@countersign/server/policy/rule";
import { authenticateRow } from "@countersign/server/storage/sql/requests/request-rows";
import type { Server } from "@countersign/testing/countersign";

/** Puts a requirement on a pending request beside the running server. */
export async function require(
  server: Server,
  id: string,
  requirement: Partial<Requirement>,
  note?: string,
): Promise<void> {
  const policy = writeJudgement({
    verb: "ask",
    because: "production",
    fired: ["production"],
    project: null,
    floor: null,
    errors: [{ rule: "other", message: "no such key" }],
    ...(note !== undefined && { note }),
    requirement: { ...NO_REQUIREMENT, ...requirement },
  });
  const config = readConfig({ data: server.data }, server.env);
  const { context, close } = await openContext(toSettings(config), toSecrets(config));
  try {
    await context.store.transact(async (tx) => {
      const row = await tx.get("select * from request where id = $1", [id]);
      const { mac } = authenticateRow(tx.integrity, { ...row, policy });
      const sql = "update request set policy = $2, mac = $3 where id = $1";
      await tx.run(sql, [id, policy, mac]);
    });
  } finally {
    await close();
  }
}
