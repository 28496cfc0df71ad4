/** Ends sessions, with an audit entry for each. */

import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { Actor } from "../../core/actor.ts";
import {
  deleteSession,
  listSessions,
  type StoredSession,
} from "../../storage/sql/sign-in/sessions.ts";
import type { Transaction } from "../../storage/store.ts";

export interface SessionEnd {
  readonly by: Actor;
  /** The reason, for the audit log. */
  readonly because: string;
}

/**
 * Ends all sessions of a user: after a new password, after disabling, or after a return by link.
 *
 * @param exceptId session to keep
 */
export async function endSessionsOf(
  tx: Transaction,
  context: Pick<Context, "random">,
  personId: string,
  end: SessionEnd,
  exceptId?: string,
): Promise<void> {
  const sessions = await listSessions(tx, personId);
  await endSessions(
    tx,
    context,
    sessions.filter(({ id }) => id !== exceptId),
    end,
  );
}

/** Ends these sessions, with an audit entry for each one that was still active. */
export async function endSessions(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  sessions: readonly StoredSession[],
  { by, because }: SessionEnd,
): Promise<void> {
  for (const { id, personId } of sessions) {
    if (!(await deleteSession(tx, personId, id))) continue;
    await appendAudit(tx, random, {
      at: await tx.now(),
      projectId: "",
      kind: "session.ended",
      actor: by,
      subject: `session:${id}`,
      detail: { person_id: personId, because },
    });
  }
}
