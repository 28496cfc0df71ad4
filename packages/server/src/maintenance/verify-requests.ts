/**
 * Compares the requests of a project with its audit log, in both directions, while the log is
 * verified, or after the verification of its end.
 *
 * Rows and entries without a match in memory are read again, because a server may have written them
 * meanwhile. To find a missing entry, the row is read first, then the entry; to find a missing row,
 * the entry. A transaction writes both, so the second one exists if a server wrote the first.
 */

import { firstIdAt, timeOfId } from "@countersign/protocol";
import type { Finding } from "../audit/finding.ts";
import { readCutOf } from "../audit/pruned-part.ts";
import { readSealedEntries } from "../audit/sealed-entries.ts";
import { UNSEALED_MS_MAX } from "../audit/verify-log.ts";
import type { Clock } from "../clock.ts";
import { type EntryContent, readEntry, type StoredEntry, writeEntry } from "../core/audit-line.ts";
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
  /** The clock of the database. */
  readonly clock: Pick<Clock, "now">;
  /** Epoch ms: only requests that were created or decided since, and entries since; 0: all. */
  readonly since: number;
}

export interface EndOptions {
  /** Entries before this position were verified. */
  readonly size: number;
  /** Searches the archive; undefined: none was given. */
  readonly find: PastEntries["find"];
}

export class RequestComparison {
  readonly #reader: Reader;
  readonly #projectId: string;
  readonly #options: CompareOptions;
  readonly #matches: RequestMatches;
  readonly #entries: EntryComparison;
  /** Epoch ms. */
  readonly #startedAt: number;
  /** The first error of {@link takeSealed}. The log can have a finding, which comes first. */
  #error: unknown;

  constructor(reader: Reader, projectId: string, options: CompareOptions) {
    this.#reader = reader;
    this.#projectId = projectId;
    this.#options = options;
    const { since, clock } = options;
    this.#startedAt = clock.now();
    this.#matches = new RequestMatches(reader, projectId, since === 0 ? "" : firstIdAt(since));
    this.#entries = new EntryComparison(reader, projectId, clock);
  }

  /**
   * Takes all entries of a seal that was verified. With `since`, {@link end} reads them instead:
   * those behind a checkpoint are not all that it needs.
   */
  async takeSealed(entries: readonly EntryContent[]): Promise<void> {
    if (this.#options.since > 0 || this.#error !== undefined) return;
    try {
      await this.#take(entries);
    } catch (error) {
      this.#error = error;
    }
  }

  /**
   * Call it after the verification of the log.
   *
   * @throws FindingError when entries are missing that were not pruned
   */
  async end({ size, find }: EndOptions): Promise<ComparedRequests> {
    if (this.#error !== undefined) throw this.#error;
    const { since } = this.#options;
    if (since === 0) await this.#takeSealedAfter(size);
    // The verification of the log reports entries without a seal that are older than this.
    await this.#takeAfter(since === 0 ? this.#startedAt - UNSEALED_MS_MAX : since);
    const past = await this.#readPast(find);
    const log = new RequestLog(this.#reader, this.#projectId, past);
    const finding =
      (await this.#compareUnmatched(log)) ??
      (since === 0 ? undefined : await this.#compareDecided(log, since)) ??
      (await this.#entries.end(log));
    return { finding, notCompared: log.notCompared };
  }

  /** Entries that were sealed during the verification. They can be old. */
  async #takeSealedAfter(size: number): Promise<void> {
    const log = await readLog(this.#reader, this.#projectId);
    if (log === undefined) return;
    for await (const { entry } of readSealedEntries(this.#reader, log, size)) {
      if (entry !== undefined) await this.#takeRows([entry]);
    }
  }

  /** Entries since a time, sealed or not. */
  async #takeAfter(time: number): Promise<void> {
    for (let after = firstIdAt(time); ; ) {
      const rows = await readEntriesAfter(this.#reader, this.#projectId, after, ENTRIES_PER_READ);
      await this.#takeRows(rows);
      const last = rows.at(-1);
      if (last === undefined || rows.length < ENTRIES_PER_READ) return;
      after = last.id;
    }
  }

  async #takeRows(rows: readonly StoredEntry[]): Promise<void> {
    const authentic = rows.filter((row) => isAuthenticEntry(this.#reader, row));
    await this.#take(authentic.flatMap((row) => readEntry(writeEntry(row)) ?? []));
  }

  /** An entry may be taken twice. */
  async #take(entries: readonly EntryContent[]): Promise<void> {
    const transitions = entries.filter(({ kind }) => {
      return kind === "request.opened" || kind === "request.resolved";
    });
    if (transitions.length === 0) return;
    await this.#entries.take(await this.#matches.take(transitions));
  }

  async #readPast(find: PastEntries["find"]): Promise<PastEntries | undefined> {
    const log = await readLog(this.#reader, this.#projectId);
    const cut = log && (await readCutOf(this.#reader, log));
    return cut && { until: cut.until, find };
  }

  async #compareUnmatched(log: RequestLog): Promise<Finding | undefined> {
    const { ids, foreign } = await this.#matches.end();
    for (let from = 0; from < ids.length; from += REQUESTS_PER_READ) {
      const finding = await this.#compareRows(log, ids.slice(from, from + REQUESTS_PER_READ));
      if (finding !== undefined) return finding;
    }
    return foreign === undefined ? undefined : foreignRow(this.#projectId, foreign);
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
      const foreign = decided.find(({ id }) => timeOfId(id) === undefined);
      if (foreign !== undefined) return foreignRow(this.#projectId, foreign.id);
      const older = decided.map(({ id }) => id).filter((id) => id <= firstIdAt(since));
      const finding = await this.#compareRows(log, older);
      const last = decided.at(-1);
      if (finding !== undefined || last === undefined) return finding;
      after = last;
    }
  }

  async #compareRows(log: RequestLog, ids: readonly string[]): Promise<Finding | undefined> {
    const { requests, damaged } = await readRequests(this.#reader, this.#projectId, ids);
    const findings = await Promise.all(requests.map((request) => compareRow(log, request)));
    const [foreign] = damaged;
    return (
      findings.find((finding) => finding !== undefined) ??
      (foreign === undefined ? undefined : foreignRow(this.#projectId, foreign))
    );
  }
}

function foreignRow(projectId: string, id: string): Finding {
  const message = "no server with the secret key of this database wrote its row";
  return alteredRequest(projectId, id, message);
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
