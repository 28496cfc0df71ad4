/** The signed-in user's session. Read at the start, and again after a switch of the project. */

import type { Session } from "@countersign/review-api";
import { signal } from "@preact/signals";
import { api } from "./api.ts";
import { noteServerTime } from "./time.ts";

/** Undefined until the server has answered. */
export const session = signal<Session | undefined>(undefined);

/** Whether the server did not answer when the console started. */
export const isOffline = signal(false);

/** @throws Refusal */
export async function loadSession(): Promise<void> {
  const askedAt = performance.now();
  const answer = await api.call("GET /session");
  noteServerTime(Date.parse(answer.now), askedAt);
  session.value = answer;
}

/** @throws Refusal */
export async function signOut(): Promise<void> {
  await api.call("DELETE /session");
}
