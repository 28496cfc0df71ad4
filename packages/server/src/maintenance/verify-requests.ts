/**
 * Compares the requests of a project with its audit log, in both directions. Memory holds one page
 * of each, and the ids of purged requests that were pending together.
 *
 * Rows are read before their entries, and entries before their rows. A transaction writes both, so
 * concurrent writes of a server cause no finding.
 */

import { firstIdAt, timeOfId } from "@countersign/protocol";
import type { Finding } from "../audit/finding.ts";
import { type EntryContent, readEntry, type StoredEntry, writeEntry } from "../core/audit-line.ts";
import { sha256Hex } from "../core/digest.ts";
import type { StoredRequest } from "../core/request.ts";
import { requestIdOf } from "../core/request-entry.ts";
import { isAuthenticEntry, readEntriesAfter } from "../storage/sql/audit/audit-entries.ts";
import {
  listDecidedAfter,
  REQUEST_STATES_MAX,
  type ReadRow,
  type RequestState,
  readRequestStates,
  readRequestsAfter,
} from "../storage/sql/requests/request-states.ts";
import { type Cursor, readRequests } from "../storage/sql/requests/requests.ts";
import type { Reader } from "../storage/store.ts";
import { type PastEntries, RequestLog } from "./request-log.ts";

/** Each row has up to 1 MiB of contents. */
const ROWS_PER_READ = 50;

/** Minimum retention of decided requests. @see contract: Endpoints, POST /v1/requests */
const KEPT_MS_MIN = 168 * 3_600_000;

export interface ComparedRequests {
  /** The first request that differs from the log. */
  readonly finding: Finding | undefined;
  /** Requests whose entries are only in an archive that was not given. */
  readonly notCompared: number;
}

export interface CompareOptions {
  /** Time of the database, epoch ms. */
  readonly now: number;
  /** Epoch ms: only requests that were created or decided since, and later entries; 0: all. */
  readonly since: number;
  /** Undefined when the database has the whole log. */
  readonly past: PastEntries | undefined;
}

export async function compareRequests(
  reader: Reader,
  projectId: string,
  { now, since, past }: CompareOptions,
): Promise<ComparedRequests> {
  const startedAt = performance.now();
  const clock = () => now + (performance.now() - startedAt);
  const log = new RequestLog(reader, projectId, past);
  const after = since === 0 ? "" : firstIdAt(since);
  const finding =
    (await compareCreated(reader, log, projectId, after)) ??
    (since === 0 ? undefined : await compareDecided(reader, log, projectId, since)) ??
    (await compareEntries(reader, log, { projectId, after, clock }));
  return { finding, notCompared: log.notCompared };
}

async function compareCreated(
  reader: Reader,
  log: RequestLog,
  projectId: string,
  start: string,
): Promise<Finding | undefined> {
  for (let after = start; ; ) {
    const rows = await readRequestsAfter(reader, projectId, after, ROWS_PER_READ);
    await log.load(rows.flatMap(({ request }) => request ?? []));
    const finding = await compareRows(log, projectId, rows);
    const last = rows.at(-1);
    if (finding !== undefined || last === undefined) return finding;
    after = last.id;
  }
}

/** Requests that were decided since a time, and created before it. */
async function compareDecided(
  reader: Reader,
  log: RequestLog,
  projectId: string,
  since: number,
): Promise<Finding | undefined> {
  for (let after: Cursor = { at: since, id: "" }; ; ) {
    const decided = await listDecidedAfter(reader, projectId, after, ROWS_PER_READ);
    const older = decided.map(({ id }) => id).filter((id) => id <= firstIdAt(since));
    const { requests, damaged } = await readRequests(reader, projectId, older);
    const rows = [
      ...damaged.map((id) => ({ id, request: undefined })),
      ...requests.map((request) => ({ id: request.id, request })),
    ];
    const finding = await compareRows(log, projectId, rows);
    const last = decided.at(-1);
    if (finding !== undefined || last === undefined) return finding;
    after = last;
  }
}

async function compareRows(
  log: RequestLog,
  projectId: string,
  rows: readonly ReadRow[],
): Promise<Finding | undefined> {
  const findings = await Promise.all(
    rows.map(async ({ id, request }) =>
      request === undefined
        ? altered(projectId, id, "no server with the secret key of this database wrote its row")
        : compareRow(log, request),
    ),
  );
  return findings.find((each) => each !== undefined);
}

