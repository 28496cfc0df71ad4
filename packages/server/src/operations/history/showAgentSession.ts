import { setImmediate as nextTurn } from "node:timers/promises";
import { Problem } from "@countersign/protocol";
import { sessionIn } from "@countersign/review-api/calls";
import type { Context } from "../../context.ts";
import type { StoredConsumption } from "../../core/consumption.ts";
import { deciderId, type JsonText, type StoredRequest } from "../../core/request.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { readReviewers } from "../../storage/sql/access/holders.ts";
import { listCallContexts } from "../../storage/sql/history/session-calls.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";
import { readConsumptions } from "../../storage/sql/requests/consumptions.ts";
import { readRequest, readRequests } from "../../storage/sql/requests/requests.ts";
import type { Reader } from "../../storage/store.ts";

/** Searched requests of the instance in each direction: no index contains the session. */
const SEARCHED_MAX = 1_000;
const SEARCHED_PER_STEP = 100;

/** Listed calls in each direction. */
const CALLS_MAX = 250;

/** Requests that are in memory in full at a time. */
const READ_PER_STEP = 20;

const CONTEXT_BYTES_MAX = 64 * 1024;

/** A call of a session, without its contents. */
export interface SessionRow {
  readonly request: Pick<
    StoredRequest,
    "id" | "tool" | "server" | "status" | "createdAt" | "decision"
  >;
  /** Name of the reviewer who decided; undefined for other deciders. */
  readonly decider: string | undefined;
  readonly consumption: StoredConsumption | undefined;
}

export interface SessionListing {
  readonly instance: { readonly id: string; readonly name: JsonText };
  /** As the agent reports it; undefined when the request has none. */
  readonly session: string | undefined;
  /** In the order of their creation. Only the request itself when it has no session. */
  readonly rows: readonly SessionRow[];
  /** False when more requests of the instance exist before those that were searched. */
  readonly isCompleteBefore: boolean;
  readonly isCompleteAfter: boolean;
}

/**
 * The calls of the same instance and agent session as this request.
 *
 * @param signal aborted when the client disconnects
 * @throws Problem `not_found`; the reason of the signal
 */
export async function showAgentSession(
  { store }: Pick<Context, "store">,
  { projectId }: ReviewerCaller,
  id: string,
  signal?: AbortSignal,
): Promise<SessionListing> {
  const request = await readRequest(store, { projectId, id });
  if (request === undefined) throw new Problem("not_found");
  const { instanceId } = request;
  const session = sessionIn(request.context);
  const find = (direction: Direction) => {
    if (session === undefined) return { ids: [], isComplete: true };
    return findCalls(store, request, { direction, session, signal });
  };
  const before = await find("before");
  const after = await find("after");
  const ids = [...before.ids.toReversed(), id, ...after.ids];
  const instances = await readInstances(store, projectId, [instanceId]);
  return {
    instance: { id: instanceId, name: instances.get(instanceId)?.name ?? '""' },
    session,
    rows: await readRows(store, projectId, ids),
    isCompleteBefore: before.isComplete,
    isCompleteAfter: after.isComplete,
  };
}

type Direction = "before" | "after";

interface Search {
  readonly direction: Direction;
  readonly session: string;
  readonly signal: AbortSignal | undefined;
}

/** The nearest calls of the session in one direction, nearest first. */
async function findCalls(
  reader: Reader,
  { projectId, instanceId, createdAt, id }: StoredRequest,
  { direction, session, signal }: Search,
): Promise<{ readonly ids: readonly string[]; readonly isComplete: boolean }> {
  const ids: string[] = [];
  let from = { at: createdAt, id };
  for (let searched = 0; searched < SEARCHED_MAX; searched += SEARCHED_PER_STEP) {
    const order = { projectId, instanceId, direction, from, contextBytesMax: CONTEXT_BYTES_MAX };
    const calls = await listCallContexts(reader, order, SEARCHED_PER_STEP);
    for (const call of calls) {
      if (sessionIn(call.context) !== session) continue;
      if (ids.length === CALLS_MAX) return { ids, isComplete: false };
      ids.push(call.id);
    }
    const last = calls.at(-1);
    if (calls.length < SEARCHED_PER_STEP || last === undefined) return { ids, isComplete: true };
    from = { at: last.at, id: last.id };
    await nextTurn();
    signal?.throwIfAborted();
  }
  const order = { projectId, instanceId, direction, from, contextBytesMax: CONTEXT_BYTES_MAX };
  const [more] = await listCallContexts(reader, order, 1);
  return { ids, isComplete: more === undefined };
}

/** Damaged requests are left out. */
async function readRows(
  reader: Reader,
  projectId: string,
  ids: readonly string[],
): Promise<readonly SessionRow[]> {
  const consumptions = await readConsumptions(reader, projectId, ids);
  const rows: StoredRequest[] = [];
  for (let at = 0; at < ids.length; at += READ_PER_STEP) {
    const { requests } = await readRequests(reader, projectId, ids.slice(at, at + READ_PER_STEP));
    rows.push(...requests.map(withoutContents));
  }
  const deciders = [...new Set(rows.flatMap((row) => deciderId(row) ?? []))];
  const reviewers = await readReviewers(reader, projectId, deciders);
  const names = new Map(reviewers.map(({ id, name }) => [id, name]));
  return rows.map((request) => ({
    request,
    decider: names.get(deciderId(request) ?? ""),
    consumption: consumptions.get(request.id),
  }));
}

/** Keeps the memory of a listing small. */
function withoutContents(request: StoredRequest): StoredRequest {
  return { ...request, arguments: "{}", context: null, agentReasoning: null, policy: null };
}
