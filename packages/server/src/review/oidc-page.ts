/**
 * What somebody sees whose sign-in at the identity provider did not work: they came by a
 * navigation, and would see JSON. No script, no style, nothing from anywhere else.
 */

import type { Problem } from "@countersign/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";

/** Whether whoever asks would rather have a page than JSON. */
export function wantsPage({ headers }: Pick<FastifyRequest, "headers">): boolean {
  return /\btext\/html\b/i.test(headers.accept ?? "");
}

export function sendOidcPage(
  reply: FastifyReply,
  { status, message, retryAfterS }: Problem,
  { exchangeId, again }: { readonly exchangeId: string; readonly again: string },
): FastifyReply {
  if (retryAfterS !== undefined) reply.header("retry-after", retryAfterS);
  return reply
    .code(status)
    .header("content-type", "text/html; charset=utf-8")
    .header(
      "content-security-policy",
      "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    )
    .header("x-content-type-options", "nosniff")
    .send(writeOidcPage(message, exchangeId, again));
}

function writeOidcPage(message: string, exchangeId: string, again: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Not signed in - Countersign</title>
</head>
<body>
<main>
<h1>You are not signed in</h1>
<p role="alert">${escapeHtml(message)}</p>
<p><a href="${escapeHtml(again)}">Sign in again</a></p>
<p><small>Request ${escapeHtml(exchangeId)}</small></p>
</main>
</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
