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
  /** A few words for the audit log. */
  readonly because: string;
}

/**
 * Ends all sessions of a person: when their password changes, they are disabled, or they come
 * back by a link.
 *
 * @param exceptId the one that goes on
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

/** Ends these, and says so of each that had not ended meanwhile. */
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
