/**
 * Notifications of new requests by an open console that is not in use: on the desktop, by a sound,
 * or both. Web Push serves a browser without an open console.
 *
 * Each request has one notice, also where several tabs are open, and none while one of them is in
 * use: the tab that hears of it first decides. A notice never contains arguments: a lock screen can
 * show it.
 */

import { visibleText } from "@countersign/protocol";
import { effect, signal } from "@preact/signals";
import { inTurn } from "../device/notifications.ts";
import { worker } from "../device/register.ts";
import { t } from "../language/t.ts";
import { preferences } from "../preferences.ts";
import { addressOf } from "../requests/address-of.ts";
import { urlOf } from "../root.ts";
import { href } from "../route.ts";
import { now } from "../time.ts";
import { arrivals, listing, requests } from "./pending-list.ts";
import { isMine, type PendingRequest } from "./pending-request.ts";
import { isQuiet } from "./quiet.ts";
import { playNotice } from "./sound.ts";

export interface DeviceNotices {
  readonly desktop: boolean;
  readonly sound: boolean;
}

const STORED = "countersign.notices";

/** Of this browser: its user may have others where notices disturb. */
export const deviceNotices = signal<DeviceNotices>(stored());

// The choice of another tab.
addEventListener("storage", ({ key }) => {
  if (key === STORED || key === null) deviceNotices.value = stored();
});

function stored(): DeviceNotices {
  try {
    const { desktop, sound } = JSON.parse(localStorage.getItem(STORED) ?? "{}");
    return { desktop: desktop === true, sound: sound === true };
  } catch {
    return { desktop: false, sound: false };
  }
}

export function chooseNotices(change: Partial<DeviceNotices>): void {
  deviceNotices.value = { ...deviceNotices.value, ...change };
  try {
    localStorage.setItem(STORED, JSON.stringify(deviceNotices.value));
  } catch {
    // A browser that keeps nothing uses the choice until the page is closed.
  }
}

/** Held by each tab that is in use. */
const IN_USE = "countersign.in-use";

/** A tab that hears of a request later than another one must not decide about its notice again. */
const TAKEN_MS = 5_000;

let leave: (() => void) | undefined;

function holdWhileInUse(): void {
  leave?.();
  leave = undefined;
  if (!document.hasFocus()) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  leave = resolve;
  navigator.locks?.request(IN_USE, { mode: "shared" }, () => promise).catch(console.info);
}

async function isInUse(): Promise<boolean> {
  if (document.hasFocus()) return true;
  const state = await navigator.locks?.query();
  return state?.held?.some(({ name }) => name === IN_USE) === true;
}

/** True for requests about which the user wants to be notified now. */
function isWanted(request: PendingRequest): boolean {
  const { desktop, sound } = deviceNotices.peek();
  if (!desktop && !sound) return false;
  const { notify, quiet_hours: quiet } = preferences.peek();
  if (!isMine(request) || request.held !== undefined || notify === "none") return false;
  if (notify === "named" && request.requirement.from.length === 0) return false;
  return !isQuiet(quiet, now.peek());
}

async function decideNotice(request: PendingRequest): Promise<void> {
  const options = { ifAvailable: true };
  await navigator.locks?.request(`${STORED} ${request.id}`, options, async (lock) => {
    if (lock === null) return;
    if (!(await isInUse())) await notice(request).catch(console.info);
    await new Promise((resolve) => setTimeout(resolve, TAKEN_MS));
  });
}

async function notice(request: PendingRequest): Promise<void> {
  const { desktop, sound } = deviceNotices.peek();
  // Each works without the other.
  const shown = desktop ? show(request) : undefined;
  try {
    if (sound) playNotice();
  } catch (error) {
    console.info("no sound:", error);
  }
  await shown;
}

async function show(request: PendingRequest): Promise<void> {
  const { id, tool, server, instance } = request;
  const registration = await worker;
  if (registration === undefined || Notification.permission !== "granted") return;
  // Web Push notifies this browser already.
  if ((await registration.pushManager?.getSubscription()) != null) return;
  const name = visibleText(server === undefined ? tool : t`${tool} on ${server}`);
  const options: NotificationOptions = {
    tag: id,
    body: visibleText(instance.name || instance.id),
    icon: urlOf("icon-192.png"),
    data: { path: pathOfPage(`/inbox/${addressOf(request)}`) },
  };
  await inTurn(() => registration.showNotification(t`${name} needs your decision`, options));
}

let known: readonly string[] = [];

function noticeArrivals(): void {
  const ids = arrivals.value;
  const fresh = ids.filter((id) => !known.includes(id));
  known = ids;
  for (const id of fresh) {
    const request = requests.peek().get(id);
    if (request !== undefined && isWanted(request)) decideNotice(request).catch(console.info);
  }
}

/** Removes the notifications of this project's requests that are not pending any more. */
async function removeOld(isPending: (id: string) => boolean): Promise<void> {
  const registration = await worker;
  if (registration === undefined) return;
  const shown = await inTurn(() => registration.getNotifications());
  const inbox = pathOfPage("/inbox/");
  for (const one of shown) {
    const data = one.data as { readonly path?: string } | null;
    if (data?.path?.startsWith(inbox) === true && !isPending(one.tag)) one.close();
  }
}

/** As in the notifications of Web Push: of the server, with the project. */
function pathOfPage(path: string): string {
  return `/${href(path).slice(urlOf("").length)}`;
}

addEventListener("focus", holdWhileInUse);
addEventListener("blur", holdWhileInUse);
holdWhileInUse();
effect(noticeArrivals);
effect(() => {
  const pending = requests.value;
  // Before the end of the list is known, a request can be missing in it.
  if (listing.value.next !== null) return;
  removeOld((id) => pending.has(id)).catch(console.info);
});
