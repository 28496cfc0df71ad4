/**
 * Compares the requests of a project with its audit log, in both directions, while the log is
 * verified.
 *
 * Requests and entries without a match in memory are read again: rows before their entries, and
 * entries before their rows. A transaction writes both, so concurrent writes of a server cause no
 * finding.
 */

import { firstIdAt } from "@countersign/protocol";
import type { Finding } from "../audit/finding.ts";
import { readCutOf } from "../audit/pruned-part.ts";
import { UNSEALED_MS_MAX } from "../audit/verify-log.ts";
import { type EntryContent, readEntry, writeEntry } from "../core/audit-line.ts";
import type { StoredRequest } from "../core/request.ts";
import { isAuthenticEntry, readEntriesAfter } from "../storage/sql/audit/audit-entries.ts";
import { readLog } from "../storage/sql/audit/audit-logs.ts";
import { listDecidedAfter } from "../storage/sql/requests/request-states.ts";
import { type Cursor, readRequests } from "../storage/sql/requests/requests.ts";
import type { Reader } from "../storage/store.ts";
import { EntryComparison } from "./compare-entries.ts";
import { REQUESTS_PER_READ, RequestMatches } from "./match-requests.ts";
import { factsOf, findDifference } from "./request-facts.ts";
import { alteredRequest, missingRequest } from "./request-findings.ts";
import { type PastEntries, RequestLog } from "./request-log.ts";

const ENTRIES_PER_READ = 500;

export interface ComparedRequests {
  /** The first request that differs from the log. */
  readonly finding: Finding | undefined;
  /** Requests whose entries are only in an archive that was not given. */
  readonly notCompared: number;
}

export interface CompareOptions {
  /** Time of the database, epoch ms. */
  readonly now: number;
  /** Epoch ms: only requests that were created or decided since; 0: all. */
  readonly since: number;
}

export class RequestComparison {
  readonly #reader: Reader;
  readonly #projectId: string;
  readonly #options: CompareOptions;
  readonly #matches: RequestMatches;
  readonly #entries: EntryComparison;

  constructor(reader: Reader, projectId: string, options: CompareOptions) {
    this.#reader = reader;
    this.#projectId = projectId;
    this.#options = options;
    const { now, since } = options;
    this.#matches = new RequestMatches(reader, projectId, since === 0 ? "" : firstIdAt(since));
    const startedAt = performance.now();
    const clock = () => now + (performance.now() - startedAt);
    this.#entries = new EntryComparison(reader, projectId, clock);
  }

  /** @param entries authentic entries of any kind; all sealed ones, most of them in their order */
  async take(entries: readonly EntryContent[]): Promise<void> {
    const transitions = entries.filter(({ kind }) => {
      return kind === "request.opened" || kind === "request.resolved";
    });
    if (transitions.length === 0) return;
    await this.#entries.take(await this.#matches.take(transitions));
  }

  /**
   * Call it after the verification of the log.
   *
   * @param find searches the archive; undefined: none was given
   * @throws FindingError when entries are missing that were not pruned
   */
  async end(find: PastEntries["find"]): Promise<ComparedRequests> {
    await this.#takeUnsealed();
    const past = await this.#readPast(find);
    const log = new RequestLog(this.#reader, this.#projectId, past);
    const { since } = this.#options;
    const finding =
      (await this.#compareUnmatched(log)) ??
      (since === 0 ? undefined : await this.#compareDecided(log, since)) ??
      (await this.#entries.end(log));
    return { finding, notCompared: log.notCompared };
  }

  /** The verification of the log finds older ones. */
  async #takeUnsealed(): Promise<void> {
    for (let after = firstIdAt(this.#options.now - UNSEALED_MS_MAX); ; ) {
      const rows = await readEntriesAfter(this.#reader, this.#projectId, after, ENTRIES_PER_READ);
      const authentic = rows.filter((row) => isAuthenticEntry(this.#reader, row));
      await this.take(authentic.flatMap((row) => readEntry(writeEntry(row)) ?? []));
      const last = rows.at(-1);
      if (last === undefined || rows.length < ENTRIES_PER_READ) return;
      after = last.id;
    }
  }

  async #readPast(find: PastEntries["find"]): Promise<PastEntries | undefined> {
    const log = await readLog(this.#reader, this.#projectId);
    const cut = log && (await readCutOf(this.#reader, log));
    return cut && { until: cut.until, find };
  }

  async #compareUnmatched(log: RequestLog): Promise<Finding | undefined> {
    const ids = await this.#matches.end();
    while (ids.length > 0) {
      const finding = await this.#compareRows(log, ids.splice(0, REQUESTS_PER_READ));
      if (finding !== undefined) return finding;
    }
    return undefined;
  }

  /** Requests that were decided since a time, and created before it. */
  async #compareDecided(log: RequestLog, since: number): Promise<Finding | undefined> {
    for (let after: Cursor = { at: since, id: "" }; ; ) {
      const decided = await listDecidedAfter(
        this.#reader,
        this.#projectId,
        after,
        REQUESTS_PER_READ,
      );
      const older = decided.map(({ id }) => id).filter((id) => id <= firstIdAt(since));
      const finding = await this.#compareRows(log, older);
      const last = decided.at(-1);
      if (finding !== undefined || last === undefined) return finding;
      after = last;
    }
  }

  async #compareRows(log: RequestLog, ids: readonly string[]): Promise<Finding | undefined> {
    const { requests, damaged } = await readRequests(this.#reader, this.#projectId, ids);
    const [foreign] = damaged;
    const message = "no server with the secret key of this database wrote its row";
    for (const request of requests) {
      if (foreign !== undefined && foreign < request.id) break;
      const finding = await compareRow(log, request);
      if (finding !== undefined) return finding;
    }
    return foreign === undefined ? undefined : alteredRequest(this.#projectId, foreign, message);
  }
}

async function compareRow(log: RequestLog, request: StoredRequest): Promise<Finding | undefined> {
  const { projectId, id, createdAt, decision } = request;
  const facts = factsOf(request);
  const opened = await log.read(id, "request.opened", createdAt);
  if (opened === undefined) {
    if (!log.isElsewhere(createdAt)) return noEntry(request, "request.opened");
    log.notCompared++;
  }
  const difference = opened && findDifference(facts, opened);
  if (difference !== undefined) return alteredRequest(projectId, id, difference);
  if (decision === null) return undefined;
  const at = decision.decidedAt;
  const isBoth = opened?.kind === "request.resolved" && opened.at === at;
  const resolved = isBoth ? opened : await log.read(id, "request.resolved", at);
  if (resolved === undefined) {
    return log.isElsewhere(at) ? undefined : noEntry(request, "request.resolved");
  }
  const changed = findDifference(facts, resolved);
  return changed === undefined ? undefined : alteredRequest(projectId, id, changed);
}

function noEntry({ projectId, id }: StoredRequest, kind: string): Finding {
  return missingRequest(projectId, id, `the log has no entry ${kind} with the time of its row`);
}
