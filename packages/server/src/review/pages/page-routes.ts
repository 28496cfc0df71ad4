/**
 * The pages: the console and the sign-in pages. A page is the same for every user; its scripts
 * fetch the data.
 */

import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import type { Context } from "../../context.ts";
import { needsSetup } from "../../operations/sign-in/makeSetupLink.ts";
import { readPage, sendFile, sendPage } from "./page-files.ts";

/** Served at the root: a service worker controls the pages below its own address. */
const ROOT_FILES: Readonly<Record<string, string>> = {
  "sw.js": "serviceWorker",
  "manifest.webmanifest": "appManifest",
  "icon-192.png": "smallIcon",
  "icon-512.png": "largeIcon",
  "icon-maskable-512.png": "maskableIcon",
};

const SCREENS = ["inbox", "history", "audit", "policies", "instances", "settings"];

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
  for (const screen of SCREENS) {
    app.get(`/${screen}`, { config: { operation: `${screen}Page` } }, async (_, reply) =>
      sendPage(reply, shell),
    );
    const operation = screen === "inbox" ? "requestPage" : `${screen}ItemPage`;
    app.get(`/${screen}/:id`, { config: { operation } }, async (_, reply) =>
      sendPage(reply, shell, { root: "../" }),
    );
  }

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
