/** Requests that the user can approve, of all projects; the earliest deadline first. */

import type { Project } from "@countersign/review-api";
import { api, Refusal } from "../../api.ts";
import {
  byDeadline,
  isMine,
  type PendingRequest,
  readRequest,
} from "../../live/pending-request.ts";
import { noteServerTime } from "../../time.ts";

/** Of one project; its own inbox lists the others. */
const LIMIT = "200";

export interface ProjectRequest {
  readonly project: Project;
  readonly request: PendingRequest;
}

export interface AllPending {
  readonly requests: readonly ProjectRequest[];
  /** Projects with more pending requests than this list has. */
  readonly longer: readonly Project[];
  /** Projects that could not be read. */
  readonly failed: readonly Project[];
}

interface Listed {
  readonly project: Project;
  readonly requests: readonly PendingRequest[];
  readonly isWhole: boolean;
}

/**
 * One list for each project. A project that cannot be read does not hide the others.
 *
 * @throws Refusal when no project can be read
 */
export async function listAllPending(
  projects: readonly Project[],
  options: { readonly isBackground: boolean; readonly signal: AbortSignal },
): Promise<AllPending> {
  const answers = await Promise.allSettled(
    projects.map((project) => listPending(project, options)),
  );
  options.signal.throwIfAborted();
  const listed = answers.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const [failure] = answers.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  if (listed.length === 0 && failure !== undefined) throw failure;
  if (failure !== undefined && !(failure instanceof Refusal)) console.error(failure);
  const requests = listed.flatMap(({ project, requests: own }) =>
    own.map((request) => ({ project, request })),
  );
  return {
    requests: requests.sort((a, b) => byDeadline(a.request, b.request)),
    longer: listed.filter(({ isWhole }) => !isWhole).map(({ project }) => project),
    failed: projects.filter((project) => !listed.some((one) => one.project === project)),
  };
}

async function listPending(
  project: Project,
  options: { readonly isBackground: boolean; readonly signal: AbortSignal },
): Promise<Listed> {
  const askedAt = performance.now();
  const query = { state: "pending", limit: LIMIT } as const;
  const answer = await api.call("GET /requests", { query, project: project.id, ...options });
  noteServerTime(Date.parse(answer.now), askedAt);
  return {
    project,
    requests: answer.requests.map(readRequest).filter(isMine),
    isWhole: answer.next === null,
  };
}
