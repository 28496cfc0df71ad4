/**
 * Who is signed in, as pages read it.
 */

import { formatTimestamp } from "@countersign/protocol";
import type { FastifyReply } from "fastify";
import type { Context } from "../../context.ts";
import { SESSION_IDLE_MS } from "../../core/session.ts";
import { sendJson } from "../../http/exchange.ts";
import { setSessionCookie } from "../../http/session-cookie.ts";
import { type ShownSession, showBegunSession } from "../../operations/access/showSession.ts";

/**
 * Answers that somebody has signed in, in whatever way: the cookie, and what
 * `GET /review/v1/session` would answer with it.
 *
 * @param cookie as beginSession answered it
 */
export async function sendSignedIn(
  reply: FastifyReply,
  context: Context,
  cookie: string,
  status = 200,
): Promise<FastifyReply> {
  const shown = await showBegunSession(context, cookie);
  setSessionCookie(reply, cookie);
  return sendJson(reply, status, writeSession(shown, context.clock.now()));
}

/** @param now the server's time, epoch ms */
export function writeSession({ signedIn, memberships }: ShownSession, now: number): string {
  const { person, session, membership } = signedIn;
  const { id, method, createdAt, expiresAt } = session;
  return JSON.stringify({
    person: { id: person.id, login: person.login, name: person.name },
    session: {
      id,
      method,
      created_at: formatTimestamp(createdAt),
      expires_at: formatTimestamp(expiresAt),
      // Later with every use.
      idle_at: formatTimestamp(Math.min(now + SESSION_IDLE_MS, expiresAt)),
    },
    project: membership === undefined ? null : toWireProject(membership),
    projects: memberships.map(toWireProject),
    now: formatTimestamp(now),
  });
}

function toWireProject(membership: ShownSession["memberships"][number]): object {
  const { projectId, projectName, reviewerId, name, role, groups } = membership;
  return { id: projectId, name: projectName, reviewer: { id: reviewerId, name }, role, groups };
}
