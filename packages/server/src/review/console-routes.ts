/**
 * Serves the console: one page for all its screens, and the files that the build has made for it.
 * The page is the same for everybody; what is on it, its scripts ask for.
 */

import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Problem } from "@countersign/protocol";
import type { FastifyInstance, FastifyReply } from "fastify";

const PAGE = "index.html";
const ASSETS = "assets";

/** At the root of the server: what is installed on a device serves what is below its address. */
const AT_ROOT: Readonly<Record<string, string>> = {
  "sw.js": "serviceWorker",
  "manifest.webmanifest": "appManifest",
  "icon-192.png": "smallIcon",
  "icon-512.png": "largeIcon",
  "icon-maskable-512.png": "maskableIcon",
};
/** Where people land; a request by itself has a page of its own. */
const INBOX = "inbox";

/** Each has an address of its own, and so have the things that are listed there. */
const SCREENS = ["history", "audit", "policies", "instances", "settings"];

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".webmanifest": "application/manifest+json",
};

/** Scripts are files of this server, and none of them can turn a text into markup or script. */
const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
    "img-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types countersign",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** A name of the build says what is in the file; everything else is asked for again. */
const FOREVER = "public, max-age=31536000, immutable";
const ASK = "no-cache";

/** The files of the build; undefined where nobody has built it. */
export function findConsole(): string | undefined {
  try {
    const folder = join(
      fileURLToPath(import.meta.resolve("@countersign/console/index.html")),
      "..",
    );
    readFileSync(join(folder, PAGE));
    return folder;
  } catch {
    return undefined;
  }
}

export function addConsoleRoutes(app: FastifyInstance, folder = findConsole()): void {
  const shell = folder === undefined ? undefined : readFileSync(join(folder, PAGE), "utf8");
  app.get(`/${INBOX}`, { config: { operation: "inboxPage" } }, async (_, reply) =>
    sendShell(reply, shell, "./"),
  );
  for (const screen of SCREENS) {
    const config = { operation: `${screen}Page` };
    app.get(`/${screen}`, { config }, async (_, reply) => sendShell(reply, shell, "./"));
    app.get(`/${screen}/:id`, { config: { operation: `${screen}ItemPage` } }, async (_, reply) =>
      sendShell(reply, shell, "../"),
    );
  }

  // Which request there is, and who may see it, its script asks.
  app.get("/inbox/:id", { config: { operation: "requestPage" } }, async (_, reply) =>
    sendShell(reply, shell, "../"),
  );

  for (const [name, operation] of Object.entries(AT_ROOT)) {
    const body = folder === undefined ? undefined : readFileSync(join(folder, name));
    app.get(`/${name}`, { config: { operation } }, async (_, reply) => {
      if (body === undefined) throw new Problem("not_found");
      return send(reply, name, body, ASK);
    });
  }

  const assets = folder === undefined ? new Map() : readAll(join(folder, ASSETS));
  app.get("/assets/:id", { config: { operation: "consoleAsset" } }, async (request, reply) => {
    const { id: name } = request.params as { readonly id: string };
    const body = assets.get(name);
    if (body === undefined) throw new Problem("not_found");
    return send(reply, name, body, FOREVER);
  });
}

function readAll(folder: string): ReadonlyMap<string, Buffer> {
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
}

const NOT_BUILT = "The console is not built. Run `npm run build`, and start the server again.\n";

/** @param root from the page's folder to that of the server */
function sendShell(reply: FastifyReply, shell: string | undefined, root: string): FastifyReply {
  if (shell === undefined) {
    return reply.code(503).header("content-type", "text/plain; charset=utf-8").send(NOT_BUILT);
  }
  return send(reply, PAGE, shell.replaceAll(/(?<=(?:src|href)=")\.\//g, root), ASK);
}

function send(
  reply: FastifyReply,
  name: string,
  body: Buffer | string,
  cacheControl: string,
): FastifyReply {
  const type = TYPES[extname(name)] ?? "application/octet-stream";
  return reply
    .headers(HEADERS)
    .header("cache-control", cacheControl)
    .header("content-type", type)
    .send(body);
}
