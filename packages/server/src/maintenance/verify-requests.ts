/**
 * Compares the requests of a project with its audit log, in both directions. Memory holds one page
 * of each, and the ids of purged requests that were pending together.
 *
 * Rows are read before their entries, and entries before their rows. A transaction writes both, so
 * concurrent writes of a server cause no finding.
 */

import { timeOfId } from "@countersign/protocol";
import { readTransition } from "../audit/approval-proofs.ts";
import type { Finding } from "../audit/finding.ts";
import { type EntryContent, readEntry, type StoredEntry, writeEntry } from "../core/audit-line.ts";
import { sha256Hex } from "../core/digest.ts";
import type { StoredRequest } from "../core/request.ts";
import { isAuthenticEntry, readEntriesAfter } from "../storage/sql/audit/audit-entries.ts";
import {
  REQUEST_STATES_MAX,
  type RequestState,
  readRequestStates,
  readRequestsAfter,
} from "../storage/sql/requests/request-states.ts";
import type { Reader } from "../storage/store.ts";

/** Each row has up to 1 MiB of contents. */
const ROWS_PER_READ = 50;

/** Minimum retention of decided requests. @see contract: Endpoints, POST /v1/requests */
const KEPT_MS_MIN = 168 * 3_600_000;

/** @returns the first request that differs from the log */
export async function findAlteredRequest(
  reader: Reader,
  projectId: string,
  now: number,
): Promise<Finding | undefined> {
  const startedAt = performance.now();
  const clock = () => now + (performance.now() - startedAt);
  return (await compareRows(reader, projectId)) ?? (await compareEntries(reader, projectId, clock));
}

async function compareRows(reader: Reader, projectId: string): Promise<Finding | undefined> {
  for (let after = ""; ; ) {
    const rows = await readRequestsAfter(reader, projectId, after, ROWS_PER_READ);
    const findings = await Promise.all(
      rows.map(async ({ id, request }) =>
        request === undefined
          ? altered(projectId, id, "no server with the secret key of this database wrote its row")
          : compareRow(reader, request),
      ),
    );
    const finding = findings.find((each) => each !== undefined);
    const last = rows.at(-1);
    if (finding !== undefined || last === undefined) return finding;
    after = last.id;
  }
}

async function compareRow(reader: Reader, request: StoredRequest): Promise<Finding | undefined> {
  const { projectId, id, createdAt, decision } = request;
  const key = { projectId, requestId: id };
  const opened = await readTransition(reader, { ...key, at: createdAt, kind: "request.opened" });
  if (opened === undefined) return noEntry(request, "request.opened");
  const difference = findDifference(request, opened);
  if (difference !== undefined) return altered(projectId, id, difference);
  if (decision === null) return undefined;
  const at = decision.decidedAt;
  const resolved = await readTransition(reader, { ...key, at, kind: "request.resolved" });
  if (resolved === undefined) return noEntry(request, "request.resolved");
  const changed = findDifference(request, resolved);
  return changed === undefined ? undefined : altered(projectId, id, changed);
}

/** Entries of earlier versions have fewer fields. Only existing fields are compared. */
function findDifference(
  request: StoredRequest,
  { kind, actor, detail }: EntryContent,
): string | undefined {
  const { decision, instanceId, deadlineAt, tool, server } = request;
  const isOpened = kind === "request.opened";
  const expected: Readonly<Record<string, unknown>> = {
    tool_sha256: sha256Hex(tool),
    server_sha256: server === null ? undefined : sha256Hex(server),
    arguments_sha256: sha256Hex(request.arguments),
    deadline_at: deadlineAt,
    status: decision?.status,
    expires_at: decision?.expiresAt,
    note_sha256: typeof decision?.note === "string" ? sha256Hex(decision.note) : null,
  };
  const name = Object.keys(expected).find(
    (each) => each in detail && detail[each] !== expected[each],
  );
  if (name !== undefined) return `${name} of its row differs from the entry ${kind} in the log`;
  const expectedActor = isOpened ? `instance:${instanceId}` : decision?.decidedBy;
  if (actor === expectedActor) return undefined;
  const column = isOpened ? "instance_id" : "decided_by";
  return `${column} of its row differs from the entry ${kind} in the log`;
}

async function compareEntries(
  reader: Reader,
  projectId: string,
  clock: () => number,
): Promise<Finding | undefined> {
  /**
   * Opened requests without a row or resolution so far. They are purged if the log resolves them
   * later.
   */
  const gone = new Set<string>();
  for (let after = ""; ; ) {
    const rows = await readEntriesAfter(reader, projectId, after, REQUEST_STATES_MAX);
    const entries = rows.flatMap((row) => readRequestEntry(reader, row) ?? []);
    const ids = [...new Set(entries.map(({ subject }) => idOf(subject)))];
    const states = await readRequestStates(reader, projectId, ids);
    for (const entry of entries) {
      const id = idOf(entry.subject);
      const state = states.get(id);
      const isResolved = entry.kind === "request.resolved";
      if (isResolved) gone.delete(id);
      else if (state === undefined) gone.add(id);
      const message = isResolved ? findContradiction(entry, state, clock()) : undefined;
      if (message !== undefined) {
        return state === undefined
          ? { ...placeOf(projectId, id), fault: "missing", message: `request ${id}: ${message}` }
          : altered(projectId, id, message);
      }
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < REQUEST_STATES_MAX) break;
    after = last.id;
  }
  return findLost(reader, projectId, gone);
}

function readRequestEntry(reader: Reader, row: StoredEntry): EntryContent | undefined {
  if (row.kind !== "request.opened" && row.kind !== "request.resolved") return undefined;
  return isAuthenticEntry(reader, row) ? readEntry(writeEntry(row)) : undefined;
}

function findContradiction(
  { at, actor, detail }: EntryContent,
  state: RequestState | undefined,
  now: number,
): string | undefined {
  if (state === undefined) {
    if (now - at >= KEPT_MS_MIN) return undefined;
    return "its row is missing, but it was resolved within the last 168 h";
  }
  const { status, decidedAt, decidedBy } = state;
  if (status !== detail.status) {
    return `its row has the status ${status}, but the log has ${detail.status}`;
  }
  if (decidedAt === at && decidedBy === actor) return undefined;
  return "its row has another decision than the log";
}

/** Opened requests that the log does not resolve. */
async function findLost(
  reader: Reader,
  projectId: string,
  gone: ReadonlySet<string>,
): Promise<Finding | undefined> {
  for (const requestId of gone) {
    const { at } = placeOf(projectId, requestId);
    const key = { projectId, requestId, at: at ?? 0, kind: "request.resolved" } as const;
    // Ids within one millisecond are unordered.
    if ((await readTransition(reader, key)) !== undefined) continue;
    const message = `request ${requestId}: its row is missing, but it is pending in the log`;
    return { ...placeOf(projectId, requestId), fault: "missing", message };
  }
  return undefined;
}

function idOf(subject: string): string {
  return subject.replace(/^request:/, "");
}

function noEntry({ projectId, id }: StoredRequest, kind: string): Finding {
  const message = `request ${id}: the log has no entry ${kind} with the time of its row`;
  return { ...placeOf(projectId, id), fault: "missing", message };
}

function altered(projectId: string, id: string, message: string): Finding {
  return { ...placeOf(projectId, id), fault: "altered", message: `request ${id}: ${message}` };
}

function placeOf(projectId: string, id: string): Pick<Finding, "projectId" | "kind" | "id" | "at"> {
  return { projectId, kind: "request", id, at: timeOfId(id) ?? 0 };
}
