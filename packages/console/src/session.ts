/**
 * The signed-in user's session, with the project of this page: the address names it. Read at the
 * start, and again when permissions have changed.
 */

import type { Project, Session } from "@countersign/review-api";
import { signal } from "@preact/signals";
import { api, callsIn, stayWhenSignedOut } from "./api.ts";
import { addProject, route } from "./route.ts";
import { noteServerTime } from "./time.ts";

/**
 * Undefined until the server has answered. Its `project` is that of the page: null where the user
 * is not a member.
 */
export const session = signal<Session | undefined>(undefined);

/** Whether the server did not answer when the console started. */
export const isOffline = signal(false);

const LAST_USED = "countersign.project";

/** @throws Refusal */
export async function loadSession(): Promise<void> {
  const askedAt = performance.now();
  const answer = await api.call("GET /session");
  noteServerTime(Date.parse(answer.now), askedAt);
  const project = projectOfPage(answer);
  // A user who left the project must not act in another one by a flow that still runs.
  callsIn.project = project?.id ?? route.peek().project;
  if (project !== null) {
    keepLastUsed(project.id);
    addProject(project.id);
  }
  session.value = { ...answer, project };
}

/** Without a project in the address: the last used one, otherwise the one of the session. */
function projectOfPage({ project, projects }: Session): Project | null {
  const find = (wanted: string | null) => projects.find(({ id }) => id === wanted);
  const inAddress = route.peek().project;
  if (inAddress !== undefined) return find(inAddress) ?? null;
  return find(lastUsed()) ?? project ?? projects[0] ?? null;
}

function lastUsed(): string | null {
  try {
    return localStorage.getItem(LAST_USED);
  } catch {
    return null;
  }
}

function keepLastUsed(id: string): void {
  try {
    localStorage.setItem(LAST_USED, id);
  } catch {
    // A browser that keeps nothing opens the project of the session.
  }
}

/** The page stays until the caller leaves it. @throws Refusal */
export async function signOut(): Promise<void> {
  const undo = stayWhenSignedOut();
  try {
    await api.call("DELETE /session");
  } catch (error) {
    undo();
    throw error;
  }
}
