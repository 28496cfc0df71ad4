/** Sends the pages of the console and the files of its build. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Problem } from "@countersign/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";

/** For a page without scripts. */
const STATIC_PAGE_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'";

/** Only scripts of this server run, and they cannot turn text into markup or script. */
const POLICY =
  `${STATIC_PAGE_POLICY}; script-src 'self'; connect-src 'self'; manifest-src 'self'; ` +
  "worker-src 'self'; require-trusted-types-for 'script'; trusted-types countersign";

const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

const NOT_BUILT = "The console is not built. Run `npm run build`, and start the server again.\n";

/** The folder of the build; undefined where it does not exist. */
export function findConsole(): string | undefined {
  try {
    const page = fileURLToPath(import.meta.resolve("@countersign/console/index.html"));
    readFileSync(page);
    return join(page, "..");
  } catch {
    return undefined;
  }
}

/** The text of a page of the build; undefined where the console is not built. */
export function readPage(name: string, folder: string | undefined): string | undefined {
  return folder === undefined ? undefined : readFileSync(join(folder, name), "utf8");
}

export interface PageOptions {
  readonly status?: number;
  /** From the page's address to the root of the server, with a trailing slash. */
  readonly root?: string;
}

export function sendPage(
  reply: FastifyReply,
  page: string | undefined,
  { status = 200, root = "./" }: PageOptions = {},
): FastifyReply {
  if (page === undefined) {
    return reply.code(503).header("content-type", "text/plain; charset=utf-8").send(NOT_BUILT);
  }
  return reply
    .code(status)
    .headers(HEADERS)
    .header("cache-control", "no-cache")
    .header("content-type", "text/html; charset=utf-8")
    .send(addressFrom(page, root));
}

/** Sends a page without scripts that displays texts. It is never cached. */
export function sendNotice(
  reply: FastifyReply,
  page: string,
  {
    status,
    root,
    texts,
  }: Required<PageOptions> & { readonly texts: Readonly<Record<string, string>> },
): FastifyReply {
  const filled = addressFrom(page, root).replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) =>
    escapeHtml(texts[name] ?? ""),
  );
  return reply
    .code(status)
    .headers({ ...HEADERS, "content-security-policy": STATIC_PAGE_POLICY })
    .header("cache-control", "no-store")
    .header("content-type", "text/html; charset=utf-8")
    .send(filled);
}

/** The build writes relative addresses, because a proxy may add a path prefix. */
function addressFrom(page: string, root: string): string {
  return page.replaceAll(/(?<=(?:src|href)=")\.\//g, () => escapeHtml(root));
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

/**
 * Sends a file of the build with its type and an ETag.
 *
 * @param isImmutable true when its name changes with its content
 * @throws Problem `not_found`
 */
export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { folder, name, isImmutable }: FileOptions,
): Promise<FastifyReply> {
  if (folder === undefined) throw new Problem("not_found");
  // Loaded with the first file, because its 22 modules would slow down every start.
  const { default: send } = await import("@fastify/send");
  const file = await send(request.raw, encodeURIComponent(name), {
    root: folder,
    index: false,
    dotfiles: "ignore",
    acceptRanges: false,
    cacheControl: false,
  });
  if (file.type !== "file") throw new Problem("not_found");
  return reply
    .code(file.statusCode)
    .headers(file.headers)
    .headers(HEADERS)
    .header("cache-control", isImmutable ? "public, max-age=31536000, immutable" : "no-cache")
    .send(file.stream);
}

export interface FileOptions {
  /** Undefined where the console is not built. */
  readonly folder: string | undefined;
  readonly name: string;
  readonly isImmutable: boolean;
}
