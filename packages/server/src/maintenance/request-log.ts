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

/** A page has 50 requests with one or two entries each. Further entries are between them. */
export const ENTRIES_PER_READ = 200;

/** Entries of a time, by their request. */
interface Window {
  /** Epoch ms. */
  readonly from: number;
  /** Epoch ms, exclusive. */
  readonly until: number;
  readonly byRequest: ReadonlyMap<string, readonly StoredEntry[]>;
}

const EMPTY: Window = { from: 0, until: 0, byRequest: new Map() };

export class RequestLog {
  notCompared = 0;
  readonly #reader: Reader;
  readonly #projectId: string;
  readonly #past: PastEntries | undefined;
  #window = EMPTY;

  constructor(reader: Reader, projectId: string, past: PastEntries | undefined) {
    this.#reader = reader;
    this.#projectId = projectId;
    this.#past = past;
  }

  /**
   * Reads entries from the first creation of these requests on, and forgets others. Call it after
   * the requests were read: entries that were written later are not found.
   */
  async load(requests: readonly StoredRequest[]): Promise<void> {
    this.#window = EMPTY;
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

  /** @param at epoch ms */
  async read(
    requestId: string,
    kind: TransitionKind,
    at: number,
  ): Promise<EntryContent | undefined> {
    const transition = { projectId: this.#projectId, requestId, kind, at };
    const rows = (await this.#rowsOf(transition)).filter((row) => {
      return isAuthenticEntry(this.#reader, row);
    });
    const [entry] = findTransitions(rows, transition);
    return entry ?? this.#past?.find?.(kind, requestId);
  }

  /** True when an entry of this time may be in an archive that was not given. */
  isElsewhere(at: number): boolean {
    const past = this.#past;
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
