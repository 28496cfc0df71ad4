/**
 * The pages: the console and the sign-in pages. A page is the same for every user; its scripts
 * fetch the data.
 */

import { join } from "node:path";
import { Problem } from "@countersign/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "../../context.ts";
import { needsSetup } from "../../operations/sign-in/makeSetupLink.ts";
import { type PageOptions, readPage, sendFile, sendPage } from "./page-files.ts";

/** Served at the root: a service worker controls the pages below its own address. */
const ROOT_FILES: Readonly<Record<string, string>> = {
  "sw.js": "serviceWorker",
  "manifest.webmanifest": "appManifest",
  "icon-192.png": "smallIcon",
  "icon-512.png": "largeIcon",
  "icon-maskable-512.png": "maskableIcon",
};

const SCREENS = [
  "all",
  "inbox",
  "history",
  "dashboard",
  "sessions",
  "audit",
  "policies",
  "instances",
  "settings",
];

/** Whether a browser opens an address outside of the APIs. Programs request other types. */
function isForPage({ method, url, headers }: FastifyRequest): boolean {
  const isApi = /^\/(?:v1|review|assets)\//.test(url);
  return method === "GET" && !isApi && headers.accept?.includes("text/html") === true;
}

/** The console says that there is no such page. */
function unknownPage({ url }: FastifyRequest): PageOptions {
  const [path = "/"] = url.split("?", 1);
  const depth = path.split("/").length - 2;
  return { status: 404, root: depth === 0 ? "./" : "../".repeat(depth) };
}

/** @throws Problem `not_found` for other pages, which the console answers */
function sendScreen(
  { params }: FastifyRequest,
  reply: FastifyReply,
  shell: string | undefined,
  root: string,
): FastifyReply {
  const { screen } = params as { readonly screen: string };
  if (!SCREENS.includes(screen)) throw new Problem("not_found");
  return sendPage(reply, shell, { root });
}

/** @param folder the build of the console; undefined where it does not exist */
export function addPageRoutes(
  app: FastifyInstance,
  context: Context,
  folder: string | undefined,
): void {
  const read = (name: string) => readPage(name, folder);
  const signIn = read("sign-in.html");
  app.get("/sign-in", { config: { operation: "signInPage" } }, async (_, reply) =>
    sendPage(reply, signIn),
  );
  const invitation = read("invitation.html");
  app.get("/invitation", { config: { operation: "invitationPage" } }, async (_, reply) =>
    sendPage(reply, invitation),
  );
  const complete = read("setup-complete.html");
  app.get("/setup", { config: { operation: "setupPage" } }, async (_, reply) =>
    (await needsSetup(context))
      ? sendPage(reply, invitation)
      : sendPage(reply, complete, { status: 404 }),
  );

  const shell = read("index.html");
  app.pages.unknown = (request, reply) => {
    if (!isForPage(request)) return undefined;
    return /^\/(?:\?|$)/.test(request.url)
      ? reply.redirect("./inbox", 303)
      : sendPage(reply, shell, unknownPage(request));
  };
  // The console adds the project to an address without one.
  for (const screen of SCREENS) {
    app.get(`/${screen}`, { config: { operation: `${screen}Page` } }, async (_, reply) =>
      sendPage(reply, shell),
    );
    const operation = screen === "inbox" ? "requestPage" : `${screen}ItemPage`;
    app.get(`/${screen}/:id`, { config: { operation } }, async (_, reply) =>
      sendPage(reply, shell, { root: "../" }),
    );
  }
  app.get("/p/:id/:screen", { config: { operation: "projectPage" } }, async (request, reply) =>
    sendScreen(request, reply, shell, "../../"),
  );
  app.get(
    "/p/:id/:screen/:item",
    { config: { operation: "projectItemPage" } },
    async (request, reply) => sendScreen(request, reply, shell, "../../../"),
  );

  for (const [name, operation] of Object.entries(ROOT_FILES)) {
    app.get(`/${name}`, { config: { operation } }, async (request, reply) =>
      sendFile(request, reply, { folder, name, isImmutable: false }),
    );
  }
  const assets = folder === undefined ? undefined : join(folder, "assets");
  app.get("/assets/:id", { config: { operation: "consoleAsset" } }, async (request, reply) => {
    const { id: name } = request.params as { readonly id: string };
    return sendFile(request, reply, { folder: assets, name, isImmutable: true });
  });
}