async function compareRow(log: RequestLog, request: StoredRequest): Promise<Finding | undefined> {
  const { projectId, id, createdAt, decision } = request;
  const opened = await log.read(id, "request.opened", createdAt);
  if (opened === undefined) {
    if (!log.isElsewhere(createdAt)) return noEntry(request, "request.opened");
    log.notCompared++;
  }
  const difference = opened && findDifference(request, opened);
  if (difference !== undefined) return altered(projectId, id, difference);
  if (decision === null) return undefined;
  const at = decision.decidedAt;
  const isBoth = opened?.kind === "request.resolved" && opened.at === at;
  const resolved = isBoth ? opened : await log.read(id, "request.resolved", at);
  if (resolved === undefined) {
    return log.isElsewhere(at) ? undefined : noEntry(request, "request.resolved");
  }
  const changed = findDifference(request, resolved);
  return changed === undefined ? undefined : altered(projectId, id, changed);
}

/** Entries of earlier versions have fewer fields. Only existing fields are compared. */
function findDifference(
  request: StoredRequest,
  { kind, actor, detail }: EntryContent,
): string | undefined {
  const { decision, instanceId, deadlineAt, tool, server } = request;
  const agent = `instance:${instanceId}`;
  const isResolved = kind === "request.resolved";
  const expected: Readonly<Record<string, unknown>> = {
    tool_sha256: sha256Hex(tool),
    server_sha256: server === null ? undefined : sha256Hex(server),
    arguments_sha256: sha256Hex(request.arguments),
    deadline_at: deadlineAt,
    opened_by: agent,
    status: decision?.status,
    expires_at: decision?.expiresAt,
    note_sha256: typeof decision?.note === "string" ? sha256Hex(decision.note) : null,
  };
  const name = Object.keys(expected).find(
    (each) => each in detail && detail[each] !== expected[each],
  );
  if (name !== undefined) return `${name} of its row differs from the entry ${kind} in the log`;
  if (actor === (isResolved ? decision?.decidedBy : agent)) return undefined;
  const column = isResolved ? "decided_by" : "instance_id";
  return `${column} of its row differs from the entry ${kind} in the log`;
}

interface EntryOptions {
  readonly projectId: string;
  readonly after: string;
  readonly clock: () => number;
}

async function compareEntries(
  reader: Reader,
  log: RequestLog,
  { projectId, after: start, clock }: EntryOptions,
): Promise<Finding | undefined> {
  /**
   * Opened requests without a row or resolution so far. They are purged if the log resolves them
   * later.
   */
  const gone = new Set<string>();
  for (let after = start; ; ) {
    const rows = await readEntriesAfter(reader, projectId, after, REQUEST_STATES_MAX);
    const entries = rows.flatMap((row) => readRequestEntry(row) ?? []);
    const ids = [...new Set(entries.map(({ entry }) => requestIdOf(entry) ?? ""))];
    const states = await readRequestStates(reader, projectId, ids);
    for (const { row, entry } of entries) {
      const id = requestIdOf(entry) ?? "";
      const state = states.get(id);
      const isResolved = entry.kind === "request.resolved";
      const message = isResolved ? findContradiction(entry, state, clock()) : undefined;
      // Most entries match their row, and need no MAC for that.
      if (state !== undefined && message === undefined) continue;
      if (!isAuthenticEntry(reader, row)) continue;
      if (isResolved) gone.delete(id);
      else gone.add(id);
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
  return findLost(log, projectId, gone);
}

interface RequestEntry {
  readonly row: StoredEntry;
  readonly entry: EntryContent;
}

function readRequestEntry(row: StoredEntry): RequestEntry | undefined {
  if (row.kind !== "request.opened" && row.kind !== "request.resolved") return undefined;
  const entry = readEntry(writeEntry(row));
  return entry && { row, entry };
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
  log: RequestLog,
  projectId: string,
  gone: ReadonlySet<string>,
): Promise<Finding | undefined> {
  for (const requestId of gone) {
    const at = timeOfId(requestId) ?? 0;
    // Ids within one millisecond are unordered.
    const resolved = await log.read(requestId, "request.resolved", at);
    if (resolved !== undefined || log.isElsewhere(at)) continue;
    const message = `request ${requestId}: its row is missing, but it is pending in the log`;
    return { ...placeOf(projectId, requestId), fault: "missing", message };
  }
  return undefined;
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
