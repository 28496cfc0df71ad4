/** Converts a session to the reviewer API's form. */

import { formatTimestamp } from "@countersign/protocol";
import type { Project, Session, Writable } from "@countersign/review-api";
import type { FastifyReply } from "fastify";
import type { Context } from "../../context.ts";
import { SESSION_IDLE_MS } from "../../core/session.ts";
import { setSessionCookie } from "../../http/session-cookie.ts";
import { type ShownSession, showNewSession } from "../../operations/access/showSession.ts";

/**
 * Sets the cookie of a user who has signed in.
 *
 * @param cookie from createSession
 * @returns the answer of `GET /review/v1/session` with that cookie
 */
export async function setSession(
  reply: FastifyReply,
  context: Context,
  cookie: string,
): Promise<Writable<Session>> {
  const shown = await showNewSession(context, cookie);
  setSessionCookie(reply, cookie);
  return toWireSession(shown, context.clock.now());
}

/** @param now the server's time, in milliseconds since 1970 */
export function toWireSession(
  { signedIn, memberships }: ShownSession,
  now: number,
): Writable<Session> {
  const { person, session, membership } = signedIn;
  const { id, method, createdAt, expiresAt } = session;
  return {
    person: { id: person.id, login: person.login, name: person.name },
    session: {
      id,
      method,
      created_at: formatTimestamp(createdAt),
      expires_at: formatTimestamp(expiresAt),
      // Every use extends it.
      idle_at: formatTimestamp(Math.min(now + SESSION_IDLE_MS, expiresAt)),
    },
    project: membership === undefined ? null : toWireProject(membership),
    projects: memberships.map(toWireProject),
    now: formatTimestamp(now),
  };
}

function toWireProject(membership: ShownSession["memberships"][number]): Writable<Project> {
  const { projectId, projectName, reviewerId, name, role, groups } = membership;
  return { id: projectId, name: projectName, reviewer: { id: reviewerId, name }, role, groups };
}
