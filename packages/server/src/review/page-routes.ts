/**
 * The small pages that the server has itself: setting up, an invitation, signing in. They are
 * plain files and know nothing that is not asked for by the scripts on them; nothing of elsewhere
 * runs, is framed or is loaded there.
 */

import { readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { Problem } from "@countersign/protocol";
import type { FastifyInstance, FastifyReply } from "fastify";
import type { Context } from "../context.ts";
import { needsSetup } from "../operations/sign-in/makeSetupLink.ts";

const FOLDER = join(import.meta.dirname, "pages");

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** What the pages load, at `/pages/NAME`. */
const ASSETS = [
  "pages.css",
  "mark.svg",
  "page.js",
  "sign-in.js",
  "sign-in-oidc.js",
  "invitation.js",
  "passkeys.js",
];

const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-cache",
};

export function addPageRoutes(app: FastifyInstance, context: Context): void {
  const pages = {
    "sign-in": "sign-in.html",
    invitation: "invitation.html",
  };
  for (const [path, name] of Object.entries(pages)) {
    const body = readFileSync(join(FOLDER, name));
    const config = { operation: operationOf(path) };
    app.get(`/${path}`, { config }, async (_, reply) => sendPage(reply, 200, name, body));
  }

  const setup = readFileSync(join(FOLDER, "invitation.html"));
  const gone = readFileSync(join(FOLDER, "gone.html"));
  app.get("/setup", { config: { operation: operationOf("setup") } }, async (_, reply) =>
    (await needsSetup(context))
      ? sendPage(reply, 200, "invitation.html", setup)
      : sendPage(reply, 404, "gone.html", gone),
  );

  const assets = new Map(ASSETS.map((name) => [name, readFileSync(join(FOLDER, name))]));
  app.get("/pages/:id", { config: { operation: "pageAsset" } }, async (request, reply) => {
    const { id: name } = request.params as { readonly id: string };
    const body = assets.get(name);
    if (body === undefined) throw new Problem("not_found");
    return sendPage(reply, 200, name, body);
  });
}

/** `sign-in` is served as `signInPage`. */
function operationOf(path: string): string {
  return `${path.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())}Page`;
}

function sendPage(reply: FastifyReply, status: number, name: string, body: Buffer): FastifyReply {
  return reply
    .code(status)
    .headers(HEADERS)
    .header("content-type", TYPES[extname(name)])
    .send(body);
}
