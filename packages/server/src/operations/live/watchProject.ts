import { uuidV7 } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { kindOfActor } from "../../core/actor.ts";
import type { StoredRequest } from "../../core/request.ts";
import { readEntriesAfter } from "../../storage/sql/audit/audit-entries.ts";
import { SERVER } from "../../storage/sql/keys.ts";
import {
  countPendingOf,
  readHeldOf,
  readPendingIds,
  readVotesSaid,
  type Said,
} from "../../storage/sql/requests/pending-states.ts";
import { readRequests } from "../../storage/sql/requests/requests.ts";
import { listFreezes, type ReviewedFreeze } from "../freezes/listFreezes.ts";
import { type GatheredRequest, gatherRequests } from "../requests/reviewRequests.ts";

/** So many pending requests of a project are looked at, those that end first. */
const PENDING_MAX = 5_000;

/** Verdicts that are held, of all of them. */
const HELD_MAX = 5_000;

/** How many freezes are told. */
const FREEZES_MAX = 200;

/** How a pending request stands: it differs exactly when something was said or taken back. */
export interface Standing {
  readonly votes: string;
  /** Of each reviewer who holds a verdict, by id. */
  readonly held: ReadonlyMap<string, number>;
}

export interface WatchedProject {
  /** By id. */
  readonly standings: ReadonlyMap<string, Standing>;
  /** How many are pending. */
  readonly pending: number;
  /** Those in force, the newest first. */
  readonly freezes: readonly ReviewedFreeze[];
}

/** What waits in a project, how it stands, and what is frozen: one look, of bounded cost. */
export async function watchProject(context: Context, projectId: string): Promise<WatchedProject> {
  const { store } = context;
  const [ids, held, freezes] = await Promise.all([
    readPendingIds(store, projectId, PENDING_MAX),
    readHeldOf(store, projectId, HELD_MAX),
    readFreezes(context, projectId),
  ]);
  const votes = await readVotesSaid(store, projectId, ids);
  const votesOf = Map.groupBy(votes, ({ requestId }) => requestId);
  const heldOf = Map.groupBy(held, ({ requestId }) => requestId);
  const standings = new Map(
    ids.map((id) => [id, toStanding(votesOf.get(id) ?? [], heldOf.get(id) ?? [])] as const),
  );
  const isAll = ids.length < PENDING_MAX;
  const pending = isAll ? ids.length : await countPendingOf(store, projectId);
  return { standings, pending, freezes };
}

/** Those of the project and of the server that are in force. */
export async function readFreezes(
  context: Context,
  projectId: string,
): Promise<readonly ReviewedFreeze[]> {
  const listing = { state: "in_force", limit: FREEZES_MAX, after: undefined } as const;
  return (await listFreezes(context, { projectId }, listing)).freezes;
}

/** How many requests are in memory at a time: each may be large. */
const REQUESTS_PER_READ = 16;

/** Requests as they stand now, a few at a time; those that are damaged or erased are left out. */
export async function* readWatched(
  { store }: Pick<Context, "store">,
  projectId: string,
  ids: readonly string[],
): AsyncGenerator<GatheredRequest> {
  for (let from = 0; from < ids.length; from += REQUESTS_PER_READ) {
    const some = ids.slice(from, from + REQUESTS_PER_READ);
    const { requests } = await readRequests(store, projectId, some);
    yield* await gatherRequests(store, projectId, requests);
  }
}

export function standingOf({ votes, held }: GatheredRequest): Standing {
  return toStanding(
    votes.map(({ requestId, reviewerId, votedAt: at }) => ({ requestId, reviewerId, at })),
    held.map(({ requestId, reviewerId, heldAt: at }) => ({ requestId, reviewerId, at })),
  );
}

function toStanding(votes: readonly Said[], held: readonly Said[]): Standing {
  return {
    votes: votes
      .map(({ reviewerId, at }) => `${reviewerId} ${at}`)
      .sort()
      .join("\n"),
    held: new Map(held.map(({ reviewerId, at }) => [reviewerId, at])),
  };
}

/** Whether people were ever asked: not where policy, a grant or a freeze answered at once. */
export function wasPending({ createdAt, decision }: StoredRequest): boolean {
  if (decision === null) return true;
  const isAnswered = ["policy", "grant", "freeze"].includes(kindOfActor(decision.decidedBy));
  return !isAnswered || decision.decidedAt > createdAt;
}

/** Entries that are looked at of what happened meanwhile, and requests that they may be about. */
const ENTRIES_MAX = 5_000;
const TOUCHED_MAX = 500;

const OF_REQUEST = /^request:(.+)$/;

/**
 * Requests that something happened to since some time, by the audit log, whichever replica did it.
 *
 * @param since epoch ms
 * @returns undefined when it is too much to tell
 */
export async function readTouched(
  { store }: Pick<Context, "store">,
  projectId: string,
  since: number,
): Promise<readonly string[] | undefined> {
  const after = uuidV7(Math.max(0, since), new Uint8Array(10));
  const entries = await readEntriesAfter(store, projectId, after, ENTRIES_MAX + 1);
  if (entries.length > ENTRIES_MAX) return undefined;
  const ids = new Set(entries.flatMap(({ subject }) => OF_REQUEST.exec(subject)?.[1] ?? []));
  return ids.size > TOUCHED_MAX ? undefined : [...ids];
}

/** Whether what was frozen or lifted there is also told in this project. */
export function concerns(frozenProjectId: string, projectId: string): boolean {
  return frozenProjectId === projectId || frozenProjectId === SERVER;
}
