import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { Actor } from "../../core/actor.ts";
import type { SignedIn } from "../../identity/caller.ts";
import { isOpaque } from "../../secrets/opaque.ts";
import { hashToken } from "../../secrets/token.ts";
import {
  deleteSession,
  listSessions,
  readSessionByHash,
  type StoredSession,
} from "../../storage/sql/sign-in/sessions.ts";
import type { Transaction } from "../../storage/store.ts";

export interface SessionEnd {
  readonly by: Actor;
  /** A few words for the audit log. */
  readonly because: string;
}

/**
 * Signs out of one session of the person: that which is used, or another one.
 *
 * @throws Problem `not_found` when the person has none of this id
 */
export async function endSession(
  context: Context,
  { person }: SignedIn,
  id: string,
): Promise<void> {
  await context.store.transact(async (tx) => {
    const session = (await listSessions(tx, person.id)).find((one) => one.id === id);
    if (session === undefined) throw new Problem("not_found");
    const end = { by: `person:${person.id}`, because: "signed out" } as const;
    await endSessions(tx, context, [session], end);
  });
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

/**
 * Ends the session that a browser had when somebody signed in there anew. What is no session (any
 * more) is left.
 *
 * @param cookie of before
 */
export async function replaceSession(context: Context, cookie: string | undefined): Promise<void> {
  if (cookie === undefined || !isOpaque(cookie)) return;
  const { store } = context;
  const session = await readSessionByHash(store, hashToken(cookie));
  if (session === undefined) return;
  const end = { by: `person:${session.personId}`, because: "signed in anew" } as const;
  await store.transact((tx) => endSessions(tx, context, [session], end));
}
