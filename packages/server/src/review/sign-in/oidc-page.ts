/**
 * What somebody sees whose sign-in at the identity provider did not work: they came by a
 * navigation, and would see JSON. No script runs there, and nothing is loaded from elsewhere.
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
  { exchangeId, publicUrl }: { readonly exchangeId: string; readonly publicUrl: string },
): FastifyReply {
  if (retryAfterS !== undefined) reply.header("retry-after", retryAfterS);
  return reply
    .code(status)
    .header("content-type", "text/html; charset=utf-8")
    .header(
      "content-security-policy",
      "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; " +
        "form-action 'none'; frame-ancestors 'none'",
    )
    .header("x-content-type-options", "nosniff")
    .send(writeOidcPage(message, exchangeId, publicUrl));
}

function writeOidcPage(message: string, exchangeId: string, publicUrl: string): string {
  const base = escapeHtml(publicUrl);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Not signed in · Countersign</title>
<link rel="icon" href="${base}/pages/mark.svg" type="image/svg+xml">
<link rel="stylesheet" href="${base}/pages/pages.css">
</head>
<body>
<main class="card">
<header class="head">
<img class="mark" src="${base}/pages/mark.svg" alt="" width="44" height="44">
<h1>You are not signed in</h1>
</header>
<p class="alert" role="alert">${escapeHtml(message)}</p>
<p class="foot"><a href="${base}/sign-in">Sign in again</a></p>
<p class="foot">Request ${escapeHtml(exchangeId)}</p>
</main>
</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
