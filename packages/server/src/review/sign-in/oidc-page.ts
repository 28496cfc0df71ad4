/**
 * The page for a failed sign-in at the identity provider. The browser navigated here and would
 * display JSON.
 */

import type { Problem } from "@countersign/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import { findConsole, readPage, sendNotice } from "../pages/page-files.ts";

/** Whether the client accepts a page. */
export function wantsPage({ headers }: Pick<FastifyRequest, "headers">): boolean {
  return /\btext\/html\b/i.test(headers.accept ?? "");
}

/** @throws Problem the given one, where the console is not built */
export function sendOidcPage(
  reply: FastifyReply,
  problem: Problem,
  { exchangeId, publicUrl }: { readonly exchangeId: string; readonly publicUrl: string },
): FastifyReply {
  const page = readPage("sign-in-failed.html", findConsole());
  if (page === undefined) throw problem;
  const { status, message, retryAfterS } = problem;
  if (retryAfterS !== undefined) reply.header("retry-after", retryAfterS);
  return sendNotice(reply, page, {
    status,
    root: `${publicUrl}/`,
    texts: { message, request_id: exchangeId },
  });
}
