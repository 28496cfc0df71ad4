/**
 * The service worker: it caches the files of the shell for a device without a connection, and shows
 * Web Push notifications. It caches no answer of the server, so no page shows a stale request.
 *
 * Built to one file at the root of the server: `sw.js`.
 */

import { NOTIFICATION_TEXTS, type NotificationTexts } from "./notification-texts.ts";
import { inTurn } from "./notifications.ts";

const worker = globalThis as unknown as ServiceWorkerGlobalScope;

/** Filled by the build: the names in assets/. */
const ASSETS: readonly string[] = JSON.parse("__ASSETS__");

/** The files are named by their content, so this one is another for another build. */
const SHELL = `shell ${ASSETS.join(" ")}`;
/** Any of the screens: they are one page. */
const PAGE = "settings";

function urlOf(path: string): string {
  return new URL(path, worker.registration.scope).href;
}

worker.addEventListener("install", (event) => {
  const keep = async () => {
    const cache = await caches.open(SHELL);
    await cache.addAll([urlOf(PAGE), ...ASSETS.map((name) => urlOf(`assets/${name}`))]);
    await worker.skipWaiting();
  };
  event.waitUntil(keep());
});

worker.addEventListener("activate", (event) => {
  const tidy = async () => {
    const names = await caches.keys();
    const old = names.filter((name) => name.startsWith("shell ") && name !== SHELL);
    await Promise.all(old.map((name) => caches.delete(name)));
    await worker.clients.claim();
  };
  event.waitUntil(tidy());
});

/** The screens of the console; other pages of the server are not part of the shell. */
const SCREENS =
  /^(?:all|inbox|history|dashboard|sessions|audit|policies|instances|settings)(?:\/|$)/;
const IN_PROJECT = /^p\/[\w-]+\//;

worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || !url.href.startsWith(worker.registration.scope)) return;
  const path = url.href.slice(worker.registration.scope.length).split(/[?#]/)[0] ?? "";
  if (path.startsWith("assets/")) event.respondWith(kept(request));
  else if (request.mode === "navigate" && SCREENS.test(path.replace(IN_PROJECT, "")))
    event.respondWith(page(request, path));
});

async function kept(request: Request): Promise<Response> {
  return (await caches.match(request)) ?? fetch(request);
}

/** From the server where it answers: it may have a newer build. */
async function page(request: Request, path: string): Promise<Response> {
  try {
    return await fetch(request);
  } catch {
    const shell = await caches.match(urlOf(PAGE));
    if (shell === undefined) return Response.error();
    // Its addresses are relative to the page that was kept; this one may lie deeper.
    const depth = path.split("/").length - 1;
    const text = (await shell.text()).replaceAll(
      /(?<=(?:src|href)=")\.\//g,
      "../".repeat(depth) || "./",
    );
    return new Response(text, { headers: shell.headers });
  }
}

/** As the server sends it; see docs/reference/review-api.md, Web Push. */
interface PushMessage {
  readonly type: "request.waiting" | "request.resolved" | "push.test";
  readonly tag: string;
  readonly path: string;
  readonly tool?: string;
  readonly server?: string;
  readonly instance_name?: string;
  readonly deadline_at?: string;
  readonly status?: string;
  readonly silent?: boolean;
}

worker.addEventListener("push", (event) => {
  const message = event.data?.json() as PushMessage | undefined;
  if (message !== undefined) event.waitUntil(show(message));
});

async function show(message: PushMessage): Promise<void> {
  const { tag, path, silent = false } = message;
  const [title, body] = wordsOf(message, await textsOfPage().catch(() => NOTIFICATION_TEXTS.en));
  const icon = urlOf("icon-192.png");
  const options = { tag, body, icon, silent, data: { path } };
  await inTurn(() => worker.registration.showNotification(title, options));
}

/** In the language of the last page; `page-language.ts` stores it. */
async function textsOfPage(): Promise<NotificationTexts> {
  const stored = await caches.match(urlOf("language"));
  const language = await stored?.text();
  const texts = Object.entries(NOTIFICATION_TEXTS).find(([name]) => name === language);
  return texts?.[1] ?? NOTIFICATION_TEXTS.en;
}

/** The agent chooses the names. A notification displays them as plain text. */
function wordsOf(
  { type, tool: name = "", server, instance_name: instance = "", deadline_at, status }: PushMessage,
  texts: NotificationTexts,
): readonly [title: string, body: string] {
  const tool = server === undefined ? name : texts.toolOn(name, server);
  switch (type) {
    case "request.waiting": {
      const until = deadline_at === undefined ? undefined : timeOf(deadline_at, texts);
      const body = until === undefined ? instance : texts.until(instance, until);
      return [texts.needsDecision(tool), body];
    }
    case "request.resolved": {
      const outcome =
        status === undefined ? texts.resolvedWithoutStatus : statusName(status, texts);
      return [`${tool}: ${outcome}`, texts.nothingLeft(instance)];
    }
    case "push.test":
      return [texts.testTitle, texts.testBody];
  }
}

function statusName(status: string, { statuses }: NotificationTexts): string {
  return statuses[status] ?? status;
}

function timeOf(timestamp: string, { locale }: NotificationTexts): string {
  return new Intl.DateTimeFormat(locale, { timeStyle: "short" }).format(new Date(timestamp));
}

/** The project in an address of this server. */
function projectIn(url: string): string | undefined {
  const { scope } = worker.registration;
  const path = url.startsWith(scope) ? url.slice(scope.length) : "";
  return IN_PROJECT.exec(path)?.[0];
}

/** A tap opens the request and decides nothing. */
worker.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const { path } = event.notification.data as { readonly path: string };
  event.waitUntil(open(urlOf(path.replace(/^\//, ""))));
});

/**
 * In a window of the same project, the one that shows it already where there is one. A browser
 * reports the address that a window was opened with, which may be without a project.
 */
async function open(url: string): Promise<void> {
  const windows = await worker.clients.matchAll({ type: "window" });
  const project = projectIn(url);
  const ours = windows.filter((client) => client.url.startsWith(worker.registration.scope));
  const own =
    ours.find((client) => client.url === url) ??
    ours.find((client) => project === undefined || projectIn(client.url) === project) ??
    ours.find((client) => projectIn(client.url) === undefined);
  if (own === undefined) {
    await worker.clients.openWindow(url);
    return;
  }
  // A browser that lets no window come to the front still shows in it what was asked for.
  await own.focus().catch(console.info);
  if (own.url !== url) await own.navigate(url);
}
