/** Who is signed in. Read once at the start, and again when the person chooses another project. */

import { signal } from "@preact/signals";
import { call } from "./api.ts";
import { noteServerTime } from "./time.ts";

export type Role = "viewer" | "reviewer" | "editor" | "auditor" | "admin" | "operator";

export interface Project {
  readonly id: string;
  readonly name: string;
  /** The reviewer that the person is in this project. */
  readonly reviewer: { readonly id: string; readonly name: string };
  readonly role: Role;
  readonly groups: readonly string[];
}

/** As `GET /review/v1/session` answers. */
export interface Session {
  readonly person: { readonly id: string; readonly login: string; readonly name: string };
  readonly session: { readonly id: string; readonly method: string };
  /** Null for somebody who belongs to none. */
  readonly project: Project | null;
  readonly projects: readonly Project[];
  readonly now: string;
}

/** Undefined until the server has answered. */
export const session = signal<Session | undefined>(undefined);

/** Whether the server did not answer when the console started. */
export const isOffline = signal(false);

/** @throws Refusal */
export async function loadSession(): Promise<void> {
  const askedAt = performance.now();
  const answer = await call<Session>("GET", "session");
  noteServerTime(Date.parse(answer.now), askedAt);
  session.value = answer;
}

/** @throws Refusal */
export async function signOut(): Promise<void> {
  await call("DELETE", "session");
}
