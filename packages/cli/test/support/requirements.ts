/**
 * Requests that ask for more than one click: a judgement is put on a pending request as policy
 * would have, whatever policy is there.
 */

import { openContext, readConfig, toSecrets, toSettings } from "@countersign/server";
import type { Server } from "@countersign/testing/countersign";
import { writeJudgement } from "../../../server/src/policy/judgement.ts";
import { NO_REQUIREMENT, type Requirement } from "../../../server/src/policy/rule.ts";
import { authenticateRow } from "../../../server/src/storage/sql/requests/request-rows.ts";

/** Puts a requirement on a pending request beside the running server. */
export async function setRequirement(
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
