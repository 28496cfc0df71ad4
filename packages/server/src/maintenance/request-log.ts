/**
 * Finds the audit entries of requests: in the database, and in an archive. Requests come in the
 * order of their creation, so most of their entries are near those of their neighbours, and are
 * read together.
 */

import { firstIdAt, timeOfId } from "@countersign/protocol";
import { findTransitions, type Transition } from "../audit/approval-proofs.ts";
import type { EntryContent, StoredEntry } from "../core/audit-line.ts";
import type { StoredRequest } from "../core/request.ts";
import { requestIdOf, type TransitionKind } from "../core/request-entry.ts";
import {
  isAuthenticEntry,
  readEntriesAt,
  readFirstEntries,
} from "../storage/sql/audit/audit-entries.ts";
import type { Reader } from "../storage/store.ts";

/** The part of the log that is not in the database. */
export interface PastEntries {
  /** Epoch ms: its entries are not later. */
  readonly until: number;
  /** Reads the archive; undefined: no archive was given. */
  readonly find?:
    | ((kind: TransitionKind, requestId: string) => EntryContent | undefined)
    | undefined;
}

/** Several times as many as requests on a page, which have two entries or one. */
const ENTRIES_PER_READ = 200;

/** Entries of a time, by their request. */
interface Window {
  /** Epoch ms. */
  readonly from: number;
  /** Epoch ms, not itself. */
  readonly until: number;
  readonly byRequest: ReadonlyMap<string, readonly StoredEntry[]>;
}

const NOTHING: Window = { from: 0, until: 0, byRequest: new Map() };

export interface RequestLogOptions {
  readonly past: PastEntries | undefined;
  /**
   * Epoch ms: every earlier entry in the database was found to be authentic and sealed. It is not
   * verified again.
   */
  readonly verifiedUntil: number;
}

export class RequestLog {
  notCompared = 0;
  readonly #reader: Reader;
  readonly #projectId: string;
  readonly #options: RequestLogOptions;
  #window = NOTHING;

  constructor(reader: Reader, projectId: string, options: RequestLogOptions) {
    this.#reader = reader;
    this.#projectId = projectId;
    this.#options = options;
  }

  /** Reads entries from the first creation of these requests on. */
  async load(requests: readonly StoredRequest[]): Promise<void> {
    const created = requests.map(({ createdAt }) => createdAt);
    const decided = requests.flatMap(({ decision }) => decision?.decidedAt ?? []);
    if (created.length === 0) return;
    const from = Math.min(...created);
    const until = Math.max(...created, ...decided) + 1;
    const [first, last] = [firstIdAt(from), firstIdAt(until)];
    const limit = ENTRIES_PER_READ;
    const rows = await readFirstEntries(this.#reader, this.#projectId, first, last, limit);
    const isAll = rows.length < limit;
    const byRequest = Map.groupBy(rows, (row) => requestIdOf(row) ?? "");
    // Otherwise the time of the last one may have further entries.
    this.#window = {
      from,
      until: isAll ? until : (timeOfId(rows.at(-1)?.id ?? "") ?? 0),
      byRequest,
    };
  }

  async read(requestId: string, kind: TransitionKind, at: number) {
    const transition = { projectId: this.#projectId, requestId, kind, at };
    const isVerified = at < this.#options.verifiedUntil;
    const rows = (await this.#rowsOf(transition)).filter((row) => {
      return isVerified || isAuthenticEntry(this.#reader, row);
    });
    const [entry] = findTransitions(rows, transition);
    return entry ?? this.#options.past?.find?.(kind, requestId);
  }

  /** True when an entry of this time may be in an archive that was not given. */
  isElsewhere(at: number): boolean {
    const { past } = this.#options;
    return past !== undefined && past.find === undefined && at <= past.until;
  }

  async #rowsOf({ requestId, at }: Transition): Promise<readonly StoredEntry[]> {
    const { from, until, byRequest } = this.#window;
    const isLoaded = at >= from && at < until;
    if (!isLoaded) {
      const rows = await readEntriesAt(this.#reader, this.#projectId, at);
      return rows.filter((row) => requestIdOf(row) === requestId);
    }
    const [first, last] = [firstIdAt(at), firstIdAt(at + 1)];
    return (byRequest.get(requestId) ?? []).filter(({ id }) => id >= first && id <= last);
  }
}
